// SPDX-License-Identifier: Apache-2.0
// Base64: RFC 4648's examples there and back, and what is not base64.
#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void examples(void **state)
{
  static const char *const pairs[][2] = {{"", ""},
                                         {"f", "Zg=="},
                                         {"fo", "Zm8="},
                                         {"foo", "Zm9v"},
                                         {"foob", "Zm9vYg=="},
                                         {"fooba", "Zm9vYmE="},
                                         {"foobar", "Zm9vYmFy"},
                                         {"\xfb\xef\xff", "++//"}};
  (void)state;
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    struct slice bytes = slice_of(pairs[i][0]);
    struct buf text = {0};
    uint8_t back[8];
    base64_put(&text, bytes.data, bytes.length);
    assert_true(slice_is((struct slice){text.data, text.length}, pairs[i][1]));
    assert_int_equal(base64_decode(slice_of(pairs[i][1]), back, sizeof back), bytes.length);
    assert_memory_equal(back, bytes.data, bytes.length);
    buf_done(&text);
  }
}

static void other_texts_are_refused(void **state)
{
  (void)state;
  uint8_t bytes[3];
  static const char *const texts[] = {"Z", "=", "==", "Zg=", "====", "Z===", "Zm9-", "Zg==Zg==", "Zm9vYg=="};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    assert_int_equal(base64_decode(slice_of(texts[i]), bytes, sizeof bytes), -1);
  assert_int_equal(base64_decode((struct slice){"Zm\0v", 4}, bytes, sizeof bytes), -1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(examples),
      cmocka_unit_test(other_texts_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
