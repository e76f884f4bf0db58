// SPDX-License-Identifier: Apache-2.0
// Parents that parallel launches leave ambiguous, found in an execution whose launches went one after the other.
#ifndef XSP_PROGRAMS_RUN_RESOLVE_H
#define XSP_PROGRAMS_RUN_RESOLVE_H

#include "base/buf.h"
#include "programs/xsp/run_capture.h"
#include "programs/xsp/run_join.h"

struct run_resolution {
  size_t before, after;      // spans without a parent because two candidates cross, in all runs of the file
  size_t left[JOIN_REASONS]; // of those that stay so
  uint32_t level_mask;       // of the runs that have any
};
// Counts what is ambiguous. The runs are correlated.
enum status run_resolve_count(struct store *store, struct run_resolution *ret_resolution, struct error *err) MUST_CHECK;
// A file for the serialised execution, beside the output, and its one run. It never appears under its own name.
enum status run_resolve_scratch(const char *output_path, uint32_t level_mask, struct store **ret_scratch,
                                struct store_run *ret_run, struct error *err) MUST_CHECK;
// Names the parents that `scratch` knows, and notes what was found. Correlate `store` again afterwards.
enum status run_resolve_join(struct store *store, struct store *scratch, struct run_resolution *resolution,
                             struct error *err) MUST_CHECK;
// "12 of 14 ambiguous parents were found by …": one sentence without a newline.
void run_resolve_explain(const struct run_resolution *resolution, struct buf *out);

#endif
