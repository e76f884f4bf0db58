// SPDX-License-Identifier: Apache-2.0
// Numbers stems; see stems.h. Called by correlate and analyze. Apart from range.c, since tracers intern nothing.
#include "format/stems.h"

#include "format/range.h"

uint32_t stems_at(struct interner *stems, const char *name, size_t length)
{
  char stem[256];
  return interner_at(stems, stem, range_stem(name, length, stem, sizeof stem));
}
