// SPDX-License-Identifier: Apache-2.0
// Looks a text up in all files: names of spans, experiments and workloads that have it; runs with a trace id that equals it. Called through
// serve/routes.c. Opens each file, the newest one first, until there are enough results.
#include "serve/api/search.h"

#include "base/json_write.h"
#include "base/slice.h"
#include "http/exchange.h"
#include "serve/api/trace_id.h"
#include "serve/serve_private.h"
#include "serve/turn.h"
#include "store/store.h"

#include <inttypes.h>

#define LIMIT_DEFAULT 100
#define LIMIT_MOST 1000
#define TEXT_BYTES_MOST 200u

const struct route_parameter search_parameters[] = {
    {"q", ROUTE_TEXT, "A part of a name, in any case, or a trace id of 32 hex digits; required"},
    {"limit", ROUTE_INTEGER, "At most so many results, up to 1000; 100 without it"},
    {0},
};

struct search {
  struct exchange *exchange;
  const char *text;
  int64_t left; // results; below 0: there were more
  struct json_writer json;
  const struct catalogue_file *file;
  const char *name; // of the spans that are counted
};

// Begins a result of the file that is searched. False: there is no room for it.
static bool begin(struct search *search, const char *kind, const char *name)
{
  if (search->left-- <= 0)
    return false;
  json_object(&search->json);
  json_member_string(&search->json, "kind", kind);
  json_member_string(&search->json, "file", search->file->file.name);
  json_member_string(&search->json, "name", name);
  return true;
}

static bool has(const char *text, const char *wanted)
{
  return text != NULL && strcasestr(text, wanted) != NULL;
}

// ---- experiments and traces ------------------------------------------------------------------------------------------
static void search_experiments(struct search *search)
{
  for (size_t i = 0; i < search->file->experiment_count; i++) {
    const struct catalogue_experiment *experiment = &search->file->experiments[i];
    const char *kinds[] = {"experiment", "workload"}, *names[] = {experiment->name, experiment->workload};
    for (size_t k = 0; k < 2; k++)
      if (has(names[k], search->text) && begin(search, kinds[k], names[k])) {
        json_member_int(&search->json, "experiment_id", experiment->experiment_id);
        json_object_end(&search->json);
      }
  }
}

static void search_trace(struct search *search)
{
  struct arena arena = {0};
  struct error ignored; // a file that is gone since, or broken there, has none
  int64_t *runs;
  size_t count = 0;
  enum status status = trace_id_runs(search->file, serve_of(search->exchange)->options.folder, search->text, &arena,
                                     &runs, &count, &ignored);
  for (size_t i = 0; i < count && status == STATUS_OK; i++)
    if (begin(search, "trace", search->text)) {
      json_member_int(&search->json, "run_id", runs[i]);
      json_object_end(&search->json);
    }
  arena_done(&arena);
}

// ---- spans -----------------------------------------------------------------------------------------------------------
// As a literal of SQL; with `is_pattern`, as one of LIKE that matches texts with it, escaped by a backslash.
static void put_literal(struct buf *sql, const char *text, bool is_pattern)
{
  buf_text(sql, is_pattern ? "'%" : "'");
  for (; *text != 0; text++) {
    if (*text == '\'' || (is_pattern && strchr("%_\\", *text) != NULL))
      buf_put(sql, *text == '\'' ? "'" : "\\", 1);
    buf_put(sql, text, 1);
  }
  buf_text(sql, is_pattern ? "%'" : "'");
}

struct texts {
  struct arena arena;
  VECTOR(const char *) list;
};

static enum status take_text(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct texts *texts = context;
  (void)count;
  (void)err;
  if (cells[0].type == STORE_TEXT && strlen(cells[0].text) == cells[0].length)
    *vector_add(&texts->list) = arena_copy(&texts->arena, cells[0].text, cells[0].length);
  return STATUS_OK;
}

// run_id, count, sum of durations
static enum status take_spans(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct search *search = context;
  (void)count;
  (void)err;
  if (begin(search, "span", search->name)) {
    json_member_int(&search->json, "run_id", cells[0].integer);
    json_member_int(&search->json, "spans", cells[1].integer);
    json_member_int(&search->json, "total_ns", cells[2].integer);
    json_object_end(&search->json);
  }
  return STATUS_OK;
}

// Texts of the file first, which are few; then which of them are names of spans.
static enum status search_store(struct search *search, struct store *store, struct texts *texts, struct error *err)
{
  const struct store_query_sink of_texts = {.context = texts, .row = take_text};
  const struct store_query_sink of_spans = {.context = search, .row = take_spans};
  struct buf sql = {0};
  buf_text(&sql, "SELECT text FROM string WHERE text LIKE ");
  put_literal(&sql, search->text, true);
  buf_format(&sql, " ESCAPE '\\' LIMIT %d", LIMIT_MOST);
  enum status status = store_query(store, sql.data, &of_texts, err);
  for (size_t i = 0; i < texts->list.count && status == STATUS_OK && search->left > 0; i++) {
    if (exchange_is_left(search->exchange))
      break;
    search->name = texts->list.items[i];
    buf_clear(&sql);
    buf_text(&sql, "SELECT run_id, count(*), sum(duration_ns) FROM span WHERE name = ");
    put_literal(&sql, search->name, false);
    buf_text(&sql, " GROUP BY run_id ORDER BY run_id");
    status = store_query(store, sql.data, &of_spans, err);
  }
  buf_done(&sql);
  return status;
}

// What cannot be read has no results.
static void search_spans(struct search *search)
{
  struct texts texts = {0};
  struct error ignored;
  struct store *store = NULL;
  const char *path =
      arena_format(&texts.arena, "%s/%s", serve_of(search->exchange)->options.folder, search->file->file.name);
  if (store_open(path, &store, &ignored) == STATUS_OK) {
    enum status status = search_store(search, store, &texts, &ignored);
    (void)status;
    store_close(store);
  }
  vector_done(&texts.list);
  arena_done(&texts.arena);
}

// ---- the handler -----------------------------------------------------------------------------------------------------
static void search_files(struct search *search, const struct catalogue_list *list)
{
  for (size_t i = 0; i < list->files.count && search->left > 0; i++) {
    search->file = list->files.items[i];
    if (exchange_is_left(search->exchange))
      break;
    search_experiments(search);
    if (trace_id_is(search->text))
      search_trace(search);
    if (search->left > 0)
      search_spans(search);
  }
}

static void search_all(struct exchange *exchange, const char *text, int64_t limit)
{
  struct serve *serve = serve_of(exchange);
  struct search search = {.exchange = exchange, .text = text, .left = limit};
  struct catalogue_list list;
  struct error error = {0};
  if (catalogue_take(&serve->catalogue, serve->folder, serve->options.folder, &list, &error) != STATUS_OK) {
    exchange_refuse_error(exchange, 500, &error);
    return;
  }
  struct buf *reply = exchange_reply(exchange, 200, "application/json");
  json_start(&search.json, reply);
  json_object(&search.json);
  json_member_array(&search.json, "results");
  search_files(&search, &list);
  json_array_end(&search.json);
  json_member_bool(&search.json, "more", search.left <= 0);
  json_object_end(&search.json);
  buf_text(reply, "\n");
  catalogue_release(&list);
}

void search_answer(struct exchange *exchange)
{
  const char *text = exchange_parameter(exchange, "q"), *limit_text = exchange_parameter(exchange, "limit");
  int64_t limit = LIMIT_DEFAULT;
  if (text == NULL || text[0] == 0 || strlen(text) > TEXT_BYTES_MOST) {
    exchange_refuse(exchange, 400, "q must be a text of at most %u bytes", TEXT_BYTES_MOST);
  } else if (limit_text != NULL && (!slice_int64(slice_of(limit_text), &limit) || limit < 1 || limit > LIMIT_MOST)) {
    exchange_refuse(exchange, 400, "limit must be 1 to %d", LIMIT_MOST);
  } else if (turn_take(exchange)) {
    search_all(exchange, text, limit);
    turn_end(exchange);
  }
}
