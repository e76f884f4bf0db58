// SPDX-License-Identifier: Apache-2.0
// Executions of modules, and of the loops, branches and calls in them, from what operations say of themselves. On CPUs the event
// of a loop ends when its thread leaves it, and other threads go on (ends.c); one that a recording cuts has none.
// Called by xplane.c in the second and third pass.
#include "importers/xplane/devices.h"
#include "importers/xplane/ends.h"

#include "base/hash.h"
#include "base/sorted.h"

#include <stdlib.h>

// ---- which execution -------------------------------------------------------------------------------------------------

static struct map_key run_key(const struct xplane *x, const struct xplane_plane *plane,
                              const struct xplane_event *event, uint32_t module_name)
{
  uint64_t part =
      hash_pair(xplane_owner(x, plane), (uint64_t)xplane_number(event, STAT_device_ordinal), module_name + 1u);
  return (struct map_key){part, (uint64_t)xplane_number(event, STAT_run_id)};
}

static bool is_last_run(const struct xplane *x, struct map_key key)
{
  return x->last_run != 0 && key.a == x->last_run_key.a && key.b == x->last_run_key.b;
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
  struct map_key key = run_key(x, plane, event, name);
  if (!is_last_run(x, key)) {
    const uint64_t *place = map_find(&x->run_at, key);
    if (place == NULL)
      return false;
    x->last_run_key = key;
    x->last_run = (uint32_t)*place;
  }
  *ret_run = x->last_run - 1;
  *ret_operation = xplane_value_text(x, &event->values[STAT_hlo_op]);
  return true;
}

// ---- the second pass -------------------------------------------------------------------------------------------------

static uint32_t run_seen(struct xplane *x, const struct xplane_plane *plane, const struct xplane_event *event,
                         struct map_key producer)
{
  uint32_t name = xplane_value_text(x, &event->values[STAT_hlo_module]);
  struct map_key key = run_key(x, plane, event, name);
  bool is_new = false;
  if (!is_last_run(x, key)) {
    uint64_t *place = map_at(&x->run_at, key, &is_new);
    if (is_new)
      *place = x->runs.count + 1;
    x->last_run_key = key;
    x->last_run = (uint32_t)*place;
  }
  if (is_new) {
    const struct xplane_module *module = xplane_module_find(x, name, xplane_number(event, STAT_program_id));
    *vector_add(&x->runs) =
        (struct xplane_run){.module_name = name,
                            .module = module != NULL ? (uint32_t)(module - x->modules.items) + 1 : 0,
                            .plane = (uint32_t)(plane - x->planes.items),
                            .program_id = xplane_number(event, STAT_program_id),
                            .run_id = xplane_number(event, STAT_run_id),
                            .device = xplane_number(event, STAT_device_ordinal),
                            .start_ns = event->start_ns,
                            .end_ns = event->end_ns,
                            .last_start_ns = event->start_ns};
  }
  struct xplane_run *run = &x->runs.items[x->last_run - 1];
  if (event->start_ns < run->start_ns)
    run->start_ns = event->start_ns;
  if (event->end_ns > run->end_ns)
    run->end_ns = event->end_ns;
  if (event->start_ns >= run->last_start_ns) {
    run->last_start_ns = event->start_ns;
    run->last = producer;
  }
  return x->last_run - 1;
}

// ---- the second pass, an event ---------------------------------------------------------------------------------------

// Nothing is deeper nested than there are loops in a module, and none is around itself.
#define CALLERS_MOST 64u

// What is around the operation lasts as long as that, also where the recording begins or ends within it, so that it has no event.
static void body_seen(struct xplane *x, uint32_t run, uint32_t operation, const struct xplane_event *event,
                      struct map_key producer)
{
  const struct xplane_instruction *instruction = xplane_instruction_find(x, &x->runs.items[run], operation);
  for (unsigned depth = 0; depth < CALLERS_MOST && instruction != NULL && instruction->caller != 0; depth++) {
    uint32_t loop = instruction->caller - 1;
    bool is_new;
    uint64_t *place = map_at(&x->body_at, (struct map_key){(uint64_t)run + 1, (uint64_t)loop + 1}, &is_new);
    if (is_new) {
      *vector_add(&x->bodies) =
          (struct xplane_body){event->start_ns, event->end_ns, event->start_ns, producer, run, loop};
      *place = x->bodies.count;
    }
    struct xplane_body *body = &x->bodies.items[*place - 1];
    body->start_ns = event->start_ns < body->start_ns ? event->start_ns : body->start_ns;
    body->end_ns = event->end_ns > body->end_ns ? event->end_ns : body->end_ns;
    if (event->start_ns >= body->last_start_ns) {
      body->last_start_ns = event->start_ns;
      body->last = producer;
    }
    instruction = xplane_instruction_find(x, &x->runs.items[run], loop);
  }
}

bool xplane_survey_event(struct xplane *x, const struct xplane_plane *plane, const struct xplane_event *event)
{
  if (event->name->class == CLASS_END && event->values[STAT_consumer].type == VALUE_INT)
    return xplane_end_seen(x, plane, event);
  x->has_steps = x->has_steps || event->values[STAT_step_num].type == VALUE_INT;
  if (!is_operation(event))
    return true;
  uint32_t operation = xplane_value_text(x, &event->values[STAT_hlo_op]);
  struct map_key producer = xplane_producer(x, plane, xplane_number(event, STAT_producer));
  uint32_t run = run_seen(x, plane, event, producer);
  x->last_operation = producer;
  xplane_keep_start(x, event->start_ns);
  if (x->control_names.count > 0)
    body_seen(x, run, operation, event, producer);
  if (xplane_is_control(x, operation))
    *vector_add(&x->controls) = (struct xplane_control){
        .start_ns = event->start_ns, .end_ns = event->end_ns, .producer = producer, .run = run, .operation = operation};
  return true;
}

SORTED_BY(compare_controls, struct xplane_control, RISING(run) ?: RISING(operation) ?: RISING(start_ns))

ROWS_SORTED_BY(compare_places, uint32_t, struct xplane_control, compare_controls(&of[a], &of[b]))

static void order_controls(struct xplane *x)
{
  for (size_t i = x->control_order.count; i < x->controls.count; i++)
    *vector_add(&x->control_order) = (uint32_t)i;
  if (x->controls.count > 0)
    qsort_r(x->control_order.items, x->controls.count, sizeof *x->control_order.items, compare_places,
            x->controls.items);
}

// The execution of `operation` in `run` that began last before `start_ns`; SIZE_MAX: none.
static size_t control_before(const struct xplane *x, uint32_t run, uint32_t operation, int64_t start_ns)
{
  const struct xplane_control wanted = {.run = run, .operation = operation, .start_ns = start_ns};
  const struct xplane_control *controls = x->controls.items;
  const uint32_t *order = x->control_order.items;
  size_t end = PARTITION_POINT(i, 0, x->control_order.count, compare_controls(&controls[order[i]], &wanted) <= 0);
  if (end == 0)
    return SIZE_MAX;
  size_t found = order[end - 1];
  const struct xplane_control *control = &controls[found];
  return control->run == run && control->operation == operation ? found : SIZE_MAX;
}

// An event is written where its thread leaves a loop, if the recording had begun before: one that a part's begin or end cuts has none.
static void add_lost_loops(struct xplane *x)
{
  size_t known = x->controls.count;
  for (size_t i = 0; i < x->bodies.count; i++) {
    const struct xplane_body *body = &x->bodies.items[i];
    struct xplane_run *run = &x->runs.items[body->run];
    const struct xplane_instruction *loop = xplane_instruction_find(x, run, body->loop);
    if (loop == NULL || !loop->is_loop || control_before(x, body->run, body->loop, INT64_MAX) != SIZE_MAX)
      continue;
    int64_t end_ns = xplane_end_of(x, body->last, body->last_start_ns, body->end_ns);
    *vector_add(&x->controls) = (struct xplane_control){
        .start_ns = body->start_ns, .end_ns = end_ns, .is_pending = true, .run = body->run, .operation = body->loop};
    if (end_ns > run->end_ns)
      run->end_ns = end_ns;
  }
  x->lost_controls = x->controls.count - known;
  if (x->lost_controls > 0)
    order_controls(x);
}

void xplane_survey_end(struct xplane *x)
{
  for (size_t i = 0; i < x->runs.count; i++) {
    struct xplane_run *run = &x->runs.items[i];
    run->end_ns = xplane_end_of(x, run->last, run->last_start_ns, run->end_ns);
  }
  for (size_t i = 0; i < x->controls.count; i++) {
    struct xplane_control *control = &x->controls.items[i];
    struct xplane_run *run = &x->runs.items[control->run];
    const struct xplane_end *end = xplane_end_find(x, control->producer);
    if (end != NULL && end->at_ns > control->end_ns)
      control->end_ns = end->at_ns;
    if (control->end_ns > run->end_ns)
      run->end_ns = control->end_ns;
  }
  order_controls(x);
  add_lost_loops(x);
  xplane_devices_find(x);
  if (!x->has_steps)
    xplane_steps_make(x);
}

// ---- the third pass --------------------------------------------------------------------------------------------------

void xplane_tag_signature(struct xplane *x, int64_t span_id, const struct xplane_module *module)
{
  if (module != NULL && xplane_text(x, module->signature).length > 0)
    import_tag_text(x->import, span_id, x->strings.signature, xplane_string(x, module->signature));
}

static void tag_module(struct xplane *x, int64_t span_id, const struct xplane_module *module)
{
  xplane_tag_signature(x, span_id, module);
  if (module != NULL && module->donated > 0)
    import_tag_int(x->import, span_id, x->strings.donated, module->donated);
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
                                  .recorded_parent_id = xplane_step_around(x, run)};
  XSP_TRY(import_span(x->import, &span, err));
  import_tag_int(x->import, span.span_id, x->strings.program_id, run->program_id);
  import_tag_int(x->import, span.span_id, x->strings.run_id, run->run_id);
  tag_module(x, span.span_id, module);
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
      xplane_rank_of_device(x, run->device, &track);
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

int64_t xplane_parent_of(struct xplane *x, uint32_t run, uint32_t operation,
                         const struct xplane_instruction *instruction, int64_t start_ns)
{
  for (unsigned depth = 0; depth < CALLERS_MOST && instruction != NULL && instruction->caller != 0; depth++) {
    size_t found = control_before(x, run, instruction->caller - 1, start_ns);
    if (found == SIZE_MAX) { // it has no event, as a loop's condition in a call
      instruction = xplane_instruction_find(x, &x->runs.items[run], instruction->caller - 1);
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

struct xplane_control *xplane_lost_loop(struct xplane *x, int64_t span_id)
{
  int64_t place = span_id - xplane_control_span(x, 0);
  bool is_control = place >= 0 && (uint64_t)place < x->controls.count;
  return is_control && x->controls.items[place].is_pending ? &x->controls.items[place] : NULL;
}

// Of a loop without an event some turns are not in the file.
void xplane_add_turns(struct xplane *x)
{
  for (size_t i = 0; i < x->controls.count - x->lost_controls; i++) {
    const struct xplane_control *control = &x->controls.items[i];
    const struct xplane_instruction *instruction =
        xplane_instruction_find(x, &x->runs.items[control->run], control->operation);
    if (control->turns > 0 && instruction != NULL && instruction->is_loop)
      import_tag_int(x->import, xplane_control_span(x, i), x->strings.iterations, control->turns);
  }
}
