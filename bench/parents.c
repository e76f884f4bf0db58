// SPDX-License-Identifier: Apache-2.0
// Parent reconstruction over 10^7 spans on one core: as imported (each source's spans in an order of their own) and as
// our own rings have them (in the order of their ends). The peer is an implicit augmented interval tree over the same
// spans, already sorted; its sorting is not counted. The floor is a plain pass that reads the same columns and writes
// the same two. Columns are as correlate_store loads them: consecutive ids and unrecorded parents need none, calls are
// flagged as importers do. Prints one JSON line per case; disagreements make it fail.
#include "correlate/parents.h"
#include "bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SPANS 10000000u
#define REPEATS 5
#define BUDGET_IMPORTED_NS 20.0
#define BUDGET_RINGS_NS 8.0
#define BUDGET_IMPORTED_TWO_NS 12.0
#define BUDGET_RINGS_TWO_NS 6.0

static double read_ns(clockid_t clock)
{
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double now_ns(void) // one core, without other programs
{
  return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t state;

static int64_t below(int64_t limit)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (int64_t)(state % (uint64_t)limit);
}

// ---- a training-like trace: step > model > 24 layers > 4 x (operator > operator > launch), a kernel per launch --------
struct trace {
  struct store_spans spans;
  uint32_t *truth; // the parent's row, known by construction
};
enum source { FROM_OPERATORS, FROM_RUNTIME, FROM_DEVICE, FROM_PYTHON, SOURCES };
struct event {
  int64_t start, end, correlation;
  uint32_t parent; // event number within the step; UINT32_MAX: none
  uint8_t level, kind, track, source;
};
#define STEP_EVENTS 512
struct step {
  struct event event[STEP_EVENTS];
  uint32_t count;
};

static uint32_t put(struct step *step, struct event event)
{
  step->event[step->count] = event;
  return step->count++;
}

static void make_operator(struct step *step, int64_t *time, int64_t *device_time, int64_t *correlation, uint32_t layer)
{
  int64_t outer = *time;
  int64_t inner = *time += 800 + below(700);
  int64_t launch = *time += 700 + below(500);
  int64_t launched = *time += 2500 + below(1500);
  int64_t kernel = *device_time > launched ? *device_time + 500 : launched + 1500;
  *device_time = kernel + 3000 + below(40000);
  int64_t inner_end = *time += 300 + below(300);
  *time += 200 + below(200);
  uint32_t outer_at = put(step, (struct event){outer, *time, 0, layer, XSP_LEVEL_LAYER, 0, 1, FROM_OPERATORS});
  uint32_t inner_at = put(step, (struct event){inner, inner_end, 0, outer_at, XSP_LEVEL_LAYER, 0, 1, FROM_OPERATORS});
  put(step,
      (struct event){launch, launched, *correlation, inner_at, XSP_LEVEL_KERNEL, XSP_KIND_LAUNCH, 1, FROM_RUNTIME});
  put(step, (struct event){kernel, *device_time, *correlation, inner_at, XSP_LEVEL_KERNEL, XSP_KIND_EXECUTION, 2,
                           FROM_DEVICE});
  *time += 500;
  ++*correlation;
}

static void make_step(struct step *step, int64_t *time, int64_t *device_time, int64_t *correlation)
{
  step->count = 0;
  uint32_t top = put(step, (struct event){*time, 0, 0, UINT32_MAX, XSP_LEVEL_APPLICATION, 0, 1, FROM_PYTHON});
  *time += 2000;
  uint32_t model = put(step, (struct event){*time, 0, 0, top, XSP_LEVEL_MODEL, 0, 1, FROM_PYTHON});
  *time += 1000;
  for (int i = 0; i < 24; i++) {
    uint32_t layer = put(step, (struct event){*time, 0, 0, model, XSP_LEVEL_LAYER, 0, 1, FROM_PYTHON});
    *time += 1500;
    for (int k = 0; k < 4; k++)
      make_operator(step, time, device_time, correlation, layer);
    step->event[layer].end = *time;
    *time += 700;
  }
  step->event[model].end = *time;
  *time += 1000;
  step->event[top].end = *time;
  *time += 5000;
}

static const struct step *sorted_step;
static int by_source(const void *left, const void *right) // each source by start
{
  const struct event *a = &sorted_step->event[*(const uint32_t *)left];
  const struct event *b = &sorted_step->event[*(const uint32_t *)right];
  if (a->source != b->source)
    return a->source < b->source ? -1 : 1;
  return a->start < b->start ? -1 : a->start > b->start;
}
static int by_end(const void *left, const void *right) // each track by end, then device spans by ring block
{
  const struct event *a = &sorted_step->event[*(const uint32_t *)left];
  const struct event *b = &sorted_step->event[*(const uint32_t *)right];
  if (a->track != b->track)
    return a->track < b->track ? -1 : 1;
  return a->end < b->end ? -1 : a->end > b->end;
}

static void *allocate(size_t count, size_t size)
{
  void *memory = calloc(count, size);
  if (memory == NULL)
    exit(3);
  return memory;
}

static void make_trace(struct trace *trace, bool is_ring)
{
  static struct step step;
  struct store_spans *spans = &trace->spans;
  int64_t time = 1000000000;
  int64_t device_time = time;
  int64_t correlation = 1;
  state = 88172645463325252u;
  spans->count = 0;
  spans->first_id = 1;
  if (is_ring)
    spans->flags = NULL; // all 0
  while (spans->count < SPANS) {
    uint32_t order[STEP_EVENTS];
    uint32_t row_of[STEP_EVENTS];
    make_step(&step, &time, &device_time, &correlation);
    for (uint32_t i = 0; i < step.count; i++)
      order[i] = i;
    sorted_step = &step;
    qsort(order, step.count, sizeof *order, is_ring ? by_end : by_source);
    for (uint32_t i = 0; i < step.count; i++)
      row_of[order[i]] = (uint32_t)spans->count + i;
    for (uint32_t i = 0; i < step.count; i++) {
      const struct event *event = &step.event[order[i]];
      size_t row = spans->count++;
      spans->start_ns[row] = event->start;
      spans->duration_ns[row] = event->end - event->start;
      spans->correlation_id[row] = event->correlation;
      spans->track_id[row] = event->track;
      spans->level[row] = event->level;
      spans->kind[row] = event->kind;
      if (!is_ring && event->kind == XSP_KIND_LAUNCH) {
        spans->kind[row] = XSP_KIND_SYNC;
        spans->flags[row] = STORE_SPAN_CALL;
      }
      trace->truth[row] = event->parent == UINT32_MAX ? ROW_NONE : row_of[event->parent];
    }
  }
}

static void allocate_trace(struct trace *trace)
{
  size_t room = SPANS + STEP_EVENTS;
  *trace = (struct trace){.truth = allocate(room, 4)};
  trace->spans.start_ns = allocate(room, 8);
  trace->spans.duration_ns = allocate(room, 8);
  trace->spans.correlation_id = allocate(room, 8);
  trace->spans.track_id = allocate(room, 4);
  trace->spans.level = allocate(room, 1);
  trace->spans.kind = allocate(room, 1);
  trace->spans.flags = allocate(room, 1);
}

// ---- the peer --------------------------------------------------------------------------------------------------------
// Nodes sorted by start; node i is of height "trailing ones of i", its children lie 2^(height-1) to both sides, and
// `farthest` is the largest end of its subtree.
struct node {
  int64_t start, end, farthest;
  uint32_t row;
  uint32_t level;
};
struct interval_tree {
  struct node *nodes;
  size_t count;
  unsigned height;
};

static void build_tree(struct interval_tree *tree)
{
  struct node *nodes = tree->nodes;
  size_t last = 0; // node of the subtree that ends the array
  int64_t last_farthest = INT64_MIN;
  for (size_t i = 0; i < tree->count; i += 2) {
    nodes[i].farthest = nodes[i].end;
    last = i;
    last_farthest = nodes[i].end;
  }
  unsigned height = 1;
  for (; (size_t)1 << height <= tree->count; height++) {
    size_t half = (size_t)1 << (height - 1);
    for (size_t i = 2 * half - 1; i < tree->count; i += 4 * half) {
      int64_t left = nodes[i - half].farthest;
      int64_t right = i + half < tree->count ? nodes[i + half].farthest : last_farthest;
      int64_t farthest = nodes[i].end > left ? nodes[i].end : left;
      nodes[i].farthest = farthest > right ? farthest : right;
    }
    last = (last >> height & 1) ? last - half : last + half;
    if (last < tree->count && nodes[last].farthest > last_farthest)
      last_farthest = nodes[last].farthest;
  }
  tree->height = height - 1;
}

static inline void consider(const struct node *node, const struct node *span, const struct node **best)
{
  if (node->end < span->end || node == span || node->level == XSP_LEVEL_KERNEL || node->level > span->level)
    return;
  if (*best == NULL || node->level > (*best)->level || (node->level == (*best)->level && node->start > (*best)->start))
    *best = node;
}

static uint32_t query_tree(const struct interval_tree *tree, const struct node *span)
{
  struct {
    size_t at;
    unsigned height;
    bool has_left; // already visited
  } stack[64];
  const struct node *best = NULL;
  unsigned depth = 0;
  stack[depth].at = ((size_t)1 << tree->height) - 1;
  stack[depth].height = tree->height;
  stack[depth++].has_left = false;
  while (depth > 0) {
    depth--;
    size_t at = stack[depth].at;
    unsigned height = stack[depth].height;
    if (height <= 3) { // few enough to scan
      size_t first = at >> height << height;
      size_t end = first + ((size_t)1 << (height + 1)) - 1;
      end = end < tree->count ? end : tree->count;
      for (size_t i = first; i < end && tree->nodes[i].start <= span->start; i++)
        consider(&tree->nodes[i], span, &best);
      continue;
    }
    size_t half = (size_t)1 << (height - 1);
    if (!stack[depth].has_left) {
      stack[depth++].has_left = true;
      size_t left = at - half;
      if (left >= tree->count || tree->nodes[left].farthest >= span->end) {
        stack[depth].at = left;
        stack[depth].height = height - 1;
        stack[depth++].has_left = false;
      }
    } else if (at < tree->count && tree->nodes[at].start <= span->start) {
      consider(&tree->nodes[at], span, &best);
      stack[depth].at = at + half;
      stack[depth].height = height - 1;
      stack[depth++].has_left = false;
    }
  }
  return best == NULL ? ROW_NONE : best->row;
}

static int by_start(const void *left, const void *right)
{
  const struct node *a = left;
  const struct node *b = right;
  if (a->start != b->start)
    return a->start < b->start ? -1 : 1;
  return a->end > b->end ? -1 : a->end < b->end;
}

// ns per host span (an execution costs the tree nothing: it is found by correlation).
static double measure_tree(const struct trace *trace, size_t *ret_disagreements)
{
  struct interval_tree tree = {allocate(trace->spans.count, sizeof *tree.nodes), 0, 0};
  for (size_t i = 0; i < trace->spans.count; i++)
    if (trace->spans.kind[i] != XSP_KIND_EXECUTION)
      tree.nodes[tree.count++] =
          (struct node){trace->spans.start_ns[i], trace->spans.start_ns[i] + trace->spans.duration_ns[i], 0,
                        (uint32_t)i, trace->spans.level[i]};
  qsort(tree.nodes, tree.count, sizeof *tree.nodes, by_start);
  double start = now_ns();
  build_tree(&tree);
  size_t disagreements = 0;
  for (size_t i = 0; i < tree.count; i++)
    disagreements += query_tree(&tree, &tree.nodes[i]) != trace->truth[tree.nodes[i].row];
  double elapsed = now_ns() - start;
  *ret_disagreements += disagreements;
  free(tree.nodes);
  return elapsed / (double)tree.count;
}

// ---- ours ------------------------------------------------------------------------------------------------------------
static double measure(const struct trace *trace, bool has_two_threads, size_t *ret_disagreements)
{
  static const struct store_track tracks[] = {{.track_id = 1}, {.track_id = 2}};
  const struct correlate_question question = {.spans = &trace->spans, .tracks = tracks, .track_count = 2};
  double times[REPEATS];
  for (int i = 0; i < REPEATS; i++) {
    struct parents parents;
    struct error error;
    double process_start = read_ns(CLOCK_PROCESS_CPUTIME_ID);
    double start = now_ns();
    if (parents_find(&question, has_two_threads, &parents, &error) != STATUS_OK) {
      fprintf(stderr, "%s\n", error.why);
      exit(2);
    }
    double own = now_ns() - start;
    double other = read_ns(CLOCK_PROCESS_CPUTIME_ID) - process_start - own;
    times[i] = (own > other ? own : other) / (double)trace->spans.count; // what they take side by side, at least
    for (size_t row = 0; row < trace->spans.count; row++)
      *ret_disagreements += parents.row[row] != trace->truth[row];
    parents_done(&parents);
  }
  return median(times, REPEATS);
}

// The minimum for any method: every column is read once, rows and bases are written to fresh memory.
static double measure_floor(const struct store_spans *spans)
{
  double times[REPEATS];
  for (int i = 0; i < REPEATS; i++) {
    struct arena arena = {0};
    double start = now_ns();
    uint32_t *row = arena_alloc_array(&arena, spans->count, sizeof *row);
    uint8_t *basis = arena_alloc_array(&arena, spans->count, sizeof *basis);
    if (row == NULL || basis == NULL)
      exit(3);
    for (size_t k = 0; k < spans->count; k++) {
      row[k] = (uint32_t)(spans->start_ns[k] ^ spans->duration_ns[k] ^ spans->correlation_id[k] ^ spans->track_id[k]);
      basis[k] = spans->level[k] ^ spans->kind[k];
    }
    times[i] = (now_ns() - start) / (double)spans->count;
    arena_done(&arena);
  }
  return median(times, REPEATS);
}

static void print(const char *name, double value, double floor, double target, double peer)
{
  printf("{\"bench\":\"correlate/parents\",\"case\":\"%s\",\"value\":%.2f,\"unit\":\"ns/span\",\"floor\":%.2f,"
         "\"ratio\":%.3f,\"target\":%.4f,\"peers\":{",
         name, value, floor, value / floor, target);
  if (peer > 0)
    printf("\"interval tree\":%.2f", peer);
  printf("}}\n");
}

int main(void)
{
  struct trace trace;
  size_t disagreements = 0;
  allocate_trace(&trace);
  make_trace(&trace, false);
  double imported = measure(&trace, false, &disagreements);
  double imported_two = measure(&trace, true, &disagreements);
  double tree = measure_tree(&trace, &disagreements);
  make_trace(&trace, true);
  double rings = measure(&trace, false, &disagreements);
  double rings_two = measure(&trace, true, &disagreements);
  double floor = measure_floor(&trace.spans);
  if (disagreements > 0) {
    fprintf(stderr, "parents: %zu disagreements\n", disagreements);
    return 1;
  }
  // The budgets are times, here in multiples of the floor.
  print("1e7 imported", imported, floor, BUDGET_IMPORTED_NS / floor, tree);
  print("1e7 own rings", rings, floor, BUDGET_RINGS_NS / floor, tree);
  print("1e7 imported, two threads: the busier one", imported_two, floor, BUDGET_IMPORTED_TWO_NS / floor, tree);
  print("1e7 own rings, two threads: the busier one", rings_two, floor, BUDGET_RINGS_TWO_NS / floor, tree);
  print("1e7 imported, against an interval tree", imported, tree, 1.0 / 6, tree);
  return 0;
}
