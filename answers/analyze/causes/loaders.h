// SPDX-License-Identifier: Apache-2.0
// Which spans wait for input data (loaders.c).
#ifndef XSP_ANALYZE_CAUSES_LOADERS_H
#define XSP_ANALYZE_CAUSES_LOADERS_H

#include "analyze/view.h"

struct loaders_found {
  bool has_processes; // one of PyTorch's: their start and end are in no span
  bool has_iterator;  // of TensorFlow
  bool has_other;
};
bool finding_time_is_loader(const char *name);   // of a span: it waits for input data
bool finding_time_is_iterator(const char *name); // a loader of TensorFlow
// The same by string id; `known` keeps what was found. Adds what it is to `found`.
bool finding_time_names_loader(struct map *known, struct store *store, uint32_t name, struct loaders_found *found);
void finding_time_add_loaders(struct loaders_found *to, const struct loaders_found *from);
#endif
