// SPDX-License-Identifier: Apache-2.0
// What an evaluation does with the values of each item's output: keeps them in the file's table `output`, and compares those of
// each further model with the first model's, which wait in a file without a name in TMPDIR. One thread.
#ifndef XSP_EXPERIMENT_EVALUATION_OUTPUTS_H
#define XSP_EXPERIMENT_EVALUATION_OUTPUTS_H

#include "base/vector.h"
#include "experiment/evaluation/data_set.h"
#include "experiment/evaluation/divergence.h"
#include "launch/launch.h"
#include "store/store.h"

#define OUTPUTS_BYTES_MOST (INT64_C(4) << 30) // kept of an evaluation

struct outputs { // starts as {0}
  bool is_kept;
  bool is_compared;   // there are several models
  size_t model_count; // whose outputs have room in `kept_bytes`
  int64_t kept_bytes;
  int file;              // with the first model's, one after the other; 0: not open
  enum tensor_type type; // of them
  VECTOR(uint64_t) ends; // of each item in the file: outputs may have any number of values
  double *first, *other; // of an item; owned
  size_t first_count, other_count;
};

struct outputs_batch {             // what was inferred
  size_t model;                    // number
  const char *output;              // "": the first one
  size_t first_item, count, batch; // items from `first_item` on; the batch may be filled up with others
  const struct data_item *items;   // of the whole set
  size_t item_count;               // that are evaluated of it
};

// Reads the output of the runner's last inference, if it is wanted at all. Errors: STATUS_INPUT (values that are no items', or more than
// OUTPUTS_BYTES_MOST to keep), STATUS_SYSTEM (no room in TMPDIR).
enum status evaluation_outputs_take(struct outputs *outputs, struct runner *runner, const struct outputs_batch *batch,
                                    struct store *store, struct divergence *divergence, struct error *err) MUST_CHECK;
void evaluation_outputs_done(struct outputs *outputs);

#endif
