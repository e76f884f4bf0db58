// SPDX-License-Identifier: Apache-2.0
// What an event of the host is, and the span that becomes of it: an operation of a module, a layer of TensorFlow, a call
// that launches work on a device, a range. Called by xplane.c in the third pass.
#include "importers/xplane/devices.h"

#include "format/level.h"
#include "format/range.h"

#include <inttypes.h>

void xplane_events_start(struct xplane *x)
{
#define X(name) x->strings.name = import_word(x->import, #name);
  XPLANE_STRINGS(X)
#undef X
}

uint32_t xplane_string(struct xplane *x, uint32_t text)
{
  while (x->string_of.count <= text)
    (void)vector_add(&x->string_of);
  uint32_t *string = &x->string_of.items[text];
  struct slice bytes = xplane_text(x, text);
  if (*string == 0 && bytes.length > 0)
    *string = import_slice(x->import, bytes);
  return *string;
}

// ---- tracks ----------------------------------------------------------------------------------------------------------

// "tf_XLAEigen/5847092458502585169" without the thread's number, which is the line's.
static struct slice thread_name(struct slice name)
{
  const char *slash = name.length > 0 ? memrchr(name.data, '/', name.length) : NULL;
  int64_t number;
  if (slash != NULL && slice_int64(slice_after(name, (size_t)(slash - name.data) + 1), &number))
    name.length = (size_t)(slash - name.data);
  return name;
}

static int64_t stream_of(struct slice name) // "Stream #134(Compute)"
{
  int64_t number = 0;
  struct slice rest = slice_starts_with(name, "Stream #") ? slice_after(name, 8) : (struct slice){NULL, 0}, digits;
  return slice_cut(&rest, '(', &digits) && slice_int64(digits, &number) ? number : STORE_NONE;
}

// `device`: the rank whose operations a thread runs; -1: none.
static enum status find_track(struct xplane *x, const struct xplane_line *line, int64_t device, uint32_t *ret_track_id,
                              struct error *err)
{
  char name[160], of_device[32] = "";
  struct store_track track = xplane_new_track(x, line->plane);
  struct slice shown = line->plane->kind == PLANE_HOST ? thread_name(line->name) : line->name;
  const struct map_key key = {xplane_owner(x, line->plane) | (uint64_t)(device + 1) << 44, (uint64_t)line->id};
  const uint64_t *known = map_find(&x->track_at, key);
  if (known != NULL) {
    *ret_track_id = (uint32_t)*known;
    return STATUS_OK;
  }
  if (device >= 0) {
    snprintf(of_device, sizeof of_device, ", device %lld", (long long)device);
    xplane_rank_of_device(x, device, &track);
  }
  snprintf(name, sizeof name, "%.*s%s", (int)(shown.length < 100 ? shown.length : 100),
           shown.length > 0 ? shown.data : "", of_device);
  track.name = name;
  if (line->plane->kind == PLANE_HOST) {
    const uint64_t *thread = map_find(&x->thread_at, map_number((uint64_t)line->id));
    track.thread_id = thread != NULL ? (int64_t)*thread : line->id;
  } else {
    track.process_id = STORE_NONE;
    track.device_id = line->plane->ordinal;
    track.stream_id = stream_of(line->name);
  }
  XSP_TRY(import_track(x->import, &track, ret_track_id, err));
  *map_at(&x->track_at, key, NULL) = *ret_track_id;
  return STATUS_OK;
}

enum status xplane_track(struct xplane *x, struct xplane_line *line, struct error *err)
{
  return line->track_id != 0 ? STATUS_OK : find_track(x, line, -1, &line->track_id, err);
}

// ---- tags ------------------------------------------------------------------------------------------------------------

static void tag_text(struct xplane *x, int64_t span_id, uint32_t key, uint32_t text)
{
  uint32_t string = xplane_string(x, text);
  if (string != 0)
    import_tag_text(x->import, span_id, key, string);
}

// What no tag holds as a number.
static void tag_large(struct xplane *x, int64_t span_id, uint32_t key, uint64_t number)
{
  char text[24];
  int length = snprintf(text, sizeof text, "%" PRIu64, number);
  import_tag_bytes(x->import, span_id, key, text, (size_t)length);
}

// What the program gave its own ranges. What begins with "_" is the profiler's.
static void tag_others(struct xplane *x, const struct xplane_event *event, int64_t span_id)
{
  for (size_t i = 0; i < event->other_count; i++) {
    const struct xplane_value *value = &event->others[i];
    uint32_t key = xplane_string(x, value->name);
    if (key == 0 || slice_starts_with(xplane_text(x, value->name), "_"))
      continue;
    if (value->type == VALUE_INT && value->is_large)
      tag_large(x, span_id, key, (uint64_t)value->integer);
    else if (value->type == VALUE_INT)
      import_tag_int(x->import, span_id, key, value->integer);
    else if (value->type == VALUE_DOUBLE)
      import_tag_double(x->import, span_id, key, value->real);
    else if (value->reference != 0)
      tag_text(x, span_id, key, value->reference - 1);
    else if (value->text.length > 0)
      import_tag_bytes(x->import, span_id, key, value->text.data, value->text.length);
  }
}

// ---- operations of modules -------------------------------------------------------------------------------------------

// Processes of a job count the executions of modules alike. In a loop, branch or call there may be several of
// an execution: they count by their order.
static void tag_collective(struct xplane *x, int64_t span_id, const struct xplane_instruction *instruction,
                           const struct xplane_run *run)
{
  tag_text(x, span_id, x->strings.collective, instruction->collective - 1);
  tag_text(x, span_id, x->strings.group, xplane_group_of(x, instruction, run->device));
  import_tag_int(x->import, span_id, x->strings.bytes, instruction->bytes);
  if (instruction->caller == 0)
    import_tag_int(x->import, span_id, x->strings.sequence, run->run_id);
}

static uint32_t category_of(const struct xplane *x, const struct xplane_instruction *instruction)
{
  if (instruction == NULL || (instruction->collective == 0 && !instruction->is_fused))
    return 0;
  return instruction->collective != 0 ? x->strings.collective : x->strings.fused;
}

// The layer of an operation; its id and duration are the caller's.
static struct store_span layer_of(struct xplane *x, const struct xplane_line *line, uint32_t run, uint32_t operation,
                                  const struct xplane_instruction *instruction, int64_t start_ns)
{
  return (struct store_span){.track_id = line->track_id,
                             .recorded_parent_id = xplane_parent_of(x, run, operation, instruction, start_ns),
                             .start_ns = start_ns,
                             .name = xplane_string(x, operation),
                             .level = XSP_LEVEL_LAYER,
                             .kind = XSP_KIND_SYNC,
                             .flags = STORE_FLAG_BASIS(BASIS_EXPLICIT),
                             .context_id = instruction != NULL ? instruction->path : 0,
                             .category = category_of(x, instruction)};
}

static enum status add_layer(struct xplane *x, const struct store_span *span,
                             const struct xplane_instruction *instruction, const struct xplane_run *run,
                             struct error *err)
{
  XSP_TRY(import_span(x->import, span, err));
  if (instruction == NULL)
    return STATUS_OK;
  tag_text(x, span->span_id, x->strings.layer_type, instruction->type);
  tag_text(x, span->span_id, x->strings.layer_shape, instruction->shape);
  tag_text(x, span->span_id, x->strings.source, instruction->source);
  if (instruction->collective != 0)
    tag_collective(x, span->span_id, instruction, run);
  return STATUS_OK;
}

// Loops without an event around an operation; each is shown on the thread of the first operation that it has in the file.
static enum status add_lost_loops(struct xplane *x, const struct xplane_line *line, int64_t span_id, struct error *err)
{
  struct xplane_control *loop;
  while ((loop = xplane_lost_loop(x, span_id)) != NULL) {
    const struct xplane_instruction *instruction =
        xplane_instruction_find(x, &x->runs.items[loop->run], loop->operation);
    struct store_span span = layer_of(x, line, loop->run, loop->operation, instruction, loop->start_ns);
    span.span_id = span_id;
    span.duration_ns = loop->end_ns - loop->start_ns;
    loop->is_pending = false;
    XSP_TRY(add_layer(x, &span, instruction, &x->runs.items[loop->run], err));
    span_id = span.recorded_parent_id;
  }
  return STATUS_OK;
}

static enum status add_operation(struct xplane *x, const struct xplane_line *line, const struct xplane_event *event,
                                 uint32_t run, uint32_t operation, struct error *err)
{
  const struct xplane_instruction *instruction = xplane_instruction_find(x, &x->runs.items[run], operation);
  struct store_span span = layer_of(x, line, run, operation, instruction, event->start_ns);
  span.duration_ns = xplane_operation_end(x, line->plane, event) - event->start_ns;
  if (x->lost_controls > 0)
    XSP_TRY(add_lost_loops(x, line, span.recorded_parent_id, err));
  if (xplane_is_control(x, operation) && x->next_control < x->controls.count - x->lost_controls) {
    const struct xplane_control *control = &x->controls.items[x->next_control];
    span.span_id = xplane_control_span(x, x->next_control++);
    span.duration_ns = control->end_ns - control->start_ns;
  } else {
    span.span_id = ++x->span_count;
  }
  return add_layer(x, &span, instruction, &x->runs.items[run], err);
}

// ---- other events ----------------------------------------------------------------------------------------------------

bool xplane_skips(struct xplane *x, const struct xplane_line *line, uint64_t number)
{
  static const char *const reasons[] = {[CLASS_END] = "end of an operation",
                                        [CLASS_PYTHON] = "Python frame",
                                        [CLASS_MARK] = "mark of a thread pool",
                                        [CLASS_OPERATION] = NULL};
  uint32_t place = xplane_place(&line->plane->events, number);
  const char *reason = place != 0 ? reasons[x->event_names.items[place - 1].class] : NULL;
  if (reason != NULL)
    import_skip(x->import, reason);
  return reason != NULL;
}

// A pass of XLA's compiler is a range, told from others by the thread on which it compiles.
static bool is_pass(struct xplane_line *line, const struct xplane_event *event)
{
  bool is_within = event->start_ns < line->compile_until_ns;
  if (slice_ends_with(event->shown, "::Compile") && event->end_ns > line->compile_until_ns)
    line->compile_until_ns = event->end_ns;
  return is_within;
}

static void set_host(struct xplane *x, struct xplane_line *line, const struct xplane_event *event,
                     struct store_span *span)
{
  const char *model_range = x->import->options->model_range;
  span->level = XSP_LEVEL_APPLICATION;
  if (event->values[STAT_correlation_id].type == VALUE_INT) {
    span->level = XSP_LEVEL_KERNEL;
    span->category = x->strings.api;
    span->flags = STORE_SPAN_CALL;
    span->correlation_id = event->values[STAT_correlation_id].integer;
  } else if (event->values[STAT_step_num].type == VALUE_INT ||
             range_matches(model_range, event->shown.data, event->shown.length)) {
    span->level = XSP_LEVEL_MODEL;
    span->flags = STORE_SPAN_STEP;
  } else if (event->name->class == CLASS_OPERATION) {
    span->level = XSP_LEVEL_LAYER;
  } else if (is_pass(line, event)) {
    span->category = x->strings.compiler_pass;
  }
}

enum status xplane_host_event(struct xplane *x, struct xplane_line *line, const struct xplane_event *event,
                              struct error *err)
{
  uint32_t run, operation;
  bool is_operation = xplane_run_of(x, line->plane, event, &run, &operation);
  if (is_operation && x->device_count > 0) {
    struct xplane_line of_device = *line;
    XSP_TRY(find_track(x, line, x->runs.items[run].device, &of_device.track_id, err));
    return add_operation(x, &of_device, event, run, operation, err);
  }
  XSP_TRY(xplane_track(x, line, err));
  if (is_operation)
    return add_operation(x, line, event, run, operation, err);
  XSP_TRY(xplane_compilation_event(x, line, event, err));
  struct store_span span = {.span_id = ++x->span_count,
                            .track_id = line->track_id,
                            .start_ns = event->start_ns,
                            .duration_ns = event->end_ns - event->start_ns,
                            .name = xplane_string(x, event->name->text),
                            .kind = XSP_KIND_SYNC};
  set_host(x, line, event, &span);
  XSP_TRY(import_span(x->import, &span, err));
  if (event->name->class == CLASS_OPERATION && span.level == XSP_LEVEL_LAYER)
    tag_text(x, span.span_id, x->strings.layer_type, event->name->inner);
  if (event->values[STAT_step_num].type == VALUE_INT)
    import_tag_int(x->import, span.span_id, x->strings.step_num, event->values[STAT_step_num].integer);
  tag_others(x, event, span.span_id);
  return STATUS_OK;
}
