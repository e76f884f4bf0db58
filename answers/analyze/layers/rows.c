// SPDX-License-Identifier: Apache-2.0
// Finds the layers of one run in the chosen mode, with their own times, positions, tags and kernel counts. Called by
// layers.c, which pairs them across observations.
#include "analyze/layers/rows.h"

#include "analyze/layers/captured.h"
#include "analyze/layers/device_time.h"
#include "analyze/layers/kinds.h"
#include "analyze/layers/recomputed.h"
#include "analyze/layers/row_tags.h"
#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN (ROW_NONE - 1)

// Categories of layers that a framework executes and that compute nothing.
static const char *const idle_categories[] = {"constant", "variable", "input", "output", "control"};
enum { IDLE_CATEGORIES = sizeof idle_categories / sizeof idle_categories[0] };

struct work {
  const struct run_columns *columns;
  enum layer_mode mode;
  uint32_t idle[IDLE_CATEGORIES]; // string ids of categories that do not count
  size_t idle_count;              // 0: all count
  struct arena *arena;            // of temporary memory
  uint32_t *above;                // by row: the nearest layer above it; ROW_NONE
  const uint8_t *kind;            // by row, of layers: enum layer_kind
  uint32_t *counts_as;            // by row, of layers: the layer that it counts as in this mode; ROW_NONE
  uint32_t *item_of;              // by row, of layers: the item of what it counts as; ROW_NONE
  uint32_t *forward_of;      // LAYER_AUTOGRAD, by row: forward operator of what it links, which may be itself; ROW_NONE
  const uint8_t *recomputed; // LAYER_AUTOGRAD, by row: enum layer_recomputed
  struct layer_span *all;    // layers that count, in observations or not
  size_t all_count;
  struct device_time device_time;  // where device rows are asked for
  struct layers_captured captured; // where nodes of graphs are of the layer that captured them
  struct layer_rows *rows;
};

// ---- which layers count ---------------------------------------------------------------------------------------------
static void find_above(struct work *work)
{
  const struct run_columns *columns = work->columns;
  for (size_t i = 0; i < columns->spans.count; i++) {
    if (columns->spans.level[i] != XSP_LEVEL_LAYER)
      continue;
    uint32_t parent = run_columns_row(columns, columns->derived.parent_id[i]);
    work->above[i] = parent == ROW_NONE ? ROW_NONE : run_columns_row(columns, columns->derived.layer_id[parent]);
  }
}

static bool may_count(const struct work *work, uint32_t row)
{
  enum layer_kind kind = (enum layer_kind)work->kind[row];
  if (kind == LAYER_LOADS || (kind == LAYER_WRAPS && work->mode == LAYER_OUTERMOST))
    return false;
  for (size_t i = 0; i < work->idle_count; i++)
    if (work->columns->spans.category[row] == work->idle[i])
      return false;
  return true;
}

static void find_idle(struct work *work)
{
  for (size_t i = 0; i < IDLE_CATEGORIES; i++)
    work->idle_count += store_find_string(work->columns->store, idle_categories[i], strlen(idle_categories[i]),
                                          &work->idle[work->idle_count]);
}

static void find_forward(struct work *work)
{
  const struct run_columns *columns = work->columns;
  const int64_t *forward_id = columns->derived.forward_id;
  for (size_t i = 0; i < columns->spans.count && forward_id != NULL; i++) {
    uint32_t forward = run_columns_row(columns, forward_id[i]);
    if (forward != ROW_NONE)
      work->forward_of[i] = work->forward_of[forward] = forward;
  }
}

// What each layer counts as: itself, or the nearest above that counts. Parents form no circles (correlate checks that).
static void decide_counting(struct work *work)
{
  const struct store_spans *spans = &work->columns->spans;
  size_t layers = 0;
  for (size_t i = 0; i < spans->count; i++) {
    layers += spans->level[i] == XSP_LEVEL_LAYER;
    work->counts_as[i] = UNKNOWN;
  }
  uint32_t *path = arena_alloc_array(work->arena, layers + 1, sizeof *path);
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->level[i] != XSP_LEVEL_LAYER)
      continue;
    size_t depth = 0;
    uint32_t at = (uint32_t)i;
    while (at != ROW_NONE && work->counts_as[at] == UNKNOWN && depth < layers) {
      path[depth++] = at;
      at = work->above[at];
    }
    uint32_t inherited = at == ROW_NONE || work->counts_as[at] == UNKNOWN ? ROW_NONE : work->counts_as[at];
    while (depth > 0) {
      at = path[--depth];
      bool counts = work->mode == LAYER_INNERMOST || (work->mode == LAYER_OUTERMOST && inherited == ROW_NONE) ||
                    (work->mode == LAYER_MODULE && spans->category[at] == work->columns->module) ||
                    (work->mode == LAYER_AUTOGRAD &&
                     (work->forward_of[at] != ROW_NONE || work->recomputed[at] != LAYER_COMPUTED_ONCE));
      inherited = counts && may_count(work, at) ? at : inherited;
      work->counts_as[at] = inherited;
    }
  }
}

// All finished layers in work->all: those of no observation, then observation by observation, each part by start. Observations
// are small enough for the processor's cache.
static void sort_layers(struct work *work)
{
  const struct store_spans *spans = &work->columns->spans;
  size_t observations = work->columns->run->observation_count;
  size_t *from =
      arena_alloc_array(work->arena, observations + 3, sizeof *from); // from[n + 1]: where the next of part n goes
  int32_t *part_of = arena_alloc_array(work->arena, spans->count + 1, sizeof *part_of); // -1: does not count
  for (size_t i = 0; i < spans->count; i++) {
    uint32_t observation;
    part_of[i] = -1;
    if (spans->level[i] != XSP_LEVEL_LAYER)
      continue;
    bool is_open = (spans->flags[i] & STORE_SPAN_OPEN) != 0;
    bool is_outside = !run_columns_observation(work->columns, i, &observation);
    work->rows->open += is_open;
    work->rows->outside += is_outside && !is_open;
    part_of[i] = is_open ? -1 : is_outside ? 0 : (int32_t)observation + 1;
    if (!is_open)
      from[part_of[i] + 2]++;
  }
  for (size_t n = 2; n < observations + 3; n++)
    from[n] += from[n - 1];
  for (size_t i = 0; i < spans->count; i++)
    if (part_of[i] >= 0)
      work->all[from[part_of[i] + 1]++] =
          (struct layer_span){spans->start_ns[i], spans->duration_ns[i], (uint32_t)i, part_of[i] - 1};
  for (size_t n = 0; n <= observations; n++) // from[n] is now where part n begins
    (void)layer_starts_sort(work->all + from[n], from[n + 1] - from[n]);
  work->all_count = from[observations + 1];
}

static void add_item(struct work *work, const struct layer_span *layer, int64_t position)
{
  struct layer_rows *rows = work->rows;
  work->item_of[layer->row] = (uint32_t)rows->count;
  rows->items[rows->count++] = (struct layer_row){.row = layer->row,
                                                  .observation = layer->observation,
                                                  .name = work->columns->spans.name[layer->row],
                                                  .index = position,
                                                  .start_ns = layer->start_ns,
                                                  .duration_ns = layer->duration_ns,
                                                  .latency_ms = (double)layer->duration_ns / 1e6,
                                                  .alloc_bytes = NAN,
                                                  .output_bytes = NAN};
}

// Positions of all layers in their observation; then only those that count themselves are kept, and of these those of
// observations become rows, and at the end those outside that captured nodes.
static void list_items(struct work *work, struct arena *arena)
{
  const bool *is_captured = work->captured.is_captured;
  size_t count = work->all_count, counting = 0;
  for (size_t i = 0; i < count; i++)
    counting +=
        work->counts_as[work->all[i].row] == work->all[i].row && (work->all[i].observation >= 0 || is_captured != NULL);
  work->rows->items = arena_alloc_array(arena, counting + 1, sizeof *work->rows->items);
  work->all_count = 0;
  int64_t position = 0;
  for (size_t i = 0; i < count; i++) {
    const struct layer_span layer = work->all[i];
    position = i > 0 && layer.observation == work->all[i - 1].observation ? position + 1 : 0;
    if (work->counts_as[layer.row] != layer.row)
      continue;
    work->all[work->all_count++] = layer;
    if (layer.observation >= 0)
      add_item(work, &layer, position);
  }
  for (size_t i = 0; is_captured != NULL && i < work->all_count && work->all[i].observation < 0; i++)
    if (is_captured[work->all[i].row])
      add_item(work, &work->all[i], (int64_t)i);
}

// While a device works for layers of the process.
static int64_t busy_ns(const struct work *work, uint32_t row, int64_t from_ns, int64_t to_ns)
{
  return device_time_within_ns(&work->device_time, work->columns->spans.track_id[row], from_ns, to_ns);
}

static void find_alone(struct work *work, struct arena *arena)
{
  struct layer_rows *rows = work->rows;
  rows->device_times = arena_alloc_array(arena, rows->count + 1, sizeof *rows->device_times);
  for (size_t i = 0; i < rows->count; i++) {
    const struct layer_row *item = &rows->items[i];
    int64_t end_ns = saturate_add(item->start_ns, item->duration_ns);
    rows->device_times[i] = (struct layer_device_time){
        .alone_ns = item->duration_ns - busy_ns(work, item->row, item->start_ns, end_ns), .gpu_ns = -1};
  }
}

// work->all by start, whatever the observation: observations mostly follow each other.
static void sort_by_start(struct work *work)
{
  struct layer_span *all = work->all;
  size_t count = work->all_count, outside = 0, at = 0;
  bool rises = true;
  while (outside < count && all[outside].observation < 0)
    outside++;
  for (size_t i = outside + 1; i < count && rises; i++)
    rises = layer_starts_compare(&all[i - 1], &all[i]) < 0;
  if (!rises) {
    qsort(all, count, sizeof *all, layer_starts_compare);
    return;
  }
  if (outside == 0)
    return;
  struct layer_span *merged = arena_alloc_array(work->arena, count + 1, sizeof *merged);
  for (size_t i = 0, k = outside; at < count; at++)
    merged[at] = k == count || (i < outside && layer_starts_compare(&all[i], &all[k]) < 0) ? all[i++] : all[k++];
  work->all = merged;
}

// Takes nested layers that count off those they are nested in, in an observation or not: the union of their times, on one
// track.
static void leave_own_time(struct work *work)
{
  const struct store_spans *spans = &work->columns->spans;
  int64_t *reach = arena_alloc_array(work->arena, work->rows->count + 1, sizeof *reach); // since the outer one's start
  int64_t *nested = arena_alloc_array(work->arena, work->rows->count + 1, sizeof *nested);
  sort_by_start(work);
  for (size_t i = 0; i < work->all_count; i++) {
    const struct layer_span *item = &work->all[i];
    uint32_t above = work->above[item->row];
    uint32_t outer_row = above == ROW_NONE ? ROW_NONE : work->counts_as[above];
    uint32_t outer_at = outer_row == ROW_NONE ? ROW_NONE : work->item_of[outer_row];
    if (outer_at == ROW_NONE || spans->track_id[outer_row] != spans->track_id[item->row])
      continue;
    struct layer_row *outer = &work->rows->items[outer_at];
    int64_t from = item->start_ns > outer->start_ns ? saturate_subtract(item->start_ns, outer->start_ns) : 0;
    int64_t to = saturate_subtract(saturate_add(item->start_ns, item->duration_ns), outer->start_ns);
    to = to < outer->duration_ns ? to : outer->duration_ns;
    from = from > reach[outer_at] ? from : reach[outer_at];
    if (to <= from)
      continue;
    nested[outer_at] += to - from;
    if (work->rows->device_times != NULL)
      work->rows->device_times[outer_at].alone_ns -=
          to - from - busy_ns(work, outer_row, outer->start_ns + from, outer->start_ns + to);
    reach[outer_at] = to;
  }
  for (size_t i = 0; i < work->rows->count; i++)
    work->rows->items[i].latency_ms = (double)(work->rows->items[i].duration_ns - nested[i]) / 1e6;
}

// ---- kernels ---------------------------------------------------------------------------------------------------------
// Afterwards item_of is filled for every layer: a kernel counts in the nearest layer around it that counts.
static void spread_items(struct work *work)
{
  const struct store_spans *spans = &work->columns->spans;
  for (size_t i = 0; i < spans->count; i++)
    if (spans->level[i] == XSP_LEVEL_LAYER && work->counts_as[i] != (uint32_t)i)
      work->item_of[i] = work->counts_as[i] == ROW_NONE ? ROW_NONE : work->item_of[work->counts_as[i]];
}

// Kernels are what runs on the device (or, synchronously, on the CPU): not copies, not host calls.
static void count_kernels(struct work *work)
{
  const struct store_spans *spans = &work->columns->spans;
  for (size_t i = 0; i < spans->count; i++) {
    uint32_t observation;
    if (spans->level[i] != XSP_LEVEL_KERNEL || spans->kind[i] == XSP_KIND_LAUNCH ||
        (spans->category[i] != 0 && spans->category[i] != work->columns->kernel) ||
        !run_columns_observation(work->columns, i, &observation))
      continue;
    uint32_t calls = run_columns_calls(work->columns, i);
    work->rows->kernels[observation] += calls;
    uint32_t layer = run_columns_row(work->columns, work->columns->derived.layer_id[i]);
    if (layer != ROW_NONE && work->item_of[layer] != ROW_NONE)
      work->rows->items[work->item_of[layer]].kernels += calls;
  }
}

// A backward operator is of its forward operator's module.
static void name_forward(struct work *work)
{
  for (size_t i = 0; i < work->rows->count; i++) {
    struct layer_row *item = &work->rows->items[i];
    uint32_t linked = work->forward_of[item->row], forward = linked != ROW_NONE ? linked : item->row;
    uint32_t at = work->item_of[forward];
    item->is_backward = layer_is_backward(work->forward_of, item->row);
    item->recomputed = work->recomputed[item->row];
    item->forward = work->columns->spans.name[forward];
    item->module = at != ROW_NONE ? work->rows->items[at].module : item->module;
  }
}

static uint32_t *rows_of_none(struct work *work)
{
  size_t count = work->columns->spans.count;
  uint32_t *array = arena_alloc_array(work->arena, count + 1, sizeof *array);
  return memset(array, 0xff, count * sizeof *array);
}

static enum status find_layers(struct work *work, const struct device_rows_wanted *wanted, struct arena *arena,
                               struct error *err)
{
  const struct store_spans *spans = &work->columns->spans;
  struct layer_rows *rows = work->rows;
  size_t layers = 0;
  for (size_t i = 0; i < spans->count; i++)
    layers += spans->level[i] == XSP_LEVEL_LAYER;
  work->all = arena_alloc_array(work->arena, layers + 1, sizeof *work->all);
  rows->kernels = arena_alloc_array(arena, work->columns->run->observation_count + 1, sizeof *rows->kernels);
  work->above = rows_of_none(work);
  work->counts_as = rows_of_none(work);
  work->item_of = rows_of_none(work);
  find_above(work);
  if (work->mode == LAYER_AUTOGRAD) {
    work->forward_of = rows_of_none(work);
    find_forward(work);
    XSP_TRY(layer_recomputed_find(work->columns, work->above, work->forward_of, work->arena, &work->recomputed, err));
  }
  work->kind = layer_kinds_find(work->columns, work->above, work->arena);
  decide_counting(work);
  if (wanted->by_capture)
    XSP_TRY(layers_captured_find(work->columns, work->counts_as, work->arena, &work->captured, err));
  sort_layers(work);
  list_items(work, arena);
  if (wanted->rows) {
    XSP_TRY(device_time_load(work->columns, work->counts_as, work->arena, &work->device_time, err));
    find_alone(work, arena);
  }
  if (work->mode != LAYER_OUTERMOST)
    leave_own_time(work);
  spread_items(work);
  count_kernels(work);
  XSP_TRY(layer_row_tags_read(work->columns, work->item_of, work->counts_as, rows, err));
  if (work->mode == LAYER_AUTOGRAD)
    name_forward(work);
  return STATUS_OK;
}

// Device work in another observation than its layer is in no layer.
static enum status find_devices(struct work *work, const struct kernel_place *place, struct arena *arena,
                                struct error *err)
{
  struct device_rows *devices = &work->rows->devices;
  device_rows_find(work->columns, work->item_of, arena, devices);
  if (place != NULL)
    XSP_TRY(device_rows_keep(work->columns, place, work->arena, devices, err));
  for (size_t i = 0; i < devices->count; i++) {
    struct device_row *device = &devices->items[i];
    if (device->item != ROW_NONE && work->rows->items[device->item].observation != (int32_t)device->observation)
      device->item = ROW_NONE;
  }
  work->rows->covered_ms =
      arena_alloc_array(arena, work->columns->run->observation_count + 1, sizeof *work->rows->covered_ms);
  if (run_columns_are_condensed(work->columns))
    work->rows->gpu_ns =
        arena_alloc_array(arena, work->columns->run->observation_count + 1, sizeof *work->rows->gpu_ns);
  device_time_finish(work->columns, work->all, work->all_count, &work->device_time, work->arena, work->rows);
  layers_captured_take(&work->captured, work->item_of, work->arena, arena, work->rows);
  return STATUS_OK;
}

enum status layer_rows_load(struct question *question, const struct view_run *run, const struct layer_choice *choice,
                            const struct device_rows_wanted *wanted, struct arena *arena, struct layer_rows *ret_rows,
                            struct error *err)
{
  struct arena temporary SCOPED(arena_done) = {0};
  struct run_columns columns;
  struct work work = {.columns = &columns, .mode = choice->mode, .arena = &temporary, .rows = ret_rows};
  uint32_t wanted_columns = LAYER_COLUMNS | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) |
                            STORE_BIT(STORE_KIND) | STORE_BIT(STORE_FLAGS);
  if (choice->mode != LAYER_OUTERMOST || wanted->rows)
    wanted_columns |= STORE_BIT(STORE_TRACK_ID);
  if (choice->mode == LAYER_AUTOGRAD)
    wanted_columns |= STORE_BIT(STORE_FORWARD_ID);
  *ret_rows = (struct layer_rows){0};
  enum status status = run_columns_load(question, run, wanted_columns, &temporary, &columns, err);
  if (status == STATUS_OK && choice->computing_only)
    find_idle(&work);
  if (status == STATUS_OK)
    status = find_layers(&work, wanted, arena, err);
  if (status == STATUS_OK && wanted->rows)
    status = find_devices(&work, question->place, arena, err);
  if (status == STATUS_OK && wanted->metrics)
    status = device_rows_metrics(&columns, question->request, arena, &ret_rows->devices, err);
  device_time_done(&work.device_time);
  return status;
}
