// SPDX-License-Identifier: Apache-2.0
// What tables leave out for people, and that exact outputs keep it.
#include "report/report.h"
#include "table/builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FULL "void at::native::reduce_kernel<512, 1, at::native::MeanOps<float> >(int)"
enum { NAME, LAYER, TYPE, MODEL_MS, KERNEL_MS, N, MIN_MS, FROM, COLUMN_COUNT };
static const char *const keys[COLUMN_COUNT] = {"kernel_name", "layer_name", "layer_type", "model_ms",
                                               "kernel_ms",   "n",          "min_ms",     "model_latency_from"};
#define TEXT(value)                                                                                                    \
  {                                                                                                                    \
    CELL_TEXT,                                                                                                         \
    {                                                                                                                  \
      .text = value                                                                                                    \
    }                                                                                                                  \
  }
#define REAL(value)                                                                                                    \
  {                                                                                                                    \
    CELL_REAL,                                                                                                         \
    {                                                                                                                  \
      .real = value                                                                                                    \
    }                                                                                                                  \
  }

// The table with columns of these keys.
static char *render_table(struct table table, const char *const *of, size_t count, enum report_format format)
{
  struct arena arena = {0};
  struct table_column *columns = arena_alloc_array(&arena, count, sizeof *columns);
  for (size_t i = 0; i < count; i++)
    columns[i] = table_column_of(of[i], NULL, &arena);
  table.columns = columns;
  table.column_count = count;
  struct buf out;
  buf_init(&out, BUF_MAXIMUM_DEFAULT);
  report_tables(&table, 1, format, false, 0, &out);
  assert_false(out.failed);
  char *text = strdup(out.data);
  buf_done(&out);
  arena_done(&arena);
  return text;
}

static char *render(const struct table_cell *rows, size_t count, enum report_format format)
{
  const struct table table = {.id = "A8", .title = "t", .rows = rows, .row_count = count};
  return render_table(table, keys, COLUMN_COUNT, format);
}

static void test_people_read_less(void **unused)
{
  (void)unused;
  const struct table_cell rows[] = {TEXT(FULL),   TEXT("aten::mean"),         TEXT("aten::mean"), REAL(43425.283),
                                    REAL(1.0547), {CELL_INT, {.integer = 1}}, REAL(1.0547),       TEXT("M/L/K")};
  for (enum report_format format = REPORT_TEXT; format <= REPORT_MARKDOWN; format++) {
    char *text = render(rows, 1, format);
    assert_non_null(strstr(text, "MeanOps"));
    assert_null(strstr(text, "512"));
    assert_non_null(strstr(text, "names are shortened"));
    assert_non_null(strstr(text, "43.425"));
    assert_non_null(strstr(text, "0.00105")); // seconds as the model's, and yet to be read
    assert_null(strstr(text, "type"));
    assert_null(strstr(text, "min"));
    assert_null(strstr(text, "model from"));
    free(text);
  }
  char *text = render(rows, 1, REPORT_CSV);
  assert_non_null(strstr(text, FULL));
  assert_non_null(strstr(text, "layer_type"));
  assert_non_null(strstr(text, "min_ms"));
  free(text);
}

static void test_what_tells_something_stays(void **unused)
{
  (void)unused;
  const struct table_cell rows[] = {TEXT("gemm"), TEXT("conv1"),   TEXT("Conv"),
                                    REAL(2),      REAL(1),         {CELL_INT, {.integer = 3}},
                                    REAL(0.9),    {CELL_NULL, {0}}};
  char *text = render(rows, 1, REPORT_TEXT);
  assert_non_null(strstr(text, "type"));
  assert_non_null(strstr(text, "min"));
  assert_null(strstr(text, "shortened"));
  free(text);
}

// ---- what is the same in every row -----------------------------------------------------------------------------------
#define ROOF_COLUMNS 6
static const char *const roof_keys[ROOF_COLUMNS] = {"layer_name",       "latency_ms", "precision",
                                                    "peak_flops_per_s", "framework",  "latency_from"};

static char *render_roofs(const char *precision, const char *last_from, const char *note, enum report_format format)
{
  const struct table_cell rows[] = {
      TEXT("a"), REAL(12),   TEXT(precision), REAL(19.5e12), TEXT("pytorch"), TEXT("M/L/K"), //
      TEXT("b"), REAL(1e-5), TEXT(precision), REAL(19.5e12), TEXT("pytorch"), TEXT(last_from),
  };
  const char *const notes[] = {"layer latencies come from runs at M/L/K: …", note};
  const struct table table = {.id = "A14",
                              .title = "t",
                              .rows = rows,
                              .row_count = 2,
                              .notes = notes,
                              .note_count = 2,
                              .noted = TABLE_NOTED_SETS | TABLE_NOTED_ROOFS};
  return render_table(table, roof_keys, ROOF_COLUMNS, format);
}

static void test_what_is_the_same_in_every_row_is_said_once(void **unused)
{
  (void)unused;
  static const char roofs[] = "roofs (recorded): single precision 19.5 Tflop/s, …";
  char *text = render_roofs("single", "M/L/K", roofs, REPORT_TEXT);
  assert_null(strstr(text, "peak"));
  assert_null(strstr(text, "  from"));
  assert_null(strstr(text, "precision  "));
  assert_non_null(strstr(text, "note: in every row: framework pytorch\n"));
  assert_non_null(strstr(text, "<0.001")); // a latency that is not nothing
  free(text);
  text = render_roofs("tensor", "M/L", roofs, REPORT_TEXT);
  assert_non_null(strstr(text, "note: in every row: precision tensor, peak 19.500 Tflop/s, framework pytorch\n"));
  assert_non_null(strstr(text, "  from"));
  free(text);
  text = render_roofs("single", "M/L/K", roofs, REPORT_CSV);
  assert_non_null(strstr(text, "peak_flops_per_s,framework,latency_from"));
  free(text);
}

static void test_stages_have_one_name(void **unused)
{
  (void)unused;
  static const struct table_entry summary[] = {{"dram_read_bytes_stage", TEXT("B")}, {"dram_read_stage", TEXT("B")}};
  const struct table table = {.id = "A12", .title = "t", .summary = summary, .summary_count = 2};
  for (enum report_format format = REPORT_TEXT; format <= REPORT_JSON; format++) {
    struct buf out;
    buf_init(&out, BUF_MAXIMUM_DEFAULT);
    report_tables(&table, 1, format, false, 0, &out);
    if (format == REPORT_JSON)
      assert_non_null(strstr(out.data, "\"dram_read_stage\":\"B\""));
    if (format == REPORT_TEXT || format == REPORT_MARKDOWN)
      assert_non_null(strstr(out.data, "DRAM read stage"));
    if (format != REPORT_JSON)
      assert_null(strstr(out.data, "dram read stage"));
    buf_done(&out);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_people_read_less),
      cmocka_unit_test(test_what_tells_something_stays),
      cmocka_unit_test(test_what_is_the_same_in_every_row_is_said_once),
      cmocka_unit_test(test_stages_have_one_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
