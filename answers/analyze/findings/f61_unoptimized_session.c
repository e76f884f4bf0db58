// SPDX-License-Identifier: Apache-2.0
// F61, a session that does not optimize: ONNX Runtime folds normalizations and activations into convolutions, unless the session's
// options forbid it. Then they are layers of their own right after these.
#include "analyze/findings/busiest_line.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/intervals.h"
#include "base/slice.h"

#include <string.h>

#define PROVIDER "CPUExecutionProvider" // others compile graphs, or have other operators

// Whether the CPU's optimizations fuse `before` and `layer`, both of the same shape, where the first output has no other use.
// Sigmoid, Tanh and HardSigmoid often gate that output itself, and stay.
static bool is_folded(const struct layer *before, const struct layer *layer, bool before_is_of_convolution)
{
  if (before->type == NULL || layer->type == NULL || before->shape == NULL || layer->shape == NULL ||
      strcmp(before->shape, layer->shape) != 0)
    return false;
  bool is_activation = text_is_one_of(layer->type, "Relu", "LeakyRelu", "Clip");
  if (strcmp(before->type, "Conv") == 0)
    return is_activation || strcmp(layer->type, "BatchNormalization") == 0;
  return strcmp(before->type, "BatchNormalization") == 0 && is_activation && before_is_of_convolution;
}

// Layers that only optimizations make: of a blocked layout, and of several nodes.
static bool is_optimized(const struct layer *layer)
{
  return layer->type != NULL &&
         (text_is_one_of(layer->type, "ReorderInput", "ReorderOutput") || strncmp(layer->type, "Fused", 5) == 0);
}

static enum status add(struct findings *findings, size_t count, double ms, struct error *err)
{
  struct finding *finding = findings_add(findings);
  finding->context = "session";
  finding->time_ms = finding->saving_ms = ms;
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_basis = "time of these layers, as if they took none; what a blocked layout gains in convolutions "
                          "besides is unknown until it is tried";
  finding->title =
      arena_format(findings->question->arena,
                   "the session of ONNX Runtime does not optimize its graph: %zu normalizations and activations "
                   "that it could fold into the layers before them take %s %s",
                   count, findings_time(findings, ms), findings_per_observation(findings));
  finding->advice =
      "leave graph_optimization_level of SessionOptions at ORT_ENABLE_ALL; if loading takes too long, keep "
      "the optimized model (optimized_model_filepath)";
  finding->threshold = findings_threshold_of(findings, "unoptimized_session-share");
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "layers", (double)count);
  return finding_at_call(findings, finding, err);
}

static enum status find(struct findings *findings, struct error *err)
{
  struct layers layers;
  const struct places *places;
  uint32_t provider;
  if (!store_find_string(findings->question->view->store, PROVIDER, strlen(PROVIDER), &provider))
    return findings_lack(findings, err, "it has no layers of ONNX Runtime on the CPU");
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(findings_layers(findings, &layers, err));
  double *room = arena_alloc_array(findings->question->scratch, layers.observation_count + 1, sizeof *room);
  double ms = 0;
  size_t count = 0;
  bool folded = false;
  for (size_t i = 0; i < layers.count; i++) {
    if (is_optimized(&layers.items[i]))
      return STATUS_OK;
    folded = i > 0 && is_folded(&layers.items[i - 1], &layers.items[i], folded);
    size_t values = findings_layer_values(&layers, &layers.items[i], room);
    double of_all_ms =
        values > 0 ? estimate_mean(room, values).mean * (double)values / (double)layers.set->kept_count : 0;
    ms += folded ? of_all_ms : 0;
    count += folded;
  }
  if ((double)count >= findings_threshold(findings, "unoptimized_session-layers") &&
      analyze_share_pct(ms, findings->loop_ms) >= findings_threshold(findings, "unoptimized_session-share"))
    return add(findings, count, ms, err);
  return STATUS_OK;
}

const struct finding_rule finding_f61 = {
    .id = "F61",
    .key = "unoptimized_session",
    .title = "sessions that do not optimize",
    .thresholds = {{"unoptimized_session-layers", "", 3, "layers that could be folded into the ones before, at least"},
                   {"unoptimized_session-share", "%", 3, "their time, of the program's loop, at least"}},
    .find = find,
};
