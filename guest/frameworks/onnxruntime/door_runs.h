// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime's C programs and Python programs have in common: sessions by their address, model spans around
// inferences, and the runtime's profiling, switched on for single inferences and written nowhere.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_DOOR_RUNS_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_DOOR_RUNS_H

#include "frameworks/common/door.h"
#include "frameworks/onnxruntime/abi.h"
#include "frameworks/onnxruntime/known.h"

// A registration of our own, so that it does not meet one that the program makes.
#define RUNS_REGISTRATION_NAME "xsp-frameworks"

// Of a session: its state. Of the others it is private.
enum known_session {
  SESSION_LISTENS = 1,
  SESSION_PROFILES_ITSELF = 2,
  SESSION_NAMES_PROVIDERS = 4, // in its options
  SESSION_OPTIONS_LISTEN = 8,  // ours is among those
};
extern struct known_table ort_known_sessions, ort_known_options, ort_known_bindings, ort_known_session_options;

// A copy of ONNX Runtime.
struct ort_runtime {
  const struct ort_api_base *base;
  uint32_t version;
  struct ort_api api;               // the library's own functions
  struct ort_run_options *profiled; // atomic: for programs that give none
};
// False: nothing that can be traced; nothing was changed.
bool ort_runs_load(struct ort_runtime *ret_runtime, const struct ort_api_base *base);

// The model level's site: a file's name without its ending.
struct xsp_site *ort_runs_site_of_file(const char *path);
struct xsp_site *ort_runs_site_of_name(const char *name);

// ---- door_creation.c
// A session is there that the program asked for then (ticks), of the model of this site, which may be NULL.
void ort_creation_ends(uint64_t asked, const struct xsp_site *model);

// Whether this session may record layers at all, now or after being switched on.
bool ort_runs_layers_possible(void);
// The listener's path and its functions; NULL: not there.
const char *ort_runs_listener_path(void);
const struct ort_listener *ort_runs_listener(void);
void ort_runs_say(const char *format, const char *version);

// ---- one inference
struct run {
  struct xsp_span span;
  struct known *options;               // to be left again
  const struct ort_run_options *given; // to the runtime
};
// `batch` < 0: not known. `options`: as the program gave them, may be NULL.
struct run ort_run_begin(struct ort_runtime *runtime, const struct known *session,
                         const struct ort_run_options *options, int64_t batch);
void ort_run_end(struct run *run);
// An inference that ends elsewhere: begun where it is asked for, ended on the runtime's thread that computed it.
struct ort_pending {
  uint32_t in_use; // private
  struct xsp_site *site;
  struct known *options;
  uint64_t asked; // ticks
  int64_t batch;
  const struct ort_run_options *given; // to the runtime
  ort_async_callback callback;         // the program's
  void *callback_data;
};
// NULL: too many at a time; it is not traced.
struct ort_pending *ort_pending_begin(struct ort_runtime *runtime, const struct known *session,
                                      const struct ort_run_options *options, int64_t batch);
void ort_pending_end(struct ort_pending *pending);    // publishes it; `pending` is free again
void ort_pending_cancel(struct ort_pending *pending); // it was refused

// Records the batch of a binding: of the first input that is bound, also when it is bound again.
void ort_binding_note(const void *binding, const char *input_name, int64_t batch);

// Takes `options` (the caller's, kept for ever) as those for programs that give none. False: the runtime refuses.
bool ort_runs_profile(struct ort_runtime *runtime, struct ort_run_options *options);
// The program switches profiling in its own options: from now on they are left alone.
void ort_options_taken(const struct ort_run_options *options, bool by_program);

#endif
