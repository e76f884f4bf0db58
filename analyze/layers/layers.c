// SPDX-License-Identifier: Apache-2.0
// Pairs layers across the observations of a set, in execution order, and sums over them. Called by A2 to A7 and L0.
#include "analyze/layers/layers.h"

#include "analyze/cache.h"
#include "analyze/keep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Pairs with one (index, name), or one name where no index is recorded, chained by occurrence.
struct family {
  int64_t index;
  uint32_t name;
  bool is_indexed, is_used;
  uint32_t first, last; // pairs
  uint32_t cursor;      // the pair matched last in observation `seen`
  size_t seen;          // observation, 1-based
};
struct pair {
  struct layer layer;
  uint32_t next_occurrence, next; // next: in execution order
};
struct pairing {
  struct arena *arena;
  struct family *families; // open addressing
  size_t mask;
  struct pair *pairs;
  size_t count;
  uint32_t first; // in execution order
  size_t observation_count;
  size_t first_count; // observations of the first set
};
// An observation that counts: where its layers lie.
struct observed {
  struct layer_row *items;
  size_t first, end;
  double kernels;
};

#define NONE UINT32_MAX

static size_t hash(int64_t index, uint32_t name, bool is_indexed)
{
  uint64_t key = (uint64_t)index * UINT64_C(0x9e3779b97f4a7c15) ^ ((uint64_t)name << 1 | is_indexed);
  key *= UINT64_C(0xbf58476d1ce4e5b9);
  return (size_t)(key ^ key >> 31);
}

static struct family *find_family(struct pairing *pairing, const struct layer_row *item)
{
  int64_t index = item->is_indexed ? item->index : 0;
  size_t at = hash(index, item->name, item->is_indexed) & pairing->mask;
  for (;; at = (at + 1) & pairing->mask) {
    struct family *family = &pairing->families[at];
    if (!family->is_used)
      *family = (struct family){index, item->name, item->is_indexed, true, NONE, NONE, NONE, 0};
    if (family->index == index && family->name == item->name && family->is_indexed == item->is_indexed)
      return family;
  }
}

static double *values_of_none(struct pairing *pairing)
{
  double *values = arena_alloc_array(pairing->arena, pairing->observation_count, sizeof *values);
  for (size_t i = 0; values != NULL && i < pairing->observation_count; i++)
    values[i] = NAN;
  return values;
}

// A new pair, behind `previous` in execution order (NONE: in front).
static uint32_t add_pair(struct pairing *pairing, struct family *family, const struct layer_row *item,
                         uint32_t previous)
{
  uint32_t at = (uint32_t)pairing->count;
  struct pair *pair = &pairing->pairs[at];
  *pair = (struct pair){.next_occurrence = NONE};
  pair->layer = (struct layer){.name = item->name, .is_indexed = item->is_indexed, .index = item->index};
  pair->layer.latency_ms = values_of_none(pairing);
  pair->layer.alloc_bytes = values_of_none(pairing);
  pair->layer.kernels = values_of_none(pairing);
  if (pair->layer.latency_ms == NULL || pair->layer.alloc_bytes == NULL || pair->layer.kernels == NULL)
    return NONE;
  pairing->count++;
  if (family->first == NONE) {
    family->first = at;
  } else {
    pair->layer.occurrence = pairing->pairs[family->last].layer.occurrence + 1;
    pairing->pairs[family->last].next_occurrence = at;
  }
  family->last = at;
  uint32_t *link = previous == NONE ? &pairing->first : &pairing->pairs[previous].next;
  pair->next = *link;
  *link = at;
  return at;
}

static bool pair_observation(struct pairing *pairing, const struct observed *observed, size_t observation)
{
  uint32_t previous = NONE;
  for (size_t i = observed->first; i < observed->end; i++) {
    struct layer_row *item = &observed->items[i];
    struct family *family = find_family(pairing, item);
    uint32_t at = family->seen != observation + 1 ? family->first : pairing->pairs[family->cursor].next_occurrence;
    if (at == NONE)
      at = add_pair(pairing, family, item, previous);
    if (at == NONE)
      return false;
    family->seen = observation + 1;
    family->cursor = at;
    previous = at;
    item->layer = at; // list_layers turns this into its place in order
    struct layer *layer = &pairing->pairs[at].layer;
    layer->latency_ms[observation] = item->latency_ms;
    layer->alloc_bytes[observation] = item->alloc_bytes;
    layer->kernels[observation] = item->kernels;
    layer->present += observation < pairing->first_count;
    layer->type = layer->type == NULL ? item->type : layer->type;
    layer->shape = layer->shape == NULL ? item->shape : layer->shape;
    layer->operation = layer->operation == NULL ? item->operation : layer->operation;
  }
  return true;
}

static bool start_pairing(struct pairing *pairing, const struct observed *observed, size_t count)
{
  size_t rows = 0;
  for (size_t i = 0; i < count; i++)
    rows += observed[i].end - observed[i].first;
  size_t slots = 16;
  while (slots < rows * 2)
    slots *= 2;
  pairing->mask = slots - 1;
  pairing->first = NONE;
  pairing->observation_count = count;
  pairing->families = arena_alloc_array(pairing->arena, slots, sizeof *pairing->families);
  pairing->pairs = arena_alloc_array(pairing->arena, rows + 1, sizeof *pairing->pairs);
  return pairing->families != NULL && pairing->pairs != NULL;
}

// The observation with most layers gives the order; what others have besides stands behind what it followed there.
static bool pair_all(struct pairing *pairing, const struct observed *observed, size_t count)
{
  if (!start_pairing(pairing, observed, count))
    return false;
  size_t fullest = 0;
  for (size_t i = 1; i < pairing->first_count; i++)
    if (observed[i].end - observed[i].first > observed[fullest].end - observed[fullest].first)
      fullest = i;
  if (count > 0 && !pair_observation(pairing, &observed[fullest], fullest))
    return false;
  for (size_t i = 0; i < count; i++)
    if (i != fullest && !pair_observation(pairing, &observed[i], i))
      return false;
  return true;
}

// ---- from runs to layers ---------------------------------------------------------------------------------------------
static enum status choose_mode(const struct question *question, const struct view_set *set, enum layer_mode *ret_mode,
                               struct error *err)
{
  const char *name = question->request->layer;
  if (name == NULL && set->run_count > 0)
    name = set->runs[0]->run->layer;
  *ret_mode = LAYER_OUTERMOST;
  if (name == NULL || name[0] == 0 || strcmp(name, "outermost") == 0)
    return STATUS_OK;
  if (strcmp(name, "innermost") == 0)
    *ret_mode = LAYER_INNERMOST;
  else if (strcmp(name, "module") == 0)
    *ret_mode = LAYER_MODULE;
  else
    return error_set(err, STATUS_USE, "cannot tell which layers are meant", name, "--layer outermost",
                     "known are outermost, innermost and module");
  return STATUS_OK;
}

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
      observed[(*observation_count)++] = (struct observed){run->rows->items, first, at, run->rows->kernels[k]};
  }
}

static enum status observe(struct question *question, struct layers_part *parts, size_t part_count,
                           struct observed *observed, struct layers *layers, struct error *err)
{
  struct arena *arena = question->scratch;
  size_t count = 0;
  for (size_t p = 0; p < part_count; p++) {
    parts[p].first_observation = count;
    for (size_t r = 0; r < parts[p].set->run_count; r++) {
      const struct view_run *run = parts[p].set->runs[r];
      struct layer_rows *rows = NULL;
      uint32_t *observation_of = arena_alloc_array(arena, run->observation_count + 1, sizeof *observation_of);
      if (observation_of == NULL)
        return question_no_memory(err);
      XSP_TRY(cache_layer_rows(question, run, layers->mode, &parts[p].wanted, &rows, err));
      layers->outside += p == 0 ? rows->outside : 0;
      layers->open += p == 0 ? rows->open : 0;
      layers->runs[layers->run_count] = (struct layers_run){&parts[p], run, rows, observation_of};
      place_observations(&layers->runs[layers->run_count++], observed, &count);
    }
  }
  return STATUS_OK;
}

// Pairs in execution order, those that the first set has in front.
static enum status list_layers(struct question *question, const struct pairing *pairing, struct layers *layers,
                               struct error *err)
{
  uint32_t *item_of = arena_alloc_array(question->scratch, pairing->count + 1, sizeof *item_of);
  layers->items = arena_alloc_array(question->scratch, pairing->count + 1, sizeof *layers->items);
  if (layers->items == NULL || item_of == NULL)
    return question_no_memory(err);
  struct keep keep = {.arena = question->arena};
  bool is_kept = true;
  for (int told = 1; told >= 0; told--) {
    for (uint32_t at = pairing->first; at != NONE; at = pairing->pairs[at].next) {
      if ((pairing->pairs[at].layer.present > 0) != told)
        continue;
      item_of[at] = (uint32_t)layers->count;
      struct layer *layer = &layers->items[layers->count++];
      *layer = pairing->pairs[at].layer;
      layer->name_text = store_text(question->view->store, layer->name, NULL);
      is_kept &= keep_text(&keep, &layer->name_text) && keep_text(&keep, &layer->type) &&
                 keep_text(&keep, &layer->shape) && keep_text(&keep, &layer->operation); // answers outlive the store
    }
    layers->told = told ? layers->count : layers->told;
  }
  keep_done(&keep);
  if (!is_kept)
    return question_no_memory(err);
  for (size_t r = 0; r < layers->run_count; r++)
    for (size_t i = 0; i < layers->runs[r].rows->count; i++) {
      struct layer_row *item = &layers->runs[r].rows->items[i];
      item->layer = item->layer == NONE ? NONE : item_of[item->layer];
    }
  return STATUS_OK;
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
  ret_layers->has_kernels = (first->levels.mask & XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)) != 0;
  XSP_TRY(choose_mode(question, first, &ret_layers->mode, err));
  struct observed *observed = arena_alloc_array(arena, all + 1, sizeof *observed);
  ret_layers->kernels = arena_alloc_array(arena, all + 1, sizeof *ret_layers->kernels);
  ret_layers->runs = arena_alloc_array(arena, runs + 1, sizeof *ret_layers->runs);
  if (observed == NULL || ret_layers->kernels == NULL || ret_layers->runs == NULL)
    return question_no_memory(err);
  XSP_TRY(observe(question, parts, part_count, observed, ret_layers, err));
  struct pairing pairing = {.arena = arena, .first_count = first->observation_count};
  if (!pair_all(&pairing, observed, all))
    return question_no_memory(err);
  for (size_t i = 0; i < all; i++)
    ret_layers->kernels[i] = observed[i].kernels;
  return list_layers(question, &pairing, ret_layers, err);
}

enum status layers_load(struct question *question, const struct view_set *set, const char *from,
                        struct layers *ret_layers, struct error *err)
{
  struct layers_part *part = arena_alloc(question->scratch, sizeof *part); // the layers refer to it
  if (part == NULL)
    return question_no_memory(err);
  *part = (struct layers_part){.set = set};
  XSP_TRY(layers_load_parts(question, part, 1, ret_layers, err));
  ret_layers->from = from;
  if (ret_layers->mode == LAYER_MODULE && ret_layers->count == 0)
    return question_lacks(question, err, "none of its layers is a module");
  return STATUS_OK;
}

enum status layers_answer(struct question *question, struct layers *ret_layers, struct error *err)
{
  const char *from;
  XSP_TRY(question_batch(question, view_has_layers, "the layer level", err));
  const struct view_set *set = view_rule(question->view, question->batch_size, XSP_LEVEL_LAYER, &from);
  question_uses(question, set);
  question_note_from(question, "layer", from);
  XSP_TRY(layers_load(question, set, from, ret_layers, err));
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

// ---- sums ------------------------------------------------------------------------------------------------------------
static double value_at(const struct layer *layer, enum layer_value which, size_t observation)
{
  switch (which) {
  case LAYER_LATENCY:
    return layer->latency_ms[observation];
  case LAYER_ALLOC:
    return layer->alloc_bytes[observation];
  case LAYER_KERNELS:
    return layer->kernels[observation];
  default:
    return isnan(layer->latency_ms[observation]) ? NAN : 1;
  }
}

size_t layer_values(const struct layers *layers, const struct layer *layer, enum layer_value which, double *values)
{
  size_t count = 0;
  for (size_t i = 0; i < layers->observation_count; i++) {
    double value = value_at(layer, which, i);
    if (!isnan(value))
      values[count++] = value;
  }
  return count;
}

double *layers_sums(const struct question *question, const struct layers *layers, const uint32_t *group_of,
                    size_t group_count, enum layer_value which)
{
  size_t observations = layers->observation_count;
  if (observations != 0 && group_count > SIZE_MAX / observations)
    return NULL;
  double *sums = arena_alloc_array(question->scratch, group_count * observations + 1, sizeof *sums);
  if (sums == NULL)
    return NULL;
  for (size_t i = 0; i < group_count * observations; i++)
    sums[i] = NAN;
  for (size_t k = 0; k < layers->count; k++)
    for (size_t i = 0; i < observations; i++) {
      double value = value_at(&layers->items[k], which, i);
      double *sum = &sums[(group_of != NULL ? group_of[k] : 0) * observations + i];
      if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
    }
  return sums;
}

double layers_statistic(const struct question *question, const double *values, size_t count)
{
  double *known = values == NULL ? NULL : arena_alloc_array(question->scratch, count + 1, sizeof *known);
  if (known == NULL)
    return NAN;
  size_t known_count = 0;
  for (size_t i = 0; i < count; i++)
    if (!isnan(values[i]))
      known[known_count++] = values[i];
  return statistic_apply(&question->statistic, known, known_count);
}

double layers_total(const struct question *question, const struct layers *layers, enum layer_value which)
{
  return layers_statistic(question, layers_sums(question, layers, NULL, 1, which), layers->observation_count);
}

// Of fewer than three layers there are thirds without any.
static bool has_third(size_t count, size_t third)
{
  for (size_t i = 0; i < count; i++)
    if (3 * i / count == third)
      return true;
  return false;
}

void layers_stages(struct question *question, const struct layers *layers, enum layer_value which)
{
  static const char *const keys[] = {"beginning_pct", "middle_pct", "end_pct"};
  static const char *const names[] = {"B", "M", "E"};
  uint32_t *third_of = arena_alloc_array(question->scratch, layers->count + 1, sizeof *third_of);
  for (size_t i = 0; third_of != NULL && i < layers->count; i++)
    third_of[i] = (uint32_t)(3 * i / layers->count);
  double *sums = third_of == NULL ? NULL : layers_sums(question, layers, third_of, 3, which);
  double total = layers_total(question, layers, which);
  double most = -INFINITY;
  const char *stage = NULL;
  for (size_t third = 0; third < 3; third++) {
    double sum = layers_statistic(question, sums == NULL ? NULL : sums + third * layers->observation_count,
                                  layers->observation_count);
    if (layers->count > 0 && !has_third(layers->count, third))
      sum = 0;
    double share = total != 0 ? sum / total * 100 : NAN;
    table_summary(&question->table, keys[third], cell_real(share));
    if (!isnan(share) && share > most) {
      most = share;
      stage = names[third];
    }
  }
  table_summary(&question->table, "stage", cell_text(stage));
}

bool layers_have_alloc(const struct layers *layers)
{
  for (size_t i = 0; i < layers->count; i++)
    for (size_t k = 0; k < layers->observation_count; k++)
      if (!isnan(layers->items[i].alloc_bytes[k]))
        return true;
  return false;
}

void layers_note_alloc(struct question *question, const struct layers *layers)
{
  size_t silent = 0;
  for (size_t i = 0; i < layers->count; i++) {
    bool says = false;
    for (size_t k = 0; k < layers->observation_count && !says; k++)
      says = !isnan(layers->items[i].alloc_bytes[k]);
    silent += !says;
  }
  if (silent > 0)
    table_note(&question->table, "%zu of %zu layers do not say what they allocated; sums leave them out", silent,
               layers->count);
}
