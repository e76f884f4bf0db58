// SPDX-License-Identifier: Apache-2.0
// Which spans wait for input data, by their names. Called by time_parts.c, and by the finding about input pipelines.
#include "analyze/causes/time_parts.h"

#include <fnmatch.h>

// Spans that wait for input data, by name.
static const char *const loader_names[] = {
    "enumerate(DataLoader)*", // PyTorch
    "IteratorGetNext*",       // TensorFlow
    "*data[ _-]load*",        // ranges of programs
    "*dataload*",
    "*load[ _-]data*",
};

bool finding_time_is_loader(const char *name)
{
  for (size_t i = 0; i < sizeof loader_names / sizeof loader_names[0]; i++)
    if (fnmatch(loader_names[i], name, FNM_CASEFOLD) == 0)
      return true;
  return false;
}
