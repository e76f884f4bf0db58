// SPDX-License-Identifier: Apache-2.0
// What is measured on each chip, by the vendor's own libcupti 13.1 (in .venv): its host half answers without a driver. Names and
// passes are those that it lists; skipped where it is not installed.
#include "tracers/cuda/metrics.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define PAGE_MOST (1u << 16)

static struct cupti_profiler profiler;
static char said[4096];
static struct cuda_metric_plan plan;
static struct host_config config;
static struct host_chip chip = {.profiler = &profiler, .type = CUPTI_RANGES};

static void say(const char *line)
{
  strcat(strcat(said, line), "\n");
}

static bool make_plan(const char *name, const char *wish, size_t execution)
{
  struct cuda_choice choice;
  char why[200];
  assert_true(cuda_choice_parse(wish, &choice, why, sizeof why));
  said[0] = '\0';
  chip.name = name;
  host_config_done(&chip, &config);
  return cuda_metrics_plan(&chip, &choice, execution, say, &plan, &config);
}

static const struct cuda_metric *measured(const char *tag)
{
  for (size_t i = 0; i < plan.metric_count; i++)
    if (strcmp(plan.metrics[i].tag, tag) == 0)
      return &plan.metrics[i];
  return NULL;
}

static const char *name_of(const char *tag, size_t term)
{
  const struct cuda_metric *metric = measured(tag);
  assert_non_null(metric);
  assert_true(term < metric->count);
  return plan.names[metric->first + term];
}

static int load(void **state)
{
  (void)state;
  char pattern[512], why[300];
  glob_t found;
  const char *source = getenv("XSP_SOURCE");
  snprintf(pattern, sizeof pattern, "%s/.venv/lib/python3*/site-packages/nvidia/cu13/lib/libcupti.so.13",
           source == NULL ? "." : source);
  if (glob(pattern, 0, NULL, &found) != 0) {
    printf("skipped: no %s\n", pattern);
    exit(0);
  }
  if (!host_profiler_load(found.gl_pathv[0], &profiler, why, sizeof why))
    fail_msg("%s", why);
  globfree(&found);
  return 0;
}

// Integrated GPUs (…0B, …0C) share the memory of the CPU: they have no counters of it. All others have all of xsp's metrics.
static void test_each_chip_has_xsps_metrics(void **state)
{
  (void)state;
  struct cupti_host_chips chips = {.size = sizeof chips};
  assert_int_equal(profiler.host_chips(&chips), CUPTI_OK);
  assert_true(chips.count >= 30);
  for (size_t i = 0; i < chips.count; i++) {
    const char *name = chips.names[i], last = name[strlen(name) - 1];
    bool has_tensor_cores = strcmp(name, "TU116") != 0 && strcmp(name, "TU117") != 0; // GTX 16
    bool is_integrated = last == 'B' || last == 'C';
    assert_true(make_plan(name, NULL, 0));
    assert_int_equal(plan.metric_count, 7 - (is_integrated ? 2 : 0) - (has_tensor_cores ? 0 : 1));
    assert_int_equal(measured("flops_tensor") != NULL, has_tensor_cores);
    assert_int_equal(strstr(said, "has no metric: dram_read_bytes, dram_write_bytes\n") != NULL, is_integrated);
    assert_true(plan.duration < plan.name_count); // takes no further pass
    assert_true(config.passes >= 2 && config.passes <= 10);
  }
}

static void test_names_of_hopper(void **state)
{
  (void)state;
  assert_true(make_plan("GH100", NULL, 0));
  assert_string_equal(name_of("dram_read_bytes", 0), "dram__bytes_read.sum");
  assert_string_equal(name_of("flops_single", 2), "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum");
  assert_string_equal(name_of("achieved_occupancy_pct", 0), "sm__warps_active.avg.pct_of_peak_sustained_active");
  const struct cuda_metric *tensor = measured("flops_tensor");
  assert_int_equal(tensor->count, 5); // fp16, bf16, tf32, fp64, fp8
  assert_int_equal(config.passes, 5);
  assert_non_null(strstr(said, "GH100: 7 metrics of each kernel: flops_single, "));
  assert_non_null(strstr(said, "; each kernel runs 5 times\n"));
  // 10 additions, 20 multiplications and 30 of both together are 10 + 20 + 2 * 30 operations.
  double values[METRIC_NAMES_MOST] = {0};
  const struct cuda_metric *single = measured("flops_single");
  values[single->first] = 10;
  values[single->first + 1] = 20;
  values[single->first + 2] = 30;
  assert_float_equal(cuda_metric_value(&plan, single, values), 90, 0);
}

static void test_names_of_others(void **state)
{
  (void)state;
  assert_true(make_plan("GB202", NULL, 0));
  assert_string_equal(name_of("dram_read_bytes", 0), "dram__bytes_op_read.sum");
  assert_string_equal(name_of("dram_write_bytes", 0), "dram__bytes_op_write.sum");
  assert_true(make_plan("TU102", NULL, 0));
  assert_string_equal(name_of("flops_tensor", 0), "sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32.sum");
}

static void test_names_by_the_user(void **state)
{
  (void)state;
  assert_true(make_plan("GH100", "metrics=lts__t_bytes.sum+no__such.sum+dram__bytes_read.sum", 0));
  assert_int_equal(plan.metric_count, 2);
  assert_string_equal(name_of("lts__t_bytes.sum", 0), "lts__t_bytes.sum");
  assert_non_null(measured("dram__bytes_read.sum"));
  assert_non_null(strstr(said, "GH100 has no metric: no__such.sum\n"));
  assert_true(make_plan("GH100", "metrics=lts__t_bytes.sum+xsp+lts__t_bytes.sum", 0)); // once
  assert_int_equal(plan.metric_count, 8);
  assert_false(make_plan("GH100", "metrics=no__such.sum", 0));
  assert_false(make_plan("GX999", NULL, 0)); // a chip that it does not know has none
}

// Operations of tensor cores by type take several passes on Hopper; all others are measured once, in one pass each time.
static void test_one_pass_an_execution(void **state)
{
  (void)state;
  static const char *const tags[] = {"flops_single",    "flops_half",       "flops_double",
                                     "dram_read_bytes", "dram_write_bytes", "achieved_occupancy_pct"};
  size_t seen[6] = {0}, groups = 1;
  for (size_t execution = 0; execution < 2 * groups; execution++) {
    assert_true(make_plan("GH100", "collect=application", execution));
    groups = plan.groups;
    assert_true(groups >= 2 && groups <= 4);
    assert_int_equal(config.passes, 1);
    assert_int_equal(plan.group, execution % groups);
    for (size_t i = 0; i < 6; i++)
      seen[i] += measured(tags[i]) != NULL;
    assert_null(measured("flops_tensor"));
    assert_non_null(strstr(said, "take further passes: flops_tensor; --cuda collect=kernel"));
    assert_non_null(strstr(said, " executions complete the metrics, this one is number "));
  }
  for (size_t i = 0; i < 6; i++)
    assert_int_equal(seen[i], 2); // once in each round
}

// The row of the table in docs/cuda.md that names the chip, from its second column on.
static const char *documented(const char *name, char *page)
{
  const char *source = getenv("XSP_SOURCE");
  char path[512], word[32];
  snprintf(path, sizeof path, "%s/docs/cuda.md", source == NULL ? "." : source);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  page[fread(page, 1, PAGE_MOST - 1, file)] = '\0';
  fclose(file);
  for (int i = 0; i < 2; i++) { // followed by another chip, or the last of its row
    snprintf(word, sizeof word, "%s%s", name, i == 0 ? "," : " |");
    char *table = strstr(page, "\n| chips |"), *place = table == NULL ? NULL : strstr(table, word);
    if (place != NULL)
      return strchr(place, '|') + 1;
  }
  fail_msg("docs/cuda.md has no row for %s", name);
  return NULL;
}

static void test_passes_are_those_of_the_documentation(void **state)
{
  (void)state;
  static char page[PAGE_MOST];
  struct cupti_host_chips chips = {.size = sizeof chips};
  assert_int_equal(profiler.host_chips(&chips), CUPTI_OK);
  const char *before = NULL;
  for (size_t i = 0; i < chips.count; i++) {
    char *rest;
    const char *row = documented(chips.names[i], page);
    assert_true(make_plan(chips.names[i], NULL, 0));
    assert_int_equal(config.passes, strtoul(row, &rest, 10));
    if (row == before) // to divide takes long
      continue;
    before = row;
    assert_true(make_plan(chips.names[i], "collect=application", 0));
    assert_int_equal(plan.groups, strtoul(strchr(rest, '|') + 1, &rest, 10));
    bool is_without = strncmp(rest, ", without `flops_tensor`", 24) == 0;
    assert_int_equal(strstr(said, "take further passes: flops_tensor;") != NULL, is_without);
  }
}

// PM sampling has neither instructions by kind nor operations of tensor cores, on no chip; what is left fits into its one pass.
static void test_what_each_chip_samples(void **state)
{
  (void)state;
  struct cupti_host_chips chips = {.size = sizeof chips};
  assert_int_equal(profiler.host_chips(&chips), CUPTI_OK);
  chip.type = CUPTI_PM_SAMPLES;
  for (size_t i = 0; i < chips.count; i++) {
    char last = chips.names[i][strlen(chips.names[i]) - 1];
    assert_true(make_plan(chips.names[i], NULL, 0));
    assert_int_equal(plan.metric_count, last == 'B' || last == 'C' ? 1 : 3);
    assert_non_null(measured("achieved_occupancy_pct"));
    assert_int_equal(config.passes, 1);
    assert_non_null(strstr(said, "has no metric: flops_single, flops_half, flops_double, flops_tensor"));
  }
  assert_true(make_plan("GH100", "collect=sampling,interval_us=50", 3));
  assert_non_null(strstr(said, "; sampled every 50 us, kernels run once\n"));
  // A throughput of many units does not fit into the pass of the others.
  assert_true(make_plan("GH100", "collect=sampling,metrics=xsp+sm__throughput.avg.pct_of_peak_sustained_elapsed", 0));
  assert_int_equal(plan.metric_count, 3);
  assert_non_null(strstr(said, "take further passes: sm__throughput"));
  chip.type = CUPTI_RANGES;
}

static void test_a_libcupti_without_profilers(void **state)
{
  (void)state;
  struct cupti_profiler none;
  char why[200] = "";
  assert_false(host_profiler_load("libc.so.6", &none, why, sizeof why));
  assert_non_null(strstr(why, "12.6 or later"));
}

static int unload(void **state)
{
  (void)state;
  host_config_done(&chip, &config);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_chip_has_xsps_metrics),
      cmocka_unit_test(test_names_of_hopper),
      cmocka_unit_test(test_names_of_others),
      cmocka_unit_test(test_names_by_the_user),
      cmocka_unit_test(test_one_pass_an_execution),
      cmocka_unit_test(test_a_libcupti_without_profilers),
      cmocka_unit_test(test_what_each_chip_samples),
      cmocka_unit_test(test_passes_are_those_of_the_documentation),
  };
  return cmocka_run_group_tests(tests, load, unload);
}
