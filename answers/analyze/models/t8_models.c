// SPDX-License-Identifier: Apache-2.0
// T8, the models side by side, as the paper's Table VIII: what each is for, how large it is, how fast at one input and at
// its best, and how much of it is convolutions. One row per experiment.
#include "analyze/models/t8_models.h"

#include "analyze/a_list.h"
#include "analyze/layers/a6_type_latency.h"
#include "analyze/runs/a1_energy.h"

#include <math.h>
#include <string.h>

static enum status read_energy(const struct question *question, const struct batches *batches,
                               struct model_summary *ret, struct error *err)
{
  const struct batch_point *point =
      batches->optimal != SIZE_MAX ? &batches->points[batches->optimal] : batches_find(batches, 1);
  return point == NULL ? STATUS_OK : analyze_energy_per_input(question, point, &ret->joules_per_input, err);
}

static void read_latency(struct survey *survey, const struct batches *batches, struct model_summary *ret)
{
  const struct batch_point *online = batches_find(batches, 1);
  ret->has_latency = true;
  ret->has_maximum = batches->maximum != SIZE_MAX;
  ret->has_optimal = batches->optimal != SIZE_MAX;
  if (online != NULL) {
    ret->online_ms = online->latency.value;
    ret->online = online->latency;
  }
  if (ret->has_maximum) {
    ret->maximum_per_s = batches->points[batches->maximum].throughput_per_s;
    ret->maximum_batch = batches->points[batches->maximum].batch_size;
  }
  if (ret->has_optimal)
    ret->optimal_batch = batches->points[batches->optimal].batch_size;
  ret->from = survey_text(survey, online != NULL ? online->from : batches->points[0].from);
  for (size_t i = 0; i < batches->count; i++)
    survey->observations += (int64_t)batches->points[i].set->observation_count;
}

enum status model_summary_load(struct survey *survey, const struct survey_item *item, struct model_summary *ret,
                               struct error *err)
{
  struct question *question;
  struct batches batches;
  struct type_latencies latencies;
  *ret = (struct model_summary){.online_ms = NAN,
                                .online = {.occurrence = NAN},
                                .maximum_per_s = NAN,
                                .joules_per_input = NAN,
                                .convolution_pct = NAN,
                                .dominant_pct = NAN};
  XSP_TRY(survey_question(survey, item, 0, false, &question, err));
  XSP_TRY(survey_check(survey, item, question_batches(question, &batches, err)));
  if (batches.count > 0)
    read_latency(survey, &batches, ret);
  XSP_TRY(survey_check(survey, item, read_energy(question, &batches, ret, err)));
  XSP_TRY(survey_question(survey, item, survey->request->batch, false, &question, err));
  enum status status = type_latencies_load(question, &latencies, err);
  if (status == STATUS_NO)
    return STATUS_OK;
  XSP_TRY(survey_check(survey, item, status));
  ret->has_layers = true;
  ret->layer_batch = question->batch_size;
  ret->convolution_pct = latencies.convolution_pct_of_model;
  ret->layer_from = survey_text(survey, latencies.types.count > 0 ? latencies.layers.source.from : NULL);
  if (latencies.types.count > 0) {
    size_t dominant = latencies.types.order[0];
    ret->dominant_type = survey_text(survey, latencies.types.names[dominant]);
    ret->dominant_pct = types_share_pct(latencies.types.values[dominant], latencies.types.total);
  }
  return STATUS_OK;
}

static void note(struct survey *survey, const struct survey_item *item, const struct model_summary *model)
{
  bool is_one_batch = survey->request->batch != 0;
  if (!model->has_latency)
    survey_note(survey, item, "without the model level: no latency, no throughput");
  if (model->has_latency && isnan(model->online_ms))
    survey_note(survey, item, "not measured at batch size 1: no online latency");
  if (model->has_latency && !model->has_optimal)
    survey_note(survey, item, "optimal batch size not reached");
  if (model->from != NULL)
    survey_note(survey, item, "model latencies come from a deeper level: its overhead is included");
  if (!model->has_layers)
    survey_note(survey, item,
                is_one_batch ? "without the layer level at this batch size: no share of convolutions"
                             : "without the layer level: no share of convolutions");
  if (model->layer_from != NULL)
    survey_note(survey, item, "layer latencies come from a deeper level: its overhead is included");
  if (model->has_layers && model->has_optimal && !is_one_batch && model->optimal_batch != model->layer_batch)
    survey_note(survey, item, "layers were not recorded at the optimal batch size: see batch_size");
}

// ---- how right the model is ------------------------------------------------------------------------------------------
static double number_of(const struct store_system_value *value)
{
  return value != NULL && value->is_number ? value->number : NAN;
}

static bool is_same_text(const struct store_system_value *a, const struct store_system_value *b)
{
  return a != NULL && b != NULL && a->text != NULL && b->text != NULL && strcmp(a->text, b->text) == 0;
}

// The evaluation of this experiment, else the largest one of the same file of the model in the same framework. NULL: none.
static const struct survey_item *find_evaluation(const struct survey *survey, const struct survey_item *item)
{
  const struct survey_item *found = item->evaluation_count > 0 ? item : NULL;
  const char *framework = item->of.experiment->framework;
  for (size_t i = 0; i < survey->count && found != item; i++) {
    const struct survey_item *other = &survey->items[i];
    const char *its = other->of.experiment->framework;
    bool is_same = is_same_text(survey_workload(item, "sha256"), survey_workload(other, "sha256")) &&
                   framework != NULL && its != NULL && strcmp(framework, its) == 0;
    if (is_same && other->evaluation_count > 0 &&
        (found == NULL ||
         number_of(survey_evaluation(other, "inputs")) > number_of(survey_evaluation(found, "inputs"))))
      found = other;
  }
  return found;
}

// The model's first metric that is known.
static void put_accuracy(struct survey *survey, const struct survey_item *item)
{
  static const char *const keys[] = {"reported.top1_pct", "reported.map_pct", "reported.miou_pct",
                                     "reported.exact_pct"};
  struct table_builder *table = &survey->table;
  const struct survey_item *evaluation = find_evaluation(survey, item);
  const struct store_system_value *data_set = NULL;
  double reported_pct = NAN, evaluated_pct = NAN;
  const char *metric = NULL;
  for (size_t i = 0; i < sizeof keys / sizeof keys[0] && metric == NULL; i++) {
    const char *key = strchr(keys[i], '.') + 1;
    reported_pct = number_of(survey_workload(item, keys[i]));
    evaluated_pct = evaluation != NULL ? number_of(survey_evaluation(evaluation, key)) : NAN;
    metric = isnan(reported_pct) && isnan(evaluated_pct) ? NULL : key;
  }
  if (!isnan(evaluated_pct))
    data_set = survey_evaluation(evaluation, "data_set");
  table_put_optional(table, "accuracy_metric", cell_text(metric));
  table_put_optional(table, "reported_accuracy_pct", cell_real(reported_pct));
  table_put_optional(table, "accuracy_pct", cell_real(evaluated_pct));
  table_put_optional(table, "data_set", cell_text(data_set != NULL ? data_set->text : NULL));
  table_put_optional(table, "reported_source", survey_workload_cell(item, "reported.source"));
}

static void put_row(struct survey *survey, const struct survey_item *item, const struct model_summary *model)
{
  struct table_builder *table = &survey->table;
  table_row(table);
  table_put(table, "model_name", cell_text(item->model_name));
  table_put(table, "framework", cell_text(item->of.experiment->framework));
  table_put(table, "framework_version", cell_text(item->of.experiment->framework_version));
  table_put(table, "system", cell_text(item->system_name));
  table_put(table, "task", survey_workload_cell(item, "task"));
  table_put(table, "graph_bytes", survey_workload_cell(item, "graph_bytes"));
  put_accuracy(survey, item);
  table_put(table, "online_latency_ms", cell_real(model->online_ms));
  table_put(table, "maximum_throughput_per_s", cell_real(model->maximum_per_s));
  table_put(table, "maximum_throughput_batch", cell_int_if(model->has_maximum, model->maximum_batch));
  table_put(table, "optimal_batch", cell_int_if(model->has_optimal, model->optimal_batch));
  table_put_optional(table, "joules_per_input", cell_real(model->joules_per_input));
  table_put_as(table, "batch_size", "layers at", cell_int_if(model->layer_batch != 0, model->layer_batch));
  table_put(table, "convolution_pct_of_model", cell_real(model->convolution_pct));
  table_put(table, "dominant_layer_type", cell_text(model->dominant_type));
  table_put_share(table, "dominant_layer_pct", "layers", cell_real(model->dominant_pct));
  analyze_put_spread(table, &model->online); // of the online latency
  analyze_put_from(table, "latency_from", model->from);
  analyze_put_from(table, "layer_latency_from", model->layer_from);
}

static enum status answer_all(struct survey *survey, struct error *err)
{
  bool is_any = false;
  for (size_t i = 0; i < survey->count; i++) {
    struct model_summary model;
    XSP_TRY(model_summary_load(survey, &survey->items[i], &model, err));
    note(survey, &survey->items[i], &model);
    put_row(survey, &survey->items[i], &model);
    survey_next(survey);
    is_any |= model.has_latency || model.has_layers;
  }
  if (!is_any)
    return survey_lacks(survey, err, "no experiment has a run with the model or the layer level");
  return STATUS_OK;
}

const struct analysis analysis_t8 = {
    .id = "T8",
    .title = "models",
    .summary = "models: task, size, latency, throughput, optimal batch size, share of convolutions",
    .needs = "M, L",
    .detail = TRACE_DEVICES_BY_LAYER,
    .answer_all = answer_all};
