// SPDX-License-Identifier: Apache-2.0
// F11, below the roof: kernels, by name, that take far longer than the machine needs for their arithmetic and their traffic; where
// no counters were read, layers, by the arithmetic that follows from their shapes.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/kernels/a14_layer_roofline.h"

#include <math.h>

struct work { // of a kernel or a layer, per observation
  const char *name;
  double ms, flops, bytes;
  double least_ms; // of all observations: other programs slow most of them on a busy machine
  const struct roof *roof;
  bool is_analytic;
};

// What the machine needs at least; NaN: unknown.
static double needed_of(const struct work *work)
{
  double compute_ms = 1e3 * work->flops / work->roof->peak_flops_per_s;
  double memory_ms = 1e3 * work->bytes / work->roof->memory_bandwidth_bytes_per_s;
  return isnan(compute_ms) || isnan(memory_ms) ? NAN : fmax(compute_ms, memory_ms);
}

static void judge(struct findings *findings, const struct work *work)
{
  double needed_ms = needed_of(work), roof_pct = analyze_share_pct(needed_ms, work->least_ms);
  double share = analyze_share_pct(work->ms, findings->latency_ms);
  if (!(needed_ms > 0) || !(roof_pct < findings_threshold(findings, "below_roof-roof")) ||
      !(share > findings_threshold(findings, "below_roof-share")))
    return;
  struct finding *finding = findings_add(findings);
  bool is_memory = work->bytes / work->roof->memory_bandwidth_bytes_per_s > work->flops / work->roof->peak_flops_per_s;
  finding->context = work->name;
  finding->time_ms = work->ms;
  finding->share_pct = share;
  finding->saving_ms = work->ms - needed_ms;
  finding->saving_basis = work->is_analytic
                              ? "its time, less that of its arithmetic and traffic (from shapes) at the machine's "
                                "peaks"
                              : "its time, less that of its arithmetic and traffic at the machine's peaks";
  finding->title = arena_format(findings->question->arena, "%s takes %s, %.3g %% of the speed that its %s allows",
                                findings_name(findings, work->name), findings_time(findings, work->ms), roof_pct,
                                is_memory ? "memory traffic" : "arithmetic");
  finding->advice = is_memory ? "access memory in order, or reuse what is loaded; larger batches"
                              : "other shapes or types, a library's or a compiled kernel, larger batches";
  finding->confidence = work->is_analytic ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM;
  finding_number(finding, "roof_pct", roof_pct);
  finding_number(finding, "flops", work->flops);
  finding_number(finding, "bytes", work->bytes);
}

static enum status judge_kernels(struct findings *findings, struct question *question, struct error *err)
{
  struct kernels kernels;
  struct roofs roofs;
  XSP_TRY(kernels_answer(question, KERNELS_ALONE, true, &kernels, err));
  XSP_TRY(roofs_load(question, &roofs, err));
  struct kernel_groups groups = kernels_group_by_name(question, &kernels);
  for (size_t i = 0; i < groups.count; i++) {
    struct kernel_figures figures;
    struct kernel_point point;
    kernel_groups_figures(&groups, i, &figures);
    kernel_point(question, &roofs, &figures, &point);
    struct work work = {arena_format(findings->question->arena, "%s", kernels.names[i]),
                        figures.latency.value,
                        figures.metrics[KERNEL_FLOPS],
                        figures.dram_bytes,
                        figures.latency.value,
                        point.roof,
                        false};
    if (work.roof != NULL && !isnan(work.ms))
      judge(findings, &work);
  }
  return STATUS_OK;
}

static double shortest_ms(const struct layers *layers, const struct layer *layer)
{
  double least_ms = NAN;
  for (size_t i = 0; i < layers->observation_count; i++)
    least_ms = fmin(least_ms, layer->latency_ms[layers->first_observation + i]);
  return least_ms;
}

static enum status judge_layers(struct findings *findings, struct question *question, struct error *err)
{
  struct layer_rooflines rooflines;
  XSP_TRY(layer_rooflines_load(question, &rooflines, err));
  const struct layers *layers = rooflines.has_kernels ? &rooflines.kernels.layers : &rooflines.layers;
  for (size_t i = 0; i < rooflines.count; i++) {
    const struct flop_counts *counts = &rooflines.work.items[i];
    const struct layer *layer = &layers->items[i];
    double ms = rooflines.has_kernels ? kernels_layer_gpu_ms(question, &rooflines.kernels, i)
                                      : layer_value(question, layers, layer, LAYER_LATENCY);
    struct work work = {findings_layer_name(findings, layer),
                        ms,
                        flop_counts_flops(counts),
                        counts->bytes,
                        rooflines.has_kernels ? ms : shortest_ms(layers, layer),
                        roof_analytic(&rooflines.roofs, counts),
                        true};
    if (ms > 0)
      judge(findings, &work);
  }
  return STATUS_OK;
}

static bool has_metrics(const struct findings *findings)
{
  const struct view *view = findings->question->view;
  for (size_t i = 0; i < view->set_count; i++)
    if (view->sets[i].batch_size == findings->set->batch_size && view->sets[i].levels.metrics)
      return true;
  return false;
}

static enum status find(struct findings *findings, struct error *err)
{
  struct question question;
  struct roofs roofs;
  XSP_TRY(findings_ask(findings, NULL, &question, err));
  XSP_TRY(roofs_load(&question, &roofs, err));
  if (isnan(roofs_choose(&roofs, NULL)->peak_flops_per_s))
    return findings_lack(findings, err, "the machine's peaks are unknown");
  return (has_metrics(findings) ? judge_kernels : judge_layers)(findings, &question, err);
}

const struct finding_rule finding_f11 = {
    .id = "F11",
    .key = "below_roof",
    .title = "kernels far below their roof",
    .thresholds = {{"below_roof-roof", "%", 30, "of the speed that arithmetic and traffic allow, less than"},
                   {"below_roof-share", "%", 10, "time of the kernel or layer, of the observation"}},
    .find = find,
};
