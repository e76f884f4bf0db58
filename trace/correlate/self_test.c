// SPDX-License-Identifier: Apache-2.0
// Self times of spans around 2^32 ns, up to which what children cover takes four bytes: in order of starts, and of ends.
#include "correlate/correlate.h"
#include "correlate/relation.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ROWS 8

// A model, two layers of `layer_ns` in it, two calls of 10 ns at the edges of each, and one in the middle of the first.
static void make_rows(int64_t layer_ns, bool is_by_end, int64_t *start, int64_t *duration, uint8_t *level)
{
  static const int by_end[ROWS] = {7, 3, 6, 0, 1, 2, 4, 5};
  const int64_t starts[ROWS] = {
      0, 5, 5, 5 + layer_ns / 2, 5 + layer_ns - 10, 5 + layer_ns, 5 + layer_ns, 2 * layer_ns - 5};
  for (int i = 0; i < ROWS; i++) {
    int at = is_by_end ? by_end[i] : i;
    start[at] = starts[i];
    duration[at] = i == 0 ? 2 * layer_ns + 15 : i == 1 || i == 5 ? layer_ns : 10;
    level[at] = i == 0 ? XSP_LEVEL_MODEL : i == 1 || i == 5 ? XSP_LEVEL_LAYER : XSP_LEVEL_LIBRARY;
  }
}

static void check_self_times(int64_t layer_ns, bool is_by_end)
{
  int64_t start[ROWS], duration[ROWS];
  uint32_t track[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1};
  uint8_t level[ROWS], kind[ROWS] = {0};
  make_rows(layer_ns, is_by_end, start, duration, level);
  const struct store_spans spans = {.count = ROWS,
                                    .first_id = 1,
                                    .start_ns = start,
                                    .duration_ns = duration,
                                    .track_id = track,
                                    .level = level,
                                    .kind = kind};
  const struct store_track tracks[] = {{.track_id = 1}};
  const struct correlate_question question = {
      .spans = &spans, .tracks = tracks, .track_count = 1, .column_mask = STORE_ALL_DERIVED};
  struct arena arena = {0};
  struct correlate_answer answer;
  assert_int_equal(correlate_spans(&question, &arena, &answer, NULL), STATUS_OK);
  size_t layers = 0;
  for (size_t i = 0; i < ROWS; i++) {
    int64_t layer_self = start[i] == 5 ? layer_ns - 30 : layer_ns - 20;
    layers += level[i] == XSP_LEVEL_LAYER;
    assert_int_equal(answer.derived.self_ns[i], level[i] == XSP_LEVEL_MODEL   ? 15
                                                : level[i] == XSP_LEVEL_LAYER ? layer_self
                                                                              : 10);
    assert_int_equal(answer.derived.depth[i], level[i] == XSP_LEVEL_MODEL ? 0 : level[i] == XSP_LEVEL_LAYER ? 1 : 2);
  }
  assert_int_equal(layers, 2);
  arena_done(&arena);
}

static void test_self_times_of_long_spans(void **unused)
{
  (void)unused;
  static const int64_t lengths[] = {1000,
                                    UINT32_MAX / 2,
                                    UINT32_MAX - 1,
                                    UINT32_MAX,
                                    UINT32_MAX + INT64_C(1),
                                    UINT32_MAX * INT64_C(2),
                                    INT64_C(3600000000000)};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    check_self_times(lengths[i], false);
    check_self_times(lengths[i], true);
  }
}

static void test_a_forgotten_tree_holds_no_column(void **unused)
{
  (void)unused;
  struct relation relation = {.held = STORE_DEPTH};
  relation_forget_tree(&relation);
  assert_int_not_equal(relation.held, STORE_DEPTH);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_self_times_of_long_spans),
                                     cmocka_unit_test(test_a_forgotten_tree_holds_no_column)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
