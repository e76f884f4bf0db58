// SPDX-License-Identifier: Apache-2.0
// Who is whose parent: named by the source, by correlation, by containment. Called by correlate_spans and the bench.
//
// 1. Backward, by blocks of rows: survey them, then find parents by containment, with a stack of open spans for each
//    track and level. A thread's ring is in the order of its ends, so what encloses comes first, without sorting. A
//    track is left as soon as that order is broken or spans cross.
// 2. Parents that the source named become rows.
// 3. The rows of the tracks that were left, sorted by start, pass the same stacks forward, which settles everything.
// 4. Executions take the launch with their correlation id as parent, or none where several could be it.
//
//   time -->   a |-----------------------|       file, by ends: d b c a
//              b   |--------|                    backward:  a, a c, a b, a b d   (open, after each row)
//              c               |------|          forward:   a, a b, a b d, a c
//              d      |--|                       parents:   b and c in a, d in b
//
// tests/support/parent_rules.py has the same rules by brute force.
#include "correlate/parents.h"

#include "base/sorted.h"
#include "correlate/ahead.h"
#include "correlate/order.h"
#include "correlate/parents_private.h"

#include <stdlib.h>
#include <string.h>

#define WHAT "cannot relate spans"
#define PHASE static __attribute__((noinline)) // all inlined into one function, the loops would share its registers

// ---- ids and tracks --------------------------------------------------------------------------------------------------
// Rows are surveyed block by block before the backward sweep passes them (ahead.h), and the sweep of a block asks for the
// columns of the next one: all columns are read from memory once, while the sweep computes.
#define ROWS_AHEAD 48u // of the forward sweep: some 200 ns

static enum status map_ids(const struct store_spans *spans, const struct parents_survey *survey,
                           struct parents *parents, struct error *err)
{
  bool is_rising = survey->ids_rise >> 63 != 0;
  parents->first_id = spans->count > 0 ? rows_id(spans, 0) : 1;
  parents->ids_are_dense = spans->span_id == NULL;
  if (parents->ids_are_dense)
    return parents->first_id >= 1 ? STATUS_OK : parents_survey_refuse(spans, err);
  uint64_t width = spans->count > 0 ? (uint64_t)spans->span_id[spans->count - 1] - (uint64_t)spans->span_id[0] : 0;
  parents->ids_are_dense = is_rising && width + 1 == spans->count;
  if (parents->ids_are_dense || (is_rising && !survey->has_named))
    return STATUS_OK; // unique, and found by arithmetic, or seldom asked for
  parents->row_of_id = arena_alloc(&parents->arena, sizeof *parents->row_of_id);
  for (size_t i = 0; i < spans->count; i++) {
    uint32_t *row = id_pages_slot(parents->row_of_id, &parents->arena, (uint64_t)spans->span_id[i]);
    if (*row != ROW_NONE)
      return parents_survey_bad_span(err, spans, i, "repeats the id of an earlier span");
    *row = (uint32_t)i;
  }
  return STATUS_OK;
}

static uint32_t search_rising(const struct store_spans *spans, int64_t span_id)
{
  size_t at = sorted_lower_bound_i64(span_id, spans->span_id, spans->count, sizeof span_id);
  return at < spans->count && spans->span_id[at] == span_id ? (uint32_t)at : ROW_NONE;
}

uint32_t parents_row_of(const struct parents *parents, const struct store_spans *spans, int64_t span_id)
{
  if (span_id < 1 || spans->count == 0)
    return ROW_NONE;
  if (parents->ids_are_dense) {
    uint64_t row = (uint64_t)span_id - (uint64_t)parents->first_id;
    return row < spans->count ? (uint32_t)row : ROW_NONE;
  }
  if (parents->row_of_id != NULL)
    return id_pages_find(parents->row_of_id, (uint64_t)span_id);
  return search_rising(spans, span_id);
}

SORTED_BY(compare_clocks, struct store_track *const, strcmp((*a)->clock, (*b)->clock))

// Equal clock names get equal numbers.
static void name_clocks(const struct store_track *tracks, size_t track_count, struct parents *parents)
{
  const struct store_track **foreign = arena_alloc_array(&parents->arena, track_count + 1, sizeof *foreign);
  size_t count = 0;
  uint32_t number = 0;
  for (size_t i = 0; i < track_count; i++)
    if (tracks[i].track_id >= 1 && tracks[i].clock != NULL)
      foreign[count++] = &tracks[i];
  qsort(foreign, count, sizeof *foreign, compare_clocks);
  for (size_t i = 0; i < count; i++) {
    number += i == 0 || strcmp(foreign[i - 1]->clock, foreign[i]->clock) != 0;
    uint32_t slot = id_map_find(&parents->slot_of_track, (uint64_t)foreign[i]->track_id);
    if (slot != ROW_NONE)
      parents->track[slot].clock = number;
  }
}

// The track of an id that is not 0, whether or not the run's list of tracks has it; moves the others where it is new.
static struct parents_track *meet_track(struct parents *parents, uint32_t track_id, uint64_t span_count)
{
  struct arena *arena = &parents->arena;
  uint32_t *slot = id_map_grow(&parents->slot_of_track, arena, track_id, span_count + 1024);
  if (*slot != ROW_NONE)
    return &parents->track[*slot];
  size_t count = parents->track_count;
  if ((count & (count - 1)) == 0) { // full: room is always a power of two
    struct parents_track *larger = arena_alloc_array(arena, count == 0 ? 1 : count * 2, sizeof *larger);
    if (count > 0)
      memcpy(larger, parents->track, count * sizeof *larger);
    parents->track = larger;
  }
  *slot = (uint32_t)parents->track_count++;
  parents->track[*slot].last_start = INT64_MIN;
  parents->track[*slot].last_end = INT64_MAX;
  return &parents->track[*slot];
}

// ---- named by the source ---------------------------------------------------------------------------------------------
static void name_parents(const struct store_spans *spans, struct parents *parents)
{
  for (size_t i = 0; i < spans->count; i++)
    if (spans->recorded_parent_id[i] != 0) // has_named: there is the column
      parents->row[i] = parents_row_of(parents, spans, spans->recorded_parent_id[i]);
}

// ---- by containment --------------------------------------------------------------------------------------------------
SWEEP_HOT enum sweep_answer look_up(struct parents_track *track, const struct sweep_span *span, bool is_backward,
                                    struct arena *arena, const struct sweep_open **ret_open)
{
  int level = span->level < SWEEP_LEVELS ? span->level : SWEEP_LEVELS - 1;
  for (; level >= 0; level--) {
    struct sweep_stack *stack = &track->level[level];
    if (stack->count == 0)
      continue;
    sweep_forget(stack, span);
    enum sweep_answer answer = sweep_look(stack, span, level == span->level, is_backward, arena, ret_open);
    if (answer != SWEEP_NONE)
      return answer;
  }
  return SWEEP_NONE;
}

// What the backward sweep may not decide: rows out of the order of their ends, crossing spans, and spans of no length
// at the edge of what encloses them: false.
static inline bool settle_backward(const struct store_spans *spans, uint32_t row, struct parents_track *track,
                                   struct parents *parents)
{
  int64_t start = spans->start_ns[row];
  int64_t end = rows_end(spans, row);
  uint8_t level = spans->level[row];
  if (end >= track->last_end && (end > track->last_end || start < track->last_start ||
                                 (start == track->last_start && level <= track->last_level)))
    return false;
  if (start < track->last_start && (uint64_t)track->last_end - (uint64_t)end - 1 < (uint64_t)parents->resolution_ns)
    return false; // what ends next began in this one, and may belong in it
  track->last_end = end;
  track->last_start = start;
  track->last_level = level;
  struct sweep_span span = {~end, ~start, row, level};
  uint8_t marks = parents->basis[row];
  if (!(marks & MARK_NO_CONTAINMENT) && spans->kind[row] != XSP_KIND_EXECUTION) {
    const struct sweep_open *open;
    enum sweep_answer answer = look_up(track, &span, true, &parents->arena, &open);
    if (answer != SWEEP_NONE) {
      if (answer == SWEEP_AMBIGUOUS || !open->is_nested ||
          (span.near == span.far && (open->near == span.near || open->far == span.far)))
        return false;
      parents->basis[row] = marks | BASIS_CONTAINMENT;
      parents->row[row] = open->row;
    }
  } else if (level < SWEEP_LEVELS && track->level[level].count > 0)
    sweep_forget(&track->level[level], &span);
  if (level < SWEEP_LEVELS && !(marks & MARK_CLOSED))
    sweep_push(&track->level[level], &span, &parents->arena);
  return true;
}

// `columns`: those that are to be asked for ahead.
static void sweep_rows(const struct store_spans *columns, bool has_open, size_t first, size_t end,
                       struct parents *parents)
{
  const struct store_spans view = rows_for_ends(columns, has_open);
  uint32_t last_id = 0;
  struct parents_track *track = NULL;
  for (size_t i = end; i-- > first;) {
    if (i % 8 == 0 && i >= AHEAD_BLOCK_ROWS)
      ahead_fetch(columns, i - AHEAD_BLOCK_ROWS);
    if (view.track_id[i] != last_id) {
      last_id = view.track_id[i];
      track = last_id == 0 ? NULL : meet_track(parents, last_id, view.count);
    }
    if (track == NULL)
      continue;
    track->has_host |= (view.kind[i] != XSP_KIND_EXECUTION) | (view.level[i] != XSP_LEVEL_KERNEL);
    if (track->is_forward || settle_backward(&view, (uint32_t)i, track, parents))
      continue;
    track->is_forward = true;
    for (unsigned level = 0; level < SWEEP_LEVELS; level++)
      sweep_clear(&track->level[level]);
  }
}

PHASE enum status sweep_backward(const struct store_spans *spans, bool may_start_thread,
                                 struct parents_survey *ret_survey, struct parents *parents, struct error *err)
{
  struct ahead ahead;
  ahead_start(&ahead, spans, parents->row, parents->basis, may_start_thread);
  struct store_spans columns = *spans;
  if (ahead.has_thread) // which reads the others
    columns.span_id = columns.recorded_parent_id = columns.correlation_id = NULL;
  size_t end = spans->count;
  while (end > 0) {
    bool has_open;
    size_t first = ahead_wait(&ahead, end, &has_open);
    if (first == end)
      break;
    sweep_rows(&columns, has_open, first, end, parents);
    end = first;
  }
  ahead_end(&ahead);
  parents->launches = ahead.launches;
  parents->links_arena = ahead.links_arena;
  *ret_survey = ahead.survey;
  if (end > 0)
    return parents_survey_refuse(spans, err);
  for (size_t slot = 0; slot < parents->track_count; slot++)
    parents->track[slot].is_forward &= parents->track[slot].has_host; // else nothing on it looks for a parent
  return STATUS_OK;
}

// Lists the rows of the tracks that are left to the forward sweep.
static void collect_forward(const struct store_spans *spans, struct parents *parents)
{
  bool has_any = false;
  for (size_t slot = 0; slot < parents->track_count; slot++)
    has_any |= parents->track[slot].is_forward;
  if (!has_any)
    return;
  parents->forward_row = arena_alloc_array(&parents->order_arena, spans->count + 1, sizeof *parents->forward_row);
  uint32_t last_id = 0;
  bool is_forward = false;
  size_t count = 0;
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->track_id[i] != last_id) {
      last_id = spans->track_id[i];
      const struct parents_track *track = parents_track_of(parents, last_id);
      is_forward = track != NULL && track->is_forward;
    }
    parents->forward_row[count] = (uint32_t)i;
    count += is_forward;
  }
  parents->forward_count = count;
}

// Asks for what the forward sweep reads and writes of a row: rows in order of time jump between the sources' streams.
SWEEP_HOT void fetch_row(const struct store_spans *spans, const struct parents *parents, uint32_t row)
{
  __builtin_prefetch(spans->start_ns + row);
  __builtin_prefetch(spans->duration_ns + row);
  __builtin_prefetch(spans->track_id + row);
  __builtin_prefetch(spans->level + row);
  __builtin_prefetch(spans->kind + row);
  __builtin_prefetch(parents->row + row, 1);
  __builtin_prefetch(parents->basis + row, 1);
}

PHASE void sweep_forward(const struct store_spans *all, struct parents *parents)
{
  const struct store_spans view = rows_for_ends(all, parents->has_open);
  const struct store_spans *spans = &view;
  struct arena *arena = &parents->arena;
  uint32_t last_id = 0;
  struct parents_track *track = NULL;
  for (size_t i = 0; i < parents->forward_count; i++) {
    uint32_t row = parents->forward_row[i];
    if (i + ROWS_AHEAD < parents->forward_count)
      fetch_row(spans, parents, parents->forward_row[i + ROWS_AHEAD]);
    if (spans->track_id[row] != last_id) {
      last_id = spans->track_id[row];
      track = parents_track_of(parents, last_id);
    }
    struct sweep_span span = {spans->start_ns[row], rows_end(spans, row), row, spans->level[row]};
    uint8_t marks = parents->basis[row] & MARKS;
    if (!(marks & MARK_NO_CONTAINMENT) && spans->kind[row] != XSP_KIND_EXECUTION) {
      const struct sweep_open *open;
      enum sweep_answer answer = track->process == NULL ? look_up(track, &span, false, arena, &open)
                                                        : processes_look_up(parents, track, &span, arena, &open);
      parents->row[row] = answer == SWEEP_FOUND ? open->row : ROW_NONE;
      parents->basis[row] = marks | (answer == SWEEP_FOUND       ? BASIS_CONTAINMENT
                                     : answer == SWEEP_AMBIGUOUS ? BASIS_AMBIGUOUS
                                                                 : BASIS_NONE);
    } else if (span.level < SWEEP_LEVELS && track->level[span.level].count > 0)
      sweep_forget(&track->level[span.level], &span);
    if (span.level >= SWEEP_LEVELS || (marks & MARK_CLOSED))
      continue;
    sweep_push(track->is_threadless ? &track->process[span.level] : &track->level[span.level], &span, arena);
  }
}

// Keeps the sorted rows and gives up what sorting needed.
static void sort_forward(const struct store_spans *spans, struct parents *parents)
{
  const struct order_input input = {spans->start_ns, spans->duration_ns, spans->level,
                                    parents->has_open ? spans->flags : NULL};
  struct arena scratch = {0};
  uint32_t *room = arena_alloc_array(&scratch, parents->forward_count + 1, sizeof *room);
  parents->forward_row = order_rows(&input, parents->forward_row, parents->forward_count, room, &scratch);
  if (parents->forward_row == room) {
    arena_done(&parents->order_arena);
    parents->order_arena = scratch;
  } else {
    arena_done(&scratch);
  }
}

// What follows from the launches: parents of executions, and which calls are launches.
static void settle_links(const struct store_spans *spans, const struct parents_survey *survey, struct parents *parents)
{
  parents->has_links = survey->has_named || survey->has_executions;
  parents->has_bases = survey->has_bases;
  launches_join(&parents->launches, spans, survey, &parents->links_arena, parents->row, parents->basis);
  for (size_t i = 0; i < spans->count && survey->has_marks; i++)
    parents->basis[i] &= (uint8_t)~MARKS;
}

enum status parents_find(const struct correlate_question *question, bool may_start_thread, struct parents *ret_parents,
                         struct error *err)
{
  const struct store_spans *spans = question->spans;
  *ret_parents = (struct parents){.resolution_ns = question->resolution_ns};
  struct parents_survey survey;
  if (spans->count >= ROW_NONE)
    return error_set(err, STATUS_INPUT, WHAT, NULL, NULL, "a run of %zu spans is too long", spans->count);
  ret_parents->row = arena_alloc_array(&ret_parents->arena, spans->count + 1, sizeof *ret_parents->row);
  ret_parents->basis = arena_alloc_array(&ret_parents->arena, spans->count + 1, sizeof *ret_parents->basis);
  XSP_TRY(sweep_backward(spans, may_start_thread, &survey, ret_parents, err));
  name_clocks(question->tracks, question->track_count, ret_parents);
  XSP_TRY(map_ids(spans, &survey, ret_parents, err));
  ret_parents->has_steps = survey.has_steps;
  ret_parents->has_open = survey.has_open;
  processes_find(spans, question->tracks, question->track_count, ret_parents);
  if (survey.has_named)
    name_parents(spans, ret_parents);
  collect_forward(spans, ret_parents);
  sort_forward(spans, ret_parents);
  struct store_spans nested = *spans;
  if (parents_nest_ends(ret_parents, &nested))
    sort_forward(&nested, ret_parents);
  sweep_forward(&nested, ret_parents);
  settle_links(spans, &survey, ret_parents);
  return STATUS_OK;
}

enum status parents_learn(const struct store_spans *spans, correlate_load_facts *load, void *context,
                          struct parents *parents, struct error *err)
{
  XSP_TRY(launches_learn(&parents->launches, spans, load, context, &parents->links_arena, parents->row, parents->basis,
                         err));
  return launches_compare_names(&parents->launches, spans, load, context, &parents->links_arena, parents->row,
                                parents->basis, err);
}

void parents_name_caller(const struct store_spans *spans, struct parents *parents)
{
  for (size_t i = 0; i < spans->count; i++)
    if (parents->basis[i] == BASIS_NONE && spans->level[i] != XSP_LEVEL_KERNEL &&
        spans->kind[i] != XSP_KIND_EXECUTION && STORE_BASIS_OF_FLAGS(rows_flags(spans, i)) < 0)
      parents->basis[i] = BASIS_EXPLICIT;
}

void parents_forget_links(struct parents *parents)
{
  launches_done(&parents->launches);
  arena_done(&parents->links_arena);
}

void parents_done(struct parents *parents)
{
  parents_forget_links(parents);
  arena_done(&parents->order_arena);
  arena_done(&parents->arena);
  *parents = (struct parents){0};
}
