// SPDX-License-Identifier: Apache-2.0
// The tree of a run whose spans were folded (`xsp run --aggregate`): from the rows of its calling contexts. Called by tree.c.
#include "report/exports/tree.h"

#include <string.h>

static int figure_of(const char *metric)
{
  return strcmp(metric, "host_ns") == 0 ? TREE_HOST : strcmp(metric, "device_ns") == 0 ? TREE_DEVICE : TREE_FIGURES;
}

static void add_folded_sums(struct tree *tree, const struct store_context_metric *rows, size_t count)
{
  for (uint32_t row = 0; row < count; row++) {
    int figure = figure_of(rows[row].metric);
    if (tree->context[row] == CONTEXT_NONE)
      continue;
    tree_name_paths(tree, tree->context[row], (uint32_t)rows[row].context_id);
    if (figure != TREE_FIGURES)
      tree_add(tree, row, figure, rows[row].exclusive_sum);
    tree->has_device |= figure == TREE_DEVICE;
  }
}

// How many spans each path has itself. `by_path`: the first row of a path, + 1.
static enum status add_folded_counts(struct tree *tree, const struct map *by_path, struct error *err)
{
  struct store_context_sample *samples;
  size_t count;
  XSP_TRY(store_context_samples(tree->stacks.store, tree->run.run->run_id, &tree->arena, &samples, &count, err));
  for (size_t i = 0; i < count; i++) {
    const uint64_t *row = map_find(by_path, map_number((uint64_t)samples[i].context_id));
    bool is_device = figure_of(samples[i].metric) == TREE_DEVICE;
    if (row == NULL || tree->context[*row - 1] == CONTEXT_NONE)
      continue;
    if (is_device || figure_of(samples[i].metric) == TREE_HOST || strcmp(samples[i].metric, "range_ns") == 0)
      tree->contexts.all.items[tree->context[*row - 1]].count += samples[i].count;
    tree_add(tree, (uint32_t)*row - 1, TREE_WORK, is_device ? samples[i].count : 0);
  }
  return STATUS_OK;
}

enum status tree_add_folded(struct tree *tree, struct error *err)
{
  struct arena *arena = &tree->arena;
  const struct context_paths *paths = &tree->stacks.paths;
  struct store_context_metric *rows;
  struct map by_path SCOPED(map_done) = {0};
  size_t count;
  XSP_TRY(
      correlate_context_rows(tree->stacks.store, tree->run.run->run_id, &tree->stacks.file, arena, &rows, &count, err));
  uint32_t *parent = arena_alloc_array(arena, count, sizeof *parent);
  uint32_t *path = arena_alloc_array(arena, count, sizeof *path), *name = arena_alloc_array(arena, count, sizeof *name);
  uint8_t *level = arena_alloc_array(arena, count, sizeof *level);
  int64_t *nothing = arena_alloc_array(arena, count, sizeof *nothing);
  tree->context = arena_alloc_array(arena, count, sizeof *tree->context);
  for (size_t i = 0; i < count; i++) {
    parent[i] = CONTEXT_NONE;
    path[i] = (uint32_t)rows[i].context_id;
    name[i] = paths->name[path[i] - 1];
    level[i] = paths->level[path[i] - 1];
    *map_at(&by_path, map_number(path[i]), NULL) = i + 1;
  }
  const struct context_spans input = {count,   parent, name,  level,   nothing,
                                      nothing, path,   paths, nothing, tree->context};
  contexts_add(&tree->contexts, &input);
  tree->nodes = arena_alloc_array(arena, tree->contexts.all.count, sizeof *tree->nodes);
  add_folded_sums(tree, rows, count);
  return add_folded_counts(tree, &by_path, err);
}
