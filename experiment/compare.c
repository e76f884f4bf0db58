// SPDX-License-Identifier: Apache-2.0
// Divides each variant's model latencies (table A1) by the first variant's, per batch size, and compares observations
// repetition by repetition. Called by programs/xsp/profile_print.c.
#include "experiment/compare.h"

#include "experiment/model_rows.h"
#include "experiment/pairs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BATCH, VARIANT, LATENCY, THROUGHPUT, RATIO, PAIRED, LOW, HIGH, COUNT, COLUMNS };

static const struct table_column columns[COLUMNS] = {
    [BATCH] = {"batch_size", "", "batch"},
    [VARIANT] = {"variant", "", "variant"},
    [LATENCY] = {"latency_ms", "ms", "latency"},
    [THROUGHPUT] = {"throughput_per_s", "1/s", "throughput"},
    [RATIO] = {"latency_ratio", "", "of the first"},
    [PAIRED] = {"paired_ratio", "", "paired"},
    [LOW] = {"paired_low", "", "from"},
    [HIGH] = {"paired_high", "", "to"},
    [COUNT] = {"n", "", "n"},
};

static const char *const notes[] = {
    "of the first: the latency divided by that of the first variant at that batch size",
    "paired: the median over repetitions of an observation divided by the first variant's of the same repetition, with "
    "its "
    "95 % interval: if it includes 1, the two do not differ measurably",
};

struct comparison {
  const struct profile_options *options;
  const struct profile_result *result;
  const struct table *answers[PROFILE_VARIANTS_MAXIMUM]; // A1 of each variant; NULL: it has none
  struct store_run *runs;                                // of the file
  size_t run_count;
  struct arena *arena;
};

struct latencies { // counted observations of a variant at a batch size, in the order of repetitions
  double *values;
  size_t count;
};

static void take_answer(struct comparison *comparison, const struct table *table)
{
  for (size_t i = 0; i < comparison->run_count && table->run_count > 0; i++)
    for (size_t variant = 0; variant < comparison->options->variant_count; variant++)
      if (comparison->runs[i].run_id == table->run_ids[0] &&
          comparison->runs[i].experiment_id == experiment_id_of(variant))
        comparison->answers[variant] = table;
}

static const struct table_cell *find_row(const struct table *table, int64_t batch)
{
  for (size_t i = 0; table != NULL && i < table->row_count; i++) {
    const struct table_cell *row = &table->rows[i * table->column_count];
    if (row[0].type == CELL_INT && row[0].value.integer == batch) // batch_size is A1's first column
      return row;
  }
  return NULL;
}

static struct table_cell find_cell(const struct table *table, const struct table_cell *row, const char *key)
{
  for (size_t i = 0; i < table->column_count; i++)
    if (strcmp(table->columns[i].key, key) == 0)
      return row[i];
  return (struct table_cell){0};
}

static struct table_cell real(double value)
{
  return isfinite(value) ? (struct table_cell){.type = CELL_REAL, .value.real = value} : (struct table_cell){0};
}

static int64_t find_run(const struct comparison *comparison, const struct table *table, int64_t batch)
{
  for (size_t i = 0; i < table->run_count; i++)
    for (size_t k = 0; k < comparison->run_count; k++)
      if (comparison->runs[k].run_id == table->run_ids[i] && comparison->runs[k].batch_size == batch)
        return table->run_ids[i];
  return 0;
}

static enum status load_latencies(const struct comparison *comparison, const struct table *table, int64_t batch,
                                  struct latencies *ret_latencies, struct error *err)
{
  struct store_observation *observations;
  size_t count = 0;
  *ret_latencies = (struct latencies){0};
  XSP_TRY(store_observations(comparison->result->store, find_run(comparison, table, batch), comparison->arena,
                             &observations, &count, err));
  ret_latencies->values = arena_alloc_array(comparison->arena, count + 1, sizeof *ret_latencies->values);
  for (size_t i = 0; i < count; i++)
    if (!observations[i].warmup)
      ret_latencies->values[ret_latencies->count++] = (double)observations[i].duration_ns;
  return STATUS_OK;
}

// Pairs are of one moment only where variants took turns; an interruption may have left one with an observation more.
static enum status pair(const struct comparison *comparison, size_t variant, int64_t batch,
                        const struct latencies *first, struct table_cell *row, struct error *err)
{
  struct latencies own;
  struct paired_ratio ratio;
  if (comparison->options->sequential || first->count == 0)
    return STATUS_OK;
  XSP_TRY(load_latencies(comparison, comparison->answers[variant], batch, &own, err));
  size_t count = own.count < first->count ? own.count : first->count;
  pairs_compare(own.values, first->values, count, comparison->arena, &ratio);
  row[PAIRED] = real(ratio.median);
  row[LOW] = real(ratio.low);
  row[HIGH] = real(ratio.high);
  return STATUS_OK;
}

static enum status add_batch(const struct comparison *comparison, int64_t batch, struct table_cell *rows,
                             size_t *row_count, struct error *err)
{
  const struct profile_options *options = comparison->options;
  struct latencies first = {0};
  double first_ms = NAN;
  for (size_t variant = 0; variant < options->variant_count; variant++) {
    const struct table *table = comparison->answers[variant];
    const struct table_cell *from = find_row(table, batch);
    if (from == NULL)
      continue;
    struct table_cell *row = &rows[COLUMNS * (*row_count)++];
    for (size_t i = 0; i < COLUMNS; i++)
      row[i] = find_cell(table, from, columns[i].key);
    char label[PROFILE_LABEL_SIZE];
    variant_label(comparison->result->found, options->variant_count, variant, label, sizeof label);
    const char *text = arena_copy(comparison->arena, label, strlen(label));
    row[VARIANT] = text == NULL ? (struct table_cell){0} : (struct table_cell){.type = CELL_TEXT, .value.text = text};
    double latency_ms = row[LATENCY].type == CELL_REAL ? row[LATENCY].value.real : NAN;
    if (variant == 0) {
      first_ms = latency_ms;
      XSP_TRY(load_latencies(comparison, table, batch, &first, err));
    }
    row[RATIO] = real(latency_ms / first_ms);
    if (variant > 0)
      XSP_TRY(pair(comparison, variant, batch, &first, row, err));
  }
  return STATUS_OK;
}

enum status profile_compare(const struct profile_options *options, const struct profile_result *result,
                            struct table *tables, size_t *count, struct arena *arena, struct error *err)
{
  struct comparison comparison = {.options = options, .result = result, .arena = arena};
  XSP_TRY(store_runs(result->store, arena, &comparison.runs, &comparison.run_count, err));
  for (size_t i = 0; i < *count; i++)
    if (strcmp(tables[i].id, "A1") == 0)
      take_answer(&comparison, &tables[i]);
  struct table_cell *rows =
      arena_alloc_array(arena, options->batch_count * options->variant_count * COLUMNS, sizeof *rows);
  size_t row_count = 0;
  for (size_t batch = 0; batch < options->batch_count; batch++)
    XSP_TRY(add_batch(&comparison, options->batches[batch], rows, &row_count, err));
  if (row_count > 0)
    tables[(*count)++] = (struct table){
        .id = "variants",
        .title = "latencies of the variants",
        .levels = comparison.answers[0] != NULL ? comparison.answers[0]->levels : NULL,
        .statistic = "trimmed:0.2",
        .columns = columns,
        .column_count = COLUMNS,
        .rows = rows,
        .row_count = row_count,
        .notes = notes,
        .note_count = options->sequential ? 1 : 2,
    };
  return STATUS_OK;
}
