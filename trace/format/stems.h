// SPDX-License-Identifier: Apache-2.0
// Names of calls that differ by a number alone, as one: "step 7" and "step 12" (range_stem).
#ifndef XSP_FORMAT_STEMS_H
#define XSP_FORMAT_STEMS_H

#include "base/interner.h"

#define STEMS_MOST 64u // of observations whose names are kinds of calls; with more, each call has its own

// The number of the name's stem, whose first 256 bytes count.
uint32_t stems_at(struct interner *stems, const char *name, size_t length);

#endif
