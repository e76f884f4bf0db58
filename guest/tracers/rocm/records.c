// SPDX-License-Identifier: Apache-2.0
// Records come in any order. Kinds are found by name, since their numbers changed; only as much of a record is read as its
// version is known to have.
#include "tracers/rocm/records.h"

#include "base/scoped.h"
#include "tracers/annotations/guest_table.h"
#include "tracers/device/kernels.h"
#include "tracers/device/switched.h"
#include "tracers/device/tracks.h"
#include "tracers/rocm/agents.h"
#include "tracers/rocm/clock.h"
#include "tracers/rocm/graphs.h"
#include "tracers/rocm/samples.h"
#include "tracers/rocm/symbols.h"

#include "base/sorted.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/tracer.h>

#define KINDS_MOST 64u // rocprofiler-sdk's
#define BYTES_MASK ((UINT64_C(1) << 48) - 1)

struct rocm_record_counts rocm_record_counts;

// Held by the tracer's thread and, in runs with metrics, by those of HSA.
static pthread_mutex_t publishing = PTHREAD_MUTEX_INITIALIZER;

struct found {
  uint64_t start;
  const struct rocm_record *record;
};

static void count_unreadable(void)
{
  __atomic_add_fetch(&rocm_record_counts.unreadable, 1, __ATOMIC_RELAXED);
}

static struct xsp_interval interval_of(uint16_t track, uint64_t start, uint64_t end)
{
  return (struct xsp_interval){.size = sizeof(struct xsp_interval),
                               .track = track,
                               .clock = XSP_CLOCK_MONOTONIC,
                               .flags = XSP_INTERVAL_EARLIER,
                               .start = rocm_clock_monotonic_ns(start),
                               .end = rocm_clock_monotonic_ns(end)};
}

static bool was_on(struct xsp_site *site, uint64_t start)
{
  return xsp_site_was_on(site, rocm_clock_realtime_ns(start));
}

static struct xsp_span execute(struct xsp_site *site, const struct device_place *place, uint64_t start, uint64_t end,
                               uint64_t correlation_id, uint64_t graph_node)
{
  bool is_on;
  if (!device_switched_find(correlation_id, &is_on)) // by no call that is recorded
    is_on = was_on(site, start);
  if (!is_on)
    return (struct xsp_span){0};
  struct xsp_interval interval = interval_of(device_track_at(place, start, end), start, end);
  interval.kind = XSP_KIND_EXECUTION;
  interval.correlation_id = correlation_id;
  interval.call_path = graph_node == 0 ? 0 : rocm_graphs_path(graph_node);
  struct xsp_span span = xsp_span_emit(site, &interval);
  if (graph_node != 0)
    xsp_span_tag_int(&span, "graph_node", (int64_t)graph_node);
  return span;
}

// ---- kinds
static void publish_call(const struct rocm *rocm, const struct rocm_record *record)
{
  const struct rocm_call *times = rocm_after_ids(rocm, record);
  const struct rocm_call_site *call = rocm_call_of(rocm, record->kind, record->operation);
  if (call == NULL || times->start == 0 || times->end < times->start) {
    count_unreadable();
    return;
  }
  bool is_on = was_on(call->site, times->start);
  device_switched_note(record->correlation_id, is_on);
  if (!is_on)
    return;
  struct xsp_interval interval = interval_of(device_thread_track((uint32_t)times->thread_id), times->start, times->end);
  interval.kind = (uint8_t)call->kind;
  interval.correlation_id = record->correlation_id;
  xsp_span_emit(call->site, &interval);
}

static struct xsp_span execute_kernel(const struct rocm_dispatch_info *info, uint64_t start, uint64_t end,
                                      uint64_t correlation_id)
{
  const struct rocm_kernel_symbol *symbol = rocm_symbol_of(info->kernel_id);
  struct device_kernel_shape shape = {.shared_bytes = info->group_bytes, .local_bytes = info->private_bytes};
  for (int i = 0; i < 3; i++) {
    shape.block[i] = info->workgroup[i];
    shape.grid[i] =
        info->workgroup[i] == 0 ? 0 : info->grid[i] / info->workgroup[i] + (info->grid[i] % info->workgroup[i] != 0);
  }
  if (symbol != NULL) {
    shape.registers = symbol->vector_registers;
    shape.scalar_registers = symbol->scalar_registers;
  }
  int32_t gpu = rocm_agent_gpu(info->agent);
  struct device_place place = {gpu < 0 ? 0 : (uint32_t)gpu, 0, rocm_agent_queue(gpu, info->queue), "queue", ""};
  const char *name = symbol == NULL ? NULL : symbol->name;
  return execute(device_kernel_site(ROCM_TRACER, name, &shape), &place, start, end, correlation_id,
                 rocm_graphs_node(correlation_id, info->kernel_id, name));
}

static void publish_kernel(const struct rocm *rocm, const struct rocm_record *record)
{
  const struct rocm_kernel *kernel = (const void *)record;
  if (!rocm_metrics_are_of(kernel->info.agent)) // else rocm_records_publish_measured has it
    execute_kernel(&kernel->info, kernel->start, kernel->end, record->correlation_id);
}

static void publish_copy(const struct rocm *rocm, const struct rocm_record *record)
{
  static const char *const directions[] = {"Unknown", "HtoH", "HtoD", "DtoH", "DtoD"};
  static struct xsp_site *sites[sizeof directions / sizeof directions[0]];
  const struct rocm_copy *copy = (const void *)record;
  int32_t from = rocm_agent_gpu(copy->from_agent), to = rocm_agent_gpu(copy->to_agent), gpu = to >= 0 ? to : from;
  size_t direction = record->operation < sizeof directions / sizeof directions[0] ? record->operation : 0;
  if (sites[direction] == NULL) {
    char name[32];
    snprintf(name, sizeof name, "Memcpy %s", directions[direction]);
    sites[direction] = xsp_site_create(ROCM_TRACER, XSP_LEVEL_KERNEL, name, "memcpy");
    if (sites[direction] != NULL)
      xsp_site_tag_string(sites[direction], "copy_kind", directions[direction]);
  }
  struct device_place place = {.device = gpu < 0 ? 0 : (uint32_t)gpu, .what = " copies"};
  struct xsp_span span = execute(sites[direction], &place, copy->start, copy->end, record->correlation_id, 0);
  xsp_span_tag_int(&span, "bytes", (int64_t)copy->bytes);
  if (from >= 0 && to >= 0 && from != to) {
    xsp_span_tag_int(&span, "source_device", from);
    xsp_span_tag_int(&span, "destination_device", to);
  }
}

// ---- memory: what a release gives back is known by its address alone
static struct guest_map blocks = {.capacity = UINT32_C(1) << 20}; // GPU + 1 << 48 | bytes; 0: released
static uint64_t allocated[AGENTS_GPUS_MOST];                      // bytes, by GPU

static void publish_allocation(const struct rocm *rocm, const struct rocm_record *record)
{
  XSP_SITE_FULL(allocate, XSP_LEVEL_LIBRARY, "allocate", "memory", ROCM_TRACER);
  XSP_SITE_FULL(release, XSP_LEVEL_LIBRARY, "free", "memory", ROCM_TRACER);
  const struct rocm_allocation *allocation = rocm_after_ids(rocm, record);
  const void *address = (const void *)(uintptr_t)allocation->address;
  bool is_release = record->operation == ROCM_FREE || record->operation == ROCM_VMEM_FREE;
  uint64_t block = is_release
                       ? (uint64_t)(uintptr_t)guest_map_get(&blocks, address)
                       : (uint64_t)(rocm_agent_gpu(allocation->agent) + 1) << 48 | (allocation->bytes & BYTES_MASK);
  guest_map_put(&blocks, address, is_release ? NULL : (void *)(uintptr_t)block);
  int32_t gpu = (int32_t)(block >> 48) - 1;
  int64_t bytes = (int64_t)(block & BYTES_MASK);
  struct device_place place = {.device = gpu < 0 ? 0 : (uint32_t)gpu, .what = gpu < 0 ? " host memory" : " memory"};
  struct xsp_interval interval = interval_of(device_track(&place), allocation->end, allocation->end);
  struct xsp_site *site = is_release ? &release : &allocate;
  struct xsp_span span = {0};
  if (was_on(site, allocation->end))
    span = xsp_span_emit(site, &interval);
  xsp_span_tag_int(&span, "address", (int64_t)allocation->address);
  if (block == 0)
    return;
  xsp_span_tag_int(&span, "bytes", bytes);
  xsp_span_tag_string(&span, "memory_kind", gpu < 0 ? "Host" : "Device");
  if (gpu >= 0) {
    allocated[gpu] += is_release ? -(uint64_t)bytes : (uint64_t)bytes;
    xsp_span_tag_int(&span, "total_bytes", (int64_t)allocated[gpu]);
  }
}

static void publish_scratch(const struct rocm *rocm, const struct rocm_record *record)
{
  XSP_SITE_FULL(allocate, XSP_LEVEL_LIBRARY, "allocate scratch", "memory", ROCM_TRACER);
  XSP_SITE_FULL(release, XSP_LEVEL_LIBRARY, "free scratch", "memory", ROCM_TRACER);
  XSP_SITE_FULL(reclaim, XSP_LEVEL_LIBRARY, "reclaim scratch", "memory", ROCM_TRACER);
  const struct rocm_scratch *scratch =
      rocm->version >= ROCM_VERSION_SCRATCH_IDS ? rocm_after_ids(rocm, record) : (const void *)&record->correlation_id;
  if (scratch->start == 0 || scratch->end < scratch->start) {
    count_unreadable();
    return;
  }
  int32_t gpu = rocm_agent_gpu(scratch->agent);
  struct device_place place = {.device = gpu < 0 ? 0 : (uint32_t)gpu, .what = " scratch"};
  struct xsp_interval interval =
      interval_of(device_track_at(&place, scratch->start, scratch->end), scratch->start, scratch->end);
  struct xsp_site *site = record->operation == ROCM_SCRATCH_ALLOCATE ? &allocate
                          : record->operation == ROCM_SCRATCH_FREE   ? &release
                                                                     : &reclaim;
  if (was_on(site, scratch->start))
    xsp_span_emit(site, &interval);
}

static void count_sample(const struct rocm *rocm, const struct rocm_record *record)
{
  rocm_samples_add((const void *)record);
}

// ---- all of them
static const struct kind {
  const char *name;
  size_t size;  // that is read, without a third id
  size_t times; // of executions: where start and end are, one after the other; 0: published as it is found
  enum { ALWAYS, HIP, HSA } calls;
  void (*publish)(const struct rocm *rocm, const struct rocm_record *record);
} kinds[] = {
    {"KERNEL_DISPATCH", sizeof(struct rocm_kernel), offsetof(struct rocm_kernel, start), ALWAYS, publish_kernel},
    {"MEMORY_COPY", sizeof(struct rocm_copy), offsetof(struct rocm_copy, start), ALWAYS, publish_copy},
    {"MEMORY_ALLOCATION", sizeof(struct rocm_record) + sizeof(struct rocm_allocation), 0, ALWAYS, publish_allocation},
    {"SCRATCH_MEMORY", sizeof(struct rocm_record) + sizeof(struct rocm_scratch), 0, ALWAYS, publish_scratch},
    {ROCM_HIP, sizeof(struct rocm_record) + sizeof(struct rocm_call), 0, HIP, publish_call},
    {"HSA_CORE_API", sizeof(struct rocm_record) + sizeof(struct rocm_call), 0, HSA, publish_call},
    {"HSA_AMD_EXT_API", sizeof(struct rocm_record) + sizeof(struct rocm_call), 0, HSA, publish_call},
    {"HSA_IMAGE_EXT_API", sizeof(struct rocm_record) + sizeof(struct rocm_call), 0, HSA, publish_call},
    {"HSA_FINALIZE_EXT_API", sizeof(struct rocm_record) + sizeof(struct rocm_call), 0, HSA, publish_call},
    {0},
};
static const struct kind sample_kind = {"", sizeof(struct rocm_sample) - sizeof(uint64_t), 0, ALWAYS, count_sample};
static const struct kind *kind_numbers[KINDS_MOST] = {
    [ROCM_SAMPLE_KIND] = &sample_kind}; // by rocprofiler-sdk's numbers; NULL: of no interest

void rocm_records_enable(const struct rocm *rocm, struct rocm_id context, struct rocm_id buffer, enum rocm_calls choice,
                         void (*say)(const char *line))
{
  const char *name = NULL;
  for (uint32_t number = 1; number < ROCM_SAMPLE_KIND && rocm->kind_name(number, &name, NULL) == ROCM_OK; number++) {
    const struct kind *kind = kinds;
    uint32_t *operations = NULL;
    size_t count = 0;
    while (kind->name != NULL && (name == NULL || strcmp(kind->name, name) != 0))
      kind++;
    if (kind->name == NULL ||
        (kind->calls != ALWAYS && !rocm_calls_wanted(rocm, number, kind->calls == HSA, choice, &operations, &count)))
      continue;
    int error = rocm->trace_buffered(context, number, operations, count, buffer);
    free(operations);
    kind_numbers[number] = error == ROCM_OK ? kind : NULL;
    if (error != ROCM_OK) {
      char line[128];
      snprintf(line, sizeof line, "rocprofiler-sdk does not record %s here: error %d", name, error);
      say(line);
    }
  }
}

static size_t size_of(const struct rocm *rocm, const struct kind *kind)
{
  return kind->size + (kind->times == 0 && rocm->version >= ROCM_VERSION_LONG_IDS ? sizeof(uint64_t) : 0);
}

size_t rocm_records_size(const struct rocm *rocm, const struct rocm_header *header)
{
  struct rocm_sample sample;
  if (header != NULL && header->category == ROCM_CATEGORY_SAMPLES)
    return rocm_samples_read(header, &sample) ? sizeof sample : 0;
  if (header == NULL || header->category != ROCM_CATEGORY_TRACING || header->payload == NULL ||
      header->kind >= ROCM_SAMPLE_KIND || kind_numbers[header->kind] == NULL)
    return 0;
  const struct rocm_record *record = header->payload;
  size_t size = size_of(rocm, kind_numbers[header->kind]);
  if (record->kind == header->kind && record->size >= size)
    return size;
  count_unreadable();
  return 0;
}

void rocm_records_copy(const struct rocm_header *header, uint8_t *bytes, size_t size)
{
  struct rocm_sample sample;
  bool is_sample = header->category == ROCM_CATEGORY_SAMPLES && rocm_samples_read(header, &sample);
  memcpy(bytes, is_sample ? (const void *)&sample : header->payload, size);
}

SORTED_BY(by_start, struct found, RISING(start))

// The executions of one buffer, for later; NULL in `found`: publishes them at once.
static size_t read_buffer(const struct rocm *rocm, const struct buffer *buffer, struct found *found)
{
  size_t count = 0, size = 0;
  for (size_t place = 0; place < buffer->valid; place += size) {
    const struct rocm_record *record = (const void *)(buffer->bytes + place);
    const struct kind *kind = kind_numbers[record->kind];
    const uint64_t *times = (const void *)((const uint8_t *)record + kind->times);
    size = size_of(rocm, kind);
    if (kind->times != 0 && (times[0] == 0 || times[1] == 0))
      __atomic_add_fetch(&rocm_record_counts.without_times, 1, __ATOMIC_RELAXED);
    else if (kind->times != 0 && times[1] < times[0])
      count_unreadable();
    else if (kind->times == 0 || found == NULL)
      kind->publish(rocm, record);
    else
      found[count++] = (struct found){times[0], record};
  }
  return count;
}

void rocm_records_publish_measured(const struct rocm_dispatch *dispatch, const struct rocm_metric_plan *plan,
                                   size_t group, const double *values)
{
  if (dispatch->start == 0 || dispatch->end < dispatch->start) {
    count_unreadable();
    return;
  }
  SCOPED_LOCK(&publishing);
  struct xsp_span span = execute_kernel(&dispatch->info, dispatch->start, dispatch->end, dispatch->correlation_id);
  for (size_t i = 0; i < plan->count; i++)
    if (plan->group_of[i] == group)
      device_kernel_tag_metric(&span, plan->metrics[i].tag, values[i]);
  if (plan->precisions > 0)
    xsp_span_tag_int(&span, "flops_precisions", plan->precisions);
}

void rocm_records_publish(const struct rocm *rocm, struct buffer *const *buffers, uint32_t count)
{
  size_t most = 0, executions = 0;
  for (uint32_t i = 0; i < count; i++)
    most += buffers[i]->valid / sizeof(struct rocm_copy); // the shortest execution
  struct found *found = malloc((most + 1) * sizeof *found);
  SCOPED_LOCK(&publishing);
  for (uint32_t i = 0; i < count; i++)
    executions += read_buffer(rocm, buffers[i], found == NULL ? NULL : found + executions);
  if (found != NULL)
    qsort(found, executions, sizeof *found, by_start);
  for (size_t i = 0; i < executions; i++)
    kind_numbers[found[i].record->kind]->publish(rocm, found[i].record);
  free(found);
}
