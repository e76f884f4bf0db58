// SPDX-License-Identifier: Apache-2.0
// Who is whose parent: named by the source, by correlation, by containment. Called by correlate_spans and the bench.
//
// Containment is found by sweeping with one stack per track and level. A thread's own ring stands in the order of its
// ends, so a first sweep runs over the file backward, without sorting, and gives up a track as soon as that order is
// broken or spans cross; the rows of those tracks are then sorted by start and swept forward, which settles everything.
// tests/parent_rules.py says the same rules by brute force.
#include "correlate/parents.h"

#include "correlate/order.h"

#include <inttypes.h>

#define WHAT "cannot relate spans"

static enum status out_of_memory(struct error *err)
{
  return error_set(err, STATUS_MEMORY, WHAT, NULL, NULL, "out of memory");
}

static enum status bad_span(struct error *err, const struct store_spans *spans, size_t row, const char *why)
{
  return error_set(err, STATUS_INPUT, WHAT, NULL, NULL, "span %" PRId64 " (row %zu) %s", spans->span_id[row], row, why);
}

// ---- what kind of input is this --------------------------------------------------------------------------------------
struct survey {
  int64_t least_start, most_start;
  uint64_t largest_id, largest_parent, largest_correlation;
  uint32_t largest_track;
  size_t explicit_count, execution_count, launch_count;
  bool ids_rise, ids_are_dense;
};

static enum status survey_times(const struct store_spans *spans, struct survey *survey, struct error *err)
{
  bool is_bad = false;
  int64_t least = INT64_MAX;
  int64_t most = INT64_MIN;
  for (size_t i = 0; i < spans->count; i++) {
    int64_t end;
    least = spans->start_ns[i] < least ? spans->start_ns[i] : least;
    most = spans->start_ns[i] > most ? spans->start_ns[i] : most;
    is_bad |= __builtin_add_overflow(spans->start_ns[i], spans->duration_ns[i], &end);
    is_bad |= spans->duration_ns[i] < 0;
    is_bad |= spans->level[i] >= XSP_LEVEL_COUNT;
    is_bad |= spans->kind[i] > XSP_KIND_EXECUTION;
  }
  survey->least_start = least;
  survey->most_start = most;
  if (!is_bad)
    return STATUS_OK;
  for (size_t i = 0; i < spans->count; i++) {
    int64_t end;
    if (spans->duration_ns[i] < 0)
      return bad_span(err, spans, i, "ends before it starts");
    if (__builtin_add_overflow(spans->start_ns[i], spans->duration_ns[i], &end))
      return bad_span(err, spans, i, "ends beyond the largest time");
    if (spans->level[i] >= XSP_LEVEL_COUNT)
      return bad_span(err, spans, i, "is of no known level");
    if (spans->kind[i] > XSP_KIND_EXECUTION)
      return bad_span(err, spans, i, "is of no known kind");
  }
  return STATUS_OK;
}

static enum status survey_ids(const struct store_spans *spans, struct survey *survey, struct error *err)
{
  uint64_t ids = 0;
  uint64_t parents = 0;
  uint64_t correlations = 0;
  uint32_t track = 0;
  size_t executions = 0;
  size_t launches = 0;
  size_t named = 0;
  bool rise = true;
  bool has_bad_id = false;
  for (size_t i = 0; i < spans->count; i++) {
    uint64_t id = (uint64_t)spans->span_id[i];
    ids = id > ids ? id : ids;
    has_bad_id |= spans->span_id[i] < 1;
    rise &= i == 0 || spans->span_id[i] > spans->span_id[i - 1];
    uint64_t correlation = (uint64_t)spans->correlation_id[i];
    correlations = correlation > correlations ? correlation : correlations;
    uint64_t parent = (uint64_t)spans->recorded_parent_id[i];
    named += parent != 0;
    parents = parent > parents ? parent : parents;
    track = spans->track_id[i] > track ? spans->track_id[i] : track;
    executions += spans->kind[i] == XSP_KIND_EXECUTION;
    launches += spans->kind[i] == XSP_KIND_LAUNCH;
  }
  if (has_bad_id)
    for (size_t i = 0; i < spans->count; i++)
      if (spans->span_id[i] < 1)
        return bad_span(err, spans, i, "has an id below 1");
  survey->largest_id = ids;
  survey->largest_parent = parents;
  survey->largest_correlation = correlations;
  survey->largest_track = track;
  survey->explicit_count = named;
  survey->execution_count = executions;
  survey->launch_count = launches;
  survey->ids_rise = rise;
  survey->ids_are_dense = rise && spans->count > 0 && ids - (uint64_t)spans->span_id[0] == (uint64_t)spans->count - 1;
  return STATUS_OK;
}

static enum status map_ids(const struct store_spans *spans, const struct survey *survey, struct arena *arena,
                           struct parents *parents, struct error *err)
{
  parents->ids_are_dense = survey->ids_are_dense;
  if (survey->ids_are_dense || (survey->ids_rise && survey->explicit_count == 0))
    return STATUS_OK; // unique, and found by arithmetic, or seldom asked for
  if (!id_map_init(&parents->row_of_id, arena, spans->count, survey->largest_id))
    return out_of_memory(err);
  for (size_t i = 0; i < spans->count; i++) {
    uint32_t *row = id_map_slot(&parents->row_of_id, (uint64_t)spans->span_id[i]);
    if (*row != ROW_NONE)
      return bad_span(err, spans, i, "repeats the id of an earlier span");
    *row = (uint32_t)i;
  }
  return STATUS_OK;
}

static uint32_t search_rising(const struct store_spans *spans, int64_t span_id)
{
  size_t low = 0;
  size_t high = spans->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (spans->span_id[middle] < span_id)
      low = middle + 1;
    else
      high = middle;
  }
  return low < spans->count && spans->span_id[low] == span_id ? (uint32_t)low : ROW_NONE;
}

uint32_t parents_row_of(const struct parents *parents, const struct store_spans *spans, int64_t span_id)
{
  if (span_id < 1 || spans->count == 0)
    return ROW_NONE;
  if (parents->ids_are_dense) {
    uint64_t row = (uint64_t)span_id - (uint64_t)spans->span_id[0];
    return row < spans->count ? (uint32_t)row : ROW_NONE;
  }
  if (parents->row_of_id.value != NULL)
    return id_map_find(&parents->row_of_id, (uint64_t)span_id);
  return search_rising(spans, span_id);
}

// Which tracks have spans, and which have more than kernel executions. Marks instead of branches where ids are dense: the
// order of tracks in a file is hard to predict.
static bool mark_tracks(const struct store_spans *spans, uint32_t largest, struct arena *arena, struct parents *parents)
{
  bool is_dense = parents->slot_of_track.key == NULL;
  uint8_t *is_used = is_dense ? arena_alloc_array(arena, (size_t)largest + 1, 2) : NULL;
  uint32_t count = 0;
  if (is_dense && is_used == NULL)
    return false;
  if (is_dense) {
    uint8_t *is_host = is_used + largest + 1;
    for (size_t i = 0; i < spans->count; i++) {
      bool host = (spans->level[i] != XSP_LEVEL_KERNEL) | (spans->kind[i] != XSP_KIND_EXECUTION);
      is_used[spans->track_id[i]] = 1;
      is_host[host ? spans->track_id[i] : 0] = 1; // id 0 is no track
    }
    for (size_t id = 1; id <= largest; id++)
      if (is_used[id])
        *id_map_slot(&parents->slot_of_track, id) = count++;
    parents->track = arena_alloc_array(arena, (size_t)count + 1, sizeof *parents->track);
    for (size_t id = 1; parents->track != NULL && id <= largest; id++)
      if (is_used[id])
        parents->track[id_map_find(&parents->slot_of_track, id)].has_host = is_host[id];
  } else {
    for (size_t i = 0; i < spans->count; i++) {
      uint32_t *slot = spans->track_id[i] == 0 ? NULL : id_map_slot(&parents->slot_of_track, spans->track_id[i]);
      if (slot != NULL && *slot == ROW_NONE)
        *slot = count++;
    }
    parents->track = arena_alloc_array(arena, (size_t)count + 1, sizeof *parents->track);
    for (uint32_t slot = 0; parents->track != NULL && slot < count; slot++)
      parents->track[slot].has_host = true; // nothing is lost but time
  }
  parents->track_count = count;
  for (uint32_t slot = 0; parents->track != NULL && slot < count; slot++) {
    parents->track[slot].last_start = INT64_MIN;
    parents->track[slot].last_end = INT64_MAX;
  }
  return parents->track != NULL;
}

// One slot per track that has spans, whether or not `tracks` knows it. Equal clock names get equal numbers.
static bool map_tracks(const struct store_spans *spans, const struct store_track *tracks, size_t track_count,
                       uint32_t largest, struct arena *arena, struct parents *parents)
{
  size_t most = (size_t)largest + 1 < spans->count ? (size_t)largest + 1 : spans->count;
  if (!id_map_init(&parents->slot_of_track, arena, most + 1, largest) || !mark_tracks(spans, largest, arena, parents))
    return false;
  for (size_t i = 0; i < track_count; i++) {
    uint32_t slot = tracks[i].track_id < 1 || tracks[i].track_id > largest
                        ? ROW_NONE
                        : id_map_find(&parents->slot_of_track, (uint64_t)tracks[i].track_id);
    if (slot == ROW_NONE || tracks[i].clock == NULL)
      continue;
    size_t same = 0;
    while (same < i && (tracks[same].clock == NULL || strcmp(tracks[same].clock, tracks[i].clock) != 0))
      same++;
    parents->track[slot].clock = (uint32_t)same + 1;
  }
  return true;
}

// ---- named by the source ---------------------------------------------------------------------------------------------
static void name_parents(const struct store_spans *spans, struct parents *parents)
{
  for (size_t i = 0; i < spans->count; i++)
    if (spans->recorded_parent_id[i] != 0) {
      parents->basis[i] = BASIS_EXPLICIT;
      parents->row[i] = parents_row_of(parents, spans, spans->recorded_parent_id[i]);
    }
}

// ---- by containment --------------------------------------------------------------------------------------------------
static inline enum sweep_answer look_up(struct parents_track *track, const struct sweep_span *span, bool is_backward,
                                        const struct sweep_open **ret_open)
{
  int level = span->level < SWEEP_LEVELS ? span->level : SWEEP_LEVELS - 1;
  for (; level >= 0; level--) {
    struct sweep_stack *stack = &track->level[level];
    if (stack->count == 0)
      continue;
    sweep_forget(stack, span);
    enum sweep_answer answer = sweep_look(stack, span, level == span->level, is_backward, ret_open);
    if (answer != SWEEP_NONE)
      return answer;
  }
  return SWEEP_NONE;
}

// What the backward sweep may not decide: rows out of the order of their ends, crossing spans, and spans of no length
// at the edge of what encloses them.
static inline bool settle_backward(const struct store_spans *spans, uint32_t row, struct parents_track *track,
                                   struct parents *parents, struct arena *arena, bool *ret_memory)
{
  int64_t start = spans->start_ns[row];
  int64_t end = parents_end(spans, row);
  uint8_t level = spans->level[row];
  if (end >= track->last_end && (end > track->last_end || start < track->last_start ||
                                 (start == track->last_start && level <= track->last_level)))
    return false;
  track->last_end = end;
  track->last_start = start;
  track->last_level = level;
  struct sweep_span span = {~end, ~start, row, level};
  if (parents->basis[row] != BASIS_EXPLICIT && spans->kind[row] != XSP_KIND_EXECUTION) {
    const struct sweep_open *open;
    enum sweep_answer answer = look_up(track, &span, true, &open);
    if (answer != SWEEP_NONE) {
      if (answer == SWEEP_AMBIGUOUS || !open->is_nested ||
          (span.near == span.far && (open->near == span.near || open->far == span.far)))
        return false;
      parents->basis[row] = BASIS_CONTAINMENT;
      parents->row[row] = open->row;
    }
  }
  if (level < SWEEP_LEVELS)
    *ret_memory = sweep_push(&track->level[level], &span, arena);
  return true;
}

// Of several launches with one id the outermost call: earliest start, then latest end, then file order.
static bool is_outer_launch(const struct store_spans *spans, uint32_t a, uint32_t b)
{
  if (spans->start_ns[a] != spans->start_ns[b])
    return spans->start_ns[a] < spans->start_ns[b];
  return parents_end(spans, a) > parents_end(spans, b);
}

// Rows come last first.
static void note_launch(const struct store_spans *spans, uint32_t row, struct id_map *launches)
{
  if (spans->correlation_id[row] == 0)
    return;
  uint32_t *launch = id_map_slot(launches, (uint64_t)spans->correlation_id[row]);
  if (*launch == ROW_NONE || !is_outer_launch(spans, *launch, row))
    *launch = row;
}

static bool sweep_backward(const struct store_spans *spans, const struct survey *survey, struct parents *parents,
                           struct arena *arena)
{
  bool has_explicit = survey->explicit_count > 0;
  bool has_executions = survey->execution_count > 0;
  if (survey->launch_count > 0 && has_executions &&
      !id_map_init(&parents->launch_of_correlation, arena, survey->launch_count, survey->largest_correlation))
    return false;
  bool memory = true;
  uint32_t last_id = 0;
  struct parents_track *track = NULL;
  for (size_t i = spans->count; i-- > 0 && memory;) {
    if (spans->track_id[i] != last_id) {
      last_id = spans->track_id[i];
      track = parents_track_of(parents, last_id);
    }
    if (!has_explicit || parents->basis[i] != BASIS_EXPLICIT)
      parents->row[i] = ROW_NONE;
    if (spans->kind[i] == XSP_KIND_LAUNCH && has_executions)
      note_launch(spans, (uint32_t)i, &parents->launch_of_correlation);
    if (track == NULL || track->is_forward || !track->has_host)
      continue;
    if (!settle_backward(spans, (uint32_t)i, track, parents, arena, &memory)) {
      track->is_forward = true;
      for (unsigned level = 0; level < SWEEP_LEVELS; level++)
        track->level[level].count = 0;
    }
  }
  return memory;
}

static bool collect_forward(const struct store_spans *spans, struct parents *parents, struct arena *arena)
{
  bool has_any = false;
  for (size_t slot = 0; slot < parents->track_count; slot++)
    has_any |= parents->track[slot].is_forward;
  if (!has_any)
    return true;
  parents->forward_row = arena_alloc_array(arena, spans->count + 1, sizeof *parents->forward_row);
  if (parents->forward_row == NULL)
    return false;
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
  return true;
}

static bool sweep_forward(const struct store_spans *spans, struct parents *parents, struct arena *arena)
{
  uint32_t last_id = 0;
  struct parents_track *track = NULL;
  for (size_t i = 0; i < parents->forward_count; i++) {
    uint32_t row = parents->forward_row[i];
    if (spans->track_id[row] != last_id) {
      last_id = spans->track_id[row];
      track = parents_track_of(parents, last_id);
    }
    struct sweep_span span = {spans->start_ns[row], parents_end(spans, row), row, spans->level[row]};
    if (parents->basis[row] != BASIS_EXPLICIT && spans->kind[row] != XSP_KIND_EXECUTION) {
      const struct sweep_open *open;
      enum sweep_answer answer = look_up(track, &span, false, &open);
      parents->row[row] = answer == SWEEP_FOUND ? open->row : ROW_NONE;
      parents->basis[row] = answer == SWEEP_FOUND       ? BASIS_CONTAINMENT
                            : answer == SWEEP_AMBIGUOUS ? BASIS_AMBIGUOUS
                                                        : BASIS_NONE;
    }
    if (span.level < SWEEP_LEVELS && !sweep_push(&track->level[span.level], &span, arena))
      return false;
  }
  return true;
}

// ---- by correlation --------------------------------------------------------------------------------------------------
static void join_executions(const struct store_spans *spans, struct parents *parents)
{
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->kind[i] != XSP_KIND_EXECUTION || parents->basis[i] == BASIS_EXPLICIT || spans->correlation_id[i] == 0)
      continue;
    uint32_t launch = id_map_find(&parents->launch_of_correlation, (uint64_t)spans->correlation_id[i]);
    if (launch == ROW_NONE)
      continue;
    parents->row[i] = parents->row[launch];
    parents->basis[i] = BASIS_CORRELATION;
  }
}

enum status parents_find(const struct store_spans *spans, const struct store_track *tracks, size_t track_count,
                         struct arena *arena, struct parents *ret_parents, struct error *err)
{
  *ret_parents = (struct parents){0};
  struct survey survey = {0};
  if (spans->count >= ROW_NONE)
    return error_set(err, STATUS_INPUT, WHAT, NULL, NULL, "a run of %zu spans is too long", spans->count);
  XSP_TRY(survey_times(spans, &survey, err));
  XSP_TRY(survey_ids(spans, &survey, err));
  XSP_TRY(map_ids(spans, &survey, arena, ret_parents, err));
  ret_parents->has_links = survey.explicit_count > 0 || survey.execution_count > 0;
  ret_parents->row = arena_alloc_array(arena, spans->count + 1, sizeof *ret_parents->row);
  ret_parents->basis = arena_alloc_array(arena, spans->count + 1, sizeof *ret_parents->basis);
  if (ret_parents->row == NULL || ret_parents->basis == NULL ||
      !map_tracks(spans, tracks, track_count, survey.largest_track, arena, ret_parents))
    return out_of_memory(err);
  if (survey.explicit_count > 0)
    name_parents(spans, ret_parents);
  if (!sweep_backward(spans, &survey, ret_parents, arena) || !collect_forward(spans, ret_parents, arena))
    return out_of_memory(err);
  const struct order_input input = {spans->start_ns,   spans->duration_ns, survey.least_start,
                                    survey.most_start, spans->level,       spans->flags};
  if (!order_rows(&input, ret_parents->forward_row, ret_parents->forward_count, arena) ||
      !sweep_forward(spans, ret_parents, arena))
    return out_of_memory(err);
  if (survey.launch_count > 0 && survey.execution_count > 0) // else every execution keeps basis none
    join_executions(spans, ret_parents);
  return STATUS_OK;
}
