// SPDX-License-Identifier: Apache-2.0
// A comparison: what differs between the systems, the verdict in one sentence, the rows, what has no partner. Called by programs.
#include "report/tables/tables.h"

#include <math.h>
#include <string.h>

static void put_json(const struct compare_answer *answer, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_object(&json);
  json_member_string(&json, "analysis", answer->rows.id);
  report_table_put_summary_json(&json, &answer->rows);
  json_member_string(&json, "statistic", answer->rows.statistic);
  report_table_put_columns_json(&json, &answer->rows);
  report_table_put_rows_json(&json, "rows", &answer->rows);
  json_member_object(&json, "unpaired");
  report_table_put_rows_json(&json, "a", &answer->unpaired[0]);
  report_table_put_rows_json(&json, "b", &answer->unpaired[1]);
  json_object_end(&json);
  report_table_put_rows_json(&json, "systems", &answer->systems);
  report_table_put_summary_json(&json, &answer->systems);
  if (answer->scaling.row_count > 0) {
    report_table_put_rows_json(&json, "scaling", &answer->scaling);
    report_table_put_summary_json(&json, &answer->scaling);
  }
  report_table_put_notes_json(&json, &answer->rows);
  json_object_end(&json);
  buf_text(out, "\n");
}

void report_comparison_sentence(const struct compare_answer *answer, struct buf *out)
{
  double size_pct = answer->model.difference_pct;
  bool is_history = strcmp(answer->rows.id, "history") == 0;
  buf_text(out, verdict_name(answer->verdict));
  if (answer->verdict == VERDICT_SLOWER || answer->verdict == VERDICT_FASTER)
    buf_format(out, ": %s takes %.3g %% %s time than %s", is_history ? "the last segment" : "b", fabs(size_pct),
               size_pct > 0 ? "more" : "less", is_history ? "the one before" : "a");
  else if (answer->model.reason != NULL)
    buf_format(out, " (%s)", answer->model.reason);
  if (!isnan(answer->model.a_ms) && !isnan(answer->model.b_ms))
    buf_format(out, ": %.4g ms to %.4g ms", answer->model.a_ms, answer->model.b_ms);
  if (!isnan(answer->model.low_pct))
    buf_format(out, ", difference %.3g to %.3g %%", answer->model.low_pct, answer->model.high_pct);
  if (answer->model.further_observations > 0)
    buf_format(out, "; about %.0f further observations on each side would decide", answer->model.further_observations);
}

static void put_table(struct table table, enum report_format format, unsigned width, struct buf *out)
{
  table.summary_count = 0; // the sentence has it
  report_tables(&table, 1, format, false, width, out);
}

// Efficiency, and where it goes.
static void put_scaling(const struct compare_answer *answer, enum report_format format, unsigned width, struct buf *out)
{
  const char *const before[] = {"scaling  ", " to ", " ranks, efficiency "};
  for (unsigned i = 0; i < sizeof before / sizeof before[0]; i++) {
    buf_text(out, before[i]);
    summary_value(&answer->scaling, i, out);
  }
  buf_text(out, "\n\n");
  put_table(answer->scaling, format, width, out);
  buf_text(out, "\n");
}

// A table of what differs, and how much does not.
static void put_systems(const struct compare_answer *answer, enum report_format format, unsigned width, struct buf *out)
{
  if (answer->systems.row_count > 0)
    put_table(answer->systems, format, width, out);
  buf_format(out, "%ssame facts of systems and software on both sides: ", answer->systems.row_count > 0 ? "\n" : "");
  summary_value(&answer->systems, 0, out);
  buf_text(out, "\n\n");
}

void report_comparison(const struct compare_answer *answer, enum report_format format, unsigned width, struct buf *out)
{
  if (format == REPORT_JSON) {
    put_json(answer, out);
    return;
  }
  if (!report_format_is_csv(format)) {
    put_systems(answer, format, width, out);
    buf_text(out, "verdict  ");
    report_comparison_sentence(answer, out);
    buf_text(out, "\n\n");
    if (answer->scaling.row_count > 0)
      put_scaling(answer, format, width, out);
  }
  put_table(answer->rows, format, width, out);
  for (unsigned which = 0; which < 2 && !report_format_is_csv(format); which++)
    if (answer->unpaired[which].row_count > 0) {
      buf_text(out, "\n");
      put_table(answer->unpaired[which], format, width, out);
    }
}
