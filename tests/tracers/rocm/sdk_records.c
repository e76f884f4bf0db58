// SPDX-License-Identifier: Apache-2.0
// Kinds and records as the versions of rocprofiler-sdk have them, written from its sources and not by the reader's structures where
// versions differ: 0.4 and 0.5 have kinds in the middle that 1.0 lacks, 1.0 has a third id.
#include "sdk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const kinds_04[] = {NULL,
                                       "HSA_CORE_API",
                                       "HSA_AMD_EXT_API",
                                       "HSA_IMAGE_EXT_API",
                                       "HSA_FINALIZE_EXT_API",
                                       "HIP_RUNTIME_API",
                                       "HIP_COMPILER_API",
                                       "MARKER_CORE_API",
                                       "MARKER_CONTROL_API",
                                       "MARKER_NAME_API",
                                       "MEMORY_COPY",
                                       "KERNEL_DISPATCH",
                                       "PAGE_MIGRATION",
                                       "SCRATCH_MEMORY",
                                       "CORRELATION_ID_RETIREMENT",
                                       "RCCL_API",
                                       "OMPT",
                                       "MEMORY_ALLOCATION",
                                       "RUNTIME_INITIALIZATION"};
static const char *const kinds_10[] = {NULL,
                                       "HSA_CORE_API",
                                       "HSA_AMD_EXT_API",
                                       "HSA_IMAGE_EXT_API",
                                       "HSA_FINALIZE_EXT_API",
                                       "HIP_RUNTIME_API",
                                       "HIP_COMPILER_API",
                                       "MARKER_CORE_API",
                                       "MARKER_CONTROL_API",
                                       "MARKER_NAME_API",
                                       "MEMORY_COPY",
                                       "KERNEL_DISPATCH",
                                       "SCRATCH_MEMORY",
                                       "CORRELATION_ID_RETIREMENT",
                                       "RCCL_API",
                                       "OMPT",
                                       "MEMORY_ALLOCATION",
                                       "RUNTIME_INITIALIZATION",
                                       "ROCDECODE_API",
                                       "ROCJPEG_API",
                                       "HIP_STREAM"};
static const char *const names[SDK_KINDS] = {"HIP_RUNTIME_API", "MEMORY_COPY",       "KERNEL_DISPATCH",
                                             "SCRATCH_MEMORY",  "MEMORY_ALLOCATION", "CORRELATION_ID_RETIREMENT"};
static bool traced[64];
static bool traced_calls[SIMULATED_CALL_COUNT];

const char *sdk_kind_name(uint32_t number)
{
  // How many each version has: 0.4 ends with CORRELATION_ID_RETIREMENT, 0.5 with RCCL_API.
  uint32_t end = sdk_version >= 10000 ? sizeof kinds_10 / sizeof kinds_10[0]
                 : sdk_version >= 600 ? sizeof kinds_04 / sizeof kinds_04[0]
                 : sdk_version >= 500 ? 16
                                      : 15;
  return number >= end ? NULL : sdk_version >= 10000 ? kinds_10[number] : kinds_04[number];
}

uint32_t sdk_kind_number(enum sdk_kind kind)
{
  for (uint32_t number = 1; sdk_kind_name(number) != NULL; number++)
    if (strcmp(sdk_kind_name(number), names[kind]) == 0)
      return number;
  return 0;
}

bool sdk_is_traced(enum sdk_kind kind, uint32_t operation)
{
  return traced[sdk_kind_number(kind)] && (kind != SDK_HIP || traced_calls[operation]);
}

void sdk_trace(uint32_t number, const uint32_t *operations, size_t operation_count)
{
  traced[number] = true;
  for (uint32_t i = 0; number == sdk_kind_number(SDK_HIP) && i < SIMULATED_CALL_COUNT; i++)
    traced_calls[i] = operation_count == 0;
  for (size_t i = 0; number == sdk_kind_number(SDK_HIP) && i < operation_count; i++)
    traced_calls[operations[i]] = true;
}

// A record as a sequence of numbers.
struct text {
  uint8_t bytes[256];
  size_t size;
};
static void put32(struct text *text, uint32_t number)
{
  memcpy(text->bytes + text->size, &number, sizeof number);
  text->size += sizeof number;
}
static void put64(struct text *text, uint64_t number)
{
  memcpy(text->bytes + text->size, &number, sizeof number);
  text->size += sizeof number;
}

static void put_head(struct text *text, enum sdk_kind kind, uint32_t operation)
{
  put64(text, 0); // the size, once it is known
  put32(text, sdk_kind_number(kind));
  put32(text, operation);
}
static void put_ids(struct text *text, uint64_t correlation_id, bool is_asynchronous)
{
  put64(text, correlation_id);
  put64(text, 0xe87e41a1); // the external one
  if (sdk_version >= 10000 && !is_asynchronous)
    put64(text, 0xa4ce5704); // the ancestor
}

static void finish(struct text *text, enum sdk_kind kind)
{
  uint64_t size = text->size;
  if (fault_now("short")) {
    size = 48; // not even times
    count(COUNT_UNREADABLE);
  }
  memcpy(text->bytes, &size, sizeof size);
  if (fault_now("others")) { // of a kind that nobody asked for, of another category, and without a payload
    sdk_put(ROCM_CATEGORY_TRACING, sdk_kind_number(SDK_OTHER), text->bytes, text->size);
    sdk_put(3, sdk_kind_number(kind), text->bytes, text->size);
    sdk_put(ROCM_CATEGORY_TRACING, 77, text->bytes, text->size);
  }
  sdk_put(ROCM_CATEGORY_TRACING, sdk_kind_number(kind), text->bytes, text->size);
}

void sdk_record_call(enum simulated_call call, uint64_t correlation_id, uint64_t start, uint64_t end)
{
  struct text text = {.size = 0};
  put_head(&text, SDK_HIP, call);
  put_ids(&text, correlation_id, false);
  put64(&text, start);
  put64(&text, end);
  put64(&text, (uint64_t)syscall(SYS_gettid));
  count(COUNT_CALLS);
  finish(&text, SDK_HIP);
}

static void put_times(struct text *text, const struct simulated_work *work)
{
  bool has_none = fault_now("zero-times"), is_reversed = !has_none && fault_now("reversed");
  if (has_none)
    count(COUNT_WITHOUT_TIMES);
  if (is_reversed)
    count(COUNT_UNREADABLE);
  put64(text, has_none ? 0 : is_reversed ? work->end_ns : work->start_ns);
  put64(text, has_none ? 0 : is_reversed ? work->start_ns : work->end_ns);
}

static void record_kernel(const struct simulated_work *work)
{
  struct text text = {.size = 0};
  put_head(&text, SDK_KERNEL, 2);
  put_ids(&text, work->correlation_id, true);
  put64(&text, work->thread_id);
  put_times(&text, work);
  put64(&text, 80); // of the dispatch's information
  put64(&text, CPU_AGENT + 1 + work->gpu);
  put64(&text, work->queue);
  put64(&text, work->kernel_id);
  put64(&text, 1);  // dispatch
  put32(&text, 16); // private bytes
  put32(&text, work->shared_bytes);
  for (int i = 0; i < 3; i++)
    put32(&text, work->block[i]);
  for (int i = 0; i < 3; i++)
    put32(&text, work->grid[i] * work->block[i]);
  for (int i = 0; i < 7; i++)
    put64(&text, 0); // reserved
  finish(&text, SDK_KERNEL);
}

static void record_copy(const struct simulated_work *work)
{
  bool is_in = work->direction == 2, is_out = work->direction == 3;
  struct text text = {.size = 0};
  put_head(&text, SDK_COPY, work->direction);
  put_ids(&text, work->correlation_id, true);
  put64(&text, work->thread_id);
  put_times(&text, work);
  put64(&text, is_out ? CPU_AGENT : CPU_AGENT + 1 + work->gpu);
  put64(&text, is_in ? CPU_AGENT : CPU_AGENT + 1 + work->gpu);
  put64(&text, work->bytes);
  for (int i = 0; sdk_version >= 10000 && i < 2; i++)
    put64(&text, 0); // addresses
  finish(&text, SDK_COPY);
}

void sdk_record_work(const struct simulated_work *work)
{
  count(work->is_copy ? COUNT_COPIES : COUNT_KERNELS);
  (work->is_copy ? record_copy : record_kernel)(work);
}

void sdk_record_scratch(uint32_t gpu, uint64_t start)
{
  struct text text = {.size = 0};
  put_head(&text, SDK_SCRATCH, 1);
  if (sdk_version >= 600)
    put_ids(&text, 0, false);
  put64(&text, CPU_AGENT + 1 + gpu);
  put64(&text, 0); // queue
  put64(&text, (uint64_t)syscall(SYS_gettid));
  put64(&text, start);
  put64(&text, sdk_now());
  if (sdk_version < 600)
    put_ids(&text, 0, false);
  put64(&text, 0); // flags
  finish(&text, SDK_SCRATCH);
}

void sdk_record_allocation(uint32_t agent, const void *address, size_t bytes, bool is_release, uint64_t correlation_id,
                           uint64_t start)
{
  struct text text = {.size = 0};
  put_head(&text, SDK_ALLOCATION, is_release ? 3 : 1);
  put_ids(&text, correlation_id, false);
  put64(&text, (uint64_t)syscall(SYS_gettid));
  put64(&text, start);
  put64(&text, sdk_now());
  put64(&text, is_release ? 0 : agent);
  put64(&text, (uint64_t)(uintptr_t)address);
  put64(&text, is_release ? 0 : bytes);
  finish(&text, SDK_ALLOCATION);
}
