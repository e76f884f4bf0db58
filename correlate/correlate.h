// SPDX-License-Identifier: Apache-2.0
// Who is whose parent (contract: "Who is whose parent"), which observation a span belongs to, self times.
// Front door of correlate; includes the store's, because what it hands on is what the store holds plus the tree.
#ifndef XSP_CORRELATE_CORRELATE_H
#define XSP_CORRELATE_CORRELATE_H

#include "store/store.h"

struct correlate_counts {
  size_t basis[BASIS_COUNT];   // spans by basis
  size_t outside_observations; // spans in no observation
};
// The pure core: no store, no I/O. `spans` needs start_ns, duration_ns, track_id, level, kind and may have the others as
// STORE_LEAN loads them; `tracks` of the run say which have foreign clocks. Warm-up spans are those with a tag `warmup`
// (int, not 0). Result arrays live in `arena`. STATUS_INPUT where ids repeat or refer outside int64.
enum status correlate_spans(const struct store_spans *spans, const struct store_track *tracks, size_t track_count,
                            const int64_t *warmup_span_ids, size_t warmup_count, struct arena *arena,
                            struct store_derived *ret_derived, struct store_observation **ret_observations,
                            size_t *ret_observation_count, struct correlate_counts *ret_counts,
                            struct error *err) MUST_CHECK;
// Correlates every run of a store that is being written and puts the result into it. Model spans named "ProfilerStep#N"
// are steps, whether or not they are flagged so. At its peak some 60 bytes a span of the largest run.
enum status correlate_store(struct store *store, struct error *err) MUST_CHECK;
// Makes sure that an opened file's runs are correlated: where the file lacks it, in memory (store_overlay_derived).
enum status correlate_ensure(struct store *store, struct error *err) MUST_CHECK;

#endif
