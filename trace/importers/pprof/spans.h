// SPDX-License-Identifier: Apache-2.0
// Spans of what xsp exported to pprof: a context, which is all spans of one chain of names, is one span again. Inside this
// folder only.
#ifndef XSP_IMPORTERS_PPROF_SPANS_H
#define XSP_IMPORTERS_PPROF_SPANS_H

#include "importers/pprof/profile.h"

#define PPROF_AT_THE_TOP UINT32_MAX
struct pprof_node { // of the tree of contexts, after the one above it
  uint32_t above, path, name, category;
  unsigned level; // XSP_LEVEL_COUNT: not in the file
  bool is_execution;
  int64_t count, own_ns, samples; // spans, their own time, samples of instructions; none: a frame around spans
  size_t first_tag, tag_count;    // in pprof_spans.tags
  int64_t all_ns, next_ns;        // with what is below it; where the next one below it begins
  int64_t span_id;                // its own, or that of the span around it
};
enum { PPROF_SPANS, PPROF_EXECUTIONS, PPROF_TRACKS };
struct pprof_spans { // of one run
  VECTOR(struct pprof_node) nodes;
  struct map node_of;                  // by the one above and its path
  VECTOR(struct store_tag) tags, read; // of nodes; of the sample that is being taken
  uint32_t track_id[PPROF_TRACKS];
};

static inline bool pprof_node_is_span(const struct pprof_node *node)
{
  return node->count > 0 || node->samples > 0;
}
// The node of a path below another one.
uint32_t pprof_node_at(struct pprof_spans *spans, uint32_t above, uint32_t path, uint32_t name);
// What labels of a sample of spans have of its node, before the node's count grows: level, kind, category, and its tags, of which those stay
// that all its samples have. Returns how many executions a span stands for.
int64_t pprof_take_labels(struct import *import, struct pprof_spans *spans, struct pprof_node *node,
                          const struct pprof_sample *sample);
// Lays the spans of the current run out: what is below a span within it, executions beside it on a track of their own.
enum status pprof_spans_put(struct import *import, struct pprof_spans *spans, struct error *err) MUST_CHECK;
void pprof_spans_done(struct pprof_spans *spans);

#endif
