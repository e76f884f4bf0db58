// SPDX-License-Identifier: Apache-2.0
// What every experiment's file records besides its spans: systems, experiments, how it ended.
#ifndef XSP_EXPERIMENT_RECORD_H
#define XSP_EXPERIMENT_RECORD_H

#include "base/message.h"
#include "store/store.h"

// Adds the row and its system: values of system_describe and `more`, which replaces those of equal keys. Fills row->created_ns,
// system_id and xsp_version.
enum status record_experiment(struct store *store, struct store_experiment *row, const struct store_system_value *more,
                              size_t more_count, struct error *err) MUST_CHECK;
// After a failure: what was measured stays in OUTPUT.partial, which `warning` reports; without any measurement nothing stays.
void record_give_up(struct store *store, bool has_measured, bool has_committed, message_fn warning);

#endif
