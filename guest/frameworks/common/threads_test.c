// SPDX-License-Identifier: Apache-2.0
// Threads by the hash that C++ gives them: the own one, another one, one that has ended, after a fork.
#include "frameworks/common/threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

size_t framework_made_own_hash(void);
size_t framework_made_thread_start(pid_t *ret_number);
void framework_made_thread_end(void);

static uint32_t find(uint64_t hash)
{
  struct pool pool = {.maximum_bytes = 1 << 20};
  struct thread_table table = framework_threads_list(&pool);
  uint32_t found = framework_threads_find(&table, hash);
  framework_pool_done(&pool);
  return found;
}

static void living_threads_are_found(void **state)
{
  pid_t number = 0;
  uint64_t hash = framework_made_thread_start(&number);
  assert_int_equal(find(framework_made_own_hash()), gettid());
  assert_int_equal(find(hash), number);
  assert_int_not_equal(number, gettid());
  assert_int_equal(find(hash + 1), 0);
  framework_made_thread_end();
  assert_int_equal(find(hash), 0);
}

// The thread that forks has another number in the child, and the same hash.
static void a_child_has_its_own_numbers(void **state)
{
  uint64_t hash = framework_made_own_hash();
  pid_t child = fork();
  if (child == 0)
    _exit(find(hash) == (uint32_t)getpid() ? 0 : 1);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void without_memory_none_is_known(void **state)
{
  struct pool pool = {.maximum_bytes = 0};
  struct thread_table table = framework_threads_list(&pool);
  assert_int_equal(framework_threads_find(&table, framework_made_own_hash()), 0);
  framework_pool_done(&pool);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(living_threads_are_found),
      cmocka_unit_test(a_child_has_its_own_numbers),
      cmocka_unit_test(without_memory_none_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
