// SPDX-License-Identifier: Apache-2.0
// A1's figures of what surrounds a prediction, and of the parts of a training step: spans of application level and category
// load, preprocess, postprocess, forward, backward, optimizer, data, compile or collective; or PyTorch's own ranges, by name.
// Which of them belong to which observation: docs/analyses.md.
#ifndef XSP_ANALYZE_RUNS_A1_STAGES_H
#define XSP_ANALYZE_RUNS_A1_STAGES_H

#include "analyze/view.h"

struct stages_compile {      // of the runs of a set, in observations or not
  size_t count, again_count; // again: of a function that was compiled before
  double total_ms;
};
struct stages { // of one set; NaN: no such span
  double load_ms;
  double preprocess_ms;
  double postprocess_ms;
  double forward_ms, backward_ms, optimizer_ms, data_ms, compile_ms, collective_ms;
  double other_ms; // of training steps, in none of the line before
  struct stages_compile compile;
  bool is_once; // preprocess_ms is made once for the batch size, not for each prediction
};

enum status stages_load(struct question *question, const struct view_set *set, struct stages *ret_stages,
                        struct error *err) MUST_CHECK;

#endif
