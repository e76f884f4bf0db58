// SPDX-License-Identifier: Apache-2.0
// Frequencies and times in files that look like the kernel's, and where there are none.
#include "launch/processors.h"

#include "base/folder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/xsp-processors-XXXXXX";

static const char *path_of(const char *name)
{
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void write_file(const char *name, const char *text)
{
  FILE *file = fopen(path_of(name), "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static void test_times(void **state)
{
  (void)state;
  double steal_ns = 0, busy_ns = 0, tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
  write_file("stat", "cpu  100 20 30 5000 40 5 6 700 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0\nintr 1\n");
  assert_true(processors_times(path_of("stat"), &steal_ns, &busy_ns));
  assert_true(fabs(steal_ns - 700 * tick_ns) < 1);
  assert_true(fabs(busy_ns - 161 * tick_ns) < 1); // without idle, waiting for disks, and guests, who are in user time
  write_file("stat", "cpu  100 20 30 5000 40 5 6\n"); // Linux before 2.6.11
  assert_false(processors_times(path_of("stat"), &steal_ns, &busy_ns));
  assert_false(processors_times(path_of("none"), &steal_ns, &busy_ns));
}

static void test_frequencies(void **state)
{
  (void)state;
  assert_true(isnan(processors_frequency_hz(folder)));
  for (char cpu = '0'; cpu <= '2'; cpu += 2) { // 1 is offline
    const char name[] = {'c', 'p', 'u', cpu, '\0'};
    char below[32];
    assert_int_equal(mkdir(path_of(name), 0700), 0);
    snprintf(below, sizeof below, "%s/cpufreq", name);
    assert_int_equal(mkdir(path_of(below), 0700), 0);
    snprintf(below, sizeof below, "%s/cpufreq/scaling_cur_freq", name);
    write_file(below, cpu == '0' ? "2400000\n" : "3600000\n");
  }
  assert_true(fabs(processors_frequency_hz(folder) - 3e9) < 1);
}

static int make(void **state)
{
  (void)state;
  return mkdtemp(folder) == NULL ? -1 : 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_times), cmocka_unit_test(test_frequencies)};
  int failed = cmocka_run_group_tests(tests, make, NULL);
  folder_remove_tree(folder);
  return failed;
}
