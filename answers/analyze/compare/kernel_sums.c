// SPDX-License-Identifier: Apache-2.0
// The kernels of both sides, added up by layer and name, as far as their runs compare. Called by compare.c.
#include "analyze/compare/compare.h"

#include "analyze/kernels/kernels.h"

#include <math.h>
#include <string.h>

#define CELLS_MOST ((size_t)1 << 26) // values of all sums: 512 MB

struct sums { // of one side
  struct comparing *comparing;
  const struct compare_part *layers;
  struct map layer_places; // of the side's layers, by name and occurrence, as merge_layers pairs them
  struct map places;       // of items, by layer and name
  VECTOR(struct item) items;
  size_t observations; // of the part's set
  bool by_name;        // alone: there would be too many values
};

// The side's layer that each layer of the kernels' runs is; ITEM_NONE. Their indices may differ from those in other runs.
static size_t *find_layers(const struct sums *sums, const struct layers *layers)
{
  struct interner *names = &sums->comparing->names;
  struct map occurrences SCOPED(map_done) = {0};
  size_t *found = arena_alloc_array(sums->comparing->scratch, layers->count + 1, sizeof *found);
  for (size_t i = 0; i < layers->count; i++) {
    const struct layer *layer = &layers->items[i];
    uint64_t name = interner_at(names, layer->name_text, strlen(layer->name_text));
    uint64_t occurrence = (*map_at(&occurrences, map_number(name), NULL))++;
    const uint64_t *place = map_find(&sums->layer_places, (struct map_key){name, occurrence});
    found[i] = place == NULL || sums->by_name ? ITEM_NONE : (size_t)*place;
  }
  return found;
}

static struct item *item_of(struct sums *sums, const char *kernel_name, size_t layer)
{
  uint32_t name = interner_at(&sums->comparing->names, kernel_name, strlen(kernel_name));
  bool is_new;
  uint64_t *place = map_at(&sums->places, (struct map_key){name, (uint64_t)layer}, &is_new);
  if (!is_new)
    return &sums->items.items[*place];
  *place = sums->items.count;
  struct item *item = vector_add(&sums->items);
  *item = (struct item){.name = kernel_name, .name_id = name, .index = -1, .layer = layer};
  item->values_ms = analyze_unknowns(sums->comparing->scratch, sums->observations);
  return item;
}

// `first`: of the pooled observations, those of these kernels.
static void add_kernels(struct sums *sums, const struct kernels *kernels, size_t first)
{
  const size_t *layers = find_layers(sums, &kernels->layers);
  for (size_t k = 0; k < kernels->measured; k++) {
    const struct kernel *kernel = &kernels->items[k];
    size_t layer = kernel->layer == KERNEL_NO_LAYER ? ITEM_NONE : layers[kernel->layer];
    struct item *item = item_of(sums, kernel->name, layer);
    for (size_t call = kernels->calls.first[k]; call < kernels->calls.first[k + 1]; call++) {
      double *value = &item->values_ms[first + kernels->calls.observation[call]];
      *value = (isnan(*value) ? 0 : *value) + (double)kernels->calls.duration_ns[call] / 1e6;
    }
  }
}

static void add_side(struct comparing *comparing, const struct kernels *kernels, struct side *side)
{
  struct sums sums = {
      .comparing = comparing, .layers = &side->layers, .observations = side->kernels.set.observation_count};
  struct map occurrences = {0};
  size_t count = 0, first = 0;
  for (size_t i = 0; i < side->layers.count; i++) {
    uint64_t name = side->layers.items[i].name_id, occurrence = (*map_at(&occurrences, map_number(name), NULL))++;
    *map_at(&sums.layer_places, (struct map_key){name, occurrence}, NULL) = i;
  }
  map_done(&occurrences);
  for (size_t k = 0; k < side->count; k++)
    count += kernels[k].measured;
  sums.by_name = sums.observations > 0 && count > CELLS_MOST / sums.observations;
  for (size_t k = 0; k < side->count; first += kernels[k++].observation_count)
    add_kernels(&sums, &kernels[k], first);
  side->kernels.count = sums.items.count;
  side->kernels.items = arena_alloc_array(comparing->scratch, sums.items.count + 1, sizeof *side->kernels.items);
  if (sums.items.count > 0)
    memcpy(side->kernels.items, sums.items.items, sums.items.count * sizeof *side->kernels.items);
  vector_done(&sums.items);
  map_done(&sums.places);
  map_done(&sums.layer_places);
}

// Where an experiment was not measured with kernels, nothing is known of what it lacks.
static bool have_kernels(const struct side *side)
{
  for (size_t i = 0; i < side->count; i++) {
    const struct question *question = side->questions[i];
    if (store_is_folded(question->view->store) || !kernels_exist(question->view, question->batch_size))
      return false;
  }
  return true;
}

enum status sides_load_kernels(struct comparing *comparing, struct side sides[2], bool *ret_are_comparable,
                               struct error *err)
{
  const struct view_set *first = NULL;
  *ret_are_comparable = true;
  if (!have_kernels(&sides[0]) || !have_kernels(&sides[1]))
    return STATUS_OK;
  for (int k = 0; k < 2; k++) {
    struct side *side = &sides[k];
    struct kernels *kernels = arena_alloc_array(comparing->scratch, side->count, sizeof *kernels);
    const struct view_set **sets = arena_alloc_array(comparing->scratch, side->count, sizeof *sets);
    for (size_t i = 0; i < side->count; i++) {
      struct question *question = side->questions[i];
      XSP_TRY(kernels_load(question, question->batch_size, KERNELS_ALONE, &kernels[i], err));
      sets[i] = kernels[i].set;
      first = first == NULL ? sets[i] : first;
      *ret_are_comparable &= level_set_equal(sets[i]->levels, first->levels);
    }
    side->kernels.set = side_sets_pool(side->questions[0], sets, side->count);
    add_side(comparing, kernels, side);
  }
  if (!*ret_are_comparable)
    table_note(&comparing->table, "kernels: their runs are of different levels, which do not compare");
  return STATUS_OK;
}
