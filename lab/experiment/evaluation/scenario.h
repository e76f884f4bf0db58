// SPDX-License-Identifier: Apache-2.0
// How inferences arrive: the scenarios of MLPerf Inference (LoadGen, docs/evaluate.md). A query is an inference of pictures that were
// prepared before, so that its latency is waiting and inference alone.
#ifndef XSP_EXPERIMENT_EVALUATION_SCENARIO_H
#define XSP_EXPERIMENT_EVALUATION_SCENARIO_H

#include "experiment/evaluation/data_set.h"
#include "experiment/lane.h"

#include <signal.h>

enum scenario_kind { SCENARIO_SINGLE_STREAM, SCENARIO_MULTI_STREAM, SCENARIO_SERVER, SCENARIO_OFFLINE, SCENARIO_KINDS };
struct scenario {
  enum scenario_kind kind;
  int64_t batch;   // pictures of a query
  double qps;      // server: queries a second, as a Poisson process; 0: the most that keep to the bound
  double bound_ms; // server: of the 99th percentile
  double seconds;  // goes on for at least so long
  size_t queries;  // and has at least so many
};
struct scenario_result {
  int64_t run_id;       // 0: not measured
  double qps;           // server: offered
  double qps_upper;     // of a search: the lowest rate at which the bound was surely missed; NaN: none
  double seconds;       // from the first query's arrival to the last one's end
  double *latencies_ms; // of queries, from their arrival, in their order; owned
  size_t query_count;
  bool was_interrupted; // before it had lasted as long as it should
  double wait_ms;       // server: mean part of it before the inference
  double
      queue_gap_ms; // server: mean time from the end of a query to the start of one that waited for it; NaN: none did
};

// A model's process and what it is asked about. One thread.
struct scenario_lane {
  struct lane *lane;
  struct store *store;
  struct store_run run; // experiment_id, levels …; each scenario has runs of its own, from run_id on
  const struct data_set *set;
  size_t item_count, sample_count; // of the set; of pictures that are prepared and kept
  unsigned warmups;
  const volatile sig_atomic_t *interrupted;
};

const char *scenario_name(enum scenario_kind kind); // "single-stream"
bool scenario_parse(const char *name, enum scenario_kind *ret_kind);
// The figure that MLPerf ranks by: "p90_ms", "p99_ms", "qps", "samples_per_s".
const char *scenario_metric(enum scenario_kind kind);
// Before anything is measured. STATUS_INPUT: the model's batch size is fixed, and that of a scenario's queries is another.
enum status scenario_check(struct runner *runner, const struct scenario *scenarios, size_t count,
                           struct error *err) MUST_CHECK;
enum status scenario_load(struct scenario_lane *lane, int64_t batch, struct error *err) MUST_CHECK;
// How many were later; of so many queries, whether 99 % surely keep the bound, or surely do not (early_stopping.c).
size_t scenario_late(const double *latencies_ms, size_t count, double bound_ms);
bool scenario_keeps_bound(size_t count, size_t late);
bool scenario_misses_bound(size_t count, size_t late);
// `run_id` is counted up for each run that it adds.
enum status scenario_measure(struct scenario_lane *lane, const struct scenario *scenario, int64_t *run_id,
                             struct scenario_result *ret_result, struct error *err) MUST_CHECK;
// Once the store is correlated: what was measured.
enum status scenario_read(struct store *store, struct scenario_result *result, struct error *err) MUST_CHECK;

#endif
