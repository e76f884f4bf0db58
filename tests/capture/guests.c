// SPDX-License-Identifier: Apache-2.0
// Tests only: see guests.h.
#include "tests/capture/guests.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

const char *guest, *plugin_host, *plugin;
char session[256], output[4096];
struct session_read result;

bool run_arguments(int count, char **arguments)
{
  if (count < 4)
    return false;
  guest = arguments[1], plugin_host = arguments[2], plugin = arguments[3];
  if (count > 4)
    putenv(arguments[4]);
  return true;
}

void run_child(const struct guest_run *run, int out)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL); // a test that is killed takes its guest along
  setenv("XSP_SESSION", run->folder != NULL ? run->folder : session, 1);
  for (int i = 0; i < 4 && run->environment[i] != NULL; i++)
    putenv((char *)(uintptr_t)run->environment[i]);
  if (run->file_bytes_most != 0) {
    struct rlimit limit = {run->file_bytes_most, run->file_bytes_most};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (run->address_bytes_most != 0) {
    struct rlimit limit = {run->address_bytes_most, run->address_bytes_most};
    setrlimit(RLIMIT_AS, &limit);
  }
  dup2(out, 1);
  const char *arguments[7] = {run->program != NULL ? run->program : guest};
  memcpy(arguments + 1, run->arguments, sizeof run->arguments);
  execv(arguments[0], (char *const *)(uintptr_t)arguments);
  _exit(126);
}

int run_guest(const struct guest_run *run)
{
  int ends[2], status;
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  pid_t child = fork();
  if (child == 0)
    run_child(run, ends[1]);
  close(ends[1]);
  size_t length = 0;
  ssize_t got;
  while (length < sizeof output - 1 && (got = read(ends[0], output + length, sizeof output - 1 - length)) > 0)
    length += (size_t)got;
  output[length] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void read_result(void)
{
  assert_true(session_read(session, &result));
  assert_int_equal(result.incomplete, 0);
  assert_true(ids_are_unique(&result));
}

// What tests left that were killed.
static void remove_left_overs(void)
{
  glob_t found;
  if (glob("/dev/shm/xsp-test-*", GLOB_NOSORT, NULL, &found) != 0)
    return;
  for (size_t i = 0; i < found.gl_pathc; i++) {
    const char *path = found.gl_pathv[i];
    if (kill(atoi(path + strlen("/dev/shm/xsp-test-")), 0) == 0 || errno != ESRCH)
      continue;
    (void)umount2(path, MNT_DETACH); // of tests of full file systems
    remove_folder(path);
    (void)unlink(path);
  }
  globfree(&found);
}

int run_set_up(void **state)
{
  (void)state;
  remove_left_overs();
  snprintf(session, sizeof session, "/dev/shm/xsp-test-%d", (int)getpid());
  remove_folder(session);
  return 0;
}

int run_tear_down(void **state)
{
  (void)state;
  session_read_done(&result);
  remove_folder(session);
  return 0;
}
