// SPDX-License-Identifier: Apache-2.0
// Positions of layers within their observation: by start, longer first, then file order, counting all finished layers, from
// 0. Called by stored.c. analyze/layers/rows.c counts alike; both follow the same rule.
#include "correlate/layer_index.h"

#include "correlate/order.h"

#include <string.h>

// Finished layers in observations, in order; *ret_most: the highest number of an observation.
static uint32_t *ordered_layers(const struct relation *relation, struct arena *arena, size_t *ret_count,
                                int32_t *ret_most)
{
  const struct store_spans *spans = relation->spans;
  size_t count = 0;
  for (size_t i = 0; i < spans->count; i++)
    count += spans->level[i] == XSP_LEVEL_LAYER;
  uint32_t *rows = arena_alloc_array(arena, count + 1, sizeof *rows);
  count = 0;
  *ret_most = -1;
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->level[i] != XSP_LEVEL_LAYER || relation->observation[i] < 0 ||
        (rows_flags(spans, i) & STORE_SPAN_OPEN) != 0)
      continue;
    rows[count++] = (uint32_t)i;
    *ret_most = relation->observation[i] > *ret_most ? relation->observation[i] : *ret_most;
  }
  const struct order_input input = {spans->start_ns, spans->duration_ns, spans->level, NULL};
  order_rows(&input, &rows, count, arena);
  *ret_count = count;
  return rows;
}

// A bit a row: layers whose source numbered them.
static enum status find_numbered(struct store *store, int64_t run_id, const struct relation *relation,
                                 struct arena *arena, uint8_t **ret_numbered, struct error *err)
{
  struct arena scratch = {0};
  struct store_tag *tags;
  size_t count = 0;
  uint32_t key;
  *ret_numbered = arena_alloc(arena, relation->spans->count / 8 + 1);
  if (!store_find_string(store, "layer_index", 11, &key))
    return STATUS_OK;
  enum status status = store_load_tags_of(store, run_id, &key, 1, &scratch, &tags, &count, err);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    uint32_t row = parents_row_of(&relation->parents, relation->spans, tags[i].span_id);
    if (row != ROW_NONE)
      (*ret_numbered)[row / 8] |= (uint8_t)(1u << row % 8);
  }
  arena_done(&scratch);
  return status;
}

static enum status fill(struct store *store, int64_t run_id, const struct relation *relation, struct arena *arena,
                        struct error *err)
{
  size_t count, filled = 0;
  int32_t most;
  uint8_t *numbered;
  const uint32_t *rows = ordered_layers(relation, arena, &count, &most);
  if (count > 0)
    XSP_TRY(find_numbered(store, run_id, relation, arena, &numbered, err));
  int64_t *next = arena_alloc_array(arena, (size_t)most + 2, sizeof *next); // by observation
  struct store_derived_tag *tags = arena_alloc_array(arena, count + 1, sizeof *tags);
  for (size_t i = 0; i < count; i++) {
    int64_t position = next[relation->observation[rows[i]]]++;
    if ((numbered[rows[i] / 8] >> rows[i] % 8 & 1) == 0)
      tags[filled++] = (struct store_derived_tag){rows_id(relation->spans, rows[i]), position};
  }
  return store_put_derived_tags(store, run_id, "layer_index", tags, filled, err);
}

enum status layer_index_fill(struct store *store, int64_t run_id, const struct relation *relation, struct error *err)
{
  struct arena arena = {0};
  enum status status = fill(store, run_id, relation, &arena, err);
  arena_done(&arena);
  return status;
}
