// SPDX-License-Identifier: Apache-2.0
// A predictor whose inferences a program makes (docs/predictor_protocol.md): what predictor_program shares with predictors
// that bring a program of their own. The functions are those of struct predictor. In the runner only, one thread.
#ifndef XSP_FRAMEWORKS_PROGRAM_REQUESTS_H
#define XSP_FRAMEWORKS_PROGRAM_REQUESTS_H

#include "frameworks/common/layer_publish.h"
#include "frameworks/common/predictor.h"
#include "frameworks/program/messages.h"
#include "frameworks/program/process.h"

struct program_state {
  struct predictor_state common; // first
  struct program program;
  const char *path;           // of the program, in errors; the command's
  bool is_guest;              // of the capture session: it publishes its spans itself, and reports no layers
  bool is_own;                // a script of xsp's, which opens functions, too
  struct program_facts facts; // in the caller's arena
  struct buf request;
  // The inference whose layers are still to be published
  struct arena arena;
  struct program_prediction prediction;
  uint64_t start_ns;     // when it began, CLOCK_MONOTONIC
  uint64_t simulated_ns; // of simulated time: where the last prediction ended
  void *output;          // values of the one that was read last; owned
  struct layer_publisher *publisher;
};

// Starts the program and asks it to open the model. `command` and its strings must outlive the model.
enum status program_open(struct predictor_model *model, const struct program_command *command, struct arena *arena,
                         struct error *err) MUST_CHECK;
enum status program_prepare(struct predictor_model *model, const struct tensor *inputs, struct error *err) MUST_CHECK;
enum status program_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err) MUST_CHECK;
// outputs.c
void program_announce_outputs(struct predictor_model *model); // those of the last prediction
enum status program_read_output(struct predictor_model *model, size_t number, struct tensor *ret_output,
                                struct error *err) MUST_CHECK;
enum status program_flush(struct predictor_model *model, struct error *err) MUST_CHECK;
void program_close(struct predictor_model *model);

#endif
