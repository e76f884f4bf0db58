// SPDX-License-Identifier: Apache-2.0
// Finds the caller's sessions where xsp makes them: for `xsp recover`, and to remove those that were kept for processes
// which have ended since.
#include "base/proc.h"
#include "base/vector.h"
#include "collect/collect.h"
#include "collect/place.h"
#include "collect/state.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef VECTOR(struct collect_found) found_list;

struct look {
  struct arena *arena;
  found_list *found; // NULL: ended ones are removed
};

// ---- kept ones -------------------------------------------------------------------------------------------------------
static bool is_kept(int file)
{
  uint64_t magic = 0;
  uint32_t flags = 0;
  return pread(file, &magic, sizeof magic, 0) == (ssize_t)sizeof magic && magic == SESSION_MAGIC &&
         pread(file, &flags, sizeof flags, offsetof(struct session_head, flags)) == (ssize_t)sizeof flags &&
         (flags & SESSION_KEPT) != 0;
}

// Whether the processes that may have it are those that are seen here: a container with a /dev/shm of the machine sees others.
static bool is_kept_here(int file)
{
  uint64_t kept_in = 0;
  return pread(file, &kept_in, sizeof kept_in, offsetof(struct session_head, kept_in)) == (ssize_t)sizeof kept_in &&
         kept_in != 0 && kept_in == proc_namespace();
}

// Whether another process has the session mapped. Not by the process files: one that was only forked has none yet.
bool collect_find_has_process(const char *directory)
{
  bool has_process = false;
  for (int look = 0; look < 2 && !has_process; look++) { // the second finds what was forked during the first
    pid_t processes[2] = {0};
    size_t count = proc_in(directory, PROC_MAPPED, processes, 2);
    has_process = count > 1 || (count == 1 && processes[0] != getpid());
  }
  return has_process;
}

// ---- looking ---------------------------------------------------------------------------------------------------------
// A session of the caller's is listed, or removed. A lock that somebody holds is that of its collector.
static void look(const char *path, const struct look *look)
{
  char real[4096];
  int folder SCOPED(scoped_close) = -1;
  struct stat facts;
  if (collect_place_open(path, "", real, sizeof real, &folder, NULL) != STATUS_OK)
    return;
  int lock SCOPED(scoped_close) =
      collect_place_file(folder, "session", look->found != NULL ? O_RDONLY : O_RDWR, &facts);
  bool is_left_over = lock < 0 && look->found != NULL && fstat(folder, &facts) == 0;
  bool is_new = lock >= 0 || is_left_over;
  bool is_in_use = lock >= 0 && collect_place_is_locked(lock);
  if (lock >= 0 && is_kept(lock)) {
    is_new = false;
    if (look->found == NULL && is_kept_here(lock) && !collect_find_has_process(real) && collect_place_lock(lock)) {
      collect_place_remove(folder, real);
      folder = -1;
    }
  }
  for (size_t i = 0; is_new && look->found != NULL && i < look->found->count; i++)
    is_new = strcmp(look->found->items[i].path, real) != 0;
  if (is_new && look->found != NULL)
    *vector_add(look->found) = (struct collect_found){arena_copy(look->arena, real, strlen(real)), facts.st_mtim.tv_sec,
                                                      is_in_use, is_left_over};
}

static void look_everywhere(const struct look *what)
{
  const char *bases[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
  char prefix[32], path[4096];
  int length = snprintf(prefix, sizeof prefix, "xsp-%u-", (unsigned)getuid());
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
    DIR *base SCOPED(scoped_closedir) = bases[i] ? opendir(bases[i]) : NULL;
    for (struct dirent *entry; base && (entry = readdir(base)) != NULL;)
      if (strncmp(entry->d_name, prefix, (size_t)length) == 0 &&
          (size_t)snprintf(path, sizeof path, "%s/%s", bases[i], entry->d_name) < sizeof path)
        look(path, what);
  }
}

void collect_find(struct arena *arena, struct collect_found **ret_found, size_t *ret_count)
{
  found_list found = {0};
  look_everywhere(&(struct look){arena, &found});
  *ret_count = found.count;
  *ret_found = arena_alloc_array(arena, found.count + 1, sizeof **ret_found);
  for (size_t i = 0; i < found.count; i++)
    (*ret_found)[i] = found.items[i];
  vector_done(&found);
}

void find_remove_ended(void)
{
  look_everywhere(&(struct look){NULL, NULL});
}
