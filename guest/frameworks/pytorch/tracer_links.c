// SPDX-License-Identifier: Apache-2.0
// Forward operators by the number that autograd gives their backward operator. A slot holds the last one of all numbers that
// share it: graphs of up to 65,536 operators are linked completely. Any thread; lock-free.
#include "base/hash.h"
#include "frameworks/pytorch/tracer.h"

#include <sys/syscall.h>
#include <unistd.h>

#define SLOTS 65536u
#define THREADS 65536u

static struct slot { // all atomic. Two threads may write one at a time: what is mixed of both does not match its check
  int64_t sequence;
  const struct module_name *module;
  uint32_t thread, caller;
  uint64_t check;
} slots[SLOTS];
static uint32_t system_threads[THREADS]; // atomic; by PyTorch's number

static struct slot *slot_of(uint32_t thread, int64_t sequence)
{
  return &slots[((uint64_t)sequence + thread * 7919u) % SLOTS];
}

static uint64_t check_of(uint32_t thread, int64_t sequence, const struct module_name *module, uint32_t caller)
{
  return hash_pair((uint64_t)sequence ^ (uintptr_t)module, (uint64_t)thread << 32 | caller,
                   UINT64_C(0xd1342543de82ef95));
}

void pytorch_links_add(uint32_t thread, int64_t sequence, const struct operator_place *forward)
{
  struct slot *slot = slot_of(thread, sequence);
  __atomic_store_n(&slot->sequence, sequence, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->module, forward->module, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->thread, thread, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->caller, forward->caller, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->check, check_of(thread, sequence, forward->module, forward->caller), __ATOMIC_RELEASE);
}

bool pytorch_links_find(uint32_t thread, int64_t sequence, struct operator_place *ret_forward)
{
  const struct slot *slot = slot_of(thread, sequence);
  uint64_t check = __atomic_load_n(&slot->check, __ATOMIC_ACQUIRE);
  *ret_forward = (struct operator_place){.module = __atomic_load_n(&slot->module, __ATOMIC_RELAXED),
                                         .caller = __atomic_load_n(&slot->caller, __ATOMIC_RELAXED),
                                         .forward_thread = pytorch_links_system_thread(thread)};
  return check == check_of(thread, sequence, ret_forward->module, ret_forward->caller);
}

void pytorch_links_note_thread(uint32_t thread)
{
  if (thread < THREADS)
    __atomic_store_n(&system_threads[thread], (uint32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
}

uint32_t pytorch_links_system_thread(uint32_t thread)
{
  return thread < THREADS ? __atomic_load_n(&system_threads[thread], __ATOMIC_RELAXED) : 0;
}
