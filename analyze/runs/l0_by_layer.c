// SPDX-License-Identifier: Apache-2.0
// L0 by layer: what the kernel level adds to each layer, and per kernel. Called by l0_overhead.c.
#include "analyze/layers/layers.h"
#include "analyze/runs/l0_overhead.h"

#include <math.h>
#include <stdlib.h>

enum { INDEX, NAME, TYPE, LATENCY, DEEPER, OVERHEAD, KERNELS, PER_KERNEL, SPREAD, COLUMN_COUNT = SPREAD + 4 };

static const struct table_column columns[COLUMN_COUNT] = {
    COLUMN("layer_index", "", "index"),
    COLUMN("layer_name", "", "layer"),
    COLUMN("layer_type", "", "type"),
    COLUMN("latency_ms", "ms", "latency"),
    COLUMN("deeper_latency_ms", "ms", "with kernels"),
    COLUMN("overhead_ms", "ms", "overhead"),
    COLUMN("kernels", "", "kernels"),
    COLUMN("overhead_per_kernel_ns", "ns", "per kernel"),
    SPREAD_COLUMNS,
};

// The set that the rule gives for layers, where layers are its deepest level; and the same levels with kernels besides.
static bool find_sets(const struct view *view, int64_t batch_size, const struct view_set **ret_shallow,
                      const struct view_set **ret_deep)
{
  const char *from;
  *ret_shallow = view_rule(view, batch_size, XSP_LEVEL_LAYER, &from);
  if (*ret_shallow == NULL || from != NULL)
    return false;
  struct level_set deep = {(*ret_shallow)->levels.mask | XSP_LEVEL_MASK(XSP_LEVEL_KERNEL), false};
  *ret_deep = view_find(view, batch_size, deep);
  return *ret_deep != NULL;
}

static bool has_sets(const struct view *view, int64_t batch_size)
{
  const struct view_set *shallow;
  const struct view_set *deep;
  return find_sets(view, batch_size, &shallow, &deep);
}

static int compare_layers(const void *left, const void *right)
{
  const struct layer *a = *(const struct layer *const *)left;
  const struct layer *b = *(const struct layer *const *)right;
  if (a->is_indexed != b->is_indexed)
    return a->is_indexed ? 1 : -1;
  if (a->is_indexed && a->index != b->index)
    return a->index < b->index ? -1 : 1;
  if (a->name != b->name)
    return a->name < b->name ? -1 : 1;
  return a->occurrence < b->occurrence ? -1 : a->occurrence > b->occurrence;
}

struct partners { // the layers of the deeper set, to be found by what pairs them
  const struct layer **sorted;
  size_t count;
};

static bool sort_partners(const struct question *question, const struct layers *layers, struct partners *ret_partners)
{
  ret_partners->count = layers->count;
  ret_partners->sorted = arena_alloc_array(question->arena, layers->count + 1, sizeof *ret_partners->sorted);
  if (ret_partners->sorted == NULL)
    return false;
  for (size_t i = 0; i < layers->count; i++)
    ret_partners->sorted[i] = &layers->items[i];
  qsort(ret_partners->sorted, layers->count, sizeof *ret_partners->sorted, compare_layers);
  return true;
}

static const struct layer *find_partner(const struct partners *partners, const struct layer *layer)
{
  const struct layer *const *found =
      bsearch(&layer, partners->sorted, partners->count, sizeof *partners->sorted, compare_layers);
  return found == NULL ? NULL : *found;
}

// Returns whether the layer's difference is negative.
static bool fill_row(struct question *question, const struct layers *shallow, const struct layer *layer,
                     const struct layers *deep, const struct layer *partner, double *values)
{
  struct table_cell *row = table_row(&question->table);
  size_t count = layer_values(shallow, layer, LAYER_LATENCY, values);
  double latency_ms = question_statistic(question, values, count);
  row[INDEX] = cell_int(layer->index);
  row[NAME] = cell_text(layer->name_text);
  row[TYPE] = cell_text(layer->type);
  row[LATENCY] = cell_real(latency_ms);
  cell_spread(&row[SPREAD], values, count);
  if (partner == NULL)
    return false;
  double deeper_ms = layers_statistic(question, partner->latency_ms, deep->observation_count);
  double kernels = layers_statistic(question, partner->kernels, deep->observation_count);
  double overhead_ms = difference_of_runs_ms(deeper_ms, latency_ms);
  row[DEEPER] = cell_real(deeper_ms);
  row[OVERHEAD] = cell_real(overhead_ms);
  row[KERNELS] = cell_number(kernels);
  row[PER_KERNEL] = cell_real(overhead_per_kernel_ns(overhead_ms, kernels));
  return isnan(overhead_ms) && deeper_ms < latency_ms;
}

static void summarize(struct question *question, const struct layers *shallow, const struct layers *deep)
{
  double overhead_ms = question_difference_ms(question, layers_total(question, deep, LAYER_LATENCY),
                                              layers_total(question, shallow, LAYER_LATENCY), "overhead in all layers");
  double kernels = layers_total(question, deep, LAYER_KERNELS);
  table_summary(&question->table, "levels", cell_text(shallow->set->levels_text));
  table_summary(&question->table, "deeper_levels", cell_text(deep->set->levels_text));
  table_summary(&question->table, "overhead_ms", cell_real(overhead_ms));
  table_summary(&question->table, "kernels", cell_number(kernels));
  table_summary(&question->table, "overhead_per_kernel_ns", cell_real(overhead_per_kernel_ns(overhead_ms, kernels)));
}

enum status overhead_by_layer(struct question *question, struct error *err)
{
  const struct view_set *shallow_set = NULL;
  const struct view_set *deep_set = NULL;
  struct layers shallow;
  struct layers deep;
  XSP_TRY(question_batch(question, has_sets, "layers both without and with the kernel level (M/L and M/L/K)", err));
  find_sets(question->view, question->batch_size, &shallow_set, &deep_set);
  question_uses(question, shallow_set);
  question_uses(question, deep_set);
  XSP_TRY(layers_load(question, shallow_set, NULL, &shallow, err));
  XSP_TRY(layers_load(question, deep_set, NULL, &deep, err));
  struct partners partners;
  double *values = arena_alloc_array(question->arena, shallow.observation_count + 1, sizeof *values);
  if (values == NULL || !sort_partners(question, &deep, &partners))
    return question_no_memory(err);
  table_columns(&question->table, columns, COLUMN_COUNT);
  size_t unpaired = 0, negative = 0;
  for (size_t i = 0; i < shallow.count; i++) {
    const struct layer *partner = find_partner(&partners, &shallow.items[i]);
    unpaired += partner == NULL;
    negative += fill_row(question, &shallow, &shallow.items[i], &deep, partner, values);
  }
  if (negative > 0) // one note: short layers have no overhead that shows above the noise
    table_note(&question->table,
               "overhead in %zu of %zu layers: the difference is negative, within noise or not comparable; not given",
               negative, shallow.count);
  if (unpaired > 0)
    table_note(&question->table, "%zu layers at %s have no partner at %s", unpaired, shallow_set->levels_text,
               deep_set->levels_text);
  summarize(question, &shallow, &deep);
  return STATUS_OK;
}
