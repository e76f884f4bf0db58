// SPDX-License-Identifier: Apache-2.0
// Translates a manifest into the runner's options; see runner.h.
#include "manifests/runner.h"

#include "base/nearest.h"
#include "manifests/source.h"
#include "manifests/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum status manifest_predictor(const struct manifest *manifest, const struct predictor **ret_predictor,
                               struct error *err)
{
  *ret_predictor = predictor_find(manifest->framework);
  if (*ret_predictor != NULL)
    return STATUS_OK;
  char advice[160];
  struct nearest nearest;
  nearest_start(&nearest, manifest->framework);
  for (size_t i = 0; predictors[i] != NULL; i++)
    nearest_offer(&nearest, predictors[i]->name);
  nearest_advice(&nearest, "", "`xsp check`, which names all", advice, sizeof advice);
  return manifest_wrong(manifest, manifest->framework_line, STATUS_INPUT, advice, err, "there is no framework %s",
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

static const char *expectation_text(const struct expectation *expectation, struct arena *arena)
{
  struct buf text SCOPED(buf_done) = {0};
  expectation_format(expectation, &text);
  return arena_copy(arena, text.data, text.length);
}

const char *const *manifest_expectations(const struct manifest *manifest, struct arena *arena)
{
  const char **texts = arena_alloc_array(arena, manifest->input_count + manifest->output_count + 1, sizeof *texts);
  size_t count = 0;
  for (size_t i = 0; i < manifest->input_count; i++)
    texts[count++] = expectation_text(&manifest->inputs[i].expectation, arena);
  for (size_t i = 0; i < manifest->output_count; i++)
    texts[count++] = expectation_text(&manifest->outputs[i].expectation, arena);
  return texts;
}

// NAME=VALUE lists, both NULL-terminated: what is given (may be NULL), then what only the manifest has.
static const char *const *merge(const char *const *given, const char *const *own, struct arena *arena)
{
  size_t given_count = 0, own_count = 0, count = 0;
  while (given != NULL && given[given_count] != NULL)
    given_count++;
  while (own[own_count] != NULL)
    own_count++;
  const char **list = arena_alloc_array(arena, given_count + own_count + 1, sizeof *list);
  for (size_t i = 0; i < given_count; i++)
    list[count++] = given[i];
  for (size_t i = 0; i < own_count; i++) {
    bool is_given = false;
    for (size_t k = 0; k < given_count; k++)
      is_given = is_given || strncmp(given[k], own[i], strcspn(own[i], "=") + 1) == 0;
    if (!is_given)
      list[count++] = own[i];
  }
  return list;
}

const char *const *manifest_inputs(const struct manifest *manifest, const char *const *given, struct arena *arena)
{
  const char **own = arena_alloc_array(arena, manifest->input_count + 1, sizeof *own);
  size_t count = 0;
  for (size_t i = 0; i < manifest->input_count; i++) {
    const struct manifest_tensor *input = &manifest->inputs[i];
    if (input->fill_file != NULL)
      own[count++] = arena_format(arena, "%s=%s", input->expectation.info.name,
                                  manifest_relative(manifest, input->fill_file, arena));
  }
  return merge(given, own, arena);
}

const char *const *manifest_dims(const struct manifest *manifest, const char *const *given, struct arena *arena)
{
  const char **own = arena_alloc_array(arena, manifest->dim_count + 1, sizeof *own);
  for (size_t i = 0; i < manifest->dim_count; i++)
    own[i] = arena_format(arena, "%s=%" PRId64, manifest->dims[i].name, manifest->dims[i].size);
  return merge(given, own, arena);
}
