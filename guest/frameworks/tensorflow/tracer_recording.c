// SPDX-License-Identifier: Apache-2.0
// Recording single predictions; see tracer_recording.h. TensorFlow has one recorder in a process: while a prediction has it,
// others have no layers, and while the program profiles itself none has.
//
// Each prediction is read when it has ended, not several at once: unread recordings stay in the program's memory, and
// another prediction may never come. A program that starts its profiler during one gets the recorder.
#include "frameworks/tensorflow/tracer_recording.h"

#include "base/hash.h"
#include "base/sorted.h"
#include "frameworks/common/guest.h"
#include "frameworks/common/layer_publish.h"
#include "frameworks/common/threads.h"
#include "frameworks/tensorflow/activities.h"
#include "frameworks/tensorflow/allocations.h"
#include "frameworks/tensorflow/types.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_ALL 3 // operations that cost little, too
#define NODES 65536u
#define RECORDING_BYTES_MAXIMUM ((size_t)1 << 30)
#define VECTOR_WORDS 16u // far more than the three that it has: it is returned by address
#define TAKEN "the program uses TensorFlow's profiler itself: meanwhile layers are not recorded"
#define OVERLAP "predictions overlap: TensorFlow has one recorder for all threads, their layers are left out"

enum recorder {
  RECORDER_FREE,
  RECORDER_OURS,      // on for a prediction
  RECORDER_SWITCHING, // in transition, by a prediction or by the program
};

static const struct tensorflow_functions *tf;
static uint32_t is_busy;     // atomic: a prediction has the recorder, or is being published
static uint32_t open_calls;  // atomic: predictions that go on, recorded or not
static uint32_t has_overlap; // atomic: of the one that has the recorder
static bool is_broken;
static uint32_t reported_overlap, reported_taken, reported_lost, reported_unread; // atomic
static uint32_t recorder;                                                         // atomic: enum recorder
static __thread bool is_within;                                                   // this thread switches it for us
static bool is_announcing;    // of whom the recorder is: TensorFlow announces allocations for us
static uint64_t too_long[16]; // atomic; functions that compute more in one call than is kept: not recorded again
static struct layer_publisher *publisher;
static struct {
  uint64_t key;
  int64_t index;
} nodes[NODES]; // by function and name: a layer has the same number in each prediction

static void report_once(uint32_t *was_reported, const char *message)
{
  if (__atomic_exchange_n(was_reported, 1, __ATOMIC_RELAXED) == 0)
    guest_report(message);
}

static void stop_announcing(void)
{
  if (is_announcing) // else the program's wish
    tf->keep_allocations();
  is_announcing = false;
}

// Predictions of the parent's other threads do not go on here.
static void forked(void)
{
  stop_announcing(); // TensorFlow clears a flag, no more (2.21)
  recorder = RECORDER_FREE;
  is_busy = open_calls = has_overlap = 0;
  is_within = false;
  tensorflow_allocations_end();
}

void tensorflow_recording_start(const struct tensorflow_functions *functions)
{
  tf = functions;
  pthread_atfork(NULL, NULL, forked);
  is_broken = tf->record == NULL || tf->take == NULL || tf->drop == NULL;
  if (is_broken && (xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0)
    guest_report("this TensorFlow has no known recorder: its models are recorded, its layers are not");
}

bool tensorflow_recording_is_wanted(void)
{
  return (xsp_tracer_levels("tensorflow") & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0;
}

// False: it was in another state.
static bool claim(uint32_t state)
{
  return __atomic_compare_exchange_n(&recorder, &state, RECORDER_SWITCHING, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void release(uint32_t state)
{
  __atomic_store_n(&recorder, state, __ATOMIC_RELEASE);
}

static bool has_memory(void)
{
  return tf->announce_allocations != NULL && tf->keep_allocations != NULL && tf->announces_allocations != NULL;
}

// False: the program has the recorder.
static bool switch_on(void)
{
  if (!claim(RECORDER_FREE))
    return false;
  bool is_on = false;
  // Trying is not free: it resets the filter of a program that has the recorder.
  const int *level = tf->recorder_level;
  if (level == NULL || __atomic_load_n(level, __ATOMIC_ACQUIRE) == TENSORFLOW_RECORDER_OFF) {
    is_within = true;
    is_on = tf->record(LEVEL_ALL);
    is_within = false;
    is_announcing = is_on && has_memory() && !tf->announces_allocations();
    if (is_announcing)
      tf->announce_allocations();
    if (is_on)
      tensorflow_allocations_begin();
  }
  release(is_on ? RECORDER_OURS : RECORDER_FREE);
  return is_on;
}

// Claimed.
static void take(const void **events)
{
  is_within = true;
  (void)tf->take(events);
  is_within = false;
  tensorflow_allocations_end();
  stop_announcing();
}

// The program waits until a prediction has switched; predictions never wait.
void tensorflow_recording_program_begins(void)
{
  if (is_within)
    return;
  const void *events[VECTOR_WORDS] = {NULL};
  bool was_ours = false;
  while (!claim(RECORDER_FREE) && !(was_ours = claim(RECORDER_OURS)))
    sched_yield();
  if (was_ours) {
    take(events);
    tf->drop(events);
    report_once(&reported_taken, TAKEN);
  }
}

void tensorflow_recording_program_began(void)
{
  if (!is_within)
    release(RECORDER_FREE);
}

static bool is_too_long(uint64_t function)
{
  for (size_t i = 0; i < sizeof too_long / sizeof too_long[0]; i++)
    if (__atomic_load_n(&too_long[i], __ATOMIC_RELAXED) == function)
      return true;
  return false;
}

// By the prediction that has the recorder.
static void note_too_long(uint64_t function)
{
  static size_t count;
  __atomic_store_n(&too_long[count++ % (sizeof too_long / sizeof too_long[0])], function, __ATOMIC_RELAXED);
}

bool tensorflow_recording_begin(uint64_t function, bool with_layers)
{
  uint32_t others = __atomic_fetch_add(&open_calls, 1, __ATOMIC_ACQ_REL);
  if (others > 0)
    __atomic_store_n(&has_overlap, 1, __ATOMIC_RELEASE);
  if (!with_layers || !tensorflow_recording_is_wanted() || is_broken || is_too_long(function))
    return false;
  if (__atomic_exchange_n(&is_busy, 1, __ATOMIC_ACQ_REL) != 0) {
    report_once(&reported_overlap, OVERLAP);
    return false;
  }
  // Other open predictions would be partly in the recording, indistinguishable.
  __atomic_store_n(&has_overlap, 0, __ATOMIC_RELEASE);
  if (__atomic_load_n(&open_calls, __ATOMIC_ACQUIRE) > 1)
    __atomic_store_n(&has_overlap, 1, __ATOMIC_RELEASE);
  if (switch_on())
    return true;
  report_once(&reported_taken, TAKEN);
  __atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE);
  return false;
}

void tensorflow_recording_leave(void)
{
  __atomic_fetch_sub(&open_calls, 1, __ATOMIC_ACQ_REL);
}

static int64_t index_of(uint64_t function, const char *name)
{
  static int64_t count;
  uint64_t key = hash_text(name, strlen(name), function) | 1;
  for (size_t i = 0; i < 64; i++) {
    size_t slot = (key + i) % NODES;
    if (nodes[slot].key == key)
      return nodes[slot].index;
    if (nodes[slot].key != 0)
      continue;
    nodes[slot].key = key;
    nodes[slot].index = count++;
    return nodes[slot].index;
  }
  return -1;
}

SORTED_BY(by_name, struct operation *const, strcmp((*a)->name, (*b)->name))

// Names that are new get numbers in the order of the alphabet: that of time differs from process to process.
static bool number_names(const struct operation *operations, size_t count, uint64_t function, struct pool *pool)
{
  const struct operation **sorted = framework_pool_alloc(pool, count + 1, sizeof *sorted);
  for (size_t i = 0; i < count && sorted != NULL; i++)
    sorted[i] = &operations[i];
  if (sorted != NULL)
    qsort(sorted, count, sizeof *sorted, by_name);
  for (size_t i = 0; i < count && sorted != NULL; i++)
    (void)index_of(function, sorted[i]->name);
  return sorted != NULL;
}

static bool publish(const struct operation *operations, size_t count, uint64_t function, struct xsp_context model,
                    struct pool *pool)
{
  static const struct layer_publisher_options publishing = {"tensorflow", NULL, LAYER_TIMES_REALTIME};
  const struct thread_table threads = framework_threads_list(pool);
  struct layer_report *reports = framework_pool_alloc(pool, count + 1, sizeof *reports);
  if (publisher == NULL)
    publisher = framework_layer_publisher_create(&publishing);
  if (reports == NULL || publisher == NULL || !number_names(operations, count, function, pool))
    return false;
  for (size_t i = 0; i < count; i++)
    reports[i] = (struct layer_report){.name = operations[i].name,
                                       .type = operations[i].type,
                                       .category = tensorflow_category(operations[i].type),
                                       .index = index_of(function, operations[i].name),
                                       .alloc_bytes = has_memory() ? operations[i].alloc_bytes : -1,
                                       .start_ns = operations[i].start_ns,
                                       .duration_ns = operations[i].end_ns - operations[i].start_ns,
                                       .thread_id = framework_threads_find(&threads, operations[i].thread),
                                       .parent = operations[i].parent};
  tensorflow_allocations_add(reports, count, pool);
  return framework_layer_publish(publisher, reports, count, model, 0, NULL) == STATUS_OK;
}

// Publishes a recording. Returns the reason for losing it, or NULL.
static uint32_t *read_and_publish(const void *events, uint64_t function, struct xsp_context model, int64_t start_ns,
                                  int64_t end_ns)
{
  struct pool pool = {.maximum_bytes = RECORDING_BYTES_MAXIMUM};
  struct activities activities;
  struct operation *operations = NULL;
  size_t count = 0;
  if (model.id == 0 || __atomic_load_n(&has_overlap, __ATOMIC_ACQUIRE) != 0) {
    tf->drop((void *)(uintptr_t)events);
    return model.id != 0 ? &reported_overlap : NULL;
  }
  enum activities_found found = activities_read(events, &pool, &activities);
  if (found != ACTIVITIES_UNKNOWN)
    tf->drop((void *)(uintptr_t)events);
  else // leaked: what cannot be read cannot be freed
    is_broken = true;
  if (found == ACTIVITIES_LOST)
    note_too_long(function);
  bool is_done = found == ACTIVITIES_READ &&
                 activities_operations(&activities, (uint64_t)start_ns, (uint64_t)end_ns, &pool, &operations, &count) &&
                 publish(operations, count, function, model, &pool);
  framework_pool_done(&pool);
  return is_done ? NULL : found == ACTIVITIES_UNKNOWN ? &reported_unread : &reported_lost;
}

void tensorflow_recording_end(uint64_t function, struct xsp_context model, int64_t start_ns, int64_t end_ns)
{
  const void *events[VECTOR_WORDS] = {NULL};
  bool is_recorded = claim(RECORDER_OURS); // else the program has taken it meanwhile
  if (is_recorded) {
    take(events);
    release(RECORDER_FREE);
  }
  uint32_t *reason = is_recorded ? read_and_publish(events, function, model, start_ns, end_ns) : NULL;
  __atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE);
  if (reason == &reported_overlap)
    report_once(reason, OVERLAP);
  else if (reason == &reported_unread)
    report_once(reason, "the recording of this TensorFlow cannot be read: its models are recorded, its layers are not");
  else if (reason == &reported_lost)
    report_once(reason,
                "layers of a prediction were lost: too many for the memory. Its function is recorded without layers "
                "from now on");
}
