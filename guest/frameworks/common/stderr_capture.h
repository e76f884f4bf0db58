// SPDX-License-Identifier: Apache-2.0
// What a framework writes to stderr while one of its functions runs: for those that return a bare number and print the
// reason. In the runner's process only, whose stderr is its own; other threads' lines are caught as well.
#ifndef XSP_FRAMEWORKS_COMMON_STDERR_CAPTURE_H
#define XSP_FRAMEWORKS_COMMON_STDERR_CAPTURE_H

#include <stddef.h>

struct stderr_capture {
  int file, real; // -1: nothing is caught
};

void framework_stderr_capture_start(struct stderr_capture *capture);
// Puts stderr back, passes on what was caught, and makes one line of those of its lines that begin with `prefix` (without
// it, and without a place in brackets: "ERROR: [file.cc:12] why"). `text` is empty where there is none.
void framework_stderr_capture_end(struct stderr_capture *capture, const char *prefix, char *text, size_t size);
// The last of that alone: `caught` is cut at its end.
void framework_stderr_capture_line(const char *caught, const char *prefix, char *text, size_t size);

#endif
