// SPDX-License-Identifier: Apache-2.0
// A TensorFlow made by hand, in a process that forks: its allocations are announced during predictions, and in children only
// where the program wants that itself. In a child process with a session of its own.
#include "frameworks/tensorflow/hooks.h"

#include "tests/support/ring_reader.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static bool is_announced;

static void announce(void)
{
  is_announced = true;
}

static void keep(void)
{
  is_announced = false;
}

static bool announces(void)
{
  return is_announced;
}

static bool record_all(int level)
{
  return true;
}

static void *take_none(void *ret_events)
{
  return ret_events;
}

static void drop(void *events)
{
}

static const char *operation_name(void *operation)
{
  return "net/Softmax";
}

static const struct tensorflow_hooks *load(void)
{
  static const struct tensorflow_functions functions = {.operation_name = operation_name,
                                                        .record = record_all,
                                                        .take = take_none,
                                                        .drop = drop,
                                                        .announce_allocations = announce,
                                                        .keep_allocations = keep,
                                                        .announces_allocations = announces};
  char path[4096];
  snprintf(path, sizeof path, "%s/tracers/tensorflow.so", getenv("XSP_BUILD"));
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const struct tensorflow_hooks *(*find)(void) = NULL;
  if (handle == NULL)
    _exit(90);
  *(void **)&find = dlsym(handle, TENSORFLOW_HOOKS_SYMBOL);
  const struct tensorflow_hooks *hooks = find();
  hooks->start(&functions, NULL);
  return hooks;
}

static bool is_announced_in_a_child(void)
{
  int status = 0;
  pid_t child = fork();
  if (child == 0)
    _exit(is_announced);
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
    _exit(91);
  return WEXITSTATUS(status) != 0;
}

static void program(void)
{
  const struct tensorflow_hooks *hooks = load();
  struct tensorflow_call call = {.is_open = false};
  hooks->run_begins(&call, &call, &call);
  if (!is_announced)
    _exit(92);
  if (is_announced_in_a_child() || !is_announced)
    _exit(93);
  hooks->run_ended(&call, NULL, 0, true);
  if (is_announced)
    _exit(94);
  announce(); // the program itself, from here on
  if (!is_announced_in_a_child())
    _exit(95);
  call = (struct tensorflow_call){.is_open = false};
  hooks->run_begins(&call, &call, &call);
  if (!is_announced_in_a_child())
    _exit(96);
  hooks->run_ended(&call, NULL, 0, true);
  if (!is_announced)
    _exit(97);
}

static void a_forked_child_announces_no_allocations_for_us(void **state)
{
  char folder[] = "/tmp/xsp-tensorflow-fork-XXXXXX";
  assert_non_null(mkdtemp(folder));
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(600);
    setenv("XSP_SESSION", folder, 1);
    if (xsp_attach(NULL) != 0)
      _exit(99);
    program();
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  remove_folder(folder);
  assert_int_equal(status, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_forked_child_announces_no_allocations_for_us),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
