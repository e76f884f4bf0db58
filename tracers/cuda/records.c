// SPDX-License-Identifier: Apache-2.0
// Records come in any order, from several buffers. They are stepped through by CUPTI's own function, which knows the sizes of
// its version; only as much of each is read as all versions have.
#include "tracers/cuda/records.h"

#include "tracers/cuda/calls.h"
#include "tracers/cuda/graphs.h"
#include "tracers/cuda/kernels.h"
#include "tracers/cuda/tracks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXTS_MOST 256u

struct record_counts record_counts;

// What all executions have.
struct execution {
  uint64_t start, end;
  uint32_t device, context, stream, correlation_id, graph_id;
  uint64_t graph_node_id;
};
struct found {
  uint64_t start;
  const void *record;
};

static uint32_t context_device[CONTEXTS_MOST]; // device + 1, as executions have it; waits name the context alone
static uint64_t allocated[CONTEXTS_MOST];      // by device, of its memory

static struct xsp_span emit(struct xsp_site *site, const struct execution *at, uint16_t track)
{
  struct xsp_interval interval = {.size = sizeof interval,
                                  .track = track,
                                  .kind = XSP_KIND_EXECUTION,
                                  .clock = XSP_CLOCK_REALTIME,
                                  .start = at->start,
                                  .end = at->end,
                                  .correlation_id = at->correlation_id,
                                  .call_path = at->graph_id != 0 ? graphs_path(at->graph_node_id) : 0};
  record_counts.executions++;
  if (at->context < CONTEXTS_MOST)
    context_device[at->context] = at->device + 1;
  struct xsp_span span = xsp_span_emit(site, &interval);
  if (at->graph_id != 0 && span.start != 0) {
    xsp_span_tag_int(&span, "graph_id", at->graph_id);
    xsp_span_tag_int(&span, "graph_node_id", (int64_t)at->graph_node_id);
  }
  return span;
}

static struct xsp_span emit_in_stream(struct xsp_site *site, const struct execution *at)
{
  return emit(site, at, stream_track(at->device, at->context, at->stream, at->start, at->end));
}

#define EXECUTION(record)                                                                                              \
  &(struct execution)                                                                                                  \
  {                                                                                                                    \
    (record)->start, (record)->end, (record)->device_id, (record)->context_id, (record)->stream_id,                    \
        (record)->correlation_id, (record)->graph_id, (record)->graph_node_id                                          \
  }

// ---- names of CUPTI's numbers, which no version has changed
static const char *const directions[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                         "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
static const char *const memories[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                       "Array",   "Managed",  "Device Static", "Managed Static"};
static const char *const waits[] = {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
#define COUNT(names) (sizeof(names) / sizeof(names)[0])
#define NAME_OF(names, number) ((number) < COUNT(names) ? (names)[number] : (names)[0])

static struct xsp_site *site_named(const char *category, const char *format, const char *first, const char *second,
                                   const char *third)
{
  char name[96];
  snprintf(name, sizeof name, format, first, second, third);
  return xsp_site_create(CUDA_TRACER, XSP_LEVEL_KERNEL, name, category);
}

static struct xsp_site *copy_site(uint8_t direction, uint8_t source, uint8_t destination)
{
  static struct xsp_site *sites[COUNT(directions)][COUNT(memories)][COUNT(memories)];
  struct xsp_site **site = &sites[direction < COUNT(directions) ? direction : 0][source < COUNT(memories) ? source : 0]
                                 [destination < COUNT(memories) ? destination : 0];
  if (*site == NULL) {
    *site = site_named("memcpy", "Memcpy %s (%s -> %s)", NAME_OF(directions, direction), NAME_OF(memories, source),
                       NAME_OF(memories, destination));
    if (*site != NULL)
      xsp_site_tag_string(*site, "copy_kind", NAME_OF(directions, direction));
  }
  return *site;
}

static void publish_copy(const struct cupti_memcpy *copy)
{
  struct xsp_span span =
      emit_in_stream(copy_site(copy->direction, copy->source_kind, copy->destination_kind), EXECUTION(copy));
  xsp_span_tag_int(&span, "bytes", (int64_t)copy->bytes);
}

static void publish_peer_copy(const struct cupti_memcpy_peer *copy)
{
  struct xsp_span span =
      emit_in_stream(copy_site(copy->direction, copy->source_kind, copy->destination_kind), EXECUTION(copy));
  xsp_span_tag_int(&span, "bytes", (int64_t)copy->bytes);
  xsp_span_tag_int(&span, "source_device", copy->source_device);
  xsp_span_tag_int(&span, "destination_device", copy->destination_device);
}

static void publish_set(const struct cupti_memset *set)
{
  static struct xsp_site *sites[COUNT(memories)];
  struct xsp_site **site = &sites[set->memory_kind < COUNT(memories) ? set->memory_kind : 0];
  if (*site == NULL)
    *site = site_named("memset", "Memset (%s)", NAME_OF(memories, set->memory_kind), "", "");
  struct xsp_span span = emit_in_stream(*site, EXECUTION(set));
  xsp_span_tag_int(&span, "bytes", (int64_t)set->bytes);
}

static void publish_wait(const struct cupti_synchronization *wait)
{
  static struct xsp_site *sites[COUNT(waits)];
  struct xsp_site **site = &sites[wait->type < COUNT(waits) ? wait->type : 0];
  if (*site == NULL)
    *site = site_named("sync", "%s", NAME_OF(waits, wait->type), "", "");
  uint32_t device = wait->context_id < CONTEXTS_MOST && context_device[wait->context_id] != 0
                        ? context_device[wait->context_id] - 1
                        : 0;
  struct execution at = {.start = wait->start,
                         .end = wait->end,
                         .device = device,
                         .context = wait->context_id,
                         .stream = wait->stream_id,
                         .correlation_id = wait->correlation_id};
  emit(*site, &at, wait_track(at.device, at.context, at.stream, at.start, at.end));
}

static void publish_memory(const struct cupti_memory *memory)
{
  XSP_SITE_FULL(allocation, XSP_LEVEL_LIBRARY, "allocate", "memory", CUDA_TRACER);
  XSP_SITE_FULL(release, XSP_LEVEL_LIBRARY, "free", "memory", CUDA_TRACER);
  bool is_release = memory->operation == 2;
  struct xsp_interval interval = {.size = sizeof interval,
                                  .track = allocation_track(memory->device_id),
                                  .clock = XSP_CLOCK_REALTIME,
                                  .start = memory->timestamp,
                                  .end = memory->timestamp};
  struct xsp_span span = xsp_span_emit(is_release ? &release : &allocation, &interval);
  xsp_span_tag_int(&span, "bytes", (int64_t)memory->bytes);
  xsp_span_tag_int(&span, "address", (int64_t)memory->address);
  xsp_span_tag_string(&span, "memory_kind", NAME_OF(memories, memory->memory_kind));
  if (memory->memory_kind == 3 && memory->device_id < CONTEXTS_MOST) {
    allocated[memory->device_id] += is_release ? -memory->bytes : memory->bytes;
    xsp_span_tag_int(&span, "total_bytes", (int64_t)allocated[memory->device_id]);
  }
}

static void publish_call(const struct cupti *cupti, const struct cupti_api *api)
{
  uint32_t domain = api->kind == CUPTI_DRIVER ? CUPTI_DOMAIN_DRIVER : CUPTI_DOMAIN_RUNTIME;
  const struct call *call = call_of(cupti, domain, api->cbid);
  if (call == NULL || api->end < api->start || api->start == 0) {
    record_counts.unreadable++;
    return;
  }
  struct xsp_interval interval = {.size = sizeof interval,
                                  .track = thread_track(api->thread_id),
                                  .kind = (uint8_t)call->kind,
                                  .clock = XSP_CLOCK_REALTIME,
                                  .start = api->start,
                                  .end = api->end,
                                  .correlation_id = api->correlation_id};
  struct xsp_span span = xsp_span_emit(call->site, &interval);
  if (api->return_value != 0)
    xsp_span_tag_int(&span, "error", api->return_value);
}

// ---- a batch
static size_t least_size(uint32_t kind)
{
  switch (kind) {
  case CUPTI_DRIVER:
  case CUPTI_RUNTIME:
    return sizeof(struct cupti_api);
  case CUPTI_KERNEL:
    return sizeof(struct cupti_kernel);
  case CUPTI_MEMCPY:
    return sizeof(struct cupti_memcpy);
  case CUPTI_MEMCPY_PEER:
    return sizeof(struct cupti_memcpy_peer);
  case CUPTI_MEMSET:
    return sizeof(struct cupti_memset);
  case CUPTI_SYNCHRONIZATION:
    return sizeof(struct cupti_synchronization);
  case CUPTI_MEMORY:
    return sizeof(struct cupti_memory);
  case CUPTI_OVERHEAD:
    return sizeof(struct cupti_overhead);
  default:
    return 0; // of no interest
  }
}

static void note_overhead(const struct cupti_overhead *overhead)
{
  uint32_t kind = overhead->overhead >> 16;
  if (overhead->end > overhead->start)
    record_counts.overhead_ns[kind < OVERHEADS ? kind : 0] += overhead->end - overhead->start;
}

// Publishes it, unless it is an execution, whose times come back. `record` has as many bytes as its kind needs.
static bool is_execution(const struct cupti *cupti, const void *record, uint64_t *ret_start, uint64_t *ret_end)
{
#define TIMES(structure)                                                                                               \
  *ret_start = ((const struct structure *)record)->start;                                                              \
  *ret_end = ((const struct structure *)record)->end;                                                                  \
  return true
  switch (*(const uint32_t *)record) {
  case CUPTI_KERNEL:
    TIMES(cupti_kernel);
  case CUPTI_MEMCPY:
    TIMES(cupti_memcpy);
  case CUPTI_MEMCPY_PEER:
    TIMES(cupti_memcpy_peer);
  case CUPTI_MEMSET:
    TIMES(cupti_memset);
  case CUPTI_SYNCHRONIZATION:
    TIMES(cupti_synchronization);
  case CUPTI_MEMORY:
    publish_memory(record);
    return false;
  case CUPTI_OVERHEAD:
    note_overhead(record);
    return false;
  default:
    publish_call(cupti, record);
    return false;
  }
#undef TIMES
}

static void publish_execution(const void *record)
{
  switch (*(const uint32_t *)record) {
  case CUPTI_KERNEL:
    emit_in_stream(kernel_site(record), EXECUTION((const struct cupti_kernel *)record));
    return;
  case CUPTI_MEMCPY:
    publish_copy(record);
    return;
  case CUPTI_MEMCPY_PEER:
    publish_peer_copy(record);
    return;
  case CUPTI_MEMSET:
    publish_set(record);
    return;
  default:
    publish_wait(record);
  }
}

static int by_start(const void *left, const void *right)
{
  uint64_t a = ((const struct found *)left)->start, b = ((const struct found *)right)->start;
  return (a > b) - (a < b);
}

// The executions of one buffer, for later; NULL in `found`: publishes them at once.
static size_t read_buffer(const struct cupti *cupti, const struct buffer *buffer, struct found *found)
{
  size_t count = 0;
  void *record = NULL;
  uint32_t result;
  while ((result = cupti->next_record(buffer->bytes, buffer->valid, &record)) == CUPTI_OK) {
    size_t place = (size_t)((uint8_t *)record - buffer->bytes), needed;
    if (place + sizeof(uint32_t) > buffer->valid || (needed = least_size(*(uint32_t *)record)) == 0)
      continue;
    uint64_t start = 0, end = 0;
    if (place + needed > buffer->valid) {
      record_counts.unreadable++;
      break;
    }
    if (!is_execution(cupti, record, &start, &end))
      continue;
    if (start == 0 || end == 0)
      record_counts.without_times++;
    else if (end < start)
      record_counts.unreadable++;
    else if (found == NULL)
      publish_execution(record);
    else
      found[count++] = (struct found){start, record};
  }
  record_counts.buffers_in_part += result != CUPTI_OK && result != CUPTI_NO_MORE;
  return count;
}

void records_publish(const struct cupti *cupti, struct buffer *const *buffers, uint32_t count)
{
  size_t most = 0, executions = 0;
  for (uint32_t i = 0; i < count; i++)
    most += buffers[i]->valid / sizeof(struct cupti_synchronization); // the shortest execution
  struct found *found = malloc((most + 1) * sizeof *found);
  for (uint32_t i = 0; i < count; i++)
    executions += read_buffer(cupti, buffers[i], found == NULL ? NULL : found + executions);
  if (found != NULL)
    qsort(found, executions, sizeof *found, by_start);
  for (size_t i = 0; i < executions; i++)
    publish_execution(found[i].record);
  free(found);
}
