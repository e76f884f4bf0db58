// SPDX-License-Identifier: Apache-2.0
// One Kineto event: what its category says it is, and the span that becomes of it. Categories were renamed over the
// years and makers (Operator, cpu_op; Runtime, cuda_runtime, xpu_runtime …); each spelling is judged once a file.
#include "importers/kineto/kineto.h"

#include "format/range.h"

#include <ctype.h>
#include <string.h>

enum event_class {
  CLASS_RANGE = 0, // of no category that is known: an annotation by its text
  CLASS_OPERATOR,
  CLASS_ANNOTATION,
  CLASS_PYTHON,
  CLASS_CALL, // of the host to a runtime or driver
  CLASS_KERNEL,
  CLASS_MEMCPY,
  CLASS_MEMSET,
  CLASS_SYNC,
  CLASS_OTHER, // on a device
  CLASS_DEVICE_ANNOTATION,
  CLASS_PROFILER,
  CLASS_OVERHEAD,
};

static const struct {
  const char *category;
  enum event_class event_class;
  enum kineto_sign sign; // that a file with it is of Kineto
} classes[] = {
    {"cpu_op", CLASS_OPERATOR, SIGN_CERTAIN},
    {"operator", CLASS_OPERATOR, SIGN_LIKELY},
    {"user_annotation", CLASS_ANNOTATION, SIGN_CERTAIN},
    {"python_function", CLASS_PYTHON, SIGN_CERTAIN},
    {"kernel", CLASS_KERNEL, SIGN_LIKELY},
    {"concurrent_kernel", CLASS_KERNEL, SIGN_LIKELY},
    {"gpu_memcpy", CLASS_MEMCPY, SIGN_CERTAIN},
    {"memcpy", CLASS_MEMCPY, SIGN_LIKELY},
    {"gpu_memset", CLASS_MEMSET, SIGN_CERTAIN},
    {"memset", CLASS_MEMSET, SIGN_LIKELY},
    {"cuda_sync", CLASS_SYNC, SIGN_CERTAIN},
    {"xpu_sync", CLASS_SYNC, SIGN_CERTAIN},
    {"cuda_event", CLASS_OTHER, SIGN_CERTAIN},
    {"cuda_profiler_range", CLASS_OTHER, SIGN_CERTAIN},
    {"collective_comm", CLASS_OTHER, SIGN_LIKELY},
    {"hpu_op", CLASS_OTHER, SIGN_CERTAIN},
    {"cuda_runtime", CLASS_CALL, SIGN_CERTAIN},
    {"cuda_driver", CLASS_CALL, SIGN_CERTAIN},
    {"runtime", CLASS_CALL, SIGN_LIKELY},
    {"driver", CLASS_CALL, SIGN_NONE},
    {"gpu_user_annotation", CLASS_DEVICE_ANNOTATION, SIGN_CERTAIN},
    {"trace", CLASS_PROFILER, SIGN_NONE},
    {"overhead", CLASS_OVERHEAD, SIGN_NONE},
    {"ac2g", CLASS_RANGE, SIGN_CERTAIN}, // of arrows and instants, which are no spans
    {"fwdbwd", CLASS_RANGE, SIGN_CERTAIN},
    {"cpu_instant_event", CLASS_RANGE, SIGN_CERTAIN},
};
// Of devices that Kineto does not know by name; what follows differs.
static const char *const device_prefixes[] = {"mtia_", "hpu_", "xpu_", "privateuse1_"};

// ---- categories ------------------------------------------------------------------------------------------------------
static bool is_of_device(struct slice lower)
{
  for (size_t i = 0; i < sizeof device_prefixes / sizeof device_prefixes[0]; i++)
    if (slice_starts_with(lower, device_prefixes[i]))
      return true;
  return false;
}

// In small letters, in `text`.
static struct slice lower_of(struct slice category, char text[KINETO_CATEGORY_BYTES])
{
  for (size_t i = 0; i < category.length; i++)
    text[i] = (char)tolower((unsigned char)category.data[i]);
  return (struct slice){text, category.length};
}

static enum event_class judge(struct slice category)
{
  char text[KINETO_CATEGORY_BYTES];
  const struct slice lower = lower_of(category, text);
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
    if (slice_is(lower, classes[i].category))
      return classes[i].event_class;
  if (slice_ends_with(lower, "_user_annotation")) // of any device: gpu_, mtia_, …
    return CLASS_DEVICE_ANNOTATION;
  if (slice_ends_with(lower, "_runtime") || slice_ends_with(lower, "_driver"))
    return CLASS_CALL;
  return is_of_device(lower) ? CLASS_OTHER : CLASS_RANGE;
}

enum kineto_sign kineto_category_sign(struct slice category)
{
  char text[KINETO_CATEGORY_BYTES];
  if (category.length == 0 || category.length > KINETO_CATEGORY_BYTES)
    return SIGN_NONE;
  const struct slice lower = lower_of(category, text);
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
    if (slice_is(lower, classes[i].category))
      return classes[i].sign;
  return is_of_device(lower) ? SIGN_CERTAIN : SIGN_NONE;
}

static enum event_class class_of(struct kineto *kineto, struct slice category)
{
  if (category.length == 0 || category.length > KINETO_CATEGORY_BYTES)
    return CLASS_RANGE;
  unsigned hash = (unsigned)category.length + (unsigned char)category.data[0] +
                  5u * (unsigned char)category.data[category.length - 1];
  struct kineto_category *recent = &kineto->categories[hash % KINETO_CATEGORIES];
  if (recent->length != category.length || memcmp(recent->text, category.data, category.length) != 0) {
    recent->length = (uint8_t)category.length;
    memcpy(recent->text, category.data, category.length);
    recent->event_class = (uint8_t)judge(category);
  }
  return (enum event_class)recent->event_class;
}

void kineto_events_start(struct kineto *kineto)
{
#define X(name) kineto->strings.name = import_word(kineto->import, #name);
  KINETO_STRINGS(X)
#undef X
}

// ---- what is no span -------------------------------------------------------------------------------------------------
static const char *why_no_span(char phase)
{
  static const struct {
    const char *phases, *reason;
  } rows[] = {{"M", "metadata"}, {"stf", "flow"}, {"iInR", "instant"}, {"C", "counter"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0] && phase != 0; i++)
    if (strchr(rows[i].phases, phase) != NULL)
      return rows[i].reason;
  return "phase other than X";
}

static void keep_name(struct kineto *kineto, const struct trace_event *event)
{
  if (!slice_is(event->name, "thread_name"))
    return;
  const struct trace_argument *name = trace_find(event, "name");
  if (name == NULL || name->value.type != TRACE_STRING)
    return;
  struct slice text = name->value.raw;
  while (text.length > 0 && text.data[text.length - 1] == ' ')
    text.length--;
  struct kineto_track *track = kineto_track(kineto, TRACK_NAME, event, &event->process_id, &event->thread_id);
  track->name = import_slice(kineto->import, text);
}

static const char *why_nonsense(const struct trace_event *event)
{
  if (!event->has_start)
    return "no start time";
  if (!event->has_duration)
    return "no duration";
  return event->end_ns < event->start_ns ? "negative duration" : NULL;
}

// By class; NULL: a span or a frame.
static const char *const why_left_out[] = {
    [CLASS_DEVICE_ANNOTATION] = "device's copy of an annotation",
    [CLASS_PROFILER] = "profiler span",
    [CLASS_OVERHEAD] = "profiler overhead",
};

// ---- spans -----------------------------------------------------------------------------------------------------------
static const char module_prefix[] = "nn.Module: ";
#define MODULE_PREFIX (sizeof module_prefix - 1)
static const char step_prefix[] = "ProfilerStep#";

// Whether the span is what observations are made of. "*" means what encloses operators, not them; "aten::linear*" means
// its own pattern.
static bool is_step(const struct kineto *kineto, const struct trace_event *event, enum event_class event_class)
{
  const char *model_range = kineto->import->options->model_range;
  if (event_class != CLASS_PYTHON && slice_starts_with(event->name, step_prefix))
    return true;
  if (model_range == NULL || (event_class != CLASS_ANNOTATION && strchr("*?[", model_range[0]) != NULL))
    return false;
  return range_matches(model_range, event->name.data, event->name.length);
}

// A host span's level, from its class and name.
static void set_host(const struct kineto *kineto, const struct trace_event *event, enum event_class event_class,
                     struct store_span *span)
{
  if (event_class == CLASS_CALL) {
    span->level = XSP_LEVEL_KERNEL;
    span->category = kineto->strings.api;
    span->flags = STORE_SPAN_CALL;
    return;
  }
  bool wraps = event_class != CLASS_ANNOTATION && range_is_wrapper(event->name.data, event->name.length);
  span->category = event_class == CLASS_PYTHON ? kineto->strings.module : wraps ? kineto->strings.wrapper : 0;
  span->level = event_class == CLASS_ANNOTATION ? XSP_LEVEL_MODEL : XSP_LEVEL_LAYER;
  if (is_step(kineto, event, event_class)) {
    span->level = XSP_LEVEL_MODEL;
    span->flags = STORE_SPAN_STEP;
  }
}

// An event of a category of its own: as an annotation, by its text.
static void set_range(struct kineto *kineto, const struct trace_event *event, struct store_span *span)
{
  struct range range;
  range_read(NULL, event->name.data, event->name.length, kineto->import->options->model_range, &range);
  span->level = (uint8_t)range.level;
  span->flags = range.is_step ? STORE_SPAN_STEP : 0;
  span->category = import_slice(kineto->import, event->category);
}

// "nn.Module: Linear_3" is of type Linear.
static uint32_t module_type(struct kineto *kineto, struct slice name)
{
  size_t end = name.length;
  while (end > MODULE_PREFIX && name.data[end - 1] >= '0' && name.data[end - 1] <= '9')
    end--;
  if (end == name.length || end <= MODULE_PREFIX + 1 || name.data[end - 1] != '_')
    end = name.length;
  else
    end--;
  return import_string(kineto->import, name.data + MODULE_PREFIX, end - MODULE_PREFIX);
}

// "Memcpy HtoD (Pageable -> Device)", or "CopyHostToDevice" of older AMD traces. 0: it is not recorded.
static uint32_t copy_kind(struct kineto *kineto, struct slice name)
{
  static const char prefix[] = "Memcpy ";
  static const char *const older[][2] = {{"CopyHostToDevice", "HtoD"},
                                         {"CopyDeviceToHost", "DtoH"},
                                         {"CopyDeviceToDevice", "DtoD"},
                                         {"CopyHostToHost", "HtoH"}};
  for (size_t i = 0; i < sizeof older / sizeof older[0]; i++)
    if (slice_is(name, older[i][0]))
      return import_string(kineto->import, older[i][1], 4);
  if (!slice_starts_with(name, prefix))
    return 0;
  struct slice rest = slice_after(name, strlen(prefix)), kind;
  slice_cut(&rest, ' ', &kind);
  return kind.length > 4 ? 0 : import_slice(kineto->import, kind);
}

static uint32_t device_category(const struct kineto_strings *strings, enum event_class event_class)
{
  return event_class == CLASS_KERNEL   ? strings->kernel
         : event_class == CLASS_MEMCPY ? strings->memcpy
         : event_class == CLASS_MEMSET ? strings->memset
         : event_class == CLASS_SYNC   ? strings->sync
                                       : strings->other;
}

static void tag_by_name(struct kineto *kineto, const struct trace_event *event, enum event_class event_class,
                        const struct store_span *span)
{
  struct import *import = kineto->import;
  uint32_t key = kineto->strings.layer_type, text = 0;
  if (event_class == CLASS_MEMCPY) {
    if (kineto->copy_name != span->name) {
      kineto->copy_kind = copy_kind(kineto, event->name);
      kineto->copy_name = span->name;
    }
    key = kineto->strings.copy_kind;
    text = kineto->copy_kind;
  } else if (span->level == XSP_LEVEL_LAYER) {
    text = event_class == CLASS_PYTHON ? module_type(kineto, event->name) : span->name;
  }
  if (text != 0)
    import_tag_text(import, span->span_id, key, text);
}

static void keep_times(struct kineto *kineto, const struct trace_event *event)
{
  if (kineto->span_count == 0) {
    kineto->first_start_ns = kineto->least_start_ns = event->start_ns;
    kineto->most_end_ns = event->end_ns;
  }
  if (event->start_ns < kineto->least_start_ns)
    kineto->least_start_ns = event->start_ns;
  if (event->end_ns > kineto->most_end_ns)
    kineto->most_end_ns = event->end_ns;
}

// For the sweeps at the end.
static void keep_interval(struct kineto_track *track, const struct trace_event *event, const struct store_span *span,
                          uint32_t stack)
{
  bool is_native = span->level == XSP_LEVEL_LIBRARY || span->level == XSP_LEVEL_KERNEL;
  const struct call_span kept = {.start_ns = event->start_ns,
                                 .end_ns = event->end_ns,
                                 .span_id = span->span_id,
                                 .name = span->name,
                                 .stack = stack,
                                 .kind = is_native ? XSP_FRAME_NATIVE : XSP_FRAME_FRAMEWORK,
                                 .is_layer = span->level == XSP_LEVEL_LAYER,
                                 .is_no_frame = (span->flags & STORE_SPAN_STEP) != 0};
  call_thread_span(&track->thread, &kept);
}

static enum status add_span(struct kineto *kineto, const struct trace_event *event, enum event_class event_class,
                            struct error *err)
{
  struct store_span span = {.span_id = kineto->span_count + 1,
                            .start_ns = event->start_ns,
                            .name = import_slice(kineto->import, event->name),
                            .kind = XSP_KIND_SYNC};
  if (__builtin_sub_overflow(event->end_ns, event->start_ns, &span.duration_ns))
    return import_broken(kineto->import, err, event->offset,
                         "the duration of this event is beyond 64 bits of nanoseconds");
  bool is_device = event_class >= CLASS_KERNEL && event_class <= CLASS_OTHER;
  struct kineto_facts facts;
  kineto_tags(kineto, event, span.span_id,
              is_device                   ? KINETO_DEVICE
              : event_class == CLASS_CALL ? KINETO_CALL
                                          : KINETO_HOST,
              &facts);
  struct kineto_track *track =
      is_device ? kineto_track(kineto, TRACK_DEVICE, event, facts.device != NULL ? facts.device : &event->process_id,
                               facts.stream != NULL ? facts.stream : &event->thread_id)
                : kineto_track(kineto, TRACK_HOST, event, &event->process_id, &event->thread_id);
  XSP_TRY(kineto_track_use(kineto, track, err));
  span.track_id = track->track_id;
  if (is_device) {
    span.level = XSP_LEVEL_KERNEL;
    span.kind = XSP_KIND_EXECUTION;
    span.category = device_category(&kineto->strings, event_class);
    track->kernel_count += event_class == CLASS_KERNEL;
  } else {
    if (event_class == CLASS_RANGE)
      set_range(kineto, event, &span);
    else
      set_host(kineto, event, event_class, &span);
    keep_interval(track, event, &span, facts.stack);
  }
  span.correlation_id = span.level == XSP_LEVEL_KERNEL ? facts.correlation_id : 0;
  keep_times(kineto, event);
  XSP_TRY(import_span(kineto->import, &span, err));
  kineto->span_count++;
  tag_by_name(kineto, event, event_class, &span);
  return STATUS_OK;
}

enum status kineto_add_step(struct kineto *kineto, const struct kineto_paddle_step *step, struct error *err)
{
  const struct trace_event event = {.start_ns = step->start_ns, .end_ns = step->end_ns};
  struct store_span span = {.span_id = kineto->span_count + 1,
                            .start_ns = step->start_ns,
                            .duration_ns = step->end_ns - step->start_ns,
                            .name = step->name,
                            .level = XSP_LEVEL_MODEL,
                            .kind = XSP_KIND_SYNC,
                            .flags = STORE_SPAN_STEP};
  XSP_TRY(kineto_track_use(kineto, step->track, err));
  span.track_id = step->track->track_id;
  keep_interval(step->track, &event, &span, 0);
  keep_times(kineto, &event);
  kineto->span_count++;
  return import_span(kineto->import, &span, err);
}

static void keep_frame(struct kineto *kineto, const struct trace_event *event)
{
  struct kineto_track *track = kineto_track(kineto, TRACK_HOST, event, &event->process_id, &event->thread_id);
  kineto_frame(kineto, track, event);
  import_skip(kineto->import, "Python frame, now call path");
}

enum status kineto_event(void *context, const struct trace_event *event, struct error *err)
{
  struct kineto *kineto = context;
  struct trace_event paddle;
  const char *reason = NULL;
  if (kineto->paddle.is_writer && kineto_paddle_event(kineto, event, &paddle))
    return STATUS_OK;
  event = kineto->paddle.is_writer ? &paddle : event;
  if (event->phase != 'X') {
    if (event->phase == 'M')
      keep_name(kineto, event);
    if (kineto_memory(kineto, event))
      return STATUS_OK;
    reason = why_no_span(event->phase);
  } else {
    enum event_class event_class = class_of(kineto, event->category);
    reason = why_left_out[event_class];
    if (reason == NULL)
      reason = why_nonsense(event);
    if (reason == NULL && event_class == CLASS_PYTHON && !slice_starts_with(event->name, module_prefix)) {
      keep_frame(kineto, event);
      return STATUS_OK;
    }
    if (reason == NULL)
      return add_span(kineto, event, event_class, err);
  }
  import_skip(kineto->import, reason);
  return STATUS_OK;
}
