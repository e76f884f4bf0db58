// SPDX-License-Identifier: Apache-2.0
// Labels and units of keys: those of the table of words, and those that come from the key.
#include "table/builder.h"
#include "table/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_words_are_in_order_and_say_something(void **state)
{
  (void)state;
  for (const struct table_word *word = table_words; word->key != NULL; word++) {
    assert_true(word == table_words || strcmp(word[-1].key, word->key) < 0);
    assert_true(word->label != NULL || word->unit != NULL || word->rank > 0 || word->traits != 0);
  }
}

// A label or unit that the rule makes needs no word.
static void test_keys(void **state)
{
  (void)state;
  static const char *const cases[][3] = {
      {"outside_layers_ms", "outside layers", "ms"},
      {"maximum_throughput_per_s", "maximum throughput", "1/s"},
      {"memory_bandwidth_bytes_per_s", "bandwidth", "bytes/s"},
      {"convolution_pct_of_model", "convolutions of model", "%"},
      {"slowest_pct_of_steps", "slowest in steps", "%"},
      {"overhead_per_kernel_ns", "overhead per kernel", "ns"},
      {"layers", "layers", ""},
      {"flops", "flops", "flops"},
      {"adds", "adds", "ops"},
      {"layers_without_flops", "layers without", ""},
      {"analytic_flops", "analytic flops", "flops"},
      {"analytic_multiply_adds", "analytic multiply-adds", "ops"},
      {"analytic_intensity", "analytic intensity", "flops/byte"},
      {"gpu_latency_ms", "GPU latency", "ms"},
      {"non_gpu_latency_ms", "non-GPU latency", "ms"},
      {"base_convolution_pct_of_model", "base's convolutions of model", "%"},
      {"base_online_latency_ms", "base's online latency", "ms"},
      {"gpus", "GPUs", ""},
      {"is_optimal", "optimal", ""},
      {"kernel_name", "kernel", ""},
      {"dram_read_bytes", "DRAM read", "bytes"},
      {"dram_read_bytes_beginning_pct", "DRAM read beginning", "%"},
      {"bytes", "size", "bytes"},
      {"_ms", " ms", ""},
  };
  struct arena arena = {0};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_string_equal(table_label(cases[i][0], NULL, &arena), cases[i][1]);
    assert_string_equal(table_unit(cases[i][0]), cases[i][2]);
  }
  arena_done(&arena);
}

static void test_shares_say_of_what(void **state)
{
  (void)state;
  struct arena arena = {0};
  assert_string_equal(table_label("latency_pct", "model", &arena), "of model");
  assert_string_equal(table_label("gpu_pct", "layer", &arena), "GPU of layer");
  arena_done(&arena);
}

static void test_columns_have_their_words(void **state)
{
  (void)state;
  struct arena arena = {0};
  struct table_builder builder;
  struct table table = {0};
  table_start(&builder, &arena);
  for (int row = 0; row < 2; row++) {
    table_row(&builder);
    table_put_share(&builder, "latency_pct", "model", cell_real(50));
    table_put(&builder, "min_ms", cell_real(1));
    table_put_as(&builder, "name", "range", cell_text("a"));
    table_put_optional(&builder, "module", cell_text(NULL));
  }
  table_answer(&builder, &table);
  assert_int_equal(table.column_count, 3);
  assert_string_equal(table.columns[0].label, "of model");
  assert_string_equal(table.columns[0].of, "model");
  assert_string_equal(table.columns[1].unit, "ms");
  assert_int_equal(table.columns[1].rank, table_word("min_ms")->rank);
  assert_int_equal(table.columns[1].traits, TABLE_SPREAD);
  assert_string_equal(table.columns[2].label, "range");
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_words_are_in_order_and_say_something),
      cmocka_unit_test(test_keys),
      cmocka_unit_test(test_shares_say_of_what),
      cmocka_unit_test(test_columns_have_their_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
