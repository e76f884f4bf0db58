// SPDX-License-Identifier: Apache-2.0
// See file_place.h. Called by the store, for traces and what killed writers left, and by report/ for its outputs.
#include "base/file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

int file_place(const char *from, const char *to, bool may_replace)
{
  if (may_replace)
    return rename(from, to);
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
    return 0;
  if (errno != EINVAL && errno != ENOSYS)
    return -1;
  struct stat facts;
  if (lstat(to, &facts) == 0) {
    errno = EEXIST;
    return -1;
  }
  return rename(from, to);
}
