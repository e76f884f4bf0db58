// SPDX-License-Identifier: Apache-2.0
// What the two halves of the TensorFlow predictor share: predictor.c (library, inferences) and session.c. One
// thread.
#ifndef XSP_FRAMEWORKS_TENSORFLOW_STATE_H
#define XSP_FRAMEWORKS_TENSORFLOW_STATE_H

#include "base/mapped.h"
#include "frameworks/common/predictor.h"
#include "frameworks/tensorflow/abi.h"
#include "frameworks/tensorflow/graph.h"
#include "frameworks/tensorflow/layers.h"

#include <limits.h>

struct tensorflow_fed { // an input's tensor over the runner's memory, kept while that stays as it is
  const struct tensor *from;
  void *data;
  int64_t shape[TENSOR_MAXIMUM_RANK];
  void *tensor;
};

struct tensorflow_state {
  struct predictor_state common; // first
  struct tf_api tf;
  char folder[PATH_MAX];         // of a SavedModel; empty: a frozen graph
  struct mapped file;            // mapped until the session is made
  struct tensorflow_model model; // in the caller's arena
  void *graph, *session_options, *session, *status;
  struct tf_output *inputs, *outputs; // in the caller's arena, as the two below
  struct tensorflow_fed *fed;
  void **input_values, **output_values;
  size_t input_count, output_count;
  struct tensor_info read_output; // of the output that was read last
  // Layers: the last inference's metadata is published before the next, or at flush.
  struct tensorflow_layers *layers;
  struct tf_buffer *pending;
  struct xsp_context pending_span;
};

// The library's status as ours.
enum status tensorflow_status(const struct tensorflow_state *state, const char *what, const char *advice,
                              struct error *err) MUST_CHECK;

// session.c
enum tensor_type tensorflow_tensor_type(uint32_t type); // of TensorFlow's number; 0: not handled
bool tensorflow_recognises(const char *path);
enum status tensorflow_check(struct predictor_state *state, struct arena *arena, struct error *err) MUST_CHECK;
enum status tensorflow_open(struct predictor_model *model, struct arena *arena, struct error *err) MUST_CHECK;

#endif
