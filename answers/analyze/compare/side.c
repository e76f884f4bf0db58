// SPDX-License-Identifier: Apache-2.0
// Finds what the sides of a comparison have in common: a batch size, and at each level runs of equal levels on one basis. Pools
// the runs of a side's experiments, and pairs their layers. Called by compare.c.
#include "analyze/compare/compare.h"

#include "analyze/layers/layers.h"
#include "analyze/pairing.h"

#include <string.h>

// All experiments of both sides, those of a first.
struct both {
  struct question **questions;
  const struct view_set **sets; // that the level rule gives each
  size_t count, a_count;
};

static struct both both_of(struct comparing *comparing, struct side sides[2])
{
  struct both both = {.count = sides[0].count + sides[1].count, .a_count = sides[0].count};
  both.questions = arena_alloc_array(comparing->scratch, both.count, sizeof *both.questions);
  both.sets = arena_alloc_array(comparing->scratch, both.count, sizeof *both.sets);
  for (size_t i = 0; i < both.count; i++)
    both.questions[i] = i < both.a_count ? sides[0].questions[i] : sides[1].questions[i - both.a_count];
  return both;
}

// ---- batch size -----------------------------------------------------------------------------------------------------
bool side_has_observations(const struct view *view, int64_t batch_size)
{
  for (size_t i = 0; i < view->set_count; i++)
    if (view->sets[i].batch_size == batch_size && view->sets[i].observation_count > 0)
      return true;
  return false;
}

static bool all_have(const struct both *both, int64_t batch_size)
{
  for (size_t i = 0; i < both->count; i++)
    if (!side_has_observations(both->questions[i]->view, batch_size))
      return false;
  return true;
}

// Whether one size alone was measured, and some experiments did not record theirs (0).
static bool is_one_size_known(const struct both *both)
{
  int64_t known = 0;
  for (size_t i = 0; i < both->count; i++)
    for (size_t k = 0; k < both->questions[i]->view->set_count; k++) {
      int64_t batch_size = both->questions[i]->view->sets[k].batch_size;
      if (batch_size != 0 && known != 0 && batch_size != known)
        return false;
      known = batch_size != 0 ? batch_size : known;
    }
  return true;
}

static void use_batch(const struct both *both, int64_t batch_size)
{
  for (size_t i = 0; i < both->count; i++)
    both->questions[i]->batch_size = batch_size;
}

enum status sides_choose_batch(struct comparing *comparing, struct side sides[2], bool *ret_are_comparable,
                               struct error *err)
{
  struct both both = both_of(comparing, sides);
  struct question *first = both.questions[0];
  *ret_are_comparable = true;
  for (size_t i = 0; i < both.count; i++) // the default of each, or what the request wants
    XSP_TRY(question_batch(both.questions[i], side_has_observations, "observations", err));
  int64_t batch_size = first->batch_size;
  for (size_t i = 0; i < first->view->set_count && !all_have(&both, batch_size); i++)
    batch_size = first->view->sets[i].batch_size;
  *ret_are_comparable = all_have(&both, batch_size);
  if (*ret_are_comparable) {
    use_batch(&both, batch_size);
  } else if (is_one_size_known(&both)) {
    *ret_are_comparable = true;
    table_note(&comparing->table, "one side did not record its batch size: taken to be the other side's");
  } else {
    table_note(&comparing->table, "no batch size was measured on both sides");
  }
  return STATUS_OK;
}

// ---- sets -----------------------------------------------------------------------------------------------------------
static bool are_of_equal_levels(const struct both *both)
{
  for (size_t i = 0; i < both->count; i++)
    if (both->sets[i] == NULL || !level_set_equal(both->sets[i]->levels, both->sets[0]->levels))
      return false;
  return true;
}

// Takes the sets of these levels. False, and nothing is changed, where an experiment has none.
static bool use_levels(struct both *both, struct level_set levels)
{
  for (size_t i = 0; i < both->count; i++)
    if (view_find(both->questions[i]->view, both->questions[i]->batch_size, levels) == NULL)
      return false;
  for (size_t i = 0; i < both->count; i++)
    both->sets[i] = view_find(both->questions[i]->view, both->questions[i]->batch_size, levels);
  return true;
}

// Where the sets are of different levels: those of one of these levels that all have, else of the fewest with `needed`.
static void find_common_levels(struct both *both, uint32_t needed)
{
  const struct view *first = both->questions[0]->view;
  bool is_found = are_of_equal_levels(both);
  for (size_t i = 0; i < both->count; i++)
    if (both->sets[i] == NULL)
      return;
  for (size_t i = 0; i < both->count && !is_found; i++)
    is_found = use_levels(both, both->sets[i]->levels);
  for (size_t i = 0; i < first->set_count && !is_found; i++) {
    struct level_set levels = first->sets[i].levels;
    is_found = (levels.mask & needed) == needed && !levels.serial && use_levels(both, levels);
  }
}

struct view_set side_sets_pool(struct question *question, const struct view_set *const *sets, size_t count)
{
  struct arena *arena = question->scratch;
  struct view_set all = *sets[0];
  all.run_count = all.observation_count = 0;
  size_t runs = 0, observations = 0;
  for (size_t i = 0; i < count; i++) {
    runs += sets[i]->run_count;
    observations += sets[i]->observation_count;
  }
  all.runs = arena_alloc_array(arena, runs + 1, sizeof *all.runs);
  all.latencies_ms = arena_alloc_array(arena, observations + 1, sizeof *all.latencies_ms);
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < sets[i]->run_count; k++)
      all.runs[all.run_count++] = sets[i]->runs[k];
    for (size_t k = 0; k < sets[i]->observation_count; k++)
      all.latencies_ms[all.observation_count++] = sets[i]->latencies_ms[k];
  }
  question_choose_observations(question, &all);
  for (size_t i = 0; i < question->view->set_count; i++) // figures of other sets may follow
    if (question->view->sets[i].observation_count > observations)
      observations = question->view->sets[i].observation_count;
  question->room = arena_alloc_array(arena, observations + 1, sizeof *question->room);
  return all;
}

static bool pool_sides(struct comparing *comparing, struct side sides[2], const struct both *both,
                       struct compare_part *ret_parts[2], const char *what)
{
  for (size_t i = 0; i < both->count; i++)
    if (both->sets[i] == NULL)
      return false;
  for (int k = 0; k < 2; k++)
    ret_parts[k]->set =
        side_sets_pool(sides[k].questions[0], both->sets + (k == 0 ? 0 : both->a_count), sides[k].count);
  if (are_of_equal_levels(both))
    return true;
  table_note(&comparing->table, "%s: measured at %s and at %s, which do not compare", what,
             ret_parts[0]->set.levels_text, ret_parts[1]->set.levels_text);
  return false;
}

// ---- models ---------------------------------------------------------------------------------------------------------
const struct view_set *side_latency_set(const struct question *question)
{
  static const unsigned levels[] = {XSP_LEVEL_MODEL, XSP_LEVEL_APPLICATION, XSP_LEVEL_LAYER, XSP_LEVEL_LIBRARY,
                                    XSP_LEVEL_KERNEL};
  const struct view_set *set = NULL;
  for (size_t i = 0; i < sizeof levels / sizeof levels[0] && set == NULL; i++)
    set = view_rule(question->view, question->batch_size, levels[i], NULL);
  return set;
}

enum status sides_load_models(struct comparing *comparing, struct side sides[2], bool *ret_are_comparable,
                              struct error *err)
{
  struct both both = both_of(comparing, sides);
  struct compare_part *parts[] = {&sides[0].model, &sides[1].model};
  for (size_t i = 0; i < both.count; i++) {
    both.sets[i] = side_latency_set(both.questions[i]);
    if (both.sets[i] == NULL)
      return question_lacks(both.questions[i], err, "it has no observation that is no warm-up");
  }
  find_common_levels(&both, XSP_LEVEL_MASK(XSP_LEVEL_MODEL));
  *ret_are_comparable = pool_sides(comparing, sides, &both, parts, "models");
  return STATUS_OK;
}

// ---- layers ---------------------------------------------------------------------------------------------------------
// On one basis: the device's where some need it and all have it.
static enum status choose_sources(struct both *both, struct layer_source *sources, struct analyze_request *asked,
                                  struct error *err)
{
  bool on_device = false, have_all_devices = true;
  for (size_t i = 0; i < both->count; i++) {
    const struct question *question = both->questions[i];
    XSP_TRY(layer_source_choose(both->questions[i], question->batch_size, &sources[i], err));
    on_device |= sources[i].on_device;
    have_all_devices &= view_rule_by_layer(question->view, question->batch_size, false) != NULL;
  }
  for (size_t i = 0; i < both->count; i++)
    if (on_device != sources[i].on_device || (on_device && !have_all_devices)) {
      asked->latency_basis = have_all_devices ? "device" : "host"; // the questions have this request
      for (size_t k = 0; k < both->count; k++)
        XSP_TRY(layer_source_choose(both->questions[k], both->questions[k]->batch_size, &sources[k], err));
      break;
    }
  for (size_t i = 0; i < both->count; i++)
    both->sets[i] = sources[i].set;
  return STATUS_OK;
}

static void fill_item(struct comparing *comparing, struct item *item, const struct layer *layer, size_t observations)
{
  if (item->values_ms == NULL) {
    *item = (struct item){.name = layer->name_text,
                          .type = layer->type,
                          .shape = layer->shape,
                          .operation = layer->operation,
                          .name_id = interner_at(&comparing->names, layer->name_text, strlen(layer->name_text)),
                          .index = layer->index,
                          .layer = ITEM_NONE};
    item->values_ms = analyze_unknowns(comparing->scratch, observations);
  }
}

// The layers of a side's experiments, paired by name and occurrence.
static void merge_layers(struct comparing *comparing, const struct layers *layers, size_t count,
                         struct compare_part *part)
{
  size_t most = 0, first = 0, observations = part->set.observation_count;
  for (size_t k = 0; k < count; k++)
    most += layers[k].count;
  struct pairing pairing;
  pairing_start(&pairing, comparing->scratch, most);
  struct item *items = arena_alloc_array(comparing->scratch, most + 1, sizeof *items);
  for (size_t k = 0; k < count; first += layers[k++].observation_count) {
    pairing_sequence(&pairing);
    for (size_t i = 0; i < layers[k].count; i++) {
      const struct layer *layer = &layers[k].items[i];
      uint64_t name = interner_at(&comparing->names, layer->name_text, strlen(layer->name_text));
      struct item *item = &items[pairing_place(&pairing, map_number(name))];
      fill_item(comparing, item, layer, observations);
      memcpy(item->values_ms + first, layer->latency_ms, layers[k].observation_count * sizeof *item->values_ms);
    }
  }
  size_t *is_first = arena_alloc_array(comparing->scratch, pairing.count + 1, sizeof *is_first);
  uint32_t *order = arena_alloc_array(comparing->scratch, pairing.count + 1, sizeof *order);
  pairing_order(&pairing, is_first, order);
  part->count = pairing.count;
  part->items = arena_alloc_array(comparing->scratch, pairing.count + 1, sizeof *part->items);
  for (size_t i = 0; i < pairing.count; i++)
    part->items[i] = items[order[i]];
  pairing_done(&pairing);
}

static enum status load_side(struct comparing *comparing, struct side *side, const struct view_set *const *sets,
                             bool on_device, struct error *err)
{
  struct layers *layers = arena_alloc_array(comparing->scratch, side->count, sizeof *layers);
  for (size_t k = 0; k < side->count; k++) {
    struct layers_part *part = arena_alloc(comparing->scratch, sizeof *part); // the layers refer to it
    *part = (struct layers_part){.set = sets[k], .on_device = on_device};
    XSP_TRY(layers_load_parts(side->questions[k], part, 1, &layers[k], err));
  }
  merge_layers(comparing, layers, side->count, &side->layers);
  return STATUS_OK;
}

enum status sides_load_layers(struct comparing *comparing, struct side sides[2], bool *ret_are_comparable,
                              struct error *err)
{
  struct both both = both_of(comparing, sides);
  struct compare_part *parts[] = {&sides[0].layers, &sides[1].layers};
  struct layer_source *sources = arena_alloc_array(comparing->scratch, both.count, sizeof *sources);
  *ret_are_comparable = false;
  for (size_t i = 0; i < both.count; i++)
    if (store_is_folded(both.questions[i]->view->store))
      return STATUS_OK;
  XSP_TRY(choose_sources(&both, sources, &comparing->asked, err));
  uint32_t needed = XSP_LEVEL_MASK(XSP_LEVEL_LAYER) | (sources[0].on_device ? XSP_LEVEL_MASK(XSP_LEVEL_KERNEL) : 0);
  find_common_levels(&both, needed);
  *ret_are_comparable = pool_sides(comparing, sides, &both, parts, "layers");
  if (parts[0]->set.observation_count == 0 || parts[1]->set.observation_count == 0)
    return STATUS_OK; // a side has none
  if (comparing->asked.layer == NULL)
    comparing->asked.layer = both.sets[0]->runs[0]->run->layer; // the same on both sides
  for (int k = 0; k < 2; k++)
    XSP_TRY(load_side(comparing, &sides[k], both.sets + (k == 0 ? 0 : both.a_count), sources[0].on_device, err));
  if (*ret_are_comparable)
    table_note(&comparing->table, "layers: %s, %s time", both.sets[0]->levels_text, layer_source_basis(&sources[0]));
  return STATUS_OK;
}
