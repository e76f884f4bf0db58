// SPDX-License-Identifier: Apache-2.0
// The layers of one run, and what ran on devices in them, before they are paired. Used by layers.c and kernels.c.
#ifndef XSP_ANALYZE_LAYERS_ROWS_H
#define XSP_ANALYZE_LAYERS_ROWS_H

#include "analyze/layers/layer_row.h"

enum layer_mode {
  LAYER_OUTERMOST,
  LAYER_INNERMOST,
  LAYER_MODULE,
  LAYER_AUTOGRAD, // backward operators and their forward operators
};

struct layer_choice { // which layer spans count
  enum layer_mode mode;
  bool computing_only; // see struct analyze_request
};

// The question's request names further metrics.
enum status layer_rows_load(struct question *question, const struct view_run *run, const struct layer_choice *choice,
                            const struct device_rows_wanted *wanted, struct arena *arena, struct layer_rows *ret_rows,
                            struct error *err) MUST_CHECK;

#endif
