// SPDX-License-Identifier: Apache-2.0
// Looks a text up in all files: names of spans, experiments and workloads that have it; runs with a trace id that equals it. Called through
// services/serve/routes.c. Opens each file, the newest one first, until there are enough results.
#include "serve/api/search.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/slice.h"
#include "http/exchange.h"
#include "serve/api/trace_id.h"
#include "serve/server.h"
#include "serve/turn.h"
#include "store/store.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MOST 1000
#define TEXT_BYTES_MOST 200u
#define SEARCH_FILE_S 10u // for the spans of a file

const struct route_parameter search_parameters[] = {
    {"q", ROUTE_TEXT | ROUTE_REQUIRED, "A part of a name, in any case, or a trace id of 32 hex digits"},
    {"limit", ROUTE_COUNT, "At most so many results, up to 1000; 100 without it"},
    {0},
};

struct search {
  struct exchange *exchange;
  const char *text;
  int64_t left; // results; below 0: there were more
  struct json_writer json;
  const struct catalogue_file *file;
  bool is_cut; // the spans of a file took too long
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
  struct arena arena SCOPED(arena_done) = {0};
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
}

// ---- spans -----------------------------------------------------------------------------------------------------------
struct name { // a text of the file that has the searched one; of a run's spans with it:
  const char *text;
  int64_t spans, total_ns;
};
struct names {
  struct search *search;
  uint64_t end_ns; // CLOCK_MONOTONIC
  VECTOR(struct name) list;
  uint32_t *places; // by string id: the place in `list` + 1; 0: the text does not have the searched one
  uint32_t text_count;
  VECTOR(struct name *) used; // by the run
};

static void find_names(struct store *store, const char *wanted, struct names *names)
{
  names->text_count = store_string_count(store);
  names->places = memory_new((size_t)names->text_count + 1, sizeof *names->places);
  for (uint32_t id = 1; id < names->text_count; id++) {
    size_t length;
    const char *text = store_text(store, id, &length);
    if (!has(text, wanted) || strlen(text) != length)
      continue;
    *vector_add(&names->list) = (struct name){.text = text};
    names->places[id] = (uint32_t)names->list.count;
  }
}

// Ends the walk where it takes too long or its client left.
static enum status count_spans(void *context, size_t first_row, const struct store_spans *spans,
                               const struct store_derived *derived, struct error *err)
{
  struct names *names = context;
  for (size_t i = 0; i < spans->count; i++) {
    uint32_t place = spans->name[i] < names->text_count ? names->places[spans->name[i]] : 0;
    if (place == 0)
      continue;
    struct name *name = &names->list.items[place - 1];
    if (name->spans++ == 0)
      *vector_add(&names->used) = name;
    if (__builtin_add_overflow(name->total_ns, spans->duration_ns[i], &name->total_ns))
      name->total_ns = INT64_MAX;
  }
  if (!exchange_is_left(names->search->exchange) && clock_now_ns(CLOCK_MONOTONIC) <= names->end_ns)
    return STATUS_OK;
  names->search->is_cut = true;
  return error_set(err, STATUS_INPUT, "cannot search", NULL, NULL, "it takes more than %u s", SEARCH_FILE_S);
}

static void put_names(struct search *search, int64_t run_id, struct names *names)
{
  for (size_t i = 0; i < names->used.count; i++) {
    struct name *name = names->used.items[i];
    if (begin(search, "span", name->text)) {
      json_member_int(&search->json, "run_id", run_id);
      json_member_int(&search->json, "spans", name->spans);
      json_member_int(&search->json, "total_ns", name->total_ns);
      json_object_end(&search->json);
    }
    name->spans = name->total_ns = 0;
  }
  names->used.count = 0;
}

// Texts of the file first, which are few; then, in one walk, the spans of those texts. What cannot be read has no results.
static void search_spans(struct search *search)
{
  const struct catalogue_file *file = search->file;
  struct arena arena SCOPED(arena_done) = {0};
  struct error ignored;
  struct store *store = NULL;
  struct names names = {.search = search,
                        .end_ns = clock_now_ns(CLOCK_MONOTONIC) + SEARCH_FILE_S * UINT64_C(1000000000)};
  const char *path = arena_format(&arena, "%s/%s", serve_of(search->exchange)->options.folder, file->file.name);
  enum status status = store_open(path, &store, &ignored);
  if (status == STATUS_OK)
    find_names(store, search->text, &names);
  for (size_t i = 0; i < file->run_count && names.list.count > 0 && status == STATUS_OK && search->left >= 0; i++) {
    status = store_walk_spans(store, file->runs[i].run_id, STORE_BIT(STORE_NAME) | STORE_BIT(STORE_DURATION_NS),
                              count_spans, &names, &ignored);
    if (status == STATUS_OK)
      put_names(search, file->runs[i].run_id, &names);
  }
  store_close(store);
  vector_done(&names.list);
  vector_done(&names.used);
  free(names.places);
}

// ---- the handler -----------------------------------------------------------------------------------------------------
static void search_files(struct search *search, const struct catalogue_list *list)
{
  for (size_t i = 0; i < list->files.count && search->left >= 0; i++) {
    search->file = list->files.items[i];
    if (exchange_is_left(search->exchange))
      break;
    if (search->file->problem != NULL)
      continue;
    search_experiments(search);
    if (trace_id_is(search->text))
      search_trace(search);
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
  json_member_bool(&search.json, "more", search.left < 0 || search.is_cut);
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
