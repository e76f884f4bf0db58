// SPDX-License-Identifier: Apache-2.0
// Outputs as numbers; see output_values.h. The model's shapes and values may be anything.
#include "programs/runner/output_values.h"

#include "programs/runner/outputs.h"

#include <string.h>

static const char what[] = "cannot read the output";

static bool convert(enum tensor_type type, const void *data, float *numbers, size_t count)
{
#define CONVERT(type_name, value_type)                                                                                 \
  case type_name:                                                                                                      \
    for (size_t i = 0; i < count; i++)                                                                                 \
      numbers[i] = (float)((const value_type *)data)[i];                                                               \
    return true
  switch (type) {
    CONVERT(TENSOR_DOUBLE, double);
    CONVERT(TENSOR_INT8, int8_t);
    CONVERT(TENSOR_INT16, int16_t);
    CONVERT(TENSOR_INT32, int32_t);
    CONVERT(TENSOR_INT64, int64_t);
    CONVERT(TENSOR_UINT8, uint8_t);
    CONVERT(TENSOR_BOOL, uint8_t);
    CONVERT(TENSOR_UINT16, uint16_t);
    CONVERT(TENSOR_UINT32, uint32_t);
    CONVERT(TENSOR_UINT64, uint64_t);
  default:
    return false;
  }
#undef CONVERT
}

enum status output_values_wrong(const struct output_values *values, const char *advice, struct error *err,
                                const char *why)
{
  char shape[EXPECTATION_SHAPE_SIZE];
  expectation_shape(&values->info, shape, sizeof shape);
  return error_set(err, STATUS_INPUT, what, values->info.name, advice, "[%s] of %s: %s", shape,
                   tensor_type_facts(values->info.type)->name, why);
}

// By the name; the output that the manifest reads is what its code makes of it.
static enum status read_tensor(const struct sending *sending, const char *name, struct tensor *ret_tensor,
                               struct tensor_info *ret_info, struct error *err)
{
  const struct pictures *pictures = sending->pictures;
  size_t number = 0;
  XSP_TRY(inference_output_find(sending->model, name, &number, err));
  XSP_TRY(sending->predictor->read_output(sending->model, number, ret_tensor, err));
  *ret_info = *ret_tensor->info;
  if (sending->code->runs_after && name == sending->expectation->info.name) {
    XSP_TRY(code_after(sending->code, pictures->names.items, pictures->paths.count, ret_tensor, err));
    ret_info->type = TENSOR_FLOAT;
    ret_info->rank = sending->code->rank;
  }
  memcpy(ret_info->shape, ret_tensor->shape, sizeof ret_info->shape);
  return STATUS_OK;
}

enum status output_values_read(const struct sending *sending, const char *name, bool are_mixed,
                               struct output_values *ret_values, struct error *err)
{
  size_t batch = sending->pictures->paths.count;
  struct tensor tensor = {0};
  struct tensor_info *info = &ret_values->info;
  *ret_values = (struct output_values){0};
  XSP_TRY(read_tensor(sending, name, &tensor, info, err));
  unsigned bytes = tensor_type_facts(info->type)->bytes;
  ret_values->count = bytes > 0 ? tensor.size_bytes / bytes : 0;
  ret_values->numbers = tensor.data;
  if (info->type != TENSOR_FLOAT) {
    ret_values->numbers = ret_values->converted = memory_new(ret_values->count + 1, sizeof(float));
    if (!convert(info->type, tensor.data, ret_values->converted, ret_values->count))
      return output_values_wrong(ret_values, "another output", err, "xsp does not read this type");
  }
  ret_values->item_count = are_mixed ? ret_values->count : ret_values->count / batch;
  if (!are_mixed && batch > 1 && (info->rank == 0 || info->shape[0] != (int64_t)batch))
    return output_values_wrong(ret_values, "--batch 1", err, "its first dimension is not the batch");
  return STATUS_OK;
}

void output_values_done(struct output_values *values)
{
  free(values->converted);
}

size_t output_values_dimension(const struct output_values *values, unsigned from_end)
{
  unsigned rank = values->info.rank;
  return from_end < rank ? (size_t)values->info.shape[rank - 1 - from_end] : 1;
}

bool output_values_are_integers(const struct output_values *values)
{
  return values->info.type != TENSOR_FLOAT && values->info.type != TENSOR_DOUBLE;
}
