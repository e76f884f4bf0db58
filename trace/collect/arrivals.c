// SPDX-License-Identifier: Apache-2.0
// Process images that found the session and have recorded nothing: entries that they appended to DIR/arrivals. Called by
// outside.c and session.c, mostly when the program has ended. Entries come from other processes: one that is none is skipped.
#include "collect/place.h"
#include "collect/state.h"

#include <fcntl.h>
#include <unistd.h>

void arrivals_open(struct collect_session *session, bool is_new)
{
  struct stat facts; // without the file each process joins at once
  session->arrivals_file =
      collect_place_file(session->folder, "arrivals", is_new ? O_RDONLY | O_CREAT : O_RDONLY, &facts);
}

static bool is_one(const struct session_arrival *entry)
{
  return entry->magic == ARRIVAL_MAGIC && entry->pid != 0 && entry->pid <= INT32_MAX;
}

bool arrivals_next(const struct collect_session *session, size_t *cursor, struct session_arrival *ret_arrival)
{
  const off_t size = sizeof *ret_arrival;
  while (session->arrivals_file >= 0 && *cursor < FILES_MAXIMUM &&
         pread(session->arrivals_file, ret_arrival, sizeof *ret_arrival, (off_t)*cursor * size) == size) {
    ++*cursor;
    ret_arrival->name[sizeof ret_arrival->name - 1] = '\0';
    ret_arrival->command[sizeof ret_arrival->command - 1] = '\0';
    if (is_one(ret_arrival))
      return true;
  }
  return false;
}

bool arrivals_find(const struct collect_session *session, uint64_t pid, struct session_arrival *ret_arrival)
{
  struct session_arrival entry;
  bool is_found = false;
  for (size_t cursor = 0; arrivals_next(session, &cursor, &entry);)
    if (entry.pid == pid) {
      *ret_arrival = entry;
      is_found = true;
    }
  return is_found;
}
