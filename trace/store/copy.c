// SPDX-License-Identifier: Apache-2.0
// One .xsp file into another, table by table. Called by verb_recover.c. Ids stay what they are, except those of strings
// and traces, which every file gives out itself.
#include "store/copy.h"

#include "base/sorted.h"
#include "store/handle.h"

#include <stdlib.h>
#include <string.h>

#define BATCH 4096u

struct copy {
  struct store *from, *to;
  struct headway_watcher watcher;
  uint64_t spans, all_spans; // copied; of all runs
  struct arena arena;        // of the run that is being copied
  int64_t run_id;
  uint32_t *context_ids; // by the old id
  uint32_t *trace_ids;   // by the old id
  size_t trace_count;
};

static uint32_t string_of(const struct copy *copy, uint32_t id)
{
  size_t length = 0;
  const char *text = store_text(copy->from, id, &length);
  return store_string(copy->to, text, length);
}

// ---- spans and tags ---------------------------------------------------------------------------------------------------
static struct store_span span_at(const struct copy *copy, const struct store_spans *spans, size_t i)
{
  uint32_t trace = spans->trace_id[i];
  return (struct store_span){.span_id = spans->span_id[i],
                             .recorded_parent_id = spans->recorded_parent_id[i],
                             .start_ns = spans->start_ns[i],
                             .duration_ns = spans->duration_ns[i],
                             .correlation_id = spans->correlation_id[i],
                             .trace_id = trace < copy->trace_count ? copy->trace_ids[trace] : 0,
                             .track_id = spans->track_id[i],
                             .name = string_of(copy, spans->name[i]),
                             .category = string_of(copy, spans->category[i]),
                             .tracer = string_of(copy, spans->tracer[i]),
                             .context_id = copy->context_ids[spans->context_id[i]],
                             .level = spans->level[i],
                             .kind = spans->kind[i],
                             .flags = spans->flags[i]};
}

static enum status copy_spans(struct copy *copy, struct error *err)
{
  struct store_spans spans = {0};
  XSP_TRY(store_load_spans(copy->from, copy->run_id, STORE_ALL_BASE, &copy->arena, &spans, err));
  struct store_span *batch = arena_alloc_array(&copy->arena, BATCH, sizeof *batch);
  for (size_t i = 0; i < spans.count;) {
    size_t filled = 0;
    while (filled < BATCH && i < spans.count)
      batch[filled++] = span_at(copy, &spans, i++);
    XSP_TRY(store_add_spans(copy->to, copy->run_id, batch, filled, err));
    headway_tell(&copy->watcher, copy->spans += filled, copy->all_spans);
  }
  struct store_tag *tags = NULL;
  size_t count = 0;
  XSP_TRY(store_load_tags(copy->from, copy->run_id, &copy->arena, &tags, &count, err));
  for (size_t i = 0; i < count; i++) {
    tags[i].key = string_of(copy, tags[i].key);
    if (tags[i].type == STORE_TEXT)
      tags[i].value.string = string_of(copy, tags[i].value.string);
  }
  return count ? store_add_tags(copy->to, copy->run_id, tags, count, err) : STATUS_OK;
}

static enum status copy_samples(void *context, const struct store_samples *samples, struct error *err)
{
  const struct copy *copy = context;
  struct store_sample batch[512];
  for (size_t i = 0; i < samples->count;) {
    size_t filled = 0;
    for (; filled < sizeof batch / sizeof *batch && i < samples->count; i++)
      batch[filled++] = (struct store_sample){.time_ns = samples->time_ns[i],
                                              .duration_ns = samples->duration_ns[i],
                                              .span_id = samples->span_id[i],
                                              .track_id = samples->track_id[i],
                                              .context_id = copy->context_ids[samples->context_id[i]],
                                              .kind = samples->kind[i]};
    XSP_TRY(store_add_samples(copy->to, copy->run_id, batch, filled, err));
  }
  return STATUS_OK;
}

static enum status copy_traces(struct copy *copy, struct error *err)
{
  struct store_trace *traces = NULL;
  size_t count = 0;
  XSP_TRY(store_traces(copy->from, copy->run_id, &copy->arena, &traces, &count, err));
  int64_t largest = count > 0 ? traces[count - 1].trace_id : 0;
  copy->trace_count = largest < 0 || largest > 1 << 24 ? 1 : (size_t)largest + 1;
  copy->trace_ids = arena_alloc_array(&copy->arena, copy->trace_count, sizeof *copy->trace_ids);
  for (size_t i = 0; i < count; i++) {
    uint32_t id = 0;
    if (traces[i].trace_id < 1 || traces[i].trace_id > UINT32_MAX - 1)
      continue;
    XSP_TRY(store_add_trace(copy->to, copy->run_id, traces[i].text, &id, err));
    if ((size_t)traces[i].trace_id < copy->trace_count)
      copy->trace_ids[traces[i].trace_id] = id;
  }
  return STATUS_OK;
}

// Notes of the run; of the file where `run_id` is 0.
static enum status copy_notes(struct copy *copy, int64_t run_id, struct error *err)
{
  struct store_note *notes = NULL;
  size_t count = 0;
  XSP_TRY(store_notes(copy->from, run_id, &copy->arena, &notes, &count, err));
  for (size_t i = 0; i < count; i++)
    if (notes[i].run_id == run_id)
      XSP_TRY(store_add_note(copy->to, run_id, notes[i].key, notes[i].value, err));
  return STATUS_OK;
}

static enum status copy_context_samples(struct copy *copy, int64_t run_id, struct error *err)
{
  struct store_context_sample *samples;
  size_t count;
  XSP_TRY(store_context_samples(copy->from, run_id, &copy->arena, &samples, &count, err));
  for (size_t i = 0; i < count; i++)
    samples[i].context_id = copy->context_ids[samples[i].context_id];
  return store_put_context_samples(copy->to, samples, count, err);
}

static enum status copy_counters(struct copy *copy, int64_t run_id, struct error *err)
{
  struct store_counter *counters;
  struct store_counter_value *values;
  size_t count, value_count;
  XSP_TRY(store_counters(copy->from, run_id, &copy->arena, &counters, &count, err));
  XSP_TRY(store_counter_values(copy->from, run_id, &copy->arena, &values, &value_count, err));
  for (size_t i = 0; i < count; i++)
    XSP_TRY(store_add_counter(copy->to, run_id, &counters[i], err));
  for (size_t i = 0; i < value_count && count > 0; i++)
    XSP_TRY(store_add_counter_value(copy->to, run_id, &values[i], err));
  return STATUS_OK;
}

static enum status copy_run(struct copy *copy, const struct store_run *run, struct error *err)
{
  copy->run_id = run->run_id;
  XSP_TRY(store_add_run(copy->to, run, err));
  struct store_track *tracks = NULL;
  struct store_log *logs = NULL;
  size_t count = 0;
  XSP_TRY(store_tracks(copy->from, run->run_id, &copy->arena, &tracks, &count, err));
  for (size_t i = 0; i < count; i++)
    XSP_TRY(store_add_track(copy->to, &tracks[i], err));
  XSP_TRY(copy_traces(copy, err));
  XSP_TRY(copy_spans(copy, err));
  XSP_TRY(store_walk_samples(copy->from, run->run_id, copy_samples, copy, err));
  XSP_TRY(copy_context_samples(copy, run->run_id, err));
  XSP_TRY(copy_counters(copy, run->run_id, err));
  XSP_TRY(store_logs(copy->from, run->run_id, &copy->arena, &logs, &count, err));
  for (size_t i = 0; i < count; i++)
    XSP_TRY(store_add_log(copy->to, run->run_id, logs[i].span_id, logs[i].time_ns, logs[i].message.data,
                          logs[i].message.length, err));
  return copy_notes(copy, run->run_id, err);
}

// In their order: the copies have the same ids where the file that is written was empty.
static enum status copy_call_paths(struct copy *copy, struct arena *arena, struct error *err)
{
  struct store_call_paths paths;
  XSP_TRY(store_call_paths(copy->from, arena, &paths, err));
  copy->context_ids = arena_alloc_array(arena, paths.context_count + 1, sizeof *copy->context_ids);
  for (size_t i = 0; i < paths.context_count; i++) {
    const struct store_context *context = &paths.contexts[i];
    uint32_t frame = store_frame_id(copy->to, &paths.frames[context->frame_id - 1]);
    copy->context_ids[i + 1] = store_context_id(copy->to, copy->context_ids[context->parent_id], frame);
  }
  return STATUS_OK;
}

static enum status copy_outputs(struct copy *copy, int64_t experiment_id, struct error *err)
{
  size_t count = 1;
  for (int64_t next = 0; count > 0 && next < INT64_MAX;) {
    struct arena arena SCOPED(arena_done) = {0};
    struct store_output *outputs = NULL;
    XSP_TRY(store_outputs(copy->from, experiment_id, next, &arena, &outputs, &count, err));
    for (size_t i = 0; i < count; i++)
      XSP_TRY(store_add_output(copy->to, experiment_id, &outputs[i], err));
    if (count > 0)
      next = outputs[count - 1].item < INT64_MAX ? outputs[count - 1].item + 1 : INT64_MAX;
  }
  return STATUS_OK;
}

static enum status copy_experiments(struct copy *copy, struct error *err)
{
  struct store_experiment *experiments = NULL;
  size_t count = 0;
  XSP_TRY(store_experiments(copy->from, &copy->arena, &experiments, &count, err));
  for (size_t i = 0; i < count; i++) {
    struct store_system_value *values = NULL;
    size_t value_count = 0;
    int64_t system_id = 0;
    XSP_TRY(store_system(copy->from, experiments[i].system_id, &copy->arena, &values, &value_count, err));
    if (value_count)
      XSP_TRY(store_add_system(copy->to, values, value_count, &system_id, err));
    experiments[i].system_id = system_id;
    XSP_TRY(store_add_experiment(copy->to, &experiments[i], err));
    XSP_TRY(store_workload(copy->from, experiments[i].experiment_id, &copy->arena, &values, &value_count, err));
    XSP_TRY(store_add_workload(copy->to, experiments[i].experiment_id, values, value_count, err));
    XSP_TRY(store_evaluation(copy->from, experiments[i].experiment_id, &copy->arena, &values, &value_count, err));
    XSP_TRY(store_add_evaluation(copy->to, experiments[i].experiment_id, values, value_count, err));
    XSP_TRY(copy_outputs(copy, experiments[i].experiment_id, err));
  }
  return STATUS_OK;
}

static enum status count_spans(struct copy *copy, int64_t run_id, struct error *err)
{
  struct run_chunks *run;
  XSP_TRY(store_find_run(copy->from, run_id, &run, err));
  copy->all_spans += run != NULL ? run->series[SERIES_SPAN].row_count : 0;
  return STATUS_OK;
}

enum status store_copy(struct store *from, struct store *to, struct headway_watcher watcher, struct error *err)
{
  struct copy copy = {.from = from, .to = to, .watcher = watcher};
  struct arena runs_arena SCOPED(arena_done) = {0};
  struct store_run *runs = NULL;
  size_t count = 0;
  enum status status = copy_experiments(&copy, err);
  if (status == STATUS_OK)
    status = copy_call_paths(&copy, &runs_arena, err);
  if (status == STATUS_OK)
    status = store_runs(from, &runs_arena, &runs, &count, err);
  for (size_t i = 0; i < count && status == STATUS_OK; i++)
    status = count_spans(&copy, runs[i].run_id, err);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    arena_done(&copy.arena);
    status = copy_run(&copy, &runs[i], err);
  }
  if (status == STATUS_OK)
    status = copy_notes(&copy, 0, err);
  arena_done(&copy.arena);
  return status;
}

enum status store_has_trace(struct store *store, int64_t run_id, const char *trace, bool *ret_has, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_trace *traces = NULL;
  size_t count = 0;
  enum status status = store_traces(store, run_id, &arena, &traces, &count, err);
  *ret_has = false;
  for (size_t i = 0; i < count; i++)
    *ret_has |= strcmp(traces[i].text, trace) == 0;
  return status;
}

enum status store_span_ids(struct store *store, const int64_t *run_ids, size_t run_count, struct arena *arena,
                           int64_t **ret_ids, size_t *ret_count, struct error *err)
{
  int64_t *ids = NULL;
  size_t count = 0;
  for (size_t i = 0; i < run_count; i++) {
    struct store_spans spans = {0};
    XSP_TRY(store_load_spans(store, run_ids[i], STORE_BIT(STORE_SPAN_ID), arena, &spans, err));
    int64_t *more = arena_alloc_array(arena, count + spans.count + 1, sizeof *more);
    if (count)
      memcpy(more, ids, count * sizeof *ids);
    if (spans.count)
      memcpy(more + count, spans.span_id, spans.count * sizeof *ids);
    ids = more;
    count += spans.count;
  }
  if (count)
    qsort(ids, count, sizeof *ids, sorted_compare_i64);
  *ret_ids = ids;
  *ret_count = count;
  return STATUS_OK;
}
