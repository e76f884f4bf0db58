// SPDX-License-Identifier: Apache-2.0
// The level rule for kernels: which sets latencies and metrics come from, and the notes about it. Called by kernels.c and by
// A8 to A15.
#include "analyze/kernels/kernels.h"

#include "analyze/cache.h"

#include <math.h>
#include <stdio.h>

#define LAYER XSP_LEVEL_MASK(XSP_LEVEL_LAYER)
#define KERNEL XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)

bool kernels_exist(const struct view *view, int64_t batch_size)
{
  return view_rule_kernels(view, batch_size, &(struct kernel_rule){.mask = KERNEL}) != NULL;
}

bool kernels_exist_by_layer(const struct view *view, int64_t batch_size)
{
  return view_rule_by_layer(view, batch_size, false) != NULL;
}

enum status kernel_sets_choose(struct question *question, int64_t batch_size, enum kernels_use use,
                               struct kernels *ret_kernels, struct error *err)
{
  const struct view *view = question->view;
  bool is_by_layer = kernels_are_by_layer(use);
  *ret_kernels = (struct kernels){.use = use, .batch_size = batch_size, .model_latency_ms = NAN};
  if (is_by_layer)
    XSP_TRY(layer_source_choose(question, batch_size, &ret_kernels->source, err));
  ret_kernels->layer_set = ret_kernels->source.set;
  const struct kernel_rule rule = {.mask = is_by_layer ? LAYER | KERNEL : KERNEL, .for_model = use == KERNELS_BY_MODEL};
  ret_kernels->set = view_rule_kernels(view, batch_size, &rule);
  if (use == KERNELS_IN_LAYER && ret_kernels->layer_set != NULL && ret_kernels->layer_set->levels.serial)
    ret_kernels->set = ret_kernels->layer_set;
  if (ret_kernels->set == NULL)
    return question_lacks(question, err, "there is no run with the kernel level at batch size %lld",
                          (long long)batch_size);
  ret_kernels->from = ret_kernels->set->levels.metrics ? ret_kernels->set->levels_text : NULL;
  // One rule for all analyses.
  const struct kernel_rule metric_rule = {.mask = KERNEL, .like = ret_kernels->set, .with_metrics = true};
  ret_kernels->metric_set = view_rule_kernels(view, batch_size, &metric_rule);
  if (ret_kernels->metric_set == NULL && question->request->metric_count > 0)
    ret_kernels->metric_set = ret_kernels->set; // registers and the like are known of any run
  ret_kernels->model_set = view_rule(view, batch_size, XSP_LEVEL_MODEL, &ret_kernels->model_from);
  ret_kernels->model_latency_ms = question_model_latency(question, ret_kernels->model_set);
  return STATUS_OK;
}

const char *kernels_from(const struct kernels *kernels)
{
  bool stands_in = kernels->from != NULL;
  if (kernels_are_by_layer(kernels->use))
    stands_in |= kernels->source.from != NULL && kernels->layer_set == kernels->set;
  if (kernels->use == KERNELS_BY_MODEL)
    stands_in |= kernels->model_from != NULL && kernels->model_set == kernels->set;
  return stands_in ? kernels->set->levels_text : NULL;
}

// Kernels of metric runs that no other run has: another algorithm was chosen, as a rule.
static void note_different(struct question *question, const struct kernels *kernels)
{
  enum { NAMES_MOST = 3 };
  size_t different = kernels->count - kernels->measured, named = 0;
  uint32_t groups[NAMES_MOST];
  const char *names[NAMES_MOST] = {"", "", ""};
  if (different == 0)
    return;
  for (size_t k = kernels->measured; k < kernels->count && named < NAMES_MOST; k++) {
    bool is_known = false;
    for (size_t i = 0; i < named; i++)
      is_known |= groups[i] == kernels->items[k].name_group;
    if (is_known)
      continue;
    groups[named] = kernels->items[k].name_group;
    names[named++] = kernels->items[k].name;
  }
  table_note(&question->table, "kernels in metric runs only, which count nowhere: %zu (%.200s%s%.200s%s%.200s%s)",
             different, names[0], named > 1 ? ", " : "", names[1], named > 2 ? ", " : "", names[2],
             different > named ? " …" : "");
}

static void note_coverage(struct question *question, const struct kernels *kernels)
{
  struct kernel_figures all = kernels_figures_of_all(question, kernels);
  if (!(all.coverage_pct < 100))
    return;
  table_note(&question->table,
             "%.4g %% of the kernels' time lacks metrics: another kernel ran in the metric runs, or a metric was not "
             "measured; %s",
             100 - all.coverage_pct,
             question->request->partial_metrics
                 ? "figures with partial_metrics are of the other kernels"
                 : "sums over such kernels are not given (--partial-metrics gives the rest)");
}

static void note_further(struct question *question, const struct kernels *kernels)
{
  for (size_t i = 0; i < question->request->metric_count; i++) {
    const char *name = question->request->metrics[i];
    if (kernels->has_metric[KERNEL_FURTHER + i])
      table_note(&question->table, "%s of several kernels: the %s", name,
                 metric_kind_of(name).is_mean ? "mean, weighted by latency" : "sum");
    else
      table_note(&question->table, "no kernel has the metric %s", name);
  }
}

static void note_precisions(struct table_builder *table, const struct kernels *kernels)
{
  char names[64] = "";
  size_t length = 0;
  for (size_t p = 0; p < PRECISION_COUNT; p++)
    if (kernels->lacking_example & 1u << p)
      length +=
          (size_t)snprintf(names + length, sizeof names - length, "%s%s", length > 0 ? ", " : "", precision_tags[p]);
  if (kernels->lacking_precisions > 0)
    table_note(
        table,
        "%zu kernels have no flops, since only %s were counted: the other precisions take further executions of the "
        "program with metrics (-r)",
        kernels->lacking_precisions, names);
}

void kernels_note(struct question *question, const struct kernels *kernels)
{
  note_further(question, kernels);
  struct table_builder *table = &question->table;
  question_note_from(question, "kernel", kernels->from);
  if (kernels->metric_set != NULL && kernels->metric_set != kernels->set) {
    table_note(table, "metrics come from runs at %s", kernels->metric_set->levels_text);
    table->noted |= TABLE_NOTED_SETS;
  }
  if (kernels->metric_set != NULL) {
    note_coverage(question, kernels);
    note_precisions(table, kernels);
    note_different(question, kernels);
  }
  size_t partial = 0;
  for (size_t i = 0; i < kernels->measured && kernels->calls.calls == NULL; i++) // else single kernels are not known
    partial += kernels->items[i].present < kernels->observation_count;
  if (partial > 0)
    table_note(table, "%zu of %zu kernels are not in every observation (partial)", partial, kernels->measured);
  if (kernels->unobserved > 0)
    table_note(table, "kernels in no observation, left out: %zu", kernels->unobserved);
  if (kernels->open > 0)
    table_note(table, "kernels that never finished, left out: %zu", kernels->open);
}

void kernels_note_no_model(struct question *question)
{
  table_note(&question->table, "no run has the model level: what kernels take of a step or prediction is not given");
}

void kernels_note_lacking(struct question *question, const struct kernels *kernels)
{
  bool has_flops = kernels->has_metric[KERNEL_FLOPS];
  bool has_bytes = kernels->has_metric[KERNEL_DRAM_READ] && kernels->has_metric[KERNEL_DRAM_WRITE];
  if (!has_flops || !has_bytes)
    table_note(&question->table, "no kernel has %s%s%s: points under the roofs are not given", has_flops ? "" : "flops",
               !has_flops && !has_bytes ? " or " : "", has_bytes ? "" : "dram_read_bytes and dram_write_bytes");
}

void kernels_summarize_outside(struct question *question, const struct kernels *kernels)
{
  double count = question_value(question, kernels->set, kernels->outside_count);
  double ms = question_value(question, kernels->set, kernels->outside_ms);
  table_summary(&question->table, "kernels_without_layer", cell_number(count));
  table_summary(&question->table, "kernels_without_layer_ms", cell_real(ms));
}

// Of the set whose metrics would be reported, any that rooflines are made of.
static bool has_metrics(const struct view *view, int64_t batch_size, uint32_t mask)
{
  static const char *const tags[] = {"flops",        "dram_read_bytes", "dram_write_bytes", "flops_half",
                                     "flops_single", "flops_double",    "flops_tensor"};
  const struct view_set *set = view_rule_kernels(view, batch_size, &(struct kernel_rule){.mask = mask});
  const struct kernel_rule rule = {.mask = KERNEL, .like = set, .with_metrics = true};
  return set != NULL &&
         view_has_tag(view, view_rule_kernels(view, batch_size, &rule), tags, sizeof tags / sizeof tags[0]);
}

static bool exist_with_metrics(const struct view *view, int64_t batch_size)
{
  return has_metrics(view, batch_size, KERNEL);
}

bool kernels_exist_by_layer_with_metrics(const struct view *view, int64_t batch_size)
{
  return has_metrics(view, batch_size, LAYER | KERNEL);
}

static bool kernels_exist_in_layer(const struct view *view, int64_t batch_size)
{
  return kernels_exist_by_layer(view, batch_size) || view_rule_by_layer(view, batch_size, true) != NULL;
}

bool kernels_have_metrics(const struct kernels *kernels)
{
  return kernels->has_metric[KERNEL_FLOPS] || kernels->has_metric[KERNEL_DRAM_READ] ||
         kernels->has_metric[KERNEL_DRAM_WRITE];
}

enum status kernels_need_metrics(const struct question *question, const struct kernels *kernels, struct error *err)
{
  return kernels_have_metrics(kernels)
             ? STATUS_OK
             : question_lacks(question, err, "no kernel has flops, dram_read_bytes or dram_write_bytes");
}

static enum status choose_batch(struct question *question, enum kernels_use use, bool needs_metrics, struct error *err)
{
  if (needs_metrics && kernels_are_by_layer(use))
    return question_batch(question, kernels_exist_by_layer_with_metrics,
                          "the layer and the kernel level and metrics of kernels", err);
  if (needs_metrics)
    return question_batch(question, exist_with_metrics, "the kernel level and metrics of kernels", err);
  if (kernels_are_by_layer(use))
    return question_batch(question, use == KERNELS_BY_LAYER ? kernels_exist_by_layer : kernels_exist_in_layer,
                          "both the layer and the kernel level", err);
  return question_batch(question, kernels_exist, "the kernel level", err);
}

// Where kernels are missing and calls of libraries are there, those may be what is meant.
static enum status advise(const struct question *question, enum status status, struct error *err)
{
  bool has_calls = false;
  for (size_t i = 0; i < question->view->run_count; i++)
    has_calls |= (question->view->runs[i].recorded.mask & XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY)) != 0;
  if (status == STATUS_NO && has_calls && question->request->kernel_level == NULL && err != NULL)
    snprintf(err->advice, sizeof err->advice, "--kernel-level library takes the calls of libraries for kernels");
  return status;
}

enum status kernels_answer(struct question *question, enum kernels_use use, bool needs_metrics,
                           struct kernels *ret_kernels, struct error *err)
{
  XSP_TRY(advise(question, choose_batch(question, use, needs_metrics, err), err));
  XSP_TRY(kernels_load(question, question->batch_size, use, ret_kernels, err));
  if (kernels_are_by_layer(use) && ret_kernels->layers.mode == LAYER_MODULE && ret_kernels->layers_listed == 0)
    return question_lacks(question, err, "none of its layers is a module");
  question_uses(question, ret_kernels->set);
  kernels_note(question, ret_kernels);
  return STATUS_OK;
}

enum status kernels_each_batch(struct question *question,
                               enum status (*add)(struct question *question, int64_t batch_size, void *context,
                                                  struct error *err),
                               void *context, size_t *ret_count, struct error *err)
{
  const struct view *view = question->view;
  int64_t only = question->request->batch;
  size_t without_model = 0;
  *ret_count = 0;
  for (size_t i = 0; i < view->set_count; i++) { // sets are ordered by batch size
    int64_t batch_size = view->sets[i].batch_size;
    if ((i > 0 && view->sets[i - 1].batch_size == batch_size) || (only != 0 && batch_size != only) ||
        !kernels_exist(view, batch_size))
      continue;
    without_model += view_rule(view, batch_size, XSP_LEVEL_MODEL, NULL) == NULL;
    struct arena *outer = question->scratch;
    struct analyze_shared *outer_shared = question->shared;
    struct arena scratch = {0};
    question->scratch = &scratch;
    question->shared = analyze_cache_shared(question->request, &scratch);
    enum status status = add(question, batch_size, context, err);
    arena_done(&scratch);
    question->scratch = outer;
    question->shared = outer_shared;
    XSP_TRY(status);
    question->batch_size = batch_size;
    ++*ret_count;
  }
  if (without_model > 0)
    kernels_note_no_model(question);
  if (*ret_count == 0 && only != 0)
    return advise(
        question,
        question_lacks(question, err, "there is no run with the kernel level at batch size %lld", (long long)only),
        err);
  if (*ret_count == 0)
    return advise(question, question_lacks(question, err, "there is no run with the kernel level"), err);
  question->has_several_batches = *ret_count > 1;
  return STATUS_OK;
}
