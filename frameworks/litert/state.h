// SPDX-License-Identifier: Apache-2.0
// What the parts of the LiteRT predictor share: litert.c (library, inferences), litert_model.c, litert_layers.c. One thread.
#ifndef XSP_FRAMEWORKS_LITERT_STATE_H
#define XSP_FRAMEWORKS_LITERT_STATE_H

#include "base/library.h"
#include "frameworks/common/layer_publish.h"
#include "frameworks/common/model_open.h"
#include "frameworks/common/talk.h"
#include "frameworks/litert/abi.h"
#include "frameworks/litert/events.h"
#include "frameworks/litert/graph.h"

struct litert_state {
  struct litert_api api;
  struct library library;
  char version[64];
  struct predictor_options options; // strings borrowed from the caller, who keeps them while the model is open
  bool has_layers;
  litert_handle environment, model, signature, compile_options, compiled,
      profiler; // the profiler is the compiled model's
  size_t input_count, output_count;
  struct litert_tensor_type *input_types, *output_types; // in the caller's arena, as all arrays here
  struct litert_layout *output_layouts;
  litert_handle *inputs, *outputs; // buffers
  struct litert_graph graph;       // where layers are recorded
  struct litert_work *work;        // by operator, for the shapes at hand, in work_arena
  struct arena work_arena;
  struct talk talk;
  char said[320]; // by the library, about what failed last
  // The inference whose events are still with the profiler
  bool is_waiting;
  struct xsp_context model_span;
  uint64_t start_ns;
  struct layer_publisher *publisher;
};

// A status of LiteRT, and what the library said meanwhile, as an error of ours.
enum status litert_failed(struct litert_state *state, int code, const char *what, struct error *err) MUST_CHECK;
// A call whose reason, where it fails, is on stderr.
#define TRY_TALK(call, what)                                                                                           \
  do {                                                                                                                 \
    talk_catch(&state->talk);                                                                                          \
    int litert_code_ = (call);                                                                                         \
    talk_release(&state->talk, "ERROR: ", state->said, sizeof state->said);                                            \
    if (litert_code_ != 0)                                                                                             \
      return litert_failed(state, litert_code_, (what), err);                                                          \
  } while (0)
#define TRY_LITERT(call, what)                                                                                         \
  do {                                                                                                                 \
    int litert_code_ = (call);                                                                                         \
    if (litert_code_ != 0)                                                                                             \
      return litert_failed(state, litert_code_, (what), err);                                                          \
  } while (0)

// litert_model.c
enum status litert_check_file(const char *path, struct error *err) MUST_CHECK;
enum status litert_read_interface(struct litert_state *state, struct arena *arena, struct predictor_model *model,
                                  struct error *err) MUST_CHECK;

// litert_layers.c
enum status litert_make_publisher(struct litert_state *state, struct error *err) MUST_CHECK;
// What layers have of their operators, for these inputs.
enum status litert_read_work(struct litert_state *state, const struct tensor *inputs, struct error *err) MUST_CHECK;
enum status litert_flush(struct predictor_model *model, struct error *err) MUST_CHECK;
enum status litert_resume(struct predictor_model *model, struct error *err) MUST_CHECK;

#endif
