// SPDX-License-Identifier: Apache-2.0
// The page's tables: those of `xsp analyze`, so that a command prints each number of the page. Called by page.c.
#include "report/tables/tables.h"
#include "base/slice.h"
#include "report/page/page.h"

#define BATCHES_MOST 64
#define CACHE_BYTES_MOST ((size_t)512 << 20)
#define ROWS_MOST 5000 // of one table; the page reports how many it left out

// Does an analysis answer for one batch size? The others answer for all at once.
static bool is_per_batch(const char *id)
{
  return !text_is_one_of(id, "A1", "A15", "L0");
}

static size_t batch_sizes(const struct store_run *runs, size_t run_count, int64_t batches[BATCHES_MOST])
{
  size_t count = 0;
  for (size_t i = 0; i < run_count; i++) {
    bool is_known = runs[i].batch_size == 0;
    for (size_t j = 0; j < count && !is_known; j++)
      is_known = batches[j] == runs[i].batch_size;
    if (!is_known && count < BATCHES_MOST)
      batches[count++] = runs[i].batch_size;
  }
  return count;
}

static void put_table(struct table *table, size_t file, const char *by, struct json_writer *json)
{
  size_t left_out = table->row_count > ROWS_MOST ? table->row_count - ROWS_MOST : 0;
  table->row_count -= left_out;
  json_object(json);
  json_member_int(json, "file", (int64_t)file);
  json_member_string(json, "by", by);
  json_member_int(json, "rows_left_out", (int64_t)left_out);
  json_key(json, "table");
  table_put_json(json, table);
  json_object_end(json);
}

struct asked {
  struct store *store;
  struct analyze_cache *cache;
  size_t file;
  struct json_writer *json;
};
static enum status answer(const struct asked *asked, const char *id, int64_t batch, const char *by, struct error *err)
{
  struct arena arena = {0};
  struct analyze_request request;
  analyze_request_init(&request);
  request.batch = batch;
  request.by = by;
  request.cache = asked->cache;
  struct table *tables = NULL;
  size_t count = 0;
  struct error why = {0};
  enum status status = analyze_run(id, &asked->store, 1, &request, &arena, &tables, &count, &why);
  for (size_t i = 0; i < count && status == STATUS_OK; i++)
    put_table(&tables[i], asked->file, by, asked->json);
  if (status == STATUS_NO || status == STATUS_USE) // the file lacks what the analysis needs
    status = STATUS_OK;
  else if (status != STATUS_OK && err != NULL)
    *err = why;
  arena_done(&arena);
  return status;
}

static enum status answer_all(const struct asked *asked, const struct timeline *timeline, struct error *err)
{
  int64_t batches[BATCHES_MOST];
  size_t batch_count = batch_sizes(timeline->runs, timeline->run_count, batches);
  for (size_t i = 0; analyses[i] != NULL; i++) {
    const char *id = analyses[i]->id;
    if (analyses[i]->answer == NULL)
      continue; // over many files: only `xsp analyze` has it
    if (!is_per_batch(id) || batch_count == 0)
      XSP_TRY(answer(asked, id, 0, NULL, err));
    for (size_t j = 0; is_per_batch(id) && j < batch_count; j++)
      XSP_TRY(answer(asked, id, batches[j], NULL, err));
  }
  for (size_t j = 0; j < batch_count; j++)
    XSP_TRY(answer(asked, "L0", batches[j], "layer", err));
  return STATUS_OK;
}

enum status page_put_tables(struct page *page, size_t file, struct json_writer *json, struct error *err)
{
  const struct timeline *timeline = &page->files[file].timeline;
  struct analyze_cache cache = {.bytes_most = CACHE_BYTES_MOST};
  const struct asked asked = {timeline->store, &cache, file, json};
  enum status status = answer_all(&asked, timeline, err);
  analyze_cache_done(&cache);
  return status;
}
