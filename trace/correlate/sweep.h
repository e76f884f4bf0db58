// SPDX-License-Identifier: Apache-2.0
// The spans of one track that are still open while a sweep passes. Private to correlate; inline because it is the inner
// loop of both sweeps.
//
// Times are called `near` and `far`: a forward sweep (starts rising) has near = start and far = end; a backward sweep
// (ends falling) has near = ~end and far = ~start, which turns the same code round. What encloses comes first in both.
//
// What is over goes when it is on top; below others it stays until the stack is crowded. That does no harm: `outer` leads
// from each entry to the next one below that reaches farther, so those that are over are skipped, and `jump` leads along
// that path in logarithmic steps, so that a million spans of any shape stay fast.
#ifndef XSP_CORRELATE_SWEEP_H
#define XSP_CORRELATE_SWEEP_H

#include "base/id_map.h"
#include "format/level.h"

#define SWEEP_HOT static inline __attribute__((always_inline))

#define SWEEP_LEVELS XSP_LEVEL_KERNEL // kernel-level spans enclose nothing: their own level takes parents above it only
#define SWEEP_FEW 24u                 // so many entries are looked through one by one

struct sweep_open { // place 0 is no span: it reaches beyond all
  int64_t near, far;
  uint32_t row;
  uint32_t outer;         // place of the nearest one below whose far is larger; 0: none
  uint32_t jump;          // place of another on the path of outers; 0: not yet so deep, or none
  uint32_t height : 31;   // length of the path of outers
  uint32_t is_nested : 1; // in all below it that it overlaps
};
struct sweep_fars; // the fars of a stack in order, for stacks of many that cross
struct sweep_stack {
  struct sweep_open *open; // by place, from 1; of one level of one track, by (near, -far, file order)
  uint32_t count, capacity;
  uint32_t most; // at this count, those that are over are taken out of the middle too, or there is more room
  bool has_fars;
  struct sweep_fars *fars;
};
struct sweep_span {
  int64_t near, far;
  uint32_t row;
  uint8_t level;
};
enum sweep_answer { SWEEP_NONE, SWEEP_FOUND, SWEEP_AMBIGUOUS };

// sweep.c: what is seldom needed
void sweep_link_far(struct sweep_open *open, uint32_t place); // sets jump and height; the outer is there
void sweep_make_room(struct sweep_stack *stack, int64_t near, struct arena *arena);
void sweep_note_far(struct sweep_stack *stack, int64_t far, struct arena *arena); // while has_fars
// Whether `inner`, the innermost that encloses a span up to `far`, crosses another of `stack` that encloses it too.
// `has_passed`: entries of `stack` that enclose the span as well were passed over.
bool sweep_crosses(struct sweep_stack *stack, const struct sweep_open *inner, int64_t far, bool has_passed,
                   struct arena *arena);

static inline void sweep_clear(struct sweep_stack *stack) // for another sweep
{
  stack->count = 0;
  stack->has_fars = false;
}

// Forgets what is over before `span`, of a stack that is not empty. What ends where the span begins stays, for spans of no
// length at that instant; of a chain of spans that touch, only the last does.
SWEEP_HOT void sweep_forget(struct sweep_stack *stack, const struct sweep_span *span)
{
  struct sweep_open *open = stack->open;
  uint32_t count = stack->count;
  while (open[count].far < span->near)
    count--;
  for (; open[count].far == span->near && count > 1 && open[count - 1].far < span->near; count--)
    open[count - 1] = open[count]; // its path does not lead through what is over
  stack->count = count;
}

// The first on the path from `place` that reaches `far`; 0: none.
SWEEP_HOT uint32_t sweep_reaching(const struct sweep_open *open, uint32_t place, int64_t far)
{
  while (open[place].far < far) {
    uint32_t jump = open[place].jump;
    place = jump != 0 && open[jump].far < far ? jump : open[place].outer;
  }
  return place;
}

// The innermost open span of `stack`, all of the level of `span` (`is_own`) or of a higher one, that encloses `span`;
// 0: none. After sweep_forget.
SWEEP_HOT uint32_t sweep_place(const struct sweep_stack *stack, const struct sweep_span *span, bool is_own,
                               bool is_backward, bool *ret_has_passed)
{
  const struct sweep_open *open = stack->open;
  uint32_t place = sweep_reaching(open, stack->count, span->far);
  *ret_has_passed = false;
  // A span of no length is not in a longer one of its level that starts with it and comes later in the file.
  while (!is_backward && is_own && span->near == span->far && place > 0 && open[place].near == span->near &&
         open[place].far > span->far && open[place].row > span->row) {
    place = sweep_reaching(open, place - 1, span->far);
    *ret_has_passed = true;
  }
  return place;
}

// The parent of `span` among the open ones of `stack`.
SWEEP_HOT enum sweep_answer sweep_look(struct sweep_stack *stack, const struct sweep_span *span, bool is_own,
                                       bool is_backward, struct arena *arena, const struct sweep_open **ret_open)
{
  struct sweep_open *open = stack->open;
  uint32_t place = stack->count;
  *ret_open = &open[place];
  if (open[place].far >= span->far && open[place].is_nested && span->near != span->far) // nearly always
    return place != 0 ? SWEEP_FOUND : SWEEP_NONE;
  bool has_passed;
  place = sweep_place(stack, span, is_own, is_backward, &has_passed);
  *ret_open = &open[place];
  if (place == 0)
    return SWEEP_NONE;
  bool is_clear = open[place].is_nested || !sweep_crosses(stack, &open[place], span->far, has_passed, arena);
  return is_clear ? SWEEP_FOUND : SWEEP_AMBIGUOUS;
}

// The nearest below `place` that reaches beyond `far`; 0: none. In all, no more steps than entries: what is passed here is
// not visited again before what passed it is over.
SWEEP_HOT uint32_t sweep_beyond(const struct sweep_open *open, uint32_t place, int64_t far)
{
  while (open[place].far <= far && place != 0)
    place = open[place].outer;
  return place;
}

// After sweep_forget.
SWEEP_HOT void sweep_push(struct sweep_stack *stack, const struct sweep_span *span, struct arena *arena)
{
  if (stack->count >= stack->most)
    sweep_make_room(stack, span->near, arena);
  struct sweep_open *open = stack->open;
  uint32_t overlapping = sweep_beyond(open, stack->count, span->near);
  uint32_t outer = sweep_beyond(open, overlapping, span->far);
  uint32_t place = ++stack->count;
  open[place] = (struct sweep_open){
      .near = span->near,
      .far = span->far,
      .row = span->row,
      .outer = outer,
      .is_nested = open[overlapping].is_nested && open[overlapping].far >= span->far,
  };
  if (place > SWEEP_FEW)
    sweep_link_far(open, place);
  if (stack->has_fars)
    sweep_note_far(stack, span->far, arena);
}

#endif
