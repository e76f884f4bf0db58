// SPDX-License-Identifier: Apache-2.0
// Hex digits: every byte there and back, and what is not a digit.
#include "base/hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void bytes_survive(void **state)
{
  (void)state;
  uint8_t bytes[256], back[256];
  char text[512];
  for (unsigned i = 0; i < 256; i++)
    bytes[i] = (uint8_t)i;
  assert_ptr_equal(hex_encode(text, bytes, 256), text + 512);
  assert_memory_equal(text + 2 * 0xa0, "a0a1", 4);
  assert_true(hex_decode(text, back, 256));
  assert_memory_equal(back, bytes, 256);
}

static void other_texts_are_refused(void **state)
{
  (void)state;
  uint8_t byte;
  assert_true(hex_decode("fF", &byte, 1));
  assert_int_equal(byte, 0xff);
  const char *const wrong[] = {"", "f", "g0", "0g", "0 ", "/0", ":0", "@0", "`0"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_false(hex_decode(wrong[i], &byte, 1));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_survive),
      cmocka_unit_test(other_texts_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
