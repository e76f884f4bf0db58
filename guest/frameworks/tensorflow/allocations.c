// SPDX-License-Identifier: Apache-2.0
// Keeps allocations of one prediction; see allocations.h. Called by the program's threads while TensorFlow computes, and by
// the prediction's own thread before and after.
#include "frameworks/tensorflow/allocations.h"

#include "base/clock.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOCATIONS_MOST ((size_t)1 << 17)

struct allocation {
  uint64_t at_ns; // CLOCK_REALTIME
  int64_t bytes;
  uint32_t thread;
};
static struct allocation *allocations; // mapped at the first prediction, for the process's life
static size_t kept;                    // atomic; may be more than there is room for
static bool is_on;                     // atomic

void tensorflow_allocations_begin(void)
{
  if (allocations == NULL) {
    void *room =
        mmap(NULL, ALLOCATIONS_MOST * sizeof *allocations, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    allocations = room == MAP_FAILED ? NULL : room;
  }
  __atomic_store_n(&kept, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&is_on, true, __ATOMIC_RELEASE);
}

void tensorflow_allocations_end(void)
{
  __atomic_store_n(&is_on, false, __ATOMIC_RELEASE);
}

void tensorflow_allocations_note(size_t bytes)
{
  if (!__atomic_load_n(&is_on, __ATOMIC_ACQUIRE))
    return;
  size_t place = __atomic_fetch_add(&kept, 1, __ATOMIC_RELAXED);
  if (allocations != NULL && place < ALLOCATIONS_MOST)
    allocations[place] =
        (struct allocation){clock_now_ns(CLOCK_REALTIME), (int64_t)bytes, (uint32_t)syscall(SYS_gettid)};
}

// A layer, and the latest before it on its thread that had not ended when it began.
struct placed {
  struct layer_report *layer;
  const struct placed *around;
};

// By thread; within one, layers are in order of their start already.
SORTED_BY(compare_placed, struct placed, RISING(layer->thread_id) ?: RISING(layer))

// The first from `placed` outwards that has not ended by then.
static const struct placed *open_at(const struct placed *placed, uint64_t at_ns)
{
  while (placed != NULL && placed->layer->start_ns + placed->layer->duration_ns < at_ns)
    placed = placed->around;
  return placed;
}

// NULL: no memory.
static struct placed *place(struct layer_report *layers, size_t count, struct pool *pool)
{
  struct placed *placed = framework_pool_alloc(pool, count + 1, sizeof *placed);
  if (placed == NULL)
    return NULL;
  for (size_t i = 0; i < count; i++)
    placed[i].layer = &layers[i];
  qsort(placed, count, sizeof *placed, compare_placed);
  for (size_t i = 1; i < count; i++)
    if (placed[i - 1].layer->thread_id == placed[i].layer->thread_id)
      placed[i].around = open_at(&placed[i - 1], placed[i].layer->start_ns);
  return placed;
}

// How many are of earlier threads, or have begun on this one until then.
static size_t begun_until(const struct placed *placed, size_t count, uint32_t thread, uint64_t at_ns)
{
  return PARTITION_POINT(i, 0, count,
                         placed[i].layer->thread_id < thread ||
                             (placed[i].layer->thread_id == thread && placed[i].layer->start_ns <= at_ns));
}

static void add(const struct placed *placed, size_t count, const struct allocation *allocation)
{
  size_t begun = begun_until(placed, count, allocation->thread, allocation->at_ns);
  if (begun == 0 || placed[begun - 1].layer->thread_id != allocation->thread)
    return;
  const struct placed *innermost = open_at(&placed[begun - 1], allocation->at_ns);
  if (innermost == NULL || innermost->layer->alloc_bytes < 0)
    return;
  int64_t *bytes = &innermost->layer->alloc_bytes;
  if (__builtin_add_overflow(*bytes, allocation->bytes, bytes))
    *bytes = INT64_MAX;
}

void tensorflow_allocations_add(struct layer_report *layers, size_t count, struct pool *pool)
{
  size_t found = __atomic_load_n(&kept, __ATOMIC_RELAXED);
  const struct placed *placed = place(layers, count, pool);
  bool is_whole = placed != NULL && (allocations != NULL ? found <= ALLOCATIONS_MOST : found == 0);
  for (size_t i = 0; i < found && is_whole; i++)
    add(placed, count, &allocations[i]);
  for (size_t i = 0; i < count; i++)
    if (!is_whole || layers[i].thread_id == 0)
      layers[i].alloc_bytes = -1;
}
