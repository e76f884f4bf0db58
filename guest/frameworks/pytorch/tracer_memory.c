// SPDX-License-Identifier: Apache-2.0
// Memory of tensors: c10 reports each allocation and release on the thread that makes it. Where the library level is on, blocks that
// live on are spans without length; those that are released soon are counted only, in tags of the model's spans. Else operators get
// the sums of what they allocate, for which c10 need not keep a table of its blocks.
#include "frameworks/pytorch/tracer.h"

#include "frameworks/common/guest.h"

#include <pthread.h>
#include <stdlib.h>
#include <xsp/monitor.h>

#define DEVICE_CPU 0
#define BLOCKS 1024u // of a thread: a power of two

struct block {         // an allocation that is not a span yet
  const void *address; // NULL: none
  uint64_t bytes, total_bytes, ticks;
  uint32_t caller, device; // caller: call path in which it happened; 0: not recorded
};
struct pytorch_blocks { // by a hash of the address: a block in another's place makes that one a span
  uint32_t forks;       // before which they were allocated
  struct block at[BLOCKS];
};

static bool records_any, records_each;
static struct xsp_site *allocate_site, *free_site;
static struct {                     // since the model span before, all threads
  uint64_t allocations, peak_bytes; // atomic; peak: of CPUs' memory
} seen;
static uint32_t forks; // that led to this process, since the tracer's start

// Blocks of before are the parent's, which records them; a child has copies of them.
static void start_clean(void)
{
  forks++;
  seen.allocations = seen.peak_bytes = 0;
}

enum pytorch_memory pytorch_tensors_start(void)
{
  const uint32_t levels = xsp_session_levels();
  records_any = (levels & XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY)) != 0;
  records_each = guest_option("each_allocation") != NULL;
  if (records_any && !records_each)
    (void)pthread_atfork(NULL, NULL, start_clean);
  if (records_any) {
    allocate_site = xsp_site_create(TRACER, XSP_LEVEL_LIBRARY, "allocate", "memory");
    free_site = xsp_site_create(TRACER, XSP_LEVEL_LIBRARY, "free", "memory");
  }
  return records_any || pytorch_monitor_wants(XSP_DOMAIN_MEMORY) ? PYTORCH_MEMORY_ALL
         : (levels & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0       ? PYTORCH_MEMORY_SUMS
                                                                 : PYTORCH_MEMORY_NONE;
}

static void add(uint64_t bytes)
{
  struct open_operator *opened = pytorch_operator_innermost(thread_get());
  if (opened != NULL)
    opened->allocated += bytes;
}

void pytorch_tensors_allocated(uint64_t bytes)
{
  if (!records_any && !compile_is_running(thread_get()))
    add(bytes);
}

// ---- spans -------------------------------------------------------------------------------------------------------------
static void publish(struct xsp_site *site, const struct block *block)
{
  const char *name = site == free_site ? "free" : "allocate";
  const struct xsp_interval interval = {.size = sizeof interval,
                                        .start = block->ticks,
                                        .end = block->ticks,
                                        .call_path = pytorch_operators_path_of(block->caller, name)};
  struct xsp_span span = xsp_span_emit(site, &interval);
  xsp_span_tag_int(&span, "block_bytes", (int64_t)block->bytes);
  xsp_span_tag_int(&span, "address", (int64_t)(uintptr_t)block->address);
  xsp_span_tag_int(&span, "total_bytes", (int64_t)block->total_bytes);
  if (block->device == DEVICE_CPU)
    return;
  xsp_span_tag_int(&span, "device_type", block->device % 256);
  xsp_span_tag_int(&span, "device_index", block->device / 256);
}

static struct block *place_of(struct pytorch_blocks *blocks, const void *address)
{
  return &blocks->at[((uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15) >> 48) % BLOCKS];
}

// The thread's; NULL: no memory, or none yet.
static struct pytorch_blocks *blocks_of(struct pytorch_thread *thread, bool may_make)
{
  if (thread == NULL || records_each)
    return NULL;
  if (thread->blocks == NULL && may_make)
    thread->blocks = calloc(1, sizeof *thread->blocks);
  if (thread->blocks != NULL && thread->blocks->forks != forks)
    *thread->blocks = (struct pytorch_blocks){.forks = forks};
  return thread->blocks;
}

static void take_allocation(struct pytorch_thread *thread, const struct block *block)
{
  struct pytorch_blocks *blocks = block->address != NULL ? blocks_of(thread, true) : NULL;
  if (blocks == NULL) {
    publish(allocate_site, block);
    return;
  }
  struct block *place = place_of(blocks, block->address);
  if (place->address != NULL)
    publish(allocate_site, place);
  *place = *block;
}

static void take_release(struct pytorch_thread *thread, const struct block *block)
{
  struct pytorch_blocks *blocks = blocks_of(thread, false);
  struct block *place = blocks != NULL ? place_of(blocks, block->address) : NULL;
  if (place != NULL && place->address != NULL && place->address == block->address && place->device == block->device)
    place->address = NULL;
  else
    publish(free_site, block);
}

void pytorch_tensors_end(struct pytorch_blocks *blocks)
{
  for (size_t i = 0; blocks != NULL && blocks->forks == forks && i < BLOCKS; i++) {
    if (blocks->at[i].address != NULL)
      publish(allocate_site, &blocks->at[i]);
    blocks->at[i].address = NULL;
  }
}

// ---- figures of a span of the model ----------------------------------------------------------------------------------------
static void count(uint64_t total_bytes, unsigned device)
{
  __atomic_add_fetch(&seen.allocations, 1, __ATOMIC_RELAXED);
  uint64_t peak = __atomic_load_n(&seen.peak_bytes, __ATOMIC_RELAXED);
  while (device == DEVICE_CPU && total_bytes > peak &&
         !__atomic_compare_exchange_n(&seen.peak_bytes, &peak, total_bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

void pytorch_tensors_tag(struct xsp_span *span)
{
  if (!records_any)
    return;
  const uint64_t peak_bytes = __atomic_exchange_n(&seen.peak_bytes, 0, __ATOMIC_RELAXED);
  xsp_span_tag_int(span, "allocations", (int64_t)__atomic_exchange_n(&seen.allocations, 0, __ATOMIC_RELAXED));
  if (peak_bytes > 0)
    xsp_span_tag_int(span, "total_bytes", (int64_t)peak_bytes);
}

void pytorch_tensors_reported(const void *address, int64_t bytes, uint64_t total_bytes, unsigned device)
{
  struct pytorch_thread *thread = thread_get();
  const bool is_release = bytes <= 0;
  if (compile_is_running(thread))
    return;
  if (!is_release && (records_any || device != DEVICE_CPU)) // else pytorch_tensors_allocated has seen it
    add((uint64_t)bytes);
  if (pytorch_monitor_wants(XSP_DOMAIN_MEMORY))
    pytorch_monitor_memory(address, bytes);
  if (!records_any)
    return;
  const struct block block = {.address = address,
                              .bytes = is_release ? (uint64_t)-bytes : (uint64_t)bytes,
                              .total_bytes = total_bytes,
                              .ticks = xsp_clock_ticks(),
                              .caller = pytorch_operators_caller(thread),
                              .device = device};
  if (!is_release)
    count(total_bytes, device);
  (is_release ? take_release : take_allocation)(thread, &block);
}
