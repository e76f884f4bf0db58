// SPDX-License-Identifier: Apache-2.0
// xsp's own share of a run's time, as measured by its runner inside the inferences.
#ifndef XSP_EXPERIMENT_OWN_SHARE_H
#define XSP_EXPERIMENT_OWN_SHARE_H

#include "store/store.h"

// Fills run->own_pct where it is known.
enum status own_share_measure(struct store *store, struct store_run *run, struct error *err) MUST_CHECK;

#endif
