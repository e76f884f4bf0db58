// SPDX-License-Identifier: Apache-2.0
// The table of predictors, the only place that names them all. Used by the runner and by `xsp check`.
#include "frameworks/common/predictor.h"

#include <string.h>

extern const struct predictor predictor_onnxruntime; // onnxruntime.c
extern const struct predictor predictor_litert;      // litert.c
extern const struct predictor predictor_mxnet;       // mxnet.c
extern const struct predictor predictor_openvino;    // openvino.c
extern const struct predictor predictor_program;     // program.c
extern const struct predictor predictor_script;      // script.c
extern const struct predictor predictor_tensorflow;  // tensorflow.c

const struct predictor *const predictors[] = {
    &predictor_onnxruntime, &predictor_litert, &predictor_mxnet,      &predictor_openvino,
    &predictor_program,     &predictor_script, &predictor_tensorflow, NULL,
};

const struct predictor *predictor_find(const char *name)
{
  for (size_t i = 0; predictors[i] != NULL; i++)
    if (strcmp(predictors[i]->name, name) == 0)
      return predictors[i];
  return NULL;
}

static bool ends_with(const char *path, const char *extension, size_t length)
{
  size_t path_length = strlen(path);
  return path_length > length && strncmp(path + path_length - length, extension, length) == 0;
}

const struct predictor *predictor_for_file(const char *path)
{
  for (size_t i = 0; predictors[i] != NULL; i++)
    if (predictors[i]->recognises != NULL && predictors[i]->recognises(path))
      return predictors[i];
  for (size_t i = 0; predictors[i] != NULL; i++)
    for (const char *at = predictors[i]->extensions; *at != 0;) {
      size_t length = strcspn(at, " ");
      if (ends_with(path, at, length))
        return predictors[i];
      at += length + strspn(at + length, " ");
    }
  return NULL;
}
