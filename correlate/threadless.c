// SPDX-License-Identifier: Apache-2.0
// Called by parents.c, for processes that have spans on no thread.
#include "correlate/threadless.h"

#include "correlate/rows.h"

#include <stdlib.h>
#include <string.h>

#define FEW 16u // so many open spans are compared each with each
#define STEPS_UP 1024 // ancestors further up than this are not found: such a span's parent is ambiguous

// ---- processes -------------------------------------------------------------------------------------------------------
struct member {
  const struct store_track *source;
  struct parents_track *track;
};

static int compare_texts(const char *a, const char *b) // NULL first
{
  return a == NULL || b == NULL ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int compare_processes(const void *left, const void *right)
{
  const struct member *a = left;
  const struct member *b = right;
  if (a->track->clock != b->track->clock)
    return a->track->clock < b->track->clock ? -1 : 1;
  if (a->source->process_id != b->source->process_id)
    return a->source->process_id < b->source->process_id ? -1 : 1;
  return compare_texts(a->source->host, b->source->host);
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

void threadless_find(const struct store_spans *spans, const struct store_track *tracks, size_t track_count,
                     struct parents *parents)
{
  struct arena scratch = {0};
  struct member *members = arena_alloc_array(&scratch, track_count + 1, sizeof *members);
  size_t count = 0;
  for (size_t i = 0; i < track_count; i++) {
    uint32_t slot = tracks[i].track_id < 1 ? ROW_NONE : id_map_find(&parents->slot_of_track, (uint64_t)tracks[i].track_id);
    if (slot == ROW_NONE || slot >= parents->track_count)
      continue;
    struct parents_track *track = &parents->track[slot];
    track->is_threadless = tracks[i].thread_id == STORE_NONE && tracks[i].device_id == STORE_NONE;
    members[count++] = (struct member){&tracks[i], track};
  }
  if (has_threadless(members, count)) {
    qsort(members, count, sizeof *members, compare_processes);
    for (size_t first = 0, end; first < count; first = end) {
      for (end = first + 1; end < count && compare_processes(&members[first], &members[end]) == 0;)
        end++;
      if (has_threadless(members + first, end - first))
        join_process(members + first, end - first, &parents->arena);
    }
    forget_backward(spans, parents);
  }
  for (size_t i = 0; i < count; i++)
    members[i].track->is_threadless &= members[i].track->process != NULL;
  arena_done(&scratch);
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

// Whether two of `row` (ROW_NONE: none) and of the open spans that enclose `span` are unrelated.
static bool are_some_unrelated(const struct parents *parents, const struct sweep_stack *stack,
                               const struct sweep_span *span, bool is_own, uint32_t row)
{
  const struct sweep_open *open = stack->open;
  uint32_t rows[FEW + 1] = {row};
  uint32_t count = row != ROW_NONE;
  for (uint32_t i = 1; i <= stack->count; i++) {
    bool is_inside_it = is_own && span->near == span->far && open[i].near == span->near && open[i].far > span->far &&
                        open[i].row > span->row;
    if (open[i].far >= span->far && !is_inside_it)
      rows[count++] = open[i].row;
  }
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t j = 0; j < i; j++)
      if (!is_above(parents, rows[i], rows[j]) && !is_above(parents, rows[j], rows[i]))
        return true;
  return false;
}

// Whether spans on no thread that enclose `span` include two that are unrelated. Of many that cross, all are taken to be.
static bool has_strangers(const struct parents *parents, const struct candidate *inner, const struct sweep_span *span,
                          bool is_own, struct arena *arena)
{
  bool are_nested = inner->open->is_nested && span->near != span->far;
  if (are_nested || inner->stack->count > FEW)
    return inner->open->is_unrelated || (!are_nested && is_crossed(inner, inner->open, span->far, arena));
  return are_some_unrelated(parents, inner->stack, span, is_own, ROW_NONE);
}

enum sweep_answer threadless_look_up(const struct parents *parents, struct parents_track *track,
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
    bool is_on_thread = in_process.open == NULL || (on_thread.open != NULL && is_inside(on_thread.open, in_process.open));
    const struct sweep_open *inner = is_on_thread ? on_thread.open : in_process.open;
    *ret_open = inner;
    if (is_crossed(&on_thread, inner, span->far, arena) || is_crossed(&in_process, inner, span->far, arena))
      return SWEEP_AMBIGUOUS;
    if (in_process.open == NULL)
      return SWEEP_FOUND;
    return has_strangers(parents, &in_process, span, is_own, arena) ? SWEEP_AMBIGUOUS : SWEEP_FOUND;
  }
  return SWEEP_NONE;
}

// Whether `span` and what encloses it on its level include two that are unrelated. From many, each is compared with the
// next one outside only.
static bool is_unrelated(const struct parents *parents, struct sweep_stack *stack, const struct sweep_span *span,
                         struct arena *arena)
{
  struct candidate outer = find_candidate(stack, span, true);
  if (outer.open == NULL)
    return false;
  if (stack->count <= FEW)
    return are_some_unrelated(parents, stack, span, true, span->row);
  return outer.open->is_unrelated || is_crossed(&outer, outer.open, span->far, arena) ||
         !(is_above(parents, outer.open->row, span->row) || is_above(parents, span->row, outer.open->row));
}

void threadless_push(struct parents *parents, struct parents_track *track, const struct sweep_span *span)
{
  struct sweep_stack *stack = &track->process[span->level];
  bool unrelated = is_unrelated(parents, stack, span, &parents->arena);
  sweep_push(stack, span, &parents->arena);
  stack->open[stack->count].is_unrelated = unrelated;
}
