// SPDX-License-Identifier: Apache-2.0
// Pairs the spans of two executions of one program by name and ordinal, to find in the one, whose launches went one after
// the other, the parents that are ambiguous in the other. Pure.
#ifndef XSP_CORRELATE_JOIN_H
#define XSP_CORRELATE_JOIN_H

#include "base/arena.h"
#include "base/error.h"
#include "format/level.h"

#define JOIN_NO_ROW UINT32_MAX

struct join_span {
  uint32_t name;       // the same number for the same text in both executions; 0: in one only
  uint32_t parent;     // row; JOIN_NO_ROW: none
  int32_t observation; // -1: none
  uint32_t track;
  int64_t start_ns, end_ns;
  uint8_t level, kind, basis;
};
struct join_side {
  const struct join_span *spans;
  size_t count;
};

// Why a span stays ambiguous.
enum join_reason {
  JOIN_COUNTS,    // the other execution has more or fewer spans of its name, or of its parent's
  JOIN_ORDER,     // launches came in another order: what is known, or what encloses it, contradicts the pairing
  JOIN_NO_PARENT, // no parent there either: none, or ambiguous again
  JOIN_REASONS,
};
const char *join_reason_text(enum join_reason reason);

struct join_link {
  uint32_t row, parent; // of `original`
};
struct join_answer {
  struct join_link *links; // in the arena, by row
  size_t link_count;
  size_t ambiguous;          // spans of `original`, executions not counted: they follow their launches
  size_t left[JOIN_REASONS]; // those that stay so
};
// Observations are paired by their number; where their numbers differ, every span is left for JOIN_COUNTS.
void join_executions(const struct join_side *original, const struct join_side *serial, struct arena *arena,
                     struct join_answer *ret_answer);

#endif
