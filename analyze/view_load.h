// SPDX-License-Identifier: Apache-2.0
// view.c's door to question.c. Private to analyze.
#ifndef XSP_ANALYZE_VIEW_LOAD_H
#define XSP_ANALYZE_VIEW_LOAD_H

#include "analyze/view.h"

enum status view_load(struct store *store, const struct store_experiment *experiment, const struct store_run *runs,
                      size_t run_count, struct arena *arena, struct view *view, struct error *err) MUST_CHECK;

#endif
