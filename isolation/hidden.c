// SPDX-License-Identifier: Apache-2.0
// Lists the folders of the host in which users and services keep sockets, pipes and private files. The process gets them empty.
#include "isolation/isolation.h"

#include "base/path_text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HIDDEN_MOST 8

// The home of a system account may be one: the process needs them, or has its own.
static bool is_of_the_system(const char *folder)
{
  static const char *const system[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64",
                                       "/etc", "/dev", "/proc", "/sys", "/run"};
  for (size_t i = 0; i < sizeof system / sizeof system[0]; i++)
    if (path_is_below(folder, system[i]))
      return true;
  return strcmp(folder, "/") == 0;
}

const char **isolation_hidden_folders(struct arena *arena)
{
  const char *const candidates[] = {"/home", "/root", "/tmp", "/var", "/var/tmp", getenv("HOME"), getenv("TMPDIR")};
  const char **hidden = arena_alloc_array(arena, HIDDEN_MOST, sizeof *hidden);
  size_t count = 0;
  for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
    struct stat facts;
    char *real =
        candidates[i] != NULL && candidates[i][0] == '/' ? realpath(candidates[i], arena_alloc(arena, PATH_MAX)) : NULL;
    bool is_new = real != NULL && !is_of_the_system(real) && stat(real, &facts) == 0 && S_ISDIR(facts.st_mode);
    for (size_t j = 0; j < count && is_new; j++)
      is_new = strcmp(hidden[j], real) != 0;
    if (is_new)
      hidden[count++] = real;
  }
  hidden[count] = NULL;
  return hidden;
}
