// SPDX-License-Identifier: Apache-2.0
// The simulated libcupti: names, passes and values of metrics.
#include "profiler_metrics.h"

enum { GH100 = 1, GB202 = 2, EVERY = GH100 | GB202 };
enum { RANGES = 1 << CUPTI_PROFILER_TYPE_RANGE_PROFILER, SAMPLING = 1 << CUPTI_PROFILER_TYPE_PM_SAMPLING };
enum { HARDWARE, SASS }; // SASS: counted by instrumented kernels, which takes one more pass, for all of them

#define PASS_PARTS 3 // what fits into a pass beside the others
struct cost {
  uint8_t passes, parts; // passes of its own, and parts of a pass that it shares
};

static const char *const chips[] = {"GH100", "GB202"};
static const struct cuda_metric {
  const char *name;
  uint8_t chips, profilers, kind;
  struct cost cost[2]; // by chip
} metrics[] = {
    {"gpu__time_duration.sum", EVERY, RANGES | SAMPLING, HARDWARE, {{0}}}, // the first: metrics_add knows it
    {"dram__bytes_read.sum", GH100, RANGES | SAMPLING, HARDWARE, {{0}}},
    {"dram__bytes_write.sum", GH100, RANGES | SAMPLING, HARDWARE, {{0}}},
    {"dram__bytes_op_read.sum", GB202, RANGES | SAMPLING, HARDWARE, {{0}}},
    {"dram__bytes_op_write.sum", GB202, RANGES | SAMPLING, HARDWARE, {{0}}},
    {"lts__t_bytes.sum", EVERY, RANGES | SAMPLING, HARDWARE, {{0}}},
    {"smsp__inst_executed.sum", EVERY, RANGES | SAMPLING, HARDWARE, {{0}}},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", EVERY, RANGES | SAMPLING, HARDWARE, {{0}}},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed", EVERY, RANGES | SAMPLING, HARDWARE, {{0}}},
    {"dram__read_throughput.avg.pct_of_peak_sustained_elapsed", EVERY, SAMPLING, HARDWARE, {{0}}},
    {"dram__write_throughput.avg.pct_of_peak_sustained_elapsed", EVERY, SAMPLING, HARDWARE, {{0}}},
    {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", EVERY, RANGES | SAMPLING, HARDWARE, {{0}}},
    {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", EVERY, RANGES, HARDWARE, {{1, 0}, {1, 0}}},
    {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", EVERY, RANGES, HARDWARE, {{1, 0}, {1, 0}}},
    {"sm__ops_path_tensor_src_fp64.sum", EVERY, RANGES, HARDWARE, {{0, 1}, {0, 1}}},
    {"sm__ops_path_tensor_src_int8.sum", EVERY, RANGES, HARDWARE, {{1, 2}, {1, 0}}},
    {"sm__ops_path_tensor_src_fp16.sum", GH100, RANGES, HARDWARE, {{1, 2}}},
    {"sm__ops_path_tensor_src_fp8.sum", GH100, RANGES, HARDWARE, {{0}}},
    {"sm__ops_path_tensor_src_fp16_dst_fp16.sum", GB202, RANGES, HARDWARE, {{0}, {0, 2}}},
    {"sm__ops_path_tensor_src_fp16_dst_fp32.sum", GB202, RANGES, HARDWARE, {{0}, {1, 0}}},
    {"sm__ops_path_tensor_src_fp4_dst_fp32.sum", GB202, RANGES, HARDWARE, {{0}, {0, 2}}},
    {"sm__ops_path_tensor_src_fp4_fp6_dst_fp16.sum", GB202, RANGES, HARDWARE, {{0}, {1, 0}}},
    {"sm__ops_path_tensor_src_fp4_fp6_dst_fp32.sum", GB202, RANGES, HARDWARE, {{0}, {1, 0}}},
    {"sm__ops_path_tensor_src_fp8_dst_fp16.sum", GB202, RANGES, HARDWARE, {{0}, {1, 0}}},
    {"sm__ops_path_tensor_src_fp8_dst_fp32.sum", GB202, RANGES, HARDWARE, {{0}, {1, 0}}},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", EVERY, RANGES, SASS, {{0}}},
    {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", EVERY, RANGES, SASS, {{0}}},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", EVERY, RANGES, SASS, {{0}}},
    {"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", EVERY, RANGES, SASS, {{0}}},
    {"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", EVERY, RANGES, SASS, {{0}}},
    {"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", EVERY, RANGES, SASS, {{0}}},
    {"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", EVERY, RANGES, SASS, {{0}}},
    {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", EVERY, RANGES, SASS, {{0}}},
    {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", EVERY, RANGES, SASS, {{0}}},
};
#define METRICS (sizeof metrics / sizeof metrics[0])
_Static_assert(METRICS <= METRICS_MAXIMUM, "an image holds each metric once");

const char *metrics_chip(void)
{
  const char *chip = getenv("XSP_SIM_CHIP");
  return chip ? chip : chips[0];
}

const char *const *metrics_chips(size_t *ret_count)
{
  *ret_count = sizeof chips / sizeof chips[0];
  return chips;
}

int metrics_chip_index(const char *chip)
{
  for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++)
    if (strcmp(chips[i], chip) == 0)
      return (int)i;
  return -1;
}

int metrics_find(int chip, CUpti_ProfilerType type, const char *name)
{
  for (size_t i = 0; name && i < METRICS; i++)
    if (strcmp(metrics[i].name, name) == 0 && (metrics[i].chips & 1u << chip) && (metrics[i].profilers & 1u << type))
      return (int)i;
  return -1;
}

// Parts go into the first pass that has room for them, larger ones first.
uint32_t metrics_passes(int chip, const uint8_t *given, size_t given_count)
{
  uint8_t room[METRICS_MAXIMUM] = {0};
  uint32_t passes = 0, shared = 0;
  bool has_sass = false, has_hardware = false;
  for (unsigned parts = PASS_PARTS; parts > 0; parts--)
    for (size_t i = 0; i < given_count; i++) {
      if (metrics[given[i]].cost[chip].parts != parts)
        continue;
      uint32_t pass = 0;
      while (pass < shared && room[pass] < parts)
        pass++;
      if (pass == shared)
        room[shared++] = PASS_PARTS;
      room[pass] -= (uint8_t)parts;
    }
  for (size_t i = 0; i < given_count; i++) {
    passes += metrics[given[i]].cost[chip].passes;
    has_sass |= metrics[given[i]].kind == SASS;
    has_hardware |= metrics[given[i]].kind == HARDWARE;
  }
  passes += shared;
  return (passes == 0 && has_hardware ? 1 : passes) + has_sass;
}

static uint64_t sum_of_bytes(const char *name)
{
  uint64_t sum = 0;
  for (; *name; name++)
    sum += (unsigned char)*name;
  return sum;
}

static bool is_percentage(int metric)
{
  return strstr(metrics[metric].name, ".pct_of_peak") != NULL;
}

// What one thread of counted_add does: y += x.
static uint64_t counted(const char *metric)
{
  static const struct {
    const char *beginning;
    uint64_t each;
  } counts[] = {{"smsp__sass_thread_inst_executed_op_fadd", 1},
                {"dram__bytes_read", 8},
                {"dram__bytes_op_read", 8},
                {"dram__bytes_write", 4},
                {"dram__bytes_op_write", 4}};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
    if (strncmp(metric, counts[i].beginning, strlen(counts[i].beginning)) == 0)
      return counts[i].each;
  return 0;
}

static double value(int metric, const struct simulator_operation *o)
{
  if (metric == 0)
    return (double)(o->end_ns - o->start_ns) / (o->passes ? o->passes : 1);
  if (strcmp(o->name, "counted_add") == 0 && !simulator_has_fault("wrong-counts"))
    return (double)(counted(metrics[metric].name) * o->grid[0] * o->block[0]);
  uint64_t weight = 1 + (sum_of_bytes(o->name) + sum_of_bytes(metrics[metric].name)) % 97;
  uint64_t blocks = (uint64_t)o->grid[0] * o->grid[1] * o->grid[2];
  uint64_t threads = blocks * o->block[0] * o->block[1] * o->block[2];
  return (double)(is_percentage(metric) ? weight : threads * weight);
}

void metrics_add(struct counter_entry *entry, const uint8_t *given, size_t given_count,
                 const struct simulator_operation *kernel, double of_kernel, double of_entry)
{
  entry->kernels++;
  for (size_t i = 0; i < given_count; i++)
    entry->sums[i] += value(given[i], kernel) * (is_percentage(given[i]) ? of_entry : of_kernel);
}

double metrics_of(const struct counter_entry *entry, size_t index, int metric)
{
  bool is_mean = is_percentage(metric) && entry->kernels > 0 && entry->end_ns == 0;
  return is_mean ? entry->sums[index] / entry->kernels : entry->sums[index];
}

const struct config_image *config_of(const uint8_t *image, size_t size)
{
  const struct config_image *config = (const void *)image;
  bool is_config = image && size >= offsetof(struct config_image, metrics) && config->magic == CONFIG_MAGIC;
  return is_config && size >= offsetof(struct config_image, metrics) + config->count ? config : NULL;
}

struct counter_image *counters_of(const uint8_t *image, size_t size)
{
  struct counter_image *counters = (struct counter_image *)(uintptr_t)image;
  return image && size >= sizeof *counters && counters->magic == COUNTER_MAGIC ? counters : NULL;
}

size_t counters_size(size_t entries)
{
  return sizeof(struct counter_image) + entries * sizeof(struct counter_entry);
}

CUptiResult counters_initialize(uint8_t *image, size_t size, size_t least)
{
  if (!image || size < least || size < sizeof(struct counter_image))
    return CUPTI_ERROR_INVALID_PARAMETER;
  memset(image, 0, size);
  struct counter_image *counters = (void *)image;
  counters->magic = COUNTER_MAGIC;
  counters->entries_maximum = (size - sizeof *counters) / sizeof(struct counter_entry);
  if (simulator_has_fault("counter-data-small"))
    counters->entries_maximum /= 2;
  return CUPTI_SUCCESS;
}

bool counters_append(struct counter_image *image, const struct config_image *config, const struct counter_entry *entry)
{
  if (image->entries == image->entries_maximum)
    return false;
  image->count = config->count;
  memcpy(image->metrics, config->metrics, config->count);
  image->entry[image->entries++] = *entry;
  return true;
}

#define AVAILABILITY_BYTES 64

CUptiResult metrics_availability(size_t *ret_size, uint8_t *image)
{
  CUptiResult result = metrics_refusal();
  if (result != CUPTI_SUCCESS)
    return result;
  if (image && *ret_size < AVAILABILITY_BYTES)
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (image)
    memset(image, 0xff, AVAILABILITY_BYTES);
  *ret_size = AVAILABILITY_BYTES;
  return CUPTI_SUCCESS;
}

CUptiResult metrics_refusal(void)
{
  if (simulator_has_fault("counters-refused"))
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  if (simulator_has_fault("counters-virtual"))
    return CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES;
  return simulator_has_fault("counters-mig") ? CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED : CUPTI_SUCCESS;
}
