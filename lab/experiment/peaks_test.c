// SPDX-License-Identifier: Apache-2.0
// What measuring peaks gives back: figures that are figures, loops that compute what they say. No figure is judged.
#include "experiment/peaks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_quick_measurement(void **unused)
{
  (void)unused;
  struct peaks peaks;
  peaks_measure(&peaks_quick, &peaks);
  assert_true(isfinite(peaks.flops_per_s) && peaks.flops_per_s > 0);
  assert_true(isfinite(peaks.bandwidth_bytes_per_s) && peaks.bandwidth_bytes_per_s > 0);
  assert_true(peaks.threads >= 1 && peaks.seconds > 0 && peaks.buffer_bytes > 0);
  assert_string_equal(peaks.instructions, peaks_code()->name);
}

static void test_loops_compute(void **unused)
{
  (void)unused;
  enum { COUNT = 1024 };
  float *arrays = aligned_alloc(64, 3 * COUNT * sizeof(float));
  assert_non_null(arrays);
  float *a = arrays, *b = arrays + COUNT, *c = arrays + 2 * COUNT;
  for (int i = 0; i < COUNT; i++) {
    a[i] = -1;
    b[i] = (float)i;
    c[i] = (float)(2 * i);
  }
  peaks_code()->triad(a, b, c, COUNT - 64, 0.5f);
  for (int i = 0; i < COUNT; i++)
    assert_true(a[i] == (i < COUNT - 64 ? (float)(2 * i) : -1));
  free(arrays);
  // Sums go towards 0.1 each, however many there are.
  float few = peaks_code()->arithmetic(1, 1);
  float many = peaks_code()->arithmetic(200000, 1);
  double sums = peaks_code()->flops_per_round / 2;
  assert_true(fabs((double)many - 0.1 * sums) < 0.01 * sums && few > many);
}

static void test_what_is_stored(void **unused)
{
  (void)unused;
  struct store_system_value values[PEAKS_VALUES];
  struct peaks peaks = {2e11, 3e10, 4, "AVX2", 1, true, 0.2};
  assert_int_equal(peaks_describe(&peaks, values), PEAKS_VALUES);
  assert_string_equal(values[0].key, "peak_flops_per_s");
  assert_true(values[0].is_number && values[0].number == 2e11);
  assert_string_equal(values[1].key, "memory_bandwidth_bytes_per_s");
  assert_true(values[1].number == 3e10);
  assert_string_equal(values[2].key, "peak_source");
  assert_string_equal(values[2].text, "measured");
  peaks.is_beyond_cache = false; // what caches give is no memory bandwidth
  assert_int_equal(peaks_describe(&peaks, values), PEAKS_VALUES - 1);
  peaks = (struct peaks){.flops_per_s = NAN, .bandwidth_bytes_per_s = NAN};
  assert_int_equal(peaks_describe(&peaks, values), 0);
}

static void test_environment(void **unused)
{
  (void)unused;
  struct peaks_options options;
  unsetenv("XSP_PEAKS");
  assert_true(peaks_wanted(&options) && options.window_s == peaks_usual.window_s);
  setenv("XSP_PEAKS", "quick", 1);
  assert_true(peaks_wanted(&options) && options.window_s == peaks_quick.window_s);
  setenv("XSP_PEAKS", "skip", 1);
  assert_false(peaks_wanted(&options));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_quick_measurement),
      cmocka_unit_test(test_loops_compute),
      cmocka_unit_test(test_what_is_stored),
      cmocka_unit_test(test_environment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
