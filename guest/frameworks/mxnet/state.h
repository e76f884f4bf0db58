// SPDX-License-Identifier: Apache-2.0
// What the parts of the MXNet predictor share: predictor.c (library, inferences), model.c (files, inputs, graph),
// layers.c (profile). One thread.
#ifndef XSP_FRAMEWORKS_MXNET_STATE_H
#define XSP_FRAMEWORKS_MXNET_STATE_H

#include "frameworks/common/inferences.h"
#include "frameworks/common/layer_publish.h"
#include "frameworks/common/predictor.h"
#include "frameworks/mxnet/abi.h"
#include "frameworks/mxnet/layers.h"
#include "frameworks/mxnet/shapes.h"

#include <limits.h>

#define MXNET_POOL_BYTES ((size_t)8 << 30)
#define SYMBOL_END "-symbol.json"

struct mxnet_bytes {
  char *data; // owned, a NUL after it
  size_t length;
};
struct mxnet_state {
  struct predictor_state common; // first
  struct mxnet_api api;
  bool is_profiling;
  bool is_on_gpu;
  int device_number;
  char prefix[PATH_MAX];       // the model's path up to "-symbol.json"
  char profile_path[PATH_MAX]; // where MXNet writes its profile
  struct mxnet_bytes symbol_text, parameter_bytes;
  struct arena *arena;
  struct pool pool;            // of the graphs; lives until the model is closed
  struct mxnet_symbol symbol;  // as the file has it
  mxnet_handle graph_handle;   // the graph that MXNet executes, where layers are recorded
  struct mxnet_symbol graph;   // its nodes
  struct mxnet_node *executed; // its operators, in order
  size_t executed_count;
  struct mxnet_work *work; // by operator, for the shapes at hand, in work_arena
  struct arena work_arena;
  uint32_t output_count;     // with those between layers
  const char **output_nodes; // by output: its node
  mxnet_handle predictor;
  struct tensor *outputs; // by output; their data is owned
  struct inferences waiting;
  struct layer_publisher *publisher;
};

// MXNet's last error as ours.
enum status mxnet_failed(struct mxnet_state *state, const char *what, struct error *err) MUST_CHECK;
#define TRY_MX(call, what)                                                                                             \
  do {                                                                                                                 \
    if ((call) != 0)                                                                                                   \
      return mxnet_failed(state, (what), err);                                                                         \
  } while (0)

// model.c
bool mxnet_recognises(const char *path);
void mxnet_visit_files(const char *path, model_file_fn visit, void *context);
enum status mxnet_read_file(const char *path, size_t most, struct mxnet_bytes *ret_bytes, struct error *err) MUST_CHECK;
enum status mxnet_check(struct predictor_state *state, struct arena *arena, struct error *err) MUST_CHECK;
enum status mxnet_read_graph(struct mxnet_state *state, struct predictor_model *model, struct error *err) MUST_CHECK;
enum status mxnet_read_inputs(struct mxnet_state *state, struct predictor_model *model, struct error *err) MUST_CHECK;

// outputs.c: of the graph as the file has it, before operators are fused. Fills the model's outputs and the state's counts.
enum status mxnet_read_outputs(struct mxnet_state *state, struct predictor_model *model, mxnet_handle symbol,
                               struct error *err) MUST_CHECK;

// work.c: MXNet's own inference of shapes gives what operators read and write.
// By node of `graph`, which was read from `symbol`, for inputs of these shapes. What MXNet cannot infer has no tags.
struct mxnet_work *mxnet_work_read(const struct mxnet_api *api, mxnet_handle symbol, const struct mxnet_symbol *graph,
                                   const struct tensor *inputs, size_t input_count, struct arena *arena);

// predictor_layers.c
enum status mxnet_configure_profiler(struct mxnet_state *state, struct error *err) MUST_CHECK;
enum status mxnet_flush(struct predictor_model *model, struct error *err) MUST_CHECK;
enum status mxnet_resume(struct predictor_model *model, struct error *err) MUST_CHECK;

#endif
