// SPDX-License-Identifier: Apache-2.0
// Opens files below a folder that a stranger filled, such as the root file system of a container: links lead nowhere else. Needs Linux
// 5.6 (openat2), and fails with ENOSYS before. Threads: any. Allocates nothing.
#ifndef XSP_BASE_ROOT_H
#define XSP_BASE_ROOT_H

#include <fcntl.h>
#include <sys/stat.h>

#define ROOT_OF_HOST AT_FDCWD // as a `root`: the caller's own; works on any Linux, takes absolute paths only

// Opens `path`, absolute or not, as a process with the folder `root` (a descriptor) as its "/" would. Makes nothing. -1 with errno.
int root_open(int root, const char *path, int flags);
// A regular file of at most `most` bytes, for reading. Never waits, as input_file_open. -1 with errno; EINVAL: not a regular file;
// EFBIG.
int root_file(int root, const char *path, off_t most, struct stat *ret_facts);

#endif
