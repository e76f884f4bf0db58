// SPDX-License-Identifier: Apache-2.0
// Which spans get which paths: order of arrival, nesting, crossing, equal intervals, bounds; and random threads against
// a search through all frames.
#include "importers/call_paths.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// ---- a file's texts and what was found --------------------------------------------------------------------------------
#define TEXTS 4096
struct found {
  int64_t span_id;
  uint32_t path;
};
struct world {
  struct arena arena;
  struct call_thread thread;
  char *texts[TEXTS];
  size_t lengths[TEXTS];
  uint32_t text_count, interned;
  struct found found[4096];
  size_t found_count;
};

static uint32_t keep(struct world *world, const char *text, size_t length)
{
  assert_true(world->text_count < TEXTS - 1);
  world->texts[++world->text_count] = arena_copy(&world->arena, text, length);
  world->lengths[world->text_count] = length;
  return world->text_count;
}

static const char *text_of(void *context, uint32_t name, size_t *ret_length)
{
  struct world *world = context;
  *ret_length = world->lengths[name];
  return world->texts[name];
}

static uint32_t intern(void *context, const char *path, size_t length)
{
  struct world *world = context;
  world->interned++;
  return keep(world, path, length);
}

static void note(void *context, int64_t span_id, uint32_t path)
{
  struct world *world = context;
  assert_true(world->found_count < sizeof world->found / sizeof world->found[0]);
  world->found[world->found_count++] = (struct found){span_id, path};
}

static uint32_t name(struct world *world, const char *text)
{
  for (uint32_t i = 1; i <= world->text_count; i++)
    if (strcmp(world->texts[i], text) == 0)
      return i;
  return keep(world, text, strlen(text));
}

static void frame(struct world *world, const char *text, int64_t start_ns, int64_t end_ns)
{
  call_thread_frame(&world->thread, start_ns, end_ns, name(world, text));
}

static void span(struct world *world, int64_t span_id, int64_t start_ns, int64_t end_ns)
{
  call_thread_span(&world->thread, start_ns, end_ns, span_id, true);
}

static uint64_t sweep(struct world *world)
{
  struct call_sink sink = {.context = world, .text = text_of, .intern = intern, .found = note};
  struct call_paths *paths = call_paths_create(&sink);
  assert_non_null(paths);
  call_paths_sweep(paths, &world->thread);
  uint64_t left_out = call_paths_left_out(paths);
  call_paths_free(paths);
  return left_out;
}

static const char *path_of(const struct world *world, int64_t span_id)
{
  const char *path = NULL;
  for (size_t i = 0; i < world->found_count; i++)
    if (world->found[i].span_id == span_id) {
      assert_null(path); // one path a span
      path = world->texts[world->found[i].path];
    }
  return path;
}

static int setup(void **state)
{
  *state = calloc(1, sizeof(struct world));
  return *state == NULL;
}

static int teardown(void **state)
{
  struct world *world = *state;
  call_thread_done(&world->thread);
  arena_done(&world->arena);
  free(world);
  return 0;
}

// ---- tests -----------------------------------------------------------------------------------------------------------
static void test_only_outermost_spans_of_a_frame_get_its_path(void **state)
{
  struct world *world = *state;
  span(world, 1, 10, 90); // in main
  span(world, 2, 20, 80); // in span 1, no frame between
  span(world, 3, 32, 38); // in forward
  span(world, 4, 33, 35); // in span 3
  span(world, 5, 200, 210);
  frame(world, "forward", 30, 40);
  frame(world, "main", 0, 100);
  sweep(world);
  assert_int_equal(world->found_count, 2);
  assert_string_equal(path_of(world, 1), "main");
  assert_string_equal(path_of(world, 3), "main;forward");
}

static void test_two_calls_of_one_function_share_a_path(void **state)
{
  struct world *world = *state;
  frame(world, "main", 0, 100);
  for (int64_t i = 0; i < 5; i++) {
    frame(world, "step", 10 + 10 * i, 19 + 10 * i);
    span(world, i + 1, 12 + 10 * i, 13 + 10 * i);
    span(world, i + 6, 14 + 10 * i, 15 + 10 * i);
  }
  sweep(world);
  assert_int_equal(world->found_count, 10);
  assert_int_equal(world->interned, 1);
  assert_string_equal(path_of(world, 10), "main;step");
}

static void test_a_span_around_a_frame_is_not_in_it(void **state)
{
  struct world *world = *state;
  frame(world, "inner", 20, 30);
  span(world, 1, 10, 40);
  span(world, 2, 20, 30); // equal: the frame is outside
  span(world, 3, 30, 30); // enclosing is inclusive
  span(world, 4, 25, 35); // leaves it
  sweep(world);
  assert_null(path_of(world, 1));
  assert_string_equal(path_of(world, 2), "inner");
  assert_string_equal(path_of(world, 3), "inner");
  assert_null(path_of(world, 4));
}

static void test_a_long_path_loses_its_outermost_frames(void **state)
{
  struct world *world = *state;
  char text[101];
  memset(text, 'x', 100);
  text[100] = 0;
  for (int i = 0; i < 400; i++)
    frame(world, i == 399 ? "last" : text, i, 10000 - i);
  span(world, 1, 500, 501);
  assert_int_equal(sweep(world), 0);
  const char *path = path_of(world, 1);
  assert_non_null(path);
  assert_true(strlen(path) <= CALL_PATH_BYTES);
  assert_true(strlen(path) > CALL_PATH_BYTES - 120);
  assert_memory_equal(path, "\xe2\x80\xa6;xx", 6);
  assert_string_equal(path + strlen(path) - 6, "x;last");
}

static void test_a_frame_longer_than_any_path_is_left_out(void **state)
{
  struct world *world = *state;
  static char text[CALL_PATH_BYTES + 2];
  memset(text, 'y', CALL_PATH_BYTES + 1);
  frame(world, text, 0, 10);
  span(world, 1, 1, 2);
  span(world, 2, 3, 4);
  assert_int_equal(sweep(world), 2);
  assert_int_equal(world->found_count, 0);
}

static void test_many_crossing_frames_cost_little(void **state)
{
  struct world *world = *state;
  for (int64_t i = 0; i < 300000; i++) { // each cuts the one before; a stack of all of them would never end
    frame(world, "a", i, 1000000 + i);
    span(world, i + 1, 2000000 + i, 2000000 + i);
  }
  sweep(world);
  assert_int_equal(world->found_count, 0);
  call_thread_done(&world->thread);
  for (int64_t i = 0; i < 300000; i++)
    frame(world, "a", i, 1000000 + i);
  frame(world, "deep", -1, 3000000);
  span(world, 7, 999999, 1000001);
  sweep(world);
  assert_string_equal(path_of(world, 7), "deep;a");
}

static void test_extreme_times(void **state)
{
  struct world *world = *state;
  frame(world, "all", INT64_MIN, INT64_MAX);
  span(world, INT64_MAX / 2, INT64_MAX, INT64_MAX);
  span(world, 1, INT64_MIN, INT64_MIN);
  sweep(world);
  assert_string_equal(path_of(world, 1), "all");
  assert_string_equal(path_of(world, INT64_MAX / 2), "all");
}

// ---- random, well nested threads against a search ---------------------------------------------------------------------
static uint64_t seed = 88172645463325252u;
static uint32_t random_below(uint32_t limit)
{
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (uint32_t)(seed % limit);
}

struct item {
  int64_t start, end;
  bool is_frame;
  int number;
};

// Nested intervals within [start, end), a gap before each; returns how many.
static int grow(struct item *items, int count, int64_t start, int64_t end)
{
  while (count < 200 && end - start > 8) {
    int64_t from = start + 1 + random_below((uint32_t)(end - start) / 2);
    int64_t to = from + 1 + random_below((uint32_t)(end - from) / 2 + 1);
    if (to >= end)
      break;
    items[count] = (struct item){from, to, random_below(2) == 0, count + 1};
    count = grow(items, count + 1, from, to);
    start = to;
  }
  return count;
}

static int innermost(const struct item *items, int count, const struct item *of, bool frames)
{
  int best = -1;
  for (int i = 0; i < count; i++)
    if (&items[i] != of && items[i].is_frame == frames && items[i].start <= of->start && items[i].end >= of->end &&
        (best < 0 || items[i].start > items[best].start))
      best = i;
  return best;
}

static void expect(const struct item *items, int count, int at, char *path)
{
  int up = innermost(items, count, &items[at], true);
  path[0] = 0;
  for (; up >= 0; up = innermost(items, count, &items[up], true)) {
    char inner[8192];
    snprintf(inner, sizeof inner, "f%d%s%s", items[up].number % 7, path[0] != 0 ? ";" : "", path);
    strcpy(path, inner);
  }
}

static void test_random_threads(void **state)
{
  (void)state;
  for (int round = 0; round < 60; round++) {
    struct world *world = calloc(1, sizeof *world);
    struct item items[201];
    int count = grow(items, 0, 0, 100000);
    for (int i = count - 1; i > 0; i--) { // any order of arrival
      int other = (int)random_below((uint32_t)i + 1);
      struct item swap = items[i];
      items[i] = items[other];
      items[other] = swap;
    }
    for (int i = 0; i < count; i++) {
      char text[16];
      snprintf(text, sizeof text, "f%d", items[i].number % 7);
      if (items[i].is_frame)
        frame(world, text, items[i].start, items[i].end);
      else
        span(world, items[i].number, items[i].start, items[i].end);
    }
    sweep(world);
    for (int i = 0; i < count; i++) {
      if (items[i].is_frame)
        continue;
      char path[8192];
      expect(items, count, i, path);
      int frame_at = innermost(items, count, &items[i], true), span_at = innermost(items, count, &items[i], false);
      bool is_new = frame_at >= 0 && (span_at < 0 || innermost(items, count, &items[span_at], true) != frame_at);
      if (is_new)
        assert_string_equal(path_of(world, items[i].number), path);
      else
        assert_null(path_of(world, items[i].number));
    }
    call_thread_done(&world->thread);
    arena_done(&world->arena);
    free(world);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_only_outermost_spans_of_a_frame_get_its_path, setup, teardown),
      cmocka_unit_test_setup_teardown(test_two_calls_of_one_function_share_a_path, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_span_around_a_frame_is_not_in_it, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_long_path_loses_its_outermost_frames, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_frame_longer_than_any_path_is_left_out, setup, teardown),
      cmocka_unit_test_setup_teardown(test_many_crossing_frames_cost_little, setup, teardown),
      cmocka_unit_test_setup_teardown(test_extreme_times, setup, teardown),
      cmocka_unit_test(test_random_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
