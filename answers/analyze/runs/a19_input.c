// SPDX-License-Identifier: Apache-2.0
// A19, the input pipeline: batches that data loaders made, by the data set's function, in the program's process or in workers; and
// how long steps waited for them.
#include "analyze/a_list.h"
#include "analyze/run_columns.h"
#include "analyze/runs/a1_stages.h"
#include "base/saturate.h"
#include "base/vector.h"

#include <math.h>
#include <string.h>

#define BOUND_PCT 10.0 // of the latency: steps wait for input at least so long, as the cause's rule data_loader

enum { TAG_FILE, TAG_LINE, KEYS };

struct batch { // that a loader made
  int64_t span_id, start_ns, duration_ns;
  uint32_t name, track_id;
};
struct worker { // from its first batch's start to its last one's end
  int64_t start_ns, end_ns;
};
struct function { // of a data set
  uint32_t name, file;
  int64_t line;
  size_t count;
  double ms;
};
struct pipeline {
  struct question *question;
  const struct view_run *run;
  uint32_t input, data; // string ids of categories; 0: no span has it
  VECTOR(struct batch) batches;
  VECTOR(struct function) functions;
  int64_t first_wait_start_ns, first_wait_ns; // of the first `data` span
  size_t count, workers;
  double ms, worker_ms, loop_ms; // loop_ms: of all workers, from the first batch's start to the last one's end in each
};

static enum status visit(void *context, size_t first_row, const struct store_spans *spans,
                         const struct store_derived *derived, struct error *err)
{
  struct pipeline *of = context;
  for (size_t i = 0; i < spans->count; i++) {
    uint32_t category = spans->category[i];
    if (spans->level[i] != XSP_LEVEL_APPLICATION || category == 0 || (spans->flags[i] & STORE_SPAN_OPEN) != 0)
      continue;
    if (category == of->input)
      *vector_add(&of->batches) = (struct batch){spans->span_id[i], spans->start_ns[i], spans->duration_ns[i],
                                                 spans->name[i], spans->track_id[i]};
    if (category == of->data && spans->start_ns[i] < of->first_wait_start_ns) {
      of->first_wait_start_ns = spans->start_ns[i];
      of->first_wait_ns = spans->duration_ns[i];
    }
  }
  return STATUS_OK;
}

static void add_function(struct pipeline *of, const struct batch *batch, uint32_t file, int64_t line)
{
  size_t at = 0;
  while (at < of->functions.count && (of->functions.items[at].name != batch->name ||
                                      of->functions.items[at].file != file || of->functions.items[at].line != line))
    at++;
  if (at == of->functions.count)
    *vector_add(&of->functions) = (struct function){batch->name, file, line, 0, 0};
  of->functions.items[at].count++;
  of->functions.items[at].ms += (double)batch->duration_ns / 1e6;
}

static enum status add_functions(struct pipeline *of, struct error *err)
{
  struct store *store = of->question->view->store;
  uint32_t keys[KEYS] = {0};
  struct store_tag *tags;
  size_t count;
  struct map file_of SCOPED(map_done) = {0}, line_of SCOPED(map_done) = {0};
  (void)store_find_string(store, "file", 4, &keys[TAG_FILE]);
  (void)store_find_string(store, "line", 4, &keys[TAG_LINE]);
  XSP_TRY(store_load_tags_of(store, of->run->run->run_id, keys, KEYS, of->question->scratch, &tags, &count, err));
  for (size_t i = 0; i < count; i++) {
    if (tags[i].key == keys[TAG_FILE] && tags[i].type == STORE_TEXT)
      *map_at(&file_of, map_number((uint64_t)tags[i].span_id), NULL) = tags[i].value.string;
    else if (tags[i].key == keys[TAG_LINE] && tags[i].type == STORE_INT)
      *map_at(&line_of, map_number((uint64_t)tags[i].span_id), NULL) = (uint64_t)tags[i].value.integer;
  }
  for (size_t i = 0; i < of->batches.count; i++) {
    struct map_key key = map_number((uint64_t)of->batches.items[i].span_id);
    const uint64_t *file = map_find(&file_of, key), *line = map_find(&line_of, key);
    add_function(of, &of->batches.items[i], file != NULL ? (uint32_t)*file : 0, line != NULL ? (int64_t)*line : 0);
  }
  return STATUS_OK;
}

// Workers are processes that make batches and no observations. A loader may start new ones in each epoch, so that each has a time of
// its own.
static enum status add_workers(struct pipeline *of, struct error *err)
{
  struct map process_of SCOPED(map_done) = {0}, place_of SCOPED(map_done) = {0};
  VECTOR(struct worker) workers SCOPED(vector_end) = {0};
  size_t processes;
  struct store *store = of->question->view->store;
  XSP_TRY(run_processes_load(store, of->run->run->run_id, of->question->scratch, &process_of, &processes, err));
  bool *is_programs = arena_alloc_array(of->question->scratch, processes + 1, sizeof *is_programs);
  struct store_spans spans;
  XSP_TRY(store_load_spans(store, of->run->run->run_id, STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_TRACK_ID) | STORE_LEAN,
                           of->question->scratch, &spans, err));
  for (size_t i = 0; i < spans.count; i++) {
    const uint64_t *process = map_find(&process_of, map_number(spans.track_id[i]));
    if (spans.level[i] == XSP_LEVEL_MODEL && process != NULL)
      is_programs[*process] = true;
  }
  for (size_t i = 0; i < of->batches.count; i++) {
    const struct batch *batch = &of->batches.items[i];
    const uint64_t *process = map_find(&process_of, map_number(batch->track_id));
    if (process == NULL || is_programs[*process])
      continue;
    bool is_new;
    int64_t end_ns = saturate_add(batch->start_ns, batch->duration_ns);
    uint64_t *place = map_at(&place_of, map_number(*process), &is_new);
    if (is_new) {
      *place = workers.count;
      *vector_add(&workers) = (struct worker){batch->start_ns, end_ns};
    }
    struct worker *worker = &workers.items[*place];
    worker->start_ns = batch->start_ns < worker->start_ns ? batch->start_ns : worker->start_ns;
    worker->end_ns = end_ns > worker->end_ns ? end_ns : worker->end_ns;
    of->worker_ms += (double)batch->duration_ns / 1e6;
  }
  of->workers += workers.count;
  for (size_t i = 0; i < workers.count; i++)
    of->loop_ms += (double)saturate_subtract(workers.items[i].end_ns, workers.items[i].start_ns) / 1e6;
  return STATUS_OK;
}

static enum status add_run(struct pipeline *of, struct error *err)
{
  const uint32_t columns = STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) |
                           STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_NAME) |
                           STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_FLAGS);
  of->batches.count = 0;
  XSP_TRY(store_walk_spans(of->question->view->store, of->run->run->run_id, columns, visit, of, err));
  XSP_TRY(add_functions(of, err));
  XSP_TRY(add_workers(of, err));
  of->count += of->batches.count;
  for (size_t i = 0; i < of->batches.count; i++)
    of->ms += (double)of->batches.items[i].duration_ns / 1e6;
  return STATUS_OK;
}

static void put_rows(struct pipeline *of)
{
  struct table_builder *table = &of->question->table;
  struct store *store = of->question->view->store;
  for (size_t i = 0; i < of->functions.count; i++) {
    const struct function *function = &of->functions.items[i];
    const char *file = function->file != 0 ? store_text(store, function->file, NULL) : NULL;
    table_row(table);
    table_put(table, "function", cell_text(arena_format(table->arena, "%s", store_text(store, function->name, NULL))));
    table_put(table, "file", cell_text(file != NULL ? arena_format(table->arena, "%s", file) : NULL));
    table_put(table, "line", cell_int_if(function->line > 0, function->line));
    table_put(table, "count", cell_int((int64_t)function->count));
    table_put(table, "time_ms", cell_real(function->ms / (double)function->count));
    table_put(table, "share_pct", cell_real(analyze_share_pct(function->ms, of->ms)));
  }
}

static enum status summarize(struct pipeline *of, const struct view_set *set, struct error *err)
{
  struct table_builder *table = &of->question->table;
  struct stages stages;
  XSP_TRY(stages_load(of->question, set, &stages, err));
  double latency_ms = question_model_latency(of->question, set);
  double waited_pct = analyze_share_pct(stages.data_ms, latency_ms);
  table_summary(table, "batches", cell_int((int64_t)of->count));
  table_summary(table, "workers", cell_int((int64_t)of->workers));
  table_summary(table, "worker_busy_pct", cell_real(analyze_share_pct(of->worker_ms, of->loop_ms)));
  table_summary(table, "waited_ms", cell_real(stages.data_ms));
  table_summary(table, "first_batch_ms",
                cell_real(of->first_wait_start_ns != INT64_MAX ? (double)of->first_wait_ns / 1e6 : NAN));
  table_summary(table, "bound", cell_text(isnan(waited_pct) ? NULL : waited_pct >= BOUND_PCT ? "input" : "compute"));
  return STATUS_OK;
}

static bool has_models(const struct view *view, int64_t batch_size)
{
  return view_rule(view, batch_size, XSP_LEVEL_MODEL, NULL) != NULL;
}

static enum status answer(struct question *question, struct error *err)
{
  struct pipeline of = {.question = question, .first_wait_start_ns = INT64_MAX};
  struct store *store = question->view->store;
  (void)store_find_string(store, "input", 5, &of.input);
  (void)store_find_string(store, "data", 4, &of.data);
  XSP_TRY(question_batch(question, has_models, "the model level", err));
  const char *from;
  const struct view_set *set = view_rule(question->view, question->batch_size, XSP_LEVEL_MODEL, &from);
  enum status status = STATUS_OK;
  for (size_t i = 0; i < set->run_count && status == STATUS_OK && of.input != 0; i++) {
    of.run = set->runs[i];
    status = add_run(&of, err);
  }
  if (status == STATUS_OK && of.functions.count == 0)
    status = question_lacks(question, err, "no data loader made a batch: live PyTorch's have spans of category input");
  if (status == STATUS_OK) {
    question_uses(question, set);
    question_note_from(question, "model", from);
    put_rows(&of);
    status = summarize(&of, set, err);
  }
  vector_done(&of.batches);
  vector_done(&of.functions);
  return status;
}

const struct analysis analysis_a19 = {.id = "A19",
                                      .title = "input pipeline",
                                      .needs = "M",
                                      .main_figure = "time_ms",
                                      .detail = TRACE_LAYERS,
                                      .answer = answer};
