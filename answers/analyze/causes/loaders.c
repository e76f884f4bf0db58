// SPDX-License-Identifier: Apache-2.0
// Which spans wait for input data, by their names. Called by time_rows.c, and by the finding about input pipelines.
#include "analyze/causes/loaders.h"

#include "base/map.h"

#include <fnmatch.h>
#include <string.h>

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

bool finding_time_names_loader(struct map *known, struct store *store, uint32_t name, bool *is_of_processes)
{
  enum { LOADER = 1, OTHER };
  uint64_t *what = map_at(known, map_number(name), NULL);
  const char *text = store_text(store, name, NULL);
  if (*what == 0)
    *what = finding_time_is_loader(text) ? LOADER : OTHER;
  *is_of_processes |= *what == LOADER && strstr(text, "_MultiProcessing") != NULL;
  return *what == LOADER;
}
