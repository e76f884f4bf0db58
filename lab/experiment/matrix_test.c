// SPDX-License-Identifier: Apache-2.0
// The order in which lanes are observed, and where it stops.
#include "experiment/matrix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct log {
  char text[256];
  unsigned observed, stop_after, enough;
};

static void put(struct log *log, const char *what, size_t lane, size_t batch)
{
  size_t used = strlen(log->text);
  snprintf(log->text + used, sizeof log->text - used, "%s%zu%zu ", what, lane, batch);
}

static enum status begin(void *context, size_t lane, size_t batch, struct error *err)
{
  put(context, "b", lane, batch);
  return STATUS_OK;
}

static enum status observe(void *context, size_t lane, size_t batch, unsigned repetition, struct error *err)
{
  struct log *log = context;
  log->observed++;
  put(log, "", lane, batch);
  return STATUS_OK;
}

static enum status end(void *context, size_t lane, size_t batch, struct error *err)
{
  put(context, "e", lane, batch);
  return STATUS_OK;
}

static bool is_over(const void *context)
{
  const struct log *log = context;
  return log->observed >= log->stop_after;
}

static enum status is_enough(void *context, size_t batch, unsigned repetition, bool *ret_is_enough, struct error *err)
{
  const struct log *log = context;
  *ret_is_enough = log->enough != 0 && repetition + 1 == log->enough;
  return STATUS_OK;
}

static unsigned enough; // repetitions of each batch size; 0: all

static void expect(struct matrix matrix, unsigned stop_after, size_t batches, const char *text)
{
  const struct matrix_source source = {begin, observe, end, is_over, is_enough};
  struct log log = {.stop_after = stop_after, .enough = enough};
  size_t begun = 0;
  assert_int_equal(matrix_measure(&matrix, &source, &log, &begun, NULL), STATUS_OK);
  assert_int_equal(begun, batches);
  assert_string_equal(log.text, text);
}

static void test_lanes_take_turns(void **state)
{
  (void)state;
  expect((struct matrix){1, 3, 1, 2}, UINT32_MAX, 1, "b10 b20 b30 10 20 30 20 30 10 e10 e20 e30 ");
  expect((struct matrix){0, 1, 2, 2}, UINT32_MAX, 2, "b00 00 00 e00 b01 01 01 e01 ");
}

static void test_enough(void **state)
{
  enough = 2;
  expect((struct matrix){.lane_count = 2, .batch_count = 2, .repetitions = 5}, 100, 2,
         "b00 b10 00 10 10 00 e00 e10 b01 b11 01 11 11 01 e01 e11 ");
  enough = 0;
}

static void test_an_end_stops_at_once(void **state)
{
  (void)state;
  expect((struct matrix){0, 2, 2, 2}, 3, 1, "b00 b10 00 10 10 ");
  expect((struct matrix){0, 2, 2, 2}, 4, 1, "b00 b10 00 10 10 00 e00 e10 ");
  expect((struct matrix){0, 2, 2, 2}, 0, 1, "b00 b10 ");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lanes_take_turns),
      cmocka_unit_test(test_enough),
      cmocka_unit_test(test_an_end_stops_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
