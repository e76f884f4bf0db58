// SPDX-License-Identifier: Apache-2.0
// T9, the models in depth at their optimal batch sizes, as the paper's Table IX: the GPU's share of the latency, flops
// and traffic, their roof, and the third of the model in which each of them is. One row per experiment.
#include "analyze/models/t9_depth.h"

#include "analyze/a_list.h"
#include "analyze/kernels/a12_layer_metrics.h"
#include "analyze/kernels/a14_layer_roofline.h"

#include <math.h>
#include <string.h>

static bool has_model(const struct view *view, int64_t batch_size)
{
  return view_rule(view, batch_size, XSP_LEVEL_MODEL, NULL) != NULL;
}

// All figures of a row are of one batch size: by the default rule, of those that have the deepest levels.
static enum status choose_batch(struct question *question, struct error *err)
{
  static bool (*const levels[])(const struct view *, int64_t) = {kernels_exist_by_layer, view_has_layers, kernels_exist,
                                                                 has_model};
  enum status status = STATUS_NO;
  for (size_t i = 0; i < sizeof levels / sizeof levels[0] && status == STATUS_NO; i++)
    status = question_batch(question, levels[i], "the model, layer or kernel level", err);
  return status;
}

// Of this precision; single where none is named, or where its peak is not known.
static struct roof roof_of(const struct roofs *roofs, const char *precision)
{
  for (size_t i = 0; i < PRECISION_COUNT && precision != NULL; i++)
    if (strcmp(precision_names[i], precision) == 0 && !isnan(roofs->of[i].peak_flops_per_s))
      return roofs->of[i];
  return roofs->of[PRECISION_SINGLE];
}

// ---- one experiment -------------------------------------------------------------------------------------------------
static void take_model(struct survey *survey, const struct batches *batches, struct model_depth *depth)
{
  const struct batch_point *point = batches_find(batches, depth->batch_size);
  if (point == NULL)
    return;
  depth->has_model = true;
  depth->latency_ms = point->latency.value;
  depth->latency = point->latency;
  depth->from = survey_text(survey, point->from);
  depth->has_optimal = batches->optimal != SIZE_MAX;
  if (depth->has_optimal)
    depth->optimal_batch = batches->points[batches->optimal].batch_size;
  survey->observations += (int64_t)depth->latency.count;
}

static void take_kernels(struct survey *survey, struct model_depth *depth)
{
  depth->has_kernels = true;
  depth->kernel_from = survey_text(survey, depth->kernels.from);
  depth->flops = depth->kernels.figures.metrics[KERNEL_FLOPS];
  depth->flops_from = isnan(depth->flops) ? NULL : "measured";
  depth->precision = depth->kernels.point.precision;
}

static const char *stage_of(const double thirds[3])
{
  return thirds[0] > 0 || thirds[1] > 0 || thirds[2] > 0 ? layers_thirds_of(thirds).stage : NULL;
}

// Layers that move data and compute nothing have known flops: 0. Those alone are no figure of the model, unless it has no
// other layers.
static struct analytic_work add_up(const struct layer_rooflines *rooflines)
{
  struct analytic_work sum = {.flops = 0, .layers = rooflines->count};
  double flops_by_third[3] = {0}, bytes_by_third[3] = {0}, both_flops = 0, both_bytes = 0, most_flops = -1;
  size_t known_bytes = 0, known = 0;
  for (size_t i = 0; i < rooflines->count; i++) {
    const struct flop_counts *counts = &rooflines->work.items[i];
    double flops = flop_counts_flops(counts), bytes = counts->bytes;
    size_t third = 3 * i / rooflines->count;
    known_bytes += isnan(bytes) ? 0 : 1;
    bytes_by_third[third] += isnan(bytes) ? 0 : bytes;
    if (isnan(flops))
      continue;
    known++;
    sum.flops += flops;
    flops_by_third[third] += flops;
    both_flops += isnan(bytes) ? 0 : flops;
    both_bytes += isnan(bytes) ? 0 : bytes;
    if (flops > most_flops) {
      most_flops = flops;
      sum.roof = *roof_analytic(&rooflines->roofs, counts);
    }
  }
  sum.unknown_layers = sum.layers - known;
  sum.is_known = known > 0 && (sum.flops > 0 || known == sum.layers);
  sum.bytes = known_bytes > 0 ? bytes_by_third[0] + bytes_by_third[1] + bytes_by_third[2] : NAN;
  sum.intensity = roof_intensity(both_flops, both_bytes);
  sum.flops_stage = stage_of(flops_by_third);
  sum.traffic_stage = stage_of(bytes_by_third);
  return sum;
}

// Analytic figures have columns of their own; analytic flops also replace counters that were not read.
static void take_analytic(struct model_depth *depth)
{
  struct analytic_work *work = &depth->analytic;
  if (isnan(depth->flops)) {
    depth->flops = work->flops;
    depth->flops_from = "analytic";
    depth->flops_stage = work->flops_stage;
    depth->precision = work->roof.precision;
    depth->roof = work->roof;
  }
  work->throughput_flops_per_s = roof_throughput_flops_per_s(work->flops, depth->latency_ms);
  work->bound = roof_bound(&depth->roof, work->intensity);
}

// The thirds of A3, A4 and A12 and the work of A14, over the layers that compute.
static enum status load_layers(struct survey *survey, const struct survey_item *item, struct model_depth *depth,
                               struct error *err)
{
  struct question *question;
  struct layers layers;
  struct layer_rooflines rooflines;
  struct layer_metrics metrics;
  XSP_TRY(survey_question(survey, item, depth->batch_size, true, &question, err));
  enum status status = layers_answer(question, LAYERS_FOR_LATENCY, &layers, err);
  depth->has_layers = status == STATUS_OK;
  if (status == STATUS_OK) {
    depth->layer_from = survey_text(survey, layers.count > 0 ? layers.source.from : NULL);
    depth->latency_stage = layers_thirds(question, &layers, LAYER_LATENCY).stage;
    XSP_TRY(survey_question(survey, item, depth->batch_size, true, &question, err));
    status = layers_answer(question, LAYERS_FOR_MEMORY, &layers, err); // of M/L, whatever answers for latencies
    if (status == STATUS_OK)
      status = layers_need_alloc(question, &layers, err);
    depth->has_alloc = status == STATUS_OK;
    if (depth->has_alloc)
      depth->memory_stage = layers_thirds(question, &layers, LAYER_ALLOC).stage;
  }
  XSP_TRY(survey_check(survey, item, status == STATUS_NO ? STATUS_OK : status));
  XSP_TRY(survey_question(survey, item, depth->batch_size, true, &question, err));
  status = layer_rooflines_load(question, &rooflines, err);
  if (status != STATUS_OK)
    return survey_check(survey, item, status == STATUS_NO ? STATUS_OK : status);
  if (rooflines.has_kernels && kernels_have_metrics(&rooflines.kernels)) {
    layer_metrics_find(question, &rooflines.kernels, &metrics);
    depth->flops_stage = metrics.thirds[SERIES_FLOPS].stage;
    depth->traffic_stage = metrics.thirds[SERIES_DRAM].stage;
  }
  depth->analytic = add_up(&rooflines);
  if (depth->analytic.is_known)
    take_analytic(depth);
  return STATUS_OK;
}

enum status model_depth_load(struct survey *survey, const struct survey_item *item, struct model_depth *ret,
                             struct error *err)
{
  struct question *question;
  struct batches batches;
  struct roofs roofs;
  *ret = (struct model_depth){
      .latency_ms = NAN,
      .latency = {.occurrence = NAN},
      .kernels = {.gpu_pct = NAN,
                  .figures = {.latency = {.value = NAN}, .metrics = {NAN, NAN, NAN, NAN}},
                  .point = {.intensity = NAN, .throughput_flops_per_s = NAN}},
      .flops = NAN,
      .roof = {NULL, NAN, NAN, NAN},
  };
  XSP_TRY(survey_question(survey, item, survey->request->batch, false, &question, err));
  enum status status = roofs_load(question, &roofs, err);
  if (status == STATUS_OK)
    status = choose_batch(question, err);
  if (status == STATUS_NO)
    return STATUS_OK;
  XSP_TRY(survey_check(survey, item, status));
  ret->has_any = true;
  ret->batch_size = question->batch_size;
  XSP_TRY(survey_check(survey, item, question_batches(question, &batches, err)));
  take_model(survey, &batches, ret);
  status = kernels_exist(question->view, ret->batch_size)
               ? kernel_model_load(question, ret->batch_size, &roofs, &ret->kernels, err)
               : STATUS_NO;
  if (status == STATUS_OK)
    take_kernels(survey, ret);
  else
    XSP_TRY(survey_check(survey, item, status == STATUS_NO ? STATUS_OK : status));
  ret->roof = roof_of(&roofs, ret->precision);
  return load_layers(survey, item, ret, err);
}

enum status model_depth_lacks(const struct survey *survey, struct error *err)
{
  return survey_lacks(survey, err,
                      survey->request->batch == 0
                          ? "no experiment has a run with the model, layer or kernel level"
                          : "no experiment has a run with the model, layer or kernel level at this batch size");
}

// ---- the table ------------------------------------------------------------------------------------------------------
static void note_model(struct survey *survey, const struct survey_item *item, const struct model_depth *depth)
{
  if (!depth->has_model) {
    survey_note(survey, item, "without the model level: no latency");
    return;
  }
  if (depth->from != NULL)
    survey_note(survey, item, "model latencies come from a deeper level: its overhead is included");
  if (!depth->has_optimal)
    survey_note(survey, item, "optimal batch size not reached");
  else if (survey->request->batch == 0 && depth->optimal_batch != depth->batch_size)
    survey_note(survey, item, "deeper levels were not recorded at the optimal batch size: see batch_size");
}

static void note(struct survey *survey, const struct survey_item *item, const struct model_depth *depth)
{
  if (!depth->has_any) {
    survey_note(survey, item,
                survey->request->batch != 0 ? "not measured at this batch size"
                                            : "without the model, layer and kernel levels");
    return;
  }
  note_model(survey, item, depth);
  if (!depth->has_kernels)
    survey_note(survey, item, "without the kernel level: no GPU share, no traffic, no occupancy");
  else if (depth->flops_from == NULL || strcmp(depth->flops_from, "measured") != 0)
    survey_note(survey, item, "kernels without metrics: no traffic, no occupancy");
  if (!depth->has_layers)
    survey_note(survey, item, "without the layer level: no stages");
  else if (!depth->has_alloc && depth->latency_stage != NULL)
    survey_note(survey, item, "layers without alloc_bytes: no stage of memory");
  if (depth->layer_from != NULL)
    survey_note(survey, item, "layer latencies come from a deeper level: its overhead is included");
  if (depth->flops_from == NULL)
    survey_note(survey, item, "flops neither measured nor known from shapes");
  else if (strcmp(depth->flops_from, "analytic") == 0)
    survey_note(survey, item,
                depth->analytic.unknown_layers > 0
                    ? "flops follow from shapes and are partial: layers_without_flops says how many layers they lack"
                    : "flops follow from shapes, not from counters, as all that is analytic (an.)");
}

static void put_row(struct survey *survey, const struct survey_item *item, const struct model_depth *depth)
{
  struct table_builder *table = &survey->table;
  const struct analytic_work *work = &depth->analytic;
  const struct kernel_model *kernels = &depth->kernels;
  bool is_known = work->is_known;
  bool is_analytic = depth->flops_from != NULL && strcmp(depth->flops_from, "analytic") == 0;
  table_row(table);
  table_put(table, "model_name", cell_text(item->model_name));
  table_put(table, "framework", cell_text(item->of.experiment->framework));
  table_put(table, "system", cell_text(item->system_name));
  table_put(table, "task", survey_workload_cell(item, "task"));
  analyze_put_batch(table, depth->batch_size);
  table_put(table, "optimal_batch", cell_int_if(depth->has_optimal, depth->optimal_batch));
  table_put(table, "latency_ms", cell_real(depth->latency_ms));
  table_put(table, "kernel_latency_ms", cell_real(kernels->figures.latency.value));
  table_put_share(table, "gpu_pct", KERNELS_SUM_OF_MODEL, cell_real(kernels->gpu_pct));
  table_put(table, "flops", cell_number(depth->flops));
  table_put(table, "flops_from", cell_text(depth->flops_from));
  table_put(table, "layers_without_flops", cell_int_if(is_analytic, (int64_t)work->unknown_layers));
  kernel_put_traffic(table, &kernels->figures, &kernels->point);
  table_put(table, "latency_stage", cell_text(depth->latency_stage));
  table_put(table, "memory_stage", cell_text(depth->memory_stage));
  table_put(table, "flops_stage", cell_text(depth->flops_stage));
  table_put(table, "traffic_stage", cell_text(depth->traffic_stage));
  table_put(table, "precision", cell_text(depth->precision));
  roof_put(table, &depth->roof);
  table_put(table, "analytic_bytes", cell_number(is_known ? work->bytes : NAN));
  table_put(table, "analytic_intensity", cell_real(is_known ? work->intensity : NAN));
  table_put(table, "analytic_throughput_flops_per_s", cell_real(is_known ? work->throughput_flops_per_s : NAN));
  table_put(table, "analytic_bound", cell_text(is_known ? work->bound : NULL));
  table_put(table, "analytic_traffic_stage", cell_text(is_known ? work->traffic_stage : NULL));
  analyze_put_spread(table, &depth->latency); // of the model's latency
  analyze_put_from(table, "latency_from", depth->from);
  analyze_put_from(table, "layer_latency_from", depth->layer_from);
  analyze_put_from(table, "kernel_latency_from", depth->kernel_from);
}

static enum status answer_all(struct survey *survey, struct error *err)
{
  bool is_any = false;
  for (size_t i = 0; i < survey->count; i++) {
    struct model_depth depth;
    XSP_TRY(model_depth_load(survey, &survey->items[i], &depth, err));
    note(survey, &survey->items[i], &depth);
    put_row(survey, &survey->items[i], &depth);
    survey_next(survey);
    is_any |= depth.has_any;
  }
  if (!is_any)
    return model_depth_lacks(survey, err);
  table_note(&survey->table,
             "B, M, E: the first, middle or last third, in execution order, of the layers except constants, variables, "
             "inputs, outputs and control");
  return STATUS_OK;
}

const struct analysis analysis_t9 = {
    .id = "T9",
    .title = "models at their optimal batch sizes",
    .summary = "models at their optimal batch sizes: GPU share, flops, traffic, bound, demanding thirds",
    .needs = "M, L, K",
    .answer_all = answer_all};
