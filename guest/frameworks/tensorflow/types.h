// SPDX-License-Identifier: Apache-2.0
// What TensorFlow's types of operations are. For the predictor and for the tracer in the traced process.
#ifndef XSP_FRAMEWORKS_TENSORFLOW_TYPES_H
#define XSP_FRAMEWORKS_TENSORFLOW_TYPES_H

#include <stdbool.h>

// "constant", "variable", "input", "output" or "control" of an operation that computes nothing; NULL: it computes.
const char *tensorflow_category(const char *type);
bool tensorflow_runs_graph(const char *type); // it executes other operations

#endif
