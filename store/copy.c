// SPDX-License-Identifier: Apache-2.0
// One .xsp file into another, table by table. Called by verb_recover.c. Ids stay what they are, except those of strings
// and traces, which every file gives out itself.
#include "store/copy.h"

#include "base/sorted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 4096u

struct copy {
  struct store *from, *to;
  struct arena arena; // of the run that is being copied
  int64_t run_id;
  uint32_t *trace_ids; // by the old id
  size_t trace_count;
};

static uint32_t string_of(const struct copy *copy, uint32_t id)
{
  size_t length = 0;
  const char *text = store_text(copy->from, id, &length);
  return store_string(copy->to, text, length);
}

static enum status query(struct copy *copy, const char *sql_format, int64_t run_id,
                         enum status (*row)(void *context, const struct store_cell *cells, size_t count,
                                            struct error *err),
                         struct error *err)
{
  char sql[256];
  snprintf(sql, sizeof sql, sql_format, (long long)run_id);
  const struct store_query_sink sink = {copy, NULL, row};
  return store_query(copy->from, sql, &sink, err);
}

// ---- tables that have no loader ---------------------------------------------------------------------------------------
static enum status copy_trace(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct copy *copy = context;
  uint32_t id = 0;
  if (cells[0].integer < 1 || cells[0].integer > UINT32_MAX - 1 || cells[1].type != STORE_TEXT)
    return STATUS_OK;
  XSP_TRY(store_add_trace(copy->to, copy->run_id, cells[1].text, &id, err));
  size_t place = (size_t)cells[0].integer;
  if (place < copy->trace_count)
    copy->trace_ids[place] = id;
  return STATUS_OK;
}

static enum status copy_log(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct copy *copy = context;
  return store_add_log(copy->to, copy->run_id, cells[0].integer, cells[1].integer, cells[2].text ? cells[2].text : "",
                       cells[2].length, err);
}

static enum status copy_note(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct copy *copy = context;
  return store_add_note(copy->to, copy->run_id, cells[0].text ? cells[0].text : "", cells[1].text, err);
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

static enum status biggest_trace(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct copy *copy = context;
  int64_t biggest = cells[0].type == STORE_INT ? cells[0].integer : 0;
  copy->trace_count = biggest < 0 || biggest > 1 << 24 ? 1 : (size_t)biggest + 1;
  return STATUS_OK;
}

static enum status copy_run(struct copy *copy, const struct store_run *run, struct error *err)
{
  copy->run_id = run->run_id;
  XSP_TRY(store_add_run(copy->to, run, err));
  struct store_track *tracks = NULL;
  size_t count = 0;
  XSP_TRY(store_tracks(copy->from, run->run_id, &copy->arena, &tracks, &count, err));
  for (size_t i = 0; i < count; i++)
    XSP_TRY(store_add_track(copy->to, &tracks[i], err));
  XSP_TRY(query(copy, "select max(trace_id) from trace where run_id = %lld", run->run_id, biggest_trace, err));
  copy->trace_ids = arena_alloc_array(&copy->arena, copy->trace_count, sizeof *copy->trace_ids);
  XSP_TRY(query(copy, "select trace_id, text from trace where run_id = %lld order by trace_id", run->run_id, copy_trace,
                err));
  XSP_TRY(copy_spans(copy, err));
  XSP_TRY(query(copy, "select span_id, time_ns, message from log where run_id = %lld", run->run_id, copy_log, err));
  return query(copy, "select key, value from note where run_id = %lld", run->run_id, copy_note, err);
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
  }
  return STATUS_OK;
}

enum status store_copy(struct store *from, struct store *to, struct error *err)
{
  struct copy copy = {.from = from, .to = to};
  struct arena runs_arena = {0};
  struct store_run *runs = NULL;
  size_t count = 0;
  enum status status = copy_experiments(&copy, err);
  if (status == STATUS_OK)
    status = store_runs(from, &runs_arena, &runs, &count, err);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    arena_done(&copy.arena);
    status = copy_run(&copy, &runs[i], err);
  }
  copy.run_id = 0; // notes that concern the file
  if (status == STATUS_OK)
    status = query(&copy, "select key, value from note where run_id = %lld", 0, copy_note, err);
  arena_done(&copy.arena);
  arena_done(&runs_arena);
  return status;
}

static enum status set_true(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  *(bool *)context = true;
  return STATUS_OK;
}

enum status store_has_trace(struct store *store, int64_t run_id, const char *trace, bool *ret_has, struct error *err)
{
  char sql[160];
  *ret_has = false;
  // `trace` is 32 hex digits that collect wrote itself.
  snprintf(sql, sizeof sql, "select 1 from trace where run_id = %lld and text = '%.32s'", (long long)run_id, trace);
  const struct store_query_sink sink = {ret_has, NULL, set_true};
  return store_query(store, sql, &sink, err);
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
