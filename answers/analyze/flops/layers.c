// SPDX-License-Identifier: Apache-2.0
// The analytic work of paired layers: counts every layer of the runs, adds up the layers in those that only call others,
// subtracts layers with rows of their own, and takes the statistic over observations. Called by A14 and T9.
#include "analyze/flops/layers.h"

#include "analyze/flops/tags.h"

#include <math.h>
#include <string.h>

enum { AMOUNTS = 5 }; // multiply_adds, adds, compares, specials, bytes

struct nested { // layers directly in a layer
  uint32_t pending, count;
  bool has_unknown_flops, has_unknown_bytes;
  struct flop_counts sum; // of those that are known
};
struct counting { // of one run
  const struct run_columns *columns;
  struct arena *arena;
  size_t layer_count;
  uint32_t *layer_of; // by row; ROW_NONE
  uint32_t *row_of;   // by layer
  uint32_t *above;    // by layer: the layer around it; ROW_NONE
  uint32_t *order;    // layers, those within before those around
  struct nested *nested;
  struct flop_counts *total; // by layer, with all that is in it
};

static void add(struct flop_counts *sum, const struct flop_counts *more, double sign)
{
  double flops = flop_counts_flops(more);
  if (!isnan(flops)) {
    if (sign > 0 && (sum->element.bytes == 0 || flops > flop_counts_flops(sum)))
      sum->element = more->element;
    sum->multiply_adds += sign * more->multiply_adds;
    sum->adds += sign * more->adds;
    sum->compares += sign * more->compares;
    sum->specials += sign * more->specials;
  }
  if (!isnan(more->bytes))
    sum->bytes += sign * more->bytes;
}

// ---- nesting --------------------------------------------------------------------------------------------------------
static void number_layers(struct counting *counting)
{
  const struct run_columns *columns = counting->columns;
  const struct store_spans *spans = &columns->spans;
  for (size_t i = 0; i < spans->count; i++)
    counting->layer_count += spans->level[i] == XSP_LEVEL_LAYER;
  size_t count = counting->layer_count;
  counting->layer_of = arena_alloc_array(counting->arena, spans->count + 1, sizeof *counting->layer_of);
  counting->row_of = arena_alloc_array(counting->arena, count + 1, sizeof *counting->row_of);
  counting->above = arena_alloc_array(counting->arena, count + 1, sizeof *counting->above);
  counting->order = arena_alloc_array(counting->arena, count + 1, sizeof *counting->order);
  counting->nested = arena_alloc_array(counting->arena, count + 1, sizeof *counting->nested);
  counting->total = arena_alloc_array(counting->arena, count + 1, sizeof *counting->total);
  uint32_t number = 0;
  for (size_t i = 0; i < spans->count; i++) {
    bool is_layer = spans->level[i] == XSP_LEVEL_LAYER;
    counting->layer_of[i] = is_layer ? number : ROW_NONE;
    if (is_layer)
      counting->row_of[number++] = (uint32_t)i;
  }
  for (uint32_t i = 0; i < count; i++) {
    uint32_t parent = run_columns_row(columns, columns->derived.parent_id[counting->row_of[i]]);
    uint32_t around = parent == ROW_NONE ? ROW_NONE : run_columns_row(columns, columns->derived.layer_id[parent]);
    counting->above[i] = around == ROW_NONE ? ROW_NONE : counting->layer_of[around];
    if (counting->above[i] != ROW_NONE)
      counting->nested[counting->above[i]].pending++;
  }
}

// Innermost first: a layer comes when all that are in it have come. Parents form no circles (correlate checks that).
static size_t order_layers(struct counting *counting)
{
  size_t end = 0;
  for (uint32_t i = 0; i < counting->layer_count; i++)
    if (counting->nested[i].pending == 0)
      counting->order[end++] = i;
  for (size_t at = 0; at < end; at++) {
    uint32_t above = counting->above[counting->order[at]];
    if (above != ROW_NONE && --counting->nested[above].pending == 0)
      counting->order[end++] = above;
  }
  return end;
}

// ---- totals ---------------------------------------------------------------------------------------------------------
static struct flop_counts total_of(const struct flop_counts *own, const struct nested *nested, enum flop_role role)
{
  if (role != FLOP_WRAPPER || nested->count == 0)
    return *own;
  struct flop_counts total = nested->sum;
  if (nested->has_unknown_flops)
    total.multiply_adds = total.adds = total.compares = total.specials = NAN;
  if (nested->has_unknown_bytes)
    total.bytes = NAN;
  return total;
}

static void find_totals(struct counting *counting, struct flop_tags *tags)
{
  const struct run_columns *columns = counting->columns;
  size_t count = order_layers(counting);
  for (size_t i = 0; i < counting->layer_count; i++)
    counting->total[i] = flop_counts_unknown;
  for (size_t at = 0; at < count; at++) {
    uint32_t layer = counting->order[at];
    bool is_module = columns->spans.category[counting->row_of[layer]] == columns->module;
    const struct flop_known *own = flop_tags_count(tags, layer);
    counting->total[layer] = total_of(&own->counts, &counting->nested[layer], is_module ? FLOP_WRAPPER : own->role);
    if (counting->above[layer] == ROW_NONE)
      continue;
    struct nested *nested = &counting->nested[counting->above[layer]];
    nested->count++;
    nested->has_unknown_flops |= isnan(flop_counts_flops(&counting->total[layer]));
    nested->has_unknown_bytes |= isnan(counting->total[layer].bytes);
    add(&nested->sum, &counting->total[layer], 1);
  }
  counting->layer_count = count;
}

// ---- rows -----------------------------------------------------------------------------------------------------------
static double not_negative(double value)
{
  return value < 0 ? 0 : value;
}

// Subtracts the work of layers that have rows from the rows around them. `order` has inner layers first, so that backwards
// the outer one comes first.
static void leave_own(const struct counting *counting, const struct layer_rows *rows, struct flop_counts *own)
{
  uint32_t *row_at =
      arena_alloc_array(counting->arena, counting->layer_count + 1, sizeof *row_at); // item around or at it
  uint32_t *item_of = arena_alloc_array(counting->arena, counting->columns->spans.count + 1, sizeof *item_of);
  memset(item_of, 0xff, counting->columns->spans.count * sizeof *item_of);
  for (size_t i = 0; i < rows->count; i++) {
    item_of[rows->items[i].row] = (uint32_t)i;
    own[i] = counting->total[counting->layer_of[rows->items[i].row]];
  }
  for (size_t at = counting->layer_count; at-- > 0;) {
    uint32_t layer = counting->order[at];
    uint32_t above = counting->above[layer];
    uint32_t around = above == ROW_NONE ? ROW_NONE : row_at[above];
    uint32_t item = item_of[counting->row_of[layer]];
    row_at[layer] = item != ROW_NONE ? item : around;
    if (item != ROW_NONE && around != ROW_NONE)
      add(&own[around], &counting->total[layer], -1);
  }
  for (size_t i = 0; i < rows->count; i++) {
    own[i].multiply_adds = not_negative(own[i].multiply_adds);
    own[i].adds = not_negative(own[i].adds);
    own[i].compares = not_negative(own[i].compares);
    own[i].specials = not_negative(own[i].specials);
    own[i].bytes = not_negative(own[i].bytes);
  }
}

// ---- pairs ----------------------------------------------------------------------------------------------------------
struct gathering { // values by layer and observation of the set
  size_t observation_count;
  double *values[AMOUNTS]; // NaN: unknown; -1: the layer is not there
};

struct counted_rows { // what a question counted, for others about the same rows
  struct counted_rows *next;
  const struct layer_rows *rows; // as long as this
  struct flop_counts *own;
};

static enum status count_rows(struct question *question, const struct layers_run *run, struct flop_counts *ret_own,
                              struct arena *arena, struct error *err)
{
  struct run_columns columns;
  struct flop_tags tags;
  struct counting counting = {.columns = &columns, .arena = arena};
  XSP_TRY(run_columns_load(question, run->run,
                           STORE_BIT(STORE_NAME) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_TRACER), arena, &columns,
                           err));
  number_layers(&counting);
  XSP_TRY(flop_tags_load(&columns, counting.layer_of, counting.layer_count, arena, &tags, err));
  find_totals(&counting, &tags);
  flop_tags_done(&tags);
  leave_own(&counting, run->rows, ret_own);
  return STATUS_OK;
}

// By item of the run's rows.
static enum status own_of(struct question *question, const struct layers_run *run, const struct flop_counts **ret_own,
                          struct error *err)
{
  struct analyze_shared *shared = question->shared;
  struct counted_rows *counted = shared->counted;
  while (counted != NULL && counted->rows != run->rows)
    counted = counted->next;
  if (counted == NULL) {
    counted = arena_alloc(shared->arena, sizeof *counted);
    *counted = (struct counted_rows){.next = shared->counted, .rows = run->rows};
    counted->own = arena_alloc_array(shared->arena, run->rows->count + 1, sizeof *counted->own);
    struct arena arena = {0};
    enum status status = count_rows(question, run, counted->own, &arena, err);
    arena_done(&arena);
    XSP_TRY(status);
    shared->counted = counted;
  }
  *ret_own = counted->own;
  return STATUS_OK;
}

static enum status count_run(struct question *question, const struct layers_run *run, struct gathering *gathering,
                             struct flop_counts *items, size_t first, struct error *err)
{
  const struct flop_counts *own;
  XSP_TRY(own_of(question, run, &own, err));
  for (size_t i = 0; i < run->rows->count; i++) {
    const struct layer_row *row = &run->rows->items[i];
    uint32_t observation = run->observation_of[row->observation], layer = run->layer_of[i];
    if (layer == ROW_NONE || observation == ROW_NONE)
      continue;
    const double amounts[AMOUNTS] = {own[i].multiply_adds, own[i].adds, own[i].compares, own[i].specials, own[i].bytes};
    for (size_t k = 0; k < AMOUNTS; k++)
      gathering->values[k][layer * gathering->observation_count + observation - first] = amounts[k];
    if (items[layer].element.bytes == 0)
      items[layer].element = own[i].element;
  }
  return STATUS_OK;
}

static void start(struct gathering *gathering, size_t layer_count, size_t observation_count, struct arena *arena)
{
  gathering->observation_count = observation_count;
  for (size_t k = 0; k < AMOUNTS; k++) {
    gathering->values[k] = arena_alloc_array(arena, layer_count * observation_count + 1, sizeof(double));
    for (size_t i = 0; i < layer_count * observation_count; i++)
      gathering->values[k][i] = -1;
  }
}

// A figure over the observations of `set`, with 0 where the layer is absent; NaN where one of them is unknown, or none has it.
static double amount_of(struct question *question, const struct view_set *set, double *values)
{
  for (size_t i = 0; i < set->observation_count; i++) {
    if (isnan(values[i]))
      return NAN;
    values[i] = values[i] < 0 ? NAN : values[i];
  }
  return question_value(question, set, values);
}

static void read_work(struct question *question, const struct view_set *set, const struct gathering *gathering,
                      size_t layer_count, struct layers_work *work)
{
  for (size_t i = 0; i < layer_count; i++) {
    double amounts[AMOUNTS];
    for (size_t k = 0; k < AMOUNTS; k++)
      amounts[k] = amount_of(question, set, gathering->values[k] + i * gathering->observation_count);
    work->items[i] =
        (struct flop_counts){amounts[0], amounts[1], amounts[2], amounts[3], amounts[4], work->items[i].element};
    work->known += isnan(flop_counts_flops(&work->items[i])) ? 0 : 1;
    work->has_any |= flop_counts_flops(&work->items[i]) > 0;
  }
  work->has_any |= work->known > 0 && work->known == layer_count;
}

enum status flops_layers_load(struct question *question, const struct layers *layers, const struct view_set *set,
                              struct layers_work *ret_work, struct error *err)
{
  struct gathering gathering = {0};
  *ret_work = (struct layers_work){0};
  ret_work->items = arena_alloc_array(question->scratch, layers->count + 1, sizeof *ret_work->items);
  start(&gathering, layers->count, set->observation_count, question->scratch);
  for (size_t r = 0; r < layers->run_count; r++) {
    const struct layers_run *run = &layers->runs[r];
    if (run->part->set == set)
      XSP_TRY(count_run(question, run, &gathering, ret_work->items, run->part->first_observation, err));
  }
  read_work(question, set, &gathering, layers->count, ret_work);
  return STATUS_OK;
}
