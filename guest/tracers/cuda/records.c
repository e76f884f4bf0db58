// SPDX-License-Identifier: Apache-2.0
// Records come in any order, from several buffers. They are stepped through by CUPTI's own function, which knows the sizes of
// its version; only as much of each is read as all versions have.
#include "tracers/cuda/records.h"

#include "tracers/cuda/allocations.h"
#include "tracers/cuda/calls.h"
#include "tracers/cuda/graphs.h"
#include "tracers/cuda/memory_kinds.h"
#include "tracers/cuda/pm_sampling.h"
#include "tracers/cuda/subscriber.h"
#include "tracers/device/kernels.h"
#include "tracers/device/switched.h"
#include "tracers/device/tracks.h"

#include "base/sorted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/tracer.h>

#define CONTEXTS_MOST 256u
#define DEVICES_MOST 64u
#define NO_STREAM UINT32_MAX // as CUPTI writes it

struct cuda_record_counts cuda_record_counts;

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

static uint32_t device_threads[DEVICES_MOST];  // that the device holds at once; 0: not recorded
static uint32_t context_device[CONTEXTS_MOST]; // device + 1, as executions have it; waits name the context alone

static struct xsp_span emit(struct xsp_site *site, const struct execution *at, uint16_t track)
{
  struct xsp_interval interval = {.size = sizeof interval,
                                  .track = track,
                                  .kind = XSP_KIND_EXECUTION,
                                  .clock = XSP_CLOCK_REALTIME,
                                  .start = at->start,
                                  .end = at->end,
                                  .correlation_id = at->correlation_id,
                                  .flags = XSP_INTERVAL_EARLIER,
                                  .call_path = at->graph_id != 0 ? cuda_graphs_path(at->graph_node_id) : 0};
  if (at->context < CONTEXTS_MOST)
    context_device[at->context] = at->device + 1;
  bool is_on;
  if (!device_switched_find(at->correlation_id, &is_on)) // by no call that is recorded
    is_on = xsp_site_was_on(site, at->start);
  if (!is_on)
    return (struct xsp_span){0};
  struct xsp_span span = xsp_span_emit(site, &interval);
  if (at->graph_id != 0 && span.start != 0) {
    xsp_span_tag_int(&span, "graph", at->graph_id);
    xsp_span_tag_int(&span, "graph_node", (int64_t)at->graph_node_id);
  }
  return span;
}

static uint16_t track_of(const struct execution *at, const char *what)
{
  const char *queue = at->stream == NO_STREAM ? NULL : "stream";
  return device_track_at(&(struct device_place){at->device, at->context, at->stream, queue, what}, at->start, at->end);
}

static struct xsp_span emit_in_stream(struct xsp_site *site, const struct execution *at)
{
  return emit(site, at, track_of(at, ""));
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
static const char *const waits[] = {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
#define COUNT(names) (sizeof(names) / sizeof(names)[0])
#define PLACE_IN(names, number) ((number) < COUNT(names) ? (number) : 0)
#define NAME_OF(names, number) ((names)[PLACE_IN(names, number)])

static struct xsp_site *site_named(const char *category, const char *format, const char *first, const char *second,
                                   const char *third)
{
  char name[96];
  snprintf(name, sizeof name, format, first, second, third);
  return xsp_site_create(CUDA_TRACER, XSP_LEVEL_KERNEL, name, category);
}

static struct xsp_site *copy_site(uint8_t direction, uint8_t source, uint8_t destination)
{
  static struct xsp_site *sites[COUNT(directions)][MEMORY_KINDS][MEMORY_KINDS];
  struct xsp_site **site = &sites[PLACE_IN(directions, direction)][memory_place(source)][memory_place(destination)];
  if (*site == NULL) {
    *site = site_named("memcpy", "Memcpy %s (%s -> %s)", NAME_OF(directions, direction), cuda_name_of_memory(source),
                       cuda_name_of_memory(destination));
    if (*site != NULL)
      xsp_site_tag_string(*site, "copy_kind", NAME_OF(directions, direction));
  }
  return *site;
}

static void publish_kernel(const struct cupti *cupti, const void *record)
{
  const struct cupti_kernel *kernel = record;
  struct device_kernel_shape shape = {
      .registers = kernel->registers,
      .shared_bytes = (uint32_t)kernel->static_shared + (uint32_t)kernel->dynamic_shared,
      .local_bytes = kernel->local_per_thread,
      .is_cooperative = kernel->launch_type == 1 || kernel->launch_type == 2,
      .device_threads = kernel->device_id < DEVICES_MOST ? device_threads[kernel->device_id] : 0};
  for (int i = 0; i < 3; i++) {
    shape.grid[i] = (uint32_t)kernel->grid[i];
    shape.block[i] = (uint32_t)kernel->block[i];
    shape.cluster[i] = kernel->cluster[i];
  }
  struct xsp_span span = emit_in_stream(device_kernel_site(CUDA_TRACER, kernel->name, &shape), EXECUTION(kernel));
  if (span.start != 0 && pm_sampling_is_on())
    pm_sampling_tag(&span, kernel->device_id, kernel->start, kernel->end);
}

static void publish_copy(const struct cupti *cupti, const void *record)
{
  const struct cupti_memcpy *copy = record;
  struct xsp_span span =
      emit_in_stream(copy_site(copy->direction, copy->source_kind, copy->destination_kind), EXECUTION(copy));
  xsp_span_tag_int(&span, "bytes", (int64_t)copy->bytes);
}

static void publish_peer_copy(const struct cupti *cupti, const void *record)
{
  const struct cupti_memcpy_peer *copy = record;
  struct xsp_span span =
      emit_in_stream(copy_site(copy->direction, copy->source_kind, copy->destination_kind), EXECUTION(copy));
  xsp_span_tag_int(&span, "bytes", (int64_t)copy->bytes);
  xsp_span_tag_int(&span, "source_device", copy->source_device);
  xsp_span_tag_int(&span, "destination_device", copy->destination_device);
}

static void publish_set(const struct cupti *cupti, const void *record)
{
  const struct cupti_memset *set = record;
  static struct xsp_site *sites[MEMORY_KINDS];
  struct xsp_site **site = &sites[memory_place(set->memory_kind)];
  if (*site == NULL)
    *site = site_named("memset", "Memset (%s)", cuda_name_of_memory(set->memory_kind), "", "");
  struct xsp_span span = emit_in_stream(*site, EXECUTION(set));
  xsp_span_tag_int(&span, "bytes", (int64_t)set->bytes);
}

static void publish_wait(const struct cupti *cupti, const void *record)
{
  const struct cupti_synchronization *wait = record;
  static struct xsp_site *sites[COUNT(waits)];
  struct xsp_site **site = &sites[PLACE_IN(waits, wait->type)];
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
  emit(*site, &at, track_of(&at, " waits"));
}

static void publish_call(const struct cupti *cupti, const void *record)
{
  const struct cupti_api *api = record;
  uint32_t domain = api->kind == CUPTI_DRIVER ? CUPTI_DOMAIN_DRIVER : CUPTI_DOMAIN_RUNTIME;
  const struct cuda_call *call = cuda_call_of(cupti, domain, api->cbid);
  if (call == NULL || api->end < api->start || api->start == 0) {
    cuda_record_counts.unreadable++;
    return;
  }
  struct xsp_interval interval = {.size = sizeof interval,
                                  .track = device_thread_track(api->thread_id),
                                  .kind = (uint8_t)call->kind,
                                  .clock = XSP_CLOCK_REALTIME,
                                  .start = api->start,
                                  .end = api->end,
                                  .correlation_id = api->correlation_id,
                                  .flags = XSP_INTERVAL_EARLIER};
  bool is_on = xsp_site_was_on(call->site, api->start);
  device_switched_note(api->correlation_id, is_on);
  if (!is_on)
    return;
  struct xsp_span span = xsp_span_emit(call->site, &interval);
  if (api->return_value != 0)
    xsp_span_tag_int(&span, "error", api->return_value);
}

static void note_device(const struct cupti *cupti, const void *record)
{
  const struct cupti_device *device = record;
  if (device->id < DEVICES_MOST)
    device_threads[device->id] = device->multiprocessors * device->warps * device->warp_threads;
}

static void note_overhead(const struct cupti *cupti, const void *record)
{
  const struct cupti_overhead *overhead = record;
  uint32_t kind = overhead->overhead >> 16;
  if (overhead->end > overhead->start)
    cuda_record_counts.overhead_ns[kind < OVERHEADS ? kind : 0] += overhead->end - overhead->start;
}

// ---- a batch
#define EXECUTED(type) sizeof(struct type), offsetof(struct type, start)
#define ON_DEVICE(type) offsetof(struct type, device_id)
static const struct kind {
  size_t size;   // that is read; 0: of no interest
  size_t times;  // of executions: where start and end are, one after the other; 0: published as it is found
  size_t device; // of executions that use it: where its number is; 0: of others
  void (*publish)(const struct cupti *cupti, const void *record);
} kinds[] = {
    [CUPTI_MEMCPY] = {EXECUTED(cupti_memcpy), ON_DEVICE(cupti_memcpy), publish_copy},
    [CUPTI_MEMSET] = {EXECUTED(cupti_memset), ON_DEVICE(cupti_memset), publish_set},
    [CUPTI_DRIVER] = {sizeof(struct cupti_api), 0, 0, publish_call},
    [CUPTI_RUNTIME] = {sizeof(struct cupti_api), 0, 0, publish_call},
    [CUPTI_KERNEL] = {EXECUTED(cupti_kernel), ON_DEVICE(cupti_kernel), publish_kernel},
    [CUPTI_DEVICE] = {sizeof(struct cupti_device), 0, 0, note_device},
    [CUPTI_OVERHEAD] = {sizeof(struct cupti_overhead), 0, 0, note_overhead},
    [CUPTI_MEMCPY_PEER] = {EXECUTED(cupti_memcpy_peer), ON_DEVICE(cupti_memcpy_peer), publish_peer_copy},
    [CUPTI_SYNCHRONIZATION] = {EXECUTED(cupti_synchronization), 0, publish_wait},
    [CUPTI_MEMORY] = {sizeof(struct cupti_memory), 0, 0, cuda_allocations_keep},
    [CUPTI_MEMORY_POOL] = {sizeof(struct cupti_memory_pool), 0, 0, cuda_allocations_keep_pool},
};

static const struct kind *kind_of(const void *record)
{
  static const struct kind other;
  uint32_t number = *(const uint32_t *)record;
  return number < COUNT(kinds) ? &kinds[number] : &other;
}

SORTED_BY(by_start, struct found, RISING(start))

// The executions of one buffer, for later; NULL in `found`: publishes them at once.
static size_t read_buffer(const struct cupti *cupti, const struct buffer *buffer, struct found *found)
{
  size_t count = 0;
  void *record = NULL;
  uint32_t result;
  while ((result = subscriber_next_record(cupti, buffer->bytes, buffer->valid, &record)) == CUPTI_OK) {
    size_t place = (size_t)((uint8_t *)record - buffer->bytes);
    const struct kind *kind;
    if (place + sizeof(uint32_t) > buffer->valid || (kind = kind_of(record))->size == 0)
      continue;
    if (place + kind->size > buffer->valid) {
      cuda_record_counts.unreadable++;
      break;
    }
    const uint64_t *times = (const void *)((const uint8_t *)record + kind->times);
    if (kind->times != 0 && (times[0] == 0 || times[1] == 0))
      cuda_record_counts.without_times++;
    else if (kind->times != 0 && times[1] < times[0])
      cuda_record_counts.unreadable++;
    else if (kind->times == 0 || found == NULL)
      kind->publish(cupti, record);
    else
      found[count++] = (struct found){times[0], record};
  }
  cuda_record_counts.buffers_in_part += result != CUPTI_OK && result != CUPTI_NO_MORE;
  return count;
}

static uint64_t lost_so_far(void)
{
  return cuda_record_counts.without_times + cuda_record_counts.unreadable + cuda_record_counts.buffers_in_part;
}

static void note(const uint8_t *record)
{
  const struct kind *kind = kind_of(record);
  const uint64_t *times = (const void *)(record + kind->times);
  if (kind->device != 0)
    pm_sampling_note(*(const uint32_t *)(const void *)(record + kind->device), times[0], times[1]);
}

void cuda_records_publish(const struct cupti *cupti, struct buffer *const *buffers, uint32_t count)
{
  size_t most = 0, executions = 0;
  uint64_t lost = lost_so_far();
  for (uint32_t i = 0; i < count; i++)
    most += buffers[i]->valid / sizeof(struct cupti_synchronization); // the shortest execution
  struct found *found = malloc((most + 1) * sizeof *found);
  for (uint32_t i = 0; i < count; i++)
    executions += read_buffer(cupti, buffers[i], found == NULL ? NULL : found + executions);
  if (lost_so_far() != lost)
    pm_sampling_doubt();
  if (found != NULL)
    qsort(found, executions, sizeof *found, by_start);
  for (size_t i = 0; i < executions && pm_sampling_is_on(); i++)
    note(found[i].record);
  for (size_t i = 0; i < executions; i++)
    kind_of(found[i].record)->publish(cupti, found[i].record);
  free(found);
}
