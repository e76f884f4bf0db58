// SPDX-License-Identifier: Apache-2.0
// Which forward operators computed again what activation checkpointing had not kept. Called by rows.c. They run inside a backward
// operator, and so do a gradient's own operators where it is differentiated itself (create_graph=True), so that alone decides
// nothing.
//
//   use_reentrant=True    CheckpointFunctionBackward ▷ tanh, and TanhBackward0, which is linked to that tanh
//   use_reentrant=False   AddmmBackward0 ▷ tanh with a sequence number, which nothing is linked to: only its outputs were needed
#include "analyze/layers/recomputed.h"

#include "base/map.h"

#define ENGINES_MOST 64u // backward operators inside each other that are looked through

struct finding {
  const struct run_columns *columns;
  const uint32_t *above, *forward_of;
  uint32_t *within; // by row, of layers: the nearest backward operator above; ROW_NONE
  uint8_t *recomputed;
};

static void find_within(struct finding *finding, struct arena *arena)
{
  size_t count = finding->columns->spans.count;
  uint8_t *is_known = arena_alloc(arena, count + 1);
  uint32_t *path = arena_alloc_array(arena, count + 1, sizeof *path);
  finding->within = arena_alloc_array(arena, count + 1, sizeof *finding->within);
  for (size_t i = 0; i < count; i++) {
    size_t depth = 0;
    uint32_t at = (uint32_t)i;
    for (; at != ROW_NONE && !is_known[at] && depth < count; at = finding->above[at])
      path[depth++] = at;
    while (depth > 0) {
      uint32_t row = path[--depth], above = finding->above[row];
      finding->within[row] = above == ROW_NONE                               ? ROW_NONE
                             : layer_is_backward(finding->forward_of, above) ? above
                                                                             : finding->within[above];
      is_known[row] = true;
    }
  }
}

static bool is_inside(const struct finding *finding, uint32_t row, uint32_t outer)
{
  for (unsigned i = 0; i < ENGINES_MOST && row != ROW_NONE; i++)
    if ((row = finding->within[row]) == outer)
      return true;
  return false;
}

// Marks what backward operators of the same pass are linked to. False: a gradient is differentiated itself.
static bool mark_linked(struct finding *finding)
{
  bool is_plain = true;
  for (uint32_t i = 0; i < finding->columns->spans.count; i++) {
    uint32_t forward = layer_is_backward(finding->forward_of, i) ? finding->forward_of[i] : ROW_NONE;
    uint32_t outer = forward == ROW_NONE ? ROW_NONE : finding->within[forward];
    if (outer == ROW_NONE)
      continue;
    if (is_inside(finding, i, outer))
      finding->recomputed[forward] = LAYER_RECOMPUTED_LINKED;
    else
      is_plain = false;
  }
  return is_plain;
}

// Those of names that are linked elsewhere, so that rows by name compare.
static enum status mark_unlinked(struct finding *finding, struct arena *arena, struct error *err)
{
  const struct store_spans *spans = &finding->columns->spans;
  struct map names SCOPED(map_done) = {0};
  struct store_tag *tags;
  size_t count;
  uint32_t key;
  if (!store_find_string(finding->columns->store, "sequence", 8, &key))
    return STATUS_OK;
  XSP_TRY(store_load_tags_of(finding->columns->store, finding->columns->run->run->run_id, &key, 1, arena, &tags, &count,
                             err));
  for (uint32_t i = 0; i < spans->count; i++)
    if (finding->forward_of[i] == i)
      map_at(&names, map_number(spans->name[i]), NULL);
  for (size_t i = 0; i < count; i++) {
    uint32_t row = run_columns_row(finding->columns, tags[i].span_id);
    if (row != ROW_NONE && tags[i].type == STORE_INT && tags[i].value.integer >= 0 &&
        spans->level[row] == XSP_LEVEL_LAYER && finding->forward_of[row] == ROW_NONE &&
        finding->within[row] != ROW_NONE && map_find(&names, map_number(spans->name[row])) != NULL)
      finding->recomputed[row] = LAYER_RECOMPUTED;
  }
  return STATUS_OK;
}

enum status layer_recomputed_find(const struct run_columns *columns, const uint32_t *above, const uint32_t *forward_of,
                                  struct arena *arena, const uint8_t **ret_recomputed, struct error *err)
{
  struct finding finding = {.columns = columns, .above = above, .forward_of = forward_of};
  finding.recomputed = arena_alloc(arena, columns->spans.count + 1);
  *ret_recomputed = finding.recomputed;
  find_within(&finding, arena);
  return mark_linked(&finding) ? mark_unlinked(&finding, arena, err) : STATUS_OK;
}
