// SPDX-License-Identifier: Apache-2.0
// Tables in their four forms: units, alignment, what is left out, exactness, nulls; and the units of single figures.
#include "report/report.h"
#include "report/tables/figure.h"
#include "table/builder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define INTEGER(x)                                                                                                     \
  {                                                                                                                    \
    CELL_INT,                                                                                                          \
    {                                                                                                                  \
      .integer = (x)                                                                                                   \
    }                                                                                                                  \
  }
#define REAL(x)                                                                                                        \
  {                                                                                                                    \
    CELL_REAL,                                                                                                         \
    {                                                                                                                  \
      .real = (x)                                                                                                      \
    }                                                                                                                  \
  }
#define TEXT(x)                                                                                                        \
  {                                                                                                                    \
    CELL_TEXT,                                                                                                         \
    {                                                                                                                  \
      .text = (x)                                                                                                      \
    }                                                                                                                  \
  }
#define TRUTH(x)                                                                                                       \
  {                                                                                                                    \
    CELL_BOOL,                                                                                                         \
    {                                                                                                                  \
      .truth = (x)                                                                                                     \
    }                                                                                                                  \
  }
#define NOTHING                                                                                                        \
  {                                                                                                                    \
    CELL_NULL,                                                                                                         \
    {                                                                                                                  \
      0                                                                                                                \
    }                                                                                                                  \
  }

static const char *const keys[] = {"layer_index", "layer_name",  "latency_ms", "min_ms",
                                   "n",           "alloc_bytes", "partial",    "flops"};
#define COLUMNS (sizeof keys / sizeof keys[0])
static struct table_column columns[COLUMNS];
static struct arena arena;
static const struct table_cell rows[] = {
    INTEGER(0), TEXT("conv|1"),  REAL(12.3456), REAL(0.5), INTEGER(10), INTEGER(1500000), TRUTH(false), NOTHING,
    INTEGER(1), TEXT("a,\"b\""), REAL(0.25),    NOTHING,   INTEGER(9),  NOTHING,          TRUTH(true),  REAL(NAN),
};
static const struct table_entry summary[] = {{"layers", INTEGER(2)}, {"sum_ms", REAL(12.5956)}, {"stage", TEXT("M")}};
static const char *const notes[] = {"a note"};
static const int64_t run_ids[] = {3, 4};
static const struct table table = {
    .id = "A2",
    .title = "layer information",
    .batch_size = 4,
    .levels = "M/L",
    .run_ids = run_ids,
    .run_count = 2,
    .observations = 20,
    .statistic = "median",
    .columns = columns,
    .column_count = COLUMNS,
    .rows = rows,
    .row_count = 2,
    .summary = summary,
    .summary_count = 3,
    .notes = notes,
    .note_count = 1,
};

static struct buf out;

static int setup(void **state)
{
  buf_init(&out, 1 << 20);
  for (size_t i = 0; i < COLUMNS; i++)
    columns[i] = table_column_of(keys[i], NULL, &arena);
  return 0;
}

static int teardown(void **state)
{
  buf_done(&out);
  arena_done(&arena);
  return 0;
}

static const char *render(enum report_format format, bool as_array, unsigned width)
{
  buf_clear(&out);
  report_tables(&table, 1, format, as_array, width, &out);
  assert_false(out.failed);
  return out.data;
}

static void test_text(void **state)
{
  assert_string_equal(render(REPORT_TEXT, false, 0), "A2  layer information\n"
                                                     "batch 4, levels M/L, 20 observations, statistic median\n"
                                                     "\n"
                                                     "index  layer   latency    min   n  allocated  partial\n"
                                                     "                    ms     ms             MB\n"
                                                     "─────────────────────────────────────────────────────\n"
                                                     "    0  conv|1   12.346  0.500  10      1.500\n"
                                                     "    1  a,\"b\"     0.250      -   9          -  yes\n"
                                                     "\n"
                                                     "layers       2\n"
                                                     "sum     12.596 ms\n"
                                                     "stage   M\n"
                                                     "\n"
                                                     "note: a note\n");
}

static void test_text_fits_the_width(void **state)
{
  const char *text = render(REPORT_TEXT, false, 40);
  assert_non_null(strstr(text, "\nnote: left out for"));
  assert_null(strstr(text, "latency    min   n"));
}

static void test_markdown_escapes_its_own_signs(void **state)
{
  const char *text = render(REPORT_MARKDOWN, false, 0);
  assert_non_null(strstr(text, "### A2 layer information\n"));
  assert_non_null(strstr(text, "| index | layer | latency (ms) | min (ms) | n | allocated (MB) | partial |\n"
                               "| ---: | --- | ---: | ---: | ---: | ---: | --- |\n"
                               "| 0 | conv\\|1 | 12.346 | 0.500 | 10 | 1.500 |  |\n"));
  assert_non_null(strstr(text, "\n> a note\n"));
}

static void test_csv_is_exact(void **state)
{
  assert_string_equal(render(REPORT_CSV, false, 20),
                      "layer_index,layer_name,latency_ms,min_ms,n,alloc_bytes,partial,flops\r\n"
                      "0,conv|1,12.3456,0.5,10,1500000,false,\r\n"
                      "1,\"a,\"\"b\"\"\",0.25,,9,,true,\r\n");
}

static void test_json_is_exact(void **state)
{
  const char *text = render(REPORT_JSON, false, 20);
  assert_non_null(strstr(text,
                         "\"run_set\":{\"batch_size\":4,\"levels\":\"M/L\",\"run_ids\":[3,4],\"observations\":20},"
                         "\"statistic\":\"median\""));
  assert_non_null(strstr(text,
                         "{\"layer_index\":0,\"layer_name\":\"conv|1\",\"latency_ms\":12.3456,\"min_ms\":0.5,\"n\":10,"
                         "\"alloc_bytes\":1500000,\"partial\":false,\"flops\":null}"));
  assert_non_null(strstr(text, "\"summary\":{\"layers\":2,\"sum_ms\":12.5956,\"stage\":\"M\"},\"summary_columns\":[{"
                               "\"key\":\"layers\",\"unit\":\"\",\"label\":\"layers\"},"
                               "{\"key\":\"sum_ms\",\"unit\":\"ms\",\"label\":\"sum\"},"
                               "{\"key\":\"stage\",\"unit\":\"\",\"label\":\"stage\"}],\"notes\":[\"a note\"]}\n"));
  assert_non_null(strstr(text, "{\"key\":\"min_ms\",\"unit\":\"ms\",\"label\":\"min\",\"rank\":320,\"detail\":true}"));
  assert_int_equal(text[0], '{');
  assert_int_equal(render(REPORT_JSON, true, 20)[0], '[');
}

static void test_no_rows(void **state)
{
  struct table empty = table;
  empty.row_count = 0;
  static const enum report_format formats[] = {REPORT_TEXT, REPORT_MARKDOWN, REPORT_CSV, REPORT_JSON};
  for (size_t i = 0; i < 4; i++) {
    buf_clear(&out);
    report_tables(&empty, 1, formats[i], false, 80, &out);
    assert_false(out.failed);
    assert_true(out.length > 0);
  }
}

static void test_units(void **state)
{
  static const struct {
    const char *unit;
    double largest;
    bool only_integers;
    const char *shown;
    double factor;
    int decimals;
  } cases[] = {
      {"ms", 0.0005, false, "ns", 1e6, 2}, {"ms", 0.9, false, "µs", 1e3, 3},
      {"ms", 1, false, "ms", 1, 3},        {"ms", 275.05, false, "ms", 1, 3},
      {"ms", 65000, false, "s", 1e-3, 3},  {"bytes", 512, true, "B", 1, 0},
      {"ms", 0, false, "ms", 1, 3},        {"ops", 5e9, true, "Gop", 1e-9, 3},
      {"bytes", 5e8, true, "MB", 1e-6, 2}, {"bytes", 0, true, "B", 1, 0},
      {"%", 30.87, false, "%", 1, 2},      {"flops/s", 1.282e13, false, "Tflop/s", 1e-12, 3},
      {"", 0.0012, false, "", 1, 6},       {"", 1234, true, "", 1, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct figure_style style = report_figure_style(cases[i].unit, cases[i].largest, cases[i].only_integers);
    assert_string_equal(style.unit, cases[i].shown);
    assert_true(style.factor == cases[i].factor);
    assert_int_equal(style.decimals, cases[i].decimals);
  }
}

static void test_small_values_are_not_shown_as_0(void **state)
{
  static const struct table_cell cells[] = {REAL(0.0001), REAL(-0.0001), REAL(0.), REAL(-0.), REAL(-0.001)};
  static const char *const texts[] = {"<0.001", ">-0.001", "0.000", "0.000", "-0.001"};
  struct figure_style style = report_figure_style("ms", 100, false);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    buf_clear(&out);
    report_figure_put(&out, &cells[i], &style);
    assert_string_equal(out.data, texts[i]);
  }
}

// 7 seconds of one model, and 12 microseconds of another.
static void test_rows_that_are_unlike_keep_their_digits(void **state)
{
  static const struct table_column latencies[] = {{.key = "latency_ms", .unit = "ms", .label = "latency"},
                                                  {.key = "throughput_per_s", .unit = "1/s", .label = "throughput"}};
  static const struct table_cell cells[] = {REAL(70000.), REAL(0.01428), REAL(0.0123),
                                            REAL(81300.), REAL(0.),      REAL(5.25)};
  struct table unlike = {
      .columns = latencies, .column_count = 2, .rows = cells, .row_count = 3, .rows_are_unlike = true};
  buf_clear(&out);
  report_tables(&unlike, 1, REPORT_MARKDOWN, false, 0, &out);
  static const char *const shown[] = {"| 70.000 | 0.0143 |", "| 0.0000123 | 81300 |", "| 0.000 | 5.25 |"};
  for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
    assert_non_null(strstr(out.data, shown[i]));
}

// Values of tags are of unlike things: no number of decimals fits all.
static void test_a_mixed_column_has_numbers_as_they_are(void **state)
{
  static const struct table_column column = {.key = "value", .unit = "", .label = "value"};
  static const struct table_cell cells[] = {TEXT("a"), REAL(0.1), REAL(1e300), REAL(123456789.125), INTEGER(3)};
  const struct table mixed = {.columns = &column, .column_count = 1, .rows = cells, .row_count = 5};
  buf_clear(&out);
  report_tables(&mixed, 1, REPORT_MARKDOWN, false, 0, &out);
  assert_string_equal(out.data, "| value |\n| --- |\n| a |\n| 0.1 |\n| 1e+300 |\n| 123456789.125 |\n| 3 |\n");
}

// For programs: in JSON as it is, in CSV as text, in no form for people.
static void test_json_cells(void **state)
{
  const struct table_column pair[] = {table_column_of("name", NULL, &arena), table_column_of("spans", NULL, &arena)};
  static const struct table_cell cells[] = {TEXT("a"), {CELL_JSON, {.text = "[1,2]"}}};
  static const struct table_entry entry = {"rules", {CELL_JSON, {.text = "{\"F1\":true}"}}};
  const struct table with_json = {.id = "findings",
                                  .title = "t",
                                  .columns = pair,
                                  .column_count = 2,
                                  .rows = cells,
                                  .row_count = 1,
                                  .summary = &entry,
                                  .summary_count = 1};
  static const enum report_format people[] = {REPORT_TEXT, REPORT_MARKDOWN};
  for (size_t i = 0; i < 2; i++) {
    buf_clear(&out);
    report_tables(&with_json, 1, people[i], false, 0, &out);
    assert_null(strstr(out.data, "spans"));
    assert_null(strstr(out.data, "rules"));
  }
  buf_clear(&out);
  report_tables(&with_json, 1, REPORT_CSV, false, 0, &out);
  assert_string_equal(out.data, "name,spans\r\na,\"[1,2]\"\r\n");
  buf_clear(&out);
  report_tables(&with_json, 1, REPORT_JSON, false, 0, &out);
  assert_non_null(strstr(out.data, "[{\"name\":\"a\",\"spans\":[1,2]}],\"summary\":{\"rules\":{\"F1\":true}}"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_text_fits_the_width),
      cmocka_unit_test(test_markdown_escapes_its_own_signs),
      cmocka_unit_test(test_csv_is_exact),
      cmocka_unit_test(test_json_is_exact),
      cmocka_unit_test(test_no_rows),
      cmocka_unit_test(test_units),
      cmocka_unit_test(test_small_values_are_not_shown_as_0),
      cmocka_unit_test(test_rows_that_are_unlike_keep_their_digits),
      cmocka_unit_test(test_a_mixed_column_has_numbers_as_they_are),
      cmocka_unit_test(test_json_cells),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
