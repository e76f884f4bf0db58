// SPDX-License-Identifier: Apache-2.0
// Steps of a program that marks none: what it repeats is the module that takes most time. A step lasts from the end of one of
// its executions to the end of the next, so that steps tile the loop: other modules, compilations and waits between count. Called by
// executions.c. The first step of a part of a profile begins with its execution: while a part is written, the program waits.
#include "importers/xplane/devices.h"

#include "base/sorted.h"

#include <stdlib.h>

#define STEPS_LEAST 3u // executions that make a loop

// The module with most time; ret_count: its executions.
static uint32_t repeated_module(const struct xplane *x, size_t *ret_count)
{
  struct {
    int64_t sum_ns;
    size_t count;
    uint32_t name;
  } *sums = memory_new(x->runs.count + 1, sizeof *sums);
  struct map place_of SCOPED(map_done) = {0};
  size_t best = 0;
  for (size_t i = 0; i < x->runs.count; i++) {
    const struct xplane_run *run = &x->runs.items[i];
    bool is_new;
    uint64_t *place = map_at(&place_of, map_number(run->module_name), &is_new);
    *place = is_new ? place_of.count - 1 : *place;
    sums[*place].name = run->module_name;
    sums[*place].count++;
    if (__builtin_add_overflow(sums[*place].sum_ns, run->end_ns - run->start_ns, &sums[*place].sum_ns))
      sums[*place].sum_ns = INT64_MAX;
    best = sums[*place].sum_ns > sums[best].sum_ns ? *place : best;
  }
  uint32_t name = sums[best].name;
  *ret_count = sums[best].count;
  free(sums);
  return name;
}

SORTED_BY(compare_ends, struct xplane_step, RISING(device) ?: RISING(end_ns))

static int64_t device_of(const struct xplane *x, const struct xplane_run *run)
{
  return x->device_count > 0 ? run->device : 0;
}

void xplane_steps_make(struct xplane *x)
{
  size_t count;
  uint32_t name = repeated_module(x, &count);
  for (size_t i = 0; i < x->runs.count && count >= STEPS_LEAST; i++) {
    const struct xplane_run *run = &x->runs.items[i];
    if (run->module_name == name)
      *vector_add(&x->steps) = (struct xplane_step){
          .start_ns = run->start_ns, .end_ns = run->end_ns, .device = device_of(x, run), .run = (uint32_t)i};
  }
  vector_sort(&x->steps, compare_ends);
  for (size_t i = 1; i < x->steps.count; i++) {
    struct xplane_step *step = &x->steps.items[i];
    if (step->device != step[-1].device)
      continue;
    bool is_first = x->runs.items[step->run].plane != x->runs.items[step[-1].run].plane; // nothing is known in between
    step->start_ns = is_first ? (step->start_ns > step[-1].end_ns ? step->start_ns : step[-1].end_ns) : step[-1].end_ns;
  }
}

// One that ends a step is in it, though the execution before it may still run when it starts.
int64_t xplane_step_around(const struct xplane *x, const struct xplane_run *run)
{
  const struct xplane_step *steps = x->steps.items;
  int64_t device = device_of(x, run);
  size_t at =
      PARTITION_POINT(i, 0, x->steps.count,
                      steps[i].device < device || (steps[i].device == device && steps[i].end_ns <= run->start_ns));
  bool is_in = at < x->steps.count && steps[at].device == device && steps[at].start_ns <= run->start_ns;
  return is_in ? xplane_step_span(x, at) : 0;
}

enum status xplane_steps_add(struct xplane *x, struct error *err)
{
  uint32_t track_id = 0;
  for (size_t i = 0; i < x->steps.count; i++) {
    const struct xplane_step *step = &x->steps.items[i];
    const struct xplane_run *run = &x->runs.items[step->run];
    struct store_track track = xplane_new_track(x, &x->planes.items[run->plane]);
    track.name = "steps";
    xplane_rank_of_device(x, step->device, &track);
    if (track_id == 0 || step->device != step[-1].device)
      XSP_TRY(import_track(x->import, &track, &track_id, err));
    const struct store_span span = {.span_id = xplane_step_span(x, i),
                                    .track_id = track_id,
                                    .start_ns = step->start_ns,
                                    .duration_ns = step->end_ns - step->start_ns,
                                    .name = xplane_string(x, run->module_name),
                                    .category = x->strings.step,
                                    .level = XSP_LEVEL_MODEL,
                                    .kind = XSP_KIND_SYNC,
                                    .flags = STORE_SPAN_STEP};
    XSP_TRY(import_span(x->import, &span, err));
    xplane_tag_signature(x, span.span_id, xplane_module_find(x, run->module_name, run->program_id));
  }
  return STATUS_OK;
}
