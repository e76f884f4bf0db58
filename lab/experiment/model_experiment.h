// SPDX-License-Identifier: Apache-2.0
// Leveled experiments with models: one runner process per variant and level set, their observations interleaved,
// drained while no runner works.
#ifndef XSP_EXPERIMENT_MODEL_EXPERIMENT_H
#define XSP_EXPERIMENT_MODEL_EXPERIMENT_H

#include "base/message.h"
#include "experiment/lane.h"
#include "experiment/noise.h"
#include "experiment/peaks.h"
#include "experiment/progress.h"
#include "experiment/variant.h"
#include "launch/launch.h"

#include <signal.h>

#define PROFILE_BATCHES_MAXIMUM 64
#define PROFILE_SETS_MAXIMUM 16
#define PROFILE_WORKLOAD_MAXIMUM 112

struct profile_options {
  struct runner_options runner; // predictor and library: of each variant
  struct profile_variant variants[PROFILE_VARIANTS_MAXIMUM];
  size_t variant_count;
  bool sequential; // one variant after the other: less memory, but what drifts falls on them unequally
  const char *output_path;
  const char *name;    // experiment name: the model file's name without its ending
  const char *command; // as typed
  struct store_system_value workload[PROFILE_WORKLOAD_MAXIMUM]; // what is known of the model
  size_t workload_count;
  const struct peaks *peaks; // of the CPUs, measured before; NULL: not measured
  const char *tracers;       // XSP_TRACERS for level sets that reach below the layer level; NULL: none
  int64_t batches[PROFILE_BATCHES_MAXIMUM];
  size_t batch_count;
  struct level_set sets[PROFILE_SETS_MAXIMUM];
  size_t set_count;
  unsigned runs;        // counted observations per variant, batch size and level set; with a precision at least
  double precision_pct; // until the 95 % interval of each latency at sets[0] is within this share of it; 0: no matter
  unsigned runs_most;   // with a precision
  unsigned warmups;     // before them; at least one, so that the first inference of a shape is never pooled
  unsigned cold;        // fresh processes per variant, batch size and level set, for a first inference each; 0: none
  bool force;
  progress_fn progress;                     // may be NULL
  message_fn warning;                       // what the user must see
  struct lane_watcher watcher;              // of each lane
  const volatile sig_atomic_t *interrupted; // set by the caller's signal handler: stop after the present observation
};

struct profile_result {
  struct store *store; // finished file, open for reading; owned by the caller
  struct noise noise;
  struct profile_found found[PROFILE_VARIANTS_MAXIMUM]; // framework "": its turn never came
  double seconds;                                       // of wall time, measuring only
  unsigned runs_least, runs_most;                       // of a latency at sets[0], with a precision
  double reach_pct;                                     // the widest such interval, as a share; NaN: not known
  unsigned observations, planned;                       // made and wanted, warm-ups and cold ones among them
  bool was_interrupted;
};

// On error no output file appears and an old one is untouched. What was measured stays in OUTPUT.partial, which options->warning
// reports; without any measurement nothing stays.
enum status experiment_profile(const struct profile_options *options, struct profile_result *ret_result,
                               struct error *err) MUST_CHECK;

#endif
