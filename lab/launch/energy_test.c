// SPDX-License-Identifier: Apache-2.0
// Meters of energy in a folder that looks like powercap's: which count, what they are called, and that they begin anew.
#include "launch/energy.h"

#include "base/folder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

static char folder[] = "/tmp/xsp-energy-XXXXXX";

static void write_file(const char *zone, const char *name, const char *text)
{
  char path[128];
  snprintf(path, sizeof path, "%s/%s/%s", folder, zone, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static void add_zone(const char *zone, const char *name, const char *energy, const char *wraps)
{
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, zone);
  assert_int_equal(mkdir(path, 0700), 0);
  write_file(zone, "name", name);
  write_file(zone, "energy_uj", energy);
  write_file(zone, "max_energy_range_uj", wraps);
}

static void test_zones(void **state)
{
  (void)state;
  struct energy energy;
  add_zone("intel-rapl:1", "package-1\n", "5\n", "1000000\n");
  add_zone("intel-rapl:0", "package-0\n", "999999\n", "1000000\n");
  add_zone("intel-rapl:0:0", "dram\n", "7\n", "1000000\n");
  add_zone("intel-rapl-mmio:0", "package-0\n", "3\n", "1000000\n");
  add_zone("intel-rapl:2", "package-2\n", "", "1000000\n"); // shown, but not to us
  energy_find(folder, &energy);
  assert_int_equal(energy.count, 3);
  assert_string_equal(energy.zones[0].name, "package-0");
  assert_string_equal(energy.zones[1].name, "dram-0");
  assert_string_equal(energy.zones[2].name, "package-1");
  assert_true(energy_read(&energy.zones[0]) == 0);
  write_file("intel-rapl:0", "energy_uj", "499999\n"); // past its end
  assert_true(fabs(energy_read(&energy.zones[0]) - 0.5) < 1e-9);
  write_file("intel-rapl:0", "energy_uj", "749999\n");
  assert_true(fabs(energy_read(&energy.zones[0]) - 0.75) < 1e-9);
  write_file("intel-rapl:0", "energy_uj", "");
  assert_true(isnan(energy_read(&energy.zones[0])));
}

static void test_none(void **state)
{
  (void)state;
  struct energy energy;
  energy_find("/nowhere", &energy);
  assert_int_equal(energy.count, 0);
}

static int make(void **state)
{
  (void)state;
  return mkdtemp(folder) == NULL ? -1 : 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_none), cmocka_unit_test(test_zones)};
  int failed = cmocka_run_group_tests(tests, make, NULL);
  folder_remove_tree(folder);
  return failed;
}
