// SPDX-License-Identifier: Apache-2.0
// --range: what it takes, exactly, and what it refuses and why.
#include "programs/xsp/verb_report/report_range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_ranges(void **state)
{
  static const struct {
    const char *text;
    int64_t from_ns, to_ns;
  } cases[] = {
      {"1.2s-1.5s", 1200000000, 1500000000},
      {"300ms-", 300000000, INT64_MAX},
      {"-40us", 0, 40000},
      {"0-7ns", 0, 7},
      {"2.5µs-0.001ms", 2500, 1000},
      {"1min-1.5min", 60000000000, 90000000000},
      {"0.123456789s-1s", 123456789, 1000000000},
      {"1.50ns-2ns", 0, 0},
      {"1.500000000000us-2us", 1500, 2000},
      {"9223372036854775807ns-", INT64_MAX, INT64_MAX},
      {"5ms-5ms", 5000000, 5000000},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct page_range range;
    enum status status = report_range_parse(cases[i].text, &range, NULL);
    bool is_wrong = cases[i].to_ns < cases[i].from_ns || cases[i].to_ns == 0;
    assert_int_equal(status, is_wrong ? STATUS_USE : STATUS_OK);
    if (!is_wrong) {
      assert_true(range.from_ns == cases[i].from_ns);
      assert_true(range.to_ns == cases[i].to_ns);
    }
  }
}

static void test_refusals(void **state)
{
  static const char *const cases[][2] = {
      {"", "no '-'"},
      {"5ms", "no '-'"},
      {"-", "no time at all"},
      {"1-2", "lacks its unit"},
      {"1s-2", "lacks its unit"},
      {"00-1s", "lacks its unit"},
      {"1h-2h", "no such unit"},
      {"1 s-2s", "no such unit"},
      {"1ss-2s", "no such unit"},
      {"1s-2s-3s", "no such unit"},
      {"1e3s-", "no such unit"},
      {"s-1s", "a number and a unit"},
      {".5s-1s", "a number and a unit"},
      {"1.s-2s", "a number and a unit"},
      {"1.2.3s-2s", "no such unit"},
      {"+1s-2s", "a number and a unit"},
      {"--1s", "a number and a unit"},
      {"2s-1s", "ends before it begins"},
      {"9223372036854775808ns-", "292 years"},
      {"9223372037s-", "292 years"},
      {"153722868min-", "292 years"},
      {"99999999999999999999999999999999s-", "292 years"},
      {"0.1ns-1s", "finer than a nanosecond"},
      {"1.0000000001s-", "finer than a nanosecond"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct page_range range;
    struct error err = {0};
    assert_int_equal(report_range_parse(cases[i][0], &range, &err), STATUS_USE);
    assert_non_null(strstr(err.why, cases[i][1]));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges), cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
