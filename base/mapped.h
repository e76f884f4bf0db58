// SPDX-License-Identifier: Apache-2.0
// A whole file in memory, read only.
#ifndef XSP_BASE_MAPPED_H
#define XSP_BASE_MAPPED_H

#include <errno.h>
#include <fcntl.h>
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
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0)
    return false;
  bool is_file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  *ret_file = (struct mapped){"", is_file ? (size_t)info.st_size : 0};
  if (ret_file->size > 0)
    ret_file->bytes = mmap(NULL, ret_file->size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (!is_file)
    errno = EINVAL;
  return is_file && ret_file->bytes != MAP_FAILED;
}

static inline void mapped_close(struct mapped *file) // {0} is legal
{
  if (file->size > 0)
    munmap(file->bytes, file->size);
  *file = (struct mapped){0};
}

#endif
