// SPDX-License-Identifier: Apache-2.0
// Positions of layers within their observation: by start, longer first, then file order, counting all finished layers, from
// 0. Called by stored.c. answers/analyze/layers/rows.c counts alike; both follow the same rule.
#include "correlate/layer_index.h"

#include "correlate/order.h"

#include <string.h>

struct positions {
  const struct relation *relation;
  uint8_t *numbered;    // a bit a row: layers whose source numbered them
  const uint32_t *rows; // finished layers in observations, in order
  size_t count, at;
  int64_t *next; // by observation
};

static bool is_numbered(const struct positions *positions, uint32_t row)
{
  return (positions->numbered[row / 8] >> row % 8 & 1) != 0;
}

static enum status find_numbered(struct store *store, int64_t run_id, struct positions *positions, struct error *err)
{
  const struct relation *relation = positions->relation;
  struct arena scratch SCOPED(arena_done) = {0};
  struct store_tag *tags;
  size_t count = 0;
  uint32_t key;
  if (!store_find_string(store, "layer_index", 11, &key))
    return STATUS_OK;
  XSP_TRY(store_load_tags_of(store, run_id, &key, 1, &scratch, &tags, &count, err));
  for (size_t i = 0; i < count; i++) {
    uint32_t row = parents_row_of(&relation->parents, relation->spans, tags[i].span_id);
    if (row != ROW_NONE)
      positions->numbered[row / 8] |= (uint8_t)(1u << row % 8);
  }
  return STATUS_OK;
}

// None at all if none needs a number. Takes the memory of what relation_hold held last.
static void order_layers(struct relation *relation, struct arena *arena, struct positions *positions)
{
  const struct store_spans *spans = relation->spans;
  uint32_t *rows = relation->nearest;
  relation->held = RELATION_HOLDS_NONE;
  size_t count = 0;
  bool is_needed = false;
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->level[i] != XSP_LEVEL_LAYER || relation->observation[i] < 0 ||
        (rows_flags(spans, i) & STORE_SPAN_OPEN) != 0)
      continue;
    is_needed |= !is_numbered(positions, (uint32_t)i);
    rows[count++] = (uint32_t)i;
  }
  if (!is_needed)
    return;
  const struct order_input input = {spans->start_ns, spans->duration_ns, spans->level, NULL};
  uint32_t *room = arena_alloc_array(arena, count + 1, sizeof *room);
  positions->rows = order_rows(&input, rows, count, room, arena);
  positions->count = count;
}

static size_t next_positions(void *context, size_t most, int64_t *ret_span_ids, int64_t *ret_values)
{
  struct positions *positions = context;
  const struct relation *relation = positions->relation;
  size_t count = 0;
  for (; count < most && positions->at < positions->count; positions->at++) {
    uint32_t row = positions->rows[positions->at];
    int64_t position = positions->next[relation->observation[row]]++;
    if (is_numbered(positions, row))
      continue;
    ret_span_ids[count] = rows_id(relation->spans, row);
    ret_values[count++] = position;
  }
  return count;
}

enum status layer_index_fill(struct store *store, int64_t run_id, struct relation *relation, size_t observation_count,
                             struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct positions positions = {.relation = relation,
                                .numbered = arena_alloc(&arena, relation->spans->count / 8 + 1),
                                .next = arena_alloc_array(&arena, observation_count + 1, sizeof *positions.next)};
  const struct store_derived_tags tags = {&positions, next_positions};
  XSP_TRY(find_numbered(store, run_id, &positions, err));
  order_layers(relation, &arena, &positions);
  return store_put_derived_tags(store, run_id, "layer_index", &tags, err);
}
