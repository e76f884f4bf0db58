// SPDX-License-Identifier: Apache-2.0
// Lines of the runner's protocol survive any text in their fields.
#include "format/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void fields_come_back_as_they_were(void **state)
{
  const char *fields[] = {"error", "3", "a\tb\nc\\d", "", "\\n"};
  struct buf line;
  buf_init(&line, PROTOCOL_LINE_MAXIMUM);
  protocol_format(&line, fields, 5);
  assert_int_equal(line.data[line.length - 1], '\n');
  assert_ptr_equal(memchr(line.data, '\n', line.length), line.data + line.length - 1);
  line.data[line.length - 1] = 0;
  char *parsed[PROTOCOL_FIELDS];
  assert_int_equal(protocol_parse(line.data, parsed), 5);
  for (size_t i = 0; i < 5; i++)
    assert_string_equal(parsed[i], fields[i]);
  buf_done(&line);
}

static void malformed_lines_are_refused(void **state)
{
  char *parsed[PROTOCOL_FIELDS];
  char bad_escape[] = "a\\x", cut_escape[] = "a\\", many[] = "1\t2\t3\t4\t5\t6\t7\t8\t9\t10";
  assert_int_equal(protocol_parse(bad_escape, parsed), 0);
  assert_int_equal(protocol_parse(cut_escape, parsed), 0);
  assert_int_equal(protocol_parse(many, parsed), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_come_back_as_they_were),
      cmocka_unit_test(malformed_lines_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
