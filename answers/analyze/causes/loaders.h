// SPDX-License-Identifier: Apache-2.0
// Which spans wait for input data (loaders.c).
#ifndef XSP_ANALYZE_CAUSES_LOADERS_H
#define XSP_ANALYZE_CAUSES_LOADERS_H

#include "analyze/view.h"

bool finding_time_is_loader(const char *name); // of a span: it waits for input data
// The same by string id; `known` keeps what was found. Sets `is_of_processes` for PyTorch's loader with processes of its own.
bool finding_time_names_loader(struct map *known, struct store *store, uint32_t name, bool *is_of_processes);
#endif
