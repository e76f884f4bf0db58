// SPDX-License-Identifier: Apache-2.0
// Turns of handlers that take long or much memory: --limit-analyses of them at a time.
#ifndef XSP_SERVE_TURN_H
#define XSP_SERVE_TURN_H

#include <stdbool.h>

struct exchange;

// Waits a few seconds for a turn. False: refused with 503. Else turn_end must follow.
bool turn_take(struct exchange *exchange);
void turn_end(struct exchange *exchange);

#endif
