// SPDX-License-Identifier: Apache-2.0
// Unwinding equals glibc's backtrace(), through functions of all shapes: with and without a frame pointer, with a stack
// frame of varying size, aligned anew, recursive, called back from the C library, on a thread, and at its end.
#include "tracers/frames/find_object.h"
#include "tracers/frames/frames.h"
#include "tracers/frames/unwind.h"

#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 400

#if defined(__clang__)
#define OPTIMIZED(how)
#else
#define OPTIMIZED(how) __attribute__((optimize(how)))
#endif

static _Thread_local int checks;
static volatile int sink;

// Both walk from their own caller's place: the last frames are compared, from `compare` outwards.
__attribute__((noinline)) static int compare(void)
{
  void *expected[MOST];
  uintptr_t found[MOST], end = 0, last_end = 0;
  struct unwind_place place;
  UNWIND_HERE(&place);
  int count = 0, theirs = backtrace(expected, MOST);
  while (count < MOST && unwind_step(&place, &end)) {
    assert_true(end > last_end);
    last_end = end;
    found[count++] = place.pc + 1;
  }
  assert_true(theirs > 3 && theirs < MOST);
  int own = theirs - count; // backtrace's own frames: this function, and a sanitizer's
  assert_true(own == 1 || own == 2);
  for (int i = 0; i < count; i++)
    assert_int_equal(found[i], (uintptr_t)expected[own + i]);
  checks++;
  return count;
}

__attribute__((noinline)) OPTIMIZED("no-omit-frame-pointer") static int with_frame_pointer(int depth)
{
  int result = depth == 0 ? compare() : with_frame_pointer(depth - 1);
  return result + sink;
}

__attribute__((noinline)) OPTIMIZED("omit-frame-pointer") static int without_frame_pointer(int depth)
{
  int result = depth == 0 ? with_frame_pointer(2) : without_frame_pointer(depth - 1);
  return result + sink;
}

__attribute__((noinline)) static int of_varying_size(size_t size)
{
  char *block = __builtin_alloca(size);
  memset(block, 1, size);
  int result = size > 4000 ? without_frame_pointer(3) : of_varying_size(size * 3 + 8);
  return result + block[size - 1] - 1 + sink;
}

__attribute__((noinline)) static int aligned_anew(int depth)
{
  _Alignas(64) char block[192];
  memset(block, depth, sizeof block);
  int result = depth == 0 ? of_varying_size(9) : aligned_anew(depth - 1);
  return result + block[17] - depth + sink;
}

__attribute__((noinline)) static int with_both(size_t size) // aligned anew, of varying size
{
  _Alignas(32) char block[64];
  char *more = __builtin_alloca(size);
  memset(more, 1, size);
  memset(block, 2, sizeof block);
  int result = aligned_anew(2);
  return result + more[size - 1] + block[3] - 3 + sink;
}

// Arguments on the stack: the frame's end is then in memory.
__attribute__((noinline)) static int aligned_with_arguments(long a, long b, long c, long d, long e, long f, long g,
                                                            long h)
{
  _Alignas(64) char block[128];
  char *more = __builtin_alloca((size_t)(a + h));
  memset(more, 1, (size_t)(a + h));
  memset(block, (int)g, sizeof block);
  int result = b == 0 ? with_both(33) : aligned_with_arguments(a, b - 1, c, d, e, f, g, h);
  return result + block[5] - (int)g + more[0] - 1 + sink;
}

static int called_back(const void *left, const void *right)
{
  aligned_with_arguments(*(const int *)left + 50, 2, 3, 4, 5, 6, 7, 8);
  return *(const int *)left - *(const int *)right;
}

static void test_all_shapes(void **state)
{
  int numbers[] = {3, 1, 2};
  int before = checks;
  qsort(numbers, 3, sizeof *numbers, called_back);
  assert_true(checks - before >= 2);
  assert_true(without_frame_pointer(100) > 100); // and more than one page of stack
  assert_true(compare() > 3);
}

static void *on_thread(void *argument)
{
  (void)with_both(100);
  *(int *)argument = compare();
  return NULL;
}

static void test_threads(void **state)
{
  pthread_t threads[4];
  int counts[4];
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, on_thread, &counts[i]), 0);
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    assert_true(counts[i] >= 2 && counts[i] < 10); // to the thread's first function, no further
  }
}

static void test_what_is_not_code_ends_a_walk(void **state)
{
  uintptr_t end = 0, words[4] = {0};
  struct unwind_place nowhere = {0x10, (uintptr_t)words, (uintptr_t)words};
  assert_false(unwind_step(&nowhere, &end)); // in no library
  struct unwind_place data = {(uintptr_t)&checks, (uintptr_t)words, (uintptr_t)words};
  assert_false(unwind_step(&data, &end));
  struct unwind_place lost = {(uintptr_t)with_frame_pointer + 4, 64, 64}; // a stack that cannot be read
  assert_false(unwind_step(&lost, &end));
}

static int setup(void **state)
{
  return unwind_setup() ? 0 : -1;
}

int main(void)
{
  find_object_setup();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_shapes),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_what_is_not_code_ends_a_walk),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
