// SPDX-License-Identifier: Apache-2.0
// F16, varying layers: those whose time varies over the observations that the statistic keeps.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/intervals.h"

#include <math.h>

#define OBSERVATIONS_LEAST 5
#define QUARTILES_TO_DEVIATION 1.349 // of a normal distribution. Single slow observations do not move the quartiles

static void add(struct findings *findings, const struct layer *layer, double mean_ms, double quarter_ms,
                double spread_pct)
{
  struct finding *finding = findings_add(findings);
  finding->context = findings_layer_name(findings, layer);
  finding->time_ms = mean_ms;
  finding->share_pct = analyze_share_pct(mean_ms, findings->latency_ms);
  finding->saving_ms = mean_ms - quarter_ms;
  finding->saving_basis = "as if it always took as long as in the fastest quarter of the observations";
  finding->title = arena_format(findings->question->arena,
                                "%s varies by %.3g %% around %s, and takes %s or less in a quarter of the observations",
                                findings_name(findings, finding->context), spread_pct, findings_time(findings, mean_ms),
                                findings_time(findings, quarter_ms));
  finding->advice = "look for what differs between steps: shapes, caches, first uses, other programs on the machine";
  finding->confidence = CONFIDENCE_LOW;
  finding_number(finding, "spread_pct", spread_pct);
  finding_number(finding, "quarter_ms", quarter_ms);
}

// Rising values in `room`.
static double spread_of(const double *room, size_t count)
{
  double spread_ms = findings_quantile(room, count, 0.75) - findings_quantile(room, count, 0.25);
  return analyze_share_pct(spread_ms / QUARTILES_TO_DEVIATION, findings_quantile(room, count, 0.5));
}

// The spread of what the observations take without the layer: where that varies, too, it is the machine that does.
static double rest_spread_pct(const struct layers *layers, const struct layer *layer, double *room)
{
  size_t count = 0;
  for (size_t i = 0; i < layers->observation_count; i++) {
    double ms = layer->latency_ms[layers->first_observation + i];
    if (layers->set->is_kept[i] && !isnan(ms))
      room[count++] = layers->set->latencies_ms[i] - ms;
  }
  findings_sort(room, count);
  return spread_of(room, count);
}

// Whether another layer that takes at least a quarter of the time varies half as much: so does the machine.
static bool varies_with_others(const struct layers *layers, const struct layer *layer, double spread_pct,
                               double mean_ms, double *room)
{
  for (size_t i = 0; i < layers->count; i++) {
    size_t count = findings_layer_values(layers, &layers->items[i], room);
    if (&layers->items[i] != layer && count >= OBSERVATIONS_LEAST && estimate_mean(room, count).mean >= mean_ms / 4 &&
        spread_of(room, count) >= spread_pct / 2)
      return true;
  }
  return false;
}

static void judge(struct findings *findings, const struct layers *layers, const struct layer *layer, double *room)
{
  size_t count = findings_layer_values(layers, layer, room);
  double spread_pct = spread_of(room, count), mean_ms = estimate_mean(room, count).mean,
         quarter_ms = findings_quantile(room, count, 0.25);
  if (count >= OBSERVATIONS_LEAST && spread_pct > findings_threshold(findings, "varying_layer-spread") &&
      analyze_share_pct(mean_ms, findings->latency_ms) > findings_threshold(findings, "varying_layer-share") &&
      !(rest_spread_pct(layers, layer, room) > findings_threshold(findings, "varying_layer-rest")) &&
      !varies_with_others(layers, layer, spread_pct, mean_ms, room))
    add(findings, layer, mean_ms, quarter_ms, spread_pct);
}

static enum status find(struct findings *findings, struct error *err)
{
  struct layers layers;
  XSP_TRY(findings_layers(findings, &layers, err));
  double *room = arena_alloc_array(findings->question->scratch, layers.observation_count + 1, sizeof *room);
  if (layers.set->kept_count < OBSERVATIONS_LEAST)
    return findings_lack(findings, err, "it has fewer than five observations that the statistic keeps");
  for (size_t i = 0; i < layers.count; i++)
    judge(findings, &layers, &layers.items[i], room);
  return STATUS_OK;
}

const struct finding_rule finding_f16 = {
    .id = "F16",
    .key = "varying_layer",
    .title = "layers whose time varies",
    .thresholds = {{"varying_layer-spread", "%", 30,
                    "quartiles' distance / 1.349, of the median over the kept observations"},
                   {"varying_layer-rest", "%", 10, "the same of what the observations take without the layer, at most"},
                   {"varying_layer-share", "%", 5, "time of the layer, of the observation"}},
    .is_general = true,
    .find = find,
};
