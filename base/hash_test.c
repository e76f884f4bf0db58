// SPDX-License-Identifier: Apache-2.0
// Hashes of keys that files choose: they spread, and another seed spreads them otherwise.
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SLOTS 4096u

// The longest line at one slot, for keys that come `step` apart: keys of files mostly count up, in whatever unit.
static unsigned longest_line(uint64_t step, uint64_t seed)
{
  static unsigned counts[SLOTS];
  unsigned longest = 0;
  memset(counts, 0, sizeof counts);
  for (uint64_t i = 0; i < SLOTS; i++) {
    unsigned *count = &counts[hash_number(i * step, seed) & (SLOTS - 1)];
    longest = ++*count > longest ? *count : longest;
  }
  return longest;
}

static void numbers_spread(void **state)
{
  (void)state;
  for (unsigned shift = 0; shift < 52; shift++)
    assert_in_range(longest_line(UINT64_C(1) << shift, UINT64_C(0x123456789abcdef1)), 1, 16);
}

// Keys that collide under one seed do not under another.
static void seeds_part_what_collides(void **state)
{
  (void)state;
  uint64_t colliding[64];
  unsigned count = 0, same = 0;
  for (uint64_t i = 1; count < 64; i++)
    if ((hash_number(i, 12345) & (SLOTS - 1)) == 7)
      colliding[count++] = i;
  for (unsigned i = 1; i < 64; i++)
    same += (hash_number(colliding[i], 54321) & (SLOTS - 1)) == (hash_number(colliding[0], 54321) & (SLOTS - 1));
  assert_in_range(same, 0, 4);
}

static void seeds_differ(void **state)
{
  (void)state;
  uint64_t first = hash_new_seed(), second = hash_new_seed();
  assert_int_not_equal(first, 0);
  assert_int_not_equal(first, second);
}

// Every byte counts, whatever the length; nothing behind the text is read (the copies are exact, for sanitizers).
static void texts_are_told_apart(void **state)
{
  (void)state;
  for (size_t length = 1; length < 70; length++) {
    char *text = malloc(length);
    assert_non_null(text);
    memset(text, 'a', length);
    uint64_t plain = hash_text(text, length, 99);
    assert_int_not_equal(plain, hash_text(text, length, 100));
    assert_int_not_equal(plain, hash_text(text, length - 1, 99));
    for (size_t i = 0; i < length; i++) {
      text[i] = 'b';
      assert_int_not_equal(plain, hash_text(text, length, 99));
      text[i] = 'a';
    }
    free(text);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_spread),
      cmocka_unit_test(seeds_part_what_collides),
      cmocka_unit_test(seeds_differ),
      cmocka_unit_test(texts_are_told_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
