// SPDX-License-Identifier: Apache-2.0
// Finds the kernels, copies and memory sets of one run, in order, with the layers they are in. Called by layers/rows.c
// while the run's columns are loaded.
#include "analyze/kernels/device_rows.h"

#include "base/slice.h"
#include "base/sorted.h"

#include <math.h>
#include <string.h>

bool device_row_counts(const struct run_columns *columns, size_t row)
{
  const struct store_spans *spans = &columns->spans;
  uint32_t category = spans->category[row];
  return spans->level[row] == XSP_LEVEL_KERNEL && spans->kind[row] != XSP_KIND_LAUNCH &&
         (category == columns->kernel || category == columns->memcpy || category == columns->memset);
}

// ---- order ----------------------------------------------------------------------------------------------------------
SORTED_BY(compare_rows, struct device_row,
          RISING(observation) ?: RISING(start_ns) ?: FALLING(duration_ns) ?: RISING(row))

static void sort_rows(struct device_rows *devices)
{
  size_t sorted = 1; // all of them where the device has one stream
  while (sorted < devices->count && compare_rows(&devices->items[sorted - 1], &devices->items[sorted]) < 0)
    sorted++;
  if (sorted < devices->count)
    vector_sort(devices, compare_rows);
}

// ---- finding --------------------------------------------------------------------------------------------------------
static size_t count_rows(const struct run_columns *columns)
{
  size_t count = 0;
  for (size_t i = 0; i < columns->spans.count; i++)
    count += device_row_counts(columns, i);
  return count;
}

void device_rows_find(const struct run_columns *columns, const uint32_t *item_of, struct arena *arena,
                      struct device_rows *ret_devices)
{
  const struct store_spans *spans = &columns->spans;
  *ret_devices = (struct device_rows){0};
  ret_devices->items = arena_alloc_array(arena, count_rows(columns) + 1, sizeof *ret_devices->items);
  for (size_t i = 0; i < spans->count; i++) {
    if (!device_row_counts(columns, i))
      continue;
    bool is_kernel = spans->category[i] == columns->kernel;
    if (spans->flags[i] & STORE_SPAN_OPEN) {
      ret_devices->open += is_kernel ? run_columns_calls(columns, i) : 0;
      continue;
    }
    uint32_t observation;
    if (!run_columns_observation(columns, i, &observation)) {
      ret_devices->unobserved += is_kernel ? run_columns_calls(columns, i) : 0;
      continue;
    }
    if (columns->run->observations[observation].warmup)
      continue;
    uint32_t layer = run_columns_row(columns, columns->derived.layer_id[i]);
    uint32_t item = layer == ROW_NONE ? ROW_NONE : item_of[layer];
    ret_devices->items[ret_devices->count++] = (struct device_row){.start_ns = spans->start_ns[i],
                                                                   .duration_ns = spans->duration_ns[i],
                                                                   .observation = observation & INT32_MAX,
                                                                   .is_execution = spans->kind[i] == XSP_KIND_EXECUTION,
                                                                   .item = item,
                                                                   .name = is_kernel ? spans->name[i] : DEVICE_COPY,
                                                                   .row = (uint32_t)i};
  }
  sort_rows(ret_devices);
  if (columns->condensed[CONDENSED_CALLS] == NULL)
    return;
  ret_devices->calls = arena_alloc_array(arena, ret_devices->count + 1, sizeof *ret_devices->calls);
  for (size_t i = 0; i < ret_devices->count; i++)
    ret_devices->calls[i] = run_columns_calls(columns, ret_devices->items[i].row);
}

// ---- metrics --------------------------------------------------------------------------------------------------------
static void set_metric(struct device_rows *devices, struct arena *arena, size_t metric, uint32_t item,
                       const struct store_tag *tag)
{
  double **values = &devices->metrics[metric];
  if (*values == NULL)
    *values = analyze_unknowns(arena, devices->count);
  double value = tag->type == STORE_INT ? (double)tag->value.integer : tag->value.real;
  (*values)[item] = isfinite(value) ? value : NAN;
}

// A kernel that has counters of some precisions did nothing in the others, and one that has a total alone did it in single:
// else one such kernel would hide, in a sum over several, in which precision most of the work was done. Where the counters
// came by precision only, the flops are their sum. Where there are fewer than `needed` (NaN: not known), others were not counted.
static void add_precisions_of(double *const *parts, double needed, double *flops)
{
  double sum = NAN;
  int count = 0;
  for (size_t p = 0; p < PRECISION_COUNT; p++)
    if (parts[p] != NULL && !isnan(*parts[p])) {
      sum = isnan(sum) ? *parts[p] : sum + *parts[p];
      count++;
    }
  if ((isnan(sum) && isnan(*flops)) || count < needed)
    return;
  for (size_t p = 0; p < PRECISION_COUNT; p++)
    if (parts[p] != NULL && isnan(*parts[p]))
      *parts[p] = isnan(sum) && p == PRECISION_SINGLE ? *flops : 0;
  if (isnan(*flops))
    *flops = sum;
}

static void add_precisions(struct device_rows *devices, struct arena *arena)
{
  double **parts = &devices->metrics[KERNEL_FLOPS_BY_PRECISION];
  const double *precisions = devices->metrics[KERNEL_PRECISIONS];
  bool is_any = false;
  for (size_t p = 0; p < PRECISION_COUNT; p++)
    is_any |= parts[p] != NULL;
  if (!is_any)
    return;
  double **total = &devices->metrics[KERNEL_FLOPS];
  double **needed = *total == NULL ? total : &parts[PRECISION_SINGLE]; // without totals none was in single
  if (*needed == NULL)
    *needed = analyze_unknowns(arena, devices->count);
  for (size_t i = 0; i < devices->count; i++) {
    double *of_kernel[PRECISION_COUNT];
    for (size_t p = 0; p < PRECISION_COUNT; p++)
      of_kernel[p] = parts[p] == NULL ? NULL : &parts[p][i];
    add_precisions_of(of_kernel, precisions == NULL ? NAN : precisions[i], &devices->metrics[KERNEL_FLOPS][i]);
  }
}

// Names of CUPTI's: UNIT__COUNTER.ROLLUP, as dram__bytes_read.sum and sm__warps_active.avg.pct_of_peak_sustained_active.
static struct metric_kind kind_of_cupti(const char *tag)
{
  bool is_sum = text_ends_with(tag, ".sum");
  if (strstr(tag, ".pct") != NULL)
    return (struct metric_kind){true, "%"};
  return (struct metric_kind){!is_sum, is_sum && strstr(tag, "__bytes") != NULL ? "bytes" : ""};
}

struct metric_kind metric_kind_of(const char *tag)
{
  static const struct {
    const char *ending;
    struct metric_kind kind;
  } kinds[] = {{"_pct", {true, "%"}},        {"_bytes_per_s", {true, "bytes/s"}},
               {"_per_s", {true, "1/s"}},    {"_w", {true, "W"}},
               {"_mhz", {true, "MHz"}},      {"_celsius", {true, "°C"}},
               {"registers", {true, ""}},    {"shared_bytes", {true, "bytes"}},
               {"_bytes", {false, "bytes"}}, {"_flops", {false, "flops"}},
               {"_ns", {false, "ns"}},       {"_ms", {false, "ms"}},
               {"_j", {false, "J"}}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (text_ends_with(tag, kinds[i].ending))
      return kinds[i].kind;
  if (strstr(tag, "__") != NULL && strchr(tag, '.') != NULL)
    return kind_of_cupti(tag);
  return (struct metric_kind){false, ""}; // a count
}

enum status device_rows_metrics(const struct run_columns *columns, const struct analyze_request *request,
                                struct arena *arena, struct device_rows *devices, struct error *err)
{
  const char *names[KERNEL_METRICS] = {"flops", "dram_read_bytes", "dram_write_bytes", "achieved_occupancy_pct"};
  uint32_t keys[KERNEL_METRICS];
  for (size_t i = 0; i < PRECISION_COUNT; i++)
    names[KERNEL_FLOPS_BY_PRECISION + i] = precision_tags[i];
  names[KERNEL_PRECISIONS] = "flops_precisions";
  for (size_t i = 0; i < request->metric_count; i++)
    names[KERNEL_FURTHER + i] = request->metrics[i];
  for (size_t i = 0; i < KERNEL_METRICS; i++)
    if (names[i] == NULL || !store_find_string(columns->store, names[i], strlen(names[i]), &keys[i]))
      keys[i] = 0;
  struct store_tag *tags;
  size_t count;
  XSP_TRY(store_load_tags_of(columns->store, columns->run->run->run_id, keys, KERNEL_METRICS, columns->arena, &tags,
                             &count, err));
  uint32_t *item_of = arena_alloc_array(columns->arena, columns->spans.count + 1, sizeof *item_of);
  for (size_t i = 0; i < devices->count; i++)
    item_of[devices->items[i].row] = devices->items[i].name == DEVICE_COPY ? 0 : (uint32_t)i + 1;
  for (size_t i = 0; i < count; i++) {
    uint32_t row = tags[i].type == STORE_TEXT ? ROW_NONE : run_columns_row(columns, tags[i].span_id);
    if (row == ROW_NONE || item_of[row] == 0)
      continue;
    for (size_t k = 0; k < KERNEL_METRICS; k++)
      if (tags[i].key == keys[k])
        set_metric(devices, arena, k, item_of[row] - 1, &tags[i]);
  }
  add_precisions(devices, arena);
  return STATUS_OK;
}
