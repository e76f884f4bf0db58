// SPDX-License-Identifier: Apache-2.0
// Watches the folder for complete files: a .xsp that gets its name while it has no journal, and a journal that goes away. Small
// files are left to the first question, which takes a moment only.
#include "serve/pages/prepare.h"

#include "base/memory.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST_BYTES (256 << 10)

struct prepare {
  struct page_cache *cache;
  int folder, events, stop; // `stop` becomes readable at the end
  pthread_t thread;
  bool has_thread;
};

// The name of the .xsp that an event is about. False: of none.
static bool name_of(const char *changed, char *name, size_t size)
{
  static const char *const endings[] = {".xsp", ".journal"};
  size_t length = strlen(changed);
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    size_t ending = strlen(endings[i]);
    if (length > ending && strcmp(changed + length - ending, endings[i]) == 0)
      return snprintf(name, size, "%.*s.xsp", (int)(length - ending), changed) < (int)size && route_is_file_name(name);
  }
  return false;
}

static bool is_complete(const struct prepare *prepare, const char *name)
{
  char journal[NAME_MAX + 16];
  struct stat facts;
  snprintf(journal, sizeof journal, "%.*s.journal", (int)(strlen(name) - strlen(".xsp")), name);
  return fstatat(prepare->folder, journal, &facts, AT_SYMLINK_NOFOLLOW) != 0 &&
         fstatat(prepare->folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && facts.st_size >= LEAST_BYTES;
}

static void *run(void *context)
{
  struct prepare *prepare = context;
  _Alignas(struct inotify_event) char events[16384];
  struct pollfd waits[] = {{.fd = prepare->stop, .events = POLLIN}, {.fd = prepare->events, .events = POLLIN}};
  while (poll(waits, 2, -1) >= 0 && waits[0].revents == 0) {
    ssize_t bytes = read(prepare->events, events, sizeof events);
    for (ssize_t at = 0; at < bytes;) {
      const struct inotify_event *event = (const void *)(events + at);
      char name[NAME_MAX + 1];
      at += (ssize_t)(sizeof *event + event->len);
      if (event->len > 0 && name_of(event->name, name, sizeof name) && is_complete(prepare, name))
        page_cache_prepare(prepare->cache, name, prepare->stop);
    }
  }
  return NULL;
}

enum status prepare_start(struct page_cache *cache, const char *path, int folder, struct prepare **ret_prepare,
                          struct error *err)
{
  struct prepare *prepare = memory_new(1, sizeof *prepare);
  *prepare = (struct prepare){.cache = cache, .folder = folder};
  prepare->events = inotify_init1(IN_CLOEXEC);
  prepare->stop = eventfd(0, EFD_CLOEXEC);
  prepare->has_thread = prepare->events >= 0 && prepare->stop >= 0 &&
                        inotify_add_watch(prepare->events, path, IN_MOVED_TO | IN_DELETE) >= 0 &&
                        pthread_create(&prepare->thread, NULL, run, prepare) == 0;
  *ret_prepare = prepare;
  if (prepare->has_thread)
    return STATUS_OK;
  enum status status = error_set_errno(err, STATUS_SYSTEM, "cannot watch the folder", path, NULL);
  prepare_stop(prepare);
  *ret_prepare = NULL;
  return status;
}

void prepare_stop(struct prepare *prepare)
{
  if (prepare == NULL)
    return;
  if (prepare->has_thread) {
    (void)eventfd_write(prepare->stop, 1);
    pthread_join(prepare->thread, NULL);
  }
  if (prepare->events >= 0)
    close(prepare->events);
  if (prepare->stop >= 0)
    close(prepare->stop);
  free(prepare);
}
