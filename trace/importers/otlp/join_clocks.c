// SPDX-License-Identifier: Apache-2.0
// From calls between machines to a shift of each run's times. From the clock of the run that all joined, neighbour by neighbour.
#include "importers/otlp/join_private.h"

#include "base/memory.h"
#include "base/saturate.h"
#include "importers/otlp/clocks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct otlp_join_shift {              // from a machine's clock to that of the run that was joined
  const struct otlp_join_shift *next; // NULL: the last hop
  struct clock_offset offset;
  int sign;           // 1: this clock is `offset` ahead of the next; -1: the next is ahead of this
  const char *caller; // whose clock the times are on now
};

static bool same_clock(const struct otlp_run *a, const struct otlp_run *b)
{
  return a == b || (a->clock != NULL && b->clock != NULL && strcmp(a->clock, b->clock) == 0);
}

static bool is_settled(const struct otlp_run *run)
{
  return run->shift != NULL || same_clock(run, run->joined);
}

static struct clock_pair pair_of(const struct otlp_join_call *call)
{
  int64_t most = saturate_subtract(call->child_start_ns, call->parent_start_ns);
  return (struct clock_pair){.time_ns = call->parent_start_ns,
                             .least_ns = call->may_outlive ? saturate_subtract(most, INT64_C(1) << 53)
                                                           : saturate_subtract(call->child_end_ns, call->parent_end_ns),
                             .most_ns = most};
}

// Calls between the clocks of `from` (which calls) and `to`, in either direction. *ret_pairs is the caller's.
static size_t find_pairs(const struct otlp_model *model, const struct otlp_join_call *calls, size_t count,
                         const struct otlp_run *from, const struct otlp_run *to, struct clock_pair **ret_pairs)
{
  struct clock_pair *pairs = memory_new(count + 1, sizeof *pairs);
  size_t found = 0;
  for (size_t i = 0; i < count; i++)
    if (same_clock(model->all_runs.items[calls[i].parent_run], from) &&
        same_clock(model->all_runs.items[calls[i].child_run], to))
      pairs[found++] = pair_of(&calls[i]);
  *ret_pairs = pairs;
  return found;
}

static void settle(struct otlp_model *model, const struct otlp_join_call *calls, size_t count,
                   const struct otlp_join_call *call, bool is_child)
{
  const struct otlp_run *parent = model->all_runs.items[call->parent_run];
  const struct otlp_run *child = model->all_runs.items[call->child_run];
  const struct otlp_run *known = is_child ? parent : child, *unknown = is_child ? child : parent;
  struct otlp_join_shift *shift = arena_alloc(model->import->arena, sizeof *shift);
  *shift = (struct otlp_join_shift){
      .next = known->shift, .sign = is_child ? 1 : -1, .caller = known->clock != NULL ? known->clock : "the caller"};
  struct clock_pair *pairs;
  size_t found = find_pairs(model, calls, count, parent, child, &pairs);
  import_clock_estimate(pairs, found, &shift->offset);
  free(pairs);
  for (size_t i = 0; i < model->all_runs.count; i++) {
    struct otlp_run *run = model->all_runs.items[i];
    if (run->joined == known->joined && same_clock(run, unknown))
      run->shift = shift;
  }
}

void import_otlp_join_clocks(struct otlp_model *model, const struct otlp_join_call *calls, size_t count)
{
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (size_t i = 0; i < count; i++) {
      const struct otlp_run *parent = model->all_runs.items[calls[i].parent_run];
      const struct otlp_run *child = model->all_runs.items[calls[i].child_run];
      if (same_clock(parent, child) || is_settled(parent) == is_settled(child))
        continue;
      settle(model, calls, count, &calls[i], is_settled(parent));
      has_changed = true;
    }
  }
}

int64_t import_otlp_join_time(const struct otlp_run *run, int64_t time_ns)
{
  for (const struct otlp_join_shift *hop = run->shift; hop != NULL; hop = hop->next)
    if (hop->offset.is_known)
      time_ns = hop->sign < 0
                    ? saturate_add(time_ns, import_clock_ahead(&hop->offset, time_ns))
                    : saturate_subtract(
                          time_ns, import_clock_ahead(&hop->offset, saturate_subtract(time_ns, hop->offset.offset_ns)));
  return time_ns;
}

bool import_otlp_join_needs_word(const struct otlp_run *run)
{
  const struct otlp_join_shift *shift = run->shift;
  return shift != NULL && (!shift->offset.is_known || shift->offset.offset_ns != 0 || shift->offset.drift != 0);
}

const char *import_otlp_join_clock_text(const struct otlp_run *run, struct arena *arena)
{
  const struct otlp_join_shift *shift = run->shift;
  if (shift == NULL)
    return NULL;
  const struct clock_offset *offset = &shift->offset;
  if (!offset->is_known)
    return arena_format(
        arena,
        "its clock and that of %s cannot be compared: the %zu calls between them contradict each other; "
        "its times are as recorded",
        shift->caller, offset->count);
  double ahead = shift->sign * (double)offset->offset_ns * 1e-6, uncertainty = (double)offset->uncertainty_ns * 1e-6;
  if (offset->offset_ns == 0 && offset->drift == 0)
    return arena_format(arena, "its clock agrees with that of %s, +- %.3f ms (%zu of %zu calls)", shift->caller,
                        uncertainty, offset->agreeing, offset->count);
  const char *drift =
      offset->drift != 0 ? arena_format(arena, ", drift %+.1f ppm", shift->sign * offset->drift * 1e6) : "";
  return arena_format(arena,
                      "its clock is %.3f ms %s that of %s, +- %.3f ms%s (%zu of %zu calls agree): its times are moved",
                      fabs(ahead), ahead < 0 ? "behind" : "ahead of", shift->caller, uncertainty, drift,
                      offset->agreeing, offset->count);
}
