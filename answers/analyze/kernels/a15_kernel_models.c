// SPDX-License-Identifier: Apache-2.0
// A15, kernels by model: per batch size what all kernels together take, do and are bound by.
#include "analyze/kernels/a15_kernel_models.h"

#include "analyze/a_list.h"

#include <stdio.h>

struct kernel_model kernel_model(struct question *question, const struct kernels *kernels, const struct roofs *roofs)
{
  struct kernel_model model = {
      .batch_size = kernels->batch_size,
      .model_ms = kernels->model_latency_ms,
      .gpu_ms = question_value(question, kernels->set, kernels->gpu_ms),
      .figures = kernels_figures_of_all(question, kernels),
      .from = kernels_from(kernels),
      .model_from = kernels->model_from,
  };
  char what[64] = "non-GPU latency";
  if (kernels->batch_size != 0) // unknown for programs that are not models
    snprintf(what, sizeof what, "non-GPU latency at batch size %lld", (long long)kernels->batch_size);
  model.non_gpu_ms = question_difference_ms(question, model.model_ms, model.gpu_ms, what);
  model.gpu_pct = analyze_share_pct(model.figures.latency.value, model.model_ms);
  kernel_point(question, roofs, &model.figures, &model.point);
  return model;
}

enum status kernel_model_load(struct question *question, int64_t batch_size, const struct roofs *roofs,
                              struct kernel_model *ret_model, struct error *err)
{
  struct kernels kernels;
  XSP_TRY(kernels_load(question, batch_size, KERNELS_BY_MODEL, &kernels, err));
  *ret_model = kernel_model(question, &kernels, roofs);
  return STATUS_OK;
}

static void put_row(struct question *question, const struct kernel_model *model)
{
  struct table_builder *table = &question->table;
  table_row(table);
  analyze_put_batch(table, model->batch_size);
  table_put(table, "model_latency_ms", cell_real(model->model_ms));
  table_put_share(table, "busy_pct", "model", cell_real(analyze_share_pct(model->gpu_ms, model->model_ms)));
  kernel_put_gpu(table, model->figures.latency.value, model->gpu_ms, model->non_gpu_ms, KERNELS_SUM_OF_MODEL,
                 model->gpu_pct);
  table_put(table, "count", cell_number(model->figures.count));
  kernel_put_metrics(table, &model->figures, &model->point);
  kernel_put_further(table, question->request, &model->figures);
  analyze_put_spread(table, &model->figures.latency);
  analyze_put_from(table, "latency_from", model->from);
  analyze_put_from(table, "model_latency_from", model->model_from);
}

struct answer {
  struct roofs roofs;
  bool has_metrics;
};

static enum status add_batch(struct question *question, int64_t batch_size, void *context, struct error *err)
{
  struct answer *answer = context;
  struct kernels kernels;
  XSP_TRY(kernels_load(question, batch_size, KERNELS_BY_MODEL, &kernels, err));
  struct kernel_model model = kernel_model(question, &kernels, &answer->roofs);
  put_row(question, &model);
  question_uses(question, kernels.set);
  kernels_note(question, &kernels);
  question_note_from(question, "model", kernels.model_from);
  answer->has_metrics |= kernels.has_metric[KERNEL_FLOPS];
  return STATUS_OK;
}

static enum status answer(struct question *question, struct error *err)
{
  struct answer answer = {0};
  size_t batches;
  XSP_TRY(roofs_load(question, &answer.roofs, err));
  XSP_TRY(kernels_each_batch(question, add_batch, &answer, &batches, err));
  if (answer.has_metrics)
    roofs_note(question, &answer.roofs);
  return STATUS_OK;
}

const struct analysis analysis_a15 = {.id = "A15",
                                      .title = "kernels by model",
                                      .summary = "kernels by batch size",
                                      .needs = "K",
                                      .detail = TRACE_KERNELS_BY_OBSERVATION,
                                      .answer = answer};
