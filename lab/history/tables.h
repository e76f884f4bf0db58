// SPDX-License-Identifier: Apache-2.0
// What the tables of a history share. Inside this room only.
#ifndef XSP_HISTORY_TABLES_H
#define XSP_HISTORY_TABLES_H

#include "history/history.h"
#include "table/builder.h"

// Keys of the figures that some record has, in the order of columns; a bounded number. In `arena`.
size_t figure_keys(const struct history *history, bool with_details, struct arena *arena, const char ***ret_keys);
struct table_cell figure_cell(const struct history_record *record, const char *key);

// cross.c: the latest record of each model (row) in each framework, or on each host (column).
enum status cross_table(const struct history *history, enum history_table_kind kind,
                        const struct history_request *request, struct table_builder *table,
                        struct error *err) MUST_CHECK;

#endif
