// SPDX-License-Identifier: Apache-2.0
// What the parts of the OpenVINO predictor share: predictor.c (library, inferences), inputs.c, layers.c.
// One thread.
#ifndef XSP_FRAMEWORKS_OPENVINO_STATE_H
#define XSP_FRAMEWORKS_OPENVINO_STATE_H

#include "frameworks/common/inferences.h"
#include "frameworks/common/layer_publish.h"
#include "frameworks/common/predictor.h"
#include "frameworks/openvino/abi.h"
#include "frameworks/openvino/graph.h"
#include "frameworks/openvino/hooks.h"

enum openvino_route { OPENVINO_NO_LAYERS, OPENVINO_LISTENER, OPENVINO_COUNTERS };

struct openvino_state {
  struct predictor_state common; // first
  struct openvino_api api;
  int major;
  enum openvino_route route;
  char note[256];
  const char *device; // OpenVINO's name of it: "CPU", "GPU.1", "AUTO:GPU,CPU"; in the caller's arena
  struct ov_core *core;
  struct ov_model *model;
  struct ov_compiled_model *compiled;
  struct ov_infer_request *request;
  size_t input_count;
  struct ov_tensor **tensors; // the request's inputs, over the runner's memory; in the caller's arena
  const struct tensor *inputs;
  struct tensor_info read_output; // of the output that was read last
  bool is_dynamic;
  // Of the compiled model
  struct arena node_arena;
  struct openvino_nodes nodes;
  struct layer_report *layers; // by node, without times; in node_arena
  uint64_t inferences;
  const struct openvino_listener *listener;
  uint64_t own_ticks; // reading counters inside of inferences
  uint64_t *sum_us;   // by node, in node_arena
  struct layer_publisher *publisher;
  struct inferences waiting; // counters' route: those that are not published yet
};

// What OpenVINO says last as an error of ours.
enum status openvino_failed(struct openvino_state *state, const char *what, struct error *err) MUST_CHECK;
#define TRY_OV(call, what)                                                                                             \
  do {                                                                                                                 \
    if ((call) != 0)                                                                                                   \
      return openvino_failed(state, (what), err);                                                                      \
  } while (0)

// inputs.c
enum tensor_type openvino_tensor_type(const struct openvino_state *state, int type); // 0: not handled
enum status openvino_read_inputs(struct openvino_state *state, struct arena *arena, struct predictor_model *model,
                                 struct error *err) MUST_CHECK;
enum status openvino_reshape(struct openvino_state *state, const struct tensor *inputs, struct error *err) MUST_CHECK;
enum status openvino_bind_inputs(struct openvino_state *state, const struct tensor *inputs,
                                 struct error *err) MUST_CHECK;

// layers.c
void openvino_find_listener(struct openvino_state *state);
void openvino_choose_route(struct openvino_state *state, struct predictor_model *model);
enum status openvino_read_nodes(struct openvino_state *state,
                                struct error *err) MUST_CHECK; // of the model just compiled
enum status openvino_note_counters(struct openvino_state *state, struct xsp_context span, uint64_t start_ns,
                                   struct error *err) MUST_CHECK;
enum status openvino_flush(struct predictor_model *model, struct error *err) MUST_CHECK;
void openvino_release_layers(struct openvino_state *state);

#endif
