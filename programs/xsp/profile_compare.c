// SPDX-License-Identifier: Apache-2.0
// Takes the model latencies that A1 gave for each variant's experiment and relates them, batch size by batch size, to those
// of the first one. Called by profile_summary.c. Computes no latency of its own.
#include "programs/xsp/profile_compare.h"

#include <stdio.h>
#include <string.h>

enum { BATCH, VARIANT, LATENCY, RATIO, THROUGHPUT, COUNT, LEAST, MOST, SPREAD, COLUMNS };

static const struct analyze_column columns[COLUMNS] = {
    [BATCH] = {"batch_size", "", "batch"},
    [VARIANT] = {"variant", "", "variant"},
    [LATENCY] = {"latency_ms", "ms", "latency"},
    [RATIO] = {"latency_ratio", "", "of the first"},
    [THROUGHPUT] = {"throughput_per_s", "1/s", "throughput"},
    [COUNT] = {"n", "", "n"},
    [LEAST] = {"min_ms", "ms", "min"},
    [MOST] = {"max_ms", "ms", "max"},
    [SPREAD] = {"cv_pct", "%", "cv"},
};

struct answers { // A1 of each variant; NULL: it has none
  const struct analyze_table *of[PROFILE_VARIANTS_MAXIMUM];
};

// A run's number says whose it is, see profile_experiment.c.
static size_t variant_of_table(const struct profile_options *options, const struct analyze_table *table)
{
  size_t lanes = options->variant_count * options->set_count;
  return (size_t)(table->run_ids[0] - 1) % lanes / options->set_count;
}

static const struct cell *find_row(const struct analyze_table *table, int64_t batch)
{
  for (size_t i = 0; table != NULL && i < table->row_count; i++) {
    const struct cell *row = &table->rows[i * table->column_count];
    if (row[0].type == CELL_INT && row[0].value.integer == batch) // batch_size is A1's first column
      return row;
  }
  return NULL;
}

static struct cell find_cell(const struct analyze_table *table, const struct cell *row, const char *key)
{
  for (size_t i = 0; i < table->column_count; i++)
    if (strcmp(table->columns[i].key, key) == 0)
      return row[i];
  return (struct cell){0};
}

static void fill_row(const struct analyze_table *table, const struct cell *from, double first_ms, const char *label,
                     struct cell *row)
{
  for (size_t i = 0; i < COLUMNS; i++)
    row[i] = find_cell(table, from, columns[i].key);
  row[VARIANT] = label == NULL ? (struct cell){0} : (struct cell){.type = CELL_TEXT, .value.text = label};
  if (row[LATENCY].type == CELL_REAL && first_ms > 0)
    row[RATIO] = (struct cell){.type = CELL_REAL, .value.real = row[LATENCY].value.real / first_ms};
}

enum status profile_compare(const struct profile_options *options, const struct profile_result *result,
                            struct analyze_table *tables, size_t *count, struct arena *arena, struct error *err)
{
  struct answers answers = {0};
  for (size_t i = 0; i < *count; i++)
    if (strcmp(tables[i].id, "A1") == 0 && tables[i].run_count > 0)
      answers.of[variant_of_table(options, &tables[i])] = &tables[i];
  struct cell *rows = arena_alloc_array(arena, options->batch_count * options->variant_count * COLUMNS, sizeof *rows);
  static const char *const notes[] = {
      "of the first: the latency divided by that of the first variant at that batch size"};
  if (rows == NULL)
    return error_set(err, STATUS_MEMORY, "cannot compare the variants", NULL, NULL, "out of memory");
  size_t row_count = 0;
  for (size_t batch = 0; batch < options->batch_count; batch++) {
    double first_ms = 0;
    for (size_t variant = 0; variant < options->variant_count; variant++) {
      const struct analyze_table *table = answers.of[variant];
      const struct cell *from = find_row(table, options->batches[batch]);
      if (from == NULL)
        continue;
      char label[PROFILE_LABEL_SIZE];
      variant_label(result->found, options->variant_count, variant, label, sizeof label);
      struct cell latency = find_cell(table, from, "latency_ms");
      if (variant == 0 && latency.type == CELL_REAL)
        first_ms = latency.value.real;
      fill_row(table, from, first_ms, arena_copy(arena, label, strlen(label)), &rows[COLUMNS * row_count++]);
    }
  }
  if (row_count > 0)
    tables[(*count)++] = (struct analyze_table){
        .id = "variants",
        .title = "latencies beside each other",
        .levels = answers.of[0] != NULL ? answers.of[0]->levels : NULL,
        .statistic = "trimmed:0.2",
        .columns = columns,
        .column_count = COLUMNS,
        .rows = rows,
        .row_count = row_count,
        .notes = notes,
        .note_count = 1,
    };
  return STATUS_OK;
}
