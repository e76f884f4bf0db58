// SPDX-License-Identifier: Apache-2.0
// Compares two experiments, or repetitions of them: pairs their models, layers and kernels, and adds a row for each pair. Called
// by compare.c.
#include "analyze/compare/compare.h"

#include "analyze/compare/align.h"

#include <math.h>
#include <string.h>

// ---- layers ---------------------------------------------------------------------------------------------------------
static struct align_layer *layers_to_align(struct comparing *comparing, const struct compare_part *part)
{
  struct align_layer *layers = arena_alloc_array(comparing->scratch, part->count + 1, sizeof *layers);
  for (size_t i = 0; i < part->count; i++) {
    const struct item *item = &part->items[i];
    const char *type = item->operation != NULL ? item->operation : item->type != NULL ? item->type : item->name;
    uint32_t family = flops_operator_family(type);
    if (family == OPERATOR_FAMILIES)
      family += 1 + interner_at(&comparing->names, type, strlen(type));
    layers[i] = (struct align_layer){item->name_id, family, shape_number(item->shape)};
  }
  return layers;
}

// Per observation; NaN where both are absent.
static double *add_values(struct comparing *comparing, const double *a, const double *b, size_t observations)
{
  double *sum = arena_alloc_array(comparing->scratch, observations + 1, sizeof *sum);
  for (size_t i = 0; i < observations; i++)
    sum[i] = isnan(a[i]) ? b[i] : isnan(b[i]) ? a[i] : a[i] + b[i];
  return sum;
}

// What the layers of a group take together.
static const double *sum_values(struct comparing *comparing, const struct compare_part *part,
                                const struct align_group *group)
{
  double *sum = part->items[group->items[0]].values_ms;
  for (size_t i = 1; i < group->count; i++)
    sum = add_values(comparing, sum, part->items[group->items[i]].values_ms, part->set.observation_count);
  return sum;
}

static const char *group_name(struct comparing *comparing, const struct compare_part *part,
                              const struct align_group *group)
{
  const char *name = part->items[group->items[0]].name;
  for (size_t i = 1; i < group->count; i++)
    name = arena_format(comparing->arena, "%s + %s", name, part->items[group->items[i]].name);
  return name;
}

static void mark_pairs(size_t *pair_of, size_t pair, const struct align_group *group)
{
  for (size_t i = 0; i < group->count; i++)
    pair_of[group->items[i]] = pair;
}

// pair_of: by layer of each side, filled in; ITEM_NONE: it has no partner.
static void compare_layers(struct comparing *comparing, struct side sides[2], bool are_comparable, size_t *pair_of[2])
{
  const struct compare_part *parts[] = {&sides[0].layers, &sides[1].layers};
  const struct align_layer *layers[2];
  for (int k = 0; k < 2; k++) {
    layers[k] = layers_to_align(comparing, parts[k]);
    pair_of[k] = arena_alloc_array(comparing->scratch, parts[k]->count + 1, sizeof *pair_of[k]);
    for (size_t i = 0; i < parts[k]->count; i++)
      pair_of[k][i] = ITEM_NONE;
  }
  struct align_result result =
      compare_align_layers(layers[0], parts[0]->count, layers[1], parts[1]->count, comparing->scratch);
  if (result.is_cut)
    table_note(&comparing->table, "too many layers have names of their own to align them by structure");
  for (size_t i = 0; i < result.count; i++) {
    const struct align_pair *pair = &result.pairs[i];
    const struct item *a = &parts[0]->items[pair->a.items[0]];
    const char *name = group_name(comparing, parts[0], &pair->a), *b_name = group_name(comparing, parts[1], &pair->b);
    bool is_single = pair->a.count == 1 && pair->b.count == 1;
    mark_pairs(pair_of[0], i, &pair->a);
    mark_pairs(pair_of[1], i, &pair->b);
    compare_rows_add(comparing, sides, &parts[0]->set, sum_values(comparing, parts[0], &pair->a), &parts[1]->set,
                     sum_values(comparing, parts[1], &pair->b), are_comparable,
                     (struct row){.kind = "layer",
                                  .name = name,
                                  .b_name = strcmp(name, b_name) == 0 ? NULL : b_name,
                                  .type = a->type,
                                  .index = a->index,
                                  .matched_by = pair->is_by_name && is_single ? "name" : "structure"});
  }
  for (unsigned k = 0; k < 2; k++)
    for (size_t i = 0; i < parts[k]->count; i++)
      if (pair_of[k][i] == ITEM_NONE)
        compare_rows_add_unpaired(comparing, sides, k, &parts[k]->set, &parts[k]->items[i], "layer");
}

// ---- kernels --------------------------------------------------------------------------------------------------------
struct kernel_pair { // by pair of layers and name
  double *values_ms[2];
  const struct item *items[2]; // the first of each side
};
struct kernel_pairs {
  struct map places;
  VECTOR(struct kernel_pair) all;
};

static void add_kernel(struct comparing *comparing, struct kernel_pairs *pairs, size_t layers, unsigned side,
                       const struct compare_part *part, const struct item *item)
{
  bool is_new;
  uint64_t *place = map_at(&pairs->places, (struct map_key){item->name_id, (uint64_t)layers}, &is_new);
  if (is_new) {
    *place = pairs->all.count;
    (void)vector_add(&pairs->all);
  }
  struct kernel_pair *pair = &pairs->all.items[*place];
  size_t observations = part->set.observation_count;
  if (pair->items[side] == NULL) {
    pair->items[side] = item;
    pair->values_ms[side] = item->values_ms;
    return;
  }
  pair->values_ms[side] = add_values(comparing, pair->values_ms[side], item->values_ms, observations);
}

static void put_kernel(struct comparing *comparing, struct side sides[2], bool are_comparable,
                       const struct kernel_pair *pair)
{
  const struct item *a = pair->items[0];
  compare_rows_add(comparing, sides, &sides[0].kernels.set, pair->values_ms[0], &sides[1].kernels.set,
                   pair->values_ms[1], are_comparable,
                   (struct row){.kind = "kernel",
                                .name = a->name,
                                .layer = a->layer == ITEM_NONE ? NULL : sides[0].layers.items[a->layer].name,
                                .index = a->layer == ITEM_NONE ? -1 : sides[0].layers.items[a->layer].index,
                                .matched_by = "name"});
}

// Without a layer, where they are of several.
static struct item sum_of_kernels(const struct kernel_pair *pair, unsigned side)
{
  struct item item = *pair->items[side];
  if (item.values_ms != pair->values_ms[side])
    item.layer = ITEM_NONE;
  item.values_ms = pair->values_ms[side];
  return item;
}

// Kernels of one name in paired layers are a pair. Those without a partner there, or in no paired layer, pair by their name alone.
static void compare_kernels(struct comparing *comparing, struct side sides[2], bool are_comparable,
                            size_t *const pair_of[2])
{
  struct kernel_pairs in_layers = {0}, by_name = {0};
  for (unsigned k = 0; k < 2; k++)
    for (size_t i = 0; i < sides[k].kernels.count; i++) {
      const struct item *item = &sides[k].kernels.items[i];
      size_t layers = item->layer == ITEM_NONE ? ITEM_NONE : pair_of[k][item->layer];
      add_kernel(comparing, layers == ITEM_NONE ? &by_name : &in_layers, layers, k, &sides[k].kernels, item);
    }
  for (size_t i = 0; i < in_layers.all.count; i++) {
    const struct kernel_pair *pair = &in_layers.all.items[i];
    if (pair->items[0] != NULL && pair->items[1] != NULL)
      put_kernel(comparing, sides, are_comparable, pair);
    for (unsigned k = 0; k < 2 && (pair->items[0] == NULL || pair->items[1] == NULL); k++)
      if (pair->items[k] != NULL) {
        struct item *alone = arena_alloc(comparing->scratch, sizeof *alone);
        *alone = *pair->items[k];
        alone->values_ms = pair->values_ms[k];
        add_kernel(comparing, &by_name, ITEM_NONE, k, &sides[k].kernels, alone);
      }
  }
  for (size_t i = 0; i < by_name.all.count; i++) {
    struct kernel_pair *pair = &by_name.all.items[i];
    struct item whole[2];
    for (unsigned k = 0; k < 2; k++)
      if (pair->items[k] != NULL)
        whole[k] = sum_of_kernels(pair, k);
    if (pair->items[0] != NULL && pair->items[1] != NULL) {
      whole[0].layer = ITEM_NONE;
      pair->items[0] = &whole[0];
      put_kernel(comparing, sides, are_comparable, pair);
    } else {
      unsigned k = pair->items[0] == NULL;
      compare_rows_add_unpaired(comparing, sides, k, &sides[k].kernels.set, &whole[k], "kernel");
    }
  }
  map_done(&in_layers.places);
  vector_done(&in_layers.all);
  map_done(&by_name.places);
  vector_done(&by_name.all);
}

// ---- all ------------------------------------------------------------------------------------------------------------
static void compare_models(struct comparing *comparing, struct side sides[2], bool are_comparable)
{
  const char *a = sides[0].experiments[0]->name, *b = sides[1].experiments[0]->name;
  compare_rows_add(comparing, sides, &sides[0].model.set, NULL, &sides[1].model.set, NULL, are_comparable,
                   (struct row){.kind = "model", .name = a, .b_name = strcmp(a, b) == 0 ? NULL : b, .index = -1});
}

enum status compare_pairs_of_sides(struct comparing *comparing, struct side sides[2], struct error *err)
{
  bool have_batch, are_comparable;
  size_t *pair_of[2] = {NULL, NULL};
  XSP_TRY(sides_choose_batch(comparing, sides, &have_batch, err));
  comparing->batch_size = have_batch ? sides[0].questions[0]->batch_size : 0;
  XSP_TRY(sides_load_models(comparing, sides, &are_comparable, err));
  compare_models(comparing, sides, are_comparable && have_batch);
  XSP_TRY(sides_load_layers(comparing, sides, &are_comparable, err));
  compare_layers(comparing, sides, are_comparable && have_batch, pair_of);
  XSP_TRY(sides_load_kernels(comparing, sides, &are_comparable, err));
  compare_kernels(comparing, sides, are_comparable && have_batch, pair_of);
  return STATUS_OK;
}
