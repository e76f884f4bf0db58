// SPDX-License-Identifier: Apache-2.0
// What call paths of samples say: whose line it is, and in which kind of code the thread is. For lines/, ranks/ and rules of
// findings.
#ifndef XSP_ANALYZE_LINES_PATHS_H
#define XSP_ANALYZE_LINES_PATHS_H

#include "base/arena.h"
#include "correlate/correlate.h"

enum path_code {
  PATH_PYTHON,   // Python, its interpreter, and what of the C library that calls
  PATH_NATIVE,   // a native function that is neither
  PATH_OPERATOR, // an operator of a framework
};

enum path_code path_code_of(const struct store_call_paths *paths, uint32_t context_id);
// The context of the user's own line around the path's end, itself included; 0: there is none. That is Python code of no
// installed package; in a path without Python a native function whose source is outside of the system's folders.
uint32_t path_own_line(const struct store_call_paths *paths, uint32_t context_id);
// The innermost context whose file is known, else the path itself.
uint32_t path_known_line(const struct store_call_paths *paths, uint32_t context_id);
// "conv2d (functional.py)", "dgemm (libblas)": what the line at `line_id` calls on the way to `context_id`, without what only
// hands on. NULL: the path ends there.
const char *path_callee(const struct store_call_paths *paths, uint32_t line_id, uint32_t context_id,
                        struct arena *arena);
const struct store_frame *path_frame(const struct store_call_paths *paths, uint32_t context_id);
// "conv2d", "libblas.so" for a native function without a name. NULL: nothing is known.
const char *path_function(const struct store_frame *frame);

#endif
