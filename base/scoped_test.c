// SPDX-License-Identifier: Apache-2.0
// Files and locks end with their block, and errno stays.
#include "base/scoped.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is_open(int file)
{
  return fcntl(file, F_GETFD) >= 0;
}

static int use(int *ret_file, int *ret_folder, int *ret_stream)
{
  int file SCOPED(scoped_close) = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int none SCOPED(scoped_close) = -1;
  DIR *folder SCOPED(scoped_closedir) = opendir("/");
  FILE *stream SCOPED(scoped_fclose) = fopen("/dev/null", "re");
  {
    DIR *no_folder SCOPED(scoped_closedir) = NULL;
    FILE *no_stream SCOPED(scoped_fclose) = NULL;
    assert_true(no_folder == NULL && no_stream == NULL);
  }
  *ret_file = file;
  *ret_folder = dirfd(folder);
  *ret_stream = fileno(stream);
  assert_true(is_open(file) && is_open(*ret_folder) && is_open(*ret_stream));
  errno = EXDEV;
  return none;
}

static void files_are_closed(void **state)
{
  (void)state;
  int file, folder, stream;
  assert_int_equal(use(&file, &folder, &stream), -1);
  assert_int_equal(errno, EXDEV);
  assert_false(is_open(file) || is_open(folder) || is_open(stream));
}

static void a_lock_is_held_until_the_end_of_its_block(void **state)
{
  (void)state;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  for (int i = 0; i < 2; i++) {
    SCOPED_LOCK(&lock);
    assert_int_equal(pthread_mutex_trylock(&lock), EBUSY);
  }
  assert_int_equal(pthread_mutex_trylock(&lock), 0);
  pthread_mutex_unlock(&lock);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_are_closed),
      cmocka_unit_test(a_lock_is_held_until_the_end_of_its_block),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
