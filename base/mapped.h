// SPDX-License-Identifier: Apache-2.0
// A whole file in memory, read only.
#ifndef XSP_BASE_MAPPED_H
#define XSP_BASE_MAPPED_H

#include "base/input_file.h"
#include "base/scoped.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mapped {
  void *bytes;
  size_t size;
};

// False, with errno: it cannot be read, or is no regular file. An empty file is mapped as size 0.
static inline bool mapped_open(const char *path, struct mapped *ret_file)
{
  int fd SCOPED(scoped_close) = -1;
  struct stat info;
  errno = EINVAL; // of what is not a regular file
  if (input_file_open(path, INPUT_FILE_REGULAR, "", &fd, &info, NULL) != STATUS_OK)
    return false;
  *ret_file = (struct mapped){"", (size_t)info.st_size};
  if (ret_file->size > 0)
    ret_file->bytes = mmap(NULL, ret_file->size, PROT_READ, MAP_PRIVATE, fd, 0);
  return ret_file->bytes != MAP_FAILED;
}

static inline void mapped_close(struct mapped *file) // {0} is legal
{
  if (file->size > 0)
    munmap(file->bytes, file->size);
  *file = (struct mapped){0};
}

#endif
