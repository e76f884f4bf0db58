// SPDX-License-Identifier: Apache-2.0
// Real processes: what they get, what is read of them, and how they end.
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define EXIT(code) ((code) << 8) // a wait status

// Runs a shell script to its end. Returns its wait status.
static int run_shell(struct child_command command, const char *script)
{
  struct child child;
  command.arguments = (const char *const[]){"sh", "-c", script, NULL};
  assert_int_equal(child_start(&command, &child), 0);
  assert_int_equal(child_wait(&child, -1, NULL), CHILD_ENDED);
  return child_end(&child, 0);
}

static void expect_text(struct child_text *text, const char *wanted)
{
  assert_string_equal(text->bytes != NULL ? text->bytes : "", wanted);
  free(text->bytes);
  *text = (struct child_text){.most = text->most, .is_tail = text->is_tail};
}

// ---- what it gets ----------------------------------------------------------------------------------------------------
static void test_streams(void **state)
{
  struct child_text output = {.most = 1000}, errors = {.most = 1000};
  struct child_command command = {.input = CHILD_NULL, .output_text = &output, .errors_text = &errors};
  assert_int_equal(run_shell(command, "cat; echo out; echo err >&2; exit 3"), EXIT(3));
  expect_text(&output, "out\n");
  expect_text(&errors, "err\n");
  command.errors_text = &output; // both in the order in which they were written
  assert_int_equal(run_shell(command, "echo one; echo two >&2; echo three"), 0);
  expect_text(&output, "one\ntwo\nthree\n");
}

static void test_a_stream_may_be_another_one_of_the_caller(void **state)
{
  struct child_text errors = {.most = 1000};
  int before = dup(STDERR_FILENO), ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  dup2(ends[1], STDERR_FILENO);
  int status =
      run_shell((struct child_command){.output = STDERR_FILENO, .errors_text = &errors}, "echo out; echo err >&2");
  dup2(before, STDERR_FILENO);
  char text[10] = "";
  assert_int_equal(read(ends[0], text, sizeof text - 1), 4);
  assert_int_equal(status, 0);
  assert_string_equal(text, "out\n");
  expect_text(&errors, "err\n");
  close(before);
  close(ends[0]);
  close(ends[1]);
}

static void test_environment(void **state)
{
  struct child_text output = {.most = 1000};
  setenv("CHILD_A", "1", 1);
  setenv("CHILD_AB", "2", 1);
  setenv("CHILD_C", "3", 1);
  const char *const variables[] = {"CHILD_A=x=y", "CHILD_C", "CHILD_D=", NULL};
  run_shell((struct child_command){.output_text = &output, .variables = variables},
            "echo \"$CHILD_A|$CHILD_AB|${CHILD_C-none}|${CHILD_D-none}\"");
  expect_text(&output, "x=y|2|none|\n");
  assert_string_equal(getenv("CHILD_A"), "1");
}

static void test_folder_and_descriptors(void **state)
{
  struct child_text output = {.most = 1000};
  int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), careless = dup(STDIN_FILENO);
  int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  char wanted[64], script[128];
  snprintf(script, sizeof script, "pwd; for i in %d %d; do [ -e /proc/self/fd/$i ] && echo $i; done; true", kept,
           careless);
  snprintf(wanted, sizeof wanted, "/proc\n%d\n", kept);
  run_shell((struct child_command){.output_text = &output, .folder = folder, .kept = {kept}}, script);
  expect_text(&output, wanted);
  close(folder);
  close(careless);
  close(kept);
}

static void on_signal(int number)
{
}

static void look_at_itself(const void *context)
{
  sigset_t blocked;
  struct sigaction action;
  int death = 0;
  prctl(PR_GET_PDEATHSIG, &death);
  sigprocmask(SIG_SETMASK, NULL, &blocked);
  printf("%d %d %d %d", getpgrp() == getpid(), death == SIGTERM,
         getpriority(PRIO_PROCESS, 0) == *(const int *)context + 3,
         sigismember(&blocked, SIGUSR1) || sigismember(&blocked, SIGTERM));
  static const int numbers[] = {SIGUSR2, SIGPIPE, SIGHUP};
  for (size_t i = 0; i < 3; i++) {
    sigaction(numbers[i], NULL, &action);
    printf(" %s", action.sa_handler == SIG_DFL ? "default" : action.sa_handler == SIG_IGN ? "ignored" : "handled");
  }
  fflush(stdout);
}

static void test_attributes_of_the_process(void **state)
{
  struct child child;
  struct child_text output = {.most = 1000};
  sigset_t blocked, before;
  int nice_before = getpriority(PRIO_PROCESS, 0);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  signal(SIGUSR2, on_signal);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  const struct child_command command = {.function = look_at_itself,
                                        .context = &nice_before,
                                        .output_text = &output,
                                        .has_group = true,
                                        .death_signal = SIGTERM,
                                        .nice = 3};
  fflush(NULL);
  assert_int_equal(child_start(&command, &child), 0);
  assert_int_equal(child_wait(&child, -1, NULL), CHILD_ENDED);
  assert_int_equal(child_end(&child, 0), 0);
  expect_text(&output, "1 1 1 0 default default ignored");
  sigset_t now;
  sigprocmask(SIG_SETMASK, &before, &now);
  assert_true(sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGTERM) == 0); // the caller's own is as it was
  signal(SIGUSR2, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
}

// ---- which program ---------------------------------------------------------------------------------------------------
static void test_a_program_that_cannot_run(void **state)
{
  struct child child;
  struct child_text output = {.most = 1000};
  char path[] = "/tmp/child_test_XXXXXX";
  int file = mkstemp(path);
  dprintf(file, "#!/nonexistent/interpreter\n");
  close(file);
  const struct {
    const char *program;
    mode_t mode;
    int failure;
  } cases[] = {
      {"no-program-has-this-name", 0600, ENOENT},
      {"/nonexistent/program", 0600, ENOENT},
      {path, 0600, EACCES},
      {path, 0700, ENOENT}, // its interpreter
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    chmod(path, cases[i].mode);
    const struct child_command command = {.arguments = (const char *const[]){cases[i].program, NULL},
                                          .output_text = &output};
    assert_int_equal(child_start(&command, &child), cases[i].failure);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // nothing is left
    assert_int_equal(errno, ECHILD);
  }
  unlink(path);
}

static void test_a_program_in_path(void **state)
{
  char folder[] = "/tmp/child_test_XXXXXX", program[64], path[PATH_MAX], folders[256];
  char *before = strdup(getenv("PATH"));
  assert_non_null(mkdtemp(folder));
  snprintf(program, sizeof program, "%s/program", folder);
  snprintf(folders, sizeof folders, "/nonexistent:%s:%s", folder, before);
  setenv("PATH", folders, 1);
  close(open(program, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  assert_false(child_find("program", path)); // it may not be executed
  chmod(program, 0700);
  assert_true(child_find("program", path));
  assert_string_equal(path, program);
  assert_true(child_find("./relative", path));
  assert_string_equal(path, "./relative");
  setenv("PATH", before, 1);
  unlink(program);
  rmdir(folder);
  free(before);
}

// ---- what is read ----------------------------------------------------------------------------------------------------
static void test_too_much(void **state)
{
  struct child child;
  struct child_text output = {.most = 100000};
  const struct child_command command = {
      .arguments = (const char *const[]){"sh", "-c", "while :; do echo 123456789; done", NULL}, .output_text = &output};
  assert_int_equal(child_start(&command, &child), 0);
  assert_int_equal(child_wait(&child, -1, NULL), CHILD_FULL);
  assert_true(output.length <= output.most && output.length > output.most / 2);
  assert_int_equal(child_wait(&child, -1, NULL), CHILD_ENDED); // its stream was closed
  assert_int_equal(child_end(&child, 0), SIGPIPE);
  free(output.bytes);
}

static void test_the_end_of_much(void **state)
{
  struct child_text output = {.most = 1000, .is_tail = true};
  run_shell((struct child_command){.output_text = &output},
            "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; done");
  assert_true(output.length <= 1000 && output.length >= 500);
  assert_string_equal(output.bytes + output.length - strlen("\nline 2999\nline 3000\n"), "\nline 2999\nline 3000\n");
  free(output.bytes);
}

static void test_last_line(void **state)
{
  char line[32];
  static const struct {
    const char *text, *line;
  } cases[] = {
      {"", ""}, {"\n \n", ""}, {"one", "one"}, {"one\nxsp: two: 2\n\n", "two: 2"}, {"xsp: one\ntwo \n", "two"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct slice last = child_last_line(slice_of(cases[i].text));
    assert_true(slice_is(last, cases[i].line));
    FILE *file = tmpfile();
    for (int lines = 0; lines < 1000; lines++)
      fputs("0123456789\n", file);
    fputs(cases[i].line, file);
    fflush(file);
    child_last_line_of(fileno(file), line, sizeof line);
    assert_string_equal(line, cases[i].line[0] != 0 ? cases[i].line : "0123456789");
    fclose(file);
  }
}

// ---- its end ---------------------------------------------------------------------------------------------------------
// Waits until somebody wrote a byte; false: all who could have ended.
static bool read_byte(int from)
{
  char byte;
  return read(from, &byte, 1) == 1;
}

static void wait_on(const void *context) // says that it does
{
  (void)!write(*(const int *)context, "!", 1);
  for (;;)
    pause();
}

static void refuse_to_end(const void *context)
{
  signal(SIGTERM, SIG_IGN);
  wait_on(context);
}

static void end_in_order(const void *context)
{
  sigset_t signals;
  int number;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  (void)!write(*(const int *)context, "!", 1);
  sigwait(&signals, &number);
  _exit(7);
}

static void start_function(void (*function)(const void *), const int *context, struct child *child)
{
  const struct child_command command = {
      .function = function, .context = context, .has_group = true, .death_signal = SIGKILL};
  assert_int_equal(child_start(&command, child), 0);
}

static void look_at_bare_copy(const void *context)
{
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, NULL, &blocked);
  struct sigaction action;
  sigaction(SIGUSR2, NULL, &action);
  bool is_open = (fcntl(*(const int *)context, F_GETFD) & FD_CLOEXEC) == 0; // as the caller left it
  _exit(is_open && sigismember(&blocked, SIGTERM) == 1 && action.sa_handler == on_signal ? 7 : 1);
}

static void test_a_bare_copy(void **state)
{
  struct child child;
  int file = open("/dev/null", O_RDONLY); // without O_CLOEXEC
  signal(SIGUSR2, on_signal);
  const struct child_command command = {.function = look_at_bare_copy, .context = &file, .is_bare = true};
  assert_int_equal(child_start(&command, &child), 0);
  assert_int_equal(child_wait(&child, -1, NULL), CHILD_ENDED);
  assert_int_equal(WEXITSTATUS(child_end(&child, 0)), 7);
  signal(SIGUSR2, SIG_DFL);
  close(file);
}

static void test_late_and_stopped(void **state)
{
  struct child child;
  int ends[2], stops[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  assert_int_equal(pipe2(stops, O_CLOEXEC), 0);
  start_function(wait_on, &ends[1], &child);
  const struct pollfd stop = {.fd = stops[0], .events = POLLIN};
  assert_int_equal(child_wait(&child, 0, &stop), CHILD_LATE);
  assert_int_equal(child_wait(&child, 1, &stop), CHILD_LATE);
  assert_int_equal(write(stops[1], "!", 1), 1);
  assert_int_equal(child_wait(&child, -1, &stop), CHILD_STOP);
  assert_false(child_has_ended(&child));
  assert_int_equal(child_end(&child, 0), SIGKILL);
  for (int i = 0; i < 2; i++) {
    close(ends[i]);
    close(stops[i]);
  }
}

static void test_grace(void **state)
{
  static const struct {
    void (*function)(const void *);
    int grace_ms, status;
  } cases[] = {{end_in_order, 600000, EXIT(7)}, {wait_on, 600000, SIGTERM}, {refuse_to_end, 1, SIGKILL}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct child child;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    start_function(cases[i].function, &ends[1], &child);
    assert_true(read_byte(ends[0]));
    assert_int_equal(child_end(&child, cases[i].grace_ms), cases[i].status);
    close(ends[0]);
    close(ends[1]);
  }
}

// The shell ends at once; what it leaves behind holds its stdout.
static void test_its_group_ends_with_it(void **state)
{
  struct child child;
  struct child_text output = {.most = 1000};
  int ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  struct child_command command = {.arguments = (const char *const[]){"sh", "-c", "sleep 1000 & echo begun", NULL},
                                  .output_text = &output,
                                  .kept = {ends[1]},
                                  .has_group = true};
  assert_int_equal(child_start(&command, &child), 0);
  close(ends[1]);
  assert_int_equal(child_wait(&child, -1, NULL), CHILD_ENDED);
  expect_text(&output, "begun\n");
  assert_int_equal(child_end(&child, 0), 0);
  assert_false(read_byte(ends[0])); // sleep had the other end
  close(ends[0]);
}

static void start_another(const void *context)
{
  struct child child;
  const struct child_command command = {.function = wait_on, .context = context, .death_signal = SIGKILL};
  if (child_start(&command, &child) == 0)
    (void)child_wait(&child, -1, NULL);
}

static void test_it_ends_with_who_started_it(void **state)
{
  struct child middle;
  int ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  const struct child_command command = {.function = start_another, .context = &ends[1]};
  assert_int_equal(child_start(&command, &middle), 0);
  close(ends[1]);
  assert_true(read_byte(ends[0])); // of the last one
  assert_int_equal(child_end(&middle, 0), SIGKILL);
  assert_false(read_byte(ends[0]));
  close(ends[0]);
}

static void test_a_status_that_somebody_else_has(void **state)
{
  struct child child;
  signal(SIGCHLD, SIG_IGN);
  assert_int_equal(child_start(&(struct child_command){.arguments = (const char *const[]){"true", NULL}}, &child), 0);
  assert_int_equal(child_wait(&child, -1, NULL), CHILD_ENDED);
  assert_int_equal(child_end(&child, 1000), -1);
  signal(SIGCHLD, SIG_DFL);
}

// ---- threads ---------------------------------------------------------------------------------------------------------
static void *start_many(void *context)
{
  char script[64], wanted[32];
  snprintf(wanted, sizeof wanted, "%p\n", context);
  snprintf(script, sizeof script, "echo %p", context);
  for (int i = 0; i < 30; i++) {
    struct child child;
    struct child_text output = {.most = 1000};
    const struct child_command command = {.arguments = (const char *const[]){"sh", "-c", script, NULL},
                                          .output_text = &output};
    bool is_right = child_start(&command, &child) == 0 && child_wait(&child, -1, NULL) == CHILD_ENDED &&
                    child_end(&child, 0) == 0 && output.bytes != NULL && strcmp(output.bytes, wanted) == 0;
    free(output.bytes);
    if (!is_right)
      return context;
  }
  return NULL;
}

static void test_threads(void **state)
{
  pthread_t threads[4];
  char names[4];
  for (size_t i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, start_many, &names[i]), 0);
  for (size_t i = 0; i < 4; i++) {
    void *wrong = NULL;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_streams),
      cmocka_unit_test(test_a_stream_may_be_another_one_of_the_caller),
      cmocka_unit_test(test_environment),
      cmocka_unit_test(test_folder_and_descriptors),
      cmocka_unit_test(test_attributes_of_the_process),
      cmocka_unit_test(test_a_program_that_cannot_run),
      cmocka_unit_test(test_a_program_in_path),
      cmocka_unit_test(test_too_much),
      cmocka_unit_test(test_the_end_of_much),
      cmocka_unit_test(test_last_line),
      cmocka_unit_test(test_a_bare_copy),
      cmocka_unit_test(test_late_and_stopped),
      cmocka_unit_test(test_grace),
      cmocka_unit_test(test_its_group_ends_with_it),
      cmocka_unit_test(test_it_ends_with_who_started_it),
      cmocka_unit_test(test_a_status_that_somebody_else_has),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
