// SPDX-License-Identifier: Apache-2.0
// Keeps frames and spans while a file is read, then sweeps each thread by start time with two stacks, one of frames and
// one of spans. Called by importers of profilers that record Python frames. Frames that cross others make no sense and
// cost no more than those that nest: what starts later cuts what runs on after it.
#include "importers/call_paths.h"

#include "base/map.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <stdlib.h>
#include <string.h>

// ---- names
bool call_frame_place(const char *text, struct call_frame_place *ret_place)
{
  for (const char *open = strchr(text, '('); open != NULL; open = strchr(open + 1, '(')) {
    char *end;
    long line = strtol(open + 1, &end, 10);
    if (open == text || end == open + 1 || line < 1 || strncmp(end, "): ", 3) != 0 || end[3] == 0)
      continue;
    *ret_place = (struct call_frame_place){(size_t)(open - text), (size_t)(end + 3 - text), line};
    return true;
  }
  return false;
}

// ---- intervals of one thread -----------------------------------------------------------------------------------------
// `what`: of a span IS_SPAN | its id << 4 | kind << 2 | is_no_frame << 1 | is_layer; of a frame its number.
#define IS_SPAN (UINT64_C(1) << 63)

void call_thread_frame(struct call_thread *thread, int64_t start_ns, int64_t end_ns, uint32_t name)
{
  *vector_add(&thread->intervals) = (struct call_interval){start_ns, end_ns, thread->frame_count++, name, 0};
  thread->is_sorted = false;
}

void call_thread_span(struct call_thread *thread, const struct call_span *span)
{
  uint64_t what = IS_SPAN | (uint64_t)span->span_id << 4 | (uint64_t)span->kind << 2 |
                  (uint64_t)span->is_no_frame << 1 | span->is_layer;
  *vector_add(&thread->intervals) = (struct call_interval){span->start_ns, span->end_ns, what, span->name, span->stack};
  thread->has_stacks |= span->stack != 0;
  thread->is_sorted = false;
}

static int64_t span_of(const struct call_interval *interval)
{
  return (int64_t)((interval->what & ~IS_SPAN) >> 4);
}

int64_t call_interval_layer(const struct call_interval *interval)
{
  bool is_layer = (interval->what & IS_SPAN) != 0 && (interval->what & 1) != 0;
  return is_layer ? span_of(interval) : 0;
}

void call_thread_done(struct call_thread *thread)
{
  vector_done(&thread->intervals);
  *thread = (struct call_thread){0};
}

// By start; of equal starts what ends later is outside, of equal intervals the frame, then what came first (ids of spans
// count up).
SORTED_BY(compare, struct call_interval, RISING(start_ns) ?: FALLING(end_ns) ?: RISING(what))

void call_thread_sort(struct call_thread *thread)
{
  if (thread->intervals.count > 0 && !thread->is_sorted)
    vector_sort(&thread->intervals, compare);
  thread->is_sorted = true;
}

// ---- paths: a tree of frames, each path once -------------------------------------------------------------------------
struct node {
  uint32_t parent; // 0: none
  uint32_t name;
  uint32_t path;  // the sink's; 0: not asked for yet
  uint8_t kind;   // enum xsp_frame_kind
  bool is_failed; // the sink has no such path, or none of a caller
};
struct call_paths {
  struct call_sink sink;
  VECTOR(struct node) nodes; // [0] is the root
  struct map places;         // (parent, kind and name) to the place in nodes
  VECTOR(uint32_t) chain;    // nodes, innermost first
  uint64_t left_out;
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
  vector_done(&paths->chain);
  map_done(&paths->places);
  free(paths);
}

uint64_t call_paths_left_out(const struct call_paths *paths)
{
  return paths->left_out;
}

#define KIND_STACK XSP_FRAME_KINDS // of a node that stands for a whole path of the sink: `name` is its number

static uint32_t path_node(struct call_paths *paths, uint32_t parent, unsigned kind, uint32_t name)
{
  uint64_t *place = map_at(&paths->places, (struct map_key){parent, (uint64_t)kind << 32 | name}, NULL);
  if (*place == 0) {
    *place = paths->nodes.count;
    *vector_add(&paths->nodes) =
        (struct node){.parent = parent, .name = name, .kind = (uint8_t)kind, .path = kind == KIND_STACK ? name : 0};
  }
  return (uint32_t)*place;
}

// Most frames have no span: only those that do become paths of the sink, with their callers.
static uint32_t path_of(struct call_paths *paths, uint32_t at)
{
  paths->chain.count = 0;
  for (; at != 0 && paths->nodes.items[at].path == 0 && !paths->nodes.items[at].is_failed;
       at = paths->nodes.items[at].parent)
    *vector_add(&paths->chain) = at;
  uint32_t path = paths->nodes.items[at].path;
  bool is_sound = !paths->nodes.items[at].is_failed;
  for (size_t i = paths->chain.count; i-- > 0;) {
    struct node *node = &paths->nodes.items[paths->chain.items[i]];
    path = is_sound ? paths->sink.path(paths->sink.context, path, (enum xsp_frame_kind)node->kind, node->name) : 0;
    node->path = path;
    is_sound = path != 0;
    node->is_failed = !is_sound;
  }
  return path;
}

static void hand_over(struct call_paths *paths, int64_t span_id, uint32_t at)
{
  uint32_t path = path_of(paths, at);
  if (path == 0)
    paths->left_out++;
  else
    paths->sink.found(paths->sink.context, span_id, path);
}

// ---- the sweep -------------------------------------------------------------------------------------------------------
struct open_interval {
  int64_t end_ns;
  size_t order;   // among the thread's intervals
  uint32_t node;  // its path; 0: none
  uint32_t stack; // of a span
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
  if (stack->count > 0 && stack->items[stack->count - 1].end_ns >= end_ns) // nested, as nearly all are
    return stack->count;
  return PARTITION_POINT(i, 0, stack->count, stack->items[i].end_ns >= end_ns);
}

static struct open_interval innermost(const open_stack *stack, int64_t end_ns)
{
  size_t at = find_enclosing(stack, end_ns);
  return at == 0 ? (struct open_interval){0} : stack->items[at - 1];
}

struct sweep {
  struct call_paths *paths;
  open_stack frames, spans;
};

// The path around an interval. A stack that was recorded with the span holds the frames around all operators: within an
// operator of the same stack the operator is the caller.
static uint32_t caller_of(struct sweep *sweep, const struct call_interval *interval)
{
  struct open_interval frame = innermost(&sweep->frames, interval->end_ns);
  struct open_interval span = innermost(&sweep->spans, interval->end_ns);
  if (interval->stack != 0 && (span.node == 0 || span.stack != interval->stack))
    return path_node(sweep->paths, 0, KIND_STACK, interval->stack);
  return span.node == 0 || (frame.node != 0 && frame.order > span.order) ? frame.node : span.node;
}

static void sweep_frame(struct sweep *sweep, const struct call_interval *frame, size_t order)
{
  uint32_t node = path_node(sweep->paths, caller_of(sweep, frame), XSP_FRAME_PYTHON, frame->name);
  sweep->frames.count = find_enclosing(&sweep->frames, frame->end_ns);
  *vector_add(&sweep->frames) = (struct open_interval){frame->end_ns, order, node, 0};
}

static void sweep_span(struct sweep *sweep, const struct call_interval *span, size_t order)
{
  uint32_t caller = caller_of(sweep, span);
  bool is_no_frame = (span->what & 2) != 0 || span->name == 0;
  uint32_t node =
      caller == 0 || is_no_frame ? caller : path_node(sweep->paths, caller, span->what >> 2 & 3, span->name);
  if (caller != 0 && !is_no_frame)
    hand_over(sweep->paths, span_of(span), node);
  sweep->spans.count = find_enclosing(&sweep->spans, span->end_ns);
  *vector_add(&sweep->spans) = (struct open_interval){span->end_ns, order, node, span->stack};
}

void call_paths_sweep(struct call_paths *paths, struct call_thread *thread)
{
  size_t count = thread->intervals.count;
  if ((thread->frame_count == 0 && !thread->has_stacks) || thread->frame_count == count)
    return;
  struct sweep sweep = {.paths = paths};
  call_thread_sort(thread);
  for (size_t i = 0; i < count; i++) {
    const struct call_interval *interval = &thread->intervals.items[i];
    drop_ended(&sweep.frames, interval->start_ns);
    drop_ended(&sweep.spans, interval->start_ns);
    if ((interval->what & IS_SPAN) != 0)
      sweep_span(&sweep, interval, i);
    else
      sweep_frame(&sweep, interval, i);
  }
  vector_done(&sweep.frames);
  vector_done(&sweep.spans);
}
