// SPDX-License-Identifier: Apache-2.0
// What predictors share, and finding them by name and by model file. Called by the runner and by `xsp check`.
#include "frameworks/common/predictor.h"

#include "base/memory.h"
#include "base/slice.h"
#include "frameworks/common/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define X(name) extern const struct predictor predictor_##name;
EACH_PREDICTOR(X)
#undef X

#define X(name) &predictor_##name,
const struct predictor *const predictors[] = {EACH_PREDICTOR(X) NULL};
#undef X

const struct predictor *predictor_find(const char *name)
{
  for (size_t i = 0; predictors[i] != NULL; i++)
    if (strcmp(predictors[i]->name, name) == 0)
      return predictors[i];
  return NULL;
}

static const struct predictor *predictor_for_function(const char *path)
{
  for (size_t i = 0; predictors[i] != NULL; i++)
    if (predictors[i]->names_function != NULL && predictors[i]->names_function(path))
      return predictors[i];
  return NULL;
}

bool predictor_names_function(const char *path)
{
  return predictor_for_function(path) != NULL;
}

const struct predictor *predictor_for_file(const char *path)
{
  if (predictor_names_function(path))
    return predictor_for_function(path);
  for (size_t i = 0; predictors[i] != NULL; i++)
    if (predictors[i]->recognises != NULL && predictors[i]->recognises(path))
      return predictors[i];
  for (size_t i = 0; predictors[i] != NULL; i++) {
    struct slice rest = slice_of(predictors[i]->extensions), extension;
    size_t path_length = strlen(path);
    while (slice_cut(&rest, ' ', &extension))
      if (path_length > extension.length &&
          memcmp(path + path_length - extension.length, extension.data, extension.length) == 0)
        return predictors[i];
  }
  return NULL;
}

// ---- the library -----------------------------------------------------------------------------------------------------

static enum status load_library(const struct predictor_library *from, struct predictor_state *state, struct error *err)
{
  if (from->set_environment != NULL)
    from->set_environment(state);
  XSP_TRY(library_open(&from->names, state->options.library_path, &state->library, err));
  XSP_TRY(library_functions(&state->library, "cannot use library", from->expected, from->names.advice, from->functions,
                            from->function_count, state, err));
  return from->load(state, err);
}

enum status predictor_probe(const struct predictor *predictor, const char *library_path, char *library,
                            size_t library_size, char *version, size_t version_size, struct error *err)
{
  if (predictor->library == NULL)
    return predictor->probe(library_path, library, library_size, version, version_size, err);
  struct predictor_state *state = memory_new(1, predictor->state_bytes);
  state->options.library_path = library_path;
  enum status status = load_library(predictor->library, state, err);
  if (status == STATUS_OK) {
    snprintf(library, library_size, "%s", state->library.path);
    snprintf(version, version_size, "%s", state->version);
  }
  free(state);
  return status;
}

// ---- models ----------------------------------------------------------------------------------------------------------

static enum status open_state(const struct predictor *predictor, struct predictor_model *model, struct arena *arena,
                              struct error *err)
{
  struct predictor_state *state = model->state;
  if (predictor->check != NULL)
    XSP_TRY(predictor->check(state, arena, err));
  if (predictor->library != NULL) {
    XSP_TRY(load_library(predictor->library, state, err));
    model->framework = predictor->name;
    model->framework_version = state->version;
    model->library_path = state->library.path;
  }
  return predictor->open(model, arena, err);
}

enum status predictor_open(const struct predictor *predictor, const struct predictor_options *options,
                           struct arena *arena, struct predictor_model *ret_model, struct error *err)
{
  const uint32_t layer_or_deeper =
      XSP_LEVEL_MASK(XSP_LEVEL_LAYER) | XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY) | XSP_LEVEL_MASK(XSP_LEVEL_KERNEL);
  struct framework_device device;
  if (!framework_device_parse(options->device, &device))
    return error_set(err, STATUS_USE, "not a device", "--device", "cpu, gpu, gpu:N or the framework's own name of it",
                     "'%s'", options->device);
  struct predictor_state *state = memory_new(1, predictor->state_bytes);
  state->options = *options;
  state->device = device;
  state->has_layers = (options->level_mask & layer_or_deeper) != 0;
  *ret_model = (struct predictor_model){.state = state};
  enum status status = open_state(predictor, ret_model, arena, err);
  if (status != STATUS_OK)
    predictor_close(predictor, ret_model);
  return status;
}

void predictor_close(const struct predictor *predictor, struct predictor_model *model)
{
  if (model->state == NULL)
    return;
  if (predictor->close != NULL)
    predictor->close(model);
  free(model->state);
  *model = (struct predictor_model){0};
}

enum status predictor_failed(const struct predictor_state *state, const char *what, const char *message,
                             const char *advice, struct error *err)
{
  static const char *const of_memory[] = {"bad_alloc", "std::bad", "of memory", "ailed to allocate",
                                          "llocation failed"};
  bool is_memory = false;
  for (size_t i = 0; i < sizeof of_memory / sizeof of_memory[0]; i++)
    is_memory = is_memory || strstr(message, of_memory[i]) != NULL;
  return error_set(err, is_memory ? STATUS_MEMORY : STATUS_INPUT, what, state->options.model_path,
                   is_memory ? "a smaller batch, or a machine with more memory" : advice, "%s", message);
}

enum status predictor_check_file(const char *path, bool may_be_folder, const char *advice, struct error *err)
{
  const char *what = "cannot open model";
  struct stat info;
  if (stat(path, &info) != 0 || access(path, R_OK) != 0)
    return error_set_errno(err, STATUS_INPUT, what, path, advice);
  if (!S_ISREG(info.st_mode) && !(may_be_folder && S_ISDIR(info.st_mode)))
    return error_set(err, STATUS_INPUT, what, path, advice, "not a file");
  return STATUS_OK;
}

enum status predictor_map_file(const char *path, size_t most, const char *advice, struct mapped *ret_file,
                               struct error *err)
{
  const char *what = "cannot open model";
  *ret_file = (struct mapped){0};
  struct mapped file;
  XSP_TRY(predictor_check_file(path, false, advice, err));
  if (!mapped_open(path, &file))
    return error_set_errno(err, STATUS_INPUT, what, path, advice);
  if (file.size <= most) {
    *ret_file = file;
    return STATUS_OK;
  }
  enum status status = error_set(err, STATUS_INPUT, what, path, advice, "it is larger than %zu bytes", most);
  mapped_close(&file);
  return status;
}
