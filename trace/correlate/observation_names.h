// SPDX-License-Identifier: Apache-2.0
// The names of a run's observations. Private to correlate.
#ifndef XSP_CORRELATE_OBSERVATION_NAMES_H
#define XSP_CORRELATE_OBSERVATION_NAMES_H

#include "correlate/leaves.h"

// How many different names they have, after relation_climb; 0: one, or too many to be kinds of calls.
enum status observation_names_count(struct store *store, int64_t run_id, const struct relation *relation,
                                    const struct leaves *leaves, size_t *ret_count, struct error *err) MUST_CHECK;

#endif
