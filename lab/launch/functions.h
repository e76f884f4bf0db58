// SPDX-License-Identifier: Apache-2.0
// The list of `xsp run --functions FILE`: its errors, reported before the program starts, and functions that no process had.
#ifndef XSP_LAUNCH_FUNCTIONS_H
#define XSP_LAUNCH_FUNCTIONS_H

#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>

// Reads the whole list. Errors have `FILE:LINE`. docs/functions.md has the grammar.
enum status functions_file_check(const char *path, struct error *err) MUST_CHECK;

// The levels that functions of the list are of, as a mask; 0 where the list cannot be read.
uint32_t functions_file_levels(const char *path);

// Messages of tracers, one process after the other: if several processes lacked functions, their lines
// become one line about all of them. The result is `messages`, or in `arena`.
const char *functions_file_put_together(const char *path, const char *messages, struct arena *arena);

#endif
