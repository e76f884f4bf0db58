// SPDX-License-Identifier: Apache-2.0
// Sessions and inferences of programs that use ONNX Runtime's C functions: what door.c's functions do.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_DOOR_SESSIONS_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_DOOR_SESSIONS_H

#include "frameworks/onnxruntime/door_runs.h"

#define DEVICES_MAXIMUM 256

// A copy of the runtime in this process.
struct copy {
  uint32_t state;               // atomic: 0 free, 1 being filled, 2 in use, 3 left alone
  ort_get_api_base_fn get_base; // the library's
  const struct ort_api_base *real;
  struct ort_api_base base; // the program's
  const void *real_table;   // what `table` is a copy of
  const void **table;       // the program's; a mapping that stays
  struct ort_runtime runtime;
  const struct ort_ep_device *devices[DEVICES_MAXIMUM]; // for ort_sessions_list_devices
};

// The four ways to make a session, in one form.
struct making {
  const struct ort_env *env;
  const char *path; // or
  const void *model;
  size_t size_bytes;
  struct ort_prepacked *prepacked; // NULL: without
};

// Makes a session, with the listener among its execution providers where layers may be recorded.
struct ort_status *ort_sessions_make(struct copy *copy, const struct making *making,
                                     const struct ort_session_options *options, struct ort_session **ret_session);

// What both kinds of runs are given.
struct feed {
  const char *const *input_names;
  const struct ort_value *const *inputs;
  size_t input_count;
  const char *const *output_names;
  size_t output_count;
  struct ort_value **outputs;
};

// Inferences inside of a model span.
struct ort_status *ort_sessions_run_feed(struct copy *copy, struct ort_session *session,
                                         const struct ort_run_options *options, const struct feed *feed);
struct ort_status *ort_sessions_run_binding(struct copy *copy, struct ort_session *session,
                                            const struct ort_run_options *options, const struct ort_binding *binding);
struct ort_status *ort_sessions_run_later(struct copy *copy, struct ort_session *session,
                                          const struct ort_run_options *options, const struct feed *feed,
                                          ort_async_callback callback, void *data);
// The first dimension of a tensor; -1: none.
int64_t ort_sessions_batch_of(const struct copy *copy, const struct ort_value *value);
// The devices without ours. The program believes that the environment owns the list: ours is in `copy`, and is written again
// with the same pointers unless devices are new.
struct ort_status *ort_sessions_list_devices(struct copy *copy, const struct ort_env *env,
                                             const struct ort_ep_device *const **ret_devices, size_t *ret_count);

#endif
