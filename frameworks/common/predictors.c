// SPDX-License-Identifier: Apache-2.0
// Finds predictors by name and by model file. Called by the runner and by `xsp`.
#include "frameworks/common/predictor.h"

#include "frameworks/common/table.h"

#include <string.h>

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
