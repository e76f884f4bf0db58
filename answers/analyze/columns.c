// SPDX-License-Identifier: Apache-2.0
// Columns, summaries and notes that several analyses share.
#include "analyze/view.h"
#include "base/slice.h"

#include <math.h>

void analyze_put_batch(struct table_builder *table, int64_t batch_size)
{
  table_put(table, "batch_size", cell_int_if(batch_size != 0, batch_size));
}

void analyze_put_spread(struct table_builder *table, const struct figure *figure)
{
  bool is_known = figure->occurring != NULL;
  double least_ms = NAN, most_ms = NAN;
  for (size_t i = 0; i < figure->count; i++) {
    least_ms = fmin(least_ms, figure->occurring[i]);
    most_ms = fmax(most_ms, figure->occurring[i]);
  }
  table_put(table, "n", cell_int_if(is_known, (int64_t)figure->count));
  table_put(table, "min_ms", cell_real(least_ms));
  table_put(table, "max_ms", cell_real(most_ms));
  table_put(table, "cv_pct", cell_real(statistic_cv_pct(figure->occurring, figure->count)));
  table_put(table, "present", cell_int_if(is_known, (int64_t)figure->present));
  table_put(table, "occurrence_ms", cell_real(figure->occurrence));
}

void analyze_summarize_sums(struct question *question, double sum_ms, double rows_sum_ms)
{
  if (!question_is_by_value(question))
    return;
  table_summary(&question->table, "sum_ms", cell_real(sum_ms));
  table_summary(&question->table, "rows_sum_ms", cell_real(rows_sum_ms));
  table_note(&question->table,
             "each figure is the statistic of its own values: rows do not add up to the statistic of the "
             "sums (sum_ms), which percentages are of");
}

void analyze_put_partial(struct table_builder *table, bool is_partial)
{
  table_put_optional(table, "partial", is_partial ? cell_bool(true) : (struct table_cell){0});
}

void analyze_put_from(struct table_builder *table, const char *key, const char *from)
{
  table_put_optional(table, key, cell_text(from));
}

static bool is_above_100(const char *key, const struct table_cell *cell)
{
  bool is_share = text_ends_with(key, "_pct") && !(table_word(key)->traits & TABLE_NO_SHARE);
  return is_share && cell->type == CELL_REAL && cell->value.real > 100 * (1 + 1e-9);
}

// A share above 100 % looks like a mistake: the reader is told how it comes about.
void analyze_note_above_100(struct table_builder *table)
{
  static const char reason[] =
      "layers or kernels run in parallel, or the two come from different runs, or device work ends "
      "after what it is a share of";
  for (size_t column = 0; column < table->column_count; column++) {
    size_t above = 0;
    for (size_t row = 0; row < table->row_count; row++)
      above += is_above_100(table->columns[column].key, &table->cells[row * table->column_count + column]);
    if (above > 0)
      table_note(table, "%s is above 100 %% in %zu rows: %s", table->columns[column].key, above, reason);
  }
  for (size_t i = 0; i < table->summary_count; i++)
    if (is_above_100(table->summary[i].key, &table->summary[i].value))
      table_note(table, "%s is above 100 %%: %s", table->summary[i].key, reason);
}
