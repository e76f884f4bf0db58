// SPDX-License-Identifier: Apache-2.0
// From ids to rows: span_id → row, and parent, model or layer id → its rows. Built once per run at the first question.
#ifndef XSP_STORE_ROW_INDEX_H
#define XSP_STORE_ROW_INDEX_H

#include "store/reader.h"

struct row_index;
#define ROW_NONE UINT32_MAX

void row_index_free(struct row_index *index); // NULL is fine

#endif
