// SPDX-License-Identifier: Apache-2.0
// What the parts of the LiteRT predictor share: predictor.c (library, inferences), model.c, layers.c. One thread.
#ifndef XSP_FRAMEWORKS_LITERT_STATE_H
#define XSP_FRAMEWORKS_LITERT_STATE_H

#include "frameworks/common/layer_publish.h"
#include "frameworks/common/predictor.h"
#include "frameworks/common/stderr_capture.h"
#include "frameworks/litert/abi.h"
#include "frameworks/litert/events.h"
#include "frameworks/litert/graph.h"

struct litert_state {
  struct predictor_state common; // first
  int accelerators;              // mask
  struct litert_api api;
  litert_handle environment, model, signature, compile_options, compiled,
      profiler; // the profiler is the compiled model's
  size_t input_count, output_count;
  struct litert_tensor_type *input_types, *output_types; // in the caller's arena, as all arrays here
  struct litert_layout *output_layouts;
  litert_handle *inputs, *outputs; // buffers
  litert_handle locked;            // the output that is being read; NULL: none
  struct litert_graph graph;       // where layers are recorded
  struct litert_work *work;        // by operator, for the shapes at hand, in work_arena
  struct arena work_arena;
  struct stderr_capture capture;
  char message[320]; // by the library, about what failed last
  // The inference whose events are still with the profiler
  bool is_waiting;
  struct xsp_context model_span;
  uint64_t start_ns;
  struct layer_publisher *publisher;
};

// A status of LiteRT, and what the library wrote to stderr meanwhile, as an error.
enum status litert_failed(struct litert_state *state, int code, const char *what, struct error *err) MUST_CHECK;
// A call whose reason, where it fails, is on stderr.
#define TRY_LITERT_CAPTURED(call, what)                                                                                \
  do {                                                                                                                 \
    framework_stderr_capture_start(&state->capture);                                                                   \
    int litert_code_ = (call);                                                                                         \
    framework_stderr_capture_end(&state->capture, "ERROR: ", state->message, sizeof state->message);                   \
    if (litert_code_ != 0)                                                                                             \
      return litert_failed(state, litert_code_, (what), err);                                                          \
  } while (0)
#define TRY_LITERT(call, what)                                                                                         \
  do {                                                                                                                 \
    int litert_code_ = (call);                                                                                         \
    if (litert_code_ != 0)                                                                                             \
      return litert_failed(state, litert_code_, (what), err);                                                          \
  } while (0)

// model.c
enum tensor_type litert_tensor_type(int element); // of TFLite's number; 0: not handled
enum status litert_check(struct predictor_state *state, struct arena *arena, struct error *err) MUST_CHECK;
enum status litert_read_interface(struct litert_state *state, struct arena *arena, struct predictor_model *model,
                                  struct error *err) MUST_CHECK;

// layers.c
void litert_make_publisher(struct litert_state *state);
// What layers have of their operators, for these inputs.
void litert_read_work(struct litert_state *state, const struct tensor *inputs);
enum status litert_flush(struct predictor_model *model, struct error *err) MUST_CHECK;
enum status litert_resume(struct predictor_model *model, struct error *err) MUST_CHECK;

#endif
