// SPDX-License-Identifier: Apache-2.0
// Loads the kernels of the sets that answer, and pairs them across observations and sets by layer, ordinal in it, and name
// (without layers: by ordinal in the observation). Called by A8 to A15. One number a kernel's execution, no allocation.
#include "analyze/kernels/kernels.h"

#include "analyze/keep.h"
#include "analyze/kernels/keys.h"
#include "analyze/kernels/sets.h"
#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define NO_LAYERS                                                                                                      \
  (UINT32_MAX - 1) // in place of a layer, where kernels are told apart by their place in the observation

struct call_range { // the devices' rows of one observation
  const struct layers_run *run;
  struct device_row *items;
  size_t first, end; // in items
  size_t kernels;
  uint32_t observation; // as the layers' values stand
};
struct found {                // a kernel while pairing; later an element of struct kernels.items
  uint32_t layer, name, next; // next: in execution order
};
struct pairing {
  struct kernels *kernels;
  struct arena *arena;
  struct call_range *ranges; // by observation: those of the set, then those of the metric set where it is another
  size_t range_count, told_ranges;
  size_t fullest; // of the told ones: has most kernels
  struct found *found;
  size_t count;
  uint32_t first; // in execution order
  struct kernel_keys keys;
  bool has_layers, metric_has_layers; // the sets
  uint32_t *ordinals, *seen;          // by layer, the last for none: the next ordinal, where `seen` is this range
};

static bool has_layers(const struct view_set *set)
{
  return set != NULL && (set->levels.mask & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0;
}

// ---- loading ---------------------------------------------------------------------------------------------------------
static enum status load(struct question *question, struct kernels *kernels, struct error *err)
{
  struct layers_part *parts = arena_alloc_array(question->scratch, 3, sizeof *parts);
  size_t count = 0;
  if (parts == NULL)
    return question_no_memory(err);
  parts[count++] = (struct layers_part){kernels->set, {true, kernels->metric_set == kernels->set}, 0};
  if (kernels->metric_set != NULL && kernels->metric_set != kernels->set)
    parts[count++] = (struct layers_part){kernels->metric_set, {true, true}, 0};
  if (kernels->layer_set != NULL && kernels->layer_set != kernels->set && kernels->layer_set != kernels->metric_set)
    parts[count++] = (struct layers_part){kernels->layer_set, {false, false}, 0};
  XSP_TRY(layers_load_parts(question, parts, count, &kernels->layers, err));
  for (size_t i = 0; i < count; i++) {
    if (parts[i].set == kernels->metric_set)
      kernels->metric_first = parts[i].first_observation;
    if (parts[i].set == kernels->layer_set)
      kernels->layer_first = parts[i].first_observation;
  }
  kernels->layers_told = kernels->layers.told;
  kernels->observation_count = kernels->layers.observation_count;
  return STATUS_OK;
}

static enum status list_ranges(struct pairing *pairing, struct error *err)
{
  struct kernels *kernels = pairing->kernels;
  size_t all = kernels->observation_count;
  if (kernels->metric_set != NULL && kernels->metric_set != kernels->set)
    all += kernels->metric_set->observation_count;
  pairing->ranges = arena_alloc_array(pairing->arena, all + 1, sizeof *pairing->ranges);
  if (pairing->ranges == NULL)
    return question_no_memory(err);
  for (size_t r = 0; r < kernels->layers.run_count; r++) {
    const struct layers_run *run = &kernels->layers.runs[r];
    if (!run->part->wanted.rows)
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
        pairing->ranges[pairing->range_count++] = range;
    }
    if (run->part->set == kernels->set) {
      kernels->open += devices->open;
      kernels->unobserved += devices->unobserved;
    }
  }
  pairing->told_ranges = kernels->observation_count;
  return STATUS_OK;
}

// ---- pairing ---------------------------------------------------------------------------------------------------------
static uint32_t layer_of(const struct call_range *range, const struct device_row *device)
{
  return device->item == ROW_NONE ? KERNEL_NO_LAYER : range->run->rows->items[device->item].layer;
}

// A new kernel, behind `previous` in execution order (NONE: in front).
static uint32_t add_found(struct pairing *pairing, uint32_t layer, uint32_t name, uint32_t previous)
{
  uint32_t at = (uint32_t)pairing->count++;
  uint32_t *link = previous == NONE ? &pairing->first : &pairing->found[previous].next;
  pairing->found[at] = (struct found){layer, name, *link};
  *link = at;
  return at;
}

// What a kernel of this range pairs by. Where just one of the two sets has layers, its metrics are joined by the place in
// the observation.
static struct kernel_key key_of(struct pairing *pairing, size_t range_index, uint32_t layer, uint32_t name,
                                uint32_t place)
{
  bool is_told = range_index < pairing->told_ranges;
  if (!pairing->has_layers || (!is_told && !pairing->metric_has_layers))
    return (struct kernel_key){NO_LAYERS, place, name};
  size_t slot = layer == KERNEL_NO_LAYER ? pairing->kernels->layers.count : layer;
  if (pairing->seen[slot] != range_index + 1) {
    pairing->seen[slot] = (uint32_t)range_index + 1;
    pairing->ordinals[slot] = 0;
  }
  return (struct kernel_key){layer, pairing->ordinals[slot]++, name};
}

static bool pair_range(struct pairing *pairing, size_t range_index)
{
  const struct call_range *range = &pairing->ranges[range_index];
  bool is_told = range_index < pairing->told_ranges;
  bool is_joined_by_place = range_index == pairing->fullest && pairing->has_layers && !pairing->metric_has_layers &&
                            pairing->range_count > pairing->told_ranges;
  uint32_t previous = NONE;
  uint32_t place = 0;
  for (size_t i = range->first; i < range->end; i++) {
    struct device_row *device = &range->items[i];
    if (device->name == DEVICE_COPY)
      continue;
    uint32_t layer = layer_of(range, device);
    struct kernel_key key = key_of(pairing, range_index, layer, device->name, place);
    uint32_t at = (uint32_t)pairing->count;
    if (pairing->range_count > 1) // else there is nothing to pair with
      at = kernel_keys_add(&pairing->keys, key, at);
    if (at == NONE)
      return false;
    if (at == pairing->count)
      add_found(pairing, is_told || pairing->has_layers ? layer : KERNEL_NO_LAYER, device->name, previous);
    if (is_joined_by_place &&
        kernel_keys_add(&pairing->keys, (struct kernel_key){NO_LAYERS, place, device->name}, at) == NONE)
      return false;
    device->row = at; // from here on: which kernel it is
    previous = at;
    place++;
  }
  return true;
}

static bool start_pairing(struct pairing *pairing)
{
  size_t most = 0;
  size_t slots = pairing->kernels->layers.count + 1;
  for (size_t i = 0; i < pairing->range_count; i++)
    most += pairing->ranges[i].kernels;
  pairing->first = NONE;
  pairing->found = most < NONE - 1 ? arena_alloc_array(pairing->arena, most + 1, sizeof *pairing->found) : NULL;
  pairing->ordinals = arena_alloc_array(pairing->arena, slots, sizeof *pairing->ordinals);
  pairing->seen = arena_alloc_array(pairing->arena, slots, sizeof *pairing->seen);
  return pairing->found != NULL && pairing->ordinals != NULL && pairing->seen != NULL;
}

// The observation with most kernels gives the order; what others have besides stands behind what it followed there.
static bool pair_all(struct pairing *pairing)
{
  if (!start_pairing(pairing))
    return false;
  for (size_t i = 1; i < pairing->told_ranges; i++)
    if (pairing->ranges[i].kernels > pairing->ranges[pairing->fullest].kernels)
      pairing->fullest = i;
  if (pairing->range_count > 0 && !pair_range(pairing, pairing->fullest))
    return false;
  for (size_t i = 0; i < pairing->range_count; i++)
    if (i != pairing->fullest && !pair_range(pairing, i))
      return false;
  return true;
}

// ---- from pairs to kernels -------------------------------------------------------------------------------------------
static enum status list_names(struct question *question, struct kernels *kernels, const uint32_t *names,
                              struct error *err)
{
  struct kernel_keys groups = {0};
  struct keep keep = {.arena = question->arena};
  kernels->names = arena_alloc_array(question->scratch, kernels->count + 1, sizeof *kernels->names);
  bool is_good = kernels->names != NULL;
  for (size_t i = 0; is_good && i < kernels->count; i++) {
    uint32_t next = (uint32_t)kernels->name_count;
    uint32_t group = kernel_keys_add(&groups, (struct kernel_key){0, 0, names[i]}, next);
    is_good = group != NONE;
    if (is_good && group == next) {
      kernels->names[next] = store_text(question->view->store, names[i], NULL);
      is_good = keep_text(&keep, &kernels->names[next]);
      kernels->name_count++;
    }
    if (is_good) {
      kernels->items[i].name_group = group;
      kernels->items[i].name = kernels->names[group];
    }
  }
  kernel_keys_done(&groups);
  keep_done(&keep);
  return is_good ? STATUS_OK : question_no_memory(err);
}

// Execution order; kernels that only metric runs have come last. Devices' rows then name kernels by their place in it.
static enum status list_kernels(struct question *question, struct pairing *pairing, struct error *err)
{
  struct kernels *kernels = pairing->kernels;
  uint32_t *item_of = arena_alloc_array(pairing->arena, pairing->count + 1, sizeof *item_of);
  uint32_t *names = arena_alloc_array(pairing->arena, pairing->count + 1, sizeof *names);
  size_t *present = arena_alloc_array(pairing->arena, pairing->count + 1, sizeof *present);
  kernels->items = arena_alloc_array(question->scratch, pairing->count + 1, sizeof *kernels->items);
  if (item_of == NULL || names == NULL || present == NULL || kernels->items == NULL)
    return question_no_memory(err);
  for (size_t r = 0; r < pairing->told_ranges; r++)
    for (size_t i = pairing->ranges[r].first; i < pairing->ranges[r].end; i++)
      if (pairing->ranges[r].items[i].name != DEVICE_COPY)
        present[pairing->ranges[r].items[i].row]++;
  for (int told = 1; told >= 0; told--) {
    for (uint32_t at = pairing->first; at != NONE; at = pairing->found[at].next) {
      if ((present[at] > 0) != told)
        continue;
      item_of[at] = (uint32_t)kernels->count;
      names[kernels->count] = pairing->found[at].name;
      kernels->items[kernels->count++] = (struct kernel){.layer = pairing->found[at].layer, .present = present[at]};
    }
    kernels->told = told ? kernels->count : kernels->told;
  }
  for (size_t r = 0; r < pairing->range_count; r++)
    for (size_t i = pairing->ranges[r].first; i < pairing->ranges[r].end; i++)
      if (pairing->ranges[r].items[i].name != DEVICE_COPY)
        pairing->ranges[r].items[i].row = item_of[pairing->ranges[r].items[i].row];
  return list_names(question, kernels, names, err);
}

static bool start_calls(struct question *question, const struct pairing *pairing, size_t first_range, size_t end_range,
                        bool with_metrics, struct kernel_calls *calls)
{
  size_t kernels = pairing->kernels->count;
  size_t total = 0;
  calls->first = arena_alloc_array(question->scratch, kernels + 2, sizeof *calls->first);
  if (calls->first == NULL)
    return false;
  for (size_t r = first_range; r < end_range; r++) {
    const struct call_range *range = &pairing->ranges[r];
    total += range->kernels;
    for (size_t i = range->first; i < range->end; i++)
      if (range->items[i].name != DEVICE_COPY)
        calls->first[range->items[i].row + 2]++;
    for (size_t m = 0; with_metrics && m < KERNEL_METRICS; m++)
      pairing->kernels->has_metric[m] |= range->run->rows->devices.metrics[m] != NULL;
  }
  for (size_t k = 2; k < kernels + 2; k++) // first[k + 1] is where the next call of kernel k goes
    calls->first[k] += calls->first[k - 1];
  calls->observation_count = end_range - first_range;
  calls->observation = arena_alloc_array(question->scratch, total + 1, sizeof *calls->observation);
  if (!with_metrics)
    calls->duration_ns = arena_alloc_array(question->scratch, total + 1, sizeof *calls->duration_ns);
  bool is_good = calls->observation != NULL && (with_metrics || calls->duration_ns != NULL);
  for (size_t m = 0; with_metrics && m < KERNEL_METRICS; m++)
    if (pairing->kernels->has_metric[m]) {
      calls->metrics[m] = arena_alloc_array(question->scratch, total + 1, sizeof *calls->metrics[m]);
      is_good &= calls->metrics[m] != NULL;
    }
  return is_good;
}

// Sorts the executions of these observations by kernel.
static enum status list_calls(struct question *question, const struct pairing *pairing, size_t first_range,
                              size_t end_range, bool with_metrics, struct kernel_calls *calls, struct error *err)
{
  if (!start_calls(question, pairing, first_range, end_range, with_metrics, calls))
    return question_no_memory(err);
  for (size_t r = first_range; r < end_range; r++) {
    const struct call_range *range = &pairing->ranges[r];
    double *const *metrics = range->run->rows->devices.metrics;
    for (size_t i = range->first; i < range->end; i++) {
      const struct device_row *device = &range->items[i];
      if (device->name == DEVICE_COPY)
        continue;
      size_t at = calls->first[device->row + 1]++;
      calls->observation[at] = (uint32_t)(r - first_range);
      if (!with_metrics)
        calls->duration_ns[at] = device->duration_ns;
      for (size_t m = 0; m < KERNEL_METRICS; m++)
        if (calls->metrics[m] != NULL)
          calls->metrics[m][at] = metrics[m] == NULL ? NAN : metrics[m][i];
    }
  }
  return STATUS_OK;
}

// ---- what ran at once ------------------------------------------------------------------------------------------------
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

static bool start_gpu(struct question *question, struct kernels *kernels)
{
  size_t observations = kernels->observation_count;
  kernels->gpu_ms = arena_alloc_array(question->scratch, observations + 1, sizeof *kernels->gpu_ms);
  kernels->outside_ms = arena_alloc_array(question->scratch, observations + 1, sizeof *kernels->outside_ms);
  kernels->outside_count = arena_alloc_array(question->scratch, observations + 1, sizeof *kernels->outside_count);
  if (kernels->gpu_ms == NULL || kernels->outside_ms == NULL || kernels->outside_count == NULL)
    return false;
  if (kernels->use != KERNELS_BY_LAYER)
    return true;
  if (kernels->layers_told > SIZE_MAX / (observations + 1))
    return false;
  size_t cells = kernels->layers_told * observations;
  kernels->layer_gpu_ms = arena_alloc_array(question->scratch, cells + 1, sizeof *kernels->layer_gpu_ms);
  for (size_t i = 0; kernels->layer_gpu_ms != NULL && i < cells; i++) {
    const struct layer *layer = &kernels->layers.items[i / observations];
    kernels->layer_gpu_ms[i] = isnan(layer->latency_ms[i % observations]) ? NAN : 0;
  }
  return kernels->layer_gpu_ms != NULL;
}

static enum status add_gpu(struct question *question, const struct pairing *pairing, struct error *err)
{
  struct kernels *kernels = pairing->kernels;
  struct unions *of_layers = arena_alloc_array(pairing->arena, kernels->layers.count + 1, sizeof *of_layers);
  if (of_layers == NULL || !start_gpu(question, kernels))
    return question_no_memory(err);
  for (size_t r = 0; r < pairing->told_ranges; r++) {
    const struct call_range *range = &pairing->ranges[r];
    struct unions all = {0};
    int64_t outside_ns = 0;
    for (size_t i = range->first; i < range->end; i++) {
      uint32_t layer = layer_of(range, &range->items[i]);
      add_interval(&all, &range->items[i]);
      if (layer != KERNEL_NO_LAYER) {
        add_interval(&of_layers[layer], &range->items[i]);
      } else if (range->items[i].name != DEVICE_COPY) {
        outside_ns = saturate_add(outside_ns, range->items[i].duration_ns);
        kernels->outside_count[r]++;
      }
    }
    kernels->gpu_ms[r] = (double)all.sum_ns / 1e6;
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
  return STATUS_OK;
}

// ---- all together ----------------------------------------------------------------------------------------------------
static enum status pair(struct question *question, struct pairing *pairing, struct error *err)
{
  struct kernels *kernels = pairing->kernels;
  XSP_TRY(list_ranges(pairing, err));
  if (!pair_all(pairing))
    return question_no_memory(err);
  XSP_TRY(list_kernels(question, pairing, err));
  XSP_TRY(list_calls(question, pairing, 0, pairing->told_ranges, false, &kernels->calls, err));
  if (kernels->metric_set != NULL) {
    size_t first = kernels->metric_set == kernels->set ? 0 : pairing->told_ranges;
    size_t end = kernels->metric_set == kernels->set ? pairing->told_ranges : pairing->range_count;
    XSP_TRY(list_calls(question, pairing, first, end, true, &kernels->metric_calls, err));
  }
  return add_gpu(question, pairing, err);
}

enum status kernels_load(struct question *question, int64_t batch_size, enum kernels_use use,
                         struct kernels *ret_kernels, struct error *err)
{
  kernel_sets_choose(question, batch_size, use, ret_kernels);
  if (ret_kernels->set == NULL)
    return question_lacks(question, err, "there is no run with the kernel level at batch size %lld",
                          (long long)batch_size);
  XSP_TRY(load(question, ret_kernels, err));
  struct arena arena = {0};
  struct pairing pairing = {.kernels = ret_kernels, .arena = &arena};
  pairing.has_layers = has_layers(ret_kernels->set);
  pairing.metric_has_layers = has_layers(ret_kernels->metric_set);
  enum status status = pair(question, &pairing, err);
  kernel_keys_done(&pairing.keys);
  arena_done(&arena);
  return status;
}

size_t kernels_room(const struct kernels *kernels)
{
  size_t room = kernels->observation_count;
  if (kernels->layer_set != NULL && kernels->layer_set->observation_count > room)
    room = kernels->layer_set->observation_count;
  return room + 1;
}

static size_t pack(const double *from, size_t count, double *values)
{
  size_t packed = 0;
  for (size_t i = 0; i < count; i++)
    if (!isnan(from[i]))
      values[packed++] = from[i];
  return packed;
}

size_t kernels_layer_latency(const struct kernels *kernels, size_t layer, double *values_ms)
{
  if (kernels->layer_set == NULL)
    return 0;
  return pack(kernels->layers.items[layer].latency_ms + kernels->layer_first, kernels->layer_set->observation_count,
              values_ms);
}

size_t kernels_layer_gpu(const struct kernels *kernels, size_t layer, double *values_ms)
{
  return pack(kernels->layer_gpu_ms + layer * kernels->observation_count, kernels->observation_count, values_ms);
}
