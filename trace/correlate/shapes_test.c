// SPDX-License-Identifier: Apache-2.0
// A million spans of every shape that could make a sweep quadratic, with the parents that each must have: what takes more
// than linear time here does not end within the test's time.
#include "correlate/correlate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPANS 1000000

enum { M = XSP_LEVEL_MODEL, L = XSP_LEVEL_LAYER, K = XSP_LEVEL_KERNEL };

struct row {
  int64_t start, end;
  uint8_t level, flags;
  uint8_t basis;      // expected
  int64_t parent_row; // expected where the basis is containment; -1: any
};

static struct row row_of(int64_t start, int64_t end, unsigned level, unsigned basis, int64_t parent_row)
{
  return (struct row){start, end, (uint8_t)level, 0, (uint8_t)basis, parent_row};
}

// ---- shapes: row `i` of SPANS ----------------------------------------------------------------------------------------
static struct row all_nested(int64_t i)
{
  return row_of(i, 2 * SPANS - i, L, i == 0 ? BASIS_NONE : BASIS_CONTAINMENT, i - 1);
}

static struct row all_nested_inner_first(int64_t i)
{
  return row_of(-i, i + 1, L, i == SPANS - 1 ? BASIS_NONE : BASIS_CONTAINMENT, i + 1);
}

static struct row all_equal(int64_t i)
{
  return row_of(0, 10, L, i == 0 ? BASIS_NONE : BASIS_CONTAINMENT, i - 1);
}

static struct row all_equal_instants(int64_t i)
{
  return row_of(7, 7, L, i == 0 ? BASIS_NONE : BASIS_CONTAINMENT, i - 1);
}

static struct row all_crossing(int64_t i)
{
  return row_of(i, i + SPANS, L, BASIS_NONE, -1);
}

// Asynchronous work under one span of its own level.
static struct row crossing_inside_one(int64_t i)
{
  return i == 0 ? row_of(0, 10 * SPANS, L, BASIS_NONE, -1) : row_of(i, i + SPANS, L, BASIS_CONTAINMENT, 0);
}

static struct row crossing_neighbours_inside_one(int64_t i)
{
  return i == 0 ? row_of(0, 10 * SPANS, L, BASIS_NONE, -1) : row_of(3 * i, 3 * i + 5, L, BASIS_CONTAINMENT, 0);
}

// Each of the second half lies in the crossing part of all of the first.
static struct row calls_among_all_crossing(int64_t i)
{
  int64_t half = SPANS / 2;
  return i < half ? row_of(i, i + SPANS, L, BASIS_NONE, -1)
                  : row_of(half + (i - half) / 2, half + (i - half) / 2 + 1, K, BASIS_AMBIGUOUS, -1);
}

// Two that cross lie below a deep nest, in which nothing does: every look downward would go to the ground.
static struct row nested_above_a_crossing_pair(int64_t i)
{
  if (i < 2)
    return i == 0 ? row_of(0, 4 * SPANS, L, BASIS_NONE, -1) : row_of(1, 5 * SPANS, L, BASIS_NONE, -1);
  return row_of(i, 3 * SPANS - i, L, i == 2 ? BASIS_AMBIGUOUS : BASIS_CONTAINMENT, i - 1);
}

// Long calls that reach out of a deep nest into the one span that encloses it.
static struct row calls_that_leave_a_nest(int64_t i)
{
  int64_t half = SPANS / 2;
  if (i == 0)
    return row_of(0, 10 * SPANS, M, BASIS_NONE, -1);
  return i < half ? row_of(i, 2 * SPANS - i, L, BASIS_CONTAINMENT, i - 1)
                  : row_of(i, 5 * SPANS + i, K, BASIS_CONTAINMENT, 0);
}

// The same with an encloser of the nest's own level, and neighbours in the nest that cross and are over or not.
static struct row calls_over_dead_and_crossing(int64_t i)
{
  int64_t half = SPANS / 2;
  if (i == 0)
    return row_of(0, 20 * SPANS, L, BASIS_NONE, -1);
  if (i >= half)
    return row_of(3 * half + i, 3 * half + i + 1, K, BASIS_CONTAINMENT, half - 1 - (half - 1) % 2);
  return i % 2 == 0 ? row_of(i, 10 * SPANS - i, L, BASIS_CONTAINMENT, i == 2 ? 0 : i - 2)
                    : row_of(i, half + i, L, BASIS_CONTAINMENT, i == 1 ? 0 : i - 1);
}

// All end where as many calls begin.
static struct row calls_at_the_end_of_all(int64_t i)
{
  int64_t half = SPANS / 2;
  return i < half ? row_of(i, half, L, i == 0 ? BASIS_NONE : BASIS_CONTAINMENT, i - 1)
                  : row_of(half, half + 1 + i, K, BASIS_NONE, -1);
}

// Spans of no length before as many that begin with them and come later in the file.
static struct row instants_before_what_begins_with_them(int64_t i)
{
  int64_t half = SPANS / 2;
  if (i < half)
    return row_of(0, 0, L, i == 0 ? BASIS_NONE : BASIS_CONTAINMENT, i - 1);
  return row_of(0, SPANS - (i - half), L, i == half ? BASIS_NONE : BASIS_CONTAINMENT, i - 1);
}

static struct row touching_chain(int64_t i)
{
  return row_of(3 * i, 3 * i + 3, L, BASIS_NONE, -1);
}

// ---- the test --------------------------------------------------------------------------------------------------------
// On no thread, what one outside crosses is ambiguous at any depth, and so are neighbours that touch.
static bool is_expected(const struct row *row, uint8_t basis, int64_t parent_row, bool is_threadless)
{
  if (is_threadless && basis == BASIS_AMBIGUOUS && row->basis == BASIS_CONTAINMENT)
    return true;
  return row->basis == basis && (basis != BASIS_CONTAINMENT || parent_row == row->parent_row);
}

static void check_shape(struct row (*shape)(int64_t i), bool is_threadless)
{
  struct arena arena = {0};
  struct store_spans spans = {.count = SPANS, .first_id = 5};
  spans.start_ns = arena_alloc_array(&arena, SPANS, 8);
  spans.duration_ns = arena_alloc_array(&arena, SPANS, 8);
  spans.track_id = arena_alloc_array(&arena, SPANS, 4);
  spans.level = arena_alloc_array(&arena, SPANS, 1);
  spans.kind = arena_alloc_array(&arena, SPANS, 1);
  for (int64_t i = 0; i < SPANS; i++) {
    struct row row = shape(i);
    spans.start_ns[i] = row.start;
    spans.duration_ns[i] = row.end - row.start;
    spans.track_id[i] = 1;
    spans.level[i] = row.level;
  }
  const struct store_track track = {
      .track_id = 1, .thread_id = is_threadless ? STORE_NONE : 1, .device_id = STORE_NONE};
  const struct correlate_question question = {.spans = &spans,
                                              .tracks = &track,
                                              .track_count = 1,
                                              .column_mask = STORE_BIT(STORE_PARENT_ID) | STORE_BIT(STORE_BASIS)};
  struct correlate_answer answer;
  struct error error;
  assert_int_equal(correlate_spans(&question, &arena, &answer, &error), STATUS_OK);
  const struct store_derived derived = answer.derived;
  assert_true(derived.self_ns == NULL && derived.depth == NULL); // not asked for
  for (int64_t i = 0; i < SPANS; i++) {
    struct row row = shape(i);
    if (is_expected(&row, derived.basis[i], derived.parent_id[i] - spans.first_id, is_threadless))
      continue;
    print_error("row %lld\n", (long long)i);
    assert_int_equal(derived.basis[i], row.basis);
    assert_int_equal(derived.parent_id[i], row.parent_row + spans.first_id);
  }
  arena_done(&arena);
}

#define SHAPE(name)                                                                                                    \
  static void test_##name(void **unused)                                                                               \
  {                                                                                                                    \
    (void)unused;                                                                                                      \
    check_shape(name, false);                                                                                          \
    check_shape(name, true);                                                                                           \
  }
SHAPE(all_nested)
SHAPE(all_nested_inner_first)
SHAPE(all_equal)
SHAPE(all_equal_instants)
SHAPE(all_crossing)
SHAPE(crossing_inside_one)
SHAPE(crossing_neighbours_inside_one)
SHAPE(calls_among_all_crossing)
SHAPE(nested_above_a_crossing_pair)
SHAPE(calls_that_leave_a_nest)
SHAPE(calls_over_dead_and_crossing)
SHAPE(calls_at_the_end_of_all)
SHAPE(instants_before_what_begins_with_them)
SHAPE(touching_chain)

// Observations that overlap, on tracks of several clocks, asked for by spans of no track: which one by time alone.
static void test_overlapping_observations_of_two_clocks(void **unused)
{
  (void)unused;
  struct arena arena = {0};
  struct store_spans spans = {.count = SPANS, .first_id = 1};
  struct store_track *tracks = arena_alloc_array(&arena, SPANS / 2, sizeof *tracks);
  spans.start_ns = arena_alloc_array(&arena, SPANS, 8);
  spans.duration_ns = arena_alloc_array(&arena, SPANS, 8);
  spans.track_id = arena_alloc_array(&arena, SPANS, 4);
  spans.level = arena_alloc_array(&arena, SPANS, 1);
  spans.kind = arena_alloc_array(&arena, SPANS, 1);
  int64_t half = SPANS / 2;
  for (int64_t i = 0; i < SPANS; i++) { // each model span on a track of its own, half of them of a foreign clock
    bool is_model = i < half;
    spans.start_ns[i] = is_model ? i : 3 * SPANS - 1 - (i - half); // when only the first i - half are still open
    spans.duration_ns[i] = is_model ? 3 * SPANS - 2 * i : 0;       // nested in time: [i, 3 SPANS - i)
    spans.track_id[i] = is_model ? (uint32_t)i + 1 : 0;
    spans.level[i] = is_model ? M : L;
    if (is_model)
      tracks[i] = (struct store_track){.track_id = i + 1, .clock = i % 2 ? "simulator" : NULL};
  }
  const struct correlate_question question = {
      .spans = &spans, .tracks = tracks, .track_count = (size_t)half, .column_mask = STORE_BIT(STORE_OBSERVATION)};
  struct correlate_answer answer;
  struct error error;
  assert_int_equal(correlate_spans(&question, &arena, &answer, &error), STATUS_OK);
  assert_int_equal(answer.observation_count, half);
  for (int64_t i = half; i < SPANS; i++)
    assert_int_equal(answer.derived.observation[i], (i - half) / 2 * 2); // the latest started of wall time
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_nested),
      cmocka_unit_test(test_all_nested_inner_first),
      cmocka_unit_test(test_all_equal),
      cmocka_unit_test(test_all_equal_instants),
      cmocka_unit_test(test_all_crossing),
      cmocka_unit_test(test_crossing_inside_one),
      cmocka_unit_test(test_crossing_neighbours_inside_one),
      cmocka_unit_test(test_calls_among_all_crossing),
      cmocka_unit_test(test_nested_above_a_crossing_pair),
      cmocka_unit_test(test_calls_that_leave_a_nest),
      cmocka_unit_test(test_calls_over_dead_and_crossing),
      cmocka_unit_test(test_calls_at_the_end_of_all),
      cmocka_unit_test(test_instants_before_what_begins_with_them),
      cmocka_unit_test(test_touching_chain),
      cmocka_unit_test(test_overlapping_observations_of_two_clocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
