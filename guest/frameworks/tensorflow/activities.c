// SPDX-License-Identifier: Apache-2.0
// Reads recorded activities; see activities.h. The first time in a process everything is read through the kernel, which
// reports unmapped addresses: a version with another layout then loses its layers and does not crash the program.
#include "frameworks/tensorflow/activities.h"

#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define THREADS_MAXIMUM 4096u
#define ACTIVITIES_MAXIMUM ((size_t)1 << 21)
#define NAME_MAXIMUM ((size_t)1 << 20)
#define NODE_BYTES 480u // ten events: what fits into the 512 bytes of a deque's node
#define STEPS_MAXIMUM 256u

struct cpp_string { // std::string
  const char *text;
  size_t length;
  char inside[16];
};
struct cpp_event {
  struct cpp_string name;
  int64_t start_ns, end_ns;
};
struct cpp_iterator {
  const struct cpp_event *current, *first, *last;
  const struct cpp_event *const *node;
};
struct cpp_thread {
  int64_t id;
  struct cpp_string name;
  const void *map;
  size_t map_size;
  struct cpp_iterator start, finish;
};
struct cpp_vector {
  const struct cpp_thread *begin, *end, *room;
};
_Static_assert(sizeof(struct cpp_event) == 48 && sizeof(struct cpp_thread) == 120, "as libstdc++ lays them out");

static bool is_trusted; // the layout was seen to be as expected

static bool fetch(void *to, const void *from, size_t length)
{
  if (from == NULL)
    return false;
  if (!is_trusted) {
    const struct iovec local = {to, length}, remote = {(void *)(uintptr_t)from, length};
    ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return got == (ssize_t)length; // refused, as sandboxes do: what cannot be tried is not read
  }
  memcpy(to, from, length);
  return true;
}

static bool add(const struct cpp_event *event, const struct cpp_event *at, size_t thread, struct pool *pool,
                struct activities *activities, size_t *capacity)
{
  bool is_inside = event->name.text == at->name.inside; // the address of the original's own room
  if (event->name.length > NAME_MAXIMUM || (is_inside && event->name.length >= sizeof event->name.inside) ||
      event->start_ns < 0 || activities->count == ACTIVITIES_MAXIMUM)
    return false;
  struct activity *grown = framework_pool_grow(pool, activities->items, activities->count, capacity, 1, sizeof *grown);
  if (grown == NULL)
    return false;
  activities->items = grown;
  char *name = framework_pool_alloc(pool, event->name.length + 1, 1);
  if (name == NULL || !fetch(name, event->name.text, event->name.length + 1) || name[event->name.length] != 0)
    return false;
  if (event->end_ns < event->start_ns) // begun and not ended, or ended and not begun
    return true;
  activities->items[activities->count++] =
      (struct activity){name, event->name.length, thread, (uint64_t)event->start_ns, (uint64_t)event->end_ns};
  return true;
}

static bool read_thread(const struct cpp_thread *thread, size_t number, struct pool *pool,
                        struct activities *activities, size_t *capacity)
{
  struct cpp_iterator at = thread->start;
  const struct cpp_event *finish = thread->finish.current;
  struct cpp_event event;
  for (size_t nodes = 0; at.current != finish;) {
    if ((uintptr_t)at.last - (uintptr_t)at.first != NODE_BYTES || at.current < at.first || at.current >= at.last ||
        !fetch(&event, at.current, sizeof event) || !add(&event, at.current, number, pool, activities, capacity))
      return false;
    if (++at.current != at.last)
      continue;
    const struct cpp_event *first;
    if (++nodes > ACTIVITIES_MAXIMUM || !fetch(&first, ++at.node, sizeof first))
      return false;
    at = (struct cpp_iterator){first, first, (const void *)((const char *)first + NODE_BYTES), at.node};
  }
  return true;
}

SORTED_BY(compare_activities, struct activity, RISING(thread) ?: RISING(start_ns) ?: FALLING(end_ns))

enum activities_found activities_read(const void *events, struct pool *pool, struct activities *ret_activities)
{
  struct activities found = {NULL, 0, NULL};
  const struct cpp_vector *vector = events;
  uintptr_t begin = (uintptr_t)vector->begin, end = (uintptr_t)vector->end;
  size_t count = end >= begin ? (end - begin) / sizeof(struct cpp_thread) : 0, capacity = 0;
  bool is_good = end >= begin && (end - begin) % sizeof(struct cpp_thread) == 0 && count <= THREADS_MAXIMUM;
  found.threads = is_good ? framework_pool_alloc(pool, count, sizeof *found.threads) : NULL;
  is_good = found.threads != NULL;
  for (size_t i = 0; i < count && is_good; i++) {
    struct cpp_thread thread;
    is_good = fetch(&thread, vector->begin + i, sizeof thread) && read_thread(&thread, i, pool, &found, &capacity);
    found.threads[i] = is_good ? (uint64_t)thread.id : 0;
  }
  bool is_full = found.count == ACTIVITIES_MAXIMUM;
  *ret_activities = is_good ? found : (struct activities){NULL, 0, NULL};
  if (!is_good)
    return is_trusted || is_full ? ACTIVITIES_LOST : ACTIVITIES_UNKNOWN;
  if (found.count > 0) {
    qsort(found.items, found.count, sizeof *found.items, compare_activities);
    is_trusted = true;
  }
  return ACTIVITIES_READ;
}

// ---- steps -----------------------------------------------------------------------------------------------------------

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

// How many operations begin until `ns`.
static size_t begun_until(const uint64_t *starts_ns, size_t count, uint64_t ns)
{
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    low = starts_ns[middle] <= ns ? middle + 1 : low;
    high = starts_ns[middle] <= ns ? high : middle;
  }
  return low;
}

// "IteratorGetNextOp::DoCompute#id=7#" on a thread of the input pipeline is what the operation IteratorGetNext began there and
// returned from. From where all else that began meanwhile has ended, until its end, the step waits for its input.
static void add_wait(const struct activities *activities, const struct activity *compute, const uint64_t *starts_ns,
                     struct placed *placed, size_t count)
{
  size_t begun = begun_until(starts_ns, count, compute->start_ns), first = begun > 64 ? begun - 64 : 0, at = begun;
  while (at > first && !is_iterator(&placed[at - 1]))
    at--;
  uint64_t from_ns = compute->start_ns;
  for (size_t i = first; at > first && i < count && starts_ns[i] < compute->end_ns; i++)
    if (!is_iterator(&placed[i]) && placed[i].operation.end_ns > from_ns)
      from_ns = placed[i].operation.end_ns;
  if (at == first || from_ns >= compute->end_ns)
    return;
  placed[at - 1].operation.start_ns = from_ns;
  placed[at - 1].operation.end_ns = compute->end_ns;
  placed[at - 1].operation.thread = activities->threads[compute->thread];
  placed[at - 1].thread = compute->thread;
}

static bool add_waits(const struct activities *activities, const struct steps *steps, struct pool *pool,
                      struct placed *placed, size_t count)
{
  static const char *const names[] = {"IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute"};
  uint64_t *starts_ns = framework_pool_alloc(pool, count + 1, sizeof *starts_ns);
  int64_t step;
  for (size_t i = 0; starts_ns != NULL && i < count; i++)
    starts_ns[i] = placed[i].operation.start_ns;
  for (size_t i = 0; starts_ns != NULL && i < activities->count; i++)
    if ((step_of(&activities->items[i], names[0], &step) || step_of(&activities->items[i], names[1], &step)) &&
        is_own(steps, step))
      add_wait(activities, &activities->items[i], starts_ns, placed, count);
  qsort(placed, count, sizeof *placed, compare_placed);
  return starts_ns != NULL;
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
