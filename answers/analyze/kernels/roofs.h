// SPDX-License-Identifier: Apache-2.0
// Roofs of an experiment's machine: peak arithmetic throughput and memory bandwidth, per precision; points under them.
// Unknown figures are NaN, and so is everything that follows from them.
#ifndef XSP_ANALYZE_KERNELS_ROOFS_H
#define XSP_ANALYZE_KERNELS_ROOFS_H

#include "analyze/view.h"

enum precision { PRECISION_HALF, PRECISION_SINGLE, PRECISION_DOUBLE, PRECISION_TENSOR, PRECISION_COUNT };
extern const char *const precision_names[PRECISION_COUNT]; // "half", "single", …
extern const char *const precision_tags[PRECISION_COUNT];  // kernel tags "flops_half", "flops_single", …

struct roof {
  const char *precision; // a name of precision_names; NULL: the roof is unknown
  double peak_flops_per_s, memory_bandwidth_bytes_per_s, ideal_arithmetic_intensity; // NaN: unknown
};
struct roofs { // of one experiment
  struct roof of[PRECISION_COUNT];
  const char *source; // "recorded", "measured", or the data sheet; NULL: nothing is known
  const char *device; // the processor's name as recorded; NULL: unknown
};

// Of the question's experiment: its system values first, then the table of known GPUs. Never fails for want of figures.
enum status roofs_load(struct question *question, struct roofs *ret_roofs, struct error *err) MUST_CHECK;
// Says in the table's notes where the roofs come from, or that none are known.
void roofs_note(struct question *question, const struct roofs *roofs);
// The roof of the precision that did most of the flops; single where none is known (all NaN or 0, or NULL) or where the
// roof of that precision is not. Never NULL.
const struct roof *roofs_choose(const struct roofs *roofs, const double flops_by_precision[PRECISION_COUNT]);

void roof_put(struct table_builder *table, const struct roof *roof);

// ---- a point under a roof; NaN anywhere: not measured ---------------------------------------------------------------
double roof_intensity(double flops, double bytes);                   // flops per byte; NaN where bytes is 0
double roof_throughput_flops_per_s(double flops, double latency_ms); // NaN where the latency is 0
const char *roof_bound(const struct roof *roof, double intensity);   // "memory", "compute" or NULL
// Below `threshold_pct` of both peaks. One that reaches either is not, whatever the other; else null where one is unknown.
struct table_cell roof_is_latency_bound(const struct roof *roof, double flops, double bytes, double latency_ms,
                                        double threshold_pct);
// Faster than the roof allows at its intensity: counting is suspect. Null where the roof or the point is unknown.
struct table_cell roof_is_exceeded(const struct roof *roof, double intensity, double throughput_flops_per_s);

#endif
