// SPDX-License-Identifier: Apache-2.0
// Hands tensors over to xsp: values in a file in memory that both have open, what they are as a line; see outputs.h. Called by
// main.c and scores.c, outside every model span.
#include "programs/runner/outputs.h"

#include "base/transfer.h"
#include "programs/runner/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum status inference_output_find(const struct predictor_model *model, const char *name, size_t *ret_number,
                                  struct error *err)
{
  size_t count = model->output_count + model->layer_output_count;
  for (*ret_number = 0; *ret_number < count; ++*ret_number)
    if (name[0] == 0 || strcmp(model->outputs[*ret_number].name, name) == 0)
      return STATUS_OK;
  return error_set(err, STATUS_INPUT, "cannot read an output", name, "a name of the model's outputs (xsp check)",
                   "the model has no such output");
}

static enum status find_tensor(const struct predictor *predictor, struct predictor_model *model,
                               const struct inputs *inputs, const char *kind, const char *name,
                               struct tensor *ret_tensor, struct error *err)
{
  size_t number = 0;
  if (strcmp(kind, "output") == 0) {
    XSP_TRY(inference_output_find(model, name, &number, err));
    return predictor->read_output(model, number, ret_tensor, err);
  }
  for (size_t i = 0; i < inputs->count; i++)
    if (strcmp(inputs->tensors[i].info->name, name) == 0) {
      *ret_tensor = inputs->tensors[i];
      return STATUS_OK;
    }
  return error_set(err, STATUS_INPUT, "cannot read an input", name, NULL, "the model has no such input");
}

static enum status put_values(const struct tensor *tensor, int fd, struct error *err)
{
  const char *what = "cannot hand over a tensor", *name = tensor->info->name;
  if (ftruncate(fd, (off_t)tensor->size_bytes) != 0)
    return error_set_errno(err, STATUS_SYSTEM, what, name, "a smaller batch");
  if (!transfer_write_at(fd, tensor->data, tensor->size_bytes, 0))
    return error_set_errno(err, STATUS_SYSTEM, what, name, "a smaller batch");
  return STATUS_OK;
}

enum status results_send_tensor(const struct predictor *predictor, struct predictor_model *model,
                                const struct inputs *inputs, const char *kind, const char *name,
                                const struct runner_arguments *arguments, struct error *err)
{
  struct tensor tensor = {0};
  struct error problem = {0};
  char shape[TENSOR_MAXIMUM_RANK * 21 + 1] = "", type[16], bytes[24];
  enum status status = find_tensor(predictor, model, inputs, kind, name, &tensor, &problem);
  bool has_numbers = status == STATUS_OK && tensor.info->type != TENSOR_STRING &&
                     tensor_type_facts(tensor.info->type)->bytes > 0 && tensor.info->rank <= TENSOR_MAXIMUM_RANK;
  if (status == STATUS_INPUT || (status == STATUS_OK && !has_numbers)) {
    const char *why = status == STATUS_OK ? "it is not a tensor of numbers" : problem.why;
    control_send(arguments->control_fd, (const char *const[]){"unread", why}, 2);
    return STATUS_OK;
  }
  if (status != STATUS_OK) {
    *err = problem;
    return status;
  }
  XSP_TRY(put_values(&tensor, arguments->values_fd, err));
  size_t used = 0;
  for (unsigned i = 0; i < tensor.info->rank; i++)
    used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%" PRId64, i > 0 ? "," : "", tensor.shape[i]);
  snprintf(type, sizeof type, "%d", (int)tensor.info->type);
  snprintf(bytes, sizeof bytes, "%zu", tensor.size_bytes);
  control_send(arguments->control_fd, (const char *const[]){"tensor", type, shape, bytes}, 4);
  return STATUS_OK;
}

void inference_layers_describe(const struct predictor_model *model, int control_fd)
{
  for (size_t i = 0; i < model->layer_output_count; i++) {
    const struct tensor_info *info = &model->outputs[model->output_count + i];
    char type[16];
    snprintf(type, sizeof type, "%d", (int)info->type);
    control_send(control_fd, (const char *const[]){"layer", info->name, type, model->layer_types[i]}, 4);
  }
}
