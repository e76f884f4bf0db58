// SPDX-License-Identifier: Apache-2.0
// The roofs of an experiment's machine, and points under them. Called by the analyses of kernels and layers. Recorded
// figures take precedence over the table of known GPUs, figure by figure.
#include "analyze/kernels/roofs.h"

#include "analyze/kernels/systems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const precision_names[PRECISION_COUNT] = {"half", "single", "double", "tensor"};
const char *const precision_tags[PRECISION_COUNT] = {"flops_half", "flops_single", "flops_double", "flops_tensor"};

#define PEAK_KEY "peak_flops_per_s"
#define BANDWIDTH_KEY "memory_bandwidth_bytes_per_s"

struct figures {
  double peak[PRECISION_COUNT], bandwidth; // NaN: unknown
};

// A rate that can be a roof; NaN for anything else. Attributes come as text from some sources.
static double rate_of(const struct store_system_value *value)
{
  double rate = value->number;
  if (!value->is_number) {
    char *end = NULL;
    rate = value->text != NULL ? strtod(value->text, &end) : NAN;
    if (end == value->text || (end != NULL && *end != 0))
      return NAN;
  }
  return isfinite(rate) && rate > 0 ? rate : NAN;
}

static void read_value(const struct store_system_value *value, struct figures *figures)
{
  if (strcmp(value->key, BANDWIDTH_KEY) == 0)
    figures->bandwidth = rate_of(value);
  if (strncmp(value->key, PEAK_KEY ".", sizeof PEAK_KEY) != 0)
    return;
  for (int p = 0; p < PRECISION_COUNT; p++)
    if (strcmp(value->key + sizeof PEAK_KEY, precision_names[p]) == 0)
      figures->peak[p] = rate_of(value);
}

static double tera(double figure)
{
  return figure > 0 ? figure * 1e12 : NAN;
}

static double either(double recorded, double known)
{
  return isnan(recorded) ? known : recorded;
}

static void fill(struct roofs *roofs, const struct figures *recorded, const struct system_peaks *known)
{
  struct system_peaks none = {0};
  if (known == NULL)
    known = &none;
  const double table[PRECISION_COUNT] = {known->half, known->single, known->double_precision, known->tensor};
  double bandwidth = either(recorded->bandwidth, known->bandwidth > 0 ? known->bandwidth * 1e9 : NAN);
  for (int p = 0; p < PRECISION_COUNT; p++) {
    double peak = either(recorded->peak[p], tera(table[p]));
    roofs->of[p] = (struct roof){
        .precision = isnan(peak) ? NULL : precision_names[p],
        .peak_flops_per_s = peak,
        .memory_bandwidth_bytes_per_s = bandwidth,
        .ideal_arithmetic_intensity = peak / bandwidth,
    };
  }
}

static bool any_known(const struct figures *figures)
{
  bool any = !isnan(figures->bandwidth);
  for (int p = 0; p < PRECISION_COUNT; p++)
    any |= !isnan(figures->peak[p]);
  return any;
}

enum status roofs_load(struct question *question, struct roofs *ret_roofs, struct error *err)
{
  struct store_system_value *values;
  size_t count;
  struct figures recorded = {{NAN, NAN, NAN, NAN}, NAN};
  double general = NAN;
  const char *origin = "recorded";
  *ret_roofs = (struct roofs){0};
  XSP_TRY(store_system(question->view->store, question->view->experiment->system_id, question->arena, &values, &count,
                       err));
  for (size_t i = 0; i < count; i++) {
    read_value(&values[i], &recorded);
    if (strcmp(values[i].key, PEAK_KEY) == 0)
      general = rate_of(&values[i]);
    if (strcmp(values[i].key, "peak_source") == 0 && !values[i].is_number && values[i].text != NULL)
      origin = values[i].text;
    if (strcmp(values[i].key, "gpu") == 0 && !values[i].is_number)
      ret_roofs->device = values[i].text;
  }
  // The key that names no precision means single.
  recorded.peak[PRECISION_SINGLE] = either(recorded.peak[PRECISION_SINGLE], general);
  const struct system_peaks *known = analyze_systems_find(ret_roofs->device);
  fill(ret_roofs, &recorded, known);
  if (any_known(&recorded))
    ret_roofs->source = origin;
  else if (known != NULL)
    ret_roofs->source = known->source;
  return STATUS_OK;
}

void roofs_note(struct question *question, const struct roofs *roofs)
{
  struct table_builder *table = &question->table;
  const struct roof *single = &roofs->of[PRECISION_SINGLE];
  bool has_single = roofs->source != NULL && !isnan(single->ideal_arithmetic_intensity);
  table->noted |= has_single ? TABLE_NOTED_ROOFS : 0;
  if (has_single)
    table_note(table, "roofs (%s): single precision %.6g Tflop/s, memory %.6g GB/s, ideal intensity %.4g flops/byte",
               roofs->source, single->peak_flops_per_s / 1e12, single->memory_bandwidth_bytes_per_s / 1e9,
               single->ideal_arithmetic_intensity);
  else if (roofs->source != NULL)
    table_note(table, "roofs (%s): not all are known, and what follows from the missing ones is not given",
               roofs->source);
  else if (roofs->device != NULL)
    table_note(table,
               "no roofs: '%s' is not in the table of known GPUs, and the run records neither " PEAK_KEY
               " nor " BANDWIDTH_KEY " of its system",
               roofs->device);
  else
    table_note(table, "no roofs: the run records neither " PEAK_KEY ", " BANDWIDTH_KEY " nor gpu of its system");
}

const struct roof *roofs_choose(const struct roofs *roofs, const double flops_by_precision[PRECISION_COUNT])
{
  int most = PRECISION_SINGLE;
  for (int p = 0; flops_by_precision != NULL && p < PRECISION_COUNT; p++) {
    double flops = flops_by_precision[p];
    double so_far = isnan(flops_by_precision[most]) ? 0 : flops_by_precision[most];
    if (!isnan(flops) && flops > so_far)
      most = p;
  }
  return roofs->of[most].precision != NULL ? &roofs->of[most] : &roofs->of[PRECISION_SINGLE];
}

void roof_put(struct table_builder *table, const struct roof *roof)
{
  table_put(table, "peak_flops_per_s", cell_real(roof->peak_flops_per_s));
  table_put(table, "memory_bandwidth_bytes_per_s", cell_real(roof->memory_bandwidth_bytes_per_s));
  table_put(table, "ideal_arithmetic_intensity", cell_real(roof->ideal_arithmetic_intensity));
}

// Rounding alone must not mark a point as suspect, nor move one at a limit to its wrong side.
#define TOLERANCE 1e-9
#define ROUNDING 1e-12

// ---- a point --------------------------------------------------------------------------------------------------------
static double quotient(double over, double under)
{
  return under > 0 ? over / under : NAN;
}

double roof_intensity(double flops, double bytes)
{
  return quotient(flops, bytes);
}

double roof_throughput_flops_per_s(double flops, double latency_ms)
{
  return quotient(flops, latency_ms / 1e3);
}

const char *roof_bound(const struct roof *roof, double intensity)
{
  if (isnan(intensity) || isnan(roof->ideal_arithmetic_intensity))
    return NULL;
  return intensity < roof->ideal_arithmetic_intensity * (1 - ROUNDING) ? "memory" : "compute";
}

struct table_cell roof_is_latency_bound(const struct roof *roof, double flops, double bytes, double latency_ms,
                                        double threshold_pct)
{
  double arithmetic_pct = quotient(flops, latency_ms / 1e3) / roof->peak_flops_per_s * 100;
  double memory_pct = quotient(bytes, latency_ms / 1e3) / roof->memory_bandwidth_bytes_per_s * 100;
  double least_pct = threshold_pct * (1 - ROUNDING);
  if (arithmetic_pct >= least_pct || memory_pct >= least_pct)
    return cell_bool(false);
  if (isnan(arithmetic_pct) || isnan(memory_pct))
    return (struct table_cell){0};
  return cell_bool(true);
}

struct table_cell roof_is_exceeded(const struct roof *roof, double intensity, double throughput_flops_per_s)
{
  double slope = intensity * roof->memory_bandwidth_bytes_per_s;
  double height = slope < roof->peak_flops_per_s ? slope : roof->peak_flops_per_s;
  if (isnan(slope) || isnan(roof->peak_flops_per_s) || isnan(throughput_flops_per_s))
    return (struct table_cell){0};
  return cell_bool(throughput_flops_per_s > height * (1 + TOLERANCE));
}
