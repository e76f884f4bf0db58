// SPDX-License-Identifier: Apache-2.0
// Which layer what this thread allocates belongs to: the innermost one around it, on its own thread.
#include "frameworks/tensorflow/allocations.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

enum { OUTER, INNER, OTHER_THREAD, LATER, NO_THREAD, LAYERS };

#define POOL_BYTES ((size_t)1 << 20)

static void allocations_go_to_the_innermost_layer(void **state)
{
  uint64_t now_ns = clock_now_ns(CLOCK_REALTIME), second = 1000000000;
  uint32_t thread = (uint32_t)gettid();
  struct layer_report layers[LAYERS] = {
      [OUTER] = {.start_ns = now_ns - 3 * second, .duration_ns = 1000 * second, .thread_id = thread},
      [INNER] = {.start_ns = now_ns - 2 * second, .duration_ns = 900 * second, .thread_id = thread, .alloc_bytes = 5},
      [OTHER_THREAD] = {.start_ns = now_ns - second, .duration_ns = 800 * second, .thread_id = thread + 1},
      [LATER] = {.start_ns = now_ns + 700 * second, .duration_ns = second, .thread_id = thread},
      [NO_THREAD] = {.start_ns = now_ns + 701 * second, .duration_ns = second},
  };
  tensorflow_allocations_note(1); // before a prediction
  tensorflow_allocations_begin();
  tensorflow_allocations_note(100);
  tensorflow_allocations_note(1000);
  tensorflow_allocations_end();
  tensorflow_allocations_note(1); // after it
  struct pool pool = {.maximum_bytes = POOL_BYTES};
  tensorflow_allocations_add(layers, LAYERS, &pool);
  framework_pool_done(&pool);
  assert_int_equal(layers[OUTER].alloc_bytes, 0);
  assert_int_equal(layers[INNER].alloc_bytes, 1105);
  assert_int_equal(layers[OTHER_THREAD].alloc_bytes, 0);
  assert_int_equal(layers[LATER].alloc_bytes, 0);
  assert_int_equal(layers[NO_THREAD].alloc_bytes, -1);
}

static void more_than_is_kept_is_unknown(void **state)
{
  struct layer_report layer = {.start_ns = 1, .duration_ns = 1, .thread_id = (uint32_t)gettid()};
  tensorflow_allocations_begin();
  for (size_t i = 0; i <= (size_t)1 << 17; i++)
    tensorflow_allocations_note(1);
  tensorflow_allocations_end();
  struct pool pool = {.maximum_bytes = POOL_BYTES};
  tensorflow_allocations_add(&layer, 1, &pool);
  framework_pool_done(&pool);
  assert_int_equal(layer.alloc_bytes, -1);
}

// However many layers have begun meanwhile, in it and on other threads.
static void allocations_after_many_layers_go_to_the_open_one(void **state)
{
  enum { MANY = 1000 };
  static struct layer_report layers[2 * MANY + 1];
  uint64_t now_ns = clock_now_ns(CLOCK_REALTIME), second = 1000000000;
  uint32_t thread = (uint32_t)gettid();
  layers[0] = (struct layer_report){.start_ns = now_ns - 9 * second, .duration_ns = 1000 * second, .thread_id = thread};
  for (size_t i = 1; i < 2 * MANY; i += 2) {
    layers[i] = (struct layer_report){.start_ns = now_ns - 8 * second + i, .thread_id = thread};
    layers[i + 1] = (struct layer_report){
        .start_ns = now_ns - 8 * second + i, .duration_ns = 900 * second, .thread_id = thread + 1};
  }
  tensorflow_allocations_begin();
  tensorflow_allocations_note(100);
  tensorflow_allocations_end();
  struct pool pool = {.maximum_bytes = POOL_BYTES};
  tensorflow_allocations_add(layers, 2 * MANY + 1, &pool);
  framework_pool_done(&pool);
  assert_int_equal(layers[0].alloc_bytes, 100);
  for (size_t i = 1; i <= 2 * (size_t)MANY; i++)
    assert_int_equal(layers[i].alloc_bytes, 0);
}

static void without_memory_all_is_unknown(void **state)
{
  struct layer_report layer = {.start_ns = 1, .duration_ns = 1, .thread_id = (uint32_t)gettid()};
  struct pool pool = {.maximum_bytes = 0};
  tensorflow_allocations_begin();
  tensorflow_allocations_end();
  tensorflow_allocations_add(&layer, 1, &pool);
  assert_int_equal(layer.alloc_bytes, -1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(allocations_go_to_the_innermost_layer),
      cmocka_unit_test(more_than_is_kept_is_unknown),
      cmocka_unit_test(allocations_after_many_layers_go_to_the_open_one),
      cmocka_unit_test(without_memory_all_is_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
