// SPDX-License-Identifier: Apache-2.0
// Which recorded activities (activities_read.c) are operations of a call; see activities.h.
#include "frameworks/tensorflow/activities.h"

#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAXIMUM 256u

// The number after "id=" of an activity whose name begins with `begins`: "FunctionRun#id=7,_r=1#".
static bool step_of(const struct activity *activity, const char *begins, int64_t *ret_step)
{
  size_t length = strlen(begins);
  if (strncmp(activity->name, begins, length) != 0 || activity->name[length] != '#')
    return false;
  const char *id = strstr(activity->name + length, "id=");
  *ret_step = id != NULL ? strtoll(id + 3, NULL, 10) : 0;
  return id != NULL;
}

static bool starts_step(const struct activity *activity, int64_t *ret_step)
{
  return step_of(activity, "FunctionRun", ret_step) || step_of(activity, "SessionRun", ret_step);
}

// "NODE:TYPE", not TensorFlow's other activities: "Iterator::Map", "EagerLocalExecute: Conv2D".
static const char *type_in(const struct activity *activity)
{
  size_t length = strcspn(activity->name, "#");
  const char *colon = memrchr(activity->name, ':', length);
  if (colon == NULL || colon == activity->name || colon[-1] == ':' || memchr(activity->name, ' ', length) != NULL)
    return NULL;
  const char *end = activity->name + length;
  for (const char *at = colon + 1; at < end; at++)
    if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') || *at == '_'))
      return NULL;
  return colon + 1 < end ? colon + 1 : NULL;
}

struct steps {
  int64_t own[STEPS_MAXIMUM];
  size_t count;
};

static bool is_own(const struct steps *steps, int64_t step)
{
  for (size_t i = 0; i < steps->count; i++)
    if (steps->own[i] == step)
      return true;
  return false;
}

// The innermost activity around each that has a step's number, or SIZE_MAX. By thread: they nest.
static void find_processes(const struct activities *activities, size_t *around)
{
  size_t stack[64], depth = 0;
  int64_t step;
  for (size_t i = 0; i < activities->count; i++) {
    const struct activity *activity = &activities->items[i];
    while (depth > 0 && (activities->items[stack[depth - 1]].thread != activity->thread ||
                         activities->items[stack[depth - 1]].end_ns < activity->end_ns))
      depth--;
    around[i] = depth > 0 ? stack[depth - 1] : SIZE_MAX;
    if (step_of(activity, "ExecutorState::Process", &step) && depth < sizeof stack / sizeof stack[0])
      stack[depth++] = i;
  }
}

// The first step that the call began: a session's run, or a function within "EagerLocalExecute: FUNCTION" on the same thread.
// What input pipelines run is in neither.
static const struct activity *first_step(const struct activities *activities, uint64_t start_ns, uint64_t end_ns)
{
  const struct activity *first = NULL, *call = NULL;
  int64_t step;
  for (size_t i = 0; i < activities->count; i++) {
    const struct activity *activity = &activities->items[i];
    if (activity->start_ns < start_ns || activity->end_ns > end_ns)
      continue;
    if (strncmp(activity->name, "EagerLocalExecute: ", strlen("EagerLocalExecute: ")) == 0)
      call = activity;
    bool is_called = step_of(activity, "SessionRun", &step) ||
                     (step_of(activity, "FunctionRun", &step) && call != NULL && call->thread == activity->thread &&
                      call->end_ns >= activity->end_ns);
    if (is_called && (first == NULL || activity->start_ns < first->start_ns))
      first = activity;
  }
  return first;
}

// Steps begun within its steps are the call's own, too.
static void find_steps(const struct activities *activities, const size_t *around, uint64_t start_ns, uint64_t end_ns,
                       struct steps *steps)
{
  const struct activity *first = first_step(activities, start_ns, end_ns);
  int64_t step;
  if (first == NULL)
    return;
  (void)starts_step(first, &step);
  steps->own[steps->count++] = step;
  for (size_t before = 0; before != steps->count;) {
    before = steps->count;
    for (size_t i = 0; i < activities->count && steps->count < STEPS_MAXIMUM; i++) {
      int64_t outer;
      if (around[i] != SIZE_MAX && starts_step(&activities->items[i], &step) && !is_own(steps, step) &&
          step_of(&activities->items[around[i]], "ExecutorState::Process", &outer) && is_own(steps, outer))
        steps->own[steps->count++] = step;
    }
  }
}

// Whether a thread computes steps of others: then what has nothing around it there may be of theirs.
static void find_shared(const struct activities *activities, const struct steps *steps, bool *is_shared)
{
  int64_t step;
  for (size_t i = 0; i < activities->count; i++) {
    const struct activity *activity = &activities->items[i];
    bool is_step = step_of(activity, "ExecutorState::Process", &step) || starts_step(activity, &step);
    if ((is_step && !is_own(steps, step)) || strncmp(activity->name, "Iterator::", strlen("Iterator::")) == 0)
      is_shared[activity->thread] = true;
  }
}

// The last of a step's activities may not have ended when the step had: its operations have none around them.
static bool belongs(const struct activities *activities, const size_t *around, const bool *is_shared, size_t number,
                    uint64_t start_ns, uint64_t end_ns, const struct steps *steps)
{
  const struct activity *activity = &activities->items[number];
  int64_t step;
  if (around[number] != SIZE_MAX)
    return step_of(&activities->items[around[number]], "ExecutorState::Process", &step) && is_own(steps, step);
  return !is_shared[activity->thread] && activity->start_ns >= start_ns && activity->end_ns <= end_ns;
}

struct placed {
  struct operation operation;
  size_t thread, number;
};

SORTED_BY(compare_placed, struct placed, RISING(operation.start_ns) ?: FALLING(operation.end_ns) ?: RISING(number))

// The latest before it, on its thread, that it lies within. Few are open at a time.
static void find_parents(struct placed *placed, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    placed[i].operation.parent = SIZE_MAX;
    for (size_t k = i; k > 0 && i - k < 64; k--) {
      const struct placed *outer = &placed[k - 1];
      if (outer->thread != placed[i].thread)
        continue;
      if (outer->operation.end_ns >= placed[i].operation.end_ns)
        placed[i].operation.parent = k - 1;
      else if (outer->operation.parent != SIZE_MAX &&
               placed[outer->operation.parent].operation.end_ns >= placed[i].operation.end_ns)
        placed[i].operation.parent = outer->operation.parent;
      break;
    }
  }
}

// "MemoryAllocation#allocator_name=cpu,bytes_reserved=0,requested_bytes=4096,…#". oneDNN's allocator announces large blocks
// alone: they are counted with its others (allocations.h).
static int64_t allocated(const struct activity *activity)
{
  static const char begins[] = "MemoryAllocation#allocator_name=", key[] = ",requested_bytes=", counted[] = "mklcpu,";
  const char *name = activity->name + sizeof begins - 1;
  bool is_one =
      strncmp(activity->name, begins, sizeof begins - 1) == 0 && strncmp(name, counted, sizeof counted - 1) != 0;
  const char *at = is_one ? strstr(name, key) : NULL;
  int64_t bytes = at != NULL ? strtoll(at + sizeof key - 1, NULL, 10) : 0;
  return bytes > 0 ? bytes : 0;
}

// To the innermost operation of the thread around it. Those placed so far are by thread and start.
static void add_allocation(struct placed *placed, size_t count, const struct activity *activity, int64_t bytes)
{
  for (size_t k = count; k > 0 && count - k < 64 && placed[k - 1].thread == activity->thread; k--) {
    struct operation *around = &placed[k - 1].operation;
    if (around->end_ns < activity->end_ns)
      continue;
    if (__builtin_add_overflow(around->alloc_bytes, bytes, &around->alloc_bytes))
      around->alloc_bytes = INT64_MAX;
    return;
  }
}

static bool is_iterator(const struct placed *placed)
{
  return strncmp(placed->operation.type, "IteratorGetNext", strlen("IteratorGetNext")) == 0;
}

struct wait {
  const struct activity *compute;
  uint64_t from_ns;
  size_t at; // of its operation; SIZE_MAX: none
};

SORTED_BY(compare_waits, struct wait, RISING(compute->start_ns) ?: RISING(compute->thread))

// "IteratorGetNextOp::DoCompute" of "IteratorGetNext", not of "IteratorGetNextSync".
static bool is_of(const struct activity *compute, const struct operation *operation)
{
  size_t length = strlen(operation->type);
  return strncmp(compute->name, operation->type, length) == 0 && strncmp(compute->name + length, "Op::", 4) == 0;
}

// "IteratorGetNextOp::DoCompute#id=7#" on a thread of the input pipeline is what the operation IteratorGetNext began there and
// returned from: the earliest that has none. From where all else that began meanwhile has ended, until its end, the step waits for its
// input.
static void find_operation(struct wait *wait, const struct placed *placed, size_t count, bool *is_taken)
{
  const struct activity *compute = wait->compute;
  size_t begun = PARTITION_POINT(i, 0, count, placed[i].operation.start_ns <= compute->start_ns);
  size_t first = begun > 64 ? begun - 64 : 0, at = first;
  while (at < begun && (is_taken[at] || !is_of(compute, &placed[at].operation)))
    at++;
  wait->at = at < begun ? at : SIZE_MAX;
  wait->from_ns = compute->start_ns;
  is_taken[at] |= at < begun;
  for (size_t i = first; at < begun && i < count && placed[i].operation.start_ns < compute->end_ns; i++)
    if (!is_iterator(&placed[i]) && placed[i].operation.end_ns > wait->from_ns)
      wait->from_ns = placed[i].operation.end_ns;
}

static bool add_waits(const struct activities *activities, const struct steps *steps, struct pool *pool,
                      struct placed *placed, size_t count)
{
  static const char *const names[] = {"IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute"};
  bool *is_taken = framework_pool_alloc(pool, count + 1, sizeof *is_taken);
  struct wait *waits = NULL;
  size_t wait_count = 0, capacity = 0;
  int64_t step;
  for (size_t i = 0; i < activities->count; i++) {
    const struct activity *activity = &activities->items[i];
    if ((!step_of(activity, names[0], &step) && !step_of(activity, names[1], &step)) || !is_own(steps, step))
      continue;
    waits = framework_pool_grow(pool, waits, wait_count, &capacity, 1, sizeof *waits);
    if (waits == NULL)
      return false;
    waits[wait_count++].compute = activity;
  }
  if (wait_count == 0 || is_taken == NULL)
    return is_taken != NULL;
  qsort(waits, wait_count, sizeof *waits, compare_waits);
  for (size_t i = 0; i < wait_count; i++)
    find_operation(&waits[i], placed, count, is_taken);
  for (const struct wait *wait = waits; wait < waits + wait_count; wait++) {
    if (wait->at == SIZE_MAX || wait->from_ns >= wait->compute->end_ns)
      continue;
    placed[wait->at].operation.start_ns = wait->from_ns;
    placed[wait->at].operation.end_ns = wait->compute->end_ns;
    placed[wait->at].operation.thread = activities->threads[wait->compute->thread];
    placed[wait->at].thread = wait->compute->thread;
  }
  qsort(placed, count, sizeof *placed, compare_placed);
  return true;
}

bool activities_operations(const struct activities *activities, uint64_t start_ns, uint64_t end_ns, struct pool *pool,
                           struct operation **ret_operations, size_t *ret_count)
{
  size_t *around = framework_pool_alloc(pool, activities->count + 1, sizeof *around);
  struct placed *placed = framework_pool_alloc(pool, activities->count + 1, sizeof *placed);
  struct operation *operations = framework_pool_alloc(pool, activities->count + 1, sizeof *operations);
  size_t thread_count = 1;
  for (size_t i = 0; i < activities->count; i++)
    thread_count = activities->items[i].thread >= thread_count ? activities->items[i].thread + 1 : thread_count;
  bool *is_shared = framework_pool_alloc(pool, thread_count, sizeof *is_shared);
  if (around == NULL || placed == NULL || operations == NULL || is_shared == NULL)
    return false;
  struct steps steps = {.count = 0};
  find_processes(activities, around);
  find_steps(activities, around, start_ns, end_ns, &steps);
  find_shared(activities, &steps, is_shared);
  size_t count = 0;
  for (size_t i = 0; i < activities->count && steps.count > 0; i++) {
    const struct activity *activity = &activities->items[i];
    const char *type = type_in(activity);
    int64_t bytes = allocated(activity);
    if (bytes > 0)
      add_allocation(placed, count, activity, bytes);
    if (type == NULL || !belongs(activities, around, is_shared, i, start_ns, end_ns, &steps))
      continue;
    char *name = framework_pool_text(pool, activity->name, (size_t)(type - 1 - activity->name));
    char *kept = framework_pool_text(pool, type, strcspn(type, "#"));
    if (name == NULL || kept == NULL)
      return false;
    const struct operation operation = {
        name, kept, activity->start_ns, activity->end_ns, activities->threads[activity->thread], SIZE_MAX, 0};
    placed[count++] = (struct placed){operation, activity->thread, i};
  }
  qsort(placed, count, sizeof *placed, compare_placed);
  if (!add_waits(activities, &steps, pool, placed, count))
    return false;
  find_parents(placed, count);
  for (size_t i = 0; i < count; i++)
    operations[i] = placed[i].operation;
  *ret_operations = operations;
  *ret_count = count;
  return true;
}
