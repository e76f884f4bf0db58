// SPDX-License-Identifier: Apache-2.0
// How much memory the rings of a new session may take. Used alike by capture in a program that makes its own session, and by
// collect in xsp. Allocates nothing.
#ifndef XSP_FORMAT_SESSION_MEMORY_H
#define XSP_FORMAT_SESSION_MEMORY_H

#include <stdint.h>

// In bytes. `wish`: XSP_SESSION_LIMIT_BYTES, may be NULL. Where it is no number: a quarter of the memory that is free, at
// most half of the room in the folder's file system, 1 MiB to 2 GiB.
uint64_t session_memory_limit(const char *wish, const char *directory);

#endif
