// SPDX-License-Identifier: Apache-2.0
// The memory that the rings of a session may take. Called by guest/capture/session.c and trace/collect/folder.c.
#include "format/session_memory.h"

#include "base/available_memory.h"

#include <stdlib.h>
#include <sys/statvfs.h>

#define LEAST_BYTES (UINT64_C(1) << 20) // also where there is not so much: what cannot be had is counted
#define MOST_BYTES (UINT64_C(2) << 30)

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
  uint64_t share = available_memory_bytes() / 4, half = free_room(directory) / 2;
  share = share < half ? share : half;
  return share < LEAST_BYTES ? LEAST_BYTES : share < MOST_BYTES ? share : MOST_BYTES;
}
