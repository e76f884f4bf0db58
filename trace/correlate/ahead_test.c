// SPDX-License-Identifier: Apache-2.0
// The survey on a thread of its own finds what it finds on the sweep's: parents, bases, launches, errors.
#include "correlate/parents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPANS 200000u // three hand-overs
#define TRACKS 5u

static uint64_t state = 88172645463325252u;

static int64_t below(int64_t limit)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (int64_t)(state % (uint64_t)limit);
}

struct trace {
  struct arena arena;
  struct store_spans spans;
  struct store_track tracks[TRACKS];
};

// Nested ranges in the order of their ends, with calls that share ids, executions, and of each `oddity` some.
enum oddity { PLAIN, CROSSING, OPEN, NAMED, ODDITIES };

static void fill(struct trace *trace, enum oddity oddity)
{
  struct store_spans *spans = &trace->spans;
  for (size_t i = 0; i < SPANS; i++) {
    int64_t place = (int64_t)i;
    unsigned role = (unsigned)(i % 8); // seven within the eighth, which ends last
    spans->track_id[i] = (uint32_t)(i / 4096 % TRACKS) + (role == 3 ? TRACKS : 0);
    spans->start_ns[i] = role == 7 ? (place - 7) * 10 : place * 10 + 1;
    spans->duration_ns[i] = (place + 1) * 10 - spans->start_ns[i];
    spans->level[i] = role == 7 ? XSP_LEVEL_LAYER : role < 4 ? XSP_LEVEL_KERNEL : XSP_LEVEL_LIBRARY;
    spans->kind[i] = role == 2 ? XSP_KIND_LAUNCH : role == 3 ? XSP_KIND_EXECUTION : XSP_KIND_SYNC;
    spans->flags[i] = role == 1 ? STORE_SPAN_CALL : 0;
    spans->correlation_id[i] = role >= 1 && role <= 3 ? 1 + place / 8 / (below(9) == 0 ? 2 : 1) : 0;
    if (oddity == CROSSING && below(100) == 0)
      spans->duration_ns[i] += below(200);
    if (oddity == OPEN && below(10000) == 0)
      spans->flags[i] |= STORE_SPAN_OPEN;
    if (oddity == NAMED && below(50) == 0)
      spans->recorded_parent_id[i] = 1 + below(SPANS);
  }
}

static void make(struct trace *trace)
{
  struct store_spans *spans = &trace->spans;
  *trace = (struct trace){0};
  *spans = (struct store_spans){.count = SPANS, .first_id = 1};
  spans->recorded_parent_id = arena_alloc_array(&trace->arena, SPANS, 8);
  spans->start_ns = arena_alloc_array(&trace->arena, SPANS, 8);
  spans->duration_ns = arena_alloc_array(&trace->arena, SPANS, 8);
  spans->correlation_id = arena_alloc_array(&trace->arena, SPANS, 8);
  spans->track_id = arena_alloc_array(&trace->arena, SPANS, 4);
  spans->level = arena_alloc_array(&trace->arena, SPANS, 1);
  spans->kind = arena_alloc_array(&trace->arena, SPANS, 1);
  spans->flags = arena_alloc_array(&trace->arena, SPANS, 1);
  for (uint32_t i = 0; i < TRACKS; i++)
    trace->tracks[i] = (struct store_track){.track_id = i, .process_id = 1 + i / 2, .thread_id = i};
}

static enum status find(const struct trace *trace, bool has_two, struct parents *ret_parents, struct error *err)
{
  const struct correlate_question question = {.spans = &trace->spans, .tracks = trace->tracks, .track_count = TRACKS};
  return parents_find(&question, has_two, ret_parents, err);
}

static void assert_same_bits(const uint8_t *one, const uint8_t *two)
{
  assert_int_equal(one == NULL, two == NULL);
  if (one != NULL)
    assert_memory_equal(one, two, SPANS / 8);
}

static void test_two_threads_find_what_one_does(void **unused)
{
  (void)unused;
  struct trace trace;
  make(&trace);
  for (enum oddity oddity = PLAIN; oddity < ODDITIES; oddity++) {
    struct parents one, two;
    struct error err;
    fill(&trace, oddity);
    assert_int_equal(find(&trace, false, &one, &err), STATUS_OK);
    assert_int_equal(find(&trace, true, &two, &err), STATUS_OK);
    assert_memory_equal(one.row, two.row, SPANS * sizeof *one.row);
    assert_memory_equal(one.basis, two.basis, SPANS);
    assert_int_equal(one.forward_count, two.forward_count);
    assert_true(one.launches.several.count > 0);
    assert_int_equal(one.launches.several.count, two.launches.several.count);
    assert_int_equal(one.launches.shared_count, two.launches.shared_count);
    assert_same_bits(one.launches.carried, two.launches.carried);
    assert_same_bits(one.launches.launched, two.launches.launched);
    assert_int_equal(one.has_open, two.has_open);
    assert_int_equal(one.has_links, two.has_links);
    parents_done(&one);
    parents_done(&two);
  }
  arena_done(&trace.arena);
}

static void test_two_threads_refuse_what_one_does(void **unused)
{
  (void)unused;
  static const size_t rows[] = {0, 1023, 1024, SPANS / 2, SPANS - 1};
  struct trace trace;
  make(&trace);
  fill(&trace, PLAIN);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct parents one, two;
    struct error one_error = {0}, two_error = {0};
    int64_t duration = trace.spans.duration_ns[rows[i]];
    trace.spans.duration_ns[rows[i]] = -1;
    assert_int_equal(find(&trace, false, &one, &one_error), STATUS_INPUT);
    assert_int_equal(find(&trace, true, &two, &two_error), STATUS_INPUT);
    assert_string_equal(one_error.why, two_error.why);
    trace.spans.duration_ns[rows[i]] = duration;
    parents_done(&one);
    parents_done(&two);
  }
  arena_done(&trace.arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_two_threads_find_what_one_does),
      cmocka_unit_test(test_two_threads_refuse_what_one_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
