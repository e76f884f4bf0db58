// SPDX-License-Identifier: Apache-2.0
// Layers of MXNet from its process profile, which has types and times but no names: these follow from the position in its
// graph. Called by mxnet.c; all of it outside of inferences.
#include "predictors/mxnet_state.h"
#include "profiles/mxnet_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum status mxnet_configure_profiler(struct mxnet_state *state, struct error *err)
{
  snprintf(state->profile_path, sizeof state->profile_path, "%s/mxnet.json", state->options.work_directory);
  const char *const keys[] = {"filename",    "profile_symbolic", "profile_imperative", "profile_memory",
                              "profile_api", "aggregate_stats",  "continuous_dump"};
  const char *const values[] = {state->profile_path, "True", "False", "False", "False", "False", "False"};
  TRY_MX(state->api.SetProcessProfilerConfig(sizeof keys / sizeof keys[0], keys, values, NULL),
         "cannot set up MXNet's profiler");
  return STATUS_OK;
}

// The n-th event is the n-th operator of the graph where there are as many, of the same types in the same order.
static bool follows_graph(const struct mxnet_state *state, const struct mxnet_event *events, size_t count)
{
  if (count != state->executed_count)
    return false;
  for (size_t i = 0; i < count; i++)
    if (strcmp(events[i].name, state->executed[i]->op) != 0)
      return false;
  return true;
}

enum { TAGS_MOST = 2 + MXNET_WORK_TAGS };

// What the operator of that number is, besides what the profile says.
static void tell_operator(const struct mxnet_state *state, size_t number, struct layer_tag tags[TAGS_MOST],
                          struct layer_told *told)
{
  const struct mxnet_node *node = state->executed[number];
  const struct mxnet_work *work = &state->work[node - state->graph.nodes];
  size_t count = 0;
  tags[count++] = (struct layer_tag){.key = "name_by", .text = "position in the graph"};
  if (node->fused != NULL)
    tags[count++] = (struct layer_tag){.key = "fused", .text = node->fused};
  memcpy(&tags[count], work->tags, work->tag_count * sizeof *tags);
  told->name = node->name;
  told->shape = work->shape;
  told->tags = tags;
  told->tag_count = count + work->tag_count;
}

static enum status publish_inference(struct mxnet_state *state, const struct inference *inference,
                                     const struct mxnet_event *events, size_t count, struct error *err)
{
  struct arena arena = {0};
  struct layer_told *told = arena_alloc_array(&arena, count + 1, sizeof *told);
  struct layer_tag(*tags)[TAGS_MOST] = arena_alloc_array(&arena, count + 1, sizeof *tags);
  enum status status = told != NULL && tags != NULL ? STATUS_OK : model_no_memory(&state->options, err);
  bool has_names = follows_graph(state, events, count);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    const struct mxnet_event *event = &events[i];
    told[i] = (struct layer_told){.type = event->name,
                                  .index = (int64_t)i,
                                  .alloc_bytes = -1,
                                  .start_ns = (uint64_t)event->start_us * 1000,
                                  .duration_ns = (uint64_t)(event->end_us - event->start_us) * 1000,
                                  .parent = LAYER_PARENT_MODEL};
    if (has_names)
      tell_operator(state, i, tags[i], &told[i]);
  }
  if (status == STATUS_OK)
    status = layer_publish(state->publisher, told, count, inference->model, 0, err);
  arena_done(&arena);
  return status;
}

static enum status publish_profile(struct mxnet_state *state, struct error *err)
{
  struct arena arena = {0};
  struct mxnet_bytes text = {0};
  struct mxnet_profile profile = {0};
  enum status status = mxnet_read_file(state->profile_path, (size_t)1 << 36, &text, err);
  if (status == STATUS_OK)
    status = mxnet_profile_read(text.data, text.length, state->profile_path, &arena, &profile, err);
  size_t at = 0;
  for (size_t i = 0; i < state->waiting.count && status == STATUS_OK; i++) {
    const struct inference *inference = &state->waiting.items[i];
    while (at < profile.count && (uint64_t)profile.events[at].start_us * 1000 < inference->start_ns)
      at++;
    size_t first = at;
    while (at < profile.count && (uint64_t)profile.events[at].start_us * 1000 <= inference->end_ns)
      at++;
    status = publish_inference(state, inference, profile.events + first, at - first, err);
  }
  free(text.data);
  arena_done(&arena);
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
  if (!state->has_layers || state->is_profiling)
    return STATUS_OK;
  TRY_MX(state->api.SetProcessProfilerState(1, 0, NULL), "cannot start MXNet's profiler");
  state->is_profiling = true;
  return STATUS_OK;
}
