// SPDX-License-Identifier: Apache-2.0
// Finds the layers of one run in the chosen mode, with their own times, positions, tags and kernel counts. Called by
// layers.c, which pairs them across observations.
#include "analyze/layer_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS                                                                                                        \
  (STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_NAME) |       \
   STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_KIND) | STORE_BIT(STORE_FLAGS) |               \
   STORE_BIT(STORE_TRACK_ID))
#define NONE UINT32_MAX
#define UNKNOWN (UINT32_MAX - 1)

struct by_id {
  int64_t id;
  uint32_t row;
};
struct work {
  struct store *store;
  enum layer_mode mode;
  struct arena *arena;
  size_t observation_count;
  struct store_spans spans;
  struct store_derived derived;
  struct by_id *index; // rows by id; NULL where ids rise
  uint32_t *above;     // by row: the nearest layer above it; NONE
  uint32_t *counts_as; // by row, of layers: the layer that it counts as in this mode; NONE
  uint32_t *item_of;   // by row, of layers that count: their item; NONE
  struct layer_rows *rows;
};

static int compare_ids(const void *left, const void *right)
{
  const struct by_id *a = left;
  const struct by_id *b = right;
  return a->id < b->id ? -1 : a->id > b->id;
}

static bool index_ids(struct work *work)
{
  const struct store_spans *spans = &work->spans;
  bool rise = true;
  for (size_t i = 1; i < spans->count && rise; i++)
    rise = spans->span_id[i] > spans->span_id[i - 1];
  if (rise)
    return true;
  work->index = arena_alloc_array(work->arena, spans->count, sizeof *work->index);
  if (work->index == NULL)
    return false;
  for (size_t i = 0; i < spans->count; i++)
    work->index[i] = (struct by_id){spans->span_id[i], (uint32_t)i};
  qsort(work->index, spans->count, sizeof *work->index, compare_ids);
  return true;
}

static uint32_t row_of(const struct work *work, int64_t id)
{
  const struct store_spans *spans = &work->spans;
  if (id == 0 || spans->count == 0)
    return NONE;
  uint64_t guess = (uint64_t)id - (uint64_t)spans->span_id[0];
  if (guess < spans->count && spans->span_id[guess] == id)
    return (uint32_t)guess;
  size_t low = 0;
  size_t high = spans->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if ((work->index != NULL ? work->index[middle].id : spans->span_id[middle]) < id)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == spans->count || (work->index != NULL ? work->index[low].id : spans->span_id[low]) != id)
    return NONE;
  return work->index != NULL ? work->index[low].row : (uint32_t)low;
}

static bool is_category(const struct work *work, uint32_t row, const char *name)
{
  return strcmp(store_text(work->store, work->spans.category[row], NULL), name) == 0;
}

// ---- which layers count ----------------------------------------------------------------------------------------------
static void find_above(struct work *work)
{
  for (size_t i = 0; i < work->spans.count; i++) {
    if (work->spans.level[i] != XSP_LEVEL_LAYER)
      continue;
    uint32_t parent = row_of(work, work->derived.parent_id[i]);
    work->above[i] = parent == NONE ? NONE : row_of(work, work->derived.layer_id[parent]);
  }
}

// What each layer counts as: itself, or the nearest above that counts. Parents form no circles (correlate saw to it).
static bool decide_counting(struct work *work)
{
  size_t count = work->spans.count;
  uint32_t *path = arena_alloc_array(work->arena, count + 1, sizeof *path);
  if (path == NULL)
    return false;
  for (size_t i = 0; i < count; i++)
    work->counts_as[i] = UNKNOWN;
  for (size_t i = 0; i < count; i++) {
    if (work->spans.level[i] != XSP_LEVEL_LAYER)
      continue;
    size_t depth = 0;
    uint32_t at = (uint32_t)i;
    while (at != NONE && work->counts_as[at] == UNKNOWN && depth < count) {
      path[depth++] = at;
      at = work->above[at];
    }
    uint32_t inherited = at == NONE || work->counts_as[at] == UNKNOWN ? NONE : work->counts_as[at];
    while (depth > 0) {
      at = path[--depth];
      bool counts = work->mode == LAYER_INNERMOST || (work->mode == LAYER_OUTERMOST && inherited == NONE) ||
                    (work->mode == LAYER_MODULE && is_category(work, at, "module"));
      inherited = counts ? at : inherited;
      work->counts_as[at] = inherited;
    }
  }
  return true;
}

static int compare_items(const void *left, const void *right)
{
  const struct layer_row *a = left;
  const struct layer_row *b = right;
  if (a->observation != b->observation)
    return a->observation < b->observation ? -1 : 1;
  if (a->start_ns != b->start_ns)
    return a->start_ns < b->start_ns ? -1 : 1;
  if (a->duration_ns != b->duration_ns)
    return a->duration_ns > b->duration_ns ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

// All finished layers of observations in order; their positions; then only those that count themselves are kept.
static void list_items(struct work *work)
{
  const struct store_spans *spans = &work->spans;
  struct layer_row *items = work->rows->items;
  size_t count = 0;
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->level[i] != XSP_LEVEL_LAYER)
      continue;
    int32_t observation = work->derived.observation[i];
    bool is_open = (spans->flags[i] & STORE_SPAN_OPEN) != 0;
    bool is_outside = observation < 0 || (size_t)observation >= work->observation_count;
    work->rows->open += is_open;
    work->rows->outside += is_outside && !is_open;
    if (is_open || is_outside)
      continue;
    items[count++] = (struct layer_row){.row = (uint32_t)i,
                                        .observation = observation,
                                        .name = spans->name[i],
                                        .start_ns = spans->start_ns[i],
                                        .duration_ns = spans->duration_ns[i],
                                        .latency_ms = (double)spans->duration_ns[i] / 1e6,
                                        .alloc_bytes = NAN};
  }
  qsort(items, count, sizeof *items, compare_items);
  size_t kept = 0;
  int64_t position = 0;
  for (size_t i = 0; i < count; i++) {
    position = i > 0 && items[i].observation == items[i - 1].observation ? position + 1 : 0;
    struct layer_row item = items[i];
    item.index = position;
    if (work->counts_as[item.row] != item.row)
      continue;
    work->item_of[item.row] = (uint32_t)kept;
    items[kept++] = item;
  }
  work->rows->count = kept;
}

// Takes nested layers that count off those they are nested in: the union of their times, on one track.
static bool leave_own_time(struct work *work)
{
  const struct store_spans *spans = &work->spans;
  int64_t *reach = arena_alloc_array(work->arena, work->rows->count + 1, sizeof *reach); // since the outer one's start
  int64_t *nested = arena_alloc_array(work->arena, work->rows->count + 1, sizeof *nested);
  if (reach == NULL || nested == NULL)
    return false;
  for (size_t i = 0; i < work->rows->count; i++) {
    const struct layer_row *item = &work->rows->items[i];
    uint32_t above = work->above[item->row];
    uint32_t outer_row = above == NONE ? NONE : work->counts_as[above];
    uint32_t outer_at = outer_row == NONE ? NONE : work->item_of[outer_row];
    if (outer_at == NONE || spans->track_id[outer_row] != spans->track_id[item->row])
      continue;
    const struct layer_row *outer = &work->rows->items[outer_at];
    int64_t from = item->start_ns > outer->start_ns ? item->start_ns - outer->start_ns : 0;
    int64_t to = item->start_ns + item->duration_ns - outer->start_ns;
    to = to < outer->duration_ns ? to : outer->duration_ns;
    from = from > reach[outer_at] ? from : reach[outer_at];
    if (to <= from)
      continue;
    nested[outer_at] += to - from;
    reach[outer_at] = to;
  }
  for (size_t i = 0; i < work->rows->count; i++)
    work->rows->items[i].latency_ms = (double)(work->rows->items[i].duration_ns - nested[i]) / 1e6;
  return true;
}

// ---- what is known of them -------------------------------------------------------------------------------------------
// Kernels are what runs on the device (or, synchronously, on the CPU): not copies, not host calls.
static void count_kernels(struct work *work)
{
  const struct store_spans *spans = &work->spans;
  for (size_t i = 0; i < spans->count; i++) {
    int32_t observation = work->derived.observation[i];
    if (spans->level[i] != XSP_LEVEL_KERNEL || spans->kind[i] == XSP_KIND_LAUNCH || observation < 0 ||
        (size_t)observation >= work->observation_count ||
        (spans->category[i] != 0 && !is_category(work, (uint32_t)i, "kernel")))
      continue;
    work->rows->kernels[observation]++;
    uint32_t layer = row_of(work, work->derived.layer_id[i]);
    uint32_t counted = layer == NONE ? NONE : work->counts_as[layer];
    if (counted < UNKNOWN && work->item_of[counted] != NONE)
      work->rows->items[work->item_of[counted]].kernels++;
  }
}

static enum status read_tags(struct work *work, int64_t run_id, struct error *err)
{
  static const char *const names[] = {"layer_index", "layer_type", "layer_shape", "alloc_bytes"};
  uint32_t keys[4];
  for (size_t i = 0; i < 4; i++)
    if (!store_find_string(work->store, names[i], strlen(names[i]), &keys[i]))
      keys[i] = NONE;
  struct store_tag *tags;
  size_t count;
  XSP_TRY(store_load_tags(work->store, run_id, work->arena, &tags, &count, err));
  for (size_t i = 0; i < count; i++) {
    const struct store_tag *tag = &tags[i];
    if (tag->key != keys[0] && tag->key != keys[1] && tag->key != keys[2] && tag->key != keys[3])
      continue;
    uint32_t row = row_of(work, tag->span_id);
    if (row == NONE || work->item_of[row] == NONE)
      continue;
    struct layer_row *item = &work->rows->items[work->item_of[row]];
    if (tag->key == keys[0] && tag->type == STORE_INT) {
      item->is_indexed = true;
      item->index = tag->value.integer;
    } else if (tag->key == keys[1] && tag->type == STORE_TEXT) {
      item->type = store_text(work->store, tag->value.string, NULL);
    } else if (tag->key == keys[2] && tag->type == STORE_TEXT) {
      item->shape = store_text(work->store, tag->value.string, NULL);
    } else if (tag->key == keys[3] && tag->type != STORE_TEXT) {
      item->alloc_bytes = tag->type == STORE_INT ? (double)tag->value.integer : tag->value.real;
    }
  }
  return STATUS_OK;
}

static uint32_t *rows_of_none(struct work *work)
{
  uint32_t *array = arena_alloc_array(work->arena, work->spans.count + 1, sizeof *array);
  if (array != NULL)
    memset(array, 0xff, work->spans.count * sizeof *array);
  return array;
}

enum status layer_rows_load(struct store *store, const struct view_run *run, enum layer_mode mode, struct arena *arena,
                            struct layer_rows *ret_rows, struct error *err)
{
  struct work work = {.store = store, .mode = mode, .arena = arena, .rows = ret_rows};
  work.observation_count = run->observation_count;
  *ret_rows = (struct layer_rows){0};
  XSP_TRY(store_load_spans(store, run->run->run_id, COLUMNS, arena, &work.spans, err));
  XSP_TRY(store_load_derived(store, run->run->run_id, arena, &work.derived, err));
  if (work.derived.count != work.spans.count)
    return error_set(err, STATUS_INPUT, "cannot analyze", store_path(store), NULL,
                     "run %lld has %zu spans and %zu derived rows", (long long)run->run->run_id, work.spans.count,
                     work.derived.count);
  size_t layers = 0;
  for (size_t i = 0; i < work.spans.count; i++)
    layers += work.spans.level[i] == XSP_LEVEL_LAYER;
  ret_rows->items = arena_alloc_array(arena, layers + 1, sizeof *ret_rows->items);
  ret_rows->kernels = arena_alloc_array(arena, run->observation_count + 1, sizeof *ret_rows->kernels);
  work.above = rows_of_none(&work);
  work.counts_as = rows_of_none(&work);
  work.item_of = rows_of_none(&work);
  if (ret_rows->items == NULL || ret_rows->kernels == NULL || work.above == NULL || work.counts_as == NULL ||
      work.item_of == NULL || !index_ids(&work))
    return question_no_memory(err);
  find_above(&work);
  if (!decide_counting(&work))
    return question_no_memory(err);
  list_items(&work);
  if (mode != LAYER_OUTERMOST && !leave_own_time(&work))
    return question_no_memory(err);
  count_kernels(&work);
  return read_tags(&work, run->run->run_id, err);
}
