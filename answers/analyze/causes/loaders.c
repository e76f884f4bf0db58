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

bool finding_time_is_iterator(const char *name)
{
  return strncmp(name, "IteratorGetNext", strlen("IteratorGetNext")) == 0;
}

bool finding_time_names_loader(struct map *known, struct store *store, uint32_t name, struct loaders_found *found)
{
  enum { LOADER = 1, OTHER };
  uint64_t *what = map_at(known, map_number(name), NULL);
  const char *text = store_text(store, name, NULL);
  if (*what == 0)
    *what = finding_time_is_loader(text) ? LOADER : OTHER;
  if (*what != LOADER)
    return false;
  bool is_iterator = finding_time_is_iterator(text);
  found->has_processes |= strstr(text, "_MultiProcessing") != NULL;
  found->has_iterator |= is_iterator;
  found->has_other |= !is_iterator;
  return true;
}

void finding_time_add_loaders(struct loaders_found *to, const struct loaders_found *from)
{
  to->has_processes |= from->has_processes;
  to->has_iterator |= from->has_iterator;
  to->has_other |= from->has_other;
}
