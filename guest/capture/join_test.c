// SPDX-License-Identifier: Apache-2.0
// A tracer that its vendor's door loads: started once whatever number of threads it joins from, with the options that
// XSP_TRACERS keeps for it, stopped at exit in the process that started it.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xsp/tracer.h>

#include <cmocka.h>

#define THREADS 8

static struct shared { // seen by the parent when the child is gone
  uint32_t starts, stops;
  char label[32];
} * shared;

static int late_start(const struct xsp_host *host)
{
  const char *label = host->option(host, "label");
  snprintf(shared->label, sizeof shared->label, "%s", label != NULL ? label : "none");
  __atomic_add_fetch(&shared->starts, 1, __ATOMIC_RELAXED);
  host->say(host, "joined");
  return 0;
}

static void late_stop(void)
{
  __atomic_add_fetch(&shared->stops, 1, __ATOMIC_RELAXED);
}

static const struct xsp_tracer_option options[] = {{"label", "TEXT", "kept for it"}, {NULL, NULL, NULL}};
static const struct xsp_tracer late = {.size = sizeof late,
                                       .name = "late",
                                       .summary = "joins",
                                       .options = options,
                                       .start = late_start,
                                       .stop = late_stop};

static void *join(void *unused)
{
  return (void *)(intptr_t)xsp_tracer_join(&late);
}

// Joins from threads in a process of its own. The number of joins that failed.
static int joined(const char *tracers)
{
  char directory[] = "/tmp/xsp-join-XXXXXX", command[64];
  assert_non_null(mkdtemp(directory));
  memset(shared, 0, sizeof *shared);
  pid_t child = fork();
  if (child == 0) {
    setenv("XSP_TRACERS", tracers, 1);
    pthread_t threads[THREADS];
    int failed = xsp_attach(directory) != 0;
    for (int i = 0; i < THREADS; i++)
      failed += pthread_create(&threads[i], NULL, join, NULL) != 0;
    for (int i = 0; i < THREADS; i++) {
      void *result = NULL;
      pthread_join(threads[i], &result);
      failed += result != NULL;
    }
    if (fork() == 0)
      exit(0); // started nothing, so stops nothing
    wait(NULL);
    exit(failed);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  snprintf(command, sizeof command, "rm -rf %s", directory);
  assert_int_equal(system(command), 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_awaited(void **state)
{
  assert_int_equal(joined("@/nowhere/late.so:label=kept,@/nowhere/later.so"), 0);
  assert_int_equal(shared->starts, 1);
  assert_int_equal(shared->stops, 1);
  assert_string_equal(shared->label, "kept");
}

static void test_unknown_option(void **state)
{
  assert_int_not_equal(joined("@/nowhere/late.so:colour=red"), 0);
  assert_int_equal(shared->starts, 0);
  assert_int_equal(shared->stops, 0);
}

static void test_without_session(void **state)
{
  assert_int_equal(xsp_tracer_join(&late), -ENOENT);
  assert_int_equal(xsp_tracer_join(NULL), -EINVAL);
}

// A traced program does not wait for who has a lease on the session, which may be stopped.
static void test_leased(void **state)
{
  char directory[] = "/tmp/xsp-join-XXXXXX", name[64];
  int ready[2], status = -1;
  char given = false;
  sigset_t opened;
  sigemptyset(&opened);
  sigaddset(&opened, SIGURG);
  assert_non_null(mkdtemp(directory));
  snprintf(name, sizeof name, "%s/session", directory);
  assert_int_equal(pipe(ready), 0);
  pid_t holder = fork();
  if (holder == 0) {
    int file = open(name, O_RDWR | O_CREAT, 0600);
    sigprocmask(SIG_BLOCK, &opened, NULL);
    given = fcntl(file, F_SETSIG, SIGURG) == 0 && fcntl(file, F_SETLEASE, F_WRLCK) == 0;
    (void)!write(ready[1], &given, 1);
    _exit(!given || sigwaitinfo(&opened, NULL) != SIGURG);
  }
  assert_int_equal(read(ready[0], &given, 1), 1);
  pid_t child = fork();
  if (child == 0)
    _exit(-xsp_attach(directory));
  assert_int_equal(waitpid(child, &status, 0), child);
  kill(holder, SIGKILL);
  assert_int_equal(waitpid(holder, NULL, 0), holder);
  assert_int_equal(WEXITSTATUS(status), given ? EWOULDBLOCK : EPROTO); // some file systems of containers give none
  close(ready[0]);
  close(ready[1]);
  unlink(name);
  rmdir(directory);
}

static void *join_cancelled(void *directory)
{
  XSP_SITE(first, XSP_LEVEL_MODEL, "first");
  pthread_cancel(pthread_self());
  if (directory != NULL && xsp_attach(directory) != 0)
    return "not attached";
  struct xsp_span span = xsp_span_start(&first);
  bool is_recorded = span.start != 0;
  xsp_span_finish(&span);
  if (!is_recorded)
    return "not recorded";
  __atomic_add_fetch(&shared->starts, 1, __ATOMIC_RELAXED);
  pthread_testcancel();
  return "not cancelled";
}

// A thread is cancelled where it would be without xsp: joining and its first span are no cancellation points.
static void test_cancelled(void **state)
{
  char directory[] = "/tmp/xsp-join-XXXXXX", command[64];
  int status = -1;
  assert_non_null(mkdtemp(directory));
  memset(shared, 0, sizeof *shared);
  pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    void *first = NULL, *second = NULL;
    int failed = pthread_create(&thread, NULL, join_cancelled, directory) + pthread_join(thread, &first) +
                 pthread_create(&thread, NULL, join_cancelled, NULL) + pthread_join(thread, &second);
    _exit(failed != 0 || first != PTHREAD_CANCELED || second != PTHREAD_CANCELED);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  snprintf(command, sizeof command, "rm -rf %s", directory);
  assert_int_equal(system(command), 0);
  assert_int_equal(status, 0);
  assert_int_equal(shared->starts, 2);
}

int main(void)
{
  unsetenv("XSP_SESSION");
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_leased), // before a join has failed in this process
      cmocka_unit_test(test_without_session), cmocka_unit_test(test_cancelled),
      cmocka_unit_test(test_awaited),         cmocka_unit_test(test_unknown_option),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
