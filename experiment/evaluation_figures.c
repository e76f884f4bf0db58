// SPDX-License-Identifier: Apache-2.0
// The figures of an evaluated model, for the table that is printed and for table `evaluation` of the file. Called by evaluation.c and
// by what prints evaluations.
#include "experiment/evaluation.h"

#include "analyze/analyze.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static double percent(size_t part, size_t whole)
{
  return whole > 0 ? 100.0 * (double)part / (double)whole : NAN;
}

static double statistic_of(const struct evaluation_result *result, const char *name, struct arena *arena)
{
  struct statistic statistic;
  double *values = arena_alloc_array(arena, result->latency_count + 1, sizeof *values);
  memcpy(values, result->latencies_ms, result->latency_count * sizeof *values);
  return statistic_parse(name, &statistic) ? statistic_apply(&statistic, values, result->latency_count) : NAN;
}

// How many items both models call the same, of those that both evaluated.
static double agreement_pct(const struct evaluation_result *first, const struct evaluation_result *other)
{
  size_t both = first->item_count < other->item_count ? first->item_count : other->item_count, same = 0;
  for (size_t i = 0; i < both; i++)
    same += first->items[i].count > 0 && other->items[i].count > 0 &&
            first->items[i].best[0].place == other->items[i].best[0].place;
  return percent(same, both);
}

void evaluation_put_figures(struct table_builder *table, const struct evaluation_options *options,
                            const struct evaluation *evaluation, size_t number)
{
  const struct evaluation_result *result = &evaluation->results[number];
  double latency_ms = statistic_of(result, "mean", table->arena);
  table_put(table, "inputs", "", "inputs", cell_int((int64_t)result->item_count));
  table_put(table, "labelled", "", "labelled", cell_int((int64_t)result->labelled));
  table_put(table, "top1_pct", "%", "top 1", cell_real(percent(result->first_right, result->labelled)));
  table_put(table, "top5_pct", "%", "top 5", cell_real(percent(result->among_right, result->labelled)));
  table_put_optional(table, "agreement_pct", "%", "agrees",
                     cell_real(number > 0 ? agreement_pct(&evaluation->results[0], result) : NAN));
  table_put(table, "latency_ms", "ms", "latency", cell_real(latency_ms));
  table_put(table, "p90_ms", "ms", "p90", cell_real(statistic_of(result, "p90", table->arena)));
  table_put(table, "p99_ms", "ms", "p99", cell_real(statistic_of(result, "p99", table->arena)));
  table_put(table, "throughput_per_s", "1/s", "throughput",
            cell_real(latency_ms > 0 ? 1000 * (double)options->batch / latency_ms : NAN));
  table_put(table, "preprocess_ms", "ms", "preprocess", cell_real(result->preprocess_ms));
  table_put(table, "postprocess_ms", "ms", "postprocess", cell_real(result->postprocess_ms));
}

// ---- in the file -----------------------------------------------------------------------------------------------------
static uint64_t add_text(uint64_t hash, const char *text) // FNV-1a, with the text's end
{
  do
    hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  while (*text++ != 0);
  return hash;
}

// Over names, labels and sizes of the items: it tells data sets apart without reading them.
static const char *data_checksum(const struct data_set *set, size_t count, struct arena *arena)
{
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  size_t prefix = strlen(set->path);
  for (size_t i = 0; i < count; i++) {
    const struct data_item *item = &set->items[i];
    struct stat facts;
    char size[32] = "";
    if (stat(item->path, &facts) == 0)
      snprintf(size, sizeof size, "%jd", (intmax_t)facts.st_size);
    hash = add_text(hash, strncmp(item->path, set->path, prefix) == 0 ? item->path + prefix : item->path);
    hash = add_text(add_text(hash, item->label != NULL ? item->label : ""), size);
  }
  return arena_format(arena, "%016" PRIx64, hash);
}

enum status evaluation_keep(struct store *store, const struct evaluation_options *options,
                            const struct evaluation *evaluation, size_t number, struct error *err)
{
  struct arena arena = {0};
  struct table_builder row;
  table_start(&row, &arena);
  table_row(&row);
  table_put(&row, "data_set", "", "data", cell_text(options->set->path));
  table_put(&row, "data_checksum", "", "checksum",
            cell_text(data_checksum(options->set, evaluation->results[number].item_count, &arena)));
  table_put(&row, "batch", "", "batch", cell_int(options->batch));
  evaluation_put_figures(&row, options, evaluation, number);
  struct store_system_value *values = arena_alloc_array(&arena, row.column_count, sizeof *values);
  size_t count = 0;
  for (size_t i = 0; i < row.column_count; i++) {
    const struct table_cell *cell = &row.cells[i];
    if (cell->type == CELL_TEXT)
      values[count++] = (struct store_system_value){.key = row.columns[i].key, .text = cell->value.text};
    else if (!isnan(cell_double(cell)))
      values[count++] =
          (struct store_system_value){.key = row.columns[i].key, .number = cell_double(cell), .is_number = true};
  }
  enum status status = store_add_evaluation(store, (int64_t)number + 1, values, count, err);
  arena_done(&arena);
  return status;
}
