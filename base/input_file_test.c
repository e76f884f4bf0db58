// SPDX-License-Identifier: Apache-2.0
// Input files: what is refused at once, and a pipe that is waited for.
#include "base/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/xsp-input-file-XXXXXX";
static char pipe_path[64], file_path[64], link_path[64];

static int make_files(void **state)
{
  (void)state;
  alarm(240); // an open that waits would wait for ever
  if (mkdtemp(folder) == NULL)
    return -1;
  snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
  snprintf(file_path, sizeof file_path, "%s/file", folder);
  snprintf(link_path, sizeof link_path, "%s/link", folder);
  int file = open(file_path, O_WRONLY | O_CREAT, 0600);
  return file >= 0 && close(file) == 0 && mkfifo(pipe_path, 0600) == 0 && symlink("file", link_path) == 0 ? 0 : -1;
}

static int remove_files(void **state)
{
  (void)state;
  unlink(pipe_path);
  unlink(file_path);
  unlink(link_path);
  return rmdir(folder);
}

static void expect_refused(const char *path, enum input_file_kind kind, const char *word)
{
  struct error err = {0};
  struct stat facts;
  int file = 0;
  assert_int_equal(input_file_open(path, kind, "cannot test", &file, &facts, &err), STATUS_INPUT);
  assert_int_equal(file, -1);
  assert_string_equal(err.what, "cannot test");
  if (strstr(err.why, word) == NULL)
    fail_msg("%s: \"%s\" instead of \"%s\"", path, err.why, word);
}

static void test_kinds(void **state)
{
  (void)state;
  struct stat facts;
  int file = -1;
  expect_refused("/nonexistent", INPUT_FILE_OR_PIPE, "No such file");
  expect_refused(folder, INPUT_FILE_OR_PIPE, "it is a directory");
  expect_refused("/dev/zero", INPUT_FILE_OR_PIPE, "it is a device");
  expect_refused(pipe_path, INPUT_FILE_REGULAR, "it is a pipe");
  assert_int_equal(input_file_open(link_path, INPUT_FILE_REGULAR, "", &file, &facts, NULL), STATUS_OK);
  close(file);
}

// A writer that comes after the reader, and one that is gone again by the first read.
static void test_a_pipe_is_waited_for(void **state)
{
  (void)state;
  pid_t child = fork();
  if (child == 0) {
    int to = open(pipe_path, O_WRONLY);
    _exit(to >= 0 && write(to, "abc", 3) == 3 ? 0 : 1);
  }
  struct stat facts;
  int file = -1, status = 0;
  char text[8] = "";
  assert_int_equal(input_file_open(pipe_path, INPUT_FILE_OR_PIPE, "", &file, &facts, NULL), STATUS_OK);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(read(file, text, sizeof text), 3);
  assert_string_equal(text, "abc");
  assert_int_equal(read(file, text, sizeof text), 0);
  close(file);
}

static void expect_no_file(int at, const char *name, int error)
{
  struct stat facts;
  assert_int_equal(regular_file_open(at, name, O_RDONLY, &facts), -1);
  assert_int_equal(errno, error);
}

static void test_files_of_a_folder(void **state)
{
  (void)state;
  struct stat facts;
  int at = open(folder, O_PATH | O_DIRECTORY), file = regular_file_open(at, "file", O_RDWR, &facts);
  assert_true(file >= 0);
  close(file);
  expect_no_file(at, "link", ELOOP);
  expect_no_file(at, "pipe", EINVAL);
  expect_no_file(at, ".", EINVAL);
  expect_no_file(at, "nothing", ENOENT);
  close(at);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_a_pipe_is_waited_for),
      cmocka_unit_test(test_files_of_a_folder),
  };
  return cmocka_run_group_tests(tests, make_files, remove_files);
}
