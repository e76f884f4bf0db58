// SPDX-License-Identifier: Apache-2.0
// Layers of OpenVINO: from xsp's listener where OpenVINO announces its nodes (2026 and later), else from its performance
// counters. Called by predictor.c; note_counters is all that runs within an inference.
#include "frameworks/openvino/state.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTENER_MAJOR 2026
#define COUNTERS_NOTE                                                                                                  \
  "layers are differences of means over all inferences, in whole us: a layer's time is out by up to 1 us for each "    \
  "inference so far, their sum is right; bodies of loops are missing"

static struct openvino_state *the_state; // for own_ticks, which is given none

// Of the CPU device only, which alone announces its nodes. Before the library is opened: each of its modules looks for a
// collector when it first has something to say.
void openvino_find_listener(struct openvino_state *state)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/openvino.so", state->common.options.tracer_directory);
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *symbol = handle != NULL ? dlsym(handle, OPENVINO_LISTENER_SYMBOL) : NULL;
  openvino_listener_fn listener = NULL;
  memcpy(&listener, &symbol, sizeof symbol);
  if (listener == NULL)
    return; // it stays NULL: counters
  state->listener = listener();
  setenv("INTEL_LIBITTNOTIFY64", path, 1);
}

static uint64_t listener_ticks(void)
{
  return the_state->own_ticks + (the_state->listener != NULL ? the_state->listener->own_ticks() : 0);
}

void openvino_choose_route(struct openvino_state *state, struct predictor_model *model)
{
  the_state = state;
  bool has_layers = state->common.has_layers;
  bool listens = has_layers && state->listener != NULL && state->major >= LISTENER_MAJOR;
  state->route = !has_layers ? OPENVINO_NO_LAYERS : listens ? OPENVINO_LISTENER : OPENVINO_COUNTERS;
  static const char *const sources[] = {"none", "listener", "performance counters"};
  model->layer_source = sources[state->route];
  if (state->route == OPENVINO_COUNTERS) {
    size_t length = strlen(state->note);
    snprintf(state->note + length, sizeof state->note - length, "%s" COUNTERS_NOTE, length > 0 ? "; " : "");
  }
  if (state->route != OPENVINO_NO_LAYERS)
    model->own_ticks = listener_ticks;
  static const struct layer_publisher_options publishing = {
      .tracer = "openvino", .untold = "start,thread", .times = LAYER_TIMES_LAID_OUT};
  state->publisher = framework_layer_publisher_create(&publishing);
}

// The list is there before the first inference, with all times zero.
enum status openvino_read_nodes(struct openvino_state *state, struct error *err)
{
  arena_done(&state->node_arena);
  state->nodes = (struct openvino_nodes){0};
  state->inferences = 0;
  state->sum_us = NULL;
  struct ov_profiling_list list = {0};
  TRY_OV(state->api.infer_request_get_profiling_info(state->request, &list), "cannot read OpenVINO's list of layers");
  openvino_nodes_read(&list, &state->node_arena, &state->nodes);
  state->api.profiling_info_list_free(&list);
  state->sum_us = arena_alloc_array(&state->node_arena, state->nodes.count + 1, sizeof *state->sum_us);
  struct openvino_graph graph; // its texts are the tags'
  openvino_graph_export(&state->api, state->compiled, &state->node_arena, &graph);
  state->layers = openvino_layers_read(&graph, &state->nodes, &state->node_arena);
  if (state->route == OPENVINO_LISTENER)
    state->listener->describe(state->layers, state->nodes.count);
  return STATUS_OK;
}

// Reads the counters of the inference that has just ended; they are published outside its span.
enum status openvino_note_counters(struct openvino_state *state, struct xsp_context span, uint64_t start_ns,
                                   struct error *err)
{
  uint64_t *durations = memory_new(state->nodes.count + 1, sizeof *durations);
  struct ov_profiling_list list = {0};
  if (state->api.infer_request_get_profiling_info(state->request, &list) != 0) {
    free(durations);
    return openvino_failed(state, "cannot read OpenVINO's performance counters", err);
  }
  for (size_t i = 0; i < state->nodes.count; i++) {
    size_t at = state->nodes.nodes[i].at;
    if (at < list.count && list.infos[at].status == OV_NODE_EXECUTED)
      durations[i] = openvino_duration_ns(list.infos[at].real_time_us, state->inferences, &state->sum_us[i]);
  }
  state->api.profiling_info_list_free(&list);
  *vector_add(&state->waiting) = (struct inference){.model = span, .start_ns = start_ns, .durations_ns = durations};
  return STATUS_OK;
}

static enum status publish_one(struct openvino_state *state, const struct inference *inference,
                               struct layer_report *reports, struct error *err)
{
  size_t count = 0;
  for (size_t i = 0; i < state->nodes.count; i++) {
    if (inference->durations_ns[i] == 0)
      continue;
    reports[count] = state->layers[i];
    reports[count++].duration_ns = inference->durations_ns[i];
  }
  return framework_layer_publish(state->publisher, reports, count, inference->model, inference->start_ns, err);
}

enum status openvino_flush(struct predictor_model *model, struct error *err)
{
  struct openvino_state *state = model->state;
  if (state->waiting.count == 0)
    return STATUS_OK;
  struct arena arena SCOPED(arena_done) = {0};
  struct layer_report *reports = arena_alloc_array(&arena, state->nodes.count + 1, sizeof *reports);
  enum status status = STATUS_OK;
  for (size_t i = 0; i < state->waiting.count && status == STATUS_OK; i++)
    status = publish_one(state, &state->waiting.items[i], reports, err);
  inferences_clear(&state->waiting);
  return status;
}

void openvino_release_layers(struct openvino_state *state)
{
  framework_layer_publisher_free(state->publisher);
  arena_done(&state->node_arena);
  inferences_free(&state->waiting);
  the_state = NULL;
}
