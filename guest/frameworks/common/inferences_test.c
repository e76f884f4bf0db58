// SPDX-License-Identifier: Apache-2.0
// The list of inferences whose layers are held back: it grows, keeps what it was given, and frees it.
#include "frameworks/common/inferences.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void it_grows_and_is_used_again(void **state)
{
  struct inferences inferences = {0};
  for (unsigned round = 0; round < 2; round++) {
    for (uint64_t i = 0; i < 1000; i++) {
      struct inference inference = {
          .model = {1, (uint32_t)i + 1}, .start_ns = i, .durations_ns = i % 2 ? malloc(8) : NULL};
      *vector_add(&inferences) = inference;
    }
    assert_int_equal(inferences.count, 1000);
    for (uint64_t i = 0; i < 1000; i++)
      assert_true(inferences.items[i].model.id == i + 1 && inferences.items[i].start_ns == i);
    inferences_clear(&inferences);
    assert_int_equal(inferences.count, 0);
  }
  vector_add(&inferences)->durations_ns = malloc(8);
  inferences_free(&inferences);
  assert_null(inferences.items);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(it_grows_and_is_used_again)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
