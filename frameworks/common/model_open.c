// SPDX-License-Identifier: Apache-2.0
// See model_open.h. Called by the predictors of real frameworks.
#include "frameworks/common/model_open.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHAT "cannot open model"

enum status model_open(const struct predictor_options *options, struct arena *arena, struct predictor_model *ret_model,
                       size_t state_size, model_open_fn *open, void (*close)(struct predictor_model *model),
                       struct error *err)
{
  *ret_model = (struct predictor_model){.state = calloc(1, state_size)};
  if (ret_model->state == NULL)
    return model_no_memory(options, err);
  enum status status = open(options, arena, ret_model, err);
  if (status != STATUS_OK)
    close(ret_model);
  return status;
}

bool model_has_layers(const struct predictor_options *options)
{
  const uint32_t layer_or_deeper =
      XSP_LEVEL_MASK(XSP_LEVEL_LAYER) | XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY) | XSP_LEVEL_MASK(XSP_LEVEL_KERNEL);
  return (options->level_mask & layer_or_deeper) != 0;
}

enum status model_check_file(const char *path, bool may_be_folder, const char *advice, struct error *err)
{
  struct stat info;
  if (stat(path, &info) != 0 || access(path, R_OK) != 0)
    return error_set_errno(err, STATUS_INPUT, WHAT, path, advice);
  if (!S_ISREG(info.st_mode) && !(may_be_folder && S_ISDIR(info.st_mode)))
    return error_set(err, STATUS_INPUT, WHAT, path, advice, "not a file");
  return STATUS_OK;
}

enum status model_no_memory(const struct predictor_options *options, struct error *err)
{
  return error_set(err, STATUS_MEMORY, WHAT, options->model_path, NULL, "out of memory");
}
