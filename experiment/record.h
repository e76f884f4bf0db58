// SPDX-License-Identifier: Apache-2.0
// What every experiment's file records besides its spans: systems, experiments, the noise verdict, how it ended.
#ifndef XSP_EXPERIMENT_RECORD_H
#define XSP_EXPERIMENT_RECORD_H

#include "base/message.h"
#include "experiment/noise.h"
#include "format/level.h"

// Adds the row and its system: values of system_describe, then `more`. Fills row->created_ns, system_id and xsp_version.
enum status record_experiment(struct store *store, struct store_experiment *row, const struct store_system_value *more,
                              size_t more_count, struct error *err) MUST_CHECK;
// Judges a correlated store by the latencies of its counted observations and by what changed between two readings. `levels`:
// only runs of this level set; NULL: all, since each has a part in an overhead. *ret_is_known: at least two comparable
// observations were counted.
enum status record_noise(struct store *store, const struct level_set *levels, const struct disturbance *before,
                         const struct disturbance *after, struct noise *noise, bool *ret_is_known,
                         struct error *err) MUST_CHECK;
enum status record_verdict(struct store *store, const struct noise *noise, struct error *err) MUST_CHECK; // as notes
// After a failure: what was measured stays in OUTPUT.partial, which `warning` reports; without any measurement nothing stays.
void record_give_up(struct store *store, bool has_measured, bool has_committed, message_fn warning);

#endif
