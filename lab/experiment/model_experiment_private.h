// SPDX-License-Identifier: Apache-2.0
// What model_experiment.c, cold.c, model_spans.c and evaluation.c ask of each other.
#ifndef XSP_EXPERIMENT_MODEL_EXPERIMENT_PRIVATE_H
#define XSP_EXPERIMENT_MODEL_EXPERIMENT_PRIVATE_H

#include "base/arena.h"
#include "base/map.h"
#include "experiment/model_experiment.h"

#include <math.h>

// The rows of an experiment with a model and of its system. Variants run on one machine, but with a library each: each has a system
// row of its own.
enum status model_experiment_add(struct store *store, const struct profile_options *options, size_t variant,
                                 int64_t experiment_id, const struct profile_found *found,
                                 struct error *err) MUST_CHECK;
// First inferences of fresh processes (`xsp profile --cold N`): start, load, one inference, end; N times per variant,
// batch size and level set asked for that has no kernels (none: at M). They are runs of their own, from `first_run_id` on, and
// warm-ups: no statistic pools them with later inferences. An interrupted measurement keeps what was recorded.
enum status cold_measure(const struct profile_options *options, struct store *store, int64_t first_run_id,
                         struct progress *progress, struct error *err) MUST_CHECK;
size_t cold_starts(const struct profile_options *options); // how many processes that is

// xsp's own share of the run's time, as measured by its runner inside the inferences: run->own_pct, where it is known.
enum status model_spans_own_share(struct store *store, struct store_run *run, struct error *err) MUST_CHECK;
// How precise the latency of the run's counted inferences is: half its 95 % interval, in percent of it, and of how many. NaN: not known.
enum status model_spans_reach(struct store *store, int64_t run_id, double *ret_reach_pct, unsigned *ret_count,
                              struct error *err) MUST_CHECK;
// Looks at all values at every fifth more of them, so that looking costs no more than observing: the next time, after `count`.
static inline unsigned model_spans_next_look(unsigned count)
{
  return count + count / 5 + 1;
}
static inline double model_spans_wider(double reach_pct, double other_pct)
{
  return isnan(reach_pct) || reach_pct > other_pct ? reach_pct : other_pct;
}
// What a model's file has of its operators, and which layers have it. Starts as {0}.
struct model_windows {
  struct arena arena;
  struct operator_window *list;
  size_t count;
  struct map looked_at; // by run id: how many of its spans
};
// A file that cannot be read has none, nor has a predictor without `windows`.
void model_spans_read_windows(struct model_windows *windows, const struct predictor *predictor, const char *model_path);
// Gives the run's layers that came since the last call the tags kernel_shape, group, size, mode and source_layers, where there is an
// operator of their name.
enum status model_spans_tag_windows(struct model_windows *windows, struct store *store, int64_t run_id,
                                    struct error *err) MUST_CHECK;
// The same of all runs; windows[i] is that of the experiment with id i + 1.
enum status model_spans_tag_all(struct model_windows *windows, struct store *store, struct error *err) MUST_CHECK;
void model_spans_windows_done(struct model_windows *windows);

#endif
