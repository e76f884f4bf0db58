// SPDX-License-Identifier: Apache-2.0
// Level sets as text: every set reads back as itself, and near misses are refused.
#include "format/level.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void every_set_reads_back(void **unused)
{
  (void)unused;
  for (uint32_t mask = 1; mask <= XSP_LEVEL_MASK_ALL; mask++)
    for (int flags = 0; flags < 4; flags++) {
      struct level_set set = {.mask = mask, .metrics = (flags & 1) != 0, .serial = (flags & 2) != 0}, read;
      char text[LEVEL_SET_TEXT_SIZE];
      level_set_format(set, text);
      assert_true(level_set_parse(text, strlen(text), &read));
      assert_true(level_set_equal(set, read));
    }
}

static void names_are_the_documented_ones(void **unused)
{
  (void)unused;
  struct level_set all = {.mask = XSP_LEVEL_MASK_ALL, .metrics = true, .serial = true};
  char text[LEVEL_SET_TEXT_SIZE];
  level_set_format(all, text);
  assert_string_equal(text, "A/M/L/Lib/K@serial+metrics");
  static const char *const sample_kinds[] = {"cpu", "sleep", "lock", "io", "child"};
  for (unsigned kind = SAMPLE_CPU; kind <= SAMPLE_CHILD; kind++) {
    unsigned found = 0;
    assert_string_equal(sample_kind_name(kind), sample_kinds[kind - SAMPLE_CPU]);
    assert_true(sample_kind_from_name(sample_kind_name(kind), strlen(sample_kind_name(kind)), &found));
    assert_int_equal(found, kind);
  }
  assert_null(sample_kind_name(0));
  assert_null(sample_kind_name(SAMPLE_CHILD + 1));
}

static void other_texts_are_refused(void **unused)
{
  (void)unused;
  static const char *const texts[] = {
      "",    "@serial",          "+metrics",        "M/",         "M@",      "LM",
      "K/M", "M+metrics@serial", "M@serial@serial", "M@serial/L", "model/L", "M/framework"};
  struct level_set set;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    assert_false(level_set_parse(texts[i], strlen(texts[i]), &set));
}

static void granularities_are_sets(void **unused)
{
  (void)unused;
  static const char *const pairs[][2] = {{"model", "M"},
                                         {"framework", "M/L"},
                                         {"library", "M/L/Lib"},
                                         {"hardware+metrics", "M/L/Lib/K+metrics"},
                                         {"full@serial", "A/M/L/Lib/K@serial"}};
  struct level_set set;
  char text[LEVEL_SET_TEXT_SIZE];
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    assert_true(level_set_parse(pairs[i][0], strlen(pairs[i][0]), &set));
    level_set_format(set, text);
    assert_string_equal(text, pairs[i][1]);
  }
}

static void a_serialised_set_contains_its_levels(void **unused)
{
  (void)unused;
  struct level_set levels = {.mask = 6}, serial = {.mask = 6, .serial = true};
  assert_true(level_set_contains(serial, levels));
  assert_false(level_set_contains(levels, serial));
  assert_false(level_set_equal(levels, serial));
}

static void expect_twin_of(size_t (*add)(struct level_set *, size_t, size_t), const char *sets, const char *expected)
{
  struct level_set list[8];
  size_t count = 0;
  for (const char *at = sets; *at != 0; at += at[strcspn(at, ",")] == 0 ? strcspn(at, ",") : strcspn(at, ",") + 1)
    assert_true(level_set_parse(at, strcspn(at, ","), &list[count++]));
  size_t with_twin = add(list, count, 8);
  assert_int_equal(with_twin, count + (expected != NULL));
  char text[LEVEL_SET_TEXT_SIZE];
  if (expected != NULL) {
    level_set_format(list[count], text);
    assert_string_equal(text, expected);
  }
  assert_int_equal(add(list, with_twin, 8), with_twin); // never twice
}

static void expect_twin(const char *sets, const char *expected)
{
  expect_twin_of(level_sets_add_serial, sets, expected);
}

static void the_deepest_set_gets_a_twin(void **unused)
{
  (void)unused;
  expect_twin("M,M/L,M/L/K", "M/L/K@serial");
  expect_twin("M,M/L", "M/L@serial");
  expect_twin("M/K,M,M/L/K", "M/L/K@serial");
  expect_twin("M,M/L,M/L/Lib,M/L/K", "M/L/K@serial");
  expect_twin("M,A/M", NULL); // nothing in it is launched
  expect_twin("M,M/L,M/L@serial", NULL);
  expect_twin("M,M/L/K,M/L/K+metrics", "M/L/K@serial");
}

static void the_deepest_set_with_kernels_gets_metrics(void **unused)
{
  (void)unused;
  expect_twin_of(level_sets_add_metrics, "M,M/L,M/L/K", "M/L/K+metrics");
  expect_twin_of(level_sets_add_metrics, "M/K,M/L/K,M/L/K@serial", "M/L/K+metrics");
  expect_twin_of(level_sets_add_metrics, "M,M/L", NULL); // metrics are those of kernels
  expect_twin_of(level_sets_add_metrics, "M/L/K,M/L/K+metrics", NULL);
}

static void masks_read_back(void **state)
{
  (void)state;
  static const char *const others[] = {"", "None", "M@serial", "K+metrics", "L/M", "none/M"};
  char text[LEVEL_SET_TEXT_SIZE];
  uint32_t read = 0;
  for (uint32_t mask = 0; mask <= XSP_LEVEL_MASK_ALL; mask++) {
    level_mask_format(mask, text);
    assert_true(level_mask_parse(text, strlen(text), &read));
    assert_int_equal(read, mask);
  }
  assert_true(level_mask_parse("none", 4, &read));
  assert_int_equal(read, 0);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    assert_false(level_mask_parse(others[i], strlen(others[i]), &read));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_set_reads_back),
      cmocka_unit_test(names_are_the_documented_ones),
      cmocka_unit_test(other_texts_are_refused),
      cmocka_unit_test(granularities_are_sets),
      cmocka_unit_test(a_serialised_set_contains_its_levels),
      cmocka_unit_test(masks_read_back),
      cmocka_unit_test(the_deepest_set_gets_a_twin),
      cmocka_unit_test(the_deepest_set_with_kernels_gets_metrics),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
