// SPDX-License-Identifier: Apache-2.0
// Executions of modules, and of the loops, branches and calls in them, from what operations say of themselves. On CPUs a
// loop's event ends when its thread leaves it, and the body goes on in other threads: the event "end: LOOP" has its end.
// Called by xplane.c in the second and third pass.
#include "importers/xplane/xplane.h"

#include "base/hash.h"

#include <stdlib.h>

static int64_t number(const struct xplane_event *event, enum xplane_stat stat)
{
  return event->values[stat].type == VALUE_INT ? event->values[stat].integer : 0;
}

// ---- which execution -------------------------------------------------------------------------------------------------

static struct map_key run_key(const struct xplane *x, const struct xplane_plane *plane,
                              const struct xplane_event *event, uint32_t module_name)
{
  uint64_t part = hash_pair(xplane_owner(x, plane), (uint64_t)number(event, STAT_device_ordinal), module_name + 1u);
  return (struct map_key){part, (uint64_t)number(event, STAT_run_id)};
}

static bool is_operation(const struct xplane_event *event)
{
  return event->values[STAT_hlo_op].type == VALUE_TEXT && event->values[STAT_hlo_module].type == VALUE_TEXT &&
         event->values[STAT_run_id].type == VALUE_INT;
}

bool xplane_run_of(struct xplane *x, const struct xplane_plane *plane, const struct xplane_event *event,
                   uint32_t *ret_run, uint32_t *ret_operation)
{
  if (!is_operation(event))
    return false;
  uint32_t name = xplane_value_text(x, &event->values[STAT_hlo_module]);
  const uint64_t *run = map_find(&x->run_at, run_key(x, plane, event, name));
  if (run == NULL)
    return false;
  *ret_run = (uint32_t)*run - 1;
  *ret_operation = xplane_value_text(x, &event->values[STAT_hlo_op]);
  return true;
}

// ---- the second pass -------------------------------------------------------------------------------------------------

static struct map_key producer_key(const struct xplane *x, const struct xplane_plane *plane, int64_t producer)
{
  return (struct map_key){xplane_owner(x, plane), (uint64_t)producer};
}

static uint32_t run_seen(struct xplane *x, const struct xplane_plane *plane, const struct xplane_event *event)
{
  uint32_t name = xplane_value_text(x, &event->values[STAT_hlo_module]);
  bool is_new;
  uint64_t *place = map_at(&x->run_at, run_key(x, plane, event, name), &is_new);
  if (is_new) {
    *vector_add(&x->runs) = (struct xplane_run){.module_name = name,
                                                .plane = (uint32_t)(plane - x->planes.items),
                                                .program_id = number(event, STAT_program_id),
                                                .run_id = number(event, STAT_run_id),
                                                .device = number(event, STAT_device_ordinal),
                                                .start_ns = event->start_ns,
                                                .end_ns = event->end_ns};
    *place = x->runs.count;
  }
  struct xplane_run *run = &x->runs.items[*place - 1];
  if (event->start_ns < run->start_ns)
    run->start_ns = event->start_ns;
  if (event->end_ns > run->end_ns)
    run->end_ns = event->end_ns;
  return (uint32_t)*place - 1;
}

void xplane_survey_event(struct xplane *x, const struct xplane_plane *plane, const struct xplane_event *event)
{
  if (event->name->class == CLASS_END && event->values[STAT_consumer].type == VALUE_INT &&
      xplane_is_control(x, event->name->inner)) {
    *map_at(&x->end_at, producer_key(x, plane, event->values[STAT_consumer].integer), NULL) = (uint64_t)event->end_ns;
    return;
  }
  x->has_steps = x->has_steps || event->values[STAT_step_num].type == VALUE_INT;
  if (!is_operation(event))
    return;
  uint32_t run = run_seen(x, plane, event), operation = xplane_value_text(x, &event->values[STAT_hlo_op]);
  if (xplane_is_control(x, operation))
    *vector_add(&x->controls) =
        (struct xplane_control){.start_ns = event->start_ns,
                                .end_ns = event->end_ns,
                                .producer = producer_key(x, plane, number(event, STAT_producer)),
                                .run = run,
                                .operation = operation};
}

static int compare_controls(const void *left, const void *right, void *context)
{
  const struct xplane_control *controls = context;
  const struct xplane_control *a = &controls[*(const uint32_t *)left], *b = &controls[*(const uint32_t *)right];
  if (a->run != b->run)
    return a->run < b->run ? -1 : 1;
  if (a->operation != b->operation)
    return a->operation < b->operation ? -1 : 1;
  return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

void xplane_survey_end(struct xplane *x)
{
  for (size_t i = 0; i < x->controls.count; i++) {
    struct xplane_control *control = &x->controls.items[i];
    struct xplane_run *run = &x->runs.items[control->run];
    const uint64_t *end = map_find(&x->end_at, control->producer);
    if (end != NULL && (int64_t)*end > control->end_ns)
      control->end_ns = (int64_t)*end;
    if (control->end_ns > run->end_ns)
      run->end_ns = control->end_ns;
    *vector_add(&x->control_order) = (uint32_t)i;
  }
  if (x->controls.count > 0)
    qsort_r(x->control_order.items, x->controls.count, sizeof *x->control_order.items, compare_controls,
            x->controls.items);
  if (!x->has_steps)
    xplane_steps_make(x);
}

// ---- the third pass --------------------------------------------------------------------------------------------------

void xplane_tag_signature(struct xplane *x, int64_t span_id, const struct xplane_module *module)
{
  if (module != NULL && xplane_text(x, module->signature).length > 0)
    import_tag_text(x->import, span_id, x->strings.signature, xplane_string(x, module->signature));
}

static enum status add_run(struct xplane *x, size_t index, uint32_t track_id, struct error *err)
{
  const struct xplane_run *run = &x->runs.items[index];
  const struct xplane_module *module = xplane_module_find(x, run->module_name, run->program_id);
  const struct store_span span = {.span_id = xplane_run_span((uint32_t)index),
                                  .track_id = track_id,
                                  .start_ns = run->start_ns,
                                  .duration_ns = run->end_ns - run->start_ns,
                                  .name = xplane_string(x, run->module_name),
                                  .level = XSP_LEVEL_MODEL,
                                  .kind = XSP_KIND_SYNC,
                                  .recorded_parent_id = xplane_step_around(x, run->start_ns)};
  XSP_TRY(import_span(x->import, &span, err));
  import_tag_int(x->import, span.span_id, x->strings.program_id, run->program_id);
  import_tag_int(x->import, span.span_id, x->strings.run_id, run->run_id);
  xplane_tag_signature(x, span.span_id, module);
  return STATUS_OK;
}

// Executions are on no thread: their operations run on several. Those of a device have a track.
enum status xplane_add_runs(struct xplane *x, struct error *err)
{
  struct map tracks = {0};
  enum status status = STATUS_OK;
  for (size_t i = 0; i < x->runs.count && status == STATUS_OK; i++) {
    const struct xplane_run *run = &x->runs.items[i];
    bool is_new;
    uint64_t *place = map_at(
        &tracks, (struct map_key){xplane_owner(x, &x->planes.items[run->plane]), (uint64_t)run->device}, &is_new);
    if (is_new) {
      char name[64];
      struct store_track track = xplane_new_track(x, &x->planes.items[run->plane]);
      snprintf(name, sizeof name, "modules of device %lld", (long long)run->device);
      track.name = name;
      uint32_t track_id = 0;
      status = import_track(x->import, &track, &track_id, err);
      *place = track_id;
    }
    if (status == STATUS_OK)
      status = add_run(x, i, (uint32_t)*place, err);
  }
  map_done(&tracks);
  x->span_count = (int64_t)(x->runs.count + x->steps.count + x->controls.count);
  return status == STATUS_OK ? xplane_steps_add(x, err) : status;
}

// The execution of `operation` in `run` that began last before `start_ns`; SIZE_MAX: none.
static size_t control_before(const struct xplane *x, uint32_t run, uint32_t operation, int64_t start_ns)
{
  size_t low = 0, high = x->control_order.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct xplane_control *control = &x->controls.items[x->control_order.items[middle]];
    bool is_before = control->run != run               ? control->run < run
                     : control->operation != operation ? control->operation < operation
                                                       : control->start_ns <= start_ns;
    low = is_before ? middle + 1 : low;
    high = is_before ? high : middle;
  }
  if (low == 0)
    return SIZE_MAX;
  size_t found = x->control_order.items[low - 1];
  const struct xplane_control *control = &x->controls.items[found];
  return control->run == run && control->operation == operation ? found : SIZE_MAX;
}

// Nothing is deeper nested than there are loops in a module, and none is around itself.
#define CALLERS_MOST 64u

int64_t xplane_parent_of(struct xplane *x, uint32_t run, uint32_t operation, int64_t start_ns)
{
  const struct xplane_run *of = &x->runs.items[run];
  const struct xplane_instruction *instruction = xplane_instruction_find(x, of->module_name, of->program_id, operation);
  for (unsigned depth = 0; depth < CALLERS_MOST && instruction != NULL && instruction->caller != 0; depth++) {
    size_t found = control_before(x, run, instruction->caller - 1, start_ns);
    if (found == SIZE_MAX) { // it has no event, as a loop's condition in a call
      instruction = xplane_instruction_find(x, of->module_name, of->program_id, instruction->caller - 1);
      continue;
    }
    struct xplane_control *control = &x->controls.items[found];
    if (control->counted == 0)
      control->counted = operation + 1;
    control->turns += control->counted == operation + 1;
    return xplane_control_span(x, found);
  }
  return xplane_run_span(run);
}

void xplane_add_turns(struct xplane *x)
{
  for (size_t i = 0; i < x->controls.count; i++) {
    const struct xplane_control *control = &x->controls.items[i];
    const struct xplane_run *run = &x->runs.items[control->run];
    const struct xplane_instruction *instruction =
        xplane_instruction_find(x, run->module_name, run->program_id, control->operation);
    if (control->turns > 0 && instruction != NULL && instruction->is_loop)
      import_tag_int(x->import, xplane_control_span(x, i), x->strings.iterations, control->turns);
  }
}
