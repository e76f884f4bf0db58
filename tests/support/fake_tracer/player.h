// SPDX-License-Identifier: Apache-2.0
// Plays a script: its lines become calls of <xsp/span.h>, each on the thread that the script names.
#ifndef XSP_TESTS_FAKE_TRACER_PLAYER_H
#define XSP_TESTS_FAKE_TRACER_PLAYER_H

#include <stddef.h>

// Returns 0, or a negated errno with a line in `why` that names the script's line. `script` is used up.
int player_run(char *script, char *why, size_t why_size);

#endif
