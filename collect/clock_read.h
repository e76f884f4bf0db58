// SPDX-License-Identifier: Apache-2.0
// Reads the session's clocks: by the same rule as capture, which cannot be included here.
#ifndef XSP_COLLECT_CLOCK_READ_H
#define XSP_COLLECT_CLOCK_READ_H

#include "format/session.h"

// The tick clock of a session made here: TSC where it is invariant, unless environment XSP_CLOCK is "monotonic".
enum session_tick_clock clock_read_choose(void);
// Can this program read that clock at all?
int clock_read_possible(enum session_tick_clock tick_clock);
// Three clocks as close together as possible; sequence is 0.
struct session_calibration clock_read(enum session_tick_clock tick_clock);

#endif
