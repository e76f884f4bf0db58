// SPDX-License-Identifier: Apache-2.0
// Round trips of hard columns, and blobs that were tampered with.
#include "store/chunk.h"
#include "store/chunk_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t random_state = 88172645463325252u;
static uint64_t next_random(void)
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static int64_t constant_value(uint32_t i)
{
  (void)i;
  return -7;
}
static int64_t dense_value(uint32_t i)
{
  return (int64_t)i + 1;
}
static int64_t extreme_value(uint32_t i)
{
  return i % 3 == 0 ? INT64_MIN : i % 3 == 1 ? INT64_MAX : 0;
}
static int64_t random_value(uint32_t i)
{
  (void)i;
  return (int64_t)next_random();
}
static int64_t time_value(uint32_t i)
{
  return INT64_C(1700000000000000000) + (int64_t)i * 1400 + (int64_t)(next_random() % 1000);
}
static int64_t falling_value(uint32_t i)
{
  return INT64_MAX - (int64_t)i * 1000003;
}
static int64_t small_value(uint32_t i)
{
  return i % 5;
}

static void check_round_trip(enum chunk_type type, int64_t (*value)(uint32_t), uint32_t count)
{
  struct chunk_codec *codec = chunk_codec_create();
  size_t width = chunk_type_size(type);
  char *in = malloc(count * width);
  char *out = malloc(count * width);
  int64_t minimum = INT64_MAX, maximum = INT64_MIN;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t bits = (uint64_t)value(i);
    memcpy(in + i * width, &bits, width);
    int64_t kept = (int64_t)(type == CHUNK_INT64 ? bits : type == CHUNK_UINT32 ? (uint32_t)bits : (uint8_t)bits);
    minimum = kept < minimum ? kept : minimum;
    maximum = kept > maximum ? kept : maximum;
  }
  struct chunk_blob blob;
  chunk_encode(codec, type, in, count, &blob);
  assert_int_equal(blob.minimum, minimum);
  assert_int_equal(blob.maximum, maximum);
  uint8_t *exact = malloc(blob.size); // its own memory: the codec's is reused, and ASan sees an overrun
  memcpy(exact, blob.data, blob.size);
  assert_null(chunk_decode(codec, type, exact, blob.size, count, out));
  assert_memory_equal(in, out, count * width);
  free(exact);
  free(in);
  free(out);
  chunk_codec_free(codec);
}

static void test_round_trips(void **state)
{
  (void)state;
  int64_t (*const values[])(uint32_t) = {constant_value, dense_value,   extreme_value, random_value,
                                         time_value,     falling_value, small_value};
  const uint32_t counts[] = {1, 2, 3, 255, 256, 4097, CHUNK_ROWS_MAXIMUM - 1, CHUNK_ROWS_MAXIMUM};
  for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
      for (enum chunk_type type = CHUNK_INT64; type <= CHUNK_UINT8; type++)
        check_round_trip(type, values[v], counts[c]);
}

static void test_dense_and_constant_columns_cost_nothing(void **state)
{
  (void)state;
  struct chunk_codec *codec = chunk_codec_create();
  int64_t *values = malloc(CHUNK_ROWS_MAXIMUM * sizeof *values);
  struct chunk_blob blob;
  for (uint32_t i = 0; i < CHUNK_ROWS_MAXIMUM; i++)
    values[i] = INT64_C(1) << 40 | i;
  chunk_encode(codec, CHUNK_INT64, values, CHUNK_ROWS_MAXIMUM, &blob);
  assert_true(blob.size <= 32);
  for (uint32_t i = 0; i < CHUNK_ROWS_MAXIMUM; i++)
    values[i] = INT64_MIN;
  chunk_encode(codec, CHUNK_INT64, values, CHUNK_ROWS_MAXIMUM, &blob);
  assert_true(blob.size <= 32);
  free(values);
  chunk_codec_free(codec);
}

// Every single byte changed, and every length: never accepted, never out of bounds.
static void test_tampered_blobs_are_refused(void **state)
{
  (void)state;
  enum { ROWS = 500 };
  struct chunk_codec *codec = chunk_codec_create();
  int64_t values[ROWS], out[ROWS];
  for (uint32_t i = 0; i < ROWS; i++)
    values[i] = time_value(i);
  struct chunk_blob blob;
  chunk_encode(codec, CHUNK_INT64, values, ROWS, &blob);
  uint8_t *copy = malloc(blob.size);
  memcpy(copy, blob.data, blob.size);
  for (size_t i = 0; i < blob.size; i++) {
    copy[i] ^= 0x41;
    assert_non_null(chunk_decode(codec, CHUNK_INT64, copy, blob.size, ROWS, out));
    copy[i] ^= 0x41;
  }
  for (size_t size = 0; size < blob.size; size++) {
    uint8_t *cut = malloc(size + (size == 0));
    memcpy(cut, copy, size);
    assert_non_null(chunk_decode(codec, CHUNK_INT64, cut, size, ROWS, out));
    free(cut);
  }
  assert_non_null(chunk_decode(codec, CHUNK_INT64, copy, blob.size, ROWS - 1, out));
  assert_non_null(chunk_decode(codec, CHUNK_UINT32, copy, blob.size, ROWS, out));
  assert_null(chunk_decode(codec, CHUNK_INT64, copy, blob.size, ROWS, out));
  free(copy);
  chunk_codec_free(codec);
}

// Every instruction set that this machine has makes the same bytes of the same values, and the same values of them.
static void check_variant(const struct chunk_kernels *variant, const struct chunk_kernels *plain, enum chunk_type type,
                          int64_t (*value)(uint32_t), uint32_t count)
{
  const size_t size = (size_t)CHUNK_PLANES_MAXIMUM * CHUNK_ROWS_MAXIMUM, width = chunk_type_size(type);
  char *in = malloc(count * width), *out = malloc(count * width);
  uint8_t *planes = calloc(1, size), *expected = calloc(1, size);
  struct chunk_survey survey, expected_survey;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t bits = (uint64_t)value(i);
    memcpy(in + i * width, &bits, width);
  }
  variant->survey(type, in, count, &survey);
  plain->survey(type, in, count, &expected_survey);
  assert_int_equal(survey.minimum, expected_survey.minimum);
  assert_int_equal(survey.maximum, expected_survey.maximum);
  assert_int_equal(survey.step_bits, expected_survey.step_bits);
  for (int delta = 0; delta < 2; delta++) {
    uint64_t base = delta ? 5 : (uint64_t)survey.minimum;
    variant->split(type, in, count, delta != 0, base, CHUNK_PLANES_MAXIMUM, planes);
    plain->split(type, in, count, delta != 0, base, CHUNK_PLANES_MAXIMUM, expected);
    assert_memory_equal(planes, expected, size);
    assert_true(variant->merge(type, planes, CHUNK_PLANES_MAXIMUM, 0xff, 0, delta != 0, base, count, out));
    assert_memory_equal(in, out, count * width);
  }
  free(in);
  free(out);
  free(planes);
  free(expected);
}

static void test_variants_agree(void **state)
{
  (void)state;
  int64_t (*const values[])(uint32_t) = {constant_value, dense_value, extreme_value, random_value, falling_value};
  const uint32_t counts[] = {1, 2, 7, 8, 1023, 1024, 1025, 5000, CHUNK_ROWS_MAXIMUM};
  unsigned variants = 0;
  while (chunk_kernels_at(variants) != NULL)
    variants++;
  assert_true(variants >= 1);
  const struct chunk_kernels *plain = chunk_kernels_at(variants - 1);
  for (unsigned i = 0; i < variants; i++)
    for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
      for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (enum chunk_type type = CHUNK_INT64; type <= CHUNK_UINT32; type++) {
          random_state = 88172645463325252u; // the same values for both
          check_variant(chunk_kernels_at(i), plain, type, values[v], counts[c]);
        }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trips),
      cmocka_unit_test(test_dense_and_constant_columns_cost_nothing),
      cmocka_unit_test(test_tampered_blobs_are_refused),
      cmocka_unit_test(test_variants_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
