// SPDX-License-Identifier: Apache-2.0
// Opens files below a folder; see root.h. The kernel resolves the path, so that nothing can be exchanged between two steps.
#include "base/root.h"

#include <errno.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

int root_open(int root, const char *path, int flags)
{
  if (root == ROOT_OF_HOST)
    return open(path, flags | O_CLOEXEC);
  struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC), .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
  return (int)syscall(SYS_openat2, root, path[0] != 0 ? path : ".", &how, sizeof how);
}

int root_file(int root, const char *path, off_t most, struct stat *ret_facts)
{
  int file = root_open(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return -1;
  bool is_regular = fstat(file, ret_facts) == 0 && S_ISREG(ret_facts->st_mode);
  if (is_regular && ret_facts->st_size <= most)
    return file;
  close(file);
  errno = is_regular ? EFBIG : EINVAL;
  return -1;
}
