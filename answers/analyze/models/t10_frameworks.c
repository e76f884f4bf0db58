// SPDX-License-Identifier: Apache-2.0
// T10, one framework normalised to another, model by model, as the paper's Table X. One row for each pair of a model in two
// frameworks on one system.
#include "analyze/a_list.h"
#include "analyze/models/t8_models.h"
#include "analyze/models/t9_depth.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define FLOPS_DIFFER 0.05 // of the larger: above it two models of one name do not compute the same

// ---- who is compared with whom --------------------------------------------------------------------------------------
bool analyze_is_same_model(const char *a, const char *b)
{
  for (;;) {
    while (*a != 0 && !isalnum((unsigned char)*a) && (unsigned char)*a < 0x80)
      a++;
    while (*b != 0 && !isalnum((unsigned char)*b) && (unsigned char)*b < 0x80)
      b++;
    if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
      return false;
    if (*a == 0)
      return true;
    a++;
    b++;
  }
}

static const char *framework_of(const struct survey_item *item)
{
  return item->of.experiment->framework;
}

// "NAME", or "NAME==VERSION".
static bool is_base(const struct survey_item *item, const char *base)
{
  const char *framework = framework_of(item), *version = strstr(base, "==");
  size_t length = version != NULL ? (size_t)(version - base) : strlen(base);
  if (framework == NULL || strlen(framework) != length || strncasecmp(framework, base, length) != 0)
    return false;
  const char *own = item->of.experiment->framework_version;
  return version == NULL || (own != NULL && strcmp(own, version + 2) == 0);
}

static size_t count_models(const struct survey *survey, const char *framework)
{
  size_t models = 0;
  for (size_t i = 0; i < survey->count; i++) {
    bool is_new = is_base(&survey->items[i], framework);
    for (size_t k = 0; k < i && is_new; k++)
      is_new = !is_base(&survey->items[k], framework) ||
               !analyze_is_same_model(survey->items[k].model_name, survey->items[i].model_name);
    models += is_new;
  }
  return models;
}

// The request's, else the framework with most models, of equals the first.
static enum status choose_base(const struct survey *survey, const char **ret_base, struct error *err)
{
  size_t most = 0;
  *ret_base = survey->request->base;
  for (size_t i = 0; i < survey->count; i++) {
    const char *framework = framework_of(&survey->items[i]);
    if (survey->request->base != NULL && is_base(&survey->items[i], survey->request->base))
      return STATUS_OK;
    size_t models = survey->request->base != NULL || framework == NULL ? 0 : count_models(survey, framework);
    if (models > most) {
      most = models;
      *ret_base = framework;
    }
  }
  if (survey->request->base != NULL)
    return error_set(err, STATUS_USE, "cannot normalise to this framework", survey->request->base,
                     "--base NAME or --base NAME==VERSION; xsp analyze T8 shows which there are",
                     "no experiment is of it");
  if (*ret_base == NULL)
    return survey_lacks(survey, err, "no experiment says which framework it is of");
  return STATUS_OK;
}

static const struct survey_item *find_pair(const struct survey *survey, const struct survey_item *item,
                                           const char *base)
{
  for (size_t i = 0; i < survey->count; i++) {
    const struct survey_item *other = &survey->items[i];
    if (is_base(other, base) && other->system_number == item->system_number &&
        analyze_is_same_model(other->model_name, item->model_name))
      return other;
  }
  return NULL;
}

// ---- one pair -------------------------------------------------------------------------------------------------------
struct side {
  struct model_summary models; // as in T8
  struct model_depth depth;    // as in T9
  double online_non_gpu_ms;    // of the latency of one input; NaN: unknown
};
struct sides {
  const struct survey_item *item, *base_item;
  const struct side *own, *base;
};

static double ratio(double over, double under)
{
  return under > 0 ? over / under : NAN;
}

static enum status load_non_gpu_online(struct survey *survey, const struct survey_item *item, double *ret_ms,
                                       struct error *err)
{
  struct question *question;
  struct roofs roofs;
  struct kernel_model kernels;
  *ret_ms = NAN;
  XSP_TRY(survey_question(survey, item, 1, false, &question, err));
  if (!kernels_exist(question->view, 1))
    return STATUS_OK;
  enum status status = roofs_load(question, &roofs, err);
  if (status == STATUS_OK)
    status = kernel_model_load(question, 1, &roofs, &kernels, err);
  if (status == STATUS_OK)
    *ret_ms = kernels.non_gpu_ms;
  return survey_check(survey, item, status);
}

static enum status load_sides(struct survey *survey, struct side *sides, struct error *err)
{
  bool is_any = false;
  for (size_t i = 0; i < survey->count; i++) {
    const struct survey_item *item = &survey->items[i];
    int64_t observations = 0;
    XSP_TRY(model_summary_load(survey, item, &sides[i].models, err));
    observations = survey->observations;
    XSP_TRY(model_depth_load(survey, item, &sides[i].depth, err));
    survey->observations = observations; // the same ones again
    XSP_TRY(load_non_gpu_online(survey, item, &sides[i].online_non_gpu_ms, err));
    survey_next(survey);
    is_any |= sides[i].depth.has_any;
  }
  return is_any ? STATUS_OK : model_depth_lacks(survey, err);
}

// Networks of one name may differ in more than the framework.
static void note_flops(struct survey *survey, const struct sides *sides)
{
  const struct model_depth *own = &sides->own->depth, *base = &sides->base->depth;
  if (own->flops_from == NULL || base->flops_from == NULL)
    return;
  double own_flops = ratio(own->flops, (double)own->batch_size);
  double base_flops = ratio(base->flops, (double)base->batch_size);
  if (strcmp(own->flops_from, base->flops_from) != 0)
    survey_note(survey, sides->item,
                "flops of the two do not compare: one side's are measured, the other's follow from shapes");
  else if (fabs(own_flops - base_flops) > FLOPS_DIFFER * fmax(own_flops, base_flops))
    survey_note(survey, sides->item,
                "flops an input of the two differ by more than 5 %: another network, or one side's are partial");
}

static void put_latencies(struct table_builder *table, const struct sides *sides)
{
  const struct side *own = sides->own, *base = sides->base;
  table_put(table, "online_latency_ms", cell_real(own->models.online_ms));
  table_put(table, "base_online_latency_ms", cell_real(base->models.online_ms));
  table_put(table, "maximum_throughput_per_s", cell_real(own->models.maximum_per_s));
  table_put(table, "base_maximum_throughput_per_s", cell_real(base->models.maximum_per_s));
  table_put(table, "online_non_gpu_latency_ms", cell_real(own->online_non_gpu_ms));
  table_put(table, "base_online_non_gpu_latency_ms", cell_real(base->online_non_gpu_ms));
}

static void put_depth(struct table_builder *table, const struct model_depth *own, const struct model_depth *base)
{
  analyze_put_batch(table, own->batch_size);
  table_put(table, "base_batch_size", cell_int_if(base->batch_size != 0, base->batch_size));
  table_put_share(table, "gpu_pct", KERNELS_SUM_OF_MODEL, cell_real(own->kernels.gpu_pct));
  table_put(table, "base_gpu_pct", cell_real(base->kernels.gpu_pct));
  table_put(table, "flops", cell_number(own->flops));
  table_put(table, "flops_from", cell_text(own->flops_from));
  table_put(table, "base_flops", cell_number(base->flops));
  table_put(table, "base_flops_from", cell_text(base->flops_from));
  kernel_put_traffic(table, &own->kernels.figures, &own->kernels.point);
  table_put(table, "base_bound", cell_text(base->kernels.point.bound));
}

static void put_row(struct survey *survey, const struct sides *sides)
{
  struct table_builder *table = &survey->table;
  const struct store_experiment *own = sides->item->of.experiment, *base = sides->base_item->of.experiment;
  const struct model_summary *models = &sides->own->models, *base_models = &sides->base->models;
  double online = ratio(models->online_ms, base_models->online_ms);
  double throughput = ratio(models->maximum_per_s, base_models->maximum_per_s);
  table_row(table);
  table_put(table, "model_name", cell_text(sides->item->model_name));
  table_put(table, "system", cell_text(sides->item->system_name));
  table_put(table, "framework", cell_text(own->framework));
  table_put(table, "framework_version", cell_text(own->framework_version));
  table_put(table, "base_framework", cell_text(base->framework));
  table_put(table, "base_framework_version", cell_text(base->framework_version));
  table_put(table, "normalized_online_latency", cell_real(online));
  table_put(table, "optimal_batch", cell_int_if(models->has_optimal, models->optimal_batch));
  table_put(table, "base_optimal_batch", cell_int_if(base_models->has_optimal, base_models->optimal_batch));
  table_put(table, "normalized_maximum_throughput", cell_real(throughput));
  table_put(table, "convolution_pct_of_model", cell_real(models->convolution_pct));
  table_put(table, "base_convolution_pct_of_model", cell_real(base_models->convolution_pct));
  put_depth(table, &sides->own->depth, &sides->base->depth);
  put_latencies(table, sides);
  if (isnan(online))
    survey_note(survey, sides->item, "one of the two was not measured at batch size 1: no normalised online latency");
  if (isnan(throughput))
    survey_note(survey, sides->item, "one of the two has no throughput: not normalised");
  note_flops(survey, sides);
}

// ---- the answer -----------------------------------------------------------------------------------------------------
static void note_unpaired_base(struct survey *survey, const char *base, const bool *is_paired)
{
  for (size_t i = 0; i < survey->count; i++) {
    const struct survey_item *item = &survey->items[i];
    if (!is_base(item, base) || is_paired[i])
      continue;
    survey_note(survey, item,
                find_pair(survey, item, base) != item
                    ? "the same model again in the framework that is normalised to, left out"
                    : "not paired, in no other framework on this system");
  }
}

static enum status answer_all(struct survey *survey, struct error *err)
{
  const char *base;
  struct side *sides = arena_alloc_array(survey->arena, survey->count, sizeof *sides);
  bool *is_paired = arena_alloc_array(survey->arena, survey->count, sizeof *is_paired);
  XSP_TRY(choose_base(survey, &base, err));
  XSP_TRY(load_sides(survey, sides, err));
  for (size_t i = 0; i < survey->count; i++) {
    const struct survey_item *item = &survey->items[i], *other = NULL;
    if (is_base(item, base))
      continue;
    other = find_pair(survey, item, base);
    if (other == NULL) {
      survey_note(survey, item, "not paired, not in the framework that is normalised to on this system");
      continue;
    }
    is_paired[other - survey->items] = true;
    put_row(survey, &(struct sides){item, other, &sides[i], &sides[other - survey->items]});
  }
  if (survey->table.row_count == 0)
    return survey_lacks(
        survey, err,
        "no model is there in two frameworks on one system (in two versions of one: --base NAME==VERSION)");
  note_unpaired_base(survey, base, is_paired);
  table_note(&survey->table,
             "normalised to %s: above 1 is slower for the online latency, faster for the maximum throughput", base);
  return STATUS_OK;
}

const struct analysis analysis_t10 = {.id = "T10",
                                      .title = "framework against framework",
                                      .summary = "framework against framework, model by model",
                                      .needs = "M, L, K",
                                      .answer_all = answer_all};
