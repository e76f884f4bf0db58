// SPDX-License-Identifier: Apache-2.0
// What a framework writes to stderr while one of its functions runs: for those that return a bare number and print the
// reason. In the runner's process only, whose stderr is its own; other threads' lines are caught as well.
#ifndef XSP_FRAMEWORKS_COMMON_TALK_H
#define XSP_FRAMEWORKS_COMMON_TALK_H

#include <stddef.h>

struct talk {
  int file, real; // -1: nothing is caught
};

void talk_catch(struct talk *talk);
// Puts stderr back, passes on what was caught, and makes one line of those of its lines that begin with `prefix` (without
// it, and without a place in brackets: "ERROR: [file.cc:12] why"). `text` is empty where there is none.
void talk_release(struct talk *talk, const char *prefix, char *text, size_t size);
// The last of that alone: `caught` is cut at its end.
void talk_line(const char *caught, const char *prefix, char *text, size_t size);

#endif
