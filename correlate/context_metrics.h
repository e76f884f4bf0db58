// SPDX-License-Identifier: Apache-2.0
// Metrics of calling contexts: what the spans of each call path took, and what the paths above them add up to. Sums are
// integers, so that neither the order of the spans nor the way they came (a stored trace, a drain) changes a figure. Pure;
// one thread at a time.
//
// Own samples of a context are those of the spans that carry it. Its set, which count, minimum, maximum, mean and variance are
// over:
//   host_ns, flops, range_ns    its own samples, which contain those of the contexts below; without own ones, the sets of
//                               the contexts directly below
//   device_ns, launches, bytes  its own samples and the sets of the contexts directly below
// sum: of the own samples, or the sums directly below, of host_ns and flops the larger of the two (spans below may have run side
// by side, or not inside of its own), else both together. exclusive_sum: sum less the sums directly below. So exclusive sums
// are never negative, and add up to the sums of the roots.
#ifndef XSP_CORRELATE_CONTEXT_METRICS_H
#define XSP_CORRELATE_CONTEXT_METRICS_H

#include "base/map.h"
#include "base/vector.h"
#include "store/store.h"

#include <stdint.h>

enum context_metric {
  CONTEXT_HOST_NS,   // durations of spans of kind sync and launch that have a call path
  CONTEXT_DEVICE_NS, // durations of executions
  CONTEXT_LAUNCHES,  // 1 for each span of kind launch
  CONTEXT_BYTES,     // tag `bytes` of spans of category "memory" that are named "allocate"
  CONTEXT_FLOPS,     // tag `flops`
  CONTEXT_RANGE_NS, // durations of folded spans without a call path, by name; not in host_ns, since they lie around others
  CONTEXT_METRICS,
};

__extension__ typedef unsigned __int128 context_squares;
struct context_samples {
  int64_t count, sum, minimum, maximum; // sum: at most INT64_MAX
  context_squares squares;              // sum of squares, exact below 2^128
};

struct context_metrics { // starts as {0}
  VECTOR(struct context_samples) samples;
  struct map places; // by context and metric
};

// Counts one sample, not negative, of a context that is not 0.
void context_metrics_add(struct context_metrics *metrics, uint32_t context_id, enum context_metric metric,
                         int64_t value);
// The same of a tag's value; nothing where that is no such number.
void context_metrics_add_tag(struct context_metrics *metrics, uint32_t context_id, enum context_metric metric,
                             const struct store_tag *tag);
// What a span of the context adds besides its tags; nothing where it was never finished.
void context_metrics_add_span(struct context_metrics *metrics, uint32_t context_id, unsigned kind, int64_t duration_ns);
// Every context with a sample in its set, by metric, in the order of ids. The rows live in `arena`.
void context_metrics_rows(const struct context_metrics *metrics, int64_t run_id, const struct store_call_paths *paths,
                          struct arena *arena, struct store_context_metric **ret_rows, size_t *ret_count);
// Own samples, to be stored and read back. The rows live in `arena`.
void context_metrics_samples(const struct context_metrics *metrics, int64_t run_id, struct arena *arena,
                             struct store_context_sample **ret_rows, size_t *ret_count);
void context_metrics_add_stored(struct context_metrics *metrics, const struct store_context_sample *row);
void context_metrics_done(struct context_metrics *metrics); // frees

#endif
