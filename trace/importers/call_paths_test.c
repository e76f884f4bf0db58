// SPDX-License-Identifier: Apache-2.0
// Which spans get which paths: order of arrival, nesting, crossing, equal intervals, recorded stacks; and random threads
// against a search through all intervals.
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
  uint32_t text_count, interned, paths_most; // paths_most: 0: no limit
  struct found found[4096];
  size_t found_count;
};

static uint32_t keep(struct world *world, const char *text, size_t length)
{
  assert_true(world->text_count < TEXTS - 1);
  world->texts[++world->text_count] = arena_copy(&world->arena, text, length);
  return world->text_count;
}

// The path as text: "main;s1".
static uint32_t make_path(void *context, uint32_t caller, enum xsp_frame_kind kind, uint32_t name)
{
  struct world *world = context;
  char text[8192];
  assert_int_equal(kind, world->texts[name][0] == 's' ? XSP_FRAME_FRAMEWORK : XSP_FRAME_PYTHON);
  if (world->paths_most != 0 && world->interned == world->paths_most)
    return 0;
  world->interned++;
  int length = snprintf(text, sizeof text, "%s%s%s", caller == 0 ? "" : world->texts[caller], caller == 0 ? "" : ";",
                        world->texts[name]);
  return keep(world, text, (size_t)length);
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

static void span_with(struct world *world, int64_t span_id, int64_t start_ns, int64_t end_ns, uint32_t stack,
                      bool is_no_frame)
{
  char text[32];
  snprintf(text, sizeof text, "s%lld", (long long)span_id);
  const struct call_span span = {.start_ns = start_ns,
                                 .end_ns = end_ns,
                                 .span_id = span_id,
                                 .name = name(world, text),
                                 .stack = stack,
                                 .kind = XSP_FRAME_FRAMEWORK,
                                 .is_layer = true,
                                 .is_no_frame = is_no_frame};
  call_thread_span(&world->thread, &span);
}

static void span(struct world *world, int64_t span_id, int64_t start_ns, int64_t end_ns)
{
  span_with(world, span_id, start_ns, end_ns, 0, false);
}

static uint64_t sweep(struct world *world)
{
  struct call_sink sink = {.context = world, .path = make_path, .found = note};
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
static void test_frames_then_spans_then_itself(void **state)
{
  struct world *world = *state;
  span(world, 1, 10, 90); // in main
  span(world, 2, 20, 80); // in span 1, no frame between
  span(world, 3, 32, 38); // in forward, which span 2 calls
  span(world, 4, 33, 35); // in span 3
  span(world, 5, 200, 210);
  frame(world, "forward", 30, 40);
  frame(world, "main", 0, 100);
  sweep(world);
  assert_int_equal(world->found_count, 4);
  assert_string_equal(path_of(world, 1), "main;s1");
  assert_string_equal(path_of(world, 2), "main;s1;s2");
  assert_string_equal(path_of(world, 3), "main;s1;s2;forward;s3");
  assert_string_equal(path_of(world, 4), "main;s1;s2;forward;s3;s4");
  assert_null(path_of(world, 5));
}

static void test_two_calls_of_one_function_share_a_path(void **state)
{
  struct world *world = *state;
  frame(world, "main", 0, 100);
  for (int64_t i = 0; i < 5; i++) {
    frame(world, "call", 10 + 10 * i, 19 + 10 * i);
    frame(world, "without spans", 15 + 10 * i, 16 + 10 * i);
    span(world, 1, 12 + 10 * i, 13 + 10 * i);
  }
  sweep(world);
  assert_int_equal(world->found_count, 5);
  assert_int_equal(world->interned, 3); // main, call, s1: frames without spans are no path of anything
  for (size_t i = 1; i < 5; i++)
    assert_int_equal(world->found[i].path, world->found[0].path);
}

static void test_a_span_around_a_frame_is_not_in_it(void **state)
{
  struct world *world = *state;
  frame(world, "inner", 20, 30);
  span(world, 1, 10, 40);
  span(world, 2, 20, 30); // equal: the frame is outside
  span(world, 3, 30, 30); // enclosing is inclusive
  span(world, 4, 25, 35); // leaves it, and span 2
  sweep(world);
  assert_null(path_of(world, 1));
  assert_string_equal(path_of(world, 2), "inner;s2");
  assert_string_equal(path_of(world, 3), "inner;s3");
  assert_null(path_of(world, 4));
}

static void test_steps_are_no_frames(void **state)
{
  struct world *world = *state;
  frame(world, "main", 0, 100);
  span_with(world, 1, 10, 90, 0, true);
  span(world, 2, 20, 80);
  sweep(world);
  assert_null(path_of(world, 1));
  assert_string_equal(path_of(world, 2), "main;s2");
}

static void test_stacks_of_spans(void **state)
{
  struct world *world = *state;
  uint32_t program = name(world, "main;f"), other = name(world, "main;g");
  span_with(world, 1, 10, 90, program, false);
  span_with(world, 2, 20, 80, program, false); // called by span 1
  span_with(world, 3, 30, 40, other, false);   // called by another function, whatever that is in
  span(world, 4, 50, 60);
  span(world, 5, 95, 99);
  sweep(world);
  assert_string_equal(path_of(world, 1), "main;f;s1");
  assert_string_equal(path_of(world, 2), "main;f;s1;s2");
  assert_string_equal(path_of(world, 3), "main;g;s3");
  assert_string_equal(path_of(world, 4), "main;f;s1;s2;s4");
  assert_null(path_of(world, 5));
}

static void test_paths_that_the_sink_refuses(void **state)
{
  struct world *world = *state;
  world->paths_most = 2;
  frame(world, "main", 0, 100);
  span(world, 1, 10, 90);
  span(world, 2, 20, 80);
  span(world, 3, 30, 70);
  assert_int_equal(sweep(world), 2);
  assert_string_equal(path_of(world, 1), "main;s1");
  assert_int_equal(world->found_count, 1);
}

static void test_many_crossing_frames_cost_little(void **state)
{
  struct world *world = *state;
  for (int64_t i = 0; i < 300000; i++) { // each cuts the one before; a stack of all of them would never end
    frame(world, "a", i, 1000000 + i);
    span(world, 1, 2000000 + i, 2000000 + i);
  }
  sweep(world);
  assert_int_equal(world->found_count, 0);
  call_thread_done(&world->thread);
  for (int64_t i = 0; i < 300000; i++)
    frame(world, "a", i, 1000000 + i);
  frame(world, "deep", -1, 3000000);
  span(world, 7, 999999, 1000001);
  sweep(world);
  assert_string_equal(path_of(world, 7), "deep;a;s7");
}

static void test_extreme_times(void **state)
{
  struct world *world = *state;
  frame(world, "all", INT64_MIN, INT64_MAX);
  const int64_t large = (INT64_C(1) << 59) - 1;
  span(world, large, INT64_MAX, INT64_MAX);
  span(world, 1, INT64_MIN, INT64_MIN);
  sweep(world);
  assert_string_equal(path_of(world, 1), "all;s1");
  assert_string_equal(path_of(world, large), "all;s576460752303423487");
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

// By brute force: all that encloses the item, outermost first, then itself; empty where no frame is among it.
static void expect(const struct item *items, int count, int at, char *path)
{
  const struct item *of = &items[at];
  bool has_frame = false;
  path[0] = 0;
  for (int64_t after = INT64_MIN;;) {
    const struct item *next = NULL;
    for (int i = 0; i < count; i++)
      if (items[i].start > after && items[i].start <= of->start && items[i].end >= of->end &&
          (next == NULL || items[i].start < next->start))
        next = &items[i];
    if (next == NULL)
      break;
    after = next->start;
    has_frame |= next->is_frame;
    if (!has_frame)
      continue;
    char part[32];
    snprintf(part, sizeof part, "%s%c%d", path[0] == 0 ? "" : ";", next->is_frame ? 'f' : 's',
             next->is_frame ? next->number % 7 : next->number);
    strcat(path, part);
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
      if (path[0] != 0)
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
      cmocka_unit_test_setup_teardown(test_frames_then_spans_then_itself, setup, teardown),
      cmocka_unit_test_setup_teardown(test_two_calls_of_one_function_share_a_path, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_span_around_a_frame_is_not_in_it, setup, teardown),
      cmocka_unit_test_setup_teardown(test_steps_are_no_frames, setup, teardown),
      cmocka_unit_test_setup_teardown(test_stacks_of_spans, setup, teardown),
      cmocka_unit_test_setup_teardown(test_paths_that_the_sink_refuses, setup, teardown),
      cmocka_unit_test_setup_teardown(test_many_crossing_frames_cost_little, setup, teardown),
      cmocka_unit_test_setup_teardown(test_extreme_times, setup, teardown),
      cmocka_unit_test(test_random_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
