// SPDX-License-Identifier: Apache-2.0
// The clocks of a session, read alike by capture in a traced process and by collect in xsp. Signal-safe, without state.
#ifndef XSP_FORMAT_SESSION_CLOCK_H
#define XSP_FORMAT_SESSION_CLOCK_H

#include "format/session.h"

#include <stdbool.h>

// Whether this machine has the clock: a counter at one rate in all power states, readable from user space.
bool session_clock_is_usable(enum session_tick_clock clock);
// The clock of a new session: the counter if it is usable and `wish` (XSP_CLOCK; may be NULL) is not "monotonic".
enum session_tick_clock session_clock_choose(const char *wish);
uint64_t session_clock_ticks(enum session_tick_clock clock);
// Three clocks as close together as possible; sequence is 0.
struct session_calibration session_clock_read(enum session_tick_clock clock);
// Adds the reading to the session's. Any process, any thread.
void session_clock_write(struct session_head *session, const struct session_calibration *reading);

#endif
