// SPDX-License-Identifier: Apache-2.0
// Divides each variant's model latencies (table A1) by the first variant's, per batch size, and compares observations
// repetition by repetition. Called by programs/xsp/verb_profile/profile_print.c.
#include "experiment/compare.h"

#include "analyze/analyze.h"
#include "table/builder.h"

#include <math.h>
#include <string.h>

struct comparison {
  const struct profile_options *options;
  const struct profile_result *result;
  const struct table *answers[PROFILE_VARIANTS_MAXIMUM]; // A1 of each variant; NULL: it has none
  struct store_run *runs;                                // of the file
  size_t run_count;
  struct arena *arena;
  struct table_builder table;
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
                        const struct latencies *first, struct paired_ratio *ret_ratio, struct error *err)
{
  struct latencies own;
  *ret_ratio = (struct paired_ratio){NAN, NAN, NAN};
  if (variant == 0 || comparison->options->sequential || first->count == 0)
    return STATUS_OK;
  XSP_TRY(load_latencies(comparison, comparison->answers[variant], batch, &own, err));
  size_t count = own.count < first->count ? own.count : first->count;
  *ret_ratio = interval_ratio_of_pairs(own.values, first->values, count);
  return STATUS_OK;
}

static void put_row(struct comparison *comparison, size_t variant, int64_t batch, double first_ms,
                    const struct paired_ratio *paired)
{
  struct table_builder *table = &comparison->table;
  const struct table *answer = comparison->answers[variant];
  const struct table_cell *from = find_row(answer, batch);
  struct table_cell latency = find_cell(answer, from, "latency_ms");
  char label[PROFILE_LABEL_SIZE];
  variant_label(comparison->result->found, comparison->options->variant_count, variant, label, sizeof label);
  table_row(table);
  table_put(table, "batch_size", cell_int(batch));
  table_put(table, "variant", cell_text(arena_copy(comparison->arena, label, strlen(label))));
  table_put(table, "latency_ms", latency);
  table_put(table, "throughput_per_s", find_cell(answer, from, "throughput_per_s"));
  table_put(table, "latency_ratio", cell_real(cell_double(&latency) / first_ms));
  table_put(table, "paired_ratio", cell_real(paired->ratio));
  table_put(table, "paired_low", cell_real(paired->low));
  table_put(table, "paired_high", cell_real(paired->high));
  table_put(table, "n", find_cell(answer, from, "n"));
}

static enum status add_batch(struct comparison *comparison, int64_t batch, struct error *err)
{
  struct latencies first = {0};
  double first_ms = NAN;
  for (size_t variant = 0; variant < comparison->options->variant_count; variant++) {
    const struct table *answer = comparison->answers[variant];
    const struct table_cell *from = find_row(answer, batch);
    if (from == NULL)
      continue;
    if (variant == 0) {
      struct table_cell latency = find_cell(answer, from, "latency_ms");
      first_ms = cell_double(&latency);
      XSP_TRY(load_latencies(comparison, answer, batch, &first, err));
    }
    struct paired_ratio paired;
    XSP_TRY(pair(comparison, variant, batch, &first, &paired, err));
    put_row(comparison, variant, batch, first_ms, &paired);
  }
  return STATUS_OK;
}

enum status experiment_compare(const struct profile_options *options, const struct profile_result *result,
                               struct table *tables, size_t *count, struct arena *arena, struct error *err)
{
  struct comparison comparison = {.options = options, .result = result, .arena = arena};
  XSP_TRY(store_runs(result->store, arena, &comparison.runs, &comparison.run_count, err));
  for (size_t i = 0; i < *count; i++)
    if (strcmp(tables[i].id, "A1") == 0)
      take_answer(&comparison, &tables[i]);
  table_start(&comparison.table, arena);
  for (size_t batch = 0; batch < options->batch_count; batch++)
    XSP_TRY(add_batch(&comparison, options->batches[batch], err));
  if (comparison.table.row_count == 0)
    return STATUS_OK;
  table_note(&comparison.table, "of the first: the latency divided by that of the first variant at that batch size");
  if (!options->sequential)
    table_note(
        &comparison.table,
        "paired: an observation divided by the first variant's of the same repetition, averaged over repetitions, with "
        "its 95 %% interval: if it includes 1, the two do not differ measurably");
  struct table *answer = &tables[(*count)++];
  *answer = (struct table){.id = "variants",
                           .title = "latencies of the variants",
                           .levels = comparison.answers[0] != NULL ? comparison.answers[0]->levels : NULL,
                           .statistic = "trimmed:0.2"};
  table_answer(&comparison.table, answer);
  return STATUS_OK;
}
