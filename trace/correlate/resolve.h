// SPDX-License-Identifier: Apache-2.0
// Parents that parallel launches leave ambiguous, found in an execution whose launches went one after the other.
#ifndef XSP_CORRELATE_RESOLVE_H
#define XSP_CORRELATE_RESOLVE_H

#include "base/buf.h"
#include "correlate/join.h"
#include "store/store.h"

struct resolution {
  size_t before, after;      // spans without a parent because two candidates cross, in all runs of the file
  size_t left[JOIN_REASONS]; // of those that stay so
  uint32_t level_mask;       // of the runs that have any
};
// Counts what is ambiguous. The runs are correlated.
enum status resolve_count(struct store *store, struct resolution *ret_resolution, struct error *err) MUST_CHECK;
// Names the parents that `scratch` knows, and notes what was found. Correlate `store` again afterwards.
enum status resolve_join(struct store *store, struct store *scratch, struct resolution *resolution,
                         struct error *err) MUST_CHECK;
// "12 of 14 ambiguous parents were found by …": one sentence without a newline.
void resolve_explain(const struct resolution *resolution, struct buf *out);

#endif
