// SPDX-License-Identifier: Apache-2.0
// Passes over layers, their threads' calls and calls of pools by time, with a stack of what is open on each thread; see pools.h.
// Called by stored.c.
#include "correlate/pools.h"

#include "base/interner.h"
#include "base/map.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "correlate/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const tracers[] = {"itt", "functions"};
#define TRACERS (sizeof tracers / sizeof tracers[0])

struct thread {
  uint32_t process;
  bool is_pool;                      // so far
  VECTOR(const struct event *) open; // by start
};
struct event { // a layer begins or, of a name, a call on a thread with layers; or a call that looks for its parent
  uint32_t process, thread, row;
  uint32_t name; // string id; 0: a layer
  bool looks;
  int64_t start_ns, end_ns;
};
struct pools {
  const struct pools_source *source;
  struct parents *parents;
  uint32_t tracer_ids[TRACERS]; // 0: the file does not have it
  uint32_t *tracer, *name;      // by row
  struct map thread_of;         // by track: place in `threads` + 1
  VECTOR(struct thread) threads;
  VECTOR(struct event) events;
};

static void find_threads(struct pools *pools)
{
  struct interner processes SCOPED(interner_done) = {0};
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

static bool is_around(const struct pools *pools, uint32_t thread, size_t row)
{
  const struct store_spans *spans = pools->source->spans;
  return is_host(spans, row, XSP_LEVEL_LAYER) ||
         (!pools->threads.items[thread].is_pool && is_host(spans, row, XSP_LEVEL_LIBRARY) && is_announced(pools, row));
}

static void collect_events(struct pools *pools, bool looking)
{
  const struct store_spans *spans = pools->source->spans;
  for (size_t row = 0; row < spans->count; row++) {
    const uint32_t thread = thread_of(pools, row);
    if (thread != UINT32_MAX && (looking ? looks_for_parent(pools, thread, row) : is_around(pools, thread, row)))
      *vector_add(&pools->events) = (struct event){pools->threads.items[thread].process,
                                                   thread,
                                                   (uint32_t)row,
                                                   spans->level[row] == XSP_LEVEL_LAYER ? 0 : pools->name[row],
                                                   looking,
                                                   spans->start_ns[row],
                                                   rows_end(spans, row)};
  }
}

// By process and time; of those that start at once, what others look for first, then the longer ones.
SORTED_BY(compare_events, struct event,
          RISING(process) ?: RISING(start_ns) ?: RISING(looks) ?: FALLING(end_ns) ?: RISING(row))

static void forget_ended(struct thread *thread, int64_t before_ns)
{
  while (thread->open.count > 0 && thread->open.items[thread->open.count - 1]->end_ns < before_ns)
    thread->open.count--;
}

// The innermost open layer of a thread (`name` 0), or call of this name, that lasts to the call's end; NULL: none.
static const struct event *encloser(struct thread *thread, const struct event *call, uint32_t name)
{
  forget_ended(thread, call->start_ns);
  for (size_t i = thread->open.count; i-- > 0;)
    if (thread->open.items[i]->end_ns >= call->end_ns && thread->open.items[i]->name == name)
      return thread->open.items[i];
  return NULL;
}

static size_t find_around(struct pools *pools, const struct event *call, uint32_t name, const uint32_t *threads,
                          size_t count, const struct event **ret_found)
{
  size_t found_count = 0;
  for (size_t i = 0; i < count; i++) {
    const struct event *around = encloser(&pools->threads.items[threads[i]], call, name);
    *ret_found = around != NULL ? around : *ret_found;
    found_count += around != NULL;
  }
  return found_count;
}

static void settle(struct pools *pools, const struct event *call, const uint32_t *threads, size_t count)
{
  const struct event *found = NULL;
  size_t found_count = find_around(pools, call, call->name, threads, count, &found);
  if (found_count == 0)
    found_count = find_around(pools, call, 0, threads, count, &found);
  if (found_count == 0)
    return;
  pools->parents->basis[call->row] = found_count == 1 ? BASIS_CONTAINMENT : BASIS_AMBIGUOUS;
  if (found_count == 1)
    pools->parents->row[call->row] = found->row;
}

static void sweep(struct pools *pools)
{
  VECTOR(uint32_t) threads SCOPED(vector_end) = {0}; // of the process, that have had layers or calls around others
  uint32_t process = UINT32_MAX;
  for (size_t i = 0; i < pools->events.count; i++) {
    const struct event *event = &pools->events.items[i];
    if (event->process != process)
      threads.count = 0;
    process = event->process;
    if (event->looks) {
      settle(pools, event, threads.items, threads.count);
      continue;
    }
    struct thread *thread = &pools->threads.items[event->thread];
    bool is_known = false;
    for (size_t k = 0; k < threads.count && !is_known; k++)
      is_known = threads.items[k] == event->thread;
    if (!is_known)
      *vector_add(&threads) = event->thread;
    forget_ended(thread, event->start_ns);
    *vector_add(&thread->open) = event;
  }
}

enum status pools_find(const struct pools_source *source, struct parents *parents, struct error *err)
{
  struct pools pools = {.source = source, .parents = parents};
  struct store_spans names;
  struct arena arena SCOPED(arena_done) = {0};
  bool has_any = false;
  for (size_t i = 0; i < TRACERS; i++)
    has_any |= store_find_string(source->store, tracers[i], strlen(tracers[i]), &pools.tracer_ids[i]);
  if (!has_any)
    return STATUS_OK;
  const unsigned columns = STORE_BIT(STORE_TRACER) | STORE_BIT(STORE_NAME);
  enum status status = store_load_spans(source->store, source->run_id, columns, &arena, &names, err);
  if (status == STATUS_OK) {
    pools.tracer = names.tracer;
    pools.name = names.name;
    find_threads(&pools);
    find_pools(&pools);
    collect_events(&pools, true);
    if (pools.events.count > 0) {
      collect_events(&pools, false);
      vector_sort(&pools.events, compare_events);
      sweep(&pools);
    }
  }
  for (size_t i = 0; i < pools.threads.count; i++)
    vector_done(&pools.threads.items[i].open);
  vector_done(&pools.threads);
  vector_done(&pools.events);
  map_done(&pools.thread_of);
  return status;
}
