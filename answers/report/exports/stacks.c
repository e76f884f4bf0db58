// SPDX-License-Identifier: Apache-2.0
// Stacks of a run: which contexts its spans have, and what each takes. Called by folded.c, pprof.c and the page.
#include "report/exports/stacks.h"

#include <inttypes.h>
#include <string.h>
#include <xsp/call_path.h>

static uint8_t level_of(unsigned kind)
{
  static const uint8_t levels[XSP_FRAME_KINDS] = {[XSP_FRAME_PYTHON] = XSP_LEVEL_APPLICATION,
                                                  [XSP_FRAME_FRAMEWORK] = XSP_LEVEL_LAYER,
                                                  [XSP_FRAME_NATIVE] = XSP_LEVEL_LIBRARY,
                                                  [XSP_FRAME_DEVICE] = XSP_LEVEL_KERNEL};
  return levels[kind];
}

// A frame of which only the name is known has the number of that string: it is the context of spans of that name.
static uint32_t number_of(const struct stacks *stacks, size_t place)
{
  const struct store_frame *frame = &stacks->file.frames[place];
  uint32_t number;
  bool is_name = frame->name != NULL && frame->file == NULL && frame->module == NULL && frame->address == 0;
  if (is_name && store_find_string(stacks->store, frame->name, strlen(frame->name), &number))
    return number;
  return stacks->string_count + (uint32_t)place;
}

// Own time on the host and on devices; that of ranges lies around others'.
static bool is_time(const char *metric)
{
  return strcmp(metric, "host_ns") == 0 || strcmp(metric, "device_ns") == 0;
}

const struct stacks_sampled_kind stacks_sampled_kinds[STACKS_SAMPLED] = {
    [STACKS_INSTRUCTIONS] = {"samples", "samples", "count", "samples of instructions"},
    [STACKS_CPU_TIME] = {"cpu_ns", "cpu", "nanoseconds", "CPU time of samples"},
    [STACKS_WAITS] = {"wait_ns", "wait", "nanoseconds", "waits of samples"},
};

static void add_weight(struct stacks_weights *weights, const struct store_context_metric *row)
{
  *vector_add(&weights->rows) =
      (struct stacks_weight){row->run_id, row->count, row->exclusive_sum, (uint32_t)row->context_id};
}

// Which weights a row counts in; NULL: in none.
typedef struct stacks_weights *choose_weights(struct stacks *stacks, const char *metric, const char *wanted);

static struct stacks_weights *own_time(struct stacks *stacks, const char *metric, const char *wanted)
{
  return is_time(metric) ? &stacks->own_time : NULL;
}

static struct stacks_weights *one_metric(struct stacks *stacks, const char *metric, const char *wanted)
{
  return strcmp(metric, wanted) == 0 ? &stacks->metric : NULL;
}

static struct stacks_weights *of_samples(struct stacks *stacks, const char *metric, const char *wanted)
{
  for (size_t i = 0; i < STACKS_SAMPLED; i++)
    if (strcmp(metric, stacks_sampled_kinds[i].metric) == 0)
      return &stacks->sampled[i];
  return NULL;
}

static enum status load_weights(struct stacks *stacks, choose_weights *choose, const char *wanted, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs;
  struct store_context_metric *rows;
  size_t run_count = 0, count;
  XSP_TRY(store_runs(stacks->store, &arena, &runs, &run_count, err));
  for (size_t i = 0; i < run_count; i++) {
    struct arena run_arena SCOPED(arena_done) = {0};
    XSP_TRY(correlate_context_rows(stacks->store, runs[i].run_id, &stacks->file, &run_arena, &rows, &count, err));
    for (size_t row = 0; row < count; row++) {
      struct stacks_weights *weights = choose(stacks, rows[row].metric, wanted);
      if (weights != NULL && (weights == &stacks->own_time || rows[row].exclusive_sum > 0))
        add_weight(weights, &rows[row]);
    }
  }
  return STATUS_OK;
}

enum status stacks_load_metric(struct stacks *stacks, const char *metric, struct error *err)
{
  return load_weights(stacks, one_metric, metric, err);
}

static enum status has_samples_of_threads(struct store *store, bool *ret_has, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs;
  size_t run_count = 0, count = 0;
  enum status status = store_runs(store, &arena, &runs, &run_count, err);
  for (size_t i = 0; i < run_count && status == STATUS_OK && count == 0; i++)
    status = store_count_samples(store, runs[i].run_id, &count, err);
  *ret_has = count > 0;
  return status;
}

enum status stacks_load_samples(struct stacks *stacks, struct error *err)
{
  uint32_t string;
  bool has_threads = false;
  bool may_have = stacks->is_folded || store_find_string(stacks->store, "samples", 7, &string);
  if (!may_have)
    XSP_TRY(has_samples_of_threads(stacks->store, &has_threads, err));
  return may_have || has_threads ? load_weights(stacks, of_samples, NULL, err) : STATUS_OK;
}

enum status stacks_open(struct store *store, struct stacks *ret_stacks, struct error *err)
{
  struct stacks *stacks = ret_stacks;
  *stacks = (struct stacks){.store = store};
  XSP_TRY(store_call_paths(store, &stacks->arena, &stacks->file, err));
  stacks->string_count = store_string_count(store);
  size_t count = stacks->file.context_count;
  uint32_t *numbers = arena_alloc_array(&stacks->arena, stacks->file.frame_count + 1, sizeof *numbers);
  uint32_t *caller = arena_alloc_array(&stacks->arena, count + 1, sizeof *caller);
  uint32_t *name = arena_alloc_array(&stacks->arena, count + 1, sizeof *name);
  uint8_t *level = arena_alloc_array(&stacks->arena, count + 1, sizeof *level);
  for (size_t i = 0; i < stacks->file.frame_count; i++)
    numbers[i] = number_of(stacks, i);
  for (size_t i = 0; i < count; i++) {
    const struct store_context *context = &stacks->file.contexts[i];
    caller[i] = (uint32_t)context->parent_id;
    name[i] = numbers[context->frame_id - 1];
    level[i] = level_of(stacks->file.frames[context->frame_id - 1].kind);
  }
  stacks->paths = (struct context_paths){caller, name, level};
  stacks->is_folded = store_is_folded(store);
  return stacks->is_folded ? load_weights(stacks, own_time, NULL, err) : STATUS_OK;
}

static void add_weights(const struct stacks_weights *weights, int64_t run_id, const struct context_paths *paths,
                        struct contexts *contexts)
{
  struct arena arena SCOPED(arena_done) = {0};
  size_t count = 0, most = weights->rows.count + 1;
  uint32_t *parent = arena_alloc_array(&arena, most, sizeof *parent),
           *path = arena_alloc_array(&arena, most, sizeof *path);
  uint32_t *name = arena_alloc_array(&arena, most, sizeof *name);
  uint8_t *level = arena_alloc_array(&arena, most, sizeof *level);
  int64_t *start_ns = arena_alloc_array(&arena, most, sizeof *start_ns);
  int64_t *own_ns = arena_alloc_array(&arena, most, sizeof *own_ns),
          *spans = arena_alloc_array(&arena, most, sizeof *spans);
  for (size_t i = 0; i < weights->rows.count; i++) {
    const struct stacks_weight *row = &weights->rows.items[i];
    if (row->run_id != run_id)
      continue;
    parent[count] = CONTEXT_NONE;
    path[count] = row->context_id;
    name[count] = paths->name[row->context_id - 1];
    level[count] = paths->level[row->context_id - 1];
    own_ns[count] = row->exclusive_sum;
    spans[count++] = row->count;
  }
  const struct context_spans input = {.count = count,
                                      .parent = parent,
                                      .name = name,
                                      .level = level,
                                      .start_ns = start_ns,
                                      .self_ns = own_ns,
                                      .stands_for = spans,
                                      .path = path,
                                      .paths = paths};
  contexts_add(contexts, &input);
}

void stacks_add_folded(const struct stacks *stacks, int64_t run_id, const struct context_paths *paths,
                       struct contexts *contexts)
{
  add_weights(&stacks->own_time, run_id, paths, contexts);
}

void stacks_add_weights(const struct stacks *stacks, const struct stacks_weights *weights, int64_t run_id,
                        struct contexts *contexts)
{
  add_weights(weights, run_id, &stacks->paths, contexts);
}

uint32_t stacks_chain(const struct contexts *contexts, uint32_t id, uint32_t *chain)
{
  uint32_t depth = 0;
  for (uint32_t at = id; at != CONTEXT_NONE && depth < STACKS_DEPTH_MOST; at = contexts->all.items[at].parent)
    chain[depth++] = at;
  return depth;
}

void stacks_put_run(const struct store_run *run, struct buf *out)
{
  char levels[LEVEL_SET_TEXT_SIZE];
  level_set_format(run->levels, levels);
  buf_text(out, levels);
  if (run->batch_size != 0)
    buf_format(out, " batch %" PRId64, run->batch_size);
}

void stacks_done(struct stacks *stacks)
{
  arena_done(&stacks->arena);
  vector_done(&stacks->own_time.rows);
  vector_done(&stacks->metric.rows);
  for (size_t i = 0; i < STACKS_SAMPLED; i++)
    vector_done(&stacks->sampled[i].rows);
}

uint32_t *stacks_parents(const struct timeline_run *run, struct arena *arena)
{
  const uint32_t *by_id = timeline_order_by_id(run, arena);
  uint32_t *parent = arena_alloc_array(arena, run->spans.count, sizeof *parent);
  for (size_t i = 0; i < run->spans.count; i++)
    parent[i] = timeline_row_of(run, by_id, run->derived.parent_id[i]);
  return parent;
}

int64_t *stacks_own_times(const struct timeline_run *run, uint32_t *parent, struct arena *arena)
{
  int64_t *own_ns = arena_alloc_array(arena, run->spans.count, sizeof *own_ns);
  for (size_t lane = 0; lane < run->lane_count; lane++)
    for (size_t i = run->lanes[lane].first; i < run->lanes[lane].first + run->lanes[lane].count; i++)
      own_ns[run->order[i]] = run->derived.self_ns[run->order[i]];
  timeline_nest(run, parent, own_ns);
  for (uint32_t row = 0; row < run->spans.count; row++)
    if (timeline_is_open(run, row) || own_ns[row] < 0)
      own_ns[row] = 0;
  return own_ns;
}

void stacks_add(const struct stacks *stacks, const struct timeline_run *run, struct contexts *contexts,
                uint32_t *ret_context)
{
  if (stacks->is_folded) {
    stacks_add_folded(stacks, run->run->run_id, &stacks->paths, contexts);
    return;
  }
  struct arena arena SCOPED(arena_done) = {0};
  uint32_t *parent = stacks_parents(run, &arena);
  const int64_t *own_ns = stacks_own_times(run, parent, &arena);
  const struct context_spans spans = {.count = run->spans.count,
                                      .parent = parent,
                                      .name = run->spans.name,
                                      .start_ns = run->spans.start_ns,
                                      .self_ns = own_ns,
                                      .path = stacks->file.context_count > 0 ? run->spans.context_id : NULL,
                                      .paths = &stacks->paths,
                                      .ret_context = ret_context};
  contexts_add(contexts, &spans);
}

const struct store_frame *stacks_frame(const struct stacks *stacks, uint32_t name)
{
  return name < stacks->string_count ? NULL : &stacks->file.frames[name - stacks->string_count];
}

static const char *place_of(const struct stacks *stacks, const char *path)
{
  const char *slash = stacks->is_placeless ? strrchr(path, '/') : NULL;
  return slash != NULL ? slash + 1 : path;
}

static void put_text(struct buf *out, const char *before, const char *text, const char *after)
{
  buf_text(out, before);
  buf_utf8(out, text, strlen(text));
  buf_text(out, after);
}

void stacks_put_name(const struct stacks *stacks, uint32_t name, struct buf *out)
{
  const struct store_frame *frame = stacks_frame(stacks, name);
  size_t length = 0;
  if (frame == NULL) {
    const char *text = store_text(stacks->store, name, &length);
    buf_utf8(out, text, length);
    return;
  }
  put_text(out, "", frame->name != NULL ? frame->name : "?", "");
  if (frame->file != NULL) {
    put_text(out, " (", place_of(stacks, frame->file), "");
    if (frame->line > 0 && !stacks->is_placeless)
      buf_format(out, ":%" PRId64, frame->line);
    buf_text(out, ")");
  }
  if (frame->module != NULL)
    put_text(out, " [", place_of(stacks, frame->module), "]");
}

// As the format can carry it: ';' separates, a line break ends.
static void put_folded_name(const struct stacks *stacks, uint32_t name, struct buf *out)
{
  size_t from = out->length;
  stacks_put_name(stacks, name, out);
  for (size_t i = from; i < out->length; i++)
    if (out->data[i] == ';' || out->data[i] == '\n' || out->data[i] == '\r')
      out->data[i] = out->data[i] == ';' ? ':' : ' ';
}

void stacks_put_folded(const struct stacks *stacks, const struct contexts *contexts, uint32_t id, struct buf *out)
{
  uint32_t chain[STACKS_DEPTH_MOST], depth = stacks_chain(contexts, id, chain);
  while (depth > 0) {
    put_folded_name(stacks, contexts->all.items[chain[--depth]].name, out);
    buf_text(out, depth > 0 ? ";" : "");
  }
}
