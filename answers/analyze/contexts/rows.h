// SPDX-License-Identifier: Apache-2.0
// The calling context tree's figures of an experiment's runs. Private to analyses of contexts.
#ifndef XSP_ANALYZE_CONTEXTS_ROWS_H
#define XSP_ANALYZE_CONTEXTS_ROWS_H

#include "analyze/view.h"

struct context_rows {
  const struct view_set *set; // the one with most levels, whose tree has all contexts; NULL: none
  struct store_call_paths paths;
  struct context_rows_of_run {
    struct store_context_metric *rows;
    size_t count;
  } * runs; // of the set
};

enum status analyze_context_rows_load(struct question *question, struct context_rows *ret_rows,
                                      struct error *err) MUST_CHECK;
// "train.py:12 step": the innermost Python frame around the context that is no installed package's, else the innermost. NULL:
// none. Lives in the answer's arena.
const char *analyze_context_called_from(const struct context_rows *rows, size_t context_id, struct arena *arena);
const struct store_frame *analyze_context_frame(const struct context_rows *rows, size_t context_id);

#endif
