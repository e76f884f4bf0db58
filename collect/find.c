// SPDX-License-Identifier: Apache-2.0
// Finds the caller's sessions where xsp makes them, for `xsp recover`. Reads only.
#include "base/vector.h"
#include "collect/collect.h"
#include "collect/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

typedef VECTOR(struct collect_found) found_list;

// Adds the session, if it is one and the caller's. A lock that somebody holds is that of its collector.
static void look(const char *path, struct arena *arena, found_list *found)
{
  char real[4096];
  int folder = -1;
  struct stat facts;
  if (place_open(path, "", real, sizeof real, &folder, NULL) != STATUS_OK)
    return;
  int lock = place_file(folder, "session", O_RDONLY, &facts);
  close(folder);
  if (lock < 0)
    return;
  bool is_in_use = flock(lock, LOCK_SH | LOCK_NB) != 0;
  close(lock);
  for (size_t i = 0; i < found->count; i++)
    if (strcmp(found->items[i].path, real) == 0)
      return;
  *vector_add(found) = (struct collect_found){arena_copy(arena, real, strlen(real)), facts.st_mtim.tv_sec, is_in_use};
}

void collect_find(struct arena *arena, struct collect_found **ret_found, size_t *ret_count)
{
  const char *bases[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
  char prefix[32];
  found_list found = {0};
  int length = snprintf(prefix, sizeof prefix, "xsp-%u-", (unsigned)getuid());
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
    DIR *base = bases[i] ? opendir(bases[i]) : NULL;
    for (struct dirent *entry; base && (entry = readdir(base)) != NULL;)
      if (strncmp(entry->d_name, prefix, (size_t)length) == 0)
        look(arena_format(arena, "%s/%s", bases[i], entry->d_name), arena, &found);
    if (base)
      closedir(base);
  }
  *ret_count = found.count;
  *ret_found = arena_alloc_array(arena, found.count + 1, sizeof **ret_found);
  for (size_t i = 0; i < found.count; i++)
    (*ret_found)[i] = found.items[i];
  vector_done(&found);
}
