// SPDX-License-Identifier: Apache-2.0
// Translates a manifest into the runner's options; see runner.h.
#include "manifests/runner.h"

#include "base/nearest.h"
#include "manifests/document.h"
#include "manifests/expect.h"
#include "manifests/source.h"
#include "manifests/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum status manifest_predictor(const struct manifest *manifest, const struct predictor **ret_predictor,
                               struct error *err)
{
  char word[64], advice[160];
  snprintf(word, sizeof word, "%s", manifest->framework);
  struct nearest nearest;
  nearest_start(&nearest, word);
  for (size_t i = 0; predictors[i] != NULL; i++)
    nearest_offer(&nearest, predictors[i]->name);
  *ret_predictor = predictor_find(manifest->framework);
  if (*ret_predictor != NULL)
    return STATUS_OK;
  snprintf(advice, sizeof advice, "%s%sxsp check, which names all", nearest.best != NULL ? nearest.best : "",
           nearest.best != NULL ? ", or " : "");
  return manifest_wrong(manifest, manifest->framework_line, STATUS_INPUT, advice, err, "there is no framework %.64s",
                        manifest->framework);
}

enum status manifest_check_library(const struct manifest *manifest, const struct predictor *predictor,
                                   const char *library, struct probe_result *ret_result, struct error *err)
{
  probe_predictor(predictor, library, ret_result);
  if (!ret_result->is_usable)
    return error_set(err, ret_result->status == STATUS_NO ? STATUS_SYSTEM : ret_result->status,
                     "the manifest's framework cannot be used", predictor->name, ret_result->advice, "%s",
                     ret_result->reason);
  const char *wanted = manifest->framework_version;
  if (wanted == NULL || version_satisfies(ret_result->version, wanted))
    return STATUS_OK;
  char advice[160];
  snprintf(advice, sizeof advice, "--library %s=PATH of another version", predictor->name);
  return manifest_wrong(manifest, manifest->framework_version_line, STATUS_SYSTEM, advice, err,
                        "%s %s was found in %s, wanted is %s", predictor->name, ret_result->version,
                        ret_result->library, wanted);
}

// ---- for the runner --------------------------------------------------------------------------------------------------

static struct fill_rule rule_of(const struct manifest_tensor *tensor)
{
  switch (tensor->fill) {
  case FILL_ZEROS:
    return (struct fill_rule){RULE_CONSTANT, 0, 0};
  case FILL_ONES:
    return (struct fill_rule){RULE_CONSTANT, 1, 0};
  case FILL_CONSTANT:
    return (struct fill_rule){RULE_CONSTANT, tensor->low, 0};
  case FILL_UNIFORM:
    return (struct fill_rule){RULE_UNIFORM, tensor->low, tensor->high};
  case FILL_INTEGERS:
    return (struct fill_rule){RULE_INTEGERS, tensor->low, tensor->high};
  case FILL_DEFAULT:
  case FILL_FILE:
    break;
  }
  return (struct fill_rule){RULE_DEFAULT, 0, 0};
}

static const char *expectation_of(const struct manifest *manifest, const struct manifest_tensor *tensor, bool is_output,
                                  struct arena *arena)
{
  char where[512];
  document_where(manifest->path, tensor->line, where, sizeof where);
  struct expectation expectation = {
      .is_output = is_output,
      .where = where,
      .info = {.name = tensor->name, .type = tensor->type, .rank = tensor->rank},
      .has_shape = tensor->has_shape,
      .fill = rule_of(tensor),
  };
  memcpy(expectation.info.shape, tensor->shape, sizeof tensor->shape);
  memcpy(expectation.info.dimension_name, tensor->dimension, sizeof tensor->dimension);
  struct buf text;
  buf_init(&text, 65536);
  expectation_format(&expectation, &text);
  const char *copy = text.failed ? NULL : arena_copy(arena, text.data, text.length);
  buf_done(&text);
  return copy;
}

const char *const *manifest_expectations(const struct manifest *manifest, struct arena *arena)
{
  const char **texts = arena_alloc_array(arena, manifest->input_count + manifest->output_count + 1, sizeof *texts);
  size_t count = 0;
  for (size_t i = 0; texts != NULL && i < manifest->input_count; i++)
    texts[count++] = expectation_of(manifest, &manifest->inputs[i], false, arena);
  for (size_t i = 0; texts != NULL && i < manifest->output_count; i++)
    texts[count++] = expectation_of(manifest, &manifest->outputs[i], true, arena);
  for (size_t i = 0; texts != NULL && i < count; i++)
    if (texts[i] == NULL)
      return NULL;
  return texts;
}

// Room for what is given and `more`, which begins with what is given.
static const char **begin_list(const char *const *given, size_t more, struct arena *arena, size_t *ret_count)
{
  *ret_count = 0;
  while (given != NULL && given[*ret_count] != NULL)
    ++*ret_count;
  const char **list = arena_alloc_array(arena, *ret_count + more + 1, sizeof *list);
  for (size_t i = 0; list != NULL && i < *ret_count; i++)
    list[i] = given[i];
  return list;
}

static bool gives(const char *const *list, size_t count, const char *name)
{
  size_t length = strlen(name);
  for (size_t i = 0; i < count; i++)
    if (strncmp(list[i], name, length) == 0 && list[i][length] == '=')
      return true;
  return false;
}

const char *const *manifest_inputs(const struct manifest *manifest, const char *const *given, struct arena *arena)
{
  size_t given_count;
  const char **list = begin_list(given, manifest->input_count, arena, &given_count);
  size_t count = given_count;
  for (size_t i = 0; list != NULL && i < manifest->input_count; i++) {
    const struct manifest_tensor *input = &manifest->inputs[i];
    if (input->fill == FILL_FILE && !gives(list, given_count, input->name))
      list[count++] = arena_format(arena, "%s=%s", input->name, manifest_relative(manifest, input->fill_file, arena));
  }
  return list;
}

const char *const *manifest_dims(const struct manifest *manifest, const char *const *given, struct arena *arena)
{
  size_t given_count;
  const char **list = begin_list(given, manifest->dim_count, arena, &given_count);
  size_t count = given_count;
  for (size_t i = 0; list != NULL && i < manifest->dim_count; i++)
    if (!gives(list, given_count, manifest->dims[i].name))
      list[count++] = arena_format(arena, "%s=%" PRId64, manifest->dims[i].name, manifest->dims[i].size);
  return list;
}
