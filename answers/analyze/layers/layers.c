// SPDX-License-Identifier: Apache-2.0
// Pairs layers across the observations of sets, in execution order; those of equal rows once for the questions of a cache.
// Called by A2 to A7 and L0.
#include "analyze/layers/layers.h"

#include "analyze/cache.h"
#include "analyze/keep.h"
#include "analyze/pairing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// An observation that counts: where its layers are.
struct observed {
  const struct layers_run *run;
  size_t first, end; // of its rows
  double kernels, covered_ms;
};

struct paired_layers { // in the order of the runs' rows, for questions about the same ones
  struct paired_layers *next;
  struct paired_run {
    const struct layer_rows *rows; // as long as this
    size_t part;
    bool on_device, is_unlisted;
    uint32_t *layer_of; // by item
  } * runs;
  size_t run_count;
  struct layer *items; // texts are the store's
  size_t count, listed;
};

// ---- pairing --------------------------------------------------------------------------------------------------------
static void set_on_device(struct layer *layer, const struct observed *observed, size_t at, size_t observation,
                          size_t observation_count, struct arena *arena)
{
  if (layer->host_ms == NULL) {
    layer->host_ms = analyze_unknowns(arena, observation_count);
    layer->executed_ms = analyze_unknowns(arena, observation_count);
    layer->alone_ms = analyze_unknowns(arena, observation_count);
  }
  const struct layer_device_time *time = &observed->run->rows->device_times[at];
  if (isnan(layer->latency_ms[observation])) // it did not run here: a graph that it captured did
    return;
  layer->host_ms[observation] = (double)observed->run->rows->items[at].duration_ns / 1e6;
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
    const struct layer_row *item = &observed->run->rows->items[i];
    uint64_t index = item->is_indexed ? (uint64_t)item->index : 0;
    observed->run->layer_of[i] =
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

static void fill_observation(struct store *store, struct arena *arena, struct layers *layers,
                             const struct observed *observed, size_t observation, size_t observation_count)
{
  for (size_t i = observed->first; i < observed->end; i++) {
    const struct layer_row *item = &observed->run->rows->items[i];
    struct layer *layer = &layers->items[observed->run->layer_of[i]];
    if (layer->latency_ms == NULL)
      *layer = (struct layer){
          .name = item->name,
          .index = item->index,
          .is_indexed = item->is_indexed,
          .latency_ms = analyze_unknowns(arena, observation_count),
          .alloc_bytes = analyze_unknowns(arena, observation_count),
          .kernels = analyze_unknowns(arena, observation_count),
      };
    layer->latency_ms[observation] = item->latency_ms;
    if (observed->run->part->on_device)
      set_on_device(layer, observed, i, observation, observation_count, arena);
    layer->alloc_bytes[observation] = layers->alloc_is_outputs ? item->output_bytes : item->alloc_bytes;
    layer->kernels[observation] = item->kernels;
    layer->present += observation < layers->observation_count;
    layer->is_listed |= !observed->run->part->is_unlisted;
    take_text(store, item->type, &layer->type);
    take_text(store, item->shape, &layer->shape);
    take_text(store, item->source_layers, &layer->source_layers);
    take_text(store, item->operation, &layer->operation);
    take_text(store, item->source, &layer->source);
    take_text(store, item->module, &layer->module);
    layer->turns = layer->turns == 0 ? item->turns : layer->turns;
  }
}

// A layer has a value for each observation: where layers differ from one observation to the next, that is the square of what
// the file holds.
#define CELLS_MOST ((size_t)1 << 26) // 512 MB for each value

static enum status fill_all(struct question *question, struct arena *arena, const struct observed *observed,
                            size_t count, size_t fullest, struct layers *layers, struct error *err)
{
  struct store *store = question->view->store;
  layers->items = arena_alloc_array(arena, layers->count + 1, sizeof *layers->items);
  if (count > 0 && layers->count > CELLS_MOST / count)
    return question_lacks(question, err, "its layers differ too much between observations: %zu in %zu observations",
                          layers->count, count);
  if (count > 0)
    fill_observation(store, arena, layers, &observed[fullest], fullest, count);
  for (size_t i = 0; i < count; i++)
    if (i != fullest)
      fill_observation(store, arena, layers, &observed[i], i, count);
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
          (struct observed){.run = run,
                            .first = first,
                            .end = at,
                            .kernels = run->rows->kernels[k],
                            .covered_ms = run->part->on_device ? run->rows->covered_ms[k] : NAN};
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
      layers->runs[layers->run_count] = (struct layers_run){&parts[p], run, rows, observation_of, NULL};
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
    for (size_t i = observed[k].first; i < observed[k].end && !observed[k].run->part->is_unlisted; i++)
      is_listed[observed[k].run->layer_of[i]] = true;
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

static void name_layers(struct question *question, struct layers *layers)
{
  struct keep keep SCOPED(keep_done) = {.arena = question->arena};
  for (size_t i = 0; i < layers->count; i++) {
    struct layer *layer = &layers->items[i];
    layer->name_text = store_text(question->view->store, layer->name, NULL);
    keep_text(&keep, &layer->name_text); // answers outlive the store
    keep_text(&keep, &layer->type);
    keep_text(&keep, &layer->shape);
    keep_text(&keep, &layer->operation);
    keep_text(&keep, &layer->source);
    keep_text(&keep, &layer->module);
    keep_text(&keep, &layer->source_layers);
  }
}

static void number_iterations(const struct pairing *pairing, const uint32_t *order, struct layers *layers)
{
  for (size_t i = 0; i < layers->count; i++) {
    struct layer *layer = &layers->items[i];
    const struct pairing_pair *pair = &pairing->pairs[order[i]];
    if (layer->is_indexed && (pair->occurrence > 0 || pair->next_occurrence != PAIRING_NONE))
      layer->iteration = pair->occurrence + 1;
    layers->listed += layer->is_listed;
  }
}

// What remains is in `arena`.
static enum status pair_runs(struct question *question, struct arena *arena, const struct observed *observed,
                             size_t count, struct layers *layers, struct error *err)
{
  struct pairing pairing SCOPED(pairing_done) = {0};
  size_t fullest = find_fullest(layers, observed);
  for (size_t r = 0; r < layers->run_count; r++) {
    size_t rows = layers->runs[r].rows->count;
    layers->runs[r].layer_of = arena_alloc_array(arena, rows + 1, sizeof(uint32_t));
    memset(layers->runs[r].layer_of, 0xff, rows * sizeof(uint32_t)); // ROW_NONE
  }
  pair_all(&pairing, question->scratch, observed, count, fullest);
  const uint32_t *order = order_layers(question->scratch, &pairing, observed, count, layers);
  XSP_TRY(fill_all(question, arena, observed, count, fullest, layers, err));
  number_iterations(&pairing, order, layers);
  return STATUS_OK;
}

// ---- pairs of equal rows, once --------------------------------------------------------------------------------------
static struct paired_run run_of(const struct layers_run *run, const struct layers_part *parts)
{
  return (struct paired_run){run->rows, (size_t)(run->part - parts), run->part->on_device, run->part->is_unlisted,
                             run->layer_of};
}

static bool is_paired(const struct paired_layers *paired, const struct layers *layers, const struct layers_part *parts)
{
  bool is_same = paired->run_count == layers->run_count;
  for (size_t r = 0; r < layers->run_count && is_same; r++) {
    const struct paired_run run = run_of(&layers->runs[r], parts), *of = &paired->runs[r];
    is_same = run.rows == of->rows && run.part == of->part && run.on_device == of->on_device &&
              run.is_unlisted == of->is_unlisted;
  }
  return is_same;
}

// A question has its own texts.
static void take_pairs(struct question *question, const struct paired_layers *paired, struct layers *layers)
{
  layers->count = paired->count;
  layers->listed = paired->listed;
  layers->items = arena_alloc_array(question->scratch, paired->count + 1, sizeof *layers->items);
  memcpy(layers->items, paired->items, paired->count * sizeof *layers->items);
  for (size_t r = 0; r < layers->run_count; r++)
    layers->runs[r].layer_of = paired->runs[r].layer_of;
  name_layers(question, layers);
}

static enum status pair_once(struct question *question, const struct layers_part *parts,
                             const struct observed *observed, size_t count, struct layers *layers, struct error *err)
{
  struct analyze_shared *shared = question->shared;
  struct paired_layers *paired = shared->paired;
  while (paired != NULL && !is_paired(paired, layers, parts))
    paired = paired->next;
  if (paired == NULL) {
    bool is_shared = shared->arena->used_bytes <= shared->bytes_most;
    struct arena *arena = is_shared ? shared->arena : question->scratch;
    XSP_TRY(pair_runs(question, arena, observed, count, layers, err));
    paired = arena_alloc(arena, sizeof *paired);
    *paired =
        (struct paired_layers){shared->paired, NULL, layers->run_count, layers->items, layers->count, layers->listed};
    paired->runs = arena_alloc_array(arena, layers->run_count + 1, sizeof *paired->runs);
    for (size_t r = 0; r < layers->run_count; r++)
      paired->runs[r] = run_of(&layers->runs[r], parts);
    shared->paired = is_shared ? paired : shared->paired;
  }
  take_pairs(question, paired, layers);
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
  return pair_once(question, parts, observed, all, ret_layers, err);
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
