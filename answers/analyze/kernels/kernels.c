// SPDX-License-Identifier: Apache-2.0
// Loads the kernels of the sets that answer, and pairs them across observations and sets by layer, ordinal in it, and
// name (without layers: by ordinal in the observation). Called by A8 to A15. One number a kernel's execution, no
// allocation.
//
// 1. Load the device rows of all sets at once. A range has those of one observation, in order of time. Where the
//    metrics are of another set, its ranges come after the measured ones.
// 2. Pair: the range with most kernels comes first and gives the order. Each further row takes the pair with its key,
//    else starts one after the pair of the row before it. `row` of a device row is its pair, later its kernel.
// 3. Kernels are the pairs in this order; those that only metric runs have come last.
// 4. Sort executions by kernel: count, add up, place. Those of kernel k are at first[k] to first[k + 1] - 1.
// 5. Device time of an observation, and of each layer in it: the union of its kernels, copies and memory sets.
//
//   observation 0    layer 0: conv, relu    layer 1: gemm, gemm
//   observation 1    layer 0: conv          layer 1: gemm, gemm
//   kernel                    0     1                2     3          present: 2 1 2 2
//   first                     0     2                3     5     7
#include "analyze/kernels/kernels.h"

#include "analyze/keep.h"
#include "analyze/layers/captured.h"
#include "analyze/pairing.h"
#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_LAYERS (UINT32_MAX - 1) // instead of a layer, where kernels pair by their place in the observation

struct call_range { // the devices' rows of one observation
  const struct layers_run *run;
  struct device_row *items;
  size_t first, end; // in items
  size_t kernels;
  uint32_t observation; // as in the layers' values
};
struct found { // a kernel while pairing, later one of struct kernels.items
  uint32_t layer, launched, name;
};
struct calls { // all ranges, and how they pair
  struct kernels *kernels;
  struct arena *arena;
  struct call_range *ranges; // by observation: those of the set, then those of the metric set where it is another
  size_t range_count, measured_ranges;
  size_t fullest; // of the measured ones: has most kernels
  struct pairing pairing;
  struct found *found;                // by pair
  bool has_layers, metric_has_layers; // the sets
  uint32_t *ordinals, *seen;          // by layer, the last for none: the next ordinal, where `seen` is this range
};

static bool has_layers(const struct view_set *set)
{
  return set != NULL && (set->levels.mask & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0;
}

// ---- loading --------------------------------------------------------------------------------------------------------
static enum status load(struct question *question, struct kernels *kernels, struct error *err)
{
  struct layers_part *parts = arena_alloc_array(question->scratch, 3, sizeof *parts);
  size_t count = 0;
  bool by_capture = kernels->use != KERNELS_IN_LAYER && layers_captured_exist(question->view->store);
  parts[count++] =
      (struct layers_part){.set = kernels->set, .wanted = {true, kernels->metric_set == kernels->set, by_capture}};
  if (kernels->layer_set != NULL && kernels->layer_set != kernels->set)
    parts[count++] = (struct layers_part){.set = kernels->layer_set};
  if (kernels->metric_set != NULL && kernels->metric_set != kernels->set && kernels->metric_set != kernels->layer_set)
    parts[count++] =
        (struct layers_part){.set = kernels->metric_set, .wanted = {true, true, by_capture}, .is_unlisted = true};
  for (size_t i = 0; i < count; i++)
    parts[i].on_device = parts[i].set == kernels->layer_set && kernels->source.on_device;
  XSP_TRY(layers_load_parts(question, parts, count, &kernels->layers, err));
  for (size_t i = 0; i < count; i++)
    if (parts[i].set == kernels->layer_set)
      kernels->layer_side = layers_of_part(&kernels->layers, &parts[i]);
  kernels->layers_listed = kernels->layers.listed;
  kernels->observation_count = kernels->layers.observation_count;
  return STATUS_OK;
}

static void list_ranges(struct calls *all)
{
  struct kernels *kernels = all->kernels;
  size_t observations = kernels->observation_count;
  if (kernels->metric_set != NULL && kernels->metric_set != kernels->set)
    observations += kernels->metric_set->observation_count;
  all->ranges = arena_alloc_array(all->arena, observations + 1, sizeof *all->ranges);
  for (size_t r = 0; r < kernels->layers.run_count; r++) {
    const struct layers_run *run = &kernels->layers.runs[r];
    if (run->part->set != kernels->set && run->part->set != kernels->metric_set)
      continue;
    const struct device_rows *devices = &run->rows->devices;
    size_t at = 0;
    for (size_t k = 0; k < run->run->observation_count; k++) {
      struct call_range range = {
          .run = run, .items = devices->items, .first = at, .observation = run->observation_of[k]};
      for (; at < devices->count && devices->items[at].observation == k; at++)
        range.kernels += devices->items[at].name != DEVICE_COPY;
      range.end = at;
      if (range.observation != ROW_NONE)
        all->ranges[all->range_count++] = range;
    }
    if (run->part->set == kernels->set) {
      kernels->open += devices->open;
      kernels->unobserved += devices->unobserved;
    }
  }
  all->measured_ranges = kernels->observation_count;
}

// ---- pairing --------------------------------------------------------------------------------------------------------
static uint32_t layer_of(const struct call_range *range, const struct device_row *device)
{
  return device->item == ROW_NONE ? KERNEL_NO_LAYER : range->run->layer_of[device->item];
}

static uint32_t launched_by(const struct call_range *range, size_t at)
{
  const uint32_t *launched = range->run->rows->devices.launched;
  return launched == NULL || launched[at] == ROW_NONE ? KERNEL_NO_LAYER : range->run->layer_of[launched[at]];
}

static struct map_key key(uint32_t layer, uint32_t ordinal, uint32_t name)
{
  return (struct map_key){(uint64_t)layer << 32 | ordinal, name};
}

// Kernels pair by layer, ordinal in the layer, and name. Where only one of the two sets has layers, its metrics are joined
// by the place in the observation.
static struct map_key key_of(struct calls *all, size_t range_index, uint32_t layer, uint32_t name, uint32_t place)
{
  bool is_measured = range_index < all->measured_ranges;
  if (!all->has_layers || (!is_measured && !all->metric_has_layers))
    return key(NO_LAYERS, place, name);
  size_t slot = layer == KERNEL_NO_LAYER ? all->kernels->layers.count : layer;
  if (all->seen[slot] != range_index + 1) {
    all->seen[slot] = (uint32_t)range_index + 1;
    all->ordinals[slot] = 0;
  }
  return key(layer, all->ordinals[slot]++, name);
}

static void pair_range(struct calls *all, size_t range_index)
{
  const struct call_range *range = &all->ranges[range_index];
  struct pairing *pairing = &all->pairing;
  bool is_measured = range_index < all->measured_ranges;
  bool is_joined_by_place = range_index == all->fullest && all->has_layers && !all->metric_has_layers &&
                            all->range_count > all->measured_ranges;
  uint32_t place = 0;
  pairing_sequence(pairing);
  for (size_t i = range->first; i < range->end; i++) {
    struct device_row *device = &range->items[i];
    if (device->name == DEVICE_COPY)
      continue;
    uint32_t layer = layer_of(range, device);
    struct map_key key_here = key_of(all, range_index, layer, device->name, place);
    size_t known = pairing->count;
    // A single range has nothing to pair with.
    uint32_t at = all->range_count > 1 ? pairing_place(pairing, key_here) : pairing_append(pairing);
    if (pairing->count > known)
      all->found[at] =
          (struct found){is_measured || all->has_layers ? layer : KERNEL_NO_LAYER, launched_by(range, i), device->name};
    if (is_joined_by_place)
      pairing_alias(pairing, key(NO_LAYERS, place, device->name), at);
    device->row = at; // from here on: which kernel it is
    place++;
  }
}

// The observation with most kernels gives the order.
static enum status pair_all(struct calls *all, struct error *err)
{
  size_t most = 0;
  size_t slots = all->kernels->layers.count + 1;
  for (size_t i = 0; i < all->range_count; i++)
    most += all->ranges[i].kernels;
  if (most >= PAIRING_NONE - 1)
    return error_set(err, STATUS_INPUT, "cannot analyze", NULL, NULL, "%zu kernels are too many", most);
  pairing_start(&all->pairing, all->arena, most);
  all->found = arena_alloc_array(all->arena, most + 1, sizeof *all->found);
  all->ordinals = arena_alloc_array(all->arena, slots, sizeof *all->ordinals);
  all->seen = arena_alloc_array(all->arena, slots, sizeof *all->seen);
  for (size_t i = 1; i < all->measured_ranges; i++)
    if (all->ranges[i].kernels > all->ranges[all->fullest].kernels)
      all->fullest = i;
  if (all->range_count > 0)
    pair_range(all, all->fullest);
  for (size_t i = 0; i < all->range_count; i++)
    if (i != all->fullest)
      pair_range(all, i);
  return STATUS_OK;
}

// ---- from pairs to kernels ------------------------------------------------------------------------------------------
static void list_names(struct question *question, struct kernels *kernels, struct arena *arena, const uint32_t *names)
{
  struct pairing groups;
  struct keep keep SCOPED(keep_done) = {.arena = question->arena};
  kernels->names = arena_alloc_array(question->scratch, kernels->count + 1, sizeof *kernels->names);
  pairing_start(&groups, arena, kernels->count);
  for (size_t i = 0; i < kernels->count; i++) {
    pairing_sequence(&groups); // equal names pair
    uint32_t group = pairing_place(&groups, (struct map_key){names[i], 0});
    if (group == kernels->name_count) {
      kernels->names[group] = store_text(question->view->store, names[i], NULL);
      keep_text(&keep, &kernels->names[group]);
      kernels->name_count++;
    }
    kernels->items[i].name_group = group;
    kernels->items[i].name = kernels->names[group];
  }
  pairing_done(&groups);
}

// Execution order; kernels that only metric runs have come last. Devices' rows then name kernels by their place in it.
static void list_kernels(struct question *question, struct calls *all)
{
  struct kernels *kernels = all->kernels;
  size_t count = all->pairing.count;
  uint32_t *item_of = arena_alloc_array(all->arena, count + 1, sizeof *item_of);
  uint32_t *order = arena_alloc_array(all->arena, count + 1, sizeof *order);
  uint32_t *names = arena_alloc_array(all->arena, count + 1, sizeof *names);
  size_t *present = arena_alloc_array(all->arena, count + 1, sizeof *present);
  kernels->items = arena_alloc_array(question->scratch, count + 1, sizeof *kernels->items);
  for (size_t r = 0; r < all->measured_ranges; r++)
    for (size_t i = all->ranges[r].first; i < all->ranges[r].end; i++)
      if (all->ranges[r].items[i].name != DEVICE_COPY)
        present[all->ranges[r].items[i].row]++;
  pairing_order(&all->pairing, present, order);
  for (; kernels->count < count; kernels->count++) {
    uint32_t at = order[kernels->count];
    item_of[at] = (uint32_t)kernels->count;
    names[kernels->count] = all->found[at].name;
    kernels->items[kernels->count] =
        (struct kernel){.layer = all->found[at].layer, .launched = all->found[at].launched, .present = present[at]};
    kernels->measured += present[at] > 0;
  }
  for (size_t r = 0; r < all->range_count; r++)
    for (size_t i = all->ranges[r].first; i < all->ranges[r].end; i++)
      if (all->ranges[r].items[i].name != DEVICE_COPY)
        all->ranges[r].items[i].row = item_of[all->ranges[r].items[i].row];
  list_names(question, kernels, all->arena, names);
}

static void start_calls(struct question *question, const struct calls *all, size_t first_range, size_t end_range,
                        bool with_metrics, struct kernel_calls *calls)
{
  size_t kernels = all->kernels->count;
  size_t total = 0;
  bool are_added_up = false;
  calls->first = arena_alloc_array(question->scratch, kernels + 2, sizeof *calls->first);
  for (size_t r = first_range; r < end_range; r++) {
    const struct call_range *range = &all->ranges[r];
    total += range->kernels;
    are_added_up |= range->run->rows->devices.calls != NULL;
    for (size_t i = range->first; i < range->end; i++)
      if (range->items[i].name != DEVICE_COPY)
        calls->first[range->items[i].row + 2]++;
    for (size_t m = 0; with_metrics && m < KERNEL_METRICS; m++)
      all->kernels->has_metric[m] |= range->run->rows->devices.metrics[m] != NULL;
  }
  for (size_t k = 2; k < kernels + 2; k++) // first[k + 1] is where the next call of kernel k goes
    calls->first[k] += calls->first[k - 1];
  calls->observation_count = end_range - first_range;
  calls->observation = arena_alloc_array(question->scratch, total + 1, sizeof *calls->observation);
  if (are_added_up)
    calls->calls = arena_alloc_array(question->scratch, total + 1, sizeof *calls->calls);
  if (!with_metrics)
    calls->duration_ns = arena_alloc_array(question->scratch, total + 1, sizeof *calls->duration_ns);
  for (size_t m = 0; with_metrics && m < KERNEL_METRICS; m++)
    if (all->kernels->has_metric[m])
      calls->metrics[m] = arena_alloc_array(question->scratch, total + 1, sizeof *calls->metrics[m]);
}

// Sorts the executions of these observations by kernel.
static void list_calls(struct question *question, const struct calls *all, size_t first_range, size_t end_range,
                       bool with_metrics, struct kernel_calls *calls)
{
  start_calls(question, all, first_range, end_range, with_metrics, calls);
  for (size_t r = first_range; r < end_range; r++) {
    const struct call_range *range = &all->ranges[r];
    double *const *metrics = range->run->rows->devices.metrics;
    const uint32_t *added_up = range->run->rows->devices.calls;
    for (size_t i = range->first; i < range->end; i++) {
      const struct device_row *device = &range->items[i];
      if (device->name == DEVICE_COPY)
        continue;
      size_t at = calls->first[device->row + 1]++;
      calls->observation[at] = (uint32_t)(r - first_range);
      if (calls->calls != NULL)
        calls->calls[at] = added_up == NULL ? 1 : added_up[i];
      if (!with_metrics)
        calls->duration_ns[at] = device->duration_ns;
      for (size_t m = 0; m < KERNEL_METRICS; m++)
        if (calls->metrics[m] != NULL)
          calls->metrics[m][at] = metrics[m] == NULL ? NAN : metrics[m][i];
    }
  }
}

// ---- what ran at once -----------------------------------------------------------------------------------------------
struct unions { // of one layer, or of the observation
  int64_t reach_ns, sum_ns;
  bool is_started;
};

static void add_interval(struct unions *of, const struct device_row *device)
{
  int64_t end_ns = saturate_add(device->start_ns, device->duration_ns);
  if (!of->is_started || device->start_ns > of->reach_ns) {
    of->sum_ns = saturate_add(of->sum_ns, device->duration_ns);
    of->reach_ns = end_ns;
  } else if (end_ns > of->reach_ns) {
    of->sum_ns = saturate_add(of->sum_ns, end_ns - of->reach_ns);
    of->reach_ns = end_ns;
  }
  of->is_started = true;
}

static void start_gpu(struct question *question, struct kernels *kernels)
{
  size_t observations = kernels->observation_count;
  kernels->gpu_ms = arena_alloc_array(question->scratch, observations + 1, sizeof *kernels->gpu_ms);
  kernels->outside_ms = arena_alloc_array(question->scratch, observations + 1, sizeof *kernels->outside_ms);
  kernels->outside_count = arena_alloc_array(question->scratch, observations + 1, sizeof *kernels->outside_count);
  if (!kernels_are_by_layer(kernels->use))
    return;
  size_t cells = kernels->layers_listed * observations;
  kernels->layer_gpu_ms = arena_alloc_array(question->scratch, cells + 1, sizeof *kernels->layer_gpu_ms);
  for (size_t i = 0; i < cells; i++)
    kernels->layer_gpu_ms[i] = isnan(kernels->layers.items[i / observations].latency_ms[i % observations]) ? NAN : 0;
}

static void add_gpu(struct question *question, const struct calls *all)
{
  struct kernels *kernels = all->kernels;
  struct unions *of_layers = arena_alloc_array(all->arena, kernels->layers.count + 1, sizeof *of_layers);
  start_gpu(question, kernels);
  for (size_t r = 0; r < all->measured_ranges; r++) {
    const struct call_range *range = &all->ranges[r];
    struct unions of_all = {0};
    int64_t outside_ns = 0;
    for (size_t i = range->first; i < range->end; i++) {
      uint32_t layer = layer_of(range, &range->items[i]);
      add_interval(&of_all, &range->items[i]);
      if (layer != KERNEL_NO_LAYER) {
        add_interval(&of_layers[layer], &range->items[i]);
      } else if (range->items[i].name != DEVICE_COPY) {
        outside_ns = saturate_add(outside_ns, range->items[i].duration_ns);
        kernels->outside_count[r] += range->run->rows->devices.calls == NULL ? 1 : range->run->rows->devices.calls[i];
      }
    }
    kernels->gpu_ms[r] = (double)of_all.sum_ns / 1e6;
    kernels->outside_ms[r] = (double)outside_ns / 1e6;
    for (size_t i = range->first; i < range->end; i++) {
      uint32_t layer = layer_of(range, &range->items[i]);
      if (layer == KERNEL_NO_LAYER)
        continue;
      if (of_layers[layer].is_started && kernels->layer_gpu_ms != NULL)
        kernels->layer_gpu_ms[layer * kernels->observation_count + r] = (double)of_layers[layer].sum_ns / 1e6;
      of_layers[layer] = (struct unions){0};
    }
  }
  kernels_take_condensed(kernels);
}

// ---- all together ---------------------------------------------------------------------------------------------------
static enum status pair(struct question *question, struct calls *all, struct error *err)
{
  struct kernels *kernels = all->kernels;
  list_ranges(all);
  XSP_TRY(pair_all(all, err));
  list_kernels(question, all);
  list_calls(question, all, 0, all->measured_ranges, false, &kernels->calls);
  if (kernels->metric_set != NULL) {
    size_t first = kernels->metric_set == kernels->set ? 0 : all->measured_ranges;
    size_t end = kernels->metric_set == kernels->set ? all->measured_ranges : all->range_count;
    list_calls(question, all, first, end, true, &kernels->metric_calls);
  }
  add_gpu(question, all);
  kernels_measure(question, kernels);
  return STATUS_OK;
}

enum status kernels_load(struct question *question, int64_t batch_size, enum kernels_use use,
                         struct kernels *ret_kernels, struct error *err)
{
  XSP_TRY(kernel_sets_choose(question, batch_size, use, ret_kernels, err));
  XSP_TRY(load(question, ret_kernels, err));
  struct arena arena SCOPED(arena_done) = {0};
  struct calls all = {.kernels = ret_kernels, .arena = &arena};
  all.has_layers = has_layers(ret_kernels->set);
  all.metric_has_layers = has_layers(ret_kernels->metric_set);
  enum status status = pair(question, &all, err);
  pairing_done(&all.pairing);
  return status;
}
