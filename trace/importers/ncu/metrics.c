// SPDX-License-Identifier: Apache-2.0
// Names and units of Nsight Compute's metrics; see metrics.h. Sums are those of guest/tracers/cuda/metrics.c, so that recorded
// and imported kernels compare.
#include "importers/ncu/metrics.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

static const char *const sum_keys[NCU_SUMS] = {"flops_single",    "flops_half",       "flops_double", "flops_tensor",
                                               "dram_read_bytes", "dram_write_bytes", "shared_bytes"};

#define INSTRUCTIONS "smsp__sass_thread_inst_executed_op_"
static const struct {
  const char *name;
  enum ncu_sum sum;
  double factor;
} parts[] = {
    {INSTRUCTIONS "fadd_pred_on.sum", NCU_SINGLE, 1},        {INSTRUCTIONS "fmul_pred_on.sum", NCU_SINGLE, 1},
    {INSTRUCTIONS "ffma_pred_on.sum", NCU_SINGLE, 2},        {INSTRUCTIONS "hadd_pred_on.sum", NCU_HALF, 1},
    {INSTRUCTIONS "hmul_pred_on.sum", NCU_HALF, 1},          {INSTRUCTIONS "hfma_pred_on.sum", NCU_HALF, 2},
    {INSTRUCTIONS "dadd_pred_on.sum", NCU_DOUBLE, 1},        {INSTRUCTIONS "dmul_pred_on.sum", NCU_DOUBLE, 1},
    {INSTRUCTIONS "dfma_pred_on.sum", NCU_DOUBLE, 2},        {"dram__bytes_read.sum", NCU_DRAM_READ, 1},
    {"dram__bytes_op_read.sum", NCU_DRAM_READ, 1},           {"dram__bytes_write.sum", NCU_DRAM_WRITE, 1},
    {"dram__bytes_op_write.sum", NCU_DRAM_WRITE, 1},         {"launch__shared_mem_per_block_static", NCU_SHARED, 1},
    {"launch__shared_mem_per_block_dynamic", NCU_SHARED, 1}, {"Static Shared Memory Per Block", NCU_SHARED, 1},
    {"Dynamic Shared Memory Per Block", NCU_SHARED, 1},
};
static const struct {
  const char *name, *key;
} renamed[] = {
    {"sm__warps_active.avg.pct_of_peak_sustained_active", "achieved_occupancy_pct"},
    {"Achieved Occupancy", "achieved_occupancy_pct"},
    {"launch__registers_per_thread", "registers"},
    {"Registers Per Thread", "registers"},
};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

// Of a time: how many nanoseconds it has; 0: it is none.
static double time_factor(struct slice unit)
{
  static const struct {
    const char *name, *other;
    double ns;
  } units[] = {{"nsecond", "ns", 1}, {"usecond", "us", 1e3}, {"msecond", "ms", 1e6}, {"second", "s", 1e9}};
  for (size_t i = 0; i < COUNT(units); i++)
    if (slice_is(unit, units[i].name) || slice_is(unit, units[i].other))
      return units[i].ns;
  return 0;
}

// "Kbyte", "Minst", "Ghz": decimal multiples; "cycle/nsecond": as in a second; "usecond": as nanoseconds; 1 for other units. Each
// kernel has what fits its value.
static double unit_factor(struct slice unit)
{
  static const char prefixes[] = "KMGT";
  const char *prefix =
      unit.length > 1 && islower((unsigned char)unit.data[1]) ? memchr(prefixes, unit.data[0], 4) : NULL;
  double factor = prefix != NULL ? pow(1000, (double)(prefix - prefixes + 1)) : 1, time = time_factor(unit);
  struct slice below = unit, above;
  if (time == 0 && slice_cut(&below, '/', &above) && below.data != NULL && time_factor(below) > 0)
    return factor * (1e9 / time_factor(below));
  return time > 0 ? time : factor;
}

// "1,234.5" with its separators of thousands; "n/a", "nan" and texts are no numbers.
static bool read_number(struct slice value, double *ret_number)
{
  char text[64];
  size_t length = 0;
  struct slice rest;
  for (size_t i = 0; i < value.length; i++) {
    if (value.data[i] == ',')
      continue;
    if (length == sizeof text)
      return false;
    text[length++] = value.data[i];
  }
  return length > 0 && import_number((struct slice){text, length}, ret_number, &rest) && rest.length == 0;
}

static bool duration_of(struct slice name, struct slice unit, double value, struct ncu_kernel *kernel)
{
  double ns = value * time_factor(unit);
  if ((!slice_is(name, "gpu__time_duration.sum") && !slice_is(name, "gpu__time_duration.avg") &&
       !slice_is(name, "Duration")) ||
      time_factor(unit) == 0 || !(ns >= 0 && ns < 0x1p62))
    return false;
  kernel->duration_ns = (int64_t)rint(ns);
  kernel->has_duration = true;
  return true;
}

// Operations of tensor cores by type; what tensor_src counts is flops already.
static bool is_tensor(struct slice name)
{
  return slice_starts_with(name, "sm__ops_path_tensor_src_") && slice_ends_with(name, ".sum") &&
         !slice_contains(name, "sparsity");
}

void ncu_take_metric(struct import *import, struct ncu_kernel *kernel, int64_t span_id, struct slice name,
                     struct slice unit, struct slice value)
{
  double number;
  if (!read_number(value, &number)) {
    bool is_text = value.length > 0 && !slice_is(value, "n/a") && !slice_is(value, "nan") && !slice_is(value, "-nan") &&
                   !slice_is(value, "inf");
    if (is_text && name.length > 0)
      import_tag_text(import, span_id, import_slice(import, name), import_slice(import, value));
    return;
  }
  if (duration_of(name, unit, number, kernel))
    return;
  number *= unit_factor(unit);
  for (size_t i = 0; i <= COUNT(parts); i++) {
    if (i < COUNT(parts) ? !slice_is(name, parts[i].name) : !is_tensor(name))
      continue;
    enum ncu_sum sum = i < COUNT(parts) ? parts[i].sum : NCU_TENSOR;
    kernel->sums[sum] += number * (i < COUNT(parts) ? parts[i].factor : 1);
    kernel->has_sum[sum] = true;
    return;
  }
  uint32_t key = import_slice(import, name);
  for (size_t i = 0; i < COUNT(renamed); i++)
    if (slice_is(name, renamed[i].name))
      key = import_word(import, renamed[i].key);
  if (key != 0)
    import_tag_number(import, span_id, key, number);
}

void ncu_put_sums(struct import *import, const struct ncu_kernel *kernel, int64_t span_id)
{
  for (size_t i = 0; i < NCU_SUMS; i++)
    if (kernel->has_sum[i])
      import_tag_number(import, span_id, import_word(import, sum_keys[i]), kernel->sums[i]);
}
