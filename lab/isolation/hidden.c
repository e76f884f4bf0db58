// SPDX-License-Identifier: Apache-2.0
// Lists the folders of the host in which users and services keep sockets, pipes and private files. The process gets them empty.
#include "isolation/isolation.h"

#include "base/path_text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ALWAYS 7

// The home of a system account may be one: the process needs them, or has its own.
static bool is_of_the_system(const char *folder)
{
  static const char *const system[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys"};
  for (size_t i = 0; i < sizeof system / sizeof system[0]; i++)
    if (path_is_below(folder, system[i]))
      return true;
  return strcmp(folder, "/") == 0;
}

const char **isolation_hidden_folders(struct arena *arena)
{
  const char *const candidates[] = {"/dev/shm",     "/home",         "/root",    "/run",
                                    "/tmp",         "/var",          "/var/tmp", // ALWAYS
                                    getenv("HOME"), getenv("TMPDIR")};
  const size_t most = sizeof candidates / sizeof candidates[0];
  const char **hidden = arena_alloc_array(arena, most + 1, sizeof *hidden);
  size_t count = 0;
  for (size_t i = 0; i < most; i++) {
    struct stat facts;
    const char *folder = candidates[i];
    char *real = folder != NULL && folder[0] == '/' ? realpath(folder, arena_alloc(arena, PATH_MAX)) : NULL;
    bool is_new =
        real != NULL && stat(real, &facts) == 0 && S_ISDIR(facts.st_mode) && (i < ALWAYS || !is_of_the_system(real));
    for (size_t j = 0; j < count && is_new; j++)
      is_new = strcmp(hidden[j], real) != 0;
    if (is_new)
      hidden[count++] = real;
  }
  hidden[count] = NULL;
  return hidden;
}
