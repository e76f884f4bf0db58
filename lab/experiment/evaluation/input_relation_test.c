// SPDX-License-Identifier: Apache-2.0
// What is said of two inputs: each relation, the simplest that fits, and none.
#include "experiment/evaluation/input_relation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = 20, AREA = SIDE * SIDE };
static struct arena arena;

static struct runner_tensor picture(float *values, int64_t channels)
{
  return (struct runner_tensor){.type = TENSOR_FLOAT,
                                .rank = 4,
                                .shape = {1, channels, SIDE, SIDE},
                                .data = values,
                                .size_bytes = (size_t)channels * AREA * sizeof *values};
}

// No two neighbours are alike, nor two channels.
static float at(long channel, long y, long x)
{
  return (float)((channel * 131 + y * 37 + x * 101 + y * x * 7) % 251);
}

static void fill(float *values, long down, long right, float scale, float offset, bool is_exchanged)
{
  for (long i = 0; i < 3L * AREA; i++) {
    long channel = i / AREA;
    values[i] =
        at(is_exchanged ? 2 - channel : channel, i % AREA / SIDE - down + 20, i % SIDE - right + 20) * scale + offset;
  }
}

static void expect(const struct runner_tensor *first, const struct runner_tensor *other, const char *part)
{
  const char *text = evaluation_input_relation(first, other, &arena);
  if (strstr(text, part) == NULL)
    fail_msg("\"%s\" has no \"%s\"", text, part);
}

static void test_relations(void **state)
{
  static const struct {
    long down, right;
    float scale, offset;
    bool is_exchanged;
    const char *text;
  } cases[] = {
      {0, 0, 1, 0, true, "the channels are in the opposite order"},
      {0, 0, 1, -117, false, "the second's values are the first's -117: another mean"},
      {0, 0, .5F, 0, false, "the second's values are the first's × 0.5:"},
      {0, 0, 2, 30, false, "the second's values are the first's × 2 +30:"},
      {0, 0, 1, 30, true, "opposite order, as RGB and BGR are, and the second's values are the first's +30"},
      {2, -3, 1, 0, false, "the same picture 2 rows down and -3 columns to the right"},
      {5, 1, -1, 40, true, "neither exchanged channels nor"},
  };
  float values[3 * AREA], others[3 * AREA];
  struct runner_tensor first = picture(values, 3), other = picture(others, 3);
  fill(values, 0, 0, 1, 0, false);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fill(others, cases[i].down, cases[i].right, cases[i].scale, cases[i].offset, cases[i].is_exchanged);
    expect(&first, &other, cases[i].text);
  }
}

static void test_channels_last_and_bytes(void **state)
{
  float values[3 * AREA];
  uint8_t others[3 * AREA];
  struct runner_tensor first = picture(values, 3), other = picture(values, 3);
  fill(values, 0, 0, 1, 0, false);
  for (size_t i = 0; i < 3 * AREA; i++)
    others[i % AREA * 3 + i / AREA] = (uint8_t)values[i];
  other.type = TENSOR_UINT8;
  other.data = others;
  other.size_bytes /= sizeof *values;
  memcpy(other.shape, (const int64_t[]){1, SIDE, SIDE, 3}, 4 * sizeof *other.shape);
  assert_string_equal(evaluation_input_relation(&first, &other, &arena), "elements are float32 and uint8");
}

static void test_sizes(void **state)
{
  float values[3 * AREA] = {0};
  struct runner_tensor first = picture(values, 3), gray = picture(values, 1), flat = picture(values, 3);
  expect(&first, &gray, "with 3 and 1 channels");
  flat.rank = 2;
  assert_string_equal(evaluation_input_relation(&first, &flat, &arena), "");
}

static int done(void **state)
{
  arena_done(&arena);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_relations),
      cmocka_unit_test(test_channels_last_and_bytes),
      cmocka_unit_test(test_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, done);
}
