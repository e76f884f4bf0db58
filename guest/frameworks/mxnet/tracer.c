// SPDX-License-Identifier: Apache-2.0
// The tracer's descriptor, and predictions: from a forward call with none before it to the end of the call that then waits
// for results. Called by frameworks.so on the program's threads.
//
// MXNet computes asynchronously: a forward call returns before the computation ends. All forward calls until the results
// are read (parts of a model, steps of a recurrent one) are one prediction; tag `forward_calls` counts them, if several.
#include "base/clock.h"
#include "frameworks/common/guest.h"
#include "frameworks/mxnet/tracer_models.h"
#include "frameworks/mxnet/tracer_profile.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct open_prediction { // of a thread
  bool is_open, has_batch;
  struct xsp_span span;
  struct prediction prediction;
  uint32_t forward_calls;
};
static __thread struct open_prediction current;
static uint32_t open_count; // atomic

// Predictions of the parent's other threads do not end here.
static void forked(void)
{
  open_count = current.is_open;
}

static void hook_start(const struct mxnet_functions *functions, const char *session, const char *model_range)
{
  int version = 0; // 10901
  mxnet_models_start(functions, model_range);
  mxnet_profile_start(functions, session);
  pthread_atfork(NULL, NULL, forked);
  if (functions->GetVersion(&version) == 0 && (version < 10600 || version >= 20000)) {
    char line[128];
    snprintf(line, sizeof line, "MXNet %d.%d.%d is not supported: this tracer was made for 1.9", version / 10000,
             version / 100 % 100, version % 100);
    guest_report(line);
  }
  atexit(mxnet_profile_end); // before MXNet is torn down, which was there first
}

static void hook_made(enum mxnet_model_kind kind, const void *handle, void *symbol, const char *json)
{
  mxnet_models_add(kind, (void *)(uintptr_t)handle, symbol, json, mxnet_profile_layers_possible());
}

static void hook_freed(const void *handle)
{
  mxnet_models_remove(handle);
  if (mxnet_profile_is_idle() && __atomic_load_n(&open_count, __ATOMIC_ACQUIRE) == 0)
    mxnet_models_sweep();
}

static void hook_begin(enum mxnet_model_kind kind, void *handle)
{
  struct open_prediction *open = &current;
  const struct model *model = mxnet_models_find(handle);
  if (model == NULL && kind == MXNET_EXECUTOR) {
    mxnet_models_add(kind, handle, NULL, NULL, mxnet_profile_layers_possible());
    model = mxnet_models_find(handle);
  }
  if (model == NULL)
    return;
  if (!open->is_open) {
    *open = (struct open_prediction){.is_open = true};
    open->prediction.epoch = mxnet_profile_before();
    __atomic_fetch_add(&open_count, 1, __ATOMIC_ACQ_REL);
    open->prediction.start_us = (int64_t)(clock_now_ns(CLOCK_REALTIME) / 1000);
    open->span = xsp_span_start(model->site);
  }
  open->forward_calls++;
  if (open->prediction.model_count < PREDICTION_MODELS_MAXIMUM)
    open->prediction.models[open->prediction.model_count++] = model;
}

static void end_prediction(struct open_prediction *open)
{
  if (open->forward_calls > 1)
    xsp_span_tag_int(&open->span, "forward_calls", open->forward_calls);
  open->prediction.span = xsp_span_context(&open->span);
  xsp_span_finish(&open->span);
  open->prediction.end_us = (int64_t)(clock_now_ns(CLOCK_REALTIME) / 1000);
  open->is_open = false;
  if (open->prediction.span.id != 0)
    mxnet_profile_add(&open->prediction);
  bool was_last = __atomic_sub_fetch(&open_count, 1, __ATOMIC_ACQ_REL) == 0;
  mxnet_profile_after(was_last);
}

static void hook_forwarded(enum mxnet_model_kind kind, void *handle, void *output, bool is_done)
{
  struct open_prediction *open = &current;
  const struct model *model = open->is_open ? mxnet_models_find(handle) : NULL;
  if (model == NULL)
    return;
  if (!is_done && open->forward_calls == 1) { // it failed: nothing will be read
    end_prediction(open);
    return;
  }
  if (open->has_batch || !is_done)
    return;
  int64_t batch = mxnet_models_batch_size(kind, model, handle, output);
  open->has_batch = true;
  if (batch >= 0)
    xsp_span_tag_int(&open->span, "batch_size", batch);
}

static void hook_read(void)
{
  if (current.is_open)
    end_prediction(&current);
}

const struct mxnet_hooks *xsp_mxnet(void)
{
  static const struct mxnet_hooks hooks = {
      .size = sizeof hooks,
      .start = hook_start,
      .symbol_read = mxnet_models_note_file,
      .made = hook_made,
      .freed = hook_freed,
      .forward_begins = hook_begin,
      .forward_ended = hook_forwarded,
      .results_read = hook_read,
      .program_profiles = mxnet_profile_give_up,
      .program_configured = mxnet_profile_note_file,
      .program_dumped = mxnet_profile_mend_file,
      .ending = mxnet_profile_end,
      .report = guest_report,
  };
  (void)xsp_tracer_join(guest_tracer());
  return &hooks;
}

// ---- the library, for `xsp check` ------------------------------------------------------------------------------------

static bool examine(void *handle, const char **ret_version, const char **ret_advice, char *why, size_t why_size)
{
  static char version[32];
  int (*get_version)(int *) = NULL;
  void *symbol = dlsym(handle, "MXGetVersion");
  memcpy(&get_version, &symbol, sizeof symbol);
  int number = 0;
  if (get_version == NULL || get_version(&number) != 0) {
    snprintf(why, why_size, "not an MXNet library: it did not report its version");
    return false;
  }
  snprintf(version, sizeof version, "%d.%d.%d", number / 10000, number / 100 % 100, number % 100);
  *ret_version = version;
  return true;
}

const struct guest_library guest_library = {
    .names = {.name = "mxnet",
              .sonames = (const char *const[]){"libmxnet.so", NULL},
              .package_glob = "mxnet/libmxnet.so*",
              .advice = "pip install mxnet==1.9.1; a program that brings its own needs nothing"},
    .summary = "models and layers of MXNet 1.9, in C programs and in Python",
    .examine = examine,
};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *host)
{
  return guest_tracer();
}
