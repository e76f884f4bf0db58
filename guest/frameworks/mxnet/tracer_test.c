// SPDX-License-Identifier: Apache-2.0
// An MXNet made by hand, in a program that forks while threads of it free a model or predict. In a child process with a session of its
// own.
#include "frameworks/mxnet/hooks.h"

#include "tests/support/ring_reader.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char first[64], second[64]; // models' handles
static const struct mxnet_hooks *mxnet;
static bool forks; // with the tracer's lock
static int status = -1;
static unsigned times_off; // the profiler

static int version(int *ret_version)
{
  *ret_version = 10901;
  return 0;
}

static int list_arguments(void *symbol, uint32_t *ret_count, const char ***ret_names)
{
  static const char *names[] = {"net_conv_weight"};
  *ret_count = 1;
  *ret_names = names;
  return 0;
}

static int save(void *symbol, const char **ret_json)
{
  return -1;
}

static int configure(int count, const char *const *keys, const char *const *values, void *store)
{
  return 0;
}

static int switch_profiler(int is_on, int of_server, void *store)
{
  times_off += is_on == 0;
  return 0;
}

static int dump(int is_last, int of_server, void *store)
{
  return -1;
}

static void load(void)
{
  static const struct mxnet_functions functions = {.GetVersion = version,
                                                   .SymbolListArguments = list_arguments,
                                                   .SymbolSaveToJSON = save,
                                                   .SetProcessProfilerConfig = configure,
                                                   .SetProcessProfilerState = switch_profiler,
                                                   .DumpProcessProfile = dump};
  char path[4096];
  snprintf(path, sizeof path, "%s/tracers/mxnet.so", getenv("XSP_BUILD"));
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const struct mxnet_hooks *(*find)(void) = NULL;
  if (library == NULL)
    _exit(90);
  *(void **)&find = dlsym(library, MXNET_HOOKS_SYMBOL);
  mxnet = find();
  mxnet->start(&functions, NULL, NULL);
}

static void child_of_fork(void)
{
  alarm(60);
  mxnet->freed(second);
  mxnet->made(MXNET_CACHED_OP, second, second, NULL);
  mxnet->freed(second);
  _exit(0);
}

// Hides libc's from mxnet.so: the fork comes from a thread that is about to give up the lock.
__attribute__((visibility("default"))) int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
  if (forks) {
    forks = false;
    pid_t child = fork();
    if (child == 0)
      child_of_fork();
    if (waitpid(child, &status, 0) != child)
      _exit(91);
  }
  int (*next)(pthread_mutex_t *) = NULL;
  *(void **)&next = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
  return next(mutex);
}

static void frees_while_it_forks(void)
{
  mxnet->made(MXNET_CACHED_OP, first, first, NULL);
  mxnet->made(MXNET_CACHED_OP, second, second, NULL);
  forks = true;
  mxnet->freed(first);
  _exit(forks ? 92 : status == 0 ? 0 : 93);
}

static void *begin(void *unused)
{
  mxnet->forward_begins(MXNET_CACHED_OP, first);
  return NULL;
}

static void predicts_while_it_forks(void)
{
  pthread_t thread;
  mxnet->made(MXNET_CACHED_OP, first, first, NULL);
  if (pthread_create(&thread, NULL, begin, NULL) != 0 || pthread_join(thread, NULL) != 0)
    _exit(94);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 300; i++) {
      mxnet->forward_begins(MXNET_CACHED_OP, first);
      mxnet->results_read();
    }
    _exit(times_off == 0);
  }
  if (waitpid(child, &status, 0) != child)
    _exit(95);
  _exit(status == 0 ? 0 : 96);
}

static int run(void (*program)(void))
{
  char folder[] = "/tmp/xsp-mxnet-fork-XXXXXX";
  int ended = -1;
  assert_non_null(mkdtemp(folder));
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    setenv("XSP_SESSION", folder, 1);
    if (xsp_attach(NULL) != 0)
      _exit(99);
    load();
    program();
  }
  assert_int_equal(waitpid(child, &ended, 0), child);
  remove_folder(folder);
  return ended;
}

static void a_forked_child_does_not_wait_for_a_lock_of_its_parent(void **state)
{
  assert_int_equal(run(frees_while_it_forks), 0);
}

static void a_forked_child_reads_its_layers(void **state)
{
  assert_int_equal(run(predicts_while_it_forks), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_forked_child_does_not_wait_for_a_lock_of_its_parent),
      cmocka_unit_test(a_forked_child_reads_its_layers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
