// SPDX-License-Identifier: Apache-2.0
// One run on the page: its facts in the document, its spans as columns, or an overview of them that fits. Called by page.c
// run by run: memory is bounded by the largest.
#include "base/saturate.h"
#include "report/page/page.h"

#include <inttypes.h>
#include <stdio.h>

// What became of a run's spans.
struct shown {
  size_t run; // place in page.runs
  int64_t first_ns;
  struct page_rows rows;   // as the columns hold them
  struct page_spans spans; // the same
  bool is_shown;
  int64_t merged_below_ns; // 0: each span is there
  size_t kept;             // spans of the columns or, where merged, that they stand for
  size_t tags_left_out;
  struct page_encoded columns[PAGE_COLUMNS];
};

static void put_lane(struct json_writer *json, const struct timeline *timeline, const struct timeline_run *run,
                     size_t index)
{
  const struct timeline_lane *lane = &run->lanes[index];
  const struct timeline_track *track = &run->tracks[lane->track];
  char name[TIMELINE_NAME_SIZE];
  timeline_track_name(track, name, sizeof name);
  json_object(json);
  json_key(json, "name");
  json_string(json, name);
  json_key(json, "process");
  json_string(json, timeline->processes[track->process].name);
  json_key(json, "pid");
  json_int(json, timeline->processes[track->process].pid);
  json_key(json, "overlap");
  json_int(json, lane->overlap);
  json_key(json, "is_device");
  json_bool(json, track->track->device_id != STORE_NONE || track->track->stream_id != STORE_NONE);
  json_object_end(json);
}

static void put_rows(struct json_writer *json, const struct page_rows *rows)
{
  json_array(json);
  for (size_t i = 0; i < rows->row_count; i++) {
    const struct page_row *row = &rows->rows[i];
    json_array(json);
    json_int(json, (int64_t)row->lane);
    json_int(json, row->depth);
    json_int(json, (int64_t)row->first);
    json_int(json, (int64_t)row->count);
    json_array_end(json);
  }
  json_array_end(json);
}

static enum status put_observations(struct json_writer *json, struct store *store, int64_t run_id, int64_t first_ns,
                                    struct arena *arena, struct error *err)
{
  struct store_observation *observations = NULL;
  size_t count = 0;
  XSP_TRY(store_observations(store, run_id, arena, &observations, &count, err));
  json_array(json);
  for (size_t i = 0; i < count; i++) {
    json_array(json);
    json_int(json, (int64_t)((uint64_t)observations[i].start_ns - (uint64_t)first_ns));
    json_int(json, observations[i].duration_ns);
    json_int(json, observations[i].warmup);
    json_array_end(json);
  }
  json_array_end(json);
  return STATUS_OK;
}

static void put_counts(struct json_writer *json, const struct timeline_run *run)
{
  int64_t levels[XSP_LEVEL_COUNT] = {0}, bases[BASIS_COUNT] = {0}, open = 0;
  for (size_t i = 0; i < run->spans.count; i++) {
    levels[run->spans.level[i] < XSP_LEVEL_COUNT ? run->spans.level[i] : 0]++;
    bases[run->derived.basis[i] < BASIS_COUNT ? run->derived.basis[i] : 0]++;
    open += timeline_is_open(run, (uint32_t)i);
  }
  json_key(json, "levels_counted");
  json_array(json);
  for (size_t i = 0; i < XSP_LEVEL_COUNT; i++)
    json_int(json, levels[i]);
  json_array_end(json);
  json_key(json, "bases_counted");
  json_array(json);
  for (size_t i = 0; i < BASIS_COUNT; i++)
    json_int(json, bases[i]);
  json_array_end(json);
  json_key(json, "open");
  json_int(json, open);
}

static void put_run_facts(struct json_writer *json, const struct store_run *run)
{
  char levels[LEVEL_SET_TEXT_SIZE];
  level_set_format(run->levels, levels);
  json_key(json, "run_id");
  json_int(json, run->run_id);
  json_key(json, "experiment_id");
  json_int(json, run->experiment_id);
  json_key(json, "levels");
  json_string(json, levels);
  json_key(json, "batch_size");
  if (run->batch_size != 0)
    json_int(json, run->batch_size);
  else
    json_null(json);
  json_key(json, "dropped");
  json_int(json, run->dropped_count);
  json_key(json, "misused");
  json_int(json, run->misused_count);
  json_key(json, "own_pct");
  json_double(json, run->own_pct);
  json_key(json, "epoch");
  json_string(json, run->epoch_is_unix ? "unix" : "trace");
}

// ---- spans
static enum status put_parts(struct page *page, struct shown *shown, const struct timeline_run *run, struct error *err)
{
  for (int column = 0; column < PAGE_COLUMNS; column++) {
    if (shown->spans.merged == NULL && (column == PAGE_MERGED || column == PAGE_IDLE))
      continue;
    page_part_begin(&page->out, shown->run, page_column_names[column]);
    XSP_TRY(page_column_encode(&shown->spans, &shown->rows, shown->first_ns, (enum page_column)column, &page->out,
                               &shown->columns[column], err));
    page_part_end(&page->out);
    XSP_TRY(page_flush(page, err));
  }
  return page_put_tags(page, shown->run, run, &shown->spans, &shown->tags_left_out, err);
}

static enum status put_contexts(struct page *page, const struct shown *shown, struct error *err)
{
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  page_part_begin(&page->out, shown->run, "contexts");
  enum status status = page_put_contexts(&shown->spans, &shown->rows, shown->first_ns, &page->names, &text, err);
  if (status == STATUS_OK)
    status = page_put_packed(text.data, text.length, PAGE_PACK_SMALL, &page->out, err);
  page_part_end(&page->out);
  buf_done(&text);
  return status == STATUS_OK ? page_flush(page, err) : status;
}

// An overview of as many rectangles as there is room for, and what it merges.
static enum status merge(struct page *page, struct shown *shown, struct arena *arena, struct error *err)
{
  size_t room = page->runs[shown->run].room, count = 0;
  const struct page_spans spans = shown->spans;
  const struct page_rows rows = shown->rows;
  shown->is_shown = page_merge_resolution(&spans, &rows, room, &shown->merged_below_ns, &count);
  if (!shown->is_shown)
    return STATUS_OK;
  XSP_TRY(put_contexts(page, shown, err));
  return page_merge(&spans, &rows, shown->merged_below_ns, count, &page->names, arena, &shown->spans, &shown->rows,
                    err);
}

static enum status lay(struct page *page, struct shown *shown, const struct timeline_run *run, struct arena *arena,
                       struct error *err)
{
  const struct page_run *chosen = &page->runs[shown->run];
  bool *kept = NULL;
  size_t count = 0;
  if (page->options->range != NULL)
    XSP_TRY(page_range_keep(run, shown->first_ns, page->options->range, arena, &kept, &count, err));
  XSP_TRY(page_rows_lay(run, kept, arena, &shown->rows, err));
  shown->kept = shown->rows.span_count;
  shown->is_shown = chosen->wanted > 0 && shown->kept <= chosen->room;
  if (chosen->wanted == 0 || chosen->room == 0)
    return STATUS_OK;
  struct store *store = page_timeline(page, chosen)->store;
  XSP_TRY(page_spans_fill(run, &shown->rows, store, &page->names, arena, &shown->spans, err));
  for (size_t i = 0; i < shown->spans.count; i++) {
    int64_t end_ns = saturate_subtract(timeline_end(run, shown->rows.source[i]), shown->first_ns);
    page->last_ns = end_ns > page->last_ns ? end_ns : page->last_ns;
  }
  if (!shown->is_shown)
    XSP_TRY(merge(page, shown, arena, err));
  return shown->is_shown ? put_parts(page, shown, run, err) : STATUS_OK;
}

// ---- the run's object
static void put_shown(struct json_writer *json, const struct shown *shown, const struct timeline_run *run)
{
  json_key(json, "detail");
  json_string(json, !shown->is_shown ? "none" : shown->merged_below_ns > 0 ? "merged" : "spans");
  json_key(json, "merged_below_ns");
  if (shown->is_shown && shown->merged_below_ns > 0)
    json_int(json, shown->merged_below_ns);
  else
    json_null(json);
  size_t placed = 0;
  for (size_t i = 0; i < run->lane_count; i++)
    placed += run->lanes[i].count;
  const int64_t counts[][1] = {{(int64_t)run->spans.count},
                               {(int64_t)shown->kept},
                               {(int64_t)(shown->is_shown ? shown->spans.count : 0)},
                               {(int64_t)(run->spans.count - placed)},
                               {PAGE_TAG_BLOCK},
                               {(int64_t)shown->tags_left_out}};
  static const char *const names[] = {"recorded",  "kept",         "spans", "spans_of_other_clocks",
                                      "tag_block", "tags_left_out"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    json_key(json, names[i]);
    json_int(json, counts[i][0]);
  }
}

static enum status put_object(struct page *page, const struct shown *shown, const struct timeline_run *run,
                              struct arena *arena, struct json_writer *json, struct error *err)
{
  const struct timeline *timeline = page_timeline(page, &page->runs[shown->run]);
  char number[32];
  json_object(json);
  json_key(json, "run");
  json_int(json, (int64_t)shown->run);
  json_key(json, "file");
  json_int(json, (int64_t)page->runs[shown->run].file);
  put_run_facts(json, run->run);
  put_counts(json, run);
  snprintf(number, sizeof number, "%" PRId64, saturate_add(shown->first_ns, run->shift_ns));
  json_key(json, "first_ns"); // beyond 2^53: a text
  json_string(json, number);
  put_shown(json, shown, run);
  json_key(json, "lanes");
  json_array(json);
  for (size_t i = 0; i < run->lane_count; i++)
    put_lane(json, timeline, run, i);
  json_array_end(json);
  json_key(json, "rows");
  put_rows(json, &shown->rows);
  json_key(json, "observations");
  XSP_TRY(put_observations(json, timeline->store, run->run->run_id, shown->first_ns, arena, err));
  json_key(json, "columns");
  json_object(json);
  for (int column = 0; column < PAGE_COLUMNS; column++)
    if (shown->columns[column].width > 0) {
      json_key(json, page_column_names[column]);
      json_int(json, shown->columns[column].width);
    }
  json_object_end(json);
  json_object_end(json);
  return STATUS_OK;
}

enum status page_put_run(struct page *page, size_t index, struct json_writer *json, struct error *err)
{
  const struct page_run *chosen = &page->runs[index];
  struct timeline *timeline = page_timeline(page, chosen);
  struct shown shown = {.run = index, .first_ns = timeline->run_firsts[chosen->index]};
  struct arena arena = {0};
  struct timeline_run run;
  enum status status = timeline_load(timeline, chosen->index, &arena, &run, err);
  if (status == STATUS_OK)
    status = lay(page, &shown, &run, &arena, err);
  if (status == STATUS_OK)
    status = put_object(page, &shown, &run, &arena, json, err);
  arena_done(&arena);
  return status;
}
