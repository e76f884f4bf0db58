// SPDX-License-Identifier: Apache-2.0
// Lists threads; see threads.h. The hash is that of a pthread_t, which is the address of the thread's descriptor. No memory
// of another thread is read for it, since that thread may end: the kernel returns the address of each thread's list of
// robust mutexes, and the C library keeps that list in the descriptor, in every thread at the same place.
#include "frameworks/common/threads.h"

#include "base/scoped.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t mix(uint64_t value)
{
  return value ^ value >> 47;
}

// std::_Hash_bytes (MurmurHash64A) of eight bytes, with the seed that std::hash uses.
static uint64_t hash_of(uint64_t thread)
{
  const uint64_t factor = UINT64_C(0xc6a4a7935bd1e995), seed = UINT64_C(0xc70f6907);
  uint64_t hash = (seed ^ 8 * factor) ^ mix(thread * factor) * factor;
  return mix(mix(hash * factor) * factor);
}

// 0: there is no such thread, or the kernel refuses.
static uintptr_t robust_list_of(long id)
{
  void *list = NULL;
  size_t size = 0;
  return syscall(SYS_get_robust_list, id, &list, &size) == 0 ? (uintptr_t)list : 0;
}

struct thread_table framework_threads_list(struct pool *pool)
{
  struct known_thread *threads = NULL;
  size_t count = 0, capacity = 0;
  uintptr_t own = robust_list_of(0), place = own - (uintptr_t)pthread_self();
  DIR *tasks SCOPED(scoped_closedir) = own != 0 ? opendir("/proc/self/task") : NULL;
  if (tasks == NULL)
    return (struct thread_table){NULL, 0};
  for (const struct dirent *task; (task = readdir(tasks)) != NULL;) {
    long id = strtol(task->d_name, NULL, 10);
    uintptr_t list = id > 0 ? robust_list_of(id) : 0;
    if (list == 0)
      continue;
    struct known_thread *grown = framework_pool_grow(pool, threads, count, &capacity, 1, sizeof *grown);
    if (grown == NULL)
      break;
    threads = grown;
    threads[count++] = (struct known_thread){hash_of(list - place), (uint32_t)id};
  }
  return (struct thread_table){threads, count};
}

uint32_t framework_threads_find(const struct thread_table *table, uint64_t hash)
{
  for (size_t i = 0; i < table->count; i++)
    if (table->threads[i].hash == hash)
      return table->threads[i].id;
  return 0;
}
