// SPDX-License-Identifier: Apache-2.0
// The calling context tree of a run as a table: the contexts of flame graphs (stacks.h), with the time that the host and devices
// take in each, the work they start, and the backward operators that they cause. Called by read/.
#include "report/exports/tree.h"
#include "base/interner.h"
#include "base/saturate.h"
#include "format/level.h"
#include "report/report.h"
#include "table/builder.h"

#include <stdlib.h>
#include <string.h>
#include <xsp/call_path.h>
#include <xsp/span.h>

#define NODES_MOST 2000000u // about 400 bytes each

static uint32_t word(struct store *store, const char *text)
{
  uint32_t id;
  return store_find_string(store, text, strlen(text), &id) ? id : 0;
}

static uint8_t kind_of(const struct tree *tree, uint32_t row)
{
  return tree->run.derived.kind != NULL ? tree->run.derived.kind[row] : tree->run.spans.kind[row];
}

static bool is_samples(const struct tree *tree, uint32_t row)
{
  return tree->words.samples != 0 && tree->run.spans.category[row] == tree->words.samples;
}

// Work of a device: waits are none.
static bool is_device_work(const struct tree *tree, uint32_t row)
{
  uint32_t category = tree->run.spans.category[row];
  return kind_of(tree, row) == XSP_KIND_EXECUTION && !timeline_is_open(&tree->run, row) && !is_samples(tree, row) &&
         (tree->words.sync == 0 || category != tree->words.sync);
}

// A kernel of a device, or a primitive that a processor ran.
static bool is_kernel(const struct tree *tree, uint32_t row)
{
  uint32_t category = tree->run.spans.category[row];
  return tree->run.spans.level[row] == XSP_LEVEL_KERNEL && kind_of(tree, row) != XSP_KIND_LAUNCH &&
         tree->words.kernel != 0 && category == tree->words.kernel;
}

// ---- one name for all steps ----------------------------------------------------------------------------------------
// "ProfilerStep#12": the length without the number; 0: it has none.
static size_t numbered(const char *text, size_t length)
{
  size_t end = length;
  while (end > 0 && text[end - 1] >= '0' && text[end - 1] <= '9')
    end--;
  return end < length && end > 1 && text[end - 1] == '#' ? end - 1 : 0;
}

// Where every step has a name of its own, no two share a context below them: they take the name of the first.
static void join_steps(struct tree *tree, uint32_t *name)
{
  struct map first SCOPED(map_done) = {0}; // by the name's beginning, interned
  struct interner names SCOPED(interner_done) = {0};
  for (size_t i = 0; i < tree->run.spans.count; i++) {
    if (tree->run.spans.level[i] != XSP_LEVEL_MODEL)
      continue;
    size_t length = 0;
    const char *text = store_text(tree->stacks.store, name[i], &length);
    size_t stem = numbered(text, length);
    if (stem == 0)
      continue;
    bool is_new;
    uint64_t *at = map_at(&first, map_number(interner_at(&names, text, stem) + 1), &is_new);
    *at = is_new ? name[i] : *at;
    name[i] = (uint32_t)*at;
  }
}

// ---- samples of instructions ---------------------------------------------------------------------------------------
// A sample names no launch: it goes to where the first execution of its kernel is.
static void place_samples(struct tree *tree, uint32_t *parent)
{
  const struct store_spans *spans = &tree->run.spans;
  const struct context_paths *paths = &tree->stacks.paths;
  struct map kernels SCOPED(map_done) = {0}; // row + 1 by (path, 0) and (0, name)
  if (tree->words.samples == 0)
    return;
  for (uint32_t row = 0; row < spans->count; row++)
    if (is_device_work(tree, row)) {
      bool is_new;
      uint64_t *at = map_at(
          &kernels, (struct map_key){spans->context_id[row], spans->context_id[row] ? 0 : spans->name[row]}, &is_new);
      *at = is_new ? row + 1 : *at;
    }
  for (uint32_t row = 0; row < spans->count; row++) {
    const uint64_t *kernel = NULL;
    uint32_t at = is_samples(tree, row) ? spans->context_id[row] : 0;
    for (; at != 0 && kernel == NULL; at = paths->caller[at - 1]) {
      kernel = map_find(&kernels, (struct map_key){at, 0});
      if (kernel == NULL && paths->caller[at - 1] == 0)
        kernel = map_find(&kernels, (struct map_key){0, paths->name[at - 1]});
    }
    if (kernel != NULL)
      parent[row] = parent[*kernel - 1];
  }
}

// ---- what spans add to their contexts ------------------------------------------------------------------------------
// By row: the row of the forward operator whose backward operator the span is, or is in; TIMELINE_NO_ROW: none. NULL: no span has
// one.
static const uint32_t *find_forward(struct tree *tree, const uint32_t *parent)
{
  enum { NEW = UINT32_MAX - 1 };
  const struct timeline_run *run = &tree->run;
  if (run->derived.forward_id == NULL)
    return NULL;
  const uint32_t *by_id = timeline_order_by_id(run, &tree->arena);
  uint32_t *forward = arena_alloc_array(&tree->arena, run->spans.count, sizeof *forward);
  VECTOR(uint32_t) chain SCOPED(vector_end) = {0};
  for (size_t i = 0; i < run->spans.count; i++)
    forward[i] = NEW;
  for (uint32_t i = 0; i < run->spans.count; i++) {
    uint32_t at = i;
    for (; at != TIMELINE_NO_ROW && forward[at] == NEW; at = parent[at]) {
      forward[at] = timeline_row_of(run, by_id, run->derived.forward_id[at]);
      *vector_add(&chain) = at;
    }
    uint32_t found = at != TIMELINE_NO_ROW ? forward[at] : TIMELINE_NO_ROW;
    while (chain.count > 0) {
      uint32_t row = chain.items[--chain.count];
      found = forward[row] != TIMELINE_NO_ROW ? forward[row] : found;
      forward[row] = found;
    }
  }
  return forward;
}

void tree_add(struct tree *tree, uint32_t row, int figure, int64_t value)
{
  uint32_t context = tree->context[row];
  if (context != CONTEXT_NONE)
    tree->nodes[context].own[figure] = saturate_add(tree->nodes[context].own[figure], value);
}

void tree_name_paths(struct tree *tree, uint32_t context, uint32_t path)
{
  while (context != CONTEXT_NONE && path != 0 && tree->nodes[context].context_id == 0) {
    tree->nodes[context].context_id = path;
    context = tree->contexts.all.items[context].parent;
    path = tree->stacks.paths.caller[path - 1];
  }
}

static void add_row(struct tree *tree, uint32_t row, int64_t own_ns)
{
  uint32_t context = tree->context[row], category = tree->run.spans.category[row];
  bool is_device = is_device_work(tree, row), is_host = kind_of(tree, row) != XSP_KIND_EXECUTION;
  if (context == CONTEXT_NONE)
    return;
  struct tree_node *node = &tree->nodes[context];
  node->category = node->category == 0 ? category : node->category;
  node->is_kernel |= is_kernel(tree, row);
  tree_name_paths(tree, context, tree->run.spans.context_id[row]);
  if (is_device || (is_host && !is_samples(tree, row)))
    tree_add(tree, row, is_device ? TREE_DEVICE : TREE_HOST, own_ns);
  tree_add(tree, row, TREE_WORK, is_device);
  tree->has_device |= is_device;
  tree->has_kernels |= node->is_kernel;
}

// Backward time is what time is: of devices where they work in the run, else of the host.
static void add_backward(struct tree *tree, const uint32_t *forward, const int64_t *own_ns)
{
  for (uint32_t row = 0; row < tree->run.spans.count; row++) {
    bool is_host = kind_of(tree, row) != XSP_KIND_EXECUTION && !is_samples(tree, row);
    if (forward[row] == TIMELINE_NO_ROW)
      continue;
    if (tree->has_device ? is_device_work(tree, row) : is_host)
      tree_add(tree, forward[row], TREE_BACKWARD, own_ns[row]);
    tree_add(tree, forward[row], TREE_BACKWARDS, 1);
    if (tree->context[row] != CONTEXT_NONE)
      tree->nodes[tree->context[row]].is_backward = true;
  }
}

static void add_spans(struct tree *tree)
{
  const struct store_spans *spans = &tree->run.spans;
  struct arena *arena = &tree->arena;
  uint32_t *parent = stacks_parents(&tree->run, arena);
  uint32_t *name = arena_alloc_array(arena, spans->count, sizeof *name);
  memcpy(name, spans->name, spans->count * sizeof *name);
  join_steps(tree, name);
  const uint32_t *forward = find_forward(tree, parent);
  const int64_t *own_ns = stacks_own_times(&tree->run, parent, arena);
  place_samples(tree, parent);
  tree->context = arena_alloc_array(arena, spans->count, sizeof *tree->context);
  const struct context_spans input = {.count = spans->count,
                                      .parent = parent,
                                      .name = name,
                                      .level = spans->level,
                                      .start_ns = spans->start_ns,
                                      .self_ns = own_ns,
                                      .path = tree->stacks.file.context_count > 0 ? spans->context_id : NULL,
                                      .paths = &tree->stacks.paths,
                                      .ret_context = tree->context};
  contexts_add(&tree->contexts, &input);
  tree->nodes = arena_alloc_array(arena, tree->contexts.all.count, sizeof *tree->nodes);
  for (uint32_t row = 0; row < spans->count; row++)
    add_row(tree, row, own_ns[row]);
  if (forward != NULL)
    add_backward(tree, forward, own_ns);
}

// ---- the table -----------------------------------------------------------------------------------------------------
// Sums over what is below. Without devices work is the run's kernels, without these its innermost layers.
static void add_up(struct tree *tree)
{
  const struct context *contexts = tree->contexts.all.items;
  for (size_t i = tree->contexts.all.count; i-- > 0;) {
    struct tree_node *node = &tree->nodes[i],
                     *around = contexts[i].parent != CONTEXT_NONE ? &tree->nodes[contexts[i].parent] : NULL;
    bool is_layer = contexts[i].level == XSP_LEVEL_LAYER && contexts[i].count > 0;
    if (tree->has_device)
      node->is_kernel = tree->has_kernels ? node->is_kernel : node->own[TREE_WORK] > 0;
    else if (!tree->has_kernels)
      node->is_kernel = is_layer && !node->has_layer_below;
    if (!tree->has_device)
      node->own[TREE_WORK] = node->is_kernel ? contexts[i].count : 0;
    for (int figure = 0; figure < TREE_FIGURES; figure++)
      node->all[figure] = saturate_add(node->all[figure], node->own[figure]);
    for (int figure = 0; around != NULL && figure < TREE_FIGURES; figure++)
      around->all[figure] = saturate_add(around->all[figure], node->all[figure]);
    if (around != NULL)
      around->has_layer_below |= is_layer || node->has_layer_below;
  }
}

static struct table_cell text_of(struct tree *tree, struct arena *arena, uint32_t string)
{
  size_t length = 0;
  const char *text = store_text(tree->stacks.store, string, &length);
  return cell_text(string != 0 ? arena_copy(arena, text, length) : NULL);
}

static struct table_cell copy_of(struct arena *arena, const char *text)
{
  return cell_text(text != NULL ? arena_copy(arena, text, strlen(text)) : NULL);
}

static struct table_cell name_of(struct tree *tree, struct arena *arena, const struct context *context)
{
  const struct store_frame *frame = stacks_frame(&tree->stacks, context->name);
  if (frame != NULL)
    return copy_of(arena, frame->name);
  size_t length = 0;
  const char *text = store_text(tree->stacks.store, context->name, &length);
  size_t stem = context->level == XSP_LEVEL_MODEL ? numbered(text, length) : 0;
  return cell_text(arena_copy(arena, text, stem != 0 ? stem : length));
}

static void put_row(struct tree *tree, struct table_builder *table, const struct context *context,
                    const struct tree_node *node)
{
  static const char *const kinds[XSP_FRAME_KINDS] = {"python", "framework", "native", "device"};
  const struct store_call_paths *file = &tree->stacks.file;
  const struct store_frame *frame =
      node->context_id != 0 ? &file->frames[file->contexts[node->context_id - 1].frame_id - 1] : NULL;
  int time = tree->has_device ? TREE_DEVICE : TREE_HOST;
  bool has_parent = context->parent != CONTEXT_NONE;
  struct arena *arena = table->arena;
  table_row(table);
  table_put(table, "parent", cell_int_if(has_parent, context->parent));
  table_put(table, "name", name_of(tree, arena, context));
  table_put(table, "kind", cell_text(frame != NULL ? kinds[frame->kind] : "span"));
  table_put(table, "level", cell_text(level_name(context->level)));
  table_put(table, "category", text_of(tree, arena, node->category));
  table_put(table, "file", copy_of(arena, frame != NULL ? frame->file : NULL));
  table_put(table, "line", cell_int_if(frame != NULL && frame->line > 0, frame != NULL ? frame->line : 0));
  table_put(table, "module", copy_of(arena, frame != NULL ? frame->module : NULL));
  table_put(table, "context_id", cell_int_if(node->context_id != 0, node->context_id));
  table_put(table, "calls", cell_int(context->count));
  table_put(table, "count", cell_int(node->all[TREE_WORK]));
  table_put(table, "time_ns", cell_int(node->all[time]));
  table_put(table, "self_ns", cell_int(node->own[time]));
  table_put(table, "host_ns", cell_int(node->all[TREE_HOST]));
  table_put(table, "device_ns", cell_int_if(tree->has_device, node->all[TREE_DEVICE]));
  table_put(table, "backward_ns", cell_int_if(node->all[TREE_BACKWARDS] > 0, node->all[TREE_BACKWARD]));
  table_put(table, "is_kernel", cell_bool(node->is_kernel));
  table_put(table, "is_backward", cell_bool(node->is_backward));
}

static enum status load_run(struct tree *tree, struct store *store, int64_t run_id, struct error *err)
{
  tree->words = (struct tree_words){word(store, "kernel"), word(store, "sync"), word(store, "samples")};
  XSP_TRY(stacks_open(store, &tree->stacks, err));
  XSP_TRY(timeline_open(store, &tree->timeline, err));
  for (size_t i = 0; i < tree->timeline.run_count; i++)
    if (tree->timeline.runs[i].run_id == run_id)
      return timeline_load(&tree->timeline, i, TIMELINE_ALL_COLUMNS, &tree->arena, &tree->run, err);
  return error_set(err, STATUS_USE, "cannot make the tree", store_path(store), "xsp sql FILE \"select * from run\"",
                   "there is no run %lld", (long long)run_id);
}

static enum status make_table(struct tree *tree, struct store *store, int64_t run_id, struct arena *arena,
                              struct table *ret_table, struct error *err)
{
  struct table_builder table;
  XSP_TRY(load_run(tree, store, run_id, err));
  if (tree->stacks.is_folded)
    XSP_TRY(tree_add_folded(tree, err));
  else
    add_spans(tree);
  add_up(tree);
  table_start(&table, arena);
  put_row(tree, &table, &(struct context){.parent = CONTEXT_NONE}, &(struct tree_node){0});
  table_declared(&table, tree->contexts.all.count);
  for (size_t i = 0; i < tree->contexts.all.count; i++)
    put_row(tree, &table, &tree->contexts.all.items[i], &tree->nodes[i]);
  table_answer(&table, ret_table);
  return STATUS_OK;
}

enum status report_tree(struct store *store, int64_t run_id, struct arena *arena, struct table *ret_table,
                        struct error *err)
{
  struct tree tree = {.contexts = {.most = NODES_MOST}};
  *ret_table = (struct table){0};
  enum status status = make_table(&tree, store, run_id, arena, ret_table, err);
  contexts_done(&tree.contexts);
  stacks_done(&tree.stacks);
  timeline_done(&tree.timeline);
  arena_done(&tree.arena);
  return status;
}
