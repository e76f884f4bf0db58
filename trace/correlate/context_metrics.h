// SPDX-License-Identifier: Apache-2.0
// Metrics of calling contexts: what the spans of each call path took, and what the paths above them add up to. Sums are
// integers, so that neither the order of the spans nor the way they came (a stored trace, a drain) changes a figure. Pure;
// one thread at a time.
//
// Own samples of a context are those of the spans that carry it. Its set, which count, minimum, maximum, mean and variance are
// over:
//   host_ns, flops, range_ns    its own samples, which contain those of the contexts below; without own ones, the sets of
//                               the contexts directly below
//   all others                  its own samples and the sets of the contexts directly below
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
  CONTEXT_DEVICE_NS, // durations of executions that are no waits
  CONTEXT_LAUNCHES,  // 1 for each span of kind launch
  CONTEXT_BYTES,     // tag `bytes` of spans of category "memory" that are named "allocate", and CONTEXT_OWN_BYTES
  CONTEXT_FLOPS,     // tag `flops`
  CONTEXT_RANGE_NS, // durations of folded spans without a call path, by name; not in host_ns, since they lie around others
  CONTEXT_GRID_SIZE, // of kernels: the product of tag `grid`; then of `block`, and the other tags by their names
  CONTEXT_BLOCK_SIZE,
  CONTEXT_REGISTERS,
  CONTEXT_SHARED_BYTES,
  CONTEXT_PARALLELISM_PPM,
  CONTEXT_OWN_BYTES, // tag `alloc_own_bytes` of layers: samples of CONTEXT_BYTES, has none itself
  CONTEXT_CPU_NS,    // CPU time of threads' samples
  CONTEXT_WAIT_NS,   // their waits; the four kinds of which follow
  CONTEXT_SLEEP_NS,  // SAMPLE_SLEEP
  CONTEXT_LOCK_NS,
  CONTEXT_IO_NS,
  CONTEXT_CHILD_NS,
  CONTEXT_METRICS, // and, from here on, tags "samples" and "samples_…", by their names
  CONTEXT_METRIC_NONE = UINT32_MAX,
};

__extension__ typedef unsigned __int128 context_squares;
struct context_samples {
  int64_t count, sum, minimum, maximum; // sum: at most INT64_MAX
  context_squares squares;              // sum of squares, exact below 2^128
};

enum context_span {
  CONTEXT_OTHER,
  CONTEXT_ALLOCATION, // named "allocate", of category "memory"
  CONTEXT_WORK,       // other executions, but
  CONTEXT_WAIT,       // of category "sync": no work of a device
  CONTEXT_SAMPLES,    // category "samples", with metrics of instructions in its tags
};
struct context_words { // ids of those words; 0: not in the file
  uint32_t memory, allocate, sync, samples;
};

struct context_metrics { // starts as {0}
  VECTOR(struct context_samples) samples;
  struct map places;      // by context and metric
  VECTOR(char *) sampled; // names of metrics, from CONTEXT_METRICS on
};

// Counts one sample, not negative, of a context that is not 0.
void context_metrics_add(struct context_metrics *metrics, uint32_t context_id, enum context_metric metric,
                         int64_t value);
// What kind of span it is, by its category and its name.
enum context_span context_metrics_span_of(const struct context_words *words, unsigned kind, uint32_t category,
                                          uint32_t name);
// What a finished span of the context adds besides its tags.
void context_metrics_add_span(struct context_metrics *metrics, uint32_t context_id, enum context_span span,
                              unsigned kind, int64_t duration_ns);
// A thread's sample; `kind`: enum sample_kind.
void context_metrics_add_sample(struct context_metrics *metrics, uint32_t context_id, unsigned kind,
                                int64_t duration_ns);
// The metric that a tag with this key is a sample of; CONTEXT_METRIC_NONE: of none.
enum context_metric context_metrics_of_tag(struct context_metrics *metrics, const char *key);
// One sample of a tag of such a span; nothing where that kind has no such metric, or the tag no such value. `text`: the tag's,
// where it is a text.
void context_metrics_add_tag(struct context_metrics *metrics, uint32_t context_id, enum context_span span,
                             enum context_metric metric, const struct store_tag *tag, const char *text);
// Every context with a sample in its set, by metric, in the order of ids. The rows live in `arena`.
void context_metrics_rows(const struct context_metrics *metrics, int64_t run_id, const struct store_call_paths *paths,
                          struct arena *arena, struct store_context_metric **ret_rows, size_t *ret_count);
// Own samples, to be stored and read back. The rows live in `arena`.
void context_metrics_samples(const struct context_metrics *metrics, int64_t run_id, struct arena *arena,
                             struct store_context_sample **ret_rows, size_t *ret_count);
void context_metrics_add_stored(struct context_metrics *metrics, const struct store_context_sample *row);
void context_metrics_done(struct context_metrics *metrics); // frees

#endif
