// SPDX-License-Identifier: Apache-2.0
// The little that the loader's side needs of a system, without libc: the loader gives its namespace none, and a second libc
// would cost every start of every program. Nothing here touches errno.
#ifndef XSP_TRACERS_FUNCTIONS_SYSTEM_H
#define XSP_TRACERS_FUNCTIONS_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>

size_t system_length(const char *text);
void system_copy(void *to, const void *from, size_t bytes);
void *system_map(size_t bytes); // zeroed; NULL: none
void system_unmap(void *memory, size_t bytes);
// The file's first `size` bytes; their number, or a negated errno value.
long system_read_file(const char *path, char *text, size_t size);
// Whether the 8 bytes at `address` may be written. WRITES into them where so.
bool system_is_writable(void *address);
// Whether the 8 bytes at `address` may be read.
bool system_is_readable(const void *address);
const char *system_environment(const char *name);   // as the process was started; NULL: not set
unsigned long system_auxiliary(unsigned long type); // of the kernel's vector (AT_…); 0: not there
const char *system_program_path(void);              // as it was started

#endif
