// SPDX-License-Identifier: Apache-2.0
// The simulated device. When an operation is enqueued, its start and end are planned; one thread performs each at its end.
// So streams overlap, hosts run ahead, and results are there when they should be.
#include "device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IN_FLIGHT_MAXIMUM 1024 // then launches wait, as real ones do

const struct simulator_profiler *device_profiler;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t replay_lock = PTHREAD_MUTEX_INITIALIZER; // taken before `lock`
static pthread_cond_t has_changed = PTHREAD_COND_INITIALIZER, has_work = PTHREAD_COND_INITIALIZER;
static struct simulator_operation heap[IN_FLIGHT_MAXIMUM + 64]; // the earliest end first
static size_t in_heap;
static const struct simulator_operation *reported; // has ended, and the profiler gets it now
static uint64_t sequence, kernel_ns = 20000;

uint64_t simulator_now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void simulator_set_profiler(const struct simulator_profiler *profiler)
{
  __atomic_store_n(&device_profiler, profiler, __ATOMIC_RELEASE);
}

void device_lock(void)
{
  pthread_mutex_lock(&lock);
}

void device_unlock(void)
{
  pthread_mutex_unlock(&lock);
}

static bool is_before(const struct simulator_operation *a, const struct simulator_operation *b)
{
  return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->sequence < b->sequence;
}

static void swap(size_t a, size_t b)
{
  struct simulator_operation kept = heap[a];
  heap[a] = heap[b];
  heap[b] = kept;
}

static void heap_push(const struct simulator_operation *operation)
{
  size_t at = in_heap++;
  heap[at] = *operation;
  for (; at > 0 && is_before(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
    swap(at, (at - 1) / 2);
}

static struct simulator_operation heap_pop(void)
{
  struct simulator_operation first = heap[0];
  heap[0] = heap[--in_heap];
  for (size_t at = 0;;) {
    size_t least = at;
    for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < in_heap; child++)
      if (is_before(&heap[child], &heap[least]))
        least = child;
    if (least == at)
      return first;
    swap(at, least);
    at = least;
  }
}

static void perform(const struct simulator_operation *operation)
{
  if (operation->kind == SIMULATOR_MEMSET)
    memset(operation->to, operation->value, operation->bytes);
  else if (operation->kind == SIMULATOR_KERNEL)
    kernels_run(operation);
  else
    memmove(operation->to, operation->from, operation->bytes);
}

static void *run_device(void *unused)
{
  (void)unused;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (in_heap == 0)
      pthread_cond_wait(&has_work, &lock);
    uint64_t end_ns = heap[0].end_ns;
    if (simulator_now_ns() < end_ns) {
      struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000), .tv_nsec = (long)(end_ns % 1000000000)};
      pthread_cond_timedwait(&has_work, &lock, &end);
      continue;
    }
    struct simulator_operation operation = heap_pop();
    perform(&operation);
    reported = &operation;
    pthread_mutex_unlock(&lock);
    TELL(operation_ended, &operation);
    pthread_mutex_lock(&lock);
    reported = NULL;
    operation.stream->pending--;
    operation.stream->context->pending--;
    pthread_cond_broadcast(&has_changed);
  }
  return NULL;
}

bool device_start(void)
{
  const char *text = getenv("XSP_SIM_KERNEL_NS");
  if (text)
    kernel_ns = strtoull(text, NULL, 10);
  pthread_t thread;
  return pthread_create(&thread, NULL, run_device, NULL) == 0 && pthread_detach(thread) == 0;
}

uint64_t device_duration_ns(const struct simulator_operation *operation)
{
  if (operation->kind != SIMULATOR_KERNEL)
    return 1000 + operation->bytes / (operation->is_pinned ? 25 : 10); // 25 or 10 GB/s
  uint64_t own_ns = kernels_duration_ns(operation);
  return (own_ns ? own_ns : kernel_ns) * (operation->passes ? operation->passes : 1);
}

// Under the lock, as the next two. The default stream and blocking streams wait for one another.
uint64_t device_earliest_ns(CUstream stream)
{
  uint64_t earliest_ns = simulator_now_ns() + 2000;
  CUcontext context = stream->context;
  uint64_t others_ns = stream->is_non_blocking             ? 0
                       : stream == context->default_stream ? context->busy_until_ns
                                                           : context->default_stream->busy_until_ns;
  if (stream->busy_until_ns > earliest_ns)
    earliest_ns = stream->busy_until_ns;
  return others_ns > earliest_ns ? others_ns : earliest_ns;
}

void device_enqueue_at(CUstream stream, const struct simulator_operation *operation, uint64_t start_ns, uint64_t end_ns)
{
  while (in_heap >= IN_FLIGHT_MAXIMUM)
    pthread_cond_wait(&has_changed, &lock);
  struct simulator_operation planned = *operation;
  planned.stream = stream;
  planned.context = stream->context;
  planned.stream_id = stream->id;
  planned.context_id = stream->context->id;
  planned.device = stream->context->device;
  planned.start_ns = start_ns;
  planned.end_ns = end_ns;
  planned.sequence = ++sequence;
  heap_push(&planned);
  stream->pending++;
  stream->context->pending++;
  if (end_ns > stream->busy_until_ns)
    stream->busy_until_ns = end_ns;
  if (!stream->is_non_blocking && end_ns > stream->context->busy_until_ns)
    stream->context->busy_until_ns = end_ns;
  if (heap[0].sequence == sequence) // else the device wakes up early enough
    pthread_cond_signal(&has_work);
}

unsigned device_replay_begin(CUcontext context, const char *kernel)
{
  const struct simulator_profiler *profiler = __atomic_load_n(&device_profiler, __ATOMIC_ACQUIRE);
  unsigned passes = profiler ? profiler->replays(context, kernel) : 0;
  if (passes == 0)
    return 0;
  pthread_mutex_lock(&replay_lock);
  device_wait_context(context);
  return passes;
}

void device_replay_end(CUcontext context)
{
  device_wait_context(context);
  pthread_mutex_unlock(&replay_lock);
}

CUresult device_enqueue(CUstream stream, struct simulator_operation *operation)
{
  if (graph_has(stream))
    return graph_capture(stream, operation);
  bool is_kernel = operation->kind == SIMULATOR_KERNEL;
  operation->passes = is_kernel ? device_replay_begin(stream->context, operation->name) : 0;
  pthread_mutex_lock(&lock);
  uint64_t start_ns = device_earliest_ns(stream);
  device_enqueue_at(stream, operation, start_ns, start_ns + device_duration_ns(operation));
  pthread_mutex_unlock(&lock);
  if (operation->passes > 0)
    device_replay_end(stream->context);
  return CUDA_SUCCESS;
}

void device_wait_stream(CUstream stream)
{
  pthread_mutex_lock(&lock);
  while (stream->pending > 0)
    pthread_cond_wait(&has_changed, &lock);
  pthread_mutex_unlock(&lock);
}

void device_wait_context(CUcontext context)
{
  pthread_mutex_lock(&lock);
  while (context->pending > 0)
    pthread_cond_wait(&has_changed, &lock);
  pthread_mutex_unlock(&lock);
}

uint64_t simulator_settled_ns(uint32_t device)
{
  pthread_mutex_lock(&lock);
  uint64_t settled_ns = simulator_now_ns();
  if (reported && reported->device == device && reported->start_ns < settled_ns)
    settled_ns = reported->start_ns;
  for (size_t i = 0; i < in_heap; i++)
    if (heap[i].device == device && heap[i].start_ns < settled_ns)
      settled_ns = heap[i].start_ns;
  pthread_mutex_unlock(&lock);
  return settled_ns;
}

void simulator_finish(CUcontext context)
{
  device_wait_context(context);
}

void device_wait_until(uint64_t at_ns)
{
  struct timespec end = {.tv_sec = (time_t)(at_ns / 1000000000), .tv_nsec = (long)(at_ns % 1000000000)};
  while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &end, NULL) != 0)
    continue;
}
