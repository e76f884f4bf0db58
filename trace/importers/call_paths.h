// SPDX-License-Identifier: Apache-2.0
// The call paths of a thread's spans. A profiler records Python frames as intervals like all else. What encloses a span are
// its callers: frames, and operators that call Python again. Inside this room only. One thread.
//
// Frames and spans come in any order. They are kept until the end, when one sweep per thread relates them: only then is it
// known what encloses what.
#ifndef XSP_IMPORTERS_CALL_PATHS_H
#define XSP_IMPORTERS_CALL_PATHS_H

#include "base/vector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xsp/call_path.h>

struct call_interval {
  int64_t start_ns, end_ns;
  uint64_t what; // which frame or span: call_interval_layer, else private
  uint32_t name, stack;
};
// The parts of "file.py(12): function"; false: it looks otherwise.
struct call_frame_place {
  size_t file_length, function_at;
  int64_t line;
};
bool call_frame_place(const char *text, struct call_frame_place *ret_place);

struct call_thread { // one host thread; starts as {0}
  VECTOR(struct call_interval) intervals;
  size_t frame_count; // of the intervals
  bool has_stacks, is_sorted;
};
void call_thread_frame(struct call_thread *thread, int64_t start_ns, int64_t end_ns, uint32_t name);
struct call_span {
  int64_t start_ns, end_ns, span_id; // span_id < 2^59
  uint32_t name;
  uint32_t stack; // path of the frames around it that its source recorded with it; 0: none
  enum xsp_frame_kind kind;
  bool is_layer;
  bool is_no_frame; // has no path and is in none: a step, which has another name each time
};
void call_thread_span(struct call_thread *thread, const struct call_span *span);
// By start, longer first, then in the order they were added.
void call_thread_sort(struct call_thread *thread);
int64_t call_interval_layer(const struct call_interval *interval); // its span's id; 0: not a layer's span
void call_thread_done(struct call_thread *thread);

struct call_sink { // where what a sweep finds goes to
  void *context;
  // Once a path that a span has or is in. `caller`: what it returned for the caller; 0: none. 0 on failure.
  uint32_t (*path)(void *context, uint32_t caller, enum xsp_frame_kind kind, uint32_t name);
  void (*found)(void *context, int64_t span_id, uint32_t path);
};
struct call_paths; // the different paths of one file
struct call_paths *call_paths_create(const struct call_sink *sink);
// Hands over the path of each span that is in a frame or has a stack. Sorts the thread's intervals.
void call_paths_sweep(struct call_paths *paths, struct call_thread *thread);
uint64_t call_paths_left_out(const struct call_paths *paths); // spans without their path, which has too many frames
void call_paths_free(struct call_paths *paths);               // NULL is fine

#endif
