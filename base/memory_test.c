// SPDX-License-Identifier: Apache-2.0
// Allocation that ends the process instead of failing: how it ends is observed on a child.
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TOO_MUCH ((size_t)1 << 60)

// Sanitizers end the process themselves by default.
__attribute__((visibility("default"))) const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__asan_default_options(void)
{
  return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void)
{
  return "allocator_may_return_null=1";
}

static void gives_memory(void **state)
{
  (void)state;
  uint32_t *numbers = memory_new(1000, sizeof *numbers);
  for (size_t i = 0; i < 1000; i++)
    assert_int_equal(numbers[i], 0);
  numbers[999] = 7;
  numbers = memory_resize(numbers, 2000, sizeof *numbers);
  assert_int_equal(numbers[999], 7);
  free(numbers);
  free(memory_new(0, 8));
  free(memory_resize(memory_resize(NULL, 3, 1), 0, 1));
}

static void copies_texts(void **state)
{
  (void)state;
  char *text = memory_text("layer");
  assert_string_equal(text, "layer");
  free(text);
  text = memory_text_of("a\0b-", 3);
  assert_memory_equal(text, "a\0b", 4);
  free(text);
}

static void write_mark(void)
{
  (void)!write(STDERR_FILENO, "cleaned ", 8);
}

static void exhaust_by_new(void)
{
  memory_new(TOO_MUCH, 1);
}

static void exhaust_by_resize(void)
{
  memory_resize(NULL, TOO_MUCH, 1);
}

static void exhaust_by_overflow(void)
{
  memory_resize(NULL, TOO_MUCH, TOO_MUCH);
}

// The exit status of a child that runs `exhaust`, and what it wrote to stderr.
static int end_of_child(void (*exhaust)(void), char *text, size_t size)
{
  int ends[2], status = 0;
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    memory_on_exhausted(write_mark);
    exhaust();
    _exit(0);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got = 1; got > 0 && length + 1 < size; length += got > 0 ? (size_t)got : 0)
    got = read(ends[0], text + length, size - 1 - length);
  text[length] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void ends_the_process_when_exhausted(void **state)
{
  (void)state;
  void (*const ways[])(void) = {exhaust_by_new, exhaust_by_resize, exhaust_by_overflow};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    char text[1024];
    assert_int_equal(end_of_child(ways[i], text, sizeof text), 3);
    const char *line = strstr(text, "cleaned xsp: out of memory");
    assert_non_null(line);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1); // one line
    assert_non_null(strstr(line, "; try: "));
  }
}

static jmp_buf outside;

static void leave(void)
{
  longjmp(outside, 1);
}

static void a_way_out_leaves_the_process_alive(void **state)
{
  (void)state;
  memory_set_escape(leave);
  volatile int times = 0;
  if (setjmp(outside) != 0)
    times = times + 1;
  if (times < 2) // the way stays open
    memory_new(TOO_MUCH, 1);
  memory_set_escape(NULL);
  assert_int_equal(times, 2);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gives_memory),
      cmocka_unit_test(copies_texts),
      cmocka_unit_test(ends_the_process_when_exhausted),
      cmocka_unit_test(a_way_out_leaves_the_process_alive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
