// SPDX-License-Identifier: Apache-2.0
// One run on the page: its facts in the document, its spans as columns, or an overview of them that fits. Called by
// page.c for one run after the other: memory is bounded by the largest.
#include "base/saturate.h"
#include "report/page/page.h"
#include "report/page/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

// What the page holds of a run's spans.
struct shown {
  size_t run; // place in page.runs
  int64_t first_ns;
  struct page_rows rows;   // as the columns hold them
  struct page_spans spans; // the same
  bool is_shown;
  int64_t merged_below_ns; // 0: each span is there
  bool has_contexts;       // the page gets them: it cannot compute them from spans
  bool has_levels;         // the file has all spans for queries
  int64_t end_ns;          // latest end of a span, from the first start
  size_t kept;             // spans in the columns or, where merged, in their rectangles
  size_t tags_left_out;
  unsigned widths[PAGE_COLUMNS]; // bytes a value; 0: the column is not there
};

static void put_lane(struct json_writer *json, const struct timeline *timeline, const struct timeline_run *run,
                     size_t index)
{
  const struct timeline_lane *lane = &run->lanes[index];
  const struct timeline_track *track = &run->tracks[lane->track];
  const struct timeline_process *process = &timeline->processes[track->process];
  json_object(json);
  json_member_string(json, "name", track->name);
  json_member_string(json, "process", process->name);
  json_member_int(json, "pid", process->pid);
  json_member_string(json, "role", process->role);
  json_member_string(json, "command", process->command);
  json_member_string(json, "thread", track->role);
  json_member_int(json, "overlap", lane->overlap);
  json_member_bool(json, "is_device", track->track->device_id != STORE_NONE || track->track->stream_id != STORE_NONE);
  json_object_end(json);
}

void page_put_rows(struct json_writer *json, const struct page_rows *rows)
{
  json_member_array(json, "rows");
  for (size_t i = 0; i < rows->row_count; i++) {
    const struct page_row *row = &rows->rows[i];
    json_ints(json, (const int64_t[]){(int64_t)row->lane, row->depth, (int64_t)row->first, (int64_t)row->count}, 4);
  }
  json_array_end(json);
}

static enum status put_observations(struct json_writer *json, struct store *store, const struct timeline_run *run,
                                    int64_t first_ns, struct arena *arena, struct error *err)
{
  struct store_observation *observations = NULL;
  size_t count = 0;
  const char *observed = NULL;
  XSP_TRY(store_observations(store, run->run->run_id, arena, &observations, &count, err));
  for (size_t i = 0; i < run->spans.count && count > 0 && observed == NULL; i++)
    if (run->spans.span_id[i] == observations[0].span_id)
      observed = store_text(store, run->spans.name[i], NULL);
  json_member_string(json, "observed", observed); // the first one's name; null: the whole run
  int64_t *starts = arena_alloc_array(arena, 3 * count + 1, sizeof *starts), *durations = starts + count;
  int64_t *warmups = durations + count;
  size_t warmup_count = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t before_ns = i == 0 ? first_ns : observations[i - 1].start_ns;
    starts[i] = (int64_t)((uint64_t)observations[i].start_ns - (uint64_t)before_ns);
    durations[i] = observations[i].duration_ns;
    if (observations[i].warmup)
      warmups[warmup_count++] = (int64_t)i;
  }
  json_key(json, "observations");
  json_object(json);
  json_member_ints(json, "start", starts, count); // from that of the one before
  json_member_ints(json, "duration", durations, count);
  json_member_ints(json, "warmup", warmups, warmup_count); // places
  json_object_end(json);
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
  json_member_ints(json, "levels_counted", levels, XSP_LEVEL_COUNT);
  json_member_ints(json, "bases_counted", bases, BASIS_COUNT);
  json_member_int(json, "open", open);
}

static void put_run_facts(struct json_writer *json, const struct store_run *run)
{
  char levels[LEVEL_SET_TEXT_SIZE];
  level_set_format(run->levels, levels);
  json_member_int(json, "run_id", run->run_id);
  json_member_int(json, "experiment_id", run->experiment_id);
  json_member_string(json, "levels", levels);
  json_member_int_or_null(json, "batch_size", run->batch_size);
  json_member_int(json, "dropped", run->dropped_count);
  json_member_int(json, "misused", run->misused_count);
  json_member_double(json, "own_pct", run->own_pct);
  json_member_string(json, "epoch", run->epoch_is_unix ? "unix" : "trace");
}

// ---- spans
static void put_parts(struct page *page, struct shown *shown, const struct timeline_run *run)
{
  for (enum page_column column = 0; column < PAGE_COLUMNS; column++) {
    if (!page_column_is_there(&shown->spans, column))
      continue;
    char id[48];
    uint8_t *planes;
    snprintf(id, sizeof id, "%zu-%s", shown->run, page_column_names[column]);
    shown->widths[column] = page_column_planes(&shown->spans, &shown->rows, shown->first_ns, column, &planes);
    page_put_part(page, &page->file.out, id, PAGE_PACK_SMALL,
                  (struct slice){(const char *)planes, shown->spans.count * shown->widths[column]});
    free(planes);
    export_file_flush(&page->file);
  }
  if (!shown->has_levels)
    shown->tags_left_out = page_put_tags(page, shown->run, run, &shown->spans);
}

static void put_contexts(struct page *page, const struct shown *shown, const struct timeline_run *run)
{
  struct buf text;
  char id[48];
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  snprintf(id, sizeof id, "%zu-contexts", shown->run);
  const struct page_file *file = &page->files[page->runs[shown->run].file];
  const struct context_paths *paths = &file->paths;
  if (file->stacks.is_folded)
    page_put_folded(&file->stacks, run->run->run_id, paths, &text);
  else
    page_put_contexts(run, &shown->spans, &shown->rows, paths, shown->first_ns, &page->names, &text);
  page_put_text(page, &page->file.out, id, PAGE_PACK_SMALL, &text);
}

// One step of merging: the spans shown become at most `room` rectangles.
static bool merge_once(struct page *page, struct shown *shown, size_t room, struct arena *arena)
{
  size_t count = 0;
  const struct page_spans spans = shown->spans;
  const struct page_rows rows = shown->rows;
  if (!page_merge_resolution(&spans, &rows, room, &shown->merged_below_ns, &count))
    return false;
  page_merge(&spans, &rows, shown->merged_below_ns, count, &page->names, arena, &shown->spans, &shown->rows);
  return true;
}

// For a server all spans, then ever fewer rectangles: it answers for a range of time from one of these levels.
static bool merge_by_levels(struct page *page, struct shown *shown, size_t room, struct arena *arena)
{
  unsigned level = 0;
  shown->has_levels = true;
  parts_put_level(&page->file, shown->run, level++, &shown->spans, &shown->rows, shown->first_ns, 0);
  for (size_t next = shown->spans.count / 4; shown->spans.count > room; next /= 2) {
    if (!merge_once(page, shown, next > room ? next : room, arena))
      return false;
    parts_put_level(&page->file, shown->run, level++, &shown->spans, &shown->rows, shown->first_ns,
                    shown->merged_below_ns);
  }
  return true;
}

// Replaces the spans by an overview of as many rectangles as there is room for. False: even that has no room.
static bool merge(struct page *page, struct shown *shown, const struct timeline_run *run, struct arena *arena)
{
  size_t room = page->runs[shown->run].room;
  if (page->options->is_of_server && room > PAGE_OVERVIEW_SPANS)
    room = PAGE_OVERVIEW_SPANS;
  if (shown->rows.row_count > room)
    return false;
  put_contexts(page, shown, run);
  return page->options->is_of_server ? merge_by_levels(page, shown, room, arena) : merge_once(page, shown, room, arena);
}

static void lay(struct page *page, struct shown *shown, const struct timeline_run *run, struct arena *arena)
{
  const struct page_run *chosen = &page->runs[shown->run];
  const struct page_range *range = page->options->range;
  size_t count = 0;
  const bool *kept = range != NULL ? page_range_keep(run, shown->first_ns, range, arena, &count) : NULL;
  page_rows_lay(run, kept, arena, &shown->rows);
  shown->kept = shown->rows.span_count;
  shown->is_shown = chosen->wanted > 0 && shown->kept <= chosen->room;
  if (chosen->wanted == 0 || chosen->room == 0)
    return;
  struct store *store = page_timeline(page, chosen)->store;
  page_spans_fill(run, &shown->rows, store, &page->names, arena, &shown->spans);
  for (size_t i = 0; i < shown->spans.count; i++) {
    int64_t end_ns = saturate_subtract(timeline_end(run, shown->rows.source[i]), shown->first_ns);
    shown->end_ns = end_ns > shown->end_ns ? end_ns : shown->end_ns;
  }
  page->last_ns = shown->end_ns > page->last_ns ? shown->end_ns : page->last_ns;
  bool is_folded = page->files[chosen->file].stacks.is_folded;
  shown->is_shown = shown->is_shown || merge(page, shown, run, arena);
  shown->has_contexts = is_folded || shown->merged_below_ns > 0;
  if (is_folded)
    put_contexts(page, shown, run);
  if (shown->is_shown)
    put_parts(page, shown, run);
}

// ---- the run's object
static void put_shown(struct json_writer *json, const struct shown *shown, const struct timeline_run *run)
{
  json_member_string(json, "detail", !shown->is_shown ? "none" : shown->merged_below_ns > 0 ? "merged" : "spans");
  json_member_bool(json, "has_contexts", shown->has_contexts);
  json_member_int_or_null(json, "merged_below_ns", shown->is_shown ? shown->merged_below_ns : 0);
  size_t placed = 0;
  for (size_t i = 0; i < run->lane_count; i++)
    placed += run->lanes[i].count;
  json_member_int(json, "recorded", (int64_t)run->spans.count);
  json_member_int(json, "kept", (int64_t)shown->kept);
  json_member_int(json, "end_ns", shown->end_ns);
  json_member_int(json, "spans", (int64_t)(shown->is_shown ? shown->spans.count : 0));
  json_member_int(json, "spans_of_other_clocks", (int64_t)(run->spans.count - placed));
  json_member_bool(json, "has_windows", shown->has_levels);
  json_member_int(json, "tag_block", shown->has_levels ? 0 : PAGE_TAG_BLOCK);
  json_member_int(json, "tags_left_out", (int64_t)shown->tags_left_out);
}

// Samples of instructions of the run: numbers of call paths, and how many each has itself.
static const char *const sample_keys[STACKS_SAMPLED] = {"samples", "cpu_samples", "wait_samples"};

static void put_samples(struct json_writer *json, const char *key, const struct stacks_weights *weights, int64_t run_id)
{
  json_member_object(json, key);
  for (int column = 0; column < 2; column++) {
    json_member_array(json, column == 0 ? "context" : "count");
    for (size_t i = 0; i < weights->rows.count; i++) {
      const struct stacks_weight *row = &weights->rows.items[i];
      if (row->run_id == run_id)
        json_int(json, column == 0 ? row->context_id : row->exclusive_sum);
    }
    json_array_end(json);
  }
  json_object_end(json);
}

static enum status put_object(struct page *page, const struct shown *shown, const struct timeline_run *run,
                              struct arena *arena, struct json_writer *json, struct error *err)
{
  const struct timeline *timeline = page_timeline(page, &page->runs[shown->run]);
  char number[32];
  json_object(json);
  json_member_int(json, "run", (int64_t)shown->run);
  json_member_int(json, "file", (int64_t)page->runs[shown->run].file);
  put_run_facts(json, run->run);
  put_counts(json, run);
  snprintf(number, sizeof number, "%" PRId64, saturate_add(shown->first_ns, run->shift_ns));
  json_member_string(json, "first_ns", number); // beyond 2^53: a text
  put_shown(json, shown, run);
  json_member_array(json, "lanes");
  for (size_t i = 0; i < run->lane_count; i++)
    put_lane(json, timeline, run, i);
  json_array_end(json);
  page_put_rows(json, &shown->rows);
  for (enum stacks_sampled which = 0; which < STACKS_SAMPLED; which++)
    put_samples(json, sample_keys[which], &page->files[page->runs[shown->run].file].stacks.sampled[which],
                run->run->run_id);
  page_put_counters(json, timeline, run, shown->first_ns);
  XSP_TRY(put_observations(json, timeline->store, run, shown->first_ns, arena, err));
  json_member_object(json, "columns");
  for (int column = 0; column < PAGE_COLUMNS; column++)
    if (shown->widths[column] > 0)
      json_member_int(json, page_column_names[column], shown->widths[column]);
  json_object_end(json);
  json_object_end(json);
  return STATUS_OK;
}

enum status page_put_run(struct page *page, size_t index, struct json_writer *json, struct error *err)
{
  const struct page_run *chosen = &page->runs[index];
  struct timeline *timeline = page_timeline(page, chosen);
  struct shown shown = {.run = index, .first_ns = timeline->run_facts[chosen->index].first_ns};
  struct arena arena SCOPED(arena_done) = {0};
  struct timeline_run run;
  XSP_TRY(timeline_load(timeline, chosen->index, TIMELINE_ALL_COLUMNS, &arena, &run, err));
  XSP_TRY(timeline_load_tags(timeline, &arena, &run, err));
  lay(page, &shown, &run, &arena);
  return put_object(page, &shown, &run, &arena, json, err);
}
