// SPDX-License-Identifier: Apache-2.0
// L0 by layer: what the kernel level adds to each layer, and per kernel. Called by l0_overhead.c.
#include "analyze/layers/layers.h"
#include "analyze/runs/l0_overhead.h"

#include <math.h>

// The set that the rule gives for layers, where layers are its deepest level; and the same levels with kernels.
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

struct sides {
  struct layers shallow, deep; // the same layers, measured by either set
};

// Returns whether the layer's difference is negative.
static bool put_row(struct question *question, const struct sides *sides, const struct layer *layer)
{
  struct table_builder *table = &question->table;
  struct layer_latency latency = layer_latency(question, &sides->shallow, layer);
  size_t first = sides->deep.first_observation, count = sides->deep.observation_count;
  bool is_empty = layer->latency_ms == NULL;
  double deeper_ms = is_empty ? NAN : question_statistic(question, layer->latency_ms + first, count);
  double kernels = is_empty ? NAN : question_statistic(question, layer->kernels + first, count);
  double overhead_ms = difference_of_runs_ms(deeper_ms, latency.ms);
  table_row(table);
  table_put(table, "layer_index", "", "index", cell_int(layer->index));
  table_put(table, "layer_name", "", "layer", cell_text(layer->name_text));
  table_put(table, "layer_type", "", "type", cell_text(layer->type));
  table_put(table, "latency_ms", "ms", "latency", cell_real(latency.ms));
  table_put(table, "deeper_latency_ms", "ms", "with kernels", cell_real(deeper_ms));
  table_put(table, "overhead_ms", "ms", "overhead", cell_real(overhead_ms));
  table_put(table, "kernels", "", "kernels", cell_number(kernels));
  table_put(table, "overhead_per_kernel_ns", "ns", "per kernel",
            cell_real(overhead_per_kernel_ns(overhead_ms, kernels)));
  put_spread(table, latency.values_ms, latency.count);
  return isnan(overhead_ms) && deeper_ms < latency.ms;
}

static bool is_in(const struct layers *layers, const struct layer *layer)
{
  for (size_t i = 0; i < layers->observation_count; i++)
    if (!isnan(layer->latency_ms[layers->first_observation + i]))
      return true;
  return false;
}

static void summarize(struct question *question, const struct sides *sides)
{
  struct table_builder *table = &question->table;
  double overhead_ms =
      question_difference_ms(question, layers_total(question, &sides->deep, LAYER_LATENCY),
                             layers_total(question, &sides->shallow, LAYER_LATENCY), "overhead in all layers");
  double kernels = layers_total(question, &sides->deep, LAYER_KERNELS);
  table_summary(table, "levels", cell_text(sides->shallow.set->levels_text));
  table_summary(table, "deeper_levels", cell_text(sides->deep.set->levels_text));
  table_summary(table, "overhead_ms", cell_real(overhead_ms));
  table_summary(table, "kernels", cell_number(kernels));
  table_summary(table, "overhead_per_kernel_ns", cell_real(overhead_per_kernel_ns(overhead_ms, kernels)));
}

enum status overhead_by_layer(struct question *question, struct error *err)
{
  struct layers_part parts[2] = {{0}};
  struct sides sides;
  XSP_TRY(question_batch(question, has_sets, "layers both without and with the kernel level (M/L and M/L/K)", err));
  find_sets(question->view, question->batch_size, &parts[0].set, &parts[1].set);
  question_uses(question, parts[0].set);
  question_uses(question, parts[1].set);
  XSP_TRY(layers_load_parts(question, parts, 2, &sides.shallow, err));
  if (sides.shallow.mode == LAYER_MODULE && sides.shallow.count == 0)
    return question_lacks(question, err, "none of its layers is a module");
  sides.deep = layers_of_part(&sides.shallow, &parts[1]);
  put_row(question, &sides, &(struct layer){0});
  table_declared(&question->table, sides.shallow.measured);
  size_t unpaired = 0, negative = 0;
  for (size_t i = 0; i < sides.shallow.measured; i++) {
    const struct layer *layer = &sides.shallow.items[i];
    unpaired += !is_in(&sides.deep, layer);
    negative += put_row(question, &sides, layer);
  }
  if (negative > 0) // one note: the overhead of short layers is within the noise
    table_note(&question->table,
               "overhead in %zu of %zu layers: the difference is negative, within noise or not comparable; not given",
               negative, sides.shallow.measured);
  if (unpaired > 0)
    table_note(&question->table, "%zu layers at %s have no partner at %s", unpaired, parts[0].set->levels_text,
               parts[1].set->levels_text);
  summarize(question, &sides);
  return STATUS_OK;
}
