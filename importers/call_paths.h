// SPDX-License-Identifier: Apache-2.0
// Which Python frames enclose which spans of a thread. A profiler records frames as intervals like all else; they become
// one text a span, "outermost;…;innermost", on the outermost spans within a frame. Inside this room only. One thread.
//
// Frames and spans come in any order. They are kept until the end, when one sweep per thread relates them: only then is it
// known what encloses what.
#ifndef XSP_IMPORTERS_CALL_PATHS_H
#define XSP_IMPORTERS_CALL_PATHS_H

#include "base/vector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_PATH_BYTES ((size_t)16 << 10)        // of one path; beyond, its outermost frames are left out: "…;inner"
#define CALL_PATHS_BYTES_MOST ((size_t)128 << 20) // of all different paths of one file

struct call_interval {
  int64_t start_ns, end_ns;
  uint64_t what; // which frame or span: call_interval_layer, else private
};
struct call_thread { // one host thread; starts as {0}
  VECTOR(struct call_interval) intervals;
  size_t frame_count; // of the intervals
};
void call_thread_frame(struct call_thread *thread, int64_t start_ns, int64_t end_ns, uint32_t name);
// span_id < 2^62
void call_thread_span(struct call_thread *thread, int64_t start_ns, int64_t end_ns, int64_t span_id, bool is_layer);
// By start, longer first, then in the order they were added.
void call_thread_sort(struct call_thread *thread);
int64_t call_interval_layer(const struct call_interval *interval); // its span's id; 0: not a layer's span
void call_thread_done(struct call_thread *thread);

struct call_sink { // what a sweep needs, and what it finds goes to
  void *context;
  const char *(*text)(void *context, uint32_t name, size_t *ret_length);
  uint32_t (*intern)(void *context, const char *path, size_t length); // called once a path
  void (*found)(void *context, int64_t span_id, uint32_t path);
};
struct call_paths; // the different paths of one file
struct call_paths *call_paths_create(const struct call_sink *sink);
// Finds the spans of a thread whose innermost enclosing frame is another than that of the span around them, and hands
// their paths over. Sorts the thread's intervals.
void call_paths_sweep(struct call_paths *paths, struct call_thread *thread);
uint64_t call_paths_left_out(const struct call_paths *paths); // spans without their path: CALL_PATHS_BYTES_MOST reached
void call_paths_free(struct call_paths *paths);               // NULL is fine

#endif
