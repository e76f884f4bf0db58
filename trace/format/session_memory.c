// SPDX-License-Identifier: Apache-2.0
// The memory that the rings of a session may take. Called by guest/capture/session.c and trace/collect/folder.c.
#include "format/session_memory.h"

#include "base/small_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#define LEAST_BYTES (UINT64_C(1) << 20) // also where there is not so much: what cannot be had is counted
#define MOST_BYTES (UINT64_C(2) << 30)

static uint64_t free_memory(void)
{
  static const char key[] = "MemAvailable:";
  char text[256]; // the third line
  small_file_read("/proc/meminfo", text, sizeof text);
  const char *line = strstr(text, key);
  return line == NULL ? UINT64_MAX : strtoull(line + sizeof key - 1, NULL, 10) * 1024;
}

// What a container may still take. 0 where the file has no number: there is no limit.
static uint64_t file_number(const char *path)
{
  char text[32];
  small_file_read(path, text, sizeof text);
  return strtoull(text, NULL, 10);
}

static uint64_t free_in_container(void)
{
  uint64_t limit = file_number("/sys/fs/cgroup/memory.max"), used = file_number("/sys/fs/cgroup/memory.current");
  return limit == 0 ? UINT64_MAX : used < limit ? limit - used : 0;
}

static uint64_t free_room(const char *directory)
{
  struct statvfs status;
  return statvfs(directory, &status) == 0 ? (uint64_t)status.f_bavail * status.f_frsize : UINT64_MAX;
}

uint64_t session_memory_limit(const char *wish, const char *directory)
{
  char *end = NULL;
  unsigned long long wished = wish != NULL && *wish >= '0' && *wish <= '9' ? strtoull(wish, &end, 10) : 0;
  if (end != NULL && *end == '\0')
    return wished;
  uint64_t memory = free_memory(), container = free_in_container();
  uint64_t share = (memory < container ? memory : container) / 4, half = free_room(directory) / 2;
  share = share < half ? share : half;
  return share < LEAST_BYTES ? LEAST_BYTES : share < MOST_BYTES ? share : MOST_BYTES;
}
