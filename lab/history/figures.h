// SPDX-License-Identifier: Apache-2.0
// Figures of a record: sorted, and as JSON, as the database keeps them. Inside this room only.
#ifndef XSP_HISTORY_FIGURES_H
#define XSP_HISTORY_FIGURES_H

#include "history/history.h"

void figures_sort(struct store_system_value *figures, size_t count); // by key
// In sorted ones; NULL: there is no such figure.
const struct store_system_value *figures_find(const struct store_system_value *figures, size_t count, const char *key);
// One object: {"latency_ms": 1.5, "scenario": "offline"}. Numbers read back equal.
void figures_write(const struct history_record *record, struct buf *out);
// In `arena`, sorted by key. Other values than numbers and texts are left out. False: not an object.
bool figures_read(const char *json, size_t length, struct arena *arena, struct history_record *record);

#endif
