// SPDX-License-Identifier: Apache-2.0
// Variables of frameworks and drivers that programs and runners get by option, in two tables.
#ifndef XSP_LAUNCH_VARIABLES_H
#define XSP_LAUNCH_VARIABLES_H

#include "base/buf.h"

struct fixed_variable {
  const char *name, *value;
  const char *of; // whose it is: "TensorFlow"
};
// Of level sets `…+metrics`: the number of the repetition, from 0. Tracers that need several executions measure by it.
#define METRICS_VARIABLE "XSP_METRICS"
// Launches one after the other: level sets `…@serial`, `xsp run --resolve`. The first is xsp's own.
extern const struct fixed_variable launch_serial_variables[]; // ends with a NULL name
// The same algorithms in every process: --pin-algorithms.
extern const struct fixed_variable launch_pin_variables[]; // ends with a NULL name
// "TensorFlow (A=1, B=0), MXNet (C=1)": what launch_pin_variables pin.
void pin_variables_explain(struct buf *out);

#endif
