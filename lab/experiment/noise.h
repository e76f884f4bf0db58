// SPDX-License-Identifier: Apache-2.0
// Can these figures be trusted? A verdict from the spread of the latencies and from disturbances of the machine.
#ifndef XSP_EXPERIMENT_NOISE_H
#define XSP_EXPERIMENT_NOISE_H

#include "base/buf.h"
#include "experiment/system.h"

enum noise_grade { NOISE_QUIET, NOISE_FAIR, NOISE_NOISY };

struct noise {
  enum noise_grade grade;
  double spread_pct; // largest over batches: (75th − 25th percentile) / median of the model latency; NaN: fewer than 4
  int64_t spread_batch; // where it was; 0: there are no batches
  double steal_pct;     // of the machine's CPU time while measuring
  double throttled_pct; // of wall time
  double other_pct;     // CPU time of others, of the machine's CPU time
  double quota_cpus;    // NaN: none
  char governor[64];
};

// Judges a correlated store by the latencies of its counted observations and by what changed between two readings. `levels`:
// only runs of this level set; NULL: all, since each has a part in an overhead. *ret_is_known: at least two comparable
// observations were counted.
enum status noise_judge(struct store *store, const struct level_set *levels, const struct disturbance *before,
                        const struct disturbance *after, struct noise *ret_noise, bool *ret_is_known,
                        struct error *err) MUST_CHECK;
enum status noise_record(struct store *store, const struct noise *noise, struct error *err) MUST_CHECK; // as notes
// What the CPU quota and the hypervisor took while a program ran, as notes "throttled_pct" (of wall time, of all processors added up) and
// "steal_pct" (of the machine's CPU time).
enum status noise_record_stolen(struct store *store, const struct disturbance *before, const struct disturbance *after,
                                struct error *err) MUST_CHECK;
// One to four lines for a person, each ending in a newline.
void noise_explain(const struct noise *noise, struct buf *out);

#endif
