// SPDX-License-Identifier: Apache-2.0
// Pairs layers across the observations of a set, in execution order, and sums over them. Called by A2 to A7 and L0.
#include "analyze/layers/layers.h"

#include "analyze/cache.h"
#include "analyze/keep.h"
#include "analyze/pairing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// An observation that counts: where its layers are.
struct observed {
  const struct layer_row *items;
  const struct layer_device_time *device_times; // by item
  uint32_t *layer_of;                           // by item
  size_t first, end;
  double kernels, covered_ms;
  const struct layers_part *part;
};

// ---- pairing --------------------------------------------------------------------------------------------------------
static double *values_of_none(struct arena *arena, size_t count)
{
  double *values = arena_alloc_array(arena, count + 1, sizeof *values);
  for (size_t i = 0; i < count; i++)
    values[i] = NAN;
  return values;
}

static void set_on_device(struct layer *layer, const struct observed *observed, size_t at, size_t observation,
                          size_t observation_count, struct arena *arena)
{
  if (layer->host_ms == NULL) {
    layer->host_ms = values_of_none(arena, observation_count);
    layer->executed_ms = values_of_none(arena, observation_count);
    layer->alone_ms = values_of_none(arena, observation_count);
  }
  const struct layer_device_time *time = &observed->device_times[at];
  layer->host_ms[observation] = (double)observed->items[at].duration_ns / 1e6;
  layer->executed_ms[observation] = (double)time->executed_ns / 1e6;
  layer->alone_ms[observation] = (double)time->alone_ns / 1e6;
  layer->latency_ms[observation] = ((double)time->executed_ns + (double)time->alone_ns) / 1e6;
}

// Layers pair by (index, name), by the name alone where no index is recorded. order_layers turns an item's pair into its place
// in order.
static void pair_observation(struct pairing *pairing, const struct observed *observed)
{
  pairing_sequence(pairing);
  for (size_t i = observed->first; i < observed->end; i++) {
    const struct layer_row *item = &observed->items[i];
    uint64_t index = item->is_indexed ? (uint64_t)item->index : 0;
    observed->layer_of[i] =
        pairing_place(pairing, (struct map_key){index, (uint64_t)item->name << 1 | item->is_indexed});
  }
}

// The first set's observation with most layers, which gives the order and the layers' facts.
static size_t find_fullest(const struct layers *layers, const struct observed *observed)
{
  size_t fullest = 0;
  for (size_t i = 1; i < layers->observation_count; i++)
    if (observed[i].end - observed[i].first > observed[fullest].end - observed[fullest].first)
      fullest = i;
  return fullest;
}

static void pair_all(struct pairing *pairing, struct arena *arena, const struct observed *observed, size_t count,
                     size_t fullest)
{
  size_t rows = 0;
  for (size_t i = 0; i < count; i++)
    rows += observed[i].end - observed[i].first;
  pairing_start(pairing, arena, rows);
  if (count > 0)
    pair_observation(pairing, &observed[fullest]);
  for (size_t i = 0; i < count; i++)
    if (i != fullest)
      pair_observation(pairing, &observed[i]);
}

// The first recorded one counts.
static void take_text(struct store *store, uint32_t string, const char **text)
{
  if (*text == NULL && string != 0)
    *text = store_text(store, string, NULL);
}

static void fill_observation(struct question *question, struct layers *layers, const struct observed *observed,
                             size_t observation, size_t observation_count)
{
  struct arena *arena = question->scratch;
  for (size_t i = observed->first; i < observed->end; i++) {
    const struct layer_row *item = &observed->items[i];
    struct layer *layer = &layers->items[observed->layer_of[i]];
    if (layer->latency_ms == NULL)
      *layer = (struct layer){
          .name = item->name,
          .index = item->index,
          .is_indexed = item->is_indexed,
          .latency_ms = values_of_none(arena, observation_count),
          .alloc_bytes = values_of_none(arena, observation_count),
          .kernels = values_of_none(arena, observation_count),
      };
    layer->latency_ms[observation] = item->latency_ms;
    if (observed->part->on_device)
      set_on_device(layer, observed, i, observation, observation_count, arena);
    layer->alloc_bytes[observation] = layers->alloc_is_outputs ? item->output_bytes : item->alloc_bytes;
    layer->kernels[observation] = item->kernels;
    layer->present += observation < layers->observation_count;
    layer->is_listed |= !observed->part->is_unlisted;
    take_text(question->view->store, item->type, &layer->type);
    take_text(question->view->store, item->shape, &layer->shape);
    take_text(question->view->store, item->source_layers, &layer->source_layers);
    take_text(question->view->store, item->operation, &layer->operation);
    take_text(question->view->store, item->source, &layer->source);
    take_text(question->view->store, item->module, &layer->module);
    layer->turns = layer->turns == 0 ? item->turns : layer->turns;
  }
}

// A layer has a value for each observation: where layers differ from one observation to the next, that is the square of what
// the file holds.
#define CELLS_MOST ((size_t)1 << 26) // 512 MB for each value

static enum status fill_all(struct question *question, const struct observed *observed, size_t count, size_t fullest,
                            struct layers *layers, struct error *err)
{
  layers->items = arena_alloc_array(question->scratch, layers->count + 1, sizeof *layers->items);
  if (count > 0 && layers->count > CELLS_MOST / count)
    return question_lacks(question, err, "its layers differ too much between observations: %zu in %zu observations",
                          layers->count, count);
  if (count > 0)
    fill_observation(question, layers, &observed[fullest], fullest, count);
  for (size_t i = 0; i < count; i++)
    if (i != fullest)
      fill_observation(question, layers, &observed[i], i, count);
  return STATUS_OK;
}

// ---- from runs to layers --------------------------------------------------------------------------------------------
// Where the values of each observation of `run` go; those that count are listed in `observed`.
static void place_observations(struct layers_run *run, struct observed *observed, size_t *observation_count)
{
  size_t at = 0;
  for (size_t k = 0; k < run->run->observation_count; k++) {
    size_t first = at;
    while (at < run->rows->count && (size_t)run->rows->items[at].observation == k)
      at++;
    run->observation_of[k] = run->run->observations[k].warmup ? ROW_NONE : (uint32_t)*observation_count;
    if (!run->run->observations[k].warmup)
      observed[(*observation_count)++] =
          (struct observed){.items = run->rows->items,
                            .device_times = run->rows->device_times,
                            .layer_of = run->layer_of,
                            .first = first,
                            .end = at,
                            .kernels = run->rows->kernels[k],
                            .covered_ms = run->part->on_device ? run->rows->covered_ms[k] : NAN,
                            .part = run->part};
  }
}

static enum status observe(struct question *question, struct layers_part *parts, size_t part_count,
                           struct observed *observed, struct layers *layers, struct error *err)
{
  struct arena *arena = question->scratch;
  size_t count = 0, with_alloc = 0, with_outputs = 0; // runs
  for (size_t p = 0; p < part_count; p++) {
    parts[p].first_observation = count;
    for (size_t r = 0; r < parts[p].set->run_count; r++) {
      const struct view_run *run = parts[p].set->runs[r];
      const struct layer_rows *rows = NULL;
      uint32_t *observation_of = arena_alloc_array(arena, run->observation_count + 1, sizeof *observation_of);
      parts[p].wanted.rows |= parts[p].on_device;
      XSP_TRY(analyze_cache_layer_rows(question, run, layers->mode, &parts[p].wanted, &rows, err));
      layers->outside += p == 0 ? rows->outside : 0;
      layers->open += p == 0 ? rows->open : 0;
      with_alloc += rows->has_alloc;
      with_outputs += rows->has_outputs;
      uint32_t *layer_of = arena_alloc_array(arena, rows->count + 1, sizeof *layer_of);
      memset(layer_of, 0xff, rows->count * sizeof *layer_of); // ROW_NONE
      layers->runs[layers->run_count] = (struct layers_run){&parts[p], run, rows, observation_of, layer_of};
      place_observations(&layers->runs[layers->run_count++], observed, &count);
    }
  }
  // Frameworks that plan all memory before they run report no allocations: what a layer then keeps are its outputs. Never both.
  layers->alloc_is_outputs = with_outputs > with_alloc;
  return STATUS_OK;
}

// Puts pairs in execution order, those of listed sets in front: an item's layer is its pair's place from now on. By place: the pair.
static const uint32_t *order_layers(struct arena *arena, const struct pairing *pairing, const struct observed *observed,
                                    size_t observed_count, struct layers *layers)
{
  layers->count = pairing->count;
  uint32_t *place_of = arena_alloc_array(arena, layers->count + 1, sizeof *place_of);
  uint32_t *order = arena_alloc_array(arena, layers->count + 1, sizeof *order);
  size_t *is_listed = arena_alloc_array(arena, layers->count + 1, sizeof *is_listed);
  for (size_t k = 0; k < observed_count; k++)
    for (size_t i = observed[k].first; i < observed[k].end && !observed[k].part->is_unlisted; i++)
      is_listed[observed[k].layer_of[i]] = true;
  pairing_order(pairing, is_listed, order);
  for (size_t i = 0; i < layers->count; i++)
    place_of[order[i]] = (uint32_t)i;
  for (size_t r = 0; r < layers->run_count; r++)
    for (size_t i = 0; i < layers->runs[r].rows->count; i++) {
      uint32_t *layer = &layers->runs[r].layer_of[i];
      *layer = *layer == ROW_NONE ? ROW_NONE : place_of[*layer];
    }
  return order;
}

static void name_layers(struct question *question, const struct pairing *pairing, const uint32_t *order,
                        struct layers *layers)
{
  struct keep keep = {.arena = question->arena};
  for (size_t i = 0; i < layers->count; i++) {
    struct layer *layer = &layers->items[i];
    const struct pairing_pair *pair = &pairing->pairs[order[i]];
    if (layer->is_indexed && (pair->occurrence > 0 || pair->next_occurrence != PAIRING_NONE))
      layer->iteration = pair->occurrence + 1;
    layer->name_text = store_text(question->view->store, layer->name, NULL);
    layers->listed += layer->is_listed;
    keep_text(&keep, &layer->name_text); // answers outlive the store
    keep_text(&keep, &layer->type);
    keep_text(&keep, &layer->shape);
    keep_text(&keep, &layer->operation);
    keep_text(&keep, &layer->source);
    keep_text(&keep, &layer->module);
    keep_text(&keep, &layer->source_layers);
  }
  keep_done(&keep);
}

enum status layers_load_parts(struct question *question, struct layers_part *parts, size_t part_count,
                              struct layers *ret_layers, struct error *err)
{
  struct arena *arena = question->scratch;
  const struct view_set *first = parts[0].set;
  size_t all = 0;
  size_t runs = 0;
  for (size_t i = 0; i < part_count; i++) {
    all += parts[i].set->observation_count;
    runs += parts[i].set->run_count;
  }
  *ret_layers = (struct layers){.set = first, .observation_count = first->observation_count};
  XSP_TRY(layer_mode_choose(question, first, &ret_layers->mode, err));
  struct observed *observed = arena_alloc_array(arena, all + 1, sizeof *observed);
  ret_layers->kernels = arena_alloc_array(arena, all + 1, sizeof *ret_layers->kernels);
  ret_layers->covered_ms = arena_alloc_array(arena, all + 1, sizeof *ret_layers->covered_ms);
  ret_layers->runs = arena_alloc_array(arena, runs + 1, sizeof *ret_layers->runs);
  XSP_TRY(observe(question, parts, part_count, observed, ret_layers, err));
  for (size_t i = 0; i < all; i++) {
    ret_layers->kernels[i] = observed[i].kernels;
    ret_layers->covered_ms[i] = observed[i].covered_ms;
  }
  struct pairing pairing;
  size_t fullest = find_fullest(ret_layers, observed);
  pair_all(&pairing, arena, observed, all, fullest);
  const uint32_t *order = order_layers(arena, &pairing, observed, all, ret_layers);
  enum status status = fill_all(question, observed, all, fullest, ret_layers, err);
  if (status == STATUS_OK)
    name_layers(question, &pairing, order, ret_layers);
  pairing_done(&pairing);
  return status;
}

// Of one set, after the question's batch size is known.
static enum status load_source(struct question *question, const struct layer_source *source, struct layers *ret_layers,
                               struct error *err)
{
  struct layers_part *part = arena_alloc(question->scratch, sizeof *part); // the layers refer to it
  *part = (struct layers_part){.set = source->set, .on_device = source->on_device};
  XSP_TRY(layers_load_parts(question, part, 1, ret_layers, err));
  ret_layers->source = *source;
  if (ret_layers->mode == LAYER_MODULE && ret_layers->count == 0)
    return question_lacks(question, err, "none of its layers is a module");
  return STATUS_OK;
}

static bool has_alloc(const struct view *view, int64_t batch_size)
{
  static const char *const tags[] = {"alloc_bytes", "output_bytes"};
  return view_has_tag(view, view_rule(view, batch_size, XSP_LEVEL_LAYER, NULL), tags, 2);
}

enum status layers_answer(struct question *question, enum layers_use use, struct layers *ret_layers, struct error *err)
{
  struct layer_source source = {.asynchronous_pct = NAN};
  if (use == LAYERS_FOR_LATENCY) {
    XSP_TRY(layer_source_batch(question, err));
    XSP_TRY(layer_source_choose(question, question->batch_size, &source, err));
  } else {
    bool needs_alloc = use == LAYERS_FOR_MEMORY;
    XSP_TRY(question_batch(question, needs_alloc ? has_alloc : view_has_layers,
                           needs_alloc ? "layers that have alloc_bytes" : "the layer level", err));
    source.set = view_rule(question->view, question->batch_size, XSP_LEVEL_LAYER, &source.from);
  }
  question_uses(question, source.set);
  question_note_from(question, "layer", source.from);
  XSP_TRY(load_source(question, &source, ret_layers, err));
  size_t partial = 0;
  for (size_t i = 0; i < ret_layers->count; i++)
    partial += ret_layers->items[i].present < ret_layers->observation_count;
  if (partial > 0)
    table_note(&question->table, "%zu of %zu layers are not in every observation (partial)", partial,
               ret_layers->count);
  if (ret_layers->outside > 0)
    table_note(&question->table, "layers in no observation, left out: %zu", ret_layers->outside);
  if (ret_layers->open > 0)
    table_note(&question->table, "layers that never finished, left out: %zu", ret_layers->open);
  return STATUS_OK;
}

const struct view_set *layers_model_set(const struct question *question, const struct layers *layers,
                                        const char **ret_from)
{
  const struct layer_source *source = &layers->source;
  if (!source->on_device)
    return view_rule(question->view, question->batch_size, XSP_LEVEL_MODEL, ret_from);
  *ret_from = source->set->levels_text;
  return source->set->levels.mask & XSP_LEVEL_MASK(XSP_LEVEL_MODEL) ? source->set : NULL;
}

// ---- sums -----------------------------------------------------------------------------------------------------------
struct layers layers_of_part(const struct layers *layers, const struct layers_part *part)
{
  struct layers of = *layers;
  of.set = part->set;
  of.first_observation = part->first_observation;
  of.observation_count = part->set->observation_count;
  return of;
}

struct figure layer_latency(struct question *question, const struct layers *layers, const struct layer *layer)
{
  const double *values = layer->latency_ms; // NULL of an empty layer
  return question_figure(question, layers->set, values == NULL ? NULL : values + layers->first_observation);
}

void layer_put(struct table_builder *table, const struct layer *layer)
{
  table_put(table, "layer_index", cell_int(layer->index));
  table_put(table, "layer_name", cell_text(layer->name_text));
  table_put(table, "layer_type", cell_text(layer->type));
}

static const double *values_of(const struct layer *layer, enum layer_value which)
{
  switch (which) {
  case LAYER_ALLOC:
    return layer->alloc_bytes;
  case LAYER_KERNELS:
    return layer->kernels;
  case LAYER_HOST:
    return layer->host_ms;
  case LAYER_EXECUTED:
    return layer->executed_ms;
  case LAYER_ALONE:
    return layer->alone_ms;
  default:
    return layer->latency_ms;
  }
}

double layer_value(struct question *question, const struct layers *layers, const struct layer *layer,
                   enum layer_value which)
{
  const double *values = values_of(layer, which);
  return question_value(question, layers->set, values == NULL ? NULL : values + layers->first_observation);
}

double *layers_sums(const struct question *question, const struct layers *layers, const uint32_t *group_of,
                    size_t group_count, enum layer_value which)
{
  size_t observations = layers->observation_count;
  double *sums = values_of_none(question->scratch, group_count * observations);
  for (size_t k = 0; k < layers->count; k++) {
    const double *values = values_of(&layers->items[k], which);
    for (size_t i = 0; i < observations; i++) {
      double value = values == NULL ? NAN : values[layers->first_observation + i];
      double *sum = &sums[(group_of != NULL ? group_of[k] : 0) * observations + i];
      value = which == LAYER_ONE && !isnan(value) ? 1 : value;
      if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
    }
  }
  return sums;
}

double layers_total(struct question *question, const struct layers *layers, enum layer_value which)
{
  return question_value(question, layers->set, layers_sums(question, layers, NULL, 1, which));
}
