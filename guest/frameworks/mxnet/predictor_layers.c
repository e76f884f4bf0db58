// SPDX-License-Identifier: Apache-2.0
// Layers of MXNet from its process profile, which has types and times but no names: these follow from the position in its
// graph. Called by predictor.c; all of it outside of inferences.
#include "frameworks/mxnet/profile.h"
#include "frameworks/mxnet/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum status mxnet_configure_profiler(struct mxnet_state *state, struct error *err)
{
  snprintf(state->profile_path, sizeof state->profile_path, "%s/mxnet.json", state->common.options.work_directory);
  const char *const keys[] = {"filename",    "profile_symbolic", "profile_imperative", "profile_memory",
                              "profile_api", "aggregate_stats",  "continuous_dump"};
  const char *const values[] = {state->profile_path, "True", "False", "False", "False", "False", "False"};
  TRY_MX(state->api.SetProcessProfilerConfig(sizeof keys / sizeof keys[0], keys, values, NULL),
         "cannot set up MXNet's profiler");
  return STATUS_OK;
}

static enum status publish_profile(struct mxnet_state *state, struct error *err)
{
  struct pool pool = {.maximum_bytes = MXNET_POOL_BYTES};
  struct mxnet_bytes text = {0};
  struct mxnet_profile profile = {0};
  enum status status = mxnet_read_file(state->profile_path, (size_t)1 << 36, &text, err);
  if (status == STATUS_OK)
    status = mxnet_profile_read(text.data, text.length, state->profile_path, &pool, &profile, err);
  const struct thread_table threads = framework_threads_list(&pool);
  size_t at = 0;
  for (size_t i = 0; i < state->waiting.count && status == STATUS_OK; i++) {
    const struct inference *inference = &state->waiting.items[i];
    while (at < profile.count && (uint64_t)profile.events[at].start_us * 1000 < inference->start_ns)
      at++;
    size_t first = at;
    while (at < profile.count && (uint64_t)profile.events[at].start_us * 1000 <= inference->end_ns)
      at++;
    status = mxnet_layers_publish(state->publisher, profile.events + first, at - first, &threads, state->executed,
                                  state->work, state->executed_count, inference->model, err);
  }
  free(text.data);
  framework_pool_done(&pool);
  unlink(state->profile_path);
  return status;
}

enum status mxnet_flush(struct predictor_model *model, struct error *err)
{
  struct mxnet_state *state = model->state;
  if (!state->is_profiling || state->waiting.count == 0)
    return STATUS_OK;
  const char *what = "cannot end MXNet's profile";
  TRY_MX(state->api.SetProcessProfilerState(0, 0, NULL), what);
  state->is_profiling = false;
  TRY_MX(state->api.DumpProcessProfile(0, 0, NULL), what);
  enum status status = publish_profile(state, err);
  inferences_clear(&state->waiting);
  return status;
}

enum status mxnet_resume(struct predictor_model *model, struct error *err)
{
  struct mxnet_state *state = model->state;
  if (!state->common.has_layers || state->is_profiling)
    return STATUS_OK;
  TRY_MX(state->api.SetProcessProfilerState(1, 0, NULL), "cannot start MXNet's profiler");
  state->is_profiling = true;
  return STATUS_OK;
}
