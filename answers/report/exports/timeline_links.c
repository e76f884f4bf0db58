// SPDX-License-Identifier: Apache-2.0
// Parents that a reader of an exported timeline cannot find again, by nesting in lanes and by correlation ids. Called by
// timeline_writer.c. Pure.
#include "report/exports/timeline.h"

struct drawn { // spans in the order of the file, as its importer reads them: lanes are tracks, no parent is named
  struct store_spans spans;
  struct store_track *tracks;
  uint32_t *row; // of the run
  int64_t *at;   // by row: its id here; 0: not drawn
};

static void add_span(const struct store_spans *from, uint32_t row, uint32_t track_id, struct drawn *drawn)
{
  struct store_spans *to = &drawn->spans;
  size_t at = to->count++;
  drawn->row[at] = row;
  drawn->at[row] = (int64_t)at + 1;
  to->start_ns[at] = from->start_ns[row];
  to->duration_ns[at] = from->duration_ns[row];
  to->correlation_id[at] = from->correlation_id[row];
  to->track_id[at] = track_id;
  to->level[at] = from->level[row];
  to->kind[at] = from->kind[row];
  to->flags[at] = from->flags[row] & STORE_SPAN_OPEN;
}

static void draw(const struct timeline_run *run, bool are_all_threads, struct arena *arena, struct drawn *ret_drawn)
{
  size_t room = run->spans.count + 1;
  struct store_spans *spans = &ret_drawn->spans;
  *ret_drawn = (struct drawn){.spans.first_id = 1,
                              .tracks = arena_alloc_array(arena, run->lane_count + 1, sizeof *ret_drawn->tracks),
                              .row = arena_alloc_array(arena, room, sizeof *ret_drawn->row),
                              .at = arena_alloc_array(arena, room, sizeof *ret_drawn->at)};
  int64_t **const wide[] = {&spans->start_ns, &spans->duration_ns, &spans->correlation_id, &spans->recorded_parent_id};
  uint8_t **const narrow[] = {&spans->level, &spans->kind, &spans->flags};
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
    *wide[i] = arena_alloc_array(arena, room, sizeof **wide[i]);
  for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
    *narrow[i] = arena_alloc_array(arena, room, sizeof **narrow[i]);
  spans->track_id = arena_alloc_array(arena, room, sizeof *spans->track_id);
  for (size_t i = 0; i < run->lane_count; i++) {
    const struct timeline_lane *lane = &run->lanes[i];
    struct store_track *track = &ret_drawn->tracks[i];
    *track = *run->tracks[lane->track].track;
    track->track_id = (int64_t)i + 1;
    track->device_id = track->stream_id = STORE_NONE;
    track->thread_id = are_all_threads ? lane->tid : track->thread_id;
    for (size_t at = lane->first; at < lane->first + lane->count; at++)
      add_span(&run->spans, run->order[at], (uint32_t)i + 1, ret_drawn);
  }
}

// Links the spans whose parents the reader finds elsewhere. Returns whether there are any.
static bool add_links(struct timeline_run *run, const struct correlate_answer *found, struct drawn *drawn)
{
  bool has_any = false;
  for (size_t at = 0; at < drawn->spans.count; at++) {
    uint32_t row = drawn->row[at], parent = run->parent[row];
    int64_t id = found->derived.parent_id[at];
    if ((run->links[row] & TIMELINE_LINKED) != 0 || parent == (id != 0 ? drawn->row[id - 1] : TIMELINE_NO_ROW))
      continue;
    has_any = true;
    run->links[row] |= TIMELINE_LINKED;
    drawn->spans.flags[at] |= STORE_FLAG_BASIS(BASIS_EXPLICIT);
    if (parent != TIMELINE_NO_ROW) {
      run->links[parent] |= TIMELINE_NAMED;
      drawn->spans.recorded_parent_id[at] = drawn->at[parent];
    }
  }
  return has_any;
}

// What is linked moves what the reader finds for the others.
#define PASSES_MOST 4

enum status timeline_find_links(struct timeline_run *run, bool are_all_threads, struct arena *arena, struct error *err)
{
  struct arena scratch SCOPED(arena_done) = {0};
  struct drawn drawn;
  bool has_new = true;
  draw(run, are_all_threads, &scratch, &drawn);
  const uint32_t *by_id = timeline_order_by_id(run, &scratch);
  run->parent = arena_alloc_array(arena, run->spans.count + 1, sizeof *run->parent);
  run->links = arena_alloc_array(arena, run->spans.count + 1, sizeof *run->links);
  for (uint32_t row = 0; row < run->spans.count; row++)
    run->parent[row] = timeline_row_of(run, by_id, run->derived.parent_id[row]);
  struct correlate_question question = {.spans = &drawn.spans,
                                        .tracks = drawn.tracks,
                                        .track_count = run->lane_count,
                                        .column_mask = STORE_BIT(STORE_PARENT_ID)};
  for (unsigned pass = 0; pass < PASSES_MOST && has_new; pass++) {
    struct arena answers SCOPED(arena_done) = {0};
    struct correlate_answer found;
    XSP_TRY(correlate_spans(&question, &answers, &found, err));
    has_new = add_links(run, &found, &drawn);
  }
  return STATUS_OK;
}
