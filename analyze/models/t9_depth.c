// SPDX-License-Identifier: Apache-2.0
// T9, the models in depth at their optimal batch sizes, as the paper's Table IX: what the GPU does of the latency, what is
// computed and moved, under which roof that lies, and in which third of the model each of them is. One row an experiment,
// from A1, A3, A4, A12, A14 and A15.
#include "analyze/a_list.h"
#include "analyze/kernels/kernels.h"
#include "analyze/kernels/roofs.h"
#include "analyze/models/survey.h"

#include <math.h>
#include <string.h>

enum {
  MODEL,
  FRAMEWORK,
  SYSTEM,
  TASK,
  BATCH,
  OPTIMAL_BATCH,
  LATENCY,
  KERNEL_LATENCY,
  GPU_PCT,
  FLOPS,
  FLOPS_FROM,
  WITHOUT_FLOPS,
  DRAM_READ,
  DRAM_WRITE,
  OCCUPANCY,
  INTENSITY,
  THROUGHPUT,
  BOUND,
  LATENCY_STAGE,
  MEMORY_STAGE,
  FLOPS_STAGE,
  TRAFFIC_STAGE,
  PRECISION,
  ROOFS,
  ANALYTIC_BYTES = ROOFS + ROOF_COLUMN_COUNT,
  ANALYTIC_INTENSITY,
  ANALYTIC_THROUGHPUT,
  ANALYTIC_BOUND,
  ANALYTIC_TRAFFIC_STAGE,
  SPREAD,
  FROM = SPREAD + 4,
  LAYER_FROM,
  KERNEL_FROM,
  COLUMN_COUNT
};

static const struct table_column columns[] = {
    COLUMN("model_name", "", "model"),
    COLUMN("framework", "", "framework"),
    COLUMN("system", "", "system"),
    COLUMN("task", "", "task"),
    COLUMN("batch_size", "", "batch"),
    COLUMN("optimal_batch", "", "optimal"),
    COLUMN("latency_ms", "ms", "latency"),
    COLUMN("kernel_latency_ms", "ms", "kernels"),
    COLUMN("gpu_pct", "%", "GPU"),
    COLUMN("flops", "flops", "flops"),
    COLUMN("flops_from", "", "flops from"),
    COLUMN("layers_without_flops", "", "layers without"),
    COLUMN("dram_read_bytes", "bytes", "DRAM reads"),
    COLUMN("dram_write_bytes", "bytes", "DRAM writes"),
    COLUMN("achieved_occupancy_pct", "%", "occupancy"),
    COLUMN("arithmetic_intensity", "flops/byte", "intensity"),
    COLUMN("arithmetic_throughput_flops_per_s", "flops/s", "throughput"),
    COLUMN("bound", "", "bound"),
    COLUMN("latency_stage", "", "latency in"),
    COLUMN("memory_stage", "", "memory in"),
    COLUMN("flops_stage", "", "flops in"),
    COLUMN("traffic_stage", "", "traffic in"),
    COLUMN("precision", "", "precision"),
    ROOF_COLUMNS,
    COLUMN("analytic_bytes", "bytes", "an. bytes"),
    COLUMN("analytic_intensity", "flops/byte", "an. intensity"),
    COLUMN("analytic_throughput_flops_per_s", "flops/s", "an. throughput"),
    COLUMN("analytic_bound", "", "an. bound"),
    COLUMN("analytic_traffic_stage", "", "an. traffic in"),
    SPREAD_COLUMNS, // of the model's latency
    COLUMN("latency_from", "", "from"),
    COLUMN("layer_latency_from", "", "layers from"),
    COLUMN("kernel_latency_from", "", "kernels from"),
};
_Static_assert(sizeof columns / sizeof columns[0] == COLUMN_COUNT, "a column and its place in the rows");

// ---- which batch, which roofs ----------------------------------------------------------------------------------------
static bool has_model(const struct view *view, int64_t batch_size)
{
  return view_rule(view, batch_size, XSP_LEVEL_MODEL, NULL) != NULL;
}

// All figures of a row are of one batch size: by the default rule, of those that have the deepest levels. A row for each
// precision's roof.
static enum status answer_point(struct question *question, struct error *err)
{
  static const struct table_column point_columns[] = {COLUMN("precision", "", ""), ROOF_COLUMNS};
  static bool (*const levels[])(const struct view *, int64_t) = {kernels_exist_by_layer, view_has_layers, kernels_exist,
                                                                 has_model};
  struct roofs roofs;
  enum status status = STATUS_NO;
  XSP_TRY(roofs_load(question, &roofs, err));
  for (size_t i = 0; i < sizeof levels / sizeof levels[0] && status == STATUS_NO; i++)
    status = question_batch(question, levels[i], "the model, layer or kernel level", err);
  XSP_TRY(status);
  table_columns(&question->table, point_columns, sizeof point_columns / sizeof point_columns[0]);
  for (size_t precision = 0; precision < PRECISION_COUNT; precision++) {
    struct table_cell *row = table_row(&question->table);
    row[0] = cell_text(precision_names[precision]);
    roof_cells(&roofs.of[precision], &row[1]);
  }
  return STATUS_OK;
}

static const struct analysis point = {
    .id = "T9", .title = "batch size and roofs", .needs = "M", .answer = answer_point};

// The roof of this precision; where none is named, or its peak is not known, of single.
static void tell_roof(struct survey *survey, const struct table *roofs, const char *precision, struct table_cell *row)
{
  size_t chosen = PRECISION_SINGLE;
  for (size_t i = 0; i < PRECISION_COUNT && precision != NULL; i++)
    if (strcmp(precision_names[i], precision) == 0)
      chosen = i;
  static const char *const keys[ROOF_COLUMN_COUNT] = {"peak_flops_per_s", "memory_bandwidth_bytes_per_s",
                                                      "ideal_arithmetic_intensity"};
  if (survey_cell(survey, roofs, chosen, keys[0]).type == CELL_NULL)
    chosen = PRECISION_SINGLE;
  for (size_t i = 0; i < ROOF_COLUMN_COUNT; i++)
    row[ROOFS + i] = survey_cell(survey, roofs, chosen, keys[i]);
}

// ---- one experiment --------------------------------------------------------------------------------------------------
struct asking {
  struct survey *survey;
  const struct survey_item *item;
  int64_t batch;
  struct table_cell *row;
};
struct taken { // a column, and the key of the answer that it is
  size_t column;
  const char *key;
};

static void take(const struct asking *asking, const struct table *table, const struct taken *taken, size_t count)
{
  for (size_t i = 0; i < count; i++)
    asking->row[taken[i].column] = survey_cell(asking->survey, table, 0, taken[i].key);
}

static enum status add_model(const struct asking *asking, struct error *err)
{
  static const struct taken taken[] = {{LATENCY, "latency_ms"}, {SPREAD, "n"},          {SPREAD + 1, "min_ms"},
                                       {SPREAD + 2, "max_ms"},  {SPREAD + 3, "cv_pct"}, {FROM, "latency_from"}};
  struct table table;
  bool has;
  XSP_TRY(survey_ask(asking->survey, asking->item, &analysis_a1, asking->batch, false, &table, &has, err));
  if (!has) {
    survey_note(asking->survey, asking->item, "without the model level: no latency");
    return STATUS_OK;
  }
  take(asking, &table, taken, sizeof taken / sizeof taken[0]);
  asking->row[OPTIMAL_BATCH] = survey_summary(asking->survey, &table, "optimal_batch");
  asking->survey->observations += table.observations;
  if (asking->row[FROM].type != CELL_NULL)
    survey_note(asking->survey, asking->item, "model latencies come from a deeper level: its overhead is included");
  if (asking->row[OPTIMAL_BATCH].type == CELL_NULL)
    survey_note(asking->survey, asking->item, "optimal batch size not reached");
  else if (asking->survey->request->batch == 0 && asking->row[OPTIMAL_BATCH].value.integer != asking->batch)
    survey_note(asking->survey, asking->item,
                "deeper levels were not recorded at the optimal batch size: see batch_size");
  return STATUS_OK;
}

static enum status add_kernels(const struct asking *asking, const struct table *roofs, struct error *err)
{
  static const struct taken taken[] = {
      {KERNEL_LATENCY, "kernel_latency_ms"},
      {GPU_PCT, "gpu_pct"},
      {FLOPS, "flops"},
      {DRAM_READ, "dram_read_bytes"},
      {DRAM_WRITE, "dram_write_bytes"},
      {OCCUPANCY, "achieved_occupancy_pct"},
      {INTENSITY, "arithmetic_intensity"},
      {THROUGHPUT, "arithmetic_throughput_flops_per_s"},
      {BOUND, "bound"},
      {PRECISION, "precision"},
      {KERNEL_FROM, "latency_from"},
  };
  struct table table;
  bool has;
  XSP_TRY(survey_ask(asking->survey, asking->item, &analysis_a15, asking->batch, false, &table, &has, err));
  if (has)
    take(asking, &table, taken, sizeof taken / sizeof taken[0]);
  else
    survey_note(asking->survey, asking->item, "without the kernel level: no GPU share, no traffic, no occupancy");
  const struct table_cell *precision = &asking->row[PRECISION];
  tell_roof(asking->survey, roofs, precision->type == CELL_TEXT ? precision->value.text : NULL, asking->row);
  if (has && asking->row[FLOPS].type == CELL_NULL)
    survey_note(asking->survey, asking->item, "kernels without metrics: no traffic, no occupancy");
  if (asking->row[FLOPS].type != CELL_NULL)
    asking->row[FLOPS_FROM] = cell_text("measured");
  return STATUS_OK;
}

// The thirds of A3, A4 and A12, over the layers that compute.
static enum status add_stages(const struct asking *asking, struct error *err)
{
  static const struct {
    const struct analysis *analysis;
    struct taken taken[2];
  } asked[] = {{&analysis_a3, {{LATENCY_STAGE, "stage"}}},
               {&analysis_a4, {{MEMORY_STAGE, "stage"}}},
               {&analysis_a12, {{FLOPS_STAGE, "flops_stage"}, {TRAFFIC_STAGE, "dram_stage"}}}};
  for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
    struct table table;
    bool has;
    XSP_TRY(survey_ask(asking->survey, asking->item, asked[i].analysis, asking->batch, true, &table, &has, err));
    for (size_t k = 0; k < 2 && has && asked[i].taken[k].key != NULL; k++)
      asking->row[asked[i].taken[k].column] = survey_summary(asking->survey, &table, asked[i].taken[k].key);
    if (has && i == 0)
      asking->row[LAYER_FROM] = survey_cell(asking->survey, &table, 0, "latency_from");
    if (!has && i == 0)
      survey_note(asking->survey, asking->item, "without the layer level: no stages");
    if (!has && i == 1 && asking->row[LATENCY_STAGE].type != CELL_NULL)
      survey_note(asking->survey, asking->item, "layers that do not say what they allocate: no stage of memory");
  }
  if (asking->row[LAYER_FROM].type != CELL_NULL)
    survey_note(asking->survey, asking->item, "layer latencies come from a deeper level: its overhead is included");
  return STATUS_OK;
}

struct analytic {                // over A14's rows
  double flops[3], bytes[3];     // by third
  double both_flops, both_bytes; // of the layers of which both are known
  double most_flops;             // of one layer
  const char *precision;         // of that one
  size_t known, known_bytes;
};

static struct analytic sum_rows(struct survey *survey, const struct table *table)
{
  struct analytic sum = {.most_flops = -1};
  for (size_t i = 0; i < table->row_count; i++) {
    struct table_cell flops_cell = survey_cell(survey, table, i, "analytic_flops");
    struct table_cell bytes_cell = survey_cell(survey, table, i, "analytic_bytes");
    double flops = cell_double(&flops_cell), bytes = cell_double(&bytes_cell);
    size_t third = 3 * i / table->row_count;
    sum.flops[third] += isnan(flops) ? 0 : flops;
    sum.bytes[third] += isnan(bytes) ? 0 : bytes;
    sum.known += isnan(flops) ? 0 : 1;
    sum.known_bytes += isnan(bytes) ? 0 : 1;
    if (!isnan(flops) && !isnan(bytes)) {
      sum.both_flops += flops;
      sum.both_bytes += bytes;
    }
    if (flops > sum.most_flops) {
      struct table_cell precision = survey_cell(survey, table, i, "analytic_precision");
      sum.most_flops = flops;
      sum.precision = precision.type == CELL_TEXT ? precision.value.text : NULL;
    }
  }
  return sum;
}

static const char *stage_of(const double thirds[3])
{
  static const char *const names[] = {"B", "M", "E"};
  size_t most = 0;
  for (size_t i = 1; i < 3; i++)
    if (thirds[i] > thirds[most])
      most = i;
  return thirds[most] > 0 ? names[most] : NULL;
}

// What follows from shapes stands in columns of its own; the flops themselves stand in for counters that were not read.
static enum status add_analytic(const struct asking *asking, const struct table *roofs, struct error *err)
{
  struct survey *survey = asking->survey;
  struct table_cell *row = asking->row;
  struct table table;
  bool has;
  XSP_TRY(survey_ask(survey, asking->item, &analysis_a14, asking->batch, true, &table, &has, err));
  struct table_cell flops = survey_summary(survey, &table, "analytic_flops");
  struct analytic sum = sum_rows(survey, &table);
  // Layers that move data and compute nothing are known to; that is no figure of a model whose other layers are not.
  bool is_known = has && (cell_double(&flops) > 0 || (sum.known > 0 && sum.known == table.row_count));
  if (!is_known) {
    if (row[FLOPS].type == CELL_NULL)
      survey_note(survey, asking->item, "flops neither measured nor known from shapes");
    return STATUS_OK;
  }
  if (row[FLOPS].type == CELL_NULL) {
    row[FLOPS] = flops;
    row[FLOPS_FROM] = cell_text("analytic");
    row[WITHOUT_FLOPS] = cell_int((int64_t)(table.row_count - sum.known));
    row[FLOPS_STAGE] = cell_text(stage_of(sum.flops));
    survey_note(survey, asking->item,
                sum.known < table.row_count
                    ? "flops follow from shapes and are partial: layers_without_flops says how many layers they lack"
                    : "flops follow from shapes, not from counters, as all that is analytic (an.)");
    if (row[ROOFS].type != CELL_NULL && sum.precision != NULL) {
      row[PRECISION] = cell_text(sum.precision);
      tell_roof(survey, roofs, sum.precision, row);
    }
  }
  double latency_ms = cell_double(&row[LATENCY]), ideal = cell_double(&row[ROOFS + ROOF_COLUMN_COUNT - 1]);
  double intensity = roof_intensity(sum.both_flops, sum.both_bytes);
  const struct roof roof = {.ideal_arithmetic_intensity = ideal};
  row[ANALYTIC_BYTES] =
      sum.known_bytes > 0 ? cell_number(sum.bytes[0] + sum.bytes[1] + sum.bytes[2]) : (struct table_cell){0};
  row[ANALYTIC_INTENSITY] = cell_real(intensity);
  row[ANALYTIC_THROUGHPUT] = cell_real(roof_throughput_flops_per_s(cell_double(&flops), latency_ms));
  row[ANALYTIC_BOUND] = cell_text(roof_bound(&roof, intensity));
  row[ANALYTIC_TRAFFIC_STAGE] = cell_text(stage_of(sum.bytes));
  return STATUS_OK;
}

static enum status add_experiment(struct survey *survey, const struct survey_item *item, struct table_cell *row,
                                  bool *ret_has, struct error *err)
{
  struct asking asking = {survey, item, 0, row};
  struct table roofs;
  XSP_TRY(survey_ask(survey, item, &point, survey->request->batch, false, &roofs, ret_has, err));
  if (!*ret_has) {
    survey_note(survey, item,
                survey->request->batch != 0 ? "not measured at this batch size"
                                            : "without the model, layer and kernel levels");
    return STATUS_OK;
  }
  asking.batch = roofs.batch_size;
  row[BATCH] = roofs.batch_size != 0 ? cell_int(roofs.batch_size) : (struct table_cell){0};
  XSP_TRY(add_model(&asking, err));
  XSP_TRY(add_kernels(&asking, &roofs, err));
  XSP_TRY(add_stages(&asking, err));
  return add_analytic(&asking, &roofs, err);
}

static enum status answer_all(struct survey *survey, struct error *err)
{
  bool is_any = false;
  table_columns(&survey->table, columns, COLUMN_COUNT);
  for (size_t i = 0; i < survey->count; i++) {
    const struct survey_item *item = &survey->items[i];
    struct table_cell *row = table_row(&survey->table);
    bool has;
    row[MODEL] = cell_text(item->model_name);
    row[FRAMEWORK] = cell_text(item->of.experiment->framework);
    row[SYSTEM] = cell_text(item->system_name);
    row[TASK] = survey_workload_cell(survey, item, "task");
    XSP_TRY(add_experiment(survey, item, row, &has, err));
    survey_next(survey);
    is_any |= has;
  }
  if (!is_any)
    return survey_lacks(survey, err,
                        survey->request->batch == 0
                            ? "no experiment has a run with the model, layer or kernel level"
                            : "no experiment has a run with the model, layer or kernel level at this batch size");
  table_note(
      &survey->table,
      "B, M, E: the first, middle or last third, in execution order, of the layers that are no constants, variables, "
      "inputs, outputs or control");
  table_drop_empty(&survey->table, "latency_from");
  table_drop_empty(&survey->table, "layer_latency_from");
  table_drop_empty(&survey->table, "kernel_latency_from");
  return STATUS_OK;
}

const struct analysis analysis_t9 = {
    .id = "T9", .title = "models at their optimal batch sizes", .needs = "M, L, K", .answer_all = answer_all};
