// SPDX-License-Identifier: Apache-2.0
// How much memory a program may still take, of the machine and of its container. Cached files do not count as taken.
#ifndef XSP_BASE_AVAILABLE_MEMORY_H
#define XSP_BASE_AVAILABLE_MEMORY_H

#include <stdint.h>

uint64_t available_memory_bytes(void); // UINT64_MAX: unknown
// The same of the control group (version 2) whose files are in `folder`. UINT64_MAX: it has no limit.
uint64_t available_memory_in_group(const char *folder);

#endif
