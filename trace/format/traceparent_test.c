// SPDX-License-Identifier: Apache-2.0
// traceparent by the examples and rules of the W3C recommendation; boot ids.
#include "format/traceparent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define EXAMPLE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static void reads_what_it_writes(void **state)
{
  uint8_t trace[16], parent[8];
  char header[56];
  assert_true(traceparent_read(EXAMPLE, trace, parent));
  assert_int_equal(trace[0], 0x4b);
  assert_int_equal(trace[15], 0x36);
  assert_int_equal(parent[1], 0xf0);
  traceparent_write(header, trace, parent);
  assert_string_equal(header, EXAMPLE);
}

static void later_versions_are_read_as_the_first(void **state)
{
  uint8_t trace[16], parent[8];
  assert_true(
      traceparent_read("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-holds", trace, parent));
  assert_true(traceparent_read("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", trace, parent));
}

static void malformed_headers_are_refused_and_write_nothing(void **state)
{
  static const char *const headers[] = {
      "",
      "00",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-", // version 00 has no more
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
      "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
      "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
      "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
      "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
  };
  uint8_t trace[16] = {7}, parent[8] = {7};
  assert_false(traceparent_read(NULL, trace, parent));
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
    if (traceparent_read(headers[i], trace, parent))
      fail_msg("%s was taken", headers[i]);
  assert_int_equal(trace[0], 7);
  assert_int_equal(parent[0], 7);
}

static void boot_ids(void **state)
{
  uint8_t id[16];
  assert_true(boot_id_read("3f1c2a00-89ab-4cde-8f01-23456789abcd\n", id));
  assert_int_equal(id[0], 0x3f);
  assert_int_equal(id[15], 0xcd);
  assert_false(boot_id_read("", id));
  assert_false(boot_id_read("3f1c2a0089ab4cde8f0123456789abcd", id));
  assert_false(boot_id_read("3f1c2a00-89ab-4cde-8f01-23456789ab", id));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_it_writes),
      cmocka_unit_test(later_versions_are_read_as_the_first),
      cmocka_unit_test(malformed_headers_are_refused_and_write_nothing),
      cmocka_unit_test(boot_ids),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
