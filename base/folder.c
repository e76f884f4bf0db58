// SPDX-License-Identifier: Apache-2.0
// Removes the runner's work folder (from xsp or from the runner, whichever ends last) and half-made models.
#include "base/folder.h"

#include "base/memory.h"

#include <dirent.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void folder_remove_flat(const char *path)
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

void folder_remove_tree(const char *path)
{
  char *const roots[] = {memory_text(path), NULL};
  FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
  for (FTSENT *entry; walk != NULL && (entry = fts_read(walk)) != NULL;) {
    if (entry->fts_info == FTS_DP)
      rmdir(entry->fts_accpath);
    else if (entry->fts_info != FTS_D)
      unlink(entry->fts_accpath);
  }
  if (walk != NULL)
    fts_close(walk);
  free(roots[0]);
}
