// SPDX-License-Identifier: Apache-2.0
// Events of devices: kernels, copies, sets on a GPU's streams; a TPU's modules and operations. Called by xplane.c in the
// third pass.
#include "importers/xplane/xplane.h"

// "regs:38 shm:0 grid:160,1,1 block:1024,1,1": the value of a key; empty: it has none.
static struct slice detail(struct slice details, const char *key)
{
  struct slice rest = details, part, name;
  while (slice_cut(&rest, ' ', &part)) {
    struct slice value = part;
    if (slice_cut(&value, ':', &name) && slice_is(name, key) && value.length > 0)
      return value;
  }
  return (struct slice){NULL, 0};
}

static void tag_number(struct xplane *x, int64_t span_id, uint32_t key, struct slice text)
{
  int64_t number;
  if (slice_int64(text, &number))
    import_tag_int(x->import, span_id, key, number);
}

static void tag_size(struct xplane *x, int64_t span_id, uint32_t key, struct slice text)
{
  char list[64];
  if (text.length == 0 || text.length > sizeof list - 3)
    return;
  int length = snprintf(list, sizeof list, "[%.*s]", (int)text.length, text.data);
  import_tag_bytes(x->import, span_id, key, list, (size_t)length);
}

static void tag_kernel(struct xplane *x, int64_t span_id, struct slice details)
{
  int64_t fixed = 0, dynamic = 0, sum;
  tag_number(x, span_id, x->strings.registers, detail(details, "regs"));
  tag_size(x, span_id, x->strings.grid, detail(details, "grid"));
  tag_size(x, span_id, x->strings.block, detail(details, "block"));
  tag_number(x, span_id, x->strings.shared_bytes, detail(details, "shm"));
  bool is_split =
      slice_int64(detail(details, "static_shared"), &fixed) && slice_int64(detail(details, "dynamic_shared"), &dynamic);
  if (is_split && !__builtin_add_overflow(fixed, dynamic, &sum)) // newer writers
    import_tag_int(x->import, span_id, x->strings.shared_bytes, sum);
}

static uint32_t category_of(const struct xplane *x, const struct xplane_event *event)
{
  if (event->values[STAT_kernel_details].type == VALUE_TEXT)
    return x->strings.kernel;
  if (slice_starts_with(event->shown, "Memset"))
    return x->strings.memset;
  if (event->values[STAT_memcpy_details].type == VALUE_TEXT || slice_starts_with(event->shown, "Memcpy"))
    return x->strings.memcpy;
  return x->strings.other;
}

static enum status add_span(struct xplane *x, struct xplane_line *line, uint32_t track_id,
                            const struct xplane_event *event, struct error *err)
{
  bool is_module = line->plane->is_tpu && slice_is(line->name, "XLA Modules");
  struct store_span span = {.span_id = ++x->span_count,
                            .track_id = track_id,
                            .start_ns = event->start_ns,
                            .duration_ns = event->end_ns - event->start_ns,
                            .name = xplane_string(x, event->name->text),
                            .level = is_module ? XSP_LEVEL_MODEL : XSP_LEVEL_KERNEL,
                            .kind = XSP_KIND_EXECUTION,
                            .category = is_module             ? 0
                                        : line->plane->is_tpu ? x->strings.kernel
                                                              : category_of(x, event)};
  if (event->values[STAT_correlation_id].type == VALUE_INT)
    span.correlation_id = event->values[STAT_correlation_id].integer;
  XSP_TRY(import_span(x->import, &span, err));
  if (event->values[STAT_kernel_details].type == VALUE_TEXT)
    tag_kernel(x, span.span_id, event->values[STAT_kernel_details].text);
  if (event->values[STAT_memcpy_details].type == VALUE_TEXT)
    tag_number(x, span.span_id, x->strings.bytes, detail(event->values[STAT_memcpy_details].text, "size"));
  for (unsigned stat = STAT_hlo_op; stat <= STAT_hlo_module; stat++)
    if (event->values[stat].type == VALUE_TEXT)
      import_tag_text(x->import, span.span_id, stat == STAT_hlo_op ? x->strings.hlo_op : x->strings.hlo_module,
                      xplane_string(x, xplane_value_text(x, &event->values[stat])));
  return STATUS_OK;
}

static struct xplane_value text_of(struct xplane *x, uint32_t reference)
{
  return reference == 0
             ? (struct xplane_value){0}
             : (struct xplane_value){.type = VALUE_TEXT, .text = xplane_text(x, reference - 1), .reference = reference};
}

// From the start's begin to the end of what ends it, on a track of its own: others run meanwhile.
static enum status add_started(struct xplane *x, struct xplane_line *line, struct xplane_started *started,
                               const struct xplane_event *end, struct error *err)
{
  struct xplane_event whole = *end;
  struct store_track track = xplane_new_track(x, line->plane);
  whole.name = started->name;
  whole.shown = xplane_text(x, started->name->text);
  whole.start_ns = started->start_ns;
  whole.end_ns = end->end_ns > started->end_ns ? end->end_ns : started->end_ns;
  whole.values[STAT_hlo_op] = text_of(x, started->instruction);
  whole.values[STAT_hlo_module] = text_of(x, started->module);
  started->is_open = false;
  track.name = "XLA Ops, asynchronous";
  track.process_id = STORE_NONE;
  track.device_id = line->plane->ordinal;
  if (line->started_track_id == 0)
    XSP_TRY(import_track(x->import, &track, &line->started_track_id, err));
  return add_span(x, line, line->started_track_id, &whole, err);
}

static const struct xplane_event nothing = {.end_ns = INT64_MIN}; // ends an operation that nothing ended

enum status xplane_device_event(struct xplane *x, struct xplane_line *line, const struct xplane_event *event,
                                struct error *err)
{
  bool is_operation = line->plane->is_tpu && slice_is(line->name, "XLA Ops");
  struct xplane_started lost;
  if (is_operation && xplane_starts(x, line, event, &lost))
    return lost.is_open ? add_started(x, line, &lost, &nothing, err) : STATUS_OK;
  struct xplane_started *started = is_operation ? xplane_started_by(x, line, event) : NULL;
  if (started != NULL) {
    import_joined(x->import);
    return add_started(x, line, started, event, err);
  }
  XSP_TRY(xplane_track(x, line, err));
  return add_span(x, line, line->track_id, event, err);
}

// What nothing ended within the recording lasts as long as its start.
enum status xplane_device_line_end(struct xplane *x, struct xplane_line *line, struct error *err)
{
  for (size_t i = 0; i < line->started.count; i++)
    if (line->started.items[i].is_open)
      XSP_TRY(add_started(x, line, &line->started.items[i], &nothing, err));
  return STATUS_OK;
}
