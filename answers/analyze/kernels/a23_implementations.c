// SPDX-License-Identifier: Apache-2.0
// A23, implementations: which algorithm, a kernel, computes each layer, at each batch size of all experiments, in long form. A layer
// whose algorithms are others than at the batch size before, or on another system, is marked.
#include "analyze/a_list.h"
#include "analyze/kernels/kernels.h"
#include "analyze/models/survey.h"
#include "base/hash.h"
#include "base/interner.h"
#include "base/vector.h"

#include <stdio.h>
#include <string.h>

struct implementations { // over all experiments
  struct survey *survey;
  struct interner layers;       // keys of layers: position, iteration and name
  VECTOR(struct chosen) chosen; // by layer: what the run before it took
  int64_t changes;
};
struct chosen {
  uint64_t set; // of names of algorithms, in their order: a hash; 0: none yet
  bool has_changed;
};
struct batch { // one batch size of an experiment
  const struct survey_item *item;
  struct kernels kernels;
  struct kernel_groups groups; // by layer and name
};

static void put_row(struct survey *survey, const struct batch *batch, const struct layer *layer, const char *algorithm,
                    const struct kernel_figures *figures, bool is_other)
{
  struct table_builder *table = &survey->table;
  const struct survey_item *item = batch->item;
  const double ms = figures->latency.value;
  table_row(table);
  table_put(table, "layer_index", layer->index >= 0 ? cell_int(layer->index) : (struct table_cell){0});
  table_put(table, "layer_name", cell_text(survey_text(survey, layer->name_text)));
  table_put(table, "layer_type", cell_text(survey_text(survey, layer->type)));
  table_put(table, "algorithm", cell_text(survey_text(survey, algorithm)));
  analyze_put_batch(table, batch->kernels.batch_size);
  table_put(table, "system", cell_text(item == NULL ? NULL : item->system_name));
  table_put(table, "framework", cell_text(item == NULL ? NULL : item->of.experiment->framework));
  table_put(table, "experiment", cell_text(item == NULL ? NULL : item->of.name));
  table_put(table, "count", cell_number(figures->count));
  table_put(table, "latency_ms", cell_real(ms));
  table_put(table, "changes", is_other ? cell_bool(true) : (struct table_cell){0});
  analyze_put_spread(table, &figures->latency);
  analyze_put_from(table, "latency_from", survey_text(survey, kernels_from(&batch->kernels)));
}

// Whether the layer's algorithms, those of groups [first, end), are others than where it was seen before.
static bool changes(struct implementations *of, const struct batch *batch, size_t first, size_t end)
{
  const struct kernels *kernels = &batch->kernels;
  const struct kernel *item = &kernels->items[batch->groups.row[batch->groups.first[first]]];
  const struct layer *layer = &kernels->layers.items[item->layer];
  char place[48];
  snprintf(place, sizeof place, "%lld %u ", (long long)layer->index, (unsigned)layer->iteration);
  struct arena arena = {0};
  const char *key = arena_format(&arena, "%s%s", place, layer->name_text != NULL ? layer->name_text : "");
  const uint32_t number = interner_at(&of->layers, key, strlen(key));
  arena_done(&arena);
  while (of->chosen.count <= number)
    *vector_add(&of->chosen) = (struct chosen){0};
  struct chosen *before = &of->chosen.items[number];
  uint64_t set = 0; // the order of kernels does not matter
  for (size_t g = first; g < end; g++) {
    const char *name = kernels->names[kernels->items[batch->groups.row[batch->groups.first[g]]].name_group];
    set += hash_text(name, strlen(name), 1);
  }
  const bool is_other = before->set != 0 && before->set != set;
  of->changes += is_other && !before->has_changed;
  before->has_changed |= is_other;
  before->set = set;
  return is_other;
}

static void put_batch(struct implementations *of, struct batch *batch)
{
  const struct kernel_groups *groups = &batch->groups;
  const struct kernel *items = batch->kernels.items;
  for (size_t g = 0, end; g < groups->count; g = end) { // groups are by layer
    const uint32_t layer = items[groups->row[groups->first[g]]].layer;
    for (end = g + 1; end < groups->count && items[groups->row[groups->first[end]]].layer == layer;)
      end++;
    const bool is_other = changes(of, batch, g, end);
    for (size_t k = g; k < end; k++) {
      struct kernel_figures figures;
      kernel_groups_figures(&batch->groups, k, &figures);
      const char *algorithm = batch->kernels.names[items[groups->row[groups->first[k]]].name_group];
      put_row(of->survey, batch, &batch->kernels.layers.items[layer], algorithm, &figures, is_other);
    }
  }
}

static enum status add_batch(struct implementations *of, const struct survey_item *item, int64_t batch_size,
                             struct error *err)
{
  struct survey *survey = of->survey;
  struct question *question;
  struct batch batch = {.item = item};
  XSP_TRY(survey_question(survey, item, batch_size, false, &question, err));
  XSP_TRY(survey_check(survey, item, kernels_load(question, batch_size, KERNELS_BY_LAYER, &batch.kernels, err)));
  batch.groups = kernels_group_by_layer_and_name(question, &batch.kernels);
  put_batch(of, &batch);
  survey->observations += (int64_t)batch.kernels.observation_count;
  if (batch.kernels.from != NULL)
    survey_note(survey, item, "latencies come from a deeper level: its overhead is included");
  return STATUS_OK;
}

static enum status add_experiment(struct implementations *of, const struct survey_item *item, struct error *err)
{
  struct survey *survey = of->survey;
  struct question *question;
  bool has_any = false;
  XSP_TRY(survey_question(survey, item, survey->request->batch, false, &question, err));
  const struct view *view = question->view;
  for (size_t i = 0; i < view->set_count; i++) { // sets are ordered by batch size
    const int64_t batch_size = view->sets[i].batch_size;
    if ((i > 0 && view->sets[i - 1].batch_size == batch_size) || !kernels_exist_by_layer(view, batch_size) ||
        (survey->request->batch != 0 && survey->request->batch != batch_size))
      continue;
    has_any = true;
    XSP_TRY(add_batch(of, item, batch_size, err));
  }
  if (!has_any)
    survey_note(survey, item, "without layers and kernels: left out");
  return STATUS_OK;
}

static enum status answer_all(struct survey *survey, struct error *err)
{
  struct implementations of = {.survey = survey};
  enum status status = STATUS_OK;
  put_row(survey, &(struct batch){0}, &(struct layer){.index = -1}, NULL, &kernel_figures_none, false);
  table_declared(&survey->table, 0);
  for (size_t i = 0; i < survey->count && status == STATUS_OK; i++) {
    status = add_experiment(&of, &survey->items[i], err);
    survey_next(survey);
  }
  if (status == STATUS_OK && survey->table.row_count == 0)
    status = survey_lacks(
        survey, err, "no experiment has a run with layers and kernels (--kernel-level library takes library calls)");
  table_summary(&survey->table, "layers", cell_int((int64_t)interner_count(&of.layers)));
  table_summary(&survey->table, "layers_that_change", cell_int(of.changes));
  interner_done(&of.layers);
  vector_done(&of.chosen);
  return status;
}

const struct analysis analysis_a23 = {.id = "A23",
                                      .name = "implementations",
                                      .title = "implementations of layers",
                                      .summary = "which algorithm computes each layer, by batch size and system",
                                      .needs = "L/K",
                                      .answer_all = answer_all};
