// SPDX-License-Identifier: Apache-2.0
// correlate_spans: examples with known answers, larger random sets against a brute-force oracle, a million spans.
#include "correlate/correlate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { A, M, L, LIB, K };

struct row {
  int64_t id, parent;
  unsigned level, kind, track;
  int64_t start, end, correlation;
};
struct result {
  struct arena arena;
  struct correlate_answer answer;
  struct error error;
};

static struct store_spans columns(const struct row *rows, size_t count, struct arena *arena)
{
  struct store_spans spans = {.count = count};
  spans.span_id = arena_alloc_array(arena, count + 1, 8);
  spans.recorded_parent_id = arena_alloc_array(arena, count + 1, 8);
  spans.start_ns = arena_alloc_array(arena, count + 1, 8);
  spans.duration_ns = arena_alloc_array(arena, count + 1, 8);
  spans.correlation_id = arena_alloc_array(arena, count + 1, 8);
  spans.track_id = arena_alloc_array(arena, count + 1, 4);
  spans.level = arena_alloc_array(arena, count + 1, 1);
  spans.kind = arena_alloc_array(arena, count + 1, 1);
  spans.flags = arena_alloc_array(arena, count + 1, 1);
  for (size_t i = 0; i < count; i++) {
    spans.span_id[i] = rows[i].id;
    spans.recorded_parent_id[i] = rows[i].parent;
    spans.start_ns[i] = rows[i].start;
    spans.duration_ns[i] = rows[i].end == INT64_MAX ? 0 : rows[i].end - rows[i].start;
    spans.flags[i] = rows[i].end == INT64_MAX ? STORE_SPAN_OPEN : 0;
    spans.correlation_id[i] = rows[i].correlation;
    spans.track_id[i] = rows[i].track;
    spans.level[i] = (uint8_t)rows[i].level;
    spans.kind[i] = (uint8_t)rows[i].kind;
  }
  return spans;
}

static enum status relate(const struct row *rows, size_t count, const int64_t *warmups, size_t warmup_count,
                          const int64_t *steps, size_t step_count, struct result *result)
{
  static const struct store_track tracks[] = {{.track_id = 1}, {.track_id = 9, .clock = "simulator"}};
  memset(result, 0, sizeof *result);
  struct store_spans spans = columns(rows, count, &result->arena);
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < step_count; k++)
      spans.flags[i] |= rows[i].id == steps[k] ? STORE_SPAN_STEP : 0;
  const struct correlate_question question = {&spans, tracks, 2,     warmups, warmup_count, STORE_ALL_DERIVED,
                                              NULL,   NULL,   false, 0};
  return correlate_spans(&question, &result->arena, &result->answer, &result->error);
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define RELATE(rows, result) assert_int_equal(relate(rows, COUNT(rows), NULL, 0, NULL, 0, result), STATUS_OK)

// ---- examples --------------------------------------------------------------------------------------------------------
static void test_levels_nest_and_self_times_add_up(void **unused)
{
  (void)unused;
  static const struct row rows[] = {{1, 0, A, 0, 1, 0, 100, 0},  {2, 0, M, 0, 1, 10, 90, 0},
                                    {3, 0, L, 0, 1, 20, 50, 0},  {4, 0, L, 0, 1, 30, 40, 0},
                                    {5, 0, K, 1, 1, 32, 38, 7},  {6, 0, K, 1, 1, 33, 34, 0},
                                    {7, 0, K, 2, 2, 60, 200, 7}, {8, 0, K, 2, 2, 201, 202, 99}};
  static const int64_t parents[] = {0, 1, 2, 3, 4, 4, 4, 0};
  static const int64_t selves[] = {20, 50, 20, 4, 6, 1, 140, 1};
  static const uint32_t depths[] = {0, 1, 2, 3, 4, 4, 4, 0};
  static const int64_t layers[] = {0, 0, 3, 4, 4, 4, 4, 0};
  static const uint8_t bases[] = {BASIS_NONE,        BASIS_CONTAINMENT, BASIS_CONTAINMENT, BASIS_CONTAINMENT,
                                  BASIS_CONTAINMENT, BASIS_CONTAINMENT, BASIS_CORRELATION, BASIS_NONE};
  struct result result;
  RELATE(rows, &result);
  for (size_t i = 0; i < COUNT(rows); i++) {
    assert_int_equal(result.answer.derived.parent_id[i], parents[i]);
    assert_int_equal(result.answer.derived.self_ns[i], selves[i]);
    assert_int_equal(result.answer.derived.depth[i], depths[i]);
    assert_int_equal(result.answer.derived.layer_id[i], layers[i]);
    assert_int_equal(result.answer.derived.basis[i], bases[i]);
    assert_int_equal(result.answer.derived.model_id[i], i >= 1 && i <= 6 ? 2 : 0);
  }
  assert_int_equal(result.answer.observation_count, 1);
  assert_int_equal(result.answer.observations[0].span_id, 2);
  // Span 1 starts before it and span 8, without a launch, after it; span 7 ends outside but was launched inside.
  static const int32_t observations[] = {-1, 0, 0, 0, 0, 0, 0, -1};
  for (size_t i = 0; i < COUNT(rows); i++)
    assert_int_equal(result.answer.derived.observation[i], observations[i]);
  assert_int_equal(result.answer.outside_observations, 2);
  assert_int_equal(result.answer.basis[BASIS_CONTAINMENT], 5);
  arena_done(&result.arena);
}

static void test_a_model_range_inside_a_layer_takes_no_kernels(void **unused)
{
  (void)unused;
  static const struct row rows[] = {{1, 0, L, 0, 1, 0, 100, 0}, {2, 0, M, 0, 1, 10, 90, 0}, {3, 0, K, 1, 1, 20, 30, 0}};
  struct result result;
  RELATE(rows, &result);
  assert_int_equal(result.answer.derived.parent_id[1], 0); // a layer is below the model level
  assert_int_equal(result.answer.derived.parent_id[2], 1);
  arena_done(&result.arena);
}

static void test_crossing_layers_are_ambiguous_and_touching_ones_are_not(void **unused)
{
  (void)unused;
  static const struct row crossing[] = {
      {1, 0, L, 0, 1, 0, 60, 0}, {2, 0, L, 0, 1, 40, 100, 0}, {3, 0, K, 1, 1, 45, 50, 0}};
  static const struct row touching[] = {
      {1, 0, L, 0, 1, 0, 50, 0}, {2, 0, L, 0, 1, 50, 100, 0}, {3, 0, K, 1, 1, 50, 50, 0}};
  struct result result;
  RELATE(crossing, &result);
  assert_int_equal(result.answer.derived.parent_id[2], 0);
  assert_int_equal(result.answer.derived.basis[2], BASIS_AMBIGUOUS);
  arena_done(&result.arena);
  RELATE(touching, &result);
  assert_int_equal(result.answer.derived.parent_id[2], 2);
  arena_done(&result.arena);
}

static void test_open_spans_enclose_but_last_no_time(void **unused)
{
  (void)unused;
  static const struct row rows[] = {
      {1, 0, M, 0, 1, 0, INT64_MAX, 0}, {2, 0, L, 0, 1, 10, 20, 0}, {3, 0, L, 0, 1, 30, INT64_MAX, 0}};
  struct result result;
  RELATE(rows, &result);
  assert_int_equal(result.answer.derived.parent_id[1], 1);
  assert_int_equal(result.answer.derived.parent_id[2], 1);
  assert_int_equal(result.answer.derived.self_ns[0], 0);
  assert_int_equal(result.answer.observation_count, 0);
  assert_int_equal(result.answer.outside_observations, 3);
  arena_done(&result.arena);
}

static void test_circles_are_broken_and_absent_parents_stay_named(void **unused)
{
  (void)unused;
  static const struct row rows[] = {{11, 12, L, 0, 1, 0, 1, 0}, {12, 13, L, 0, 1, 0, 1, 0}, {13, 11, L, 0, 1, 0, 1, 0},
                                    {14, 99, L, 0, 1, 5, 6, 0}, {15, 15, L, 0, 1, 5, 6, 0}, {16, 15, L, 1, 1, 5, 6, 3},
                                    {17, 98, L, 1, 1, 5, 6, 4}, {18, 0, L, 2, 2, 5, 6, 4}};
  static const int64_t parents[] = {0, 13, 11, 99, 0, 15, 98, 98};
  static const uint32_t depths[] = {0, 2, 1, 0, 0, 1, 0, 0};
  struct result result;
  RELATE(rows, &result);
  for (size_t i = 0; i < COUNT(rows); i++) {
    assert_int_equal(result.answer.derived.parent_id[i], parents[i]);
    assert_int_equal(result.answer.derived.depth[i], depths[i]);
  }
  assert_int_equal(result.answer.derived.basis[0], BASIS_NONE);
  arena_done(&result.arena);
}

// A child that names its parent and comes first in the file, with the times of its parent.
static void test_a_parent_does_not_lie_within_its_child(void **unused)
{
  (void)unused;
  static const struct row rows[] = {{2, 1, L, 0, 1, 10, 20, 0}, {1, 0, L, 0, 1, 10, 20, 0}};
  struct result result;
  RELATE(rows, &result);
  assert_int_equal(result.answer.derived.parent_id[0], 1);
  assert_int_equal(result.answer.derived.basis[0], BASIS_EXPLICIT);
  assert_int_equal(result.answer.derived.parent_id[1], 0);
  assert_int_equal(result.answer.derived.basis[1], BASIS_NONE);
  arena_done(&result.arena);
}

static void test_broken_input_is_refused(void **unused)
{
  (void)unused;
  static const struct row repeated[] = {{4, 0, L, 0, 1, 0, 1, 0}, {5, 0, L, 0, 1, 0, 1, 0}, {4, 0, L, 0, 1, 0, 1, 0}};
  static const struct row zero[] = {{0, 0, L, 0, 1, 0, 1, 0}};
  static const struct row backward[] = {{1, 0, L, 0, 1, 10, 9, 0}};
  static const struct row level[] = {{1, 0, 5, 0, 1, 10, 11, 0}};
  static const struct row kind[] = {{1, 0, L, 3, 1, 10, 11, 0}};
  const struct {
    const struct row *rows;
    size_t count;
    const char *why;
  } cases[] = {
      {repeated, 3, "repeats"}, {zero, 1, "below 1"}, {backward, 1, "before"}, {level, 1, "level"}, {kind, 1, "kind"}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct result result;
    assert_int_equal(relate(cases[i].rows, cases[i].count, NULL, 0, NULL, 0, &result), STATUS_INPUT);
    assert_non_null(strstr(result.error.why, cases[i].why));
    arena_done(&result.arena);
  }
}

// ---- observations ----------------------------------------------------------------------------------------------------
static void test_outermost_models_are_the_observations(void **unused)
{
  (void)unused;
  static const struct row rows[] = {{1, 0, M, 0, 1, 100, 200, 0}, {2, 0, M, 0, 1, 110, 120, 0},
                                    {3, 0, M, 0, 2, 0, 50, 0},    {4, 0, L, 0, 3, 20, 30, 0},
                                    {5, 0, L, 0, 3, 50, 99, 0},   {6, 0, L, 0, 9, 20, 30, 0}};
  static const int64_t warmups[] = {3, 77};
  static const int32_t expected[] = {1, 1, 0, 0, -1, -1};
  struct result result;
  assert_int_equal(relate(rows, COUNT(rows), warmups, 2, NULL, 0, &result), STATUS_OK);
  assert_int_equal(result.answer.observation_count, 2);
  assert_int_equal(result.answer.observations[0].span_id, 3);
  assert_true(result.answer.observations[0].warmup);
  assert_int_equal(result.answer.observations[1].span_id, 1);
  assert_false(result.answer.observations[1].warmup);
  for (size_t i = 0; i < COUNT(rows); i++)
    assert_int_equal(result.answer.derived.observation[i], expected[i]);
  arena_done(&result.arena);
}

static void test_steps_alone_are_observations_and_time_finds_the_latest(void **unused)
{
  (void)unused;
  static const struct row rows[] = {{1, 0, M, 0, 1, 0, 1000, 0},  {2, 0, M, 0, 1, 10, 500, 0},
                                    {3, 0, M, 0, 2, 20, 100, 0},  {4, 0, L, 0, 3, 30, 40, 0},
                                    {5, 0, L, 0, 3, 100, 110, 0}, {6, 0, L, 0, 3, 500, 510, 0}};
  static const int64_t steps[] = {2, 3};
  static const int32_t expected[] = {-1, 0, 1, 1, 0, -1};
  struct result result;
  assert_int_equal(relate(rows, COUNT(rows), NULL, 0, steps, 2, &result), STATUS_OK);
  assert_int_equal(result.answer.observation_count, 2);
  for (size_t i = 0; i < COUNT(rows); i++)
    assert_int_equal(result.answer.derived.observation[i], expected[i]);
  arena_done(&result.arena);
}

static void test_a_run_without_models_is_one_observation(void **unused)
{
  (void)unused;
  static const struct row rows[] = {{1, 0, L, 0, 1, 50, 60, 0}, {2, 0, K, 2, 2, 20, 100, 0}, {3, 0, L, 0, 9, 1, 2, 0}};
  struct result result;
  RELATE(rows, &result);
  assert_int_equal(result.answer.observation_count, 1);
  assert_int_equal(result.answer.observations[0].span_id, 0);
  assert_int_equal(result.answer.observations[0].start_ns, 20);
  assert_int_equal(result.answer.observations[0].duration_ns, 80);
  assert_int_equal(result.answer.derived.observation[2], -1); // another clock
  assert_int_equal(result.answer.outside_observations, 1);
  arena_done(&result.arena);
}

// The program's own span says it for a run without models; a layer's tag says nothing about the run.
static void test_a_warm_up_run_without_models(void **unused)
{
  (void)unused;
  static const struct row rows[] = {{1, 0, A, 0, 1, 0, 100, 0}, {2, 0, L, 0, 1, 10, 20, 0}};
  static const int64_t program[] = {1}, layer[] = {2};
  struct result result;
  assert_int_equal(relate(rows, COUNT(rows), program, 1, NULL, 0, &result), STATUS_OK);
  assert_int_equal(result.answer.observation_count, 1);
  assert_int_equal(result.answer.observations[0].span_id, 0);
  assert_true(result.answer.observations[0].warmup);
  arena_done(&result.arena);
  assert_int_equal(relate(rows, COUNT(rows), layer, 1, NULL, 0, &result), STATUS_OK);
  assert_false(result.answer.observations[0].warmup);
  arena_done(&result.arena);
}

// ---- brute force -----------------------------------------------------------------------------------------------------
static uint64_t state = 88172645463325252u;

static int64_t below(int64_t limit)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (int64_t)(state % (uint64_t)limit);
}

static bool is_enclosed(const struct row *rows, size_t outer, size_t inner)
{
  const struct row *o = &rows[outer];
  const struct row *i = &rows[inner];
  if (outer == inner || o->track != i->track || o->level > i->level || o->level == K || o->start > i->start ||
      o->end < i->end)
    return false;
  bool is_equal = o->start == i->start && o->end == i->end;
  bool is_instant_at_start = i->start == i->end && o->start == i->start;
  return o->level < i->level || !(is_equal || is_instant_at_start) || outer < inner;
}

static bool is_better(const struct row *rows, size_t a, size_t b) // a is inner to b
{
  if (rows[a].level != rows[b].level)
    return rows[a].level > rows[b].level;
  if (rows[a].start != rows[b].start)
    return rows[a].start > rows[b].start;
  if (rows[a].end != rows[b].end)
    return rows[a].end < rows[b].end;
  return a > b;
}

static enum basis brute_force(const struct row *rows, size_t count, size_t row, int64_t *ret_parent)
{
  size_t best = SIZE_MAX;
  *ret_parent = 0;
  for (size_t i = 0; i < count; i++)
    if (is_enclosed(rows, i, row) && (best == SIZE_MAX || is_better(rows, i, best)))
      best = i;
  if (best == SIZE_MAX)
    return BASIS_NONE;
  for (size_t i = 0; i < count; i++)
    if (rows[i].level == rows[best].level && is_enclosed(rows, i, row) && rows[i].start < rows[best].start &&
        rows[i].end < rows[best].end && rows[i].end > rows[best].start)
      return BASIS_AMBIGUOUS;
  *ret_parent = rows[best].id;
  return BASIS_CONTAINMENT;
}

static int by_end(const void *left, const void *right)
{
  const struct row *a = left;
  const struct row *b = right;
  if (a->end != b->end)
    return a->end < b->end ? -1 : 1;
  return a->start > b->start ? -1 : a->start < b->start;
}

static void test_random_sets_agree_with_brute_force(void **unused)
{
  (void)unused;
  enum { SPANS = 1200 };
  static struct row rows[SPANS];
  size_t ambiguous = 0;
  for (int set = 0; set < 24; set++) {
    int64_t horizon = set % 4 == 0 ? 50 : set % 4 == 1 ? 5000 : 1000000;
    int64_t longest = set % 3 == 0 ? horizon : horizon / 50 + 2;
    for (size_t i = 0; i < SPANS; i++) {
      rows[i] = (struct row){0, 0, (unsigned)below(5), 0, 1 + (unsigned)below(3), below(horizon), 0, 0};
      rows[i].end = rows[i].start + (below(4) == 0 ? 0 : below(longest));
    }
    if (set % 2 == 0)
      qsort(rows, SPANS, sizeof *rows, by_end);
    for (size_t i = 0; i < SPANS; i++)
      rows[i].id = (int64_t)i + 1;
    struct result result;
    RELATE(rows, &result);
    for (size_t i = 0; i < SPANS; i++) {
      int64_t parent;
      enum basis basis = brute_force(rows, SPANS, i, &parent);
      ambiguous += basis == BASIS_AMBIGUOUS;
      assert_int_equal(result.answer.derived.basis[i], basis);
      assert_int_equal(result.answer.derived.parent_id[i], parent);
    }
    arena_done(&result.arena);
  }
  assert_true(ambiguous > 100);
}

// A chain that overlaps its neighbours without end, and one that touches them, stay linear; deep nesting is no recursion.
static void test_a_million_spans_of_awkward_shape(void **unused)
{
  (void)unused;
  enum { SPANS = 1000000 };
  struct row *rows = calloc(SPANS, sizeof *rows);
  assert_non_null(rows);
  for (int shape = 0; shape < 3; shape++) {
    for (int64_t i = 0; i < SPANS; i++) {
      int64_t start = shape == 2 ? i : i * 3;
      int64_t end = shape == 0 ? start + 5 : shape == 1 ? start + 3 : 3 * (int64_t)SPANS - i;
      rows[i] = (struct row){i + 1, 0, L, 0, 1, start, end, 0};
    }
    struct result result;
    assert_int_equal(relate(rows, SPANS, NULL, 0, NULL, 0, &result), STATUS_OK);
    assert_int_equal(result.answer.basis[BASIS_CONTAINMENT], shape == 2 ? SPANS - 1 : 0);
    assert_int_equal(result.answer.derived.depth[SPANS - 1], shape == 2 ? SPANS - 1 : 0);
    arena_done(&result.arena);
  }
  free(rows);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_levels_nest_and_self_times_add_up),
      cmocka_unit_test(test_a_model_range_inside_a_layer_takes_no_kernels),
      cmocka_unit_test(test_crossing_layers_are_ambiguous_and_touching_ones_are_not),
      cmocka_unit_test(test_open_spans_enclose_but_last_no_time),
      cmocka_unit_test(test_circles_are_broken_and_absent_parents_stay_named),
      cmocka_unit_test(test_a_parent_does_not_lie_within_its_child),
      cmocka_unit_test(test_broken_input_is_refused),
      cmocka_unit_test(test_outermost_models_are_the_observations),
      cmocka_unit_test(test_steps_alone_are_observations_and_time_finds_the_latest),
      cmocka_unit_test(test_a_run_without_models_is_one_observation),
      cmocka_unit_test(test_a_warm_up_run_without_models),
      cmocka_unit_test(test_random_sets_agree_with_brute_force),
      cmocka_unit_test(test_a_million_spans_of_awkward_shape),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
