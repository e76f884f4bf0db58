// SPDX-License-Identifier: Apache-2.0
// xsp's metrics by the names that NVIDIA's chips from Volta (GV100) to Blackwell (GB100, GB202) have for them, as the host
// profiler lists them: flops as nvprof's flop_count_* are mapped in CUPTI's documentation, operations of tensor cores by type.
// Asked once for each context, before its first kernel.
#include "tracers/cuda/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TERMS_MOST 16u
#define INSTRUCTIONS(type) "smsp__sass_thread_inst_executed_op_" type "_pred_on.sum"
#define TENSOR(types) "sm__ops_path_tensor_src_" types ".sum"
#define DURATION "gpu__time_duration.sum"

struct row { // a sum
  const char *tag;
  bool
      needs_all; // terms; else those that the chip has: each chip has another selection, and no two that count the same
  struct term {
    const char *name;
    double factor;
  } terms[TERMS_MOST];
};

static const struct row rows[] = {
    {"flops_single", true, {{INSTRUCTIONS("fadd"), 1}, {INSTRUCTIONS("fmul"), 1}, {INSTRUCTIONS("ffma"), 2}}},
    {"flops_half", true, {{INSTRUCTIONS("hadd"), 1}, {INSTRUCTIONS("hmul"), 1}, {INSTRUCTIONS("hfma"), 2}}},
    {"flops_double", true, {{INSTRUCTIONS("dadd"), 1}, {INSTRUCTIONS("dmul"), 1}, {INSTRUCTIONS("dfma"), 2}}},
    {"flops_tensor",
     false,
     {{TENSOR("fp16_bf16_tf32_dst_fp32"), 1}, // Turing
      {TENSOR("fp16"), 1},                    // Hopper
      {TENSOR("fp16_dst_fp16"), 1},
      {TENSOR("fp16_dst_fp32"), 1},
      {TENSOR("bf16_dst_fp32"), 1},
      {TENSOR("tf32_dst_fp32"), 1},
      {TENSOR("fp64"), 1},
      {TENSOR("fp8"), 1},                  // Ada, Hopper
      {TENSOR("fp4_dst_fp32"), 1},         // Blackwell
      {TENSOR("fp4_fp6_fp8_dst_fp16"), 1}, // GB100
      {TENSOR("fp4_fp6_fp8_dst_fp32"), 1},
      {TENSOR("fp4_fp6_dst_fp16"), 1}, // GB202
      {TENSOR("fp4_fp6_dst_fp32"), 1},
      {TENSOR("fp8_dst_fp16"), 1},
      {TENSOR("fp8_dst_fp32"), 1}}},
    {"dram_read_bytes", false, {{"dram__bytes_read.sum", 1}, {"dram__bytes_op_read.sum", 1}}}, // the second: GB202
    {"dram_write_bytes", false, {{"dram__bytes_write.sum", 1}, {"dram__bytes_op_write.sum", 1}}},
    {"achieved_occupancy_pct", true, {{"sm__warps_active.avg.pct_of_peak_sustained_active", 1}}},
};
#define ROWS (sizeof rows / sizeof rows[0])

struct line { // of names, cut where it is full
  char text[400];
  size_t length;
};

static void add_word(struct line *line, const char *word)
{
  int length =
      snprintf(line->text + line->length, sizeof line->text - line->length, "%s%s", line->length > 0 ? ", " : "", word);
  if (length > 0 && line->length + (size_t)length < sizeof line->text)
    line->length += (size_t)length;
  else
    line->text[line->length] = '\0';
}

static void say_words(void (*say)(const char *), const char *before, const struct line *line, const char *after)
{
  char text[800];
  if (say == NULL || line->length == 0)
    return;
  snprintf(text, sizeof text, "%s%s%s", before, line->text, after);
  say(text);
}

static bool add_metric(const struct host_chip *chip, const struct row *row, struct cuda_metric_plan *plan)
{
  struct cuda_metric metric = {row->tag, plan->name_count, 0};
  size_t terms = 0;
  for (size_t i = 0; i < plan->metric_count; i++)
    if (strcmp(plan->metrics[i].tag, row->tag) == 0)
      return true; // wished twice
  for (; terms < TERMS_MOST && row->terms[terms].name != NULL; terms++) {
    const char *name = row->terms[terms].name;
    size_t place = metric.first + metric.count;
    if (place >= METRIC_NAMES_MOST - 1 || host_config_passes(chip, &name, 1) == 0) // one is the duration's
      continue;
    plan->names[place] = name;
    plan->factors[place] = row->terms[terms].factor;
    metric.count++;
  }
  if (plan->metric_count == METRICS_MOST || metric.count == 0 || (row->needs_all && metric.count < terms))
    return false;
  plan->metrics[plan->metric_count++] = metric;
  plan->name_count += metric.count;
  return true;
}

// All that is wished and the chip has.
static void choose(const struct host_chip *chip, const struct cuda_choice *choice, struct cuda_metric_plan *plan,
                   struct line *left_out)
{
  size_t length = choice->metrics == NULL ? 3 : choice->metrics_length;
  snprintf(plan->text, sizeof plan->text, "%.*s", (int)length, choice->metrics == NULL ? "xsp" : choice->metrics);
  for (char *rest = plan->text, *name; (name = strsep(&rest, "+")) != NULL;) {
    const struct row own = {name, true, {{name, 1}}};
    bool is_xsp = strcmp(name, "xsp") == 0;
    for (size_t i = 0; i < (is_xsp ? ROWS : 1); i++)
      if (!add_metric(chip, is_xsp ? &rows[i] : &own, plan))
        add_word(left_out, is_xsp ? rows[i].tag : name);
  }
}

static void take(struct cuda_metric_plan *plan, const struct cuda_metric_plan *all, size_t metric)
{
  struct cuda_metric taken = all->metrics[metric];
  memcpy(plan->names + plan->name_count, all->names + taken.first, taken.count * sizeof *plan->names);
  memcpy(plan->factors + plan->name_count, all->factors + taken.first, taken.count * sizeof *plan->factors);
  taken.first = plan->name_count;
  plan->name_count += taken.count;
  plan->metrics[plan->metric_count++] = taken;
}

static void drop_last(struct cuda_metric_plan *plan)
{
  plan->name_count -= plan->metrics[--plan->metric_count].count;
}

// Into groups of one pass each, in their order; the plan gets that of the execution. Flops are added up for each execution, so those
// that are not in the first flops' group are not measured.
static bool divide(const struct host_chip *chip, const struct cuda_choice *choice, size_t execution,
                   struct cuda_metric_plan *plan, struct line *too_long)
{
  struct cuda_metric_plan *all = malloc(sizeof *all);
  uint8_t group_of[METRICS_MOST] = {0};
  size_t groups = 0, flops_group = 0;
  if (all == NULL)
    return false;
  *all = *plan;
  for (bool is_any = true; is_any; groups += is_any) {
    is_any = false;
    plan->name_count = plan->metric_count = 0;
    for (size_t i = 0; i < all->metric_count; i++) {
      bool is_flops = strncmp(all->metrics[i].tag, "flops_", 6) == 0;
      if (group_of[i] != 0 || (is_flops && flops_group != 0 && flops_group != groups + 1))
        continue;
      take(plan, all, i);
      if (host_config_passes(chip, plan->names, plan->name_count) == 1) {
        group_of[i] = (uint8_t)(groups + 1);
        flops_group = is_flops ? groups + 1 : flops_group;
        is_any = true;
      } else
        drop_last(plan);
    }
  }
  if (choice->collect == CUDA_COLLECT_SAMPLING && groups > 1)
    groups = 1; // there is one pass
  for (size_t i = 0; i < all->metric_count; i++)
    if (group_of[i] == 0 || group_of[i] > groups)
      add_word(too_long, all->metrics[i].tag);
  plan->groups = groups;
  plan->group = groups == 0 ? 0 : execution % groups;
  plan->name_count = plan->metric_count = 0;
  for (size_t i = 0; i < all->metric_count; i++)
    if (group_of[i] == plan->group + 1)
      take(plan, all, i);
  free(all);
  return true;
}

// The duration, where it takes no further pass.
static uint32_t configure(const struct host_chip *chip, struct cuda_metric_plan *plan, struct host_config *ret_config)
{
  uint32_t error = host_config_make(chip, plan->names, plan->name_count, ret_config);
  struct host_config with;
  plan->duration = plan->name_count;
  plan->names[plan->name_count] = DURATION;
  if (error != CUPTI_OK || host_config_make(chip, plan->names, plan->name_count + 1, &with) != CUPTI_OK)
    return error;
  bool is_free = with.passes == ret_config->passes;
  host_config_done(chip, is_free ? ret_config : &with);
  if (is_free) {
    *ret_config = with;
    plan->name_count++;
  }
  return CUPTI_OK;
}

static void say_plan(const struct host_chip *chip, const struct cuda_choice *choice,
                     const struct cuda_metric_plan *plan, size_t passes, void (*say)(const char *line))
{
  struct line tags = {.length = 0};
  char before[200], after[160];
  for (size_t i = 0; i < plan->metric_count; i++)
    add_word(&tags, plan->metrics[i].tag);
  snprintf(before, sizeof before, "%s: %zu metrics of each kernel: ", chip->name, plan->metric_count);
  if (choice->collect == CUDA_COLLECT_SAMPLING)
    snprintf(after, sizeof after, "; sampled every %u us, kernels run once", choice->interval_us);
  else if (plan->groups > 1)
    snprintf(after, sizeof after, "; %zu executions complete the metrics, this one is number %zu of them", plan->groups,
             plan->group + 1);
  else if (passes > 1)
    snprintf(after, sizeof after, "; each kernel runs %zu times", passes);
  else
    snprintf(after, sizeof after, "; in one pass, each kernel runs once");
  say_words(say, before, &tags, after);
}

bool cuda_metrics_plan(const struct host_chip *chip, const struct cuda_choice *choice, size_t execution,
                       void (*say)(const char *line), struct cuda_metric_plan *ret_plan, struct host_config *ret_config)
{
  struct line left_out = {.length = 0}, too_long = {.length = 0};
  char before[200];
  *ret_config = (struct host_config){0};
  ret_plan->name_count = ret_plan->metric_count = 0;
  ret_plan->groups = 1;
  ret_plan->group = 0;
  choose(chip, choice, ret_plan, &left_out);
  if (choice->collect != CUDA_COLLECT_KERNEL && !divide(chip, choice, execution, ret_plan, &too_long))
    return false;
  snprintf(before, sizeof before, "%s has no metric: ", chip->name);
  say_words(say, before, &left_out, "");
  say_words(say, "not measured, as they take further passes: ", &too_long,
            "; --cuda collect=kernel repeats each kernel for them");
  if (ret_plan->metric_count == 0)
    return false;
  uint32_t error = configure(chip, ret_plan, ret_config);
  if (error == CUPTI_OK)
    say_plan(chip, choice, ret_plan, ret_config->passes, say);
  else if (say != NULL) {
    snprintf(before, sizeof before, "no metrics: CUPTI cannot configure %s for them: error %u", chip->name, error);
    say(before);
  }
  return error == CUPTI_OK;
}

double cuda_metric_value(const struct cuda_metric_plan *plan, const struct cuda_metric *metric, const double *values)
{
  double sum = 0;
  for (size_t i = metric->first; i < metric->first + metric->count; i++)
    sum += plan->factors[i] * values[i];
  return sum;
}
