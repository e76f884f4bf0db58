// SPDX-License-Identifier: Apache-2.0
// Small files, such as those of /proc and /sys. Allocates nothing; may be used in a traced process.
#ifndef XSP_BASE_SMALL_FILE_H
#define XSP_BASE_SMALL_FILE_H

#include <stdbool.h>
#include <stddef.h>

// The first `size` - 1 bytes, and a terminating zero. Returns how many; 0: empty, or it cannot be read.
size_t small_file_read(const char *path, char *text, size_t size);
// The first line, without its newline. False: it is empty, or the file cannot be read.
bool small_file_line(const char *path, char *line, size_t size);
// The number after `key` at the start of a line ("throttled_usec 12", "VmRSS:\t12 kB"). Pure. NaN: there is none.
double small_file_number(const char *text, const char *key);

#endif
