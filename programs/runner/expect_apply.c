// SPDX-License-Identifier: Apache-2.0
// Compares the opened model with its manifest; see lab/manifests/expect.h. In the runner only.
#include "programs/runner/inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char misfit[] = "the manifest does not fit the model";

static void list_names(const struct tensor_info *infos, size_t count, char *text, size_t size)
{
  size_t used = 0;
  for (size_t i = 0; i < count && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", infos[i].name);
}

static enum status compare_shape(struct tensor_info *info, const struct expectation *expectation, const char *what,
                                 struct error *err)
{
  const struct tensor_info *wanted = &expectation->info;
  // a model of one picture may have no dimension for the batch
  unsigned first = expectation->is_image && info->rank + 1 == wanted->rank;
  char model[EXPECTATION_SHAPE_SIZE], advice[EXPECTATION_SHAPE_SIZE + 32];
  expectation_shape(info, model, sizeof model);
  snprintf(advice, sizeof advice, "shape: [%s]", model);
  if (info->rank + first != wanted->rank)
    return error_set(err, STATUS_INPUT, misfit, expectation->where, advice,
                     "%s %.100s has %u dimensions in the model, %u here", what, info->name, info->rank, wanted->rank);
  for (unsigned i = 0; i < info->rank; i++) {
    bool is_any_batch = expectation->is_image && i + first == 0;
    int64_t size = wanted->shape[i + first];
    if (info->shape[i] < 0 || info->shape[i] == size || is_any_batch)
      continue;
    char here[64];
    snprintf(here, sizeof here, "%" PRId64, size);
    return error_set(err, STATUS_INPUT, misfit, expectation->where, advice,
                     "dimension %u of %s %.100s is %" PRId64 " in the model, here it is %s", i, what, info->name,
                     info->shape[i], size < 0 ? wanted->dimension_name[i + first] : here);
  }
  for (unsigned i = 0; i < info->rank; i++)
    if (info->shape[i] < 0) {
      info->shape[i] = wanted->shape[i + first];
      info->dimension_name[i] = wanted->dimension_name[i + first];
    }
  return STATUS_OK;
}

static enum status compare(struct tensor_info *infos, size_t count, const struct expectation *expectation,
                           struct error *err)
{
  const char *what = expectation->is_output ? "output" : "input";
  const struct tensor_info *wanted = &expectation->info;
  char advice[256];
  size_t at = 0;
  while (at < count && strcmp(infos[at].name, wanted->name) != 0)
    at++;
  if (at == count) {
    list_names(infos, count, advice, sizeof advice);
    return error_set(err, STATUS_INPUT, misfit, expectation->where, advice, "the model has no %s %s", what,
                     wanted->name);
  }
  if (wanted->type != 0 && infos[at].type != 0 && infos[at].type != wanted->type) {
    snprintf(advice, sizeof advice, "type: %s", tensor_type_facts(infos[at].type)->name);
    return error_set(err, STATUS_INPUT, misfit, expectation->where, advice,
                     "%s %.100s is of type %s in the model, here it is %s", what, wanted->name,
                     tensor_type_facts(infos[at].type)->name, tensor_type_facts(wanted->type)->name);
  }
  return expectation->has_shape && !infos[at].has_no_shape ? compare_shape(&infos[at], expectation, what, err)
                                                           : STATUS_OK;
}

// A rule must fit the model's type.
static enum status check_fill(const struct predictor_model *model, const struct expectation *expectation,
                              struct error *err)
{
  for (size_t i = 0; i < model->input_count; i++) {
    const struct tensor_info *info = &model->inputs[i];
    const char *why =
        strcmp(info->name, expectation->info.name) == 0 ? fill_rule_problem(&expectation->fill, info->type) : NULL;
    if (why != NULL)
      return error_set(err, STATUS_INPUT, misfit, expectation->where, "another fill", "%s", why);
  }
  return STATUS_OK;
}

// A list of inputs is whole: what it left out would be filled by another rule than its reader thinks.
static enum status check_listed(const struct predictor_model *model, const struct expectation *expectations,
                                size_t count, struct error *err)
{
  const struct expectation *some = NULL;
  for (size_t i = 0; i < count; i++)
    if (!expectations[i].is_output)
      some = &expectations[i];
  for (size_t i = 0; some != NULL && i < model->input_count; i++) {
    bool is_listed = false;
    for (size_t k = 0; k < count; k++)
      is_listed =
          is_listed || (!expectations[k].is_output && strcmp(expectations[k].info.name, model->inputs[i].name) == 0);
    if (is_listed)
      continue;
    char advice[160];
    snprintf(advice, sizeof advice, "- name: %.100s below inputs", model->inputs[i].name);
    return error_set(err, STATUS_INPUT, misfit, some->where, advice,
                     "the model has an input %.100s that the manifest does not list", model->inputs[i].name);
  }
  return STATUS_OK;
}

// An entry without a name is about the only input or output.
static enum status name_only_one(const struct tensor_info *infos, size_t count, struct expectation *expectation,
                                 struct error *err)
{
  char names[256];
  if (expectation->info.name[0] != 0 || infos == NULL)
    return STATUS_OK;
  if (count == 1) {
    expectation->info.name = infos[0].name;
    return STATUS_OK;
  }
  list_names(infos, count, names, sizeof names);
  return error_set(err, STATUS_INPUT, misfit, expectation->where, "name: …, one of them", "the model has %zu %s: %s",
                   count, expectation->is_output ? "outputs" : "inputs", names);
}

enum status expect_apply(struct predictor_model *model, struct expectation *expectations, size_t count,
                         struct error *err)
{
  for (size_t i = 0; i < count; i++)
    XSP_TRY(expectations[i].is_output ? name_only_one(model->outputs, model->output_count, &expectations[i], err)
                                      : name_only_one(model->inputs, model->input_count, &expectations[i], err));
  for (size_t i = 0; i < count; i++) {
    const struct expectation *expectation = &expectations[i];
    if (!expectation->is_output) {
      XSP_TRY(compare(model->inputs, model->input_count, expectation, err));
      XSP_TRY(check_fill(model, expectation, err));
    } else if (model->outputs != NULL) {
      XSP_TRY(compare(model->outputs, model->output_count, expectation, err));
    }
  }
  return check_listed(model, expectations, count, err);
}
