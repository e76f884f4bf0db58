// SPDX-License-Identifier: Apache-2.0
// Called by parents.c.
#include "correlate/parents_private.h"

#include "correlate/rows.h"

#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_UP 1024 // ancestors further up than this are not found: such a span's parent is ambiguous
#define MANY 256u     // of so many open spans, the innermost
#define FEW 16u       // so many of these are compared with each other, if they enclose a span

// ---- processes -------------------------------------------------------------------------------------------------------
struct member {
  const struct store_track *source;
  struct parents_track *track;
};

static int compare_texts(const char *a, const char *b) // NULL first
{
  return a == NULL || b == NULL ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int compare_processes(const struct member *a, const struct member *b) // equal numbers, null equals null
{
  return RISING(source->process_id) ?: compare_texts(a->source->host, b->source->host);
}

SORTED_BY(compare_members, struct member, compare_processes(a, b) ?: RISING(track->clock))

// Numbers processes for launches_of, where there are several.
static void number_processes(const struct member *members, size_t count, struct parents *parents)
{
  uint32_t *numbers = arena_alloc_array(&parents->arena, parents->track_count + 1, sizeof *numbers);
  uint32_t number = 0;
  for (size_t i = 0; i < count; i++) {
    if (members[i].source->process_id == STORE_NONE)
      continue;
    number += number == 0 || compare_processes(&members[i - 1], &members[i]) != 0;
    numbers[members[i].track - parents->track] = number;
  }
  if (number < 2)
    return;
  parents->launches.process_of_slot = numbers;
  parents->launches.slot_of_track = &parents->slot_of_track;
}

static bool has_threadless(const struct member *members, size_t count)
{
  bool has_any = false;
  for (size_t i = 0; i < count; i++)
    has_any |= members[i].track->is_threadless && members[i].track->has_host;
  return has_any;
}

// What the backward sweep found looks like an ancestor.
static void forget_backward(const struct store_spans *spans, struct parents *parents)
{
  for (size_t i = 0; i < spans->count; i++) {
    const struct parents_track *track = parents_track_of(parents, spans->track_id[i]);
    if (track != NULL && track->process != NULL)
      parents->row[i] = ROW_NONE;
  }
}

static void join_process(const struct member *members, size_t count, struct arena *arena)
{
  struct sweep_stack *process = arena_alloc_array(arena, SWEEP_LEVELS, sizeof *process);
  for (size_t i = 0; i < count; i++) {
    struct parents_track *track = members[i].track;
    track->process = process;
    track->is_forward = track->has_host;
    for (unsigned level = 0; level < SWEEP_LEVELS; level++)
      sweep_clear(&track->level[level]);
  }
}

void processes_find(const struct store_spans *spans, const struct store_track *tracks, size_t track_count,
                    struct parents *parents)
{
  struct arena scratch SCOPED(arena_done) = {0};
  struct member *members = arena_alloc_array(&scratch, track_count + 1, sizeof *members);
  size_t count = 0;
  for (size_t i = 0; i < track_count; i++) {
    uint32_t slot =
        tracks[i].track_id < 1 ? ROW_NONE : id_map_find(&parents->slot_of_track, (uint64_t)tracks[i].track_id);
    if (slot == ROW_NONE || slot >= parents->track_count)
      continue;
    struct parents_track *track = &parents->track[slot];
    track->is_threadless = tracks[i].thread_id == STORE_NONE && tracks[i].device_id == STORE_NONE;
    members[count++] = (struct member){&tracks[i], track};
  }
  qsort(members, count, sizeof *members, compare_members);
  number_processes(members, count, parents);
  bool has_any = false;
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && compare_members(&members[first], &members[end]) == 0;)
      end++;
    if (has_threadless(members + first, end - first)) {
      join_process(members + first, end - first, &parents->arena);
      has_any = true;
    }
  }
  for (size_t i = 0; i < count; i++)
    members[i].track->is_threadless &= members[i].track->process != NULL;
  if (has_any)
    forget_backward(spans, parents);
}

// ---- parents ---------------------------------------------------------------------------------------------------------
struct candidate { // the innermost that encloses a span, on its thread or among those on no thread
  struct sweep_stack *stack;
  const struct sweep_open *open; // NULL: none
  bool has_passed;
};

static struct candidate find_candidate(struct sweep_stack *stack, const struct sweep_span *span, bool is_own)
{
  struct candidate found = {.stack = stack};
  if (stack->count == 0)
    return found;
  sweep_forget(stack, span);
  uint32_t place = sweep_place(stack, span, is_own, false, &found.has_passed);
  found.open = place != 0 ? &stack->open[place] : NULL;
  return found;
}

static bool is_crossed(const struct candidate *among, const struct sweep_open *inner, int64_t far, struct arena *arena)
{
  bool is_clear = among->open == NULL || (among->open == inner && inner->is_nested);
  return !is_clear && sweep_crosses(among->stack, inner, far, among->has_passed, arena);
}

// Whether `a` is more inside than `b`: later start, then earlier end, then later in the file.
static bool is_inside(const struct sweep_open *a, const struct sweep_open *b)
{
  if (a->near != b->near)
    return a->near > b->near;
  return a->far != b->far ? a->far < b->far : a->row > b->row;
}

static bool is_above(const struct parents *parents, uint32_t above, uint32_t row)
{
  for (unsigned i = 0; i < STEPS_UP && row != ROW_NONE; i++) {
    row = parents->row[row];
    if (row == above)
      return true;
  }
  return false;
}

// Whether spans on no thread that enclose `span` include two that are unrelated.
static bool has_strangers(const struct parents *parents, const struct sweep_stack *stack, const struct sweep_span *span,
                          bool is_own)
{
  uint32_t rows[FEW]; // from the inside
  uint32_t count = 0;
  for (uint32_t i = stack->count; i > 0 && stack->count - i < MANY && count < FEW; i--) {
    const struct sweep_open *open = &stack->open[i];
    bool is_later =
        is_own && span->near == span->far && open->near == span->near && open->far > span->far && open->row > span->row;
    if (open->far >= span->far && !is_later)
      rows[count++] = open->row;
  }
  for (uint32_t i = 1; i < count; i++)
    for (uint32_t j = 0; j < i; j++)
      if (!is_above(parents, rows[i], rows[j]) && !is_above(parents, rows[j], rows[i]))
        return true;
  return false;
}

enum sweep_answer processes_look_up(const struct parents *parents, struct parents_track *track,
                                    const struct sweep_span *span, struct arena *arena,
                                    const struct sweep_open **ret_open)
{
  int level = span->level < SWEEP_LEVELS ? span->level : SWEEP_LEVELS - 1;
  for (; level >= 0; level--) {
    bool is_own = level == span->level;
    struct candidate on_thread = find_candidate(&track->level[level], span, is_own);
    struct candidate in_process = find_candidate(&track->process[level], span, is_own);
    if (on_thread.open == NULL && in_process.open == NULL)
      continue;
    bool is_on_thread =
        in_process.open == NULL || (on_thread.open != NULL && is_inside(on_thread.open, in_process.open));
    const struct sweep_open *inner = is_on_thread ? on_thread.open : in_process.open;
    *ret_open = inner;
    if (is_crossed(&on_thread, inner, span->far, arena) || is_crossed(&in_process, inner, span->far, arena))
      return SWEEP_AMBIGUOUS;
    bool is_clear = in_process.open == NULL || !has_strangers(parents, in_process.stack, span, is_own);
    return is_clear ? SWEEP_FOUND : SWEEP_AMBIGUOUS;
  }
  return SWEEP_NONE;
}
