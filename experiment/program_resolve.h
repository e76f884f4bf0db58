// SPDX-License-Identifier: Apache-2.0
// xsp run --resolve.
#ifndef XSP_EXPERIMENT_PROGRAM_RESOLVE_H
#define XSP_EXPERIMENT_PROGRAM_RESOLVE_H

#include "experiment/program_experiment.h"

struct program_resolve {
  const struct run_experiment_options *options;
  struct store *store; // correlated; again when parents were found
  struct streams *streams;
  // Filled:
  bool was_executed, was_interrupted;
  size_t before, after; // ambiguous parents
};
enum status program_resolve(struct program_resolve *resolve, struct error *err) MUST_CHECK;

#endif
