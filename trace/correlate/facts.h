// SPDX-License-Identifier: Apache-2.0
// What `xsp info` says of a run, counted from its spans and samples.
#ifndef XSP_CORRELATE_FACTS_H
#define XSP_CORRELATE_FACTS_H

#include "store/store.h"

struct info_run {
  const struct store_run *run;
  size_t span_count;
  size_t spans_by_level[XSP_LEVEL_COUNT];
  size_t open_count;
  size_t sample_count;         // of threads
  size_t parents[BASIS_COUNT]; // by basis
  size_t observation_count;    // all, warm-up too
  size_t warmup_count;
  size_t track_count;
};
struct info_experiment {
  const struct store_experiment *experiment;
  struct store_system_value *system;
  size_t system_count;
  struct store_system_value *workload; // what is known of the model
  size_t workload_count;
  struct info_run *runs;
  size_t run_count;
};
struct info_file {
  const char *path;
  int format_version;
  int64_t size_bytes; // -1: unknown
  struct info_experiment *experiments;
  size_t experiment_count;
  struct store_note *notes; // in the order they were made
  size_t note_count;
};

// Everything lives in `arena` and in the store.
enum status correlate_info_collect(struct store *store, struct arena *arena, struct info_file *ret_file,
                                   struct error *err) MUST_CHECK;

#endif
