// SPDX-License-Identifier: Apache-2.0
// A14, layer roofline: A11's points with the roofs they lie under and, apart from what was measured, the analytic work of
// each layer. Where no kernels were recorded, the analytic points of the layers alone.
#include "analyze/kernels/a14_layer_roofline.h"

#include "analyze/a_list.h"
#include "analyze/kernels/a11_kernel_layers.h"

#include <math.h>

// ---- loading --------------------------------------------------------------------------------------------------------
static bool has_any(const struct question *question, bool (*has_levels)(const struct view *view, int64_t batch_size))
{
  const struct view *view = question->view;
  for (size_t i = 0; i < view->set_count; i++)
    if ((question->request->batch == 0 || view->sets[i].batch_size == question->request->batch) &&
        has_levels(view, view->sets[i].batch_size))
      return true;
  return false;
}

enum status layer_rooflines_load(struct question *question, struct layer_rooflines *ret, struct error *err)
{
  bool has_metrics = has_any(question, kernels_exist_by_layer_with_metrics);
  *ret = (struct layer_rooflines){.has_kernels = has_any(question, kernels_exist_by_layer)};
  if (ret->has_kernels) {
    const struct kernels *kernels = &ret->kernels;
    XSP_TRY(kernel_layers_load(question, has_metrics, &ret->kernels, &ret->roofs, err));
    ret->count = kernels->layers_listed;
    const struct view_set *set = kernels->layer_set != NULL ? kernels->layer_set : kernels->set;
    XSP_TRY(flops_layers_load(question, &kernels->layers, set, &ret->work, err));
    if (!kernels_have_metrics(kernels) && !ret->work.has_any)
      return question_lacks(question, err,
                            "no kernel has flops, dram_read_bytes or dram_write_bytes, and the shapes of its "
                            "layers are not recorded");
    return STATUS_OK;
  }
  XSP_TRY(layers_answer(question, LAYERS_FOR_LATENCY, &ret->layers, err));
  XSP_TRY(flops_layers_load(question, &ret->layers, ret->layers.set, &ret->work, err));
  if (!ret->work.has_any)
    return question_lacks(question, err,
                          "there is no run with the layer and kernel levels, and the shapes of its layers "
                          "are not recorded");
  ret->count = ret->layers.count;
  return roofs_load(question, &ret->roofs, err);
}

// Products of half-precision matrices go to the matrix units where the machine has such. No other type's roof stands in.
const struct roof *roof_analytic(const struct roofs *roofs, const struct flop_counts *counts)
{
  static const struct roof none = {NULL, NAN, NAN, NAN};
  if (!counts->element.is_float || counts->element.bytes == 4)
    return &roofs->of[PRECISION_SINGLE];
  if (counts->element.bytes == 8)
    return &roofs->of[PRECISION_DOUBLE];
  if (counts->element.bytes == 2)
    return &roofs->of[roofs->of[PRECISION_TENSOR].precision != NULL ? PRECISION_TENSOR : PRECISION_HALF];
  return &none; // of one byte
}

// ---- rows -----------------------------------------------------------------------------------------------------------
struct analytic { // over all layers
  double flops, multiply_adds, latency_ms, unknown_ms;
  size_t known, above_roof, without_roof; // without_roof: though the single-precision one is known
};

static void put_analytic(struct table_builder *table, const struct roofs *roofs, const struct flop_counts *counts,
                         double latency_ms, struct analytic *sum)
{
  double flops = flop_counts_flops(counts);
  const struct roof *roof = roof_analytic(roofs, counts);
  double intensity = roof_intensity(flops, counts->bytes);
  double throughput = roof_throughput_flops_per_s(flops, latency_ms);
  struct table_cell above = roof_is_exceeded(roof, intensity, throughput);
  table_put_optional(table, "analytic_flops", cell_number(flops));
  table_put_optional(table, "analytic_bytes", cell_number(counts->bytes));
  table_put_optional(table, "analytic_intensity", cell_real(intensity));
  table_put_optional(table, "analytic_throughput_flops_per_s", cell_real(throughput));
  table_put_optional(table, "analytic_bound", cell_text(roof_bound(roof, intensity)));
  table_put_optional(table, "analytic_precision", cell_text(isnan(flops) ? NULL : roof->precision));
  table_put_optional(table, "analytic_above_roof", above);
  table_put_optional(table, "multiply_adds", cell_number(counts->multiply_adds));
  table_put_optional(table, "adds", cell_number(counts->adds));
  table_put_optional(table, "compares", cell_number(counts->compares));
  table_put_optional(table, "specials", cell_number(counts->specials));
  sum->latency_ms += isnan(latency_ms) ? 0 : latency_ms;
  if (isnan(flops)) {
    sum->unknown_ms += isnan(latency_ms) ? 0 : latency_ms;
    return;
  }
  sum->known++;
  sum->flops += flops;
  sum->multiply_adds += counts->multiply_adds;
  sum->without_roof += flops > 0 && roof->precision == NULL && roofs->of[PRECISION_SINGLE].precision != NULL;
  sum->above_roof += above.type == CELL_BOOL && above.value.truth;
}

static void put_row(struct table_builder *table, const struct layer_rooflines *rooflines,
                    const struct kernel_layer *row, const struct flop_counts *counts, struct analytic *sum)
{
  const struct roofs *roofs = &rooflines->roofs;
  double kernels_ms = row->figures.latency.value;
  kernel_layer_put(table, row);
  roof_put(table, row->point.precision != NULL ? row->point.roof : &roofs->of[PRECISION_SINGLE]);
  // By kernel latency, as the measured points; a layer that runs on the CPU has none.
  put_analytic(table, roofs, counts, kernels_ms > 0 ? kernels_ms : row->layer_ms, sum);
}

// The row of a layer without kernels.
static struct kernel_layer layer_alone(struct question *question, const struct layers *layers,
                                       const struct layer *layer)
{
  struct kernel_layer row = {
      .layer = layer,
      .figures = kernel_figures_none,
      .latency_pct = NAN,
      .point = {.intensity = NAN, .throughput_flops_per_s = NAN},
      .is_partial = layer->present < layers->observation_count,
      .layer_from = layers->source.from,
      .source = &layers->source,
      .request = question->request,
  };
  struct figure latency = layer_latency(question, layers, layer);
  row.layer_ms = latency.value;
  row.figures.latency = latency;
  row.figures.latency.value = NAN; // kernels'
  return row;
}

static void summarize(struct table_builder *table, const struct analytic *sum, size_t layers)
{
  bool is_any = sum->known > 0;
  double unknown_pct = analyze_share_pct(sum->unknown_ms, sum->latency_ms);
  table_summary(table, "analytic_flops", cell_number(is_any ? sum->flops : NAN));
  table_summary(table, "analytic_multiply_adds", cell_number(is_any ? sum->multiply_adds : NAN));
  table_summary(table, "analytic_unknown_layers", cell_int((int64_t)(layers - sum->known)));
  table_summary(table, "analytic_unknown_pct", cell_real(unknown_pct));
  table_summary(table, "analytic_above_roof", cell_int((int64_t)sum->above_roof));
  if (!is_any)
    return;
  table_note(table,
             "analytic figures follow from shapes, not from counters: flops = 2 * multiply_adds + adds + compares + "
             "specials; bytes: inputs, weights and outputs, each moved once");
  if (sum->known < layers)
    table_note(table, "the analytic work of %zu of %zu layers (%.3g %% of their time) is not known: sums lack it",
               layers - sum->known, layers, isnan(unknown_pct) ? 0.0 : unknown_pct);
  if (sum->without_roof > 0)
    table_note(table,
               "%zu layers compute in a type whose peak is not known (double, half or narrower): they have no roof",
               sum->without_roof);
  if (sum->above_roof > 0)
    table_note(table,
               "%zu layers lie above their analytic roof: algorithms that compute less (Winograd, Fourier), data that "
               "stayed in "
               "caches, arithmetic in another precision than the tensors' (TF32), or suspect counting",
               sum->above_roof);
}

static enum status answer(struct question *question, struct error *err)
{
  struct table_builder *table = &question->table;
  struct layer_rooflines rooflines;
  struct kernel_groups groups = {0};
  struct analytic sum = {0};
  XSP_TRY(layer_rooflines_load(question, &rooflines, err));
  if (rooflines.has_kernels)
    groups = kernels_group_by_layer(question, &rooflines.kernels);
  struct kernel_layer empty = layer_alone(question, &rooflines.layers, &(struct layer){0});
  put_row(table, &rooflines, &empty, &flop_counts_unknown, &(struct analytic){0});
  table_declared(table, rooflines.count);
  for (size_t i = 0; i < rooflines.count; i++) {
    struct kernel_layer row = rooflines.has_kernels
                                  ? kernel_layer(question, &rooflines.kernels, &groups, &rooflines.roofs, i)
                                  : layer_alone(question, &rooflines.layers, &rooflines.layers.items[i]);
    put_row(table, &rooflines, &row, &rooflines.work.items[i], &sum);
  }
  if (rooflines.has_kernels)
    kernel_layers_summarize(question, &rooflines.kernels);
  summarize(table, &sum, rooflines.count);
  roofs_note(question, &rooflines.roofs);
  if (rooflines.has_kernels)
    kernels_note_lacking(question, &rooflines.kernels);
  else
    table_note(table, "no kernels were recorded: points are analytic, over the layers' own latency");
  return STATUS_OK;
}

const struct analysis analysis_a14 = {.id = "A14",
                                      .title = "layer roofline",
                                      .summary = "layers under the machine's roofs",
                                      .needs = "L/K",
                                      .main_figure = "layer_latency_ms",
                                      .answer = answer};
