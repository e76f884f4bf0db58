// SPDX-License-Identifier: Apache-2.0
// The group's path in /proc/PROCESS/cgroup, of both versions; figures by key; what the process's own group shows.
#include "base/cgroup.h"
#include "base/small_file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static const char *path_of(const char *text, const char *controller)
{
  static char path[32];
  cgroup_path(text, controller, path, sizeof path);
  return path;
}

static void test_path(void **state)
{
  (void)state;
  const char *both = "4:memory:/a:b/c\n2:cpu,cpuacct:/jobs\n1:name=systemd:/x\n0::/slice\n";
  assert_string_equal(path_of(both, "memory"), "/a:b/c");
  assert_string_equal(path_of(both, "cpu"), "/jobs");
  assert_string_equal(path_of(both, "cpuacct"), "/jobs");
  assert_string_equal(path_of(both, "cpuac"), "/slice"); // part of a name is another name
  assert_string_equal(path_of(both, "pids"), "/slice");
  assert_string_equal(path_of("0::/\n", "cpu"), "/");
  assert_string_equal(path_of("0::/no/newline", "cpu"), "/no/newline");
  assert_string_equal(path_of("2:pids:/x\n", "cpu"), "");
  assert_string_equal(path_of("", "cpu"), "");
  assert_string_equal(path_of("cpu\n:\n0:cpu\n", "cpu"), "");
  assert_string_equal(path_of("0::/a/path/that/does/not/fit/into/it\n", "cpu"), "");
}

static void test_number(void **state)
{
  (void)state;
  const char *text = "usage_usec 5\nnr_throttled 17\nthrottled_usec\t2500000\nVmRSS:\t  12 kB\nnone \n";
  assert_true(small_file_number(text, "nr_throttled") == 17);
  assert_true(small_file_number(text, "throttled_usec") == 2500000);
  assert_true(small_file_number(text, "VmRSS") == 12);
  assert_true(isnan(small_file_number(text, "usec")));
  assert_true(isnan(small_file_number(text, "throttled")));
  assert_true(isnan(small_file_number(text, "none")));
}

// Whatever the machine shows: a group without files has no figures, and no figure is negative.
static void test_figures(void **state)
{
  (void)state;
  struct cgroup group, none = {"", ""};
  struct cgroup_throttling throttling;
  cgroup_throttling(&none, &throttling);
  assert_true(isnan(throttling.throttled_s) && isnan(throttling.periods));
  assert_true(isnan(cgroup_cpu_quota(&none)) && isnan(cgroup_memory_bytes(&none)));
  cgroup_find(getpid(), &group);
  cgroup_throttling(&group, &throttling);
  assert_false(throttling.throttled_s < 0 || throttling.throttled > throttling.periods);
  assert_false(cgroup_memory_bytes(&group) <= 0 || cgroup_cpu_quota(&group) <= 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_path), cmocka_unit_test(test_number),
                                     cmocka_unit_test(test_figures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
