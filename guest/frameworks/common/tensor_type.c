// SPDX-License-Identifier: Apache-2.0
// Names and sizes of the types of tensors' elements. Called by the runner, by predictors and for manifests.
#include "frameworks/common/predictor.h"

#include <string.h>

static const struct tensor_type_facts types[TENSOR_TYPES] = {
    [0] = {"an unknown type", 0, 0},        [TENSOR_FLOAT] = {"float32", 4, 'f'},
    [TENSOR_UINT8] = {"uint8", 1, 'u'},     [TENSOR_INT8] = {"int8", 1, 'i'},
    [TENSOR_UINT16] = {"uint16", 2, 'u'},   [TENSOR_INT16] = {"int16", 2, 'i'},
    [TENSOR_INT32] = {"int32", 4, 'i'},     [TENSOR_INT64] = {"int64", 8, 'i'},
    [TENSOR_BOOL] = {"bool", 1, 'b'},       [TENSOR_STRING] = {"string", sizeof(const char *), 0},
    [TENSOR_FLOAT16] = {"float16", 2, 'f'}, [TENSOR_DOUBLE] = {"float64", 8, 'f'},
    [TENSOR_UINT32] = {"uint32", 4, 'u'},   [TENSOR_UINT64] = {"uint64", 8, 'u'},
    [TENSOR_BFLOAT16] = {"bfloat16", 2, 0},
};

const struct tensor_type_facts *tensor_type_facts(enum tensor_type type)
{
  return &types[(size_t)type < TENSOR_TYPES && types[type].name != NULL ? type : 0];
}

enum tensor_type tensor_type_named(const char *name)
{
  for (size_t i = 1; i < TENSOR_TYPES; i++)
    if (types[i].name != NULL && strcmp(types[i].name, name) == 0)
      return (enum tensor_type)i;
  return 0;
}
