// SPDX-License-Identifier: Apache-2.0
// What inputs cost in energy, by the counters that were recorded meanwhile.
#ifndef XSP_ANALYZE_RUNS_A1_ENERGY_H
#define XSP_ANALYZE_RUNS_A1_ENERGY_H

#include "analyze/view.h"

// Joules while the observations ran, warm-up left out, of all meters of the machine together, over the inputs of these observations.
// NaN: no meter was read, or not from before the first to after the last, or the batch size is unknown.
enum status analyze_energy_per_input(const struct question *question, const struct batch_point *point,
                                     double *ret_joules, struct error *err) MUST_CHECK;

#endif
