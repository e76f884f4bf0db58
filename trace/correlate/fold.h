// SPDX-License-Identifier: Apache-2.0
// Folds spans into the calling context tree while they are recorded, so that file and memory are bounded by contexts. The
// tree is that of a stored trace, to the nanosecond (context_metrics.h has both). One thread.
#ifndef XSP_CORRELATE_FOLD_H
#define XSP_CORRELATE_FOLD_H

#include "store/store.h"

struct correlate_fold;
struct correlate_folded { // of the present run
  int64_t spans[XSP_LEVEL_COUNT];
};

// From here on spans and tags of `store`, which is being written, are counted instead of stored; spans of category "program"
// are stored. One run after the other.
struct correlate_fold *correlate_fold_begin(struct store *store);
// Goes on with the samples that the file has of a run: what a dead writer left.
enum status correlate_fold_resume(struct correlate_fold *fold, int64_t run_id, struct error *err) MUST_CHECK;
struct correlate_folded correlate_fold_counts(const struct correlate_fold *fold);
// Before the store is finished or closed, after the last commit: what came since is lost. NULL is fine.
void correlate_fold_end(struct correlate_fold *fold);

#endif
