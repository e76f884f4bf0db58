// SPDX-License-Identifier: Apache-2.0
// The runner's state, and inferences in it: inference.c. One thread.
#ifndef XSP_PROGRAMS_RUNNER_RUNNER_H
#define XSP_PROGRAMS_RUNNER_RUNNER_H

#include "programs/runner/inputs.h"
#include "programs/runner/pictures.h"
#include "programs/runner/samples.h"

struct runner_state {
  struct runner_arguments arguments;
  struct arena arena;
  const struct predictor *predictor;
  struct predictor_model model;
  bool is_open, was_asked_to_end;
  struct inputs inputs;
  struct pictures pictures; // of the coming `infer`
  struct code code;         // around it
  struct samples samples;   // of queries
  uint64_t arrival_ns;      // of the query, CLOCK_MONOTONIC; 0: it does not wait
  struct xsp_site *site;    // of the model span; NULL without a session
  uint16_t interval_track;  // of inferences that are not made in this process; 0: none yet
  uint64_t first_ticks;     // with first_ns: how long a tick is
  uint64_t first_ns;
};

// Requests of trace/format/protocol.h. Errors: those of the predictor, and STATUS_USE for a request that makes no sense.
enum status inference_prepare(struct runner_state *runner, const char *batch, struct error *err) MUST_CHECK;
enum status inference_predict(struct runner_state *runner, const char *batch, const char *kind,
                              struct error *err) MUST_CHECK;
// `output`: whose results are sent; NULL: none.
enum status inference_of_pictures(struct runner_state *runner, const char *kind, const char *output,
                                  struct error *err) MUST_CHECK;
enum status inference_load(struct runner_state *runner, struct error *err) MUST_CHECK;
enum status inference_query(struct runner_state *runner, char **fields,
                            struct error *err) MUST_CHECK; // all of the request

#endif
