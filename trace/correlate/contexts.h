// SPDX-License-Identifier: Apache-2.0
// Calling contexts: spans of equal chains of names, from the top down, share one. Flame graphs and folded stacks are
// made of them. One thread at a time. Parents are the caller's: timeline_nest (answers/report/exports/timeline.h) makes those that
// count time once. A span with a call path has the path's frames around it in place of those of its parents that are in a
// path too: the innermost parent in none is the caller of the outermost frame.
#ifndef XSP_CORRELATE_CONTEXTS_H
#define XSP_CORRELATE_CONTEXTS_H

#include "base/map.h"
#include "base/vector.h"

#define CONTEXT_NONE UINT32_MAX

struct context {
  uint32_t parent;  // its id; CONTEXT_NONE: at the top
  uint32_t name;    // the caller's number
  uint8_t level;    // of its first span
  uint32_t first;   // place of that span in the call that added it; count 0: none
  int64_t count;    // spans
  int64_t self_ns;  // sum over its spans, at most INT64_MAX
  int64_t total_ns; // the same of it and all contexts below it
  int64_t first_ns; // earliest start; INT64_MAX: no span
};

struct contexts {             // starts as {.most = …}
  VECTOR(struct context) all; // by id: 0, 1, … in order of arrival; parents before their children
  struct map ids;             // by parent and name
  struct map path_ids;        // of call paths, by the context around their outermost frame and their number
  uint32_t most;    // contexts at most, about 130 bytes each. Further spans count in the context around theirs …
  int64_t folded;   // … these,
  int64_t left_out; // or nowhere, where they are at the top
};

// Call paths of a file: frames and their callers, which come first.
struct context_paths {
  const uint32_t *caller; // by number - 1: another number, 0: none
  const uint32_t *name;   // of the frame
  const uint8_t *level;   // where no span has it
};

// Spans by place. The arrays are borrowed for the call; CONTEXT_NONE as a parent: none. Parents may come after their
// children, and in a circle: a damaged file's.
struct context_spans {
  size_t count;
  const uint32_t *parent, *name; // parent: a place
  const uint8_t *level;          // NULL: 0
  const int64_t *start_ns;
  const int64_t *self_ns; // what a span adds to its context, not negative
  const uint32_t *path;   // number of its call path, 0: none; NULL: no span has one
  const struct context_paths *paths;
  const int64_t *stands_for; // how many spans one is; NULL: one
  uint32_t *ret_context;     // by place: the span's context, CONTEXT_NONE: there was no room; NULL: not needed
};

// Adds spans of one run; takes 4 bytes a span for the call, 8 where spans have call paths.
void contexts_add(struct contexts *contexts, const struct context_spans *spans);
void contexts_done(struct contexts *contexts); // frees

#endif
