// SPDX-License-Identifier: Apache-2.0
// Times as text.
#ifndef XSP_BASE_TIME_TEXT_H
#define XSP_BASE_TIME_TEXT_H

#include "base/arena.h"

#include <stdint.h>

// "2026-11-26T10:00:00Z", of nanoseconds since 1970, in `arena`. NULL: not after 1970, or no calendar has it.
const char *time_text(int64_t unix_ns, struct arena *arena);

#endif
