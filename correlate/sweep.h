// SPDX-License-Identifier: Apache-2.0
// The spans of one track that are still open while a sweep passes. Private to correlate; inline because it is the inner
// loop of both sweeps.
//
// Times are called `near` and `far`: a forward sweep (starts rising) has near = start and far = end; a backward sweep
// (ends falling) has near = ~end and far = ~start, which turns the same code round. What encloses comes first in both.
#ifndef XSP_CORRELATE_SWEEP_H
#define XSP_CORRELATE_SWEEP_H

#include "correlate/id_map.h"
#include "format/level.h"

#include <string.h>

#define SWEEP_HOT static inline __attribute__((always_inline))
#define SWEEP_RARE static __attribute__((noinline, cold, unused)) // kept out of the loops

#define SWEEP_LEVELS XSP_LEVEL_KERNEL // kernel-level spans enclose nothing: their own level takes parents above it only

struct sweep_open {
  int64_t near, far;
  int64_t farthest; // far of this one and all below it
  uint32_t row;
  bool is_nested; // in all below it that it overlaps
};
struct sweep_stack { // of one level of one track, by (near, -far, file order) from the bottom
  struct sweep_open *open;
  uint32_t count, capacity;
  uint32_t crowded; // at this count, those that are over are taken out of the middle too
};
struct sweep_span {
  int64_t near, far;
  uint32_t row;
  uint8_t level;
};
enum sweep_answer { SWEEP_NONE, SWEEP_FOUND, SWEEP_AMBIGUOUS };

SWEEP_RARE void sweep_remove(struct sweep_stack *stack, uint32_t first, uint32_t end)
{
  memmove(stack->open + first, stack->open + end, (stack->count - end) * sizeof *stack->open);
  stack->count -= end - first;
  for (uint32_t i = first; i < stack->count; i++) {
    int64_t below = i > 0 ? stack->open[i - 1].farthest : INT64_MIN;
    stack->open[i].farthest = stack->open[i].far > below ? stack->open[i].far : below;
  }
}

// Forgets what is over before `span`. What ends where the span begins stays, for spans of no length at that instant; of
// a chain of spans that touch, only the last does.
SWEEP_HOT void sweep_forget(struct sweep_stack *stack, const struct sweep_span *span)
{
  uint32_t count = stack->count;
  while (count > 0 && stack->open[count - 1].far < span->near)
    count--;
  stack->count = count;
  if (count < 2 || stack->open[count - 1].far != span->near || span->near == span->far)
    return;
  uint32_t end = stack->count - 1;
  while (end > 0 && stack->open[end - 1].far == span->near)
    end--;
  uint32_t first = end;
  while (first > 0 && stack->open[first - 1].far < span->near)
    first--;
  if (first < end)
    sweep_remove(stack, first, end);
}

// The parent of `span` among the open ones of `stack`, all of its own level (`is_own`) or of a higher one.
SWEEP_HOT enum sweep_answer sweep_look(const struct sweep_stack *stack, const struct sweep_span *span, bool is_own,
                                       bool is_backward, const struct sweep_open **ret_open)
{
  uint32_t at = stack->count;
  if (at > 0 && stack->open[at - 1].far >= span->far && stack->open[at - 1].is_nested && span->near != span->far) {
    *ret_open = &stack->open[at - 1]; // nearly always
    return SWEEP_FOUND;
  }
  for (;; at--) {
    if (at == 0 || stack->open[at - 1].farthest < span->far)
      return SWEEP_NONE;
    const struct sweep_open *open = &stack->open[at - 1];
    if (open->far < span->far)
      continue;
    // A span of no length is not in a longer one of its level that starts with it and comes later in the file.
    if (!is_backward && is_own && span->near == span->far && open->near == span->near && open->far > span->far &&
        open->row > span->row)
      continue;
    break;
  }
  const struct sweep_open *inner = &stack->open[at - 1];
  *ret_open = inner;
  if (!inner->is_nested)
    for (uint32_t i = at - 1; i > 0; i--) {
      const struct sweep_open *other = &stack->open[i - 1];
      if (other->far >= span->far && other->far < inner->far && other->far > inner->near && other->near < inner->near)
        return SWEEP_AMBIGUOUS;
      if (other->farthest < span->far)
        break;
    }
  return SWEEP_FOUND;
}

SWEEP_RARE void sweep_uncrowd(struct sweep_stack *stack, int64_t near)
{
  uint32_t kept = 0;
  int64_t farthest = INT64_MIN;
  for (uint32_t i = 0; i < stack->count; i++)
    if (stack->open[i].far >= near) {
      struct sweep_open open = stack->open[i];
      farthest = open.far > farthest ? open.far : farthest;
      open.farthest = farthest;
      stack->open[kept++] = open;
    }
  stack->count = kept;
  stack->crowded = kept < 32 ? 64 : kept * 2;
}

SWEEP_RARE bool sweep_grow(struct sweep_stack *stack, struct arena *scratch)
{
  uint32_t capacity = stack->capacity == 0 ? 16 : stack->capacity * 2;
  struct sweep_open *open = arena_alloc_array(scratch, capacity, sizeof *open);
  if (open == NULL)
    return false;
  if (stack->count > 0)
    memcpy(open, stack->open, stack->count * sizeof *open);
  stack->open = open;
  stack->capacity = capacity;
  return true;
}

// After sweep_forget.
SWEEP_HOT bool sweep_push(struct sweep_stack *stack, const struct sweep_span *span, struct arena *scratch)
{
  if (stack->count >= stack->crowded)
    sweep_uncrowd(stack, span->near);
  if (stack->count == stack->capacity && !sweep_grow(stack, scratch))
    return false;
  bool is_nested = true;
  for (uint32_t i = stack->count; i > 0; i--)
    if (stack->open[i - 1].far > span->near) { // else it only touches, or is over
      is_nested = stack->open[i - 1].is_nested && stack->open[i - 1].far >= span->far;
      break;
    }
  int64_t below = stack->count > 0 ? stack->open[stack->count - 1].farthest : INT64_MIN;
  stack->open[stack->count++] =
      (struct sweep_open){span->near, span->far, span->far > below ? span->far : below, span->row, is_nested};
  return true;
}

#endif
