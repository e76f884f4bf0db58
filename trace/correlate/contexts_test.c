// SPDX-License-Identifier: Apache-2.0
// Contexts: equal chains share one, times add up, a bound holds, damaged trees do no harm.
#include "correlate/contexts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { STEP = 10, CONV = 20, KERNEL = 30, RELU = 40 };

static void assert_context(const struct contexts *contexts, uint32_t id, struct context expected)
{
  const struct context *context = &contexts->all.items[id];
  assert_int_equal(context->parent, expected.parent);
  assert_int_equal(context->name, expected.name);
  assert_int_equal(context->level, expected.level);
  if (expected.count > 0)
    assert_int_equal(context->first, expected.first);
  assert_int_equal(context->count, expected.count);
  assert_int_equal(context->self_ns, expected.self_ns);
  assert_int_equal(context->total_ns, expected.total_ns);
  assert_int_equal(context->first_ns, expected.first_ns);
}

// Two steps of one convolution each, whose kernel is listed before everything else.
static const uint32_t parents[] = {2, CONTEXT_NONE, 1, CONTEXT_NONE, 3, 4};
static const uint32_t names[] = {KERNEL, STEP, CONV, STEP, CONV, KERNEL};
static const uint8_t levels[] = {4, 1, 2, 1, 2, 4};
static const int64_t starts[] = {3, 1, 2, 11, 12, 13}, selfs[] = {100, 10, 1, 20, 2, 200};
static uint32_t contexts_of[6];
static const struct context_spans two_steps = {6, parents, names, levels, starts, selfs, NULL, NULL, NULL, contexts_of};

static void equal_chains_share_a_context(void **state)
{
  (void)state;
  struct contexts contexts = {.most = 100};
  contexts_add(&contexts, &two_steps);
  assert_int_equal(contexts.all.count, 3);
  assert_context(&contexts, 0, (struct context){CONTEXT_NONE, STEP, 1, 1, 2, 30, 333, 1});
  assert_context(&contexts, 1, (struct context){0, CONV, 2, 2, 2, 3, 303, 2});
  assert_context(&contexts, 2, (struct context){1, KERNEL, 4, 0, 2, 300, 300, 3});
  static const uint32_t expected[] = {2, 0, 1, 0, 1, 2};
  assert_memory_equal(contexts_of, expected, sizeof expected);
  contexts_add(&contexts, &two_steps); // another run's
  assert_int_equal(contexts.all.count, 3);
  assert_context(&contexts, 0, (struct context){CONTEXT_NONE, STEP, 1, 1, 4, 60, 666, 1});
  assert_int_equal(contexts.folded + contexts.left_out, 0);
  contexts_done(&contexts);
}

static void one_name_in_two_places_is_two_contexts(void **state)
{
  (void)state;
  static const uint32_t around[] = {CONTEXT_NONE, 0, CONTEXT_NONE, 2, 0}, called[] = {CONV, KERNEL, RELU, KERNEL, CONV};
  static const int64_t times[] = {1, 2, 3, 4, INT64_MAX};
  struct contexts contexts = {.most = 100};
  contexts_add(&contexts, &(struct context_spans){5, around, called, NULL, times, times, NULL, NULL, NULL, NULL});
  assert_int_equal(contexts.all.count, 5);
  assert_context(&contexts, 1, (struct context){0, KERNEL, 0, 1, 1, 2, 2, 2});
  assert_context(&contexts, 3, (struct context){2, KERNEL, 0, 3, 1, 4, 4, 4});
  assert_context(&contexts, 0, (struct context){CONTEXT_NONE, CONV, 0, 0, 1, 1, INT64_MAX, 1}); // saturated
  contexts_done(&contexts);
}

// A step calls main, which calls conv (span 1), which calls a kernel (span 3, found by its path); span 2 is in conv without a
// path of its own, span 4 in it with one; span 5 has a path and no parent.
static void frames_of_paths_lie_between(void **state)
{
  (void)state;
  enum { MAIN = 50, RELU_FRAME = 40 };
  static const uint32_t callers[] = {0, 1, 2, 1}, frames[] = {MAIN, CONV, KERNEL, RELU_FRAME};
  static const uint8_t frame_levels[] = {0, 2, 4, 2};
  static const struct context_paths paths = {callers, frames, frame_levels};
  static const uint32_t around[] = {CONTEXT_NONE, 0, 1, 1, 2, CONTEXT_NONE};
  static const uint32_t called[] = {STEP, CONV, 60, KERNEL, RELU, CONV}, path[] = {0, 2, 0, 3, 4, 2};
  static const uint8_t called_levels[] = {1, 2, 3, 4, 2, 2};
  static const int64_t times[] = {1, 2, 4, 8, 16, 32};
  const struct context_spans spans = {6, around, called, called_levels, times, times, path, &paths, NULL, NULL};
  struct contexts contexts = {.most = 100};
  contexts_add(&contexts, &spans);
  assert_int_equal(contexts.all.count, 8);
  assert_context(&contexts, 0, (struct context){CONTEXT_NONE, STEP, 1, 0, 1, 1, 31, 1});
  assert_context(&contexts, 1,
                 (struct context){0, MAIN, 0, 0, 0, 0, 30, INT64_MAX}); // no span: what its callees add up to
  assert_context(&contexts, 2, (struct context){1, CONV, 2, 1, 1, 2, 14, 2});
  assert_context(&contexts, 3, (struct context){2, 60, 3, 2, 1, 4, 4, 4});
  assert_context(&contexts, 4, (struct context){2, KERNEL, 4, 3, 1, 8, 8, 8});
  assert_context(&contexts, 5, (struct context){1, RELU, 2, 4, 1, 16, 16, 16}); // main called it, whatever it runs in
  assert_context(&contexts, 6, (struct context){CONTEXT_NONE, MAIN, 0, 0, 0, 0, 32, INT64_MAX});
  contexts_add(&contexts, &spans);
  assert_int_equal(contexts.all.count, 8);
  contexts_done(&contexts);
  contexts = (struct contexts){.most = 2}; // no room beyond main
  contexts_add(&contexts, &spans);
  assert_context(&contexts, 1, (struct context){0, MAIN, 2, 1, 4, 30, 30, 2});
  assert_int_equal(contexts.left_out, 1);
  contexts_done(&contexts);
}

static void spans_beyond_the_bound_count_above(void **state)
{
  (void)state;
  struct contexts contexts = {.most = 2};
  contexts_add(&contexts, &two_steps);
  assert_int_equal(contexts.all.count, 2);
  assert_context(&contexts, 1, (struct context){0, CONV, 2, 0, 4, 303, 303, 2});
  assert_int_equal(contexts.folded, 2);
  contexts_done(&contexts);
  contexts = (struct contexts){.most = 0};
  contexts_add(&contexts, &two_steps);
  assert_int_equal(contexts.all.count, 0);
  assert_int_equal(contexts.left_out, 6);
  contexts_done(&contexts);
}

static void circles_end_at_the_top(void **state)
{
  (void)state;
  static const uint32_t circle[] = {1, 2, 0}, itself[] = {0};
  struct contexts contexts = {.most = 100};
  contexts_add(&contexts, &(struct context_spans){3, circle, names, levels, starts, selfs, NULL, NULL, NULL, NULL});
  contexts_add(&contexts, &(struct context_spans){1, itself, names, levels, starts, selfs, NULL, NULL, NULL, NULL});
  int64_t count = 0;
  for (size_t i = 0; i < contexts.all.count; i++)
    count += contexts.all.items[i].count;
  assert_int_equal(count, 4);
  contexts_done(&contexts);
}

static void deep_chains_need_no_stack(void **state)
{
  (void)state;
  enum { DEPTH = 300000 };
  uint32_t *around = memory_new(DEPTH, sizeof *around);
  int64_t *ones = memory_new(DEPTH, sizeof *ones);
  for (uint32_t i = 0; i < DEPTH; i++) {
    around[i] = i + 1 < DEPTH ? i + 1 : CONTEXT_NONE;
    ones[i] = 1;
  }
  struct contexts contexts = {.most = UINT32_MAX - 3};
  contexts_add(&contexts, &(struct context_spans){DEPTH, around, around, NULL, ones, ones, NULL, NULL, NULL, NULL});
  assert_int_equal(contexts.all.count, DEPTH);
  assert_int_equal(contexts.all.items[0].total_ns, DEPTH);
  contexts_done(&contexts);
  free(around);
  free(ones);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_chains_share_a_context), cmocka_unit_test(one_name_in_two_places_is_two_contexts),
      cmocka_unit_test(frames_of_paths_lie_between),  cmocka_unit_test(spans_beyond_the_bound_count_above),
      cmocka_unit_test(circles_end_at_the_top),       cmocka_unit_test(deep_chains_need_no_stack),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
