// SPDX-License-Identifier: Apache-2.0
// What the two halves of the ONNX Runtime predictor share: predictor.c (library, session, inferences) and
// inputs.c. One thread.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_STATE_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_STATE_H

#include "frameworks/common/inferences.h"
#include "frameworks/common/predictor.h"
#include "frameworks/onnxruntime/abi.h"

enum onnxruntime_route { ONNXRUNTIME_NO_LAYERS, ONNXRUNTIME_LISTENER, ONNXRUNTIME_PROFILE_FILE };

struct onnxruntime_state {
  struct predictor_state common; // first
  ort_get_api_base_fn get_base;
  struct ort_api api;
  uint32_t api_version;
  enum onnxruntime_route route;
  struct ort_env *env;
  struct ort_session_options *session_options;
  struct ort_session *session;
  struct ort_memory_info *memory;
  struct ort_allocator *allocator; // the default one, not owned
  size_t input_count, output_count;
  const char **input_names, **output_names; // in the caller's arena
  struct ort_value **inputs, **outputs;     // scratch of predict
  const char *path;               // of the file that is opened: the model, or a copy that hands out its layers
  struct tensor_info read_output; // of the output that was read last
  // Profile-file route: the inferences since the last flush.
  struct inferences waiting;
};

// Turns the runtime's status into ours and releases it.
enum status onnxruntime_status(struct onnxruntime_state *state, struct ort_status *status, const char *what,
                               struct error *err) MUST_CHECK;
#define TRY_ORT(call, what)                                                                                            \
  do {                                                                                                                 \
    struct ort_status *ort_status_ = (call);                                                                           \
    if (ort_status_ != NULL)                                                                                           \
      return onnxruntime_status(state, ort_status_, (what), err);                                                      \
  } while (0)

enum status onnxruntime_read_interface(struct onnxruntime_state *state, struct arena *arena,
                                       struct predictor_model *model, struct error *err) MUST_CHECK;

// Appends the execution provider of --device to the session's options and fills model->device; texts in `arena`.
enum status onnxruntime_add_device(struct onnxruntime_state *state, struct arena *arena, struct predictor_model *model,
                                   struct error *err) MUST_CHECK;

#endif
