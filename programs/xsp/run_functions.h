// SPDX-License-Identifier: Apache-2.0
// The list of `xsp run --functions FILE`: its errors, told before the program starts, and what of it no process had.
#ifndef XSP_PROGRAMS_RUN_FUNCTIONS_H
#define XSP_PROGRAMS_RUN_FUNCTIONS_H

#include "base/error.h"

#include <stddef.h>

// Reads the whole list. Errors say `FILE:LINE`. docs/functions.md has the grammar.
enum status functions_file_check(const char *path, struct error *err) MUST_CHECK;

// One line for the user about all processes of an execution: "not found in any process: a, b". `messages`: what tracers
// said (run_result.messages). Returns its length (< size), 0 where nothing is missing or the list cannot be read.
size_t functions_missing(const char *path, const char *messages, char *line, size_t size);

#endif
