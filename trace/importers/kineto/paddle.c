// SPDX-License-Identifier: Apache-2.0
// What PaddlePaddle's profiler writes in Kineto's shape, made what PyTorch would have written. Called once an event, of files
// with Paddle's key only. Names end in durations; "ts" is cut to µs, but the arguments have ns; one thread is two lanes.
#include "importers/kineto/kineto.h"

#include "base/sorted.h"

#include <string.h>

static const char step_prefix[] = "ProfileStep#";

static bool is_step(const struct trace_event *event)
{
  return event->phase == 'X' && slice_starts_with(event->name, step_prefix);
}

// "conv2d dygraph[128.471 us]" is "conv2d dygraph".
static struct slice without_duration(struct slice name)
{
  static const char *const units[] = {" ns]", " us]", " ms]", " s]"};
  const char *open = memrchr(name.data, '[', name.length);
  if (open == NULL)
    return name;
  struct slice ending = slice_after(name, (size_t)(open - name.data) + 1);
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (slice_ends_with(ending, units[i]) && json_time_is_number(ending.data, ending.length - strlen(units[i])))
      return (struct slice){name.data, (size_t)(open - name.data)};
  return name;
}

// "140(Python)" and "140(C++)" are thread 140.
static void join_lanes(struct trace_value *thread)
{
  static const char *const endings[] = {"(Python)", "(C++)"};
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
    if (thread->type == TRACE_STRING && slice_ends_with(thread->raw, endings[i]))
      thread->raw.length -= strlen(endings[i]);
}

static struct slice category_of(struct slice category)
{
  static const char *const rows[][2] = {
      {"Operator", "cpu_op"},
      {"OperatorInner", "cpu_op"},
      {"PythonOp", "cpu_op"},
      {"Communication", "cpu_op"},
      {"CudaRuntime", "cuda_runtime"},
      {"ProfileStep", "user_annotation"},
      {"Dataloader", "user_annotation"},
      {"Forward", "user_annotation"},
      {"Backward", "user_annotation"},
      {"Optimization", "user_annotation"},
      {"UserDefined", "user_annotation"},
      {"PythonUserDefined", "user_annotation"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (slice_is(category, rows[i][0]))
      return slice_of(rows[i][1]);
  return category;
}

// "12.345 us" from the earliest event on.
static bool read_offset(const struct trace_event *event, const char *key, int64_t *ret_ns)
{
  static const char unit[] = " us";
  int64_t ignored;
  const struct trace_argument *argument = trace_find(event, key);
  if (argument == NULL || argument->value.type != TRACE_STRING || !slice_ends_with(argument->value.raw, unit))
    return false;
  struct slice number = argument->value.raw;
  number.length -= strlen(unit);
  return json_time_is_number(number.data, number.length) &&
         json_time(number.data, number.length, NULL, 0, ret_ns, &ignored);
}

static void sharpen_times(struct kineto *kineto, struct trace_event *event)
{
  int64_t from_ns, to_ns, start_ns, end_ns;
  if (!event->has_start || !event->has_duration || !read_offset(event, "start_time", &from_ns) ||
      !read_offset(event, "end_time", &to_ns))
    return;
  if (!kineto->paddle.has_base)
    kineto->paddle.has_base = !__builtin_sub_overflow(event->start_ns, from_ns, &kineto->paddle.base_ns);
  if (!kineto->paddle.has_base || __builtin_add_overflow(kineto->paddle.base_ns, from_ns, &start_ns) ||
      __builtin_add_overflow(kineto->paddle.base_ns, to_ns, &end_ns))
    return;
  event->start_ns = start_ns;
  event->end_ns = end_ns;
}

bool kineto_paddle_event(struct kineto *kineto, const struct trace_event *event, struct trace_event *ret_event)
{
  int64_t duration_ns;
  *ret_event = *event;
  if (event->name.length > 0)
    ret_event->name = without_duration(event->name);
  ret_event->category = category_of(event->category);
  join_lanes(&ret_event->thread_id);
  sharpen_times(kineto, ret_event);
  bool is_valid = ret_event->has_start && ret_event->has_duration &&
                  !__builtin_sub_overflow(ret_event->end_ns, ret_event->start_ns, &duration_ns) && duration_ns >= 0;
  if (!is_valid || !is_step(ret_event))
    return false;
  *vector_add(&kineto->paddle.steps) = (struct kineto_paddle_step){
      .start_ns = ret_event->start_ns,
      .end_ns = ret_event->end_ns,
      .name = import_slice(kineto->import, ret_event->name),
      .track = kineto_track(kineto, TRACK_HOST, ret_event, &ret_event->process_id, &ret_event->thread_id)};
  return true;
}

// ---- steps -----------------------------------------------------------------------------------------------------------
SORTED_BY(compare_steps, struct kineto_paddle_step, RISING(start_ns))

// A step that something starts in. They do not overlap.
static void note_content(struct kineto *kineto, int64_t time_ns)
{
  struct kineto_paddle_step *steps = kineto->paddle.steps.items;
  size_t end = PARTITION_POINT(i, 0, kineto->paddle.steps.count, steps[i].start_ns <= time_ns);
  if (end > 0 && time_ns < steps[end - 1].end_ns)
    steps[end - 1].has_content = true;
}

enum status kineto_paddle_end(struct kineto *kineto, struct error *err)
{
  struct kineto_paddle *paddle = &kineto->paddle;
  if (paddle->steps.count == 0)
    return STATUS_OK;
  vector_sort(&paddle->steps, compare_steps);
  for (size_t i = 0; i < kineto->tracks.all.count; i++) {
    const struct kineto_track *track = kineto->tracks.all.items[i];
    for (size_t j = 0; j < track->thread.intervals.count; j++)
      note_content(kineto, track->thread.intervals.items[j].start_ns);
  }
  for (size_t i = 0; i < paddle->steps.count; i++) {
    const struct kineto_paddle_step *step = &paddle->steps.items[i];
    if (step->has_content)
      XSP_TRY(kineto_add_step(kineto, step, err));
    else
      import_skip(kineto->import, "empty step");
  }
  return STATUS_OK;
}
