// SPDX-License-Identifier: Apache-2.0
// Runs two models on the same pictures and compares tensor by tensor; see layer_differences.h. Memory: one tensor of each model, and
// their inputs and outputs. Called by the verb evaluate.
#include "experiment/evaluation/layer_differences.h"

#include "base/vector.h"
#include "experiment/evaluation/input_relation.h"
#include "experiment/evaluation/layer_pairs.h"
#include "experiment/evaluation/tensor_compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kept_tensor {
  const char *name;
  struct runner_tensor tensor; // its data is owned
};
struct kept_list {
  VECTOR(struct kept_tensor) items;
};
struct model {
  struct runner runner;             // the one that is open
  struct kept_list inputs, outputs; // of the model as it is
  VECTOR(struct layer_name) layers; // that it hands out
};
struct search {
  const struct layer_differences_options *options;
  struct layer_differences *found;
  struct model models[2];
  VECTOR(struct layer_difference) rows;
};
struct visit {
  struct search *search;
  struct model *model;
};

// ---- a model ---------------------------------------------------------------------------------------------------------
static void add_port(void *context, const char *kind, const char *name, enum tensor_type type, const char *shape)
{
  struct visit *visit = context;
  struct arena *arena = &visit->search->found->arena;
  const char *kept = arena_copy(arena, name, strlen(name));
  if (strcmp(kind, "layer") == 0)
    *vector_add(&visit->model->layers) = (struct layer_name){kept, arena_copy(arena, shape, strlen(shape))};
  else if (strcmp(kind, "input") == 0)
    *vector_add(&visit->model->inputs.items) = (struct kept_tensor){.name = kept};
  else
    *vector_add(&visit->model->outputs.items) = (struct kept_tensor){.name = kept};
}

// Opens the model, makes the inference and asks what there is to read.
static enum status infer(struct search *search, size_t number, bool with_layers, struct error *err)
{
  const struct layer_differences_options *options = search->options;
  struct model *model = &search->models[number];
  struct runner_options runner = options->runners[number];
  struct level_set levels;
  struct visit visit = {search, model};
  runner.layer_outputs = with_layers;
  (void)level_set_parse("M", 1, &levels);
  XSP_TRY(runner_start(&model->runner, &runner, levels, "", NULL, err));
  XSP_TRY(runner_wait_ready(&model->runner, err));
  search->found->found[number] = model->runner.found;
  XSP_TRY(
      runner_infer(&model->runner, options->pictures, options->count, INFERENCE_COUNTED, NULL, NULL, NULL, NULL, err));
  vector_done(&model->layers);
  return runner_describe(&model->runner, add_port, &visit, err);
}

static enum status keep(struct runner *runner, const char *kind, struct kept_list *list, struct error *err)
{
  for (size_t i = 0; i < list->items.count; i++) {
    struct kept_tensor *kept = &list->items.items[i];
    XSP_TRY(runner_read(runner, kind, kept->name, &kept->tensor, err));
    runner->data = NULL; // ours now
  }
  return STATUS_OK;
}

static enum status run_as_it_is(struct search *search, size_t number, struct error *err)
{
  struct model *model = &search->models[number];
  enum status status = infer(search, number, false, err);
  if (status == STATUS_OK)
    status = keep(&model->runner, "input", &model->inputs, err);
  if (status == STATUS_OK)
    status = keep(&model->runner, "output", &model->outputs, err);
  runner_close(&model->runner);
  if (status != STATUS_OK) {
    char prefix[128];
    snprintf(prefix, sizeof prefix, "%.100s: ", search->options->names[number]);
    error_prefix(err, prefix);
  }
  return status;
}

static void release(struct kept_list *list)
{
  for (size_t i = 0; i < list->items.count; i++)
    free((void *)(uintptr_t)list->items.items[i].tensor.data);
  vector_done(&list->items);
}

// ---- rows ------------------------------------------------------------------------------------------------------------
static void add_row(struct search *search, struct layer_difference row, const struct runner_tensor *first,
                    const struct runner_tensor *other)
{
  struct arena *arena = &search->found->arena;
  struct tensor_difference difference = {0};
  const char *problem = first->problem[0] != 0 ? first->problem : other->problem;
  row.shape = first->problem[0] == 0 ? tensor_shape(first, arena) : NULL;
  row.largest = row.mean = row.relative = NAN;
  row.problem =
      problem[0] != 0 ? arena_copy(arena, problem, strlen(problem)) : tensor_compare(first, other, arena, &difference);
  if (row.problem == NULL) {
    row.largest = difference.largest;
    row.mean = difference.mean;
    row.relative = difference.relative;
  }
  bool is_other_shape = row.problem != NULL && problem[0] == 0;
  row.is_beyond = row.relative > search->options->tolerance || (is_other_shape && row.kind != DIFFERENCE_LAYER);
  if (row.is_beyond && search->found->first == SIZE_MAX)
    search->found->first = search->rows.count;
  if (row.is_beyond && row.kind == DIFFERENCE_INPUT && search->found->relation == NULL)
    search->found->relation = evaluation_input_relation(first, other, arena);
  *vector_add(&search->rows) = row;
}

// By name, else by place: frameworks name the same input and output otherwise.
static void compare_kept(struct search *search, enum difference_kind kind, const struct kept_list *first,
                         const struct kept_list *other)
{
  for (size_t i = 0; i < first->items.count && other->items.count > 0; i++) {
    const struct kept_tensor *one = &first->items.items[i], *two = NULL;
    for (size_t k = 0; k < other->items.count; k++)
      if (strcmp(other->items.items[k].name, one->name) == 0)
        two = &other->items.items[k];
    if (two == NULL && i < other->items.count)
      two = &other->items.items[i];
    if (two != NULL)
      add_row(search, (struct layer_difference){.kind = kind, .names = {one->name, two->name}}, &one->tensor,
              &two->tensor);
  }
}

static enum status compare_layers(struct search *search, struct error *err)
{
  struct model *first = &search->models[0], *other = &search->models[1];
  const size_t *partners = layer_pairs(first->layers.items, first->layers.count, other->layers.items,
                                       other->layers.count, &search->found->arena, &search->found->is_paired_by_order);
  for (size_t i = 0; i < first->layers.count; i++) {
    const struct layer_name *layer = &first->layers.items[i];
    struct runner_tensor one, two;
    if (partners[i] == SIZE_MAX)
      continue;
    const char *name = other->layers.items[partners[i]].name;
    XSP_TRY(runner_read(&first->runner, "output", layer->name, &one, err));
    XSP_TRY(runner_read(&other->runner, "output", name, &two, err));
    add_row(search,
            (struct layer_difference){.kind = DIFFERENCE_LAYER, .names = {layer->name, name}, .type = layer->type},
            &one, &two);
  }
  return STATUS_OK;
}

// Reading layers keeps a framework from fusing some of them. What that does to the outputs, at most.
static enum status compare_opened(struct search *search, size_t number, struct error *err)
{
  struct model *model = &search->models[number];
  double *worst = &search->found->opened[number];
  *worst = 0;
  for (size_t i = 0; i < model->outputs.items.count; i++) {
    const struct kept_tensor *kept = &model->outputs.items.items[i];
    struct runner_tensor now;
    struct tensor_difference difference;
    if (kept->tensor.data == NULL)
      continue;
    XSP_TRY(runner_read(&model->runner, "output", kept->name, &now, err));
    if (now.problem[0] == 0 && tensor_compare(&kept->tensor, &now, &search->found->arena, &difference) == NULL)
      *worst = fmax(*worst, difference.relative);
  }
  return STATUS_OK;
}

// A model whose layers cannot be handed out is no error: inputs and outputs are compared all the same.
static enum status open_layers(struct search *search, size_t number, struct error *err)
{
  struct layer_differences *found = search->found;
  struct model *model = &search->models[number];
  struct kept_list inputs = model->inputs, outputs = model->outputs;
  struct error problem = {0};
  model->inputs = model->outputs = (struct kept_list){0};
  enum status status = infer(search, number, true, &problem);
  release(&model->inputs);
  release(&model->outputs);
  model->inputs = inputs;
  model->outputs = outputs;
  if (status == STATUS_OK && model->layers.count == 0)
    found->problems[number] = arena_format(&found->arena, "%s hands out no tensors between layers of this model",
                                           model->runner.found.framework);
  if (status == STATUS_INPUT)
    found->problems[number] = arena_format(&found->arena, "%s: %s", problem.what, problem.why);
  if (status != STATUS_OK && status != STATUS_INPUT) {
    *err = problem;
    return status;
  }
  found->layers[number] = model->layers.count;
  return found->problems[number] == NULL ? compare_opened(search, number, err) : STATUS_OK;
}

static enum status find(struct search *search, struct error *err)
{
  struct model *models = search->models;
  struct layer_differences *found = search->found;
  for (size_t i = 0; i < 2; i++)
    XSP_TRY(run_as_it_is(search, i, err));
  compare_kept(search, DIFFERENCE_INPUT, &models[0].inputs, &models[1].inputs);
  for (size_t i = 0; i < 2; i++)
    XSP_TRY(open_layers(search, i, err));
  if (found->problems[0] == NULL && found->problems[1] == NULL)
    XSP_TRY(compare_layers(search, err));
  compare_kept(search, DIFFERENCE_OUTPUT, &models[0].outputs, &models[1].outputs);
  found->count = search->rows.count;
  found->rows = arena_alloc_array(&found->arena, found->count + 1, sizeof *found->rows);
  if (found->count > 0)
    memcpy(found->rows, search->rows.items, found->count * sizeof *found->rows);
  return STATUS_OK;
}

enum status layer_differences_find(const struct layer_differences_options *options,
                                   struct layer_differences *ret_differences, struct error *err)
{
  struct search search = {.options = options, .found = ret_differences};
  *ret_differences = (struct layer_differences){.first = SIZE_MAX, .opened = {NAN, NAN}};
  enum status status = find(&search, err);
  for (size_t i = 0; i < 2; i++) {
    struct model *model = &search.models[i];
    runner_close(&model->runner);
    release(&model->inputs);
    release(&model->outputs);
    vector_done(&model->layers);
  }
  vector_done(&search.rows);
  if (status != STATUS_OK)
    layer_differences_done(ret_differences);
  return status;
}

void layer_differences_done(struct layer_differences *differences)
{
  arena_done(&differences->arena);
  *differences = (struct layer_differences){0};
}
