// SPDX-License-Identifier: Apache-2.0
// Keeps frames and spans while a file is read, then sweeps each thread by start time with two stacks, one of frames and
// one of spans. Called by importers of profilers that record Python frames. Frames that cross others make no sense and
// cost no more than those that nest: what starts later cuts what runs on after it.
#include "importers/call_paths.h"

#include "base/map.h"
#include "base/vector.h"

#include <stdlib.h>
#include <string.h>

// ---- intervals of one thread -----------------------------------------------------------------------------------------
// `what`: of a span IS_SPAN | its id << 1 | is_layer, of a frame its number << 32 | its name.
#define IS_SPAN (UINT64_C(1) << 63)
#define FRAMES_MOST ((size_t)INT32_MAX)

void call_thread_frame(struct call_thread *thread, int64_t start_ns, int64_t end_ns, uint32_t name)
{
  uint64_t what = (uint64_t)thread->frame_count++ << 32 | name;
  *vector_add(&thread->intervals) = (struct call_interval){start_ns, end_ns, what};
}

void call_thread_span(struct call_thread *thread, int64_t start_ns, int64_t end_ns, int64_t span_id, bool is_layer)
{
  *vector_add(&thread->intervals) =
      (struct call_interval){start_ns, end_ns, (uint64_t)span_id << 1 | is_layer | IS_SPAN};
}

int64_t call_interval_layer(const struct call_interval *interval)
{
  bool is_layer = (interval->what & IS_SPAN) != 0 && (interval->what & 1) != 0;
  return is_layer ? (int64_t)((interval->what & ~IS_SPAN) >> 1) : 0;
}

void call_thread_done(struct call_thread *thread)
{
  vector_done(&thread->intervals);
  thread->frame_count = 0;
}

// By start; of equal starts what ends later is outside, of equal intervals the frame, then what came first (ids of spans
// count up).
static int compare(const void *left, const void *right)
{
  const struct call_interval *a = left, *b = right;
  if (a->start_ns != b->start_ns)
    return a->start_ns < b->start_ns ? -1 : 1;
  if (a->end_ns != b->end_ns)
    return a->end_ns > b->end_ns ? -1 : 1;
  return a->what < b->what ? -1 : a->what > b->what;
}

void call_thread_sort(struct call_thread *thread)
{
  if (thread->intervals.count > 0)
    qsort(thread->intervals.items, thread->intervals.count, sizeof *thread->intervals.items, compare);
}

// ---- paths: a tree of frames, each path once -------------------------------------------------------------------------
struct node {
  uint32_t parent; // 0: none
  uint32_t name;
  uint32_t path;    // interned text; 0: not made yet
  bool is_left_out; // no room for its text
};
struct call_paths {
  struct call_sink sink;
  VECTOR(struct node) nodes; // [0] is the root
  struct map places;         // (parent, name) to the place in nodes
  size_t bytes;              // of texts
  uint64_t left_out;
  char text[CALL_PATH_BYTES];
};

struct call_paths *call_paths_create(const struct call_sink *sink)
{
  struct call_paths *paths = memory_new(1, sizeof *paths);
  paths->sink = *sink;
  (void)vector_add(&paths->nodes);
  return paths;
}

void call_paths_free(struct call_paths *paths)
{
  if (paths == NULL)
    return;
  vector_done(&paths->nodes);
  map_done(&paths->places);
  free(paths);
}

uint64_t call_paths_left_out(const struct call_paths *paths)
{
  return paths->left_out;
}

// The path of a frame called `name` within the path `parent`.
static uint32_t path_node(struct call_paths *paths, uint32_t parent, uint32_t name)
{
  uint64_t *place = map_at(&paths->places, (struct map_key){parent, name}, NULL);
  if (*place == 0) {
    *place = paths->nodes.count;
    *vector_add(&paths->nodes) = (struct node){.parent = parent, .name = name};
  }
  return (uint32_t)*place;
}

// Written from its innermost frame, at the buffer's end, outwards.
static uint32_t make_text(struct call_paths *paths, uint32_t node)
{
  static const char more[] = "\xe2\x80\xa6;"; // …
  char *begin = paths->text + sizeof more - 1, *at = paths->text + sizeof paths->text;
  for (uint32_t up = node; up != 0; up = paths->nodes.items[up].parent) {
    size_t length, separator = up == node ? 0 : 1;
    const char *name = paths->sink.text(paths->sink.context, paths->nodes.items[up].name, &length);
    if (length + separator > (size_t)(at - begin)) {
      at -= sizeof more - 1;
      memcpy(at, more, sizeof more - 1);
      if (separator == 0) // the innermost frame alone is too long
        return 0;
      break;
    }
    at -= separator;
    if (separator != 0)
      *at = ';';
    at -= length;
    memcpy(at, name, length);
  }
  size_t length = (size_t)(paths->text + sizeof paths->text - at);
  if (length > CALL_PATHS_BYTES_MOST - paths->bytes)
    return 0;
  paths->bytes += length;
  return paths->sink.intern(paths->sink.context, at, length);
}

static void hand_over(struct call_paths *paths, int64_t span_id, uint32_t at)
{
  struct node *node = &paths->nodes.items[at];
  if (node->path == 0 && !node->is_left_out) {
    node->path = make_text(paths, at);
    node->is_left_out = node->path == 0;
  }
  if (node->is_left_out)
    paths->left_out++;
  else
    paths->sink.found(paths->sink.context, span_id, node->path);
}

// ---- the sweep -------------------------------------------------------------------------------------------------------
struct open_interval {
  int64_t end_ns;
  uint32_t node;  // a frame: its path; a span: the path of its innermost frame
  uint32_t frame; // a span's innermost frame, 0: none; frames differ by their number
};
typedef VECTOR(struct open_interval) open_stack; // ends fall from its bottom to its top

// Pops what ended before `start_ns`. What ends just there may still enclose what has no length.
static void drop_ended(open_stack *stack, int64_t start_ns)
{
  while (stack->count > 0 && stack->items[stack->count - 1].end_ns < start_ns)
    stack->count--;
}

// The innermost one that ends no sooner, counted from 1; 0: none.
static size_t find_enclosing(const open_stack *stack, int64_t end_ns)
{
  size_t low = 0, high = stack->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (stack->items[middle].end_ns >= end_ns)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void sweep_frame(struct call_paths *paths, open_stack *frames, const struct call_interval *frame)
{
  frames->count = find_enclosing(frames, frame->end_ns);
  uint32_t parent = frames->count == 0 ? 0 : frames->items[frames->count - 1].node;
  uint32_t node = path_node(paths, parent, (uint32_t)frame->what);
  *vector_add(frames) = (struct open_interval){frame->end_ns, node, (uint32_t)(frame->what >> 32) + 1};
}

static void sweep_span(struct call_paths *paths, const open_stack *frames, open_stack *spans,
                       const struct call_interval *span)
{
  size_t at = find_enclosing(frames, span->end_ns);
  struct open_interval open = {.end_ns = span->end_ns};
  if (at > 0) {
    open.node = frames->items[at - 1].node;
    open.frame = frames->items[at - 1].frame;
  }
  spans->count = find_enclosing(spans, span->end_ns);
  uint32_t outer = spans->count == 0 ? 0 : spans->items[spans->count - 1].frame;
  if (open.frame != 0 && open.frame != outer)
    hand_over(paths, (int64_t)((span->what & ~IS_SPAN) >> 1), open.node);
  *vector_add(spans) = open;
}

void call_paths_sweep(struct call_paths *paths, struct call_thread *thread)
{
  size_t count = thread->intervals.count, span_count = count - thread->frame_count;
  if (thread->frame_count == 0 || span_count == 0)
    return;
  if (thread->frame_count > FRAMES_MOST) {
    paths->left_out += span_count;
    return;
  }
  open_stack frames = {0}, spans = {0};
  call_thread_sort(thread);
  for (size_t i = 0; i < count; i++) {
    const struct call_interval *interval = &thread->intervals.items[i];
    drop_ended(&frames, interval->start_ns);
    drop_ended(&spans, interval->start_ns);
    if ((interval->what & IS_SPAN) != 0)
      sweep_span(paths, &frames, &spans, interval);
    else
      sweep_frame(paths, &frames, interval);
  }
  vector_done(&frames);
  vector_done(&spans);
}
