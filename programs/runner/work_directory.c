// SPDX-License-Identifier: Apache-2.0
// Clearing of the runner's work folder; used by the runner and by `xsp profile`.
#include "programs/runner/work_directory.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

void work_directory_remove(const char *path)
{
  DIR *folder = opendir(path);
  if (folder == NULL)
    return;
  struct dirent *entry;
  while ((entry = readdir(folder)) != NULL)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      unlinkat(dirfd(folder), entry->d_name, 0);
  closedir(folder);
  rmdir(path);
}
