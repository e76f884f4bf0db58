// SPDX-License-Identifier: Apache-2.0
// The order of an agent's queue: users take turns, and a place is how often something begins until it is this one's turn.
#include "agent/queue_private.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

// One evaluation for each letter, of the user with that name.
static void add(struct queue *queue, const char *users)
{
  struct queue_job **last = &queue->first;
  while (*last != NULL)
    last = &(*last)->next;
  for (; *users != 0; users++, last = &(*last)->next) {
    const char name[] = {*users, 0};
    *last = memory_new(1, sizeof **last);
    (*last)->number = ++queue->number;
    (*last)->of = queue_user_of(queue, name);
  }
  queue_order(queue);
}

// Begins `most` of them; their users and numbers. Each place that was shown before must come true.
static void begin(struct queue *queue, size_t most, char *ret_users, uint64_t *ret_numbers)
{
  uint64_t expected[64] = {0};
  for (const struct queue_job *job = queue->first; job != NULL; job = job->next)
    expected[job->place] = job->number;
  size_t count = 0;
  for (struct queue_job *job; count < most && (job = queue_begin(queue)) != NULL; count++) {
    ret_users[count] = job->of->name[0];
    ret_numbers[count] = job->number;
    assert_int_equal(job->number, expected[count + 1]);
  }
  ret_users[count] = 0;
}

static void clear(struct queue *queue)
{
  for (struct queue_job *job = queue->first, *next; job != NULL; job = next) {
    next = job->next;
    free(job);
  }
  for (struct queue_user *user = queue->users, *next; user != NULL; user = next) {
    next = user->next;
    free(user);
  }
}

static void users_take_turns_and_each_is_first_in_first_out(void **state)
{
  (void)state;
  static const struct {
    const char *given, *begun;
  } cases[] = {
      {"", ""},       {"aaa", "aaa"},         {"aaab", "abaa"},         {"aabbcc", "abcabc"},
      {"baa", "baa"}, {"aaaabbc", "abcabaa"}, {"abababab", "abababab"}, {"ccccccccab", "cabccccccc"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct queue queue = {0};
    char begun[65];
    uint64_t numbers[64], last[128] = {0};
    add(&queue, cases[i].given);
    begin(&queue, 64, begun, numbers);
    assert_string_equal(begun, cases[i].begun);
    for (size_t k = 0; begun[k] != 0; k++) {
      assert_true(numbers[k] > last[(unsigned char)begun[k]]);
      last[(unsigned char)begun[k]] = numbers[k];
    }
    clear(&queue);
  }
}

static void who_was_served_waits_for_the_others(void **state)
{
  (void)state;
  struct queue queue = {0};
  char begun[65];
  uint64_t numbers[64];
  add(&queue, "aaa");
  begin(&queue, 2, begun, numbers);
  assert_string_equal(begun, "aa");
  add(&queue, "bba"); // b was never served
  assert_int_equal(queue.waiting, 4);
  assert_int_equal(queue_user_of(&queue, "a")->waiting, 2);
  begin(&queue, 1, begun, numbers);
  assert_string_equal(begun, "b");
  begin(&queue, 64, begun, numbers);
  assert_string_equal(begun, "aba");
  clear(&queue);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(users_take_turns_and_each_is_first_in_first_out),
      cmocka_unit_test(who_was_served_waits_for_the_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
