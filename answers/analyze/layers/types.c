// SPDX-License-Identifier: Apache-2.0
// Groups layers by type, or by module, and sums over each group. Called by A5, A6 and A7.
#include "analyze/layers/types.h"

#include "base/sorted.h"

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

SORTED_BY(compare_items, struct item, compare_types(a->type, b->type) ?: RISING(layer))

ROWS_SORTED_BY(compare_groups, size_t, struct types, // they are by name already
               ORDER(isnan(of->values[a]), isnan(of->values[b])) ?: ORDER(of->values[b], of->values[a]) ?: ORDER(a, b))

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
