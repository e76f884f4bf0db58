// SPDX-License-Identifier: Apache-2.0
// See file_place.h. Called by the store, for traces and what killed writers left, by report/ and verbs for their outputs, and by
// what writes data sets.
#include "base/file_place.h"

#include "base/input_file.h"
#include "base/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum status file_place_check(const char *path, bool may_replace, struct error *err)
{
  struct stat facts;
  if (may_replace || lstat(path, &facts) != 0)
    return STATUS_OK;
  return error_set(err, STATUS_USE, "the output exists", path, "--force, or another name",
                   "it is not overwritten unasked");
}

int file_place_begin(const char *path, char partial[PATH_MAX])
{
  struct stat facts;
  if (snprintf(partial, PATH_MAX, "%s.%ld.partial", path, (long)getpid()) >= PATH_MAX) {
    errno = ENAMETOOLONG;
    return -1;
  }
  unlink(partial);
  int file = regular_file_open(AT_FDCWD, partial, O_WRONLY | O_CREAT | O_EXCL, &facts);
  mode_t mask = umask(0);
  umask(mask);
  if (file >= 0)
    fchmod(file, 0666 & ~mask);
  return file;
}

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

bool file_place_whole(const char *path, const void *bytes, size_t length, bool may_replace)
{
  char partial[PATH_MAX];
  int file = file_place_begin(path, partial);
  if (file < 0)
    return false;
  bool is_written = transfer_write(file, bytes, length);
  is_written = close(file) == 0 && is_written;
  if (is_written && file_place(partial, path, may_replace) == 0)
    return true;
  int error = errno;
  unlink(partial);
  errno = error;
  return false;
}
