// SPDX-License-Identifier: Apache-2.0
// What programs do in their loops beside their models, by the functions of libraries that do it. Rules judge it.
#ifndef XSP_ANALYZE_FINDINGS_WORK_KINDS_H
#define XSP_ANALYZE_FINDINGS_WORK_KINDS_H

#include "correlate/correlate.h"

#define WORK_PATTERNS_MOST 12

struct work_kind {
  const char *key, *title; // title: "%s" is the function of the program; NULL: F29 is not about it
  const char *advice;
  const char *files[WORK_PATTERNS_MOST];     // of a frame below the program's line; NULL: as far as there are
  const char *functions[WORK_PATTERNS_MOST]; // of that frame; none: any
};
enum { // places in work_kinds[]: of a path the first one that matches counts
  WORK_NONE,
  WORK_BLOCKED,
  WORK_SLEEP,
  WORK_OWN,
  WORK_IMPORT,
  WORK_PREDICT,
  WORK_INPUT,
  WORK_TREES, // computed by their library
  WORK_TREE_CALLS,
  WORK_CHECKS,
  WORK_READS,   // of numbers
  WORK_OUTPUTS, // whole arrays, and waits that measure: what the program must have
  WORK_TRANSFERS,
  WORK_STACKS,
  WORK_TRACING,
  WORK_GRAPH,
  WORK_EXECUTION,
  WORK_ITERATOR,
  WORK_CHECKPOINT,
  WORK_SESSION,
  WORK_LOADING,
  WORK_CONVERSION,
  WORK_MODEL,
  WORK_COMPILATION,
  WORK_EAGER_KERAS,
  WORK_EAGER,
  WORK_DETOKENIZER,
  WORK_TOKENIZER,
  WORK_PICTURES,
  WORK_DECODING,
  WORK_LOGGING,
  WORK_ROWS,
  WORK_COPY,
  WORK_STATES,
  WORK_TEXT,
  WORK_METRICS,
  WORK_PROGRAMS,
  WORK_ANSWER,
  WORK_IDLE,
  WORK_PROFILER,
  WORK_MOVES,
  WORK_JAX_RANDOM, // the last ones: all others count before them
  WORK_JAX_EAGER,
  WORK_JAX_CALLS,
  WORK_KINDS
};
extern const struct work_kind work_kinds[WORK_KINDS];

// The first kind that the frame matches; WORK_NONE.
unsigned work_kind_of(const struct store_frame *frame);
enum work_owner {
  WORK_ANYBODYS,
  WORK_MODELS,   // of a library that computes models: its time is the model's
  WORK_CONVERTS, // in such a library: makes tensors of lists, or lists of tensors, an element at a time
};
enum work_owner work_owner_of(const struct store_frame *frame);

#endif
