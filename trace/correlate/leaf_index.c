// SPDX-License-Identifier: Apache-2.0
// Positions of layers in a run with leaves, by the rule of layer_index.c. Observations are taken in order, as many at a time as
// have some hundred thousand layers, whose times are read again: so the memory does not grow with the run. Called by stored.c.
#include "correlate/leaves.h"
#include "correlate/order.h"

#define LAYERS_AT_ONCE 131072u

struct numbering {
  struct store *store;
  int64_t run_id;
  const struct leaves *leaves;
  size_t observation_count;
  int32_t first, end; // the observations that are numbered now
  VECTOR(int64_t) start, duration, id;
  VECTOR(int32_t) observation;
  struct arena arena;   // the order's
  const uint32_t *rows; // of these arrays, in order
  size_t count, at;
  int64_t *next;    // by observation
  uint32_t *layers; // by observation; those of leaves that are in one by time alone are not counted
  struct error *err;
  enum status status;
};

static int32_t inherited(const struct leaves *leaves, uint32_t kept)
{
  return (leaves->has_item[kept / 8] >> kept % 8 & 1) != 0 ? leaves->relation->observation[kept] : -1;
}

static void count_layers(struct numbering *numbering)
{
  const struct leaves *leaves = numbering->leaves;
  for (size_t i = 0; i < leaves->stretches.count; i++) {
    const struct leaves_stretch *stretch = &leaves->stretches.items[i];
    int32_t observation = leaves_are(stretch) ? inherited(leaves, stretch->at) : -1;
    if (observation >= 0)
      numbering->layers[observation] += (uint32_t)(leaves_stretch_end(leaves, i) - stretch->first_row);
  }
}

static bool is_in(const struct numbering *numbering, int32_t observation)
{
  return observation >= numbering->first && observation < numbering->end;
}

static void take_layer(struct numbering *numbering, const struct store_spans *part, size_t i, int32_t observation)
{
  if (!is_in(numbering, observation))
    return;
  size_t at = numbering->start.count++;
  numbering->start.items[at] = part->start_ns[i];
  numbering->duration.items[at] = part->duration_ns[i];
  numbering->id.items[at] = part->span_id[i];
  numbering->observation.items[at] = observation;
}

static enum status take_part(void *context, size_t first_row, const struct store_spans *part,
                             const struct store_derived *derived, struct error *err)
{
  struct numbering *numbering = context;
  const struct leaves *leaves = numbering->leaves;
  size_t row = first_row, end = first_row + part->count;
  numbering->duration.count = numbering->id.count = numbering->observation.count = numbering->start.count;
  vector_reserve(&numbering->start, part->count);
  vector_reserve(&numbering->duration, part->count);
  vector_reserve(&numbering->id, part->count);
  vector_reserve(&numbering->observation, part->count);
  for (size_t s = leaves_stretch_of(leaves, row); row < end; s++) {
    const struct leaves_stretch *stretch = &leaves->stretches.items[s];
    size_t stretch_end = leaves_stretch_end(leaves, s), stop = stretch_end < end ? stretch_end : end;
    for (; row < stop; row++) {
      size_t i = row - first_row, kept = stretch->at + (row - stretch->first_row);
      if (leaves_are(stretch))
        take_layer(numbering, part, i, leaves_observation(leaves, stretch, part->start_ns[i]));
      else if (leaves->kept.level[kept] == XSP_LEVEL_LAYER && (leaves->kept.flags[kept] & STORE_SPAN_OPEN) == 0)
        take_layer(numbering, part, i, leaves->relation->observation[kept]);
    }
  }
  return STATUS_OK;
}

static bool may_have_layers(const struct numbering *numbering, const struct leaves_stretch *stretch, size_t count)
{
  const struct leaves *leaves = numbering->leaves;
  if (leaves_are(stretch)) {
    int32_t observation = inherited(leaves, stretch->at);
    return observation < 0 || is_in(numbering, observation);
  }
  for (size_t i = stretch->at; i < stretch->at + count; i++)
    if (leaves->kept.level[i] == XSP_LEVEL_LAYER && is_in(numbering, leaves->relation->observation[i]))
      return true;
  return false;
}

// The rows among which the layers of the observations are.
static void find_rows(const struct numbering *numbering, size_t *ret_first, size_t *ret_end)
{
  const struct leaves *leaves = numbering->leaves;
  *ret_first = SIZE_MAX;
  *ret_end = 0;
  for (size_t i = 0; i < leaves->stretches.count; i++) {
    const struct leaves_stretch *stretch = &leaves->stretches.items[i];
    size_t end = leaves_stretch_end(leaves, i);
    if (!may_have_layers(numbering, stretch, end - stretch->first_row))
      continue;
    *ret_first = stretch->first_row < *ret_first ? stretch->first_row : *ret_first;
    *ret_end = end;
  }
}

static enum status take_batch(struct numbering *numbering)
{
  const uint32_t columns = STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS);
  size_t first_row, end_row, layers = 0;
  numbering->first = numbering->end;
  while ((size_t)numbering->end < numbering->observation_count && layers < LAYERS_AT_ONCE)
    layers += numbering->layers[numbering->end++];
  numbering->start.count = 0;
  find_rows(numbering, &first_row, &end_row);
  XSP_TRY(store_walk_spans_from(numbering->store, numbering->run_id, columns, first_row, end_row, take_part, numbering,
                                numbering->err));
  size_t count = numbering->start.count;
  arena_done(&numbering->arena);
  const struct order_input input = {numbering->start.items, numbering->duration.items,
                                    arena_alloc(&numbering->arena, count + 1), NULL}; // all of one level
  uint32_t *rows = arena_alloc_array(&numbering->arena, count + 1, sizeof *rows);
  for (size_t i = 0; i < count; i++)
    rows[i] = (uint32_t)i;
  numbering->rows =
      order_rows(&input, rows, count, arena_alloc_array(&numbering->arena, count + 1, sizeof *rows), &numbering->arena);
  numbering->count = count;
  numbering->at = 0;
  return STATUS_OK;
}

static size_t next_positions(void *context, size_t most, int64_t *ret_span_ids, int64_t *ret_values)
{
  struct numbering *numbering = context;
  size_t count = 0;
  while (count < most) {
    while (numbering->at == numbering->count && (size_t)numbering->end < numbering->observation_count)
      if ((numbering->status = take_batch(numbering)) != STATUS_OK)
        return 0;
    if (numbering->at == numbering->count)
      break;
    uint32_t row = numbering->rows[numbering->at++];
    ret_span_ids[count] = numbering->id.items[row];
    ret_values[count++] = numbering->next[numbering->observation.items[row]]++;
  }
  return count;
}

enum status leaves_number(struct store *store, int64_t run_id, const struct leaves *leaves, size_t observation_count,
                          struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct numbering numbering = {.store = store,
                                .run_id = run_id,
                                .leaves = leaves,
                                .observation_count = observation_count,
                                .next = arena_alloc_array(&arena, observation_count + 1, sizeof *numbering.next),
                                .layers = arena_alloc_array(&arena, observation_count + 1, sizeof *numbering.layers),
                                .err = err};
  const struct store_derived_tags tags = {&numbering, next_positions};
  count_layers(&numbering);
  enum status status = store_put_derived_tags(store, run_id, "layer_index", &tags, err);
  vector_done(&numbering.start);
  vector_done(&numbering.duration);
  vector_done(&numbering.id);
  vector_done(&numbering.observation);
  arena_done(&numbering.arena);
  return numbering.status != STATUS_OK ? numbering.status : status;
}
