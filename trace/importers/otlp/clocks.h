// SPDX-License-Identifier: Apache-2.0
// How far one machine's clock is ahead of another's, from calls between them. The formula and its source: docs/merge.md. Pure.
#ifndef XSP_IMPORTERS_OTLP_CLOCKS_H
#define XSP_IMPORTERS_OTLP_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A call from clock A to clock B bounds B - A at that time, in nanoseconds.
struct clock_pair {
  int64_t time_ns; // of A
  int64_t least_ns, most_ns;
};
// B - A = offset_ns + drift * (t - time_ns), at times t of A.
struct clock_offset {
  int64_t offset_ns, time_ns;
  double drift;
  int64_t uncertainty_ns; // B - A is at most this far away, at the times of all pairs
  size_t agreeing, count; // pairs
  bool is_known;          // false: no offset agrees with more than half of the pairs
};
#define CLOCK_DRIFT_MOST 500e-6 // what NTP corrects at most (RFC 5905)

// Reorders the pairs. `count` is at least 1.
void import_clock_estimate(struct clock_pair *pairs, size_t count, struct clock_offset *ret_offset);
// What is to be taken off a time of B; `offset` may have come from several clocks.
int64_t import_clock_ahead(const struct clock_offset *offset, int64_t time_ns);

#endif
