// SPDX-License-Identifier: Apache-2.0
// Passes over layers and calls of pools by time, with a stack of open layers for each thread; see pools.h. Called by stored.c.
#include "correlate/pools.h"

#include "base/interner.h"
#include "base/map.h"
#include "base/vector.h"
#include "correlate/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const tracers[] = {"itt", "functions"};
#define TRACERS (sizeof tracers / sizeof tracers[0])

struct thread {
  uint32_t process;
  bool is_pool;                             // so far
  VECTOR(const struct event *) open_layers; // by start
};
struct event { // a layer begins, or a call that looks for its parent
  uint32_t process, thread, row;
  bool is_call;
  int64_t start_ns, end_ns;
};
struct pools {
  const struct pools_source *source;
  struct parents *parents;
  uint32_t tracer_ids[TRACERS]; // 0: the file does not have it
  uint32_t *tracer;             // by row
  struct map thread_of;         // by track: place in `threads` + 1
  VECTOR(struct thread) threads;
  VECTOR(struct event) events;
};

static void find_threads(struct pools *pools)
{
  struct interner processes = {0};
  for (size_t i = 0; i < pools->source->track_count; i++) {
    const struct store_track *track = &pools->source->tracks[i];
    if (track->thread_id == STORE_NONE || track->device_id != STORE_NONE || track->clock != NULL)
      continue;
    char name[320];
    int length = snprintf(name, sizeof name, "%" PRId64 " %.256s", track->process_id, track->host ? track->host : "");
    *map_at(&pools->thread_of, map_number((uint64_t)track->track_id), NULL) = pools->threads.count + 1;
    *vector_add(&pools->threads) =
        (struct thread){.process = interner_at(&processes, name, (size_t)length), .is_pool = true};
  }
  interner_done(&processes);
}

// The place of a row's thread in `threads`; UINT32_MAX: it is on none.
static uint32_t thread_of(const struct pools *pools, size_t row)
{
  const uint64_t *place = map_find(&pools->thread_of, map_number(pools->source->spans->track_id[row]));
  return place != NULL ? (uint32_t)*place - 1 : UINT32_MAX;
}

static bool is_announced(const struct pools *pools, size_t row)
{
  for (size_t i = 0; i < TRACERS; i++)
    if (pools->tracer_ids[i] != 0 && pools->tracer[row] == pools->tracer_ids[i])
      return true;
  return false;
}

static bool is_host(const struct store_spans *spans, size_t row, unsigned level)
{
  return spans->level[row] == level && spans->kind[row] != XSP_KIND_EXECUTION;
}

static void find_pools(struct pools *pools)
{
  for (size_t row = 0; row < pools->source->spans->count; row++) {
    const uint32_t thread = thread_of(pools, row);
    if (thread != UINT32_MAX && !is_host(pools->source->spans, row, XSP_LEVEL_LIBRARY))
      pools->threads.items[thread].is_pool = false;
  }
}

static bool looks_for_parent(const struct pools *pools, uint32_t thread, size_t row)
{
  return pools->threads.items[thread].is_pool && pools->parents->basis[row] == BASIS_NONE &&
         STORE_BASIS_OF_FLAGS(rows_flags(pools->source->spans, row)) < 0 && is_announced(pools, row);
}

static void collect_events(struct pools *pools, bool of_calls)
{
  const struct store_spans *spans = pools->source->spans;
  for (size_t row = 0; row < spans->count; row++) {
    const uint32_t thread = thread_of(pools, row);
    if (thread != UINT32_MAX &&
        (of_calls ? looks_for_parent(pools, thread, row) : is_host(spans, row, XSP_LEVEL_LAYER)))
      *vector_add(&pools->events) = (struct event){pools->threads.items[thread].process,
                                                   thread,
                                                   (uint32_t)row,
                                                   of_calls,
                                                   spans->start_ns[row],
                                                   rows_end(spans, row)};
  }
}

// By process and time; of those that start at once, layers first, then the longer ones.
static int compare_events(const void *left, const void *right)
{
  const struct event *a = left, *b = right;
  if (a->process != b->process)
    return a->process < b->process ? -1 : 1;
  if (a->start_ns != b->start_ns)
    return a->start_ns < b->start_ns ? -1 : 1;
  if (a->is_call != b->is_call)
    return a->is_call ? 1 : -1;
  if (a->end_ns != b->end_ns)
    return a->end_ns > b->end_ns ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

// The innermost open layer of a thread that lasts to the call's end; NULL: none. Forgets those that are over.
static const struct event *encloser(struct thread *thread, const struct event *call)
{
  while (thread->open_layers.count > 0 &&
         thread->open_layers.items[thread->open_layers.count - 1]->end_ns < call->start_ns)
    thread->open_layers.count--;
  for (size_t i = thread->open_layers.count; i-- > 0;)
    if (thread->open_layers.items[i]->end_ns >= call->end_ns)
      return thread->open_layers.items[i];
  return NULL;
}

static void settle(struct pools *pools, const struct event *call, const uint32_t *threads, size_t count)
{
  const struct event *found = NULL;
  size_t found_count = 0;
  for (size_t i = 0; i < count; i++) {
    const struct event *layer = encloser(&pools->threads.items[threads[i]], call);
    found = layer != NULL ? layer : found;
    found_count += layer != NULL;
  }
  if (found_count == 0)
    return;
  pools->parents->basis[call->row] = found_count == 1 ? BASIS_CONTAINMENT : BASIS_AMBIGUOUS;
  if (found_count == 1)
    pools->parents->row[call->row] = found->row;
}

static void sweep(struct pools *pools)
{
  VECTOR(uint32_t) threads = {0}; // of the process, that have had layers
  uint32_t process = UINT32_MAX;
  for (size_t i = 0; i < pools->events.count; i++) {
    const struct event *event = &pools->events.items[i];
    if (event->process != process)
      threads.count = 0;
    process = event->process;
    if (event->is_call) {
      settle(pools, event, threads.items, threads.count);
      continue;
    }
    struct thread *thread = &pools->threads.items[event->thread];
    bool is_known = false;
    for (size_t k = 0; k < threads.count && !is_known; k++)
      is_known = threads.items[k] == event->thread;
    if (!is_known)
      *vector_add(&threads) = event->thread;
    while (thread->open_layers.count > 0 &&
           thread->open_layers.items[thread->open_layers.count - 1]->end_ns < event->start_ns)
      thread->open_layers.count--;
    *vector_add(&thread->open_layers) = event;
  }
  vector_done(&threads);
}

enum status pools_find(const struct pools_source *source, struct parents *parents, struct error *err)
{
  struct pools pools = {.source = source, .parents = parents};
  struct store_spans names;
  struct arena arena = {0};
  bool has_any = false;
  for (size_t i = 0; i < TRACERS; i++)
    has_any |= store_find_string(source->store, tracers[i], strlen(tracers[i]), &pools.tracer_ids[i]);
  if (!has_any)
    return STATUS_OK;
  enum status status = store_load_spans(source->store, source->run_id, STORE_BIT(STORE_TRACER), &arena, &names, err);
  if (status == STATUS_OK) {
    pools.tracer = names.tracer;
    find_threads(&pools);
    find_pools(&pools);
    collect_events(&pools, true);
    if (pools.events.count > 0) {
      collect_events(&pools, false);
      qsort(pools.events.items, pools.events.count, sizeof *pools.events.items, compare_events);
      sweep(&pools);
    }
  }
  for (size_t i = 0; i < pools.threads.count; i++)
    vector_done(&pools.threads.items[i].open_layers);
  vector_done(&pools.threads);
  vector_done(&pools.events);
  map_done(&pools.thread_of);
  arena_done(&arena);
  return status;
}
