// SPDX-License-Identifier: Apache-2.0
// Leveled experiments with unmodified programs: executions over level sets and repetitions, into one file.
#ifndef XSP_EXPERIMENT_PROGRAM_EXPERIMENT_H
#define XSP_EXPERIMENT_PROGRAM_EXPERIMENT_H

#include "base/message.h"
#include "experiment/noise.h"
#include "experiment/progress.h"
#include "launch/launch.h"

#define RUN_SETS_MAXIMUM 16

struct run_experiment_options {
  struct launch_options run; // levels are set per execution
  struct level_set sets[RUN_SETS_MAXIMUM];
  size_t set_count;
  bool serialize;      // without sets given: adds the serialised one to those that are found
  bool metrics;        // the same with hardware metrics
  bool sets_are_given; // by --levels: all are run. Else sets that add nothing to this program are left out
  unsigned runs;       // executions per level set
  unsigned warmups;    // before them, with the deepest set; kept as warm-up observations
  bool resolve;
  bool aggregate;           // one execution, whose spans are folded into the calling context tree
  const char *output_path;  // patterns are expanded already
  const char *command_line; // as typed
  bool force;
  message_fn message;   // what goes on; NULL: quiet
  message_fn warning;   // what the user must see
  progress_fn progress; // of the executions; may be NULL
};

struct run_experiment_result {
  struct store *store;                      // finished, open for reading; owned by the caller
  struct launch_result first;               // of the first execution of all: the summary's
  int exit_status;                          // what xsp run exits with
  size_t ambiguous_before, ambiguous_after; // with resolve
  bool was_interrupted;
  unsigned executions; // made, warm-up and the serialised one too
  bool has_noise;      // several were counted
  struct noise noise;
};

// On error no output file appears and an old one is untouched; result->first has whether the program ran.
enum status experiment_run(const struct run_experiment_options *options, struct run_experiment_result *ret_result,
                           struct error *err) MUST_CHECK;

#endif
