// SPDX-License-Identifier: Apache-2.0
// The runner's command line, as protocol.h lists it.
#ifndef XSP_PROGRAMS_RUNNER_ARGUMENTS_H
#define XSP_PROGRAMS_RUNNER_ARGUMENTS_H

#include "base/arena.h"
#include "base/error.h"
#include "frameworks/frameworks.h"

#include <stdint.h>

struct named_size {
  const char *name; // --dim
  int64_t size;
};
struct expectation;
struct runner_arguments {
  int control_fd; // -1: not given (the options' errors then go to stderr)
  int values_fd;  // file for tensors that xsp reads; -1: not given
  const char *predictor;
  const char *affinity;
  const char *preprocess, *postprocess; // Python code around predictions; NULL: none
  uint64_t seed;
  struct named_size *dims;
  size_t dim_count;
  struct expectation *expectations; // --expect
  size_t expectation_count;
  struct predictor_options options;
};

// Strings are borrowed from `values` or live in `arena`. control_fd is set as soon as it is known, also where the
// status is an error.
enum status arguments_parse(int count, char **values, struct arena *arena, struct runner_arguments *ret_arguments,
                            struct error *err) MUST_CHECK;

#endif
