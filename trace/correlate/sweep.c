// SPDX-License-Identifier: Apache-2.0
// The seldom needed half of sweep.h: stacks that grow, and many spans that cross. Called by both sweeps in parents.c.
#include "correlate/sweep.h"

#include "base/sorted.h"

#include <string.h>

// ---- fars in order ---------------------------------------------------------------------------------------------------
// Sorted runs of 1, 2, 4, … fars, merged like the carries of a binary counter. What is over stays in: nobody asks for a
// far that lies before the present.
#define RUNS 32u
struct sweep_fars {
  int64_t *run[RUNS], *spare[RUNS]; // of 2^k each
  uint32_t used;                    // bit k: run[k] is there; a run has fewer rows than 2^RUNS
};

static void have_run(struct sweep_fars *fars, unsigned k, struct arena *arena)
{
  if (fars->run[k] == NULL)
    fars->run[k] = arena_alloc_array(arena, (size_t)1 << k, sizeof **fars->run);
  if (fars->spare[k] == NULL)
    fars->spare[k] = arena_alloc_array(arena, (size_t)1 << k, sizeof **fars->spare);
}

static void merge(const int64_t *a, const int64_t *b, size_t count, int64_t *ret_merged)
{
  size_t i = 0;
  size_t j = 0;
  while (i < count && j < count)
    *ret_merged++ = b[j] < a[i] ? b[j++] : a[i++];
  memcpy(ret_merged, a + i, (count - i) * sizeof *a);
  memcpy(ret_merged + (count - i), b + j, (count - j) * sizeof *b);
}

static void add_far(struct sweep_fars *fars, int64_t far, struct arena *arena)
{
  unsigned k = 0;
  have_run(fars, 0, arena);
  fars->spare[0][0] = far;
  for (; fars->used >> k & 1; k++) { // spare[k] is the carry
    have_run(fars, k + 1, arena);
    merge(fars->run[k], fars->spare[k], (size_t)1 << k, fars->spare[k + 1]);
    fars->used &= ~(UINT32_C(1) << k);
  }
  int64_t *carry = fars->spare[k];
  fars->spare[k] = fars->run[k];
  fars->run[k] = carry;
  fars->used |= UINT32_C(1) << k;
}

static void collect_fars(struct sweep_stack *stack, struct arena *arena)
{
  if (stack->fars == NULL)
    stack->fars = arena_alloc(arena, sizeof *stack->fars);
  stack->fars->used = 0;
  for (uint32_t place = 1; place <= stack->count; place++)
    add_far(stack->fars, stack->open[place].far, arena);
  stack->has_fars = true;
}

void sweep_note_far(struct sweep_stack *stack, int64_t far, struct arena *arena)
{
  stack->has_fars = stack->count > SWEEP_FEW;
  if (!stack->has_fars)
    return;
  if (stack->fars->used > 4 * stack->count + 1024) // `used`, as a number, is how many there are: most are over
    collect_fars(stack, arena);
  else
    add_far(stack->fars, far, arena);
}

// How many fars lie in [least, end).
static size_t count_fars(const struct sweep_fars *fars, int64_t least, int64_t end)
{
  size_t count = 0;
  for (unsigned k = 0; k < RUNS; k++)
    if (fars->used >> k & 1)
      count += sorted_lower_bound_i64(end, fars->run[k], (size_t)1 << k, sizeof end) -
               sorted_lower_bound_i64(least, fars->run[k], (size_t)1 << k, sizeof end);
  return count;
}

// Others that enclose the span begin before `inner`, but for those that were passed over; one crosses it if it reaches
// less far. Touching is not crossing.
bool sweep_crosses(struct sweep_stack *stack, const struct sweep_open *inner, int64_t far, bool has_passed,
                   struct arena *arena)
{
  const struct sweep_open *open = stack->open;
  if (inner->near >= inner->far || far >= inner->far)
    return false;
  int64_t least = far > inner->near ? far : inner->near + 1;
  size_t crossing = 0;
  if (stack->count <= SWEEP_FEW) {
    for (uint32_t i = 1; i <= stack->count; i++)
      crossing += open[i].far >= least && open[i].far < inner->far && open[i].near < inner->near;
    return crossing > 0;
  }
  if (!stack->has_fars)
    collect_fars(stack, arena);
  crossing = count_fars(stack->fars, least, inner->far);
  for (uint32_t i = stack->count; has_passed && open[i].near >= inner->near; i--)
    crossing -= open[i].far >= least && open[i].far < inner->far;
  return crossing > 0;
}

// ---- room ------------------------------------------------------------------------------------------------------------
// Jumps over 1, 1, 3, 1, 1, 3, 7, … outers: any place of a path is a logarithm of its length away.
void sweep_link_far(struct sweep_open *open, uint32_t place)
{
  uint32_t outer = open[place].outer;
  if (outer == 0)
    return;
  uint32_t jump = open[outer].jump;
  uint32_t far_jump = jump != 0 ? open[jump].jump : 0;
  bool are_equal = far_jump != 0 && open[outer].height - open[jump].height == open[jump].height - open[far_jump].height;
  open[place].height = (open[outer].height + 1) & INT32_MAX;
  open[place].jump = are_equal ? far_jump : outer;
}

static void grow(struct sweep_stack *stack, struct arena *arena)
{
  uint32_t capacity = stack->capacity == 0 ? 2 : stack->capacity * 2; // few: a trace may have a million tracks
  struct sweep_open *open = arena_alloc_array(arena, capacity, sizeof *open);
  open[0] = (struct sweep_open){.near = INT64_MIN, .far = INT64_MAX, .is_nested = 1};
  if (stack->count > 0)
    memcpy(open + 1, stack->open + 1, stack->count * sizeof *open);
  stack->open = open;
  stack->capacity = capacity;
  stack->most = capacity - 1; // places count from 1
}

static void drop_what_is_over(struct sweep_stack *stack, int64_t near)
{
  uint32_t kept = 0;
  for (uint32_t place = 1; place <= stack->count; place++) {
    struct sweep_open open = stack->open[place];
    if (open.far < near)
      continue;
    open.outer = sweep_beyond(stack->open, kept, open.far);
    open.jump = 0;
    open.height = 0;
    stack->open[++kept] = open;
    if (kept > SWEEP_FEW)
      sweep_link_far(stack->open, kept);
  }
  stack->count = kept;
}

// Half of the room is free then, so that few pushes pay for many.
void sweep_make_room(struct sweep_stack *stack, int64_t near, struct arena *arena)
{
  drop_what_is_over(stack, near);
  if (stack->count >= stack->capacity / 2)
    grow(stack, arena);
  if (stack->has_fars)
    collect_fars(stack, arena); // what is over leaves them, too
}
