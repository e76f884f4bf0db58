// SPDX-License-Identifier: Apache-2.0
// Reads recorded activities; see activities.h. The first time in a process everything is read through the kernel, which
// reports unmapped addresses: a version with another layout then loses its layers and does not crash the program.
#include "frameworks/tensorflow/activities.h"

#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define THREADS_MAXIMUM 4096u
#define ACTIVITIES_MAXIMUM ((size_t)1 << 21)
#define NAME_MAXIMUM ((size_t)1 << 20)
#define NODE_BYTES 480u // ten events: what fits into the 512 bytes of a deque's node

struct cpp_string { // std::string
  const char *text;
  size_t length;
  char inside[16];
};
struct cpp_event {
  struct cpp_string name;
  int64_t start_ns, end_ns;
};
struct cpp_iterator {
  const struct cpp_event *current, *first, *last;
  const struct cpp_event *const *node;
};
struct cpp_thread {
  int64_t id;
  struct cpp_string name;
  const void *map;
  size_t map_size;
  struct cpp_iterator start, finish;
};
struct cpp_vector {
  const struct cpp_thread *begin, *end, *room;
};
_Static_assert(sizeof(struct cpp_event) == 48 && sizeof(struct cpp_thread) == 120, "as libstdc++ lays them out");

static bool is_trusted; // the layout was seen to be as expected

static bool fetch(void *to, const void *from, size_t length)
{
  if (from == NULL)
    return false;
  if (!is_trusted) {
    const struct iovec local = {to, length}, remote = {(void *)(uintptr_t)from, length};
    ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return got == (ssize_t)length; // refused, as sandboxes do: what cannot be tried is not read
  }
  memcpy(to, from, length);
  return true;
}

static bool add(const struct cpp_event *event, const struct cpp_event *at, size_t thread, struct pool *pool,
                struct activities *activities, size_t *capacity)
{
  bool is_inside = event->name.text == at->name.inside; // the address of the original's own room
  if (event->name.length > NAME_MAXIMUM || (is_inside && event->name.length >= sizeof event->name.inside) ||
      event->start_ns < 0 || activities->count == ACTIVITIES_MAXIMUM)
    return false;
  struct activity *grown = framework_pool_grow(pool, activities->items, activities->count, capacity, 1, sizeof *grown);
  if (grown == NULL)
    return false;
  activities->items = grown;
  char *name = framework_pool_alloc(pool, event->name.length + 1, 1);
  if (name == NULL || !fetch(name, event->name.text, event->name.length + 1) || name[event->name.length] != 0)
    return false;
  if (event->end_ns < event->start_ns) // begun and not ended, or ended and not begun
    return true;
  activities->items[activities->count++] =
      (struct activity){name, event->name.length, thread, (uint64_t)event->start_ns, (uint64_t)event->end_ns};
  return true;
}

static bool read_thread(const struct cpp_thread *thread, size_t number, struct pool *pool,
                        struct activities *activities, size_t *capacity)
{
  struct cpp_iterator at = thread->start;
  const struct cpp_event *finish = thread->finish.current;
  struct cpp_event event;
  for (size_t nodes = 0; at.current != finish;) {
    if ((uintptr_t)at.last - (uintptr_t)at.first != NODE_BYTES || at.current < at.first || at.current >= at.last ||
        !fetch(&event, at.current, sizeof event) || !add(&event, at.current, number, pool, activities, capacity))
      return false;
    if (++at.current != at.last)
      continue;
    const struct cpp_event *first;
    if (++nodes > ACTIVITIES_MAXIMUM || !fetch(&first, ++at.node, sizeof first))
      return false;
    at = (struct cpp_iterator){first, first, (const void *)((const char *)first + NODE_BYTES), at.node};
  }
  return true;
}

SORTED_BY(compare_activities, struct activity, RISING(thread) ?: RISING(start_ns) ?: FALLING(end_ns))

enum activities_found activities_read(const void *events, struct pool *pool, struct activities *ret_activities)
{
  struct activities found = {NULL, 0, NULL};
  const struct cpp_vector *vector = events;
  uintptr_t begin = (uintptr_t)vector->begin, end = (uintptr_t)vector->end;
  size_t count = end >= begin ? (end - begin) / sizeof(struct cpp_thread) : 0, capacity = 0;
  bool is_good = end >= begin && (end - begin) % sizeof(struct cpp_thread) == 0 && count <= THREADS_MAXIMUM;
  found.threads = is_good ? framework_pool_alloc(pool, count, sizeof *found.threads) : NULL;
  is_good = found.threads != NULL;
  for (size_t i = 0; i < count && is_good; i++) {
    struct cpp_thread thread;
    is_good = fetch(&thread, vector->begin + i, sizeof thread) && read_thread(&thread, i, pool, &found, &capacity);
    found.threads[i] = is_good ? (uint64_t)thread.id : 0;
  }
  bool is_full = found.count == ACTIVITIES_MAXIMUM;
  *ret_activities = is_good ? found : (struct activities){NULL, 0, NULL};
  if (!is_good)
    return is_trusted || is_full ? ACTIVITIES_LOST : ACTIVITIES_UNKNOWN;
  if (found.count > 0) {
    qsort(found.items, found.count, sizeof *found.items, compare_activities);
    is_trusted = true;
  }
  return ACTIVITIES_READ;
}
