// SPDX-License-Identifier: Apache-2.0
// T11, system against system, as the paper's Figure 11: throughput and GPU latency of each model over batch sizes, on each
// system. One row for each model, framework, system and batch size, from A1 and A15.
#include "analyze/a_list.h"
#include "analyze/models/survey_systems.h"

#include <math.h>
#include <string.h>

enum {
  MODEL,
  FRAMEWORK,
  FRAMEWORK_VERSION,
  SYSTEM,
  BATCH,
  THROUGHPUT,
  RATIO,
  LATENCY,
  KERNEL_LATENCY,
  GPU_LATENCY,
  IS_OPTIMAL,
  IS_MAXIMUM,
  SPREAD,
  FROM = SPREAD + 4,
  KERNEL_FROM,
  COLUMN_COUNT
};

static const struct table_column columns[] = {
    COLUMN("model_name", "", "model"),
    COLUMN("framework", "", "framework"),
    COLUMN("framework_version", "", "version"),
    COLUMN("system", "", "system"),
    COLUMN("batch_size", "", "batch"),
    COLUMN("throughput_per_s", "1/s", "throughput"),
    COLUMN("normalized_throughput", "", "of the first"),
    COLUMN("latency_ms", "ms", "latency"),
    COLUMN("kernel_latency_ms", "ms", "kernels"),
    COLUMN("gpu_latency_ms", "ms", "GPU"),
    COLUMN("is_optimal", "", "optimal"),
    COLUMN("is_maximum", "", "maximum"),
    SPREAD_COLUMNS, // of the model's latency
    COLUMN("latency_from", "", "from"),
    COLUMN("kernel_latency_from", "", "kernels from"),
};
_Static_assert(sizeof columns / sizeof columns[0] == COLUMN_COUNT, "a column and its place in the rows");

static bool are_equal(const char *a, const char *b)
{
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

// What is compared: one model in one version of one framework.
static bool are_of_one_group(const struct survey_item *a, const struct survey_item *b)
{
  return strcmp(a->model_name, b->model_name) == 0 &&
         are_equal(a->of.experiment->framework, b->of.experiment->framework) &&
         are_equal(a->of.experiment->framework_version, b->of.experiment->framework_version);
}

static size_t find_batch(struct survey *survey, const struct table *table, const struct table_cell *batch)
{
  for (size_t row = 0; row < table->row_count; row++) {
    struct table_cell other = survey_cell(survey, table, row, "batch_size");
    if (other.type == batch->type && (other.type != CELL_INT || other.value.integer == batch->value.integer))
      return row;
  }
  return SIZE_MAX;
}

// ---- one experiment --------------------------------------------------------------------------------------------------
static void fill_row(struct survey *survey, const struct survey_item *item, const struct table *models, size_t at,
                     const struct table *kernels, struct table_cell *row)
{
  static const struct {
    size_t column;
    const char *key;
  } of_model[] = {{BATCH, "batch_size"},      {THROUGHPUT, "throughput_per_s"}, {LATENCY, "latency_ms"},
                  {IS_OPTIMAL, "is_optimal"}, {IS_MAXIMUM, "is_maximum"},       {SPREAD, "n"},
                  {SPREAD + 1, "min_ms"},     {SPREAD + 2, "max_ms"},           {SPREAD + 3, "cv_pct"},
                  {FROM, "latency_from"}},
    of_kernels[] = {
        {KERNEL_LATENCY, "kernel_latency_ms"}, {GPU_LATENCY, "gpu_latency_ms"}, {KERNEL_FROM, "latency_from"}};
  row[MODEL] = cell_text(item->model_name);
  row[FRAMEWORK] = cell_text(item->of.experiment->framework);
  row[FRAMEWORK_VERSION] = cell_text(item->of.experiment->framework_version);
  row[SYSTEM] = cell_text(item->system_name);
  for (size_t i = 0; i < sizeof of_model / sizeof of_model[0]; i++)
    row[of_model[i].column] = survey_cell(survey, models, at, of_model[i].key);
  size_t same = find_batch(survey, kernels, &row[BATCH]);
  for (size_t i = 0; i < sizeof of_kernels / sizeof of_kernels[0]; i++)
    row[of_kernels[i].column] = survey_cell(survey, kernels, same, of_kernels[i].key);
}

// The throughput of the group's first system at this batch size.
static double first_throughput(const struct survey *survey, size_t first_row, const struct survey_item *first,
                               const struct table_cell *batch)
{
  for (size_t i = first_row; i < survey->table.row_count; i++) {
    const struct table_cell *row = survey->table.rows + i * COLUMN_COUNT;
    if (row[BATCH].type == CELL_INT && batch->type == CELL_INT && row[BATCH].value.integer == batch->value.integer &&
        are_equal(row[SYSTEM].type == CELL_TEXT ? row[SYSTEM].value.text : NULL, first->system_name))
      return cell_double(&row[THROUGHPUT]);
  }
  return NAN;
}

static enum status add_experiment(struct survey *survey, const struct survey_item *item,
                                  const struct survey_item *first, size_t first_row, struct error *err)
{
  struct table models, kernels;
  bool has_models, has_kernels;
  int64_t batch = survey->request->batch;
  XSP_TRY(survey_ask(survey, item, &analysis_a1, batch, false, &models, &has_models, err));
  XSP_TRY(survey_ask(survey, item, &analysis_a15, batch, false, &kernels, &has_kernels, err));
  if (!has_models)
    survey_note(survey, item,
                batch == 0 ? "without the model level, left out" : "not measured at this batch size, left out");
  else if (!has_kernels)
    survey_note(survey, item, "without the kernel level: no GPU latency");
  for (size_t i = 0; i < models.row_count; i++) {
    struct table_cell *row = table_row(&survey->table);
    fill_row(survey, item, &models, i, &kernels, row);
    double of_first =
        item->system_number == first->system_number ? NAN : first_throughput(survey, first_row, first, &row[BATCH]);
    row[RATIO] = cell_real(of_first > 0 ? cell_double(&row[THROUGHPUT]) / of_first : NAN);
  }
  survey->observations += models.observations;
  survey_next(survey);
  return STATUS_OK;
}

// ---- the answer ------------------------------------------------------------------------------------------------------
static enum status add_group(struct survey *survey, size_t first, bool *is_told, struct error *err)
{
  const struct survey_item *items = survey->items;
  size_t first_row = survey->table.row_count;
  bool has_several = false;
  for (size_t i = first; i < survey->count; i++) {
    if (is_told[i] || !are_of_one_group(&items[first], &items[i]))
      continue;
    is_told[i] = true;
    has_several |= items[i].system_number != items[first].system_number;
    XSP_TRY(add_experiment(survey, &items[i], &items[first], first_row, err));
  }
  if (!has_several)
    survey_note(survey, &items[first], "on one system only");
  return STATUS_OK;
}

static void note_systems(struct survey *survey)
{
  size_t systems = 0;
  const struct survey_item *first = &survey->items[0];
  for (size_t i = 0; i < survey->count; i++) {
    if (survey->items[i].system_number != systems)
      continue;
    systems++;
    if (systems > 1)
      survey_systems_note(survey, first, &survey->items[i]);
  }
  table_summary(&survey->table, "systems", cell_int((int64_t)systems));
  if (systems > 1)
    table_note(&survey->table, "normalized_throughput: in units of the model's first system");
}

static enum status answer_all(struct survey *survey, struct error *err)
{
  bool *is_told = arena_alloc_array(survey->arena, survey->count, sizeof *is_told);
  if (is_told == NULL)
    return question_no_memory(err);
  table_columns(&survey->table, columns, COLUMN_COUNT);
  for (size_t i = 0; i < survey->count; i++)
    if (!is_told[i])
      XSP_TRY(add_group(survey, i, is_told, err));
  if (survey->table.row_count == 0)
    return survey_lacks(survey, err,
                        survey->request->batch == 0
                            ? "no experiment has a run with the model level"
                            : "no experiment has a run with the model level at this batch size");
  note_systems(survey);
  table_drop_empty(&survey->table, "latency_from");
  table_drop_empty(&survey->table, "kernel_latency_from");
  return STATUS_OK;
}

const struct analysis analysis_t11 = {
    .id = "T11", .title = "system against system", .needs = "M, K", .answer_all = answer_all};
