// SPDX-License-Identifier: Apache-2.0
// Groups layers by type, or by module, and sums over each group. Called by A5, A6 and A7.
#include "analyze/layers/types.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct item {
  const char *type;
  size_t layer;
};

static int compare_types(const char *a, const char *b) // unknown last
{
  if (a == NULL || b == NULL)
    return (a == NULL) - (b == NULL);
  return strcmp(a, b);
}

static int compare_items(const void *left, const void *right)
{
  const struct item *a = left;
  const struct item *b = right;
  int order = compare_types(a->type, b->type);
  return order != 0 ? order : a->layer < b->layer ? -1 : a->layer > b->layer;
}

static int compare_groups(const void *left, const void *right, void *context)
{
  const struct types *types = context;
  size_t a = *(const size_t *)left;
  size_t b = *(const size_t *)right;
  bool is_null_a = isnan(types->values[a]);
  bool is_null_b = isnan(types->values[b]);
  if (is_null_a != is_null_b)
    return is_null_a ? 1 : -1;
  if (!is_null_a && types->values[a] != types->values[b])
    return types->values[a] > types->values[b] ? -1 : 1;
  return a < b ? -1 : a > b; // groups are sorted by name
}

static void group(struct question *question, const struct layers *layers, struct types *types)
{
  bool by_module = question->request->by != NULL && strcmp(question->request->by, "module") == 0;
  types->key = by_module ? "module" : "layer_type";
  struct item *items = arena_alloc_array(question->scratch, layers->count + 1, sizeof *items);
  types->names = arena_alloc_array(question->scratch, layers->count + 1, sizeof *types->names);
  types->group_of = arena_alloc_array(question->scratch, layers->count + 1, sizeof *types->group_of);
  for (size_t i = 0; i < layers->count; i++)
    items[i] = (struct item){by_module ? layers->items[i].module : layers->items[i].type, i};
  qsort(items, layers->count, sizeof *items, compare_items);
  for (size_t i = 0; i < layers->count; i++) {
    if (i == 0 || compare_types(items[i - 1].type, items[i].type) != 0)
      types->names[types->count++] = items[i].type;
    types->group_of[items[i].layer] = (uint32_t)(types->count - 1);
  }
}

struct figure type_figure(struct question *question, const struct layers *layers, const struct types *types,
                          size_t group)
{
  return question_figure(question, layers->set, types->sums + group * layers->observation_count);
}

void types_load(struct question *question, const struct layers *layers, enum layer_value which, struct types *ret_types)
{
  *ret_types = (struct types){0};
  group(question, layers, ret_types);
  ret_types->values = arena_alloc_array(question->scratch, ret_types->count + 1, sizeof *ret_types->values);
  ret_types->order = arena_alloc_array(question->scratch, ret_types->count + 1, sizeof *ret_types->order);
  ret_types->sums = layers_sums(question, layers, ret_types->group_of, ret_types->count, which);
  for (size_t i = 0; i < ret_types->count; i++) {
    ret_types->order[i] = i;
    ret_types->values[i] = type_figure(question, layers, ret_types, i).value;
  }
  ret_types->total = layers_total(question, layers, which);
  qsort_r(ret_types->order, ret_types->count, sizeof *ret_types->order, compare_groups, ret_types);
}

double types_share_pct(double part, double whole)
{
  return whole != 0 ? part / whole * 100 : NAN;
}
