// SPDX-License-Identifier: Apache-2.0
// Forward operators by the number that autograd gives their backward operator. A slot holds the last one of all numbers that
// share it: graphs of up to 65,536 operators are linked completely. Any thread; lock-free.
#include "frameworks/pytorch/tracer.h"

#include <sys/syscall.h>
#include <unistd.h>

#define SLOTS 65536u
#define THREADS 65536u

static struct slot {
  uint32_t version; // atomic; odd: being written
  uint32_t caller;
  uint64_t thread;
  int64_t sequence;
  const struct module_name *module;
} slots[SLOTS];
static uint32_t system_threads[THREADS]; // atomic; by PyTorch's number

static struct slot *slot_of(uint64_t thread, int64_t sequence)
{
  return &slots[((uint64_t)sequence + thread * 7919) % SLOTS];
}

void links_add(uint64_t thread, int64_t sequence, const struct forward_operator *forward)
{
  struct slot *slot = slot_of(thread, sequence);
  uint32_t version = __atomic_load_n(&slot->version, __ATOMIC_RELAXED);
  if (version % 2 != 0 ||
      !__atomic_compare_exchange_n(&slot->version, &version, version + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return; // another thread writes it: one of the two is forgotten
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_store_n(&slot->thread, thread, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->sequence, sequence, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->module, forward->module, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->caller, forward->caller, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->version, version + 2, __ATOMIC_RELEASE);
}

bool links_find(uint64_t thread, int64_t sequence, struct forward_operator *ret_forward)
{
  const struct slot *slot = slot_of(thread, sequence);
  uint32_t version = __atomic_load_n(&slot->version, __ATOMIC_ACQUIRE);
  bool is_it = version % 2 == 0 && version != 0 && __atomic_load_n(&slot->thread, __ATOMIC_RELAXED) == thread &&
               __atomic_load_n(&slot->sequence, __ATOMIC_RELAXED) == sequence;
  ret_forward->module = __atomic_load_n(&slot->module, __ATOMIC_RELAXED);
  ret_forward->caller = __atomic_load_n(&slot->caller, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return is_it && __atomic_load_n(&slot->version, __ATOMIC_RELAXED) == version;
}

void links_note_thread(uint64_t thread)
{
  if (thread < THREADS)
    __atomic_store_n(&system_threads[thread], (uint32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
}

uint32_t links_system_thread(uint64_t thread)
{
  return thread < THREADS ? __atomic_load_n(&system_threads[thread], __ATOMIC_RELAXED) : 0;
}
