// SPDX-License-Identifier: Apache-2.0
// The page's tables: those of `xsp analyze`, so that a command prints each number of the page. Called by page.c.
#include "report/tables/tables.h"
#include "base/slice.h"
#include "report/kernel_names.h"
#include "report/page/page.h"

#define BATCHES_MOST 64
#define ROWS_MOST 5000 // of one table; the page reports how many it left out

// Does an analysis answer for one batch size? The others answer for all at once.
static bool is_per_batch(const char *id)
{
  return !text_is_one_of(id, "A1", "A15", "A25", "L0", "requests");
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

static void keep_kernel_names(const struct table *table, struct interner *kernels)
{
  for (size_t column = 0; column < table->column_count; column++)
    if (strcmp(table->columns[column].key, "kernel_name") == 0)
      for (size_t row = 0; row < table->row_count; row++) {
        const struct table_cell *cell = &table->rows[row * table->column_count + column];
        if (cell->type == CELL_TEXT)
          (void)interner_at(kernels, cell->value.text, strlen(cell->value.text));
      }
}

// The page sorts by the main figure first; rows that it has no room for are the least.
static void put_table(struct table *table, size_t file, const char *by, const char *main_figure, struct arena *arena,
                      struct json_writer *json)
{
  size_t left_out = table->row_count > ROWS_MOST ? table->row_count - ROWS_MOST : 0;
  if (left_out > 0 && main_figure != NULL)
    (void)table_sort(table, main_figure, arena);
  table->row_count -= left_out;
  json_object(json);
  json_member_int(json, "file", (int64_t)file);
  json_member_string(json, "by", by);
  json_member_string(json, "main", main_figure);
  json_member_int(json, "rows_left_out", (int64_t)left_out);
  json_key(json, "table");
  report_table_put_json(json, table);
  json_object_end(json);
}

struct asked {
  bool reads_source;
  struct store *store;
  struct analyze_cache *cache;
  size_t file;
  struct interner *kernels, *code;
  struct json_writer *json;
};
static enum status answer(const struct asked *asked, const struct analysis *analysis, int64_t batch, const char *by,
                          struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct analyze_request request;
  analyze_request_init(&request);
  request.batch = batch;
  request.by = by;
  request.cache = asked->cache;
  request.reads_source = asked->reads_source;
  struct table *tables = NULL;
  size_t count = 0;
  struct error why = {0};
  enum status status = analyze_run(analysis->id, &asked->store, 1, &request, &arena, &tables, &count, &why);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    keep_kernel_names(&tables[i], asked->kernels);
    page_code_keep(&tables[i], asked->code);
    put_table(&tables[i], asked->file, by, by == NULL ? analysis->main_figure : NULL, &arena, asked->json);
  }
  if (status == STATUS_NO || status == STATUS_USE) // the file lacks what the analysis needs
    status = STATUS_OK;
  else if (status != STATUS_OK && err != NULL)
    *err = why;
  return status;
}

static enum status answer_all(struct page *page, const struct asked *asked, const struct timeline *timeline,
                              struct error *err)
{
  int64_t batches[BATCHES_MOST];
  size_t batch_count = batch_sizes(timeline->runs, timeline->run_count, batches);
  for (size_t i = 0; analyses[i] != NULL; i++) {
    bool is_split = is_per_batch(analyses[i]->id) && batch_count > 0;
    if (analyses[i]->answer == NULL)
      continue; // over many files: only `xsp analyze` has it
    for (size_t j = 0; j < (is_split ? batch_count : 1); j++)
      XSP_TRY(answer(asked, analyses[i], is_split ? batches[j] : 0, NULL, err));
    page_step(page);
  }
  for (size_t j = 0; j < batch_count; j++)
    XSP_TRY(answer(asked, analyze_find("L0"), batches[j], "layer", err));
  for (size_t j = 0; j < (batch_count > 0 ? batch_count : 1); j++)
    XSP_TRY(answer(asked, analyze_find("A16"), batch_count > 0 ? batches[j] : 0, "module", err));
  return STATUS_OK;
}

void page_put_comparison(struct page *page, struct json_writer *json)
{
  struct buf sentence SCOPED(buf_done) = {0};
  if (page->options->comparison == NULL)
    return;
  struct compare_answer *answer = arena_alloc(&page->arena, sizeof *answer);
  *answer = *page->options->comparison;
  report_comparison_sentence(answer, &sentence);
  json_member_object(json, "comparison");
  json_member_string(json, "verdict", verdict_name(answer->verdict));
  json_member_string(json, "sentence", sentence.data);
  json_member_int(json, "first_of_a", (int64_t)page->options->first_of_a);
  json_member_array(json, "answers");
  struct table *const tables[] = {&answer->systems, &answer->scaling, &answer->rows, &answer->unpaired[0],
                                  &answer->unpaired[1]};
  static const char *const by[] = {NULL, NULL, NULL, "a", "b"};
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
    if (tables[i]->row_count > 0)
      put_table(tables[i], 0, by[i], NULL, &page->arena, json);
  json_array_end(json);
  json_object_end(json);
}

enum status page_put_tables(struct page *page, size_t file, struct json_writer *json, struct error *err)
{
  struct page_file *of = &page->files[file];
  const struct asked asked = {
      page_reads_source(page), of->timeline.store, &of->cache, file, &of->kernels, &of->code, json};
  enum status status = answer_all(page, &asked, &of->timeline, err);
  analyze_cache_done(&of->cache);
  return status;
}

void page_put_short_names(struct page *page, struct json_writer *json)
{
  json_member_array(json, "short_names");
  for (size_t file = 0; file < page->file_count; file++) {
    const struct interner *kernels = &page->files[file].kernels;
    size_t count = interner_count(kernels);
    const char **names = arena_alloc_array(&page->arena, count + 1, sizeof *names);
    const char **briefs = arena_alloc_array(&page->arena, count + 1, sizeof *briefs);
    for (uint32_t i = 0; i < count; i++)
      names[i] = interner_text(kernels, i).data;
    page_kernel_names_short(names, count, &page->arena, briefs);
    json_array(json);
    for (size_t i = 0; i < count; i++)
      if (strcmp(names[i], briefs[i]) != 0) {
        json_string(json, names[i]);
        json_string(json, briefs[i]);
      }
    json_array_end(json);
  }
  json_array_end(json);
}
