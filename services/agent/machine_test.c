// SPDX-License-Identifier: Apache-2.0
#include "agent/machine.h"

#include "base/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

// A device with one port, as the kernel shows it.
static void make_device(const char *folder, const char *device, const char *rate)
{
  static const char *const places[] = {"", "/ports", "/ports/1"};
  char path[300];
  for (size_t i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s%s", folder, device, places[i]);
    mkdir(path, 0700);
  }
  snprintf(path, sizeof path, "%s/%s/ports/1/rate", folder, device);
  FILE *file = fopen(path, "we");
  assert_non_null(file);
  fprintf(file, "%s\n", rate);
  fclose(file);
}

static void test_interconnect(void **state)
{
  char folder[] = "/tmp/xsp-machine-test-XXXXXX";
  struct arena arena = {0};
  (void)state;
  assert_non_null(mkdtemp(folder));
  assert_null(machine_interconnect(folder, &arena));
  assert_null(machine_interconnect("/nowhere", &arena));
  make_device(folder, "mlx5_1", "100 Gb/sec (4X EDR)");
  make_device(folder, "mlx5_0", "400 Gb/sec (4X NDR)");
  assert_string_equal(machine_interconnect(folder, &arena), "mlx5_0: 400 Gb/sec (4X NDR), mlx5_1: 100 Gb/sec (4X EDR)");
  folder_remove_tree(folder);
  arena_done(&arena);
}

static void test_machine(void **state)
{
  struct arena arena = {0};
  struct agent_record record = {0};
  (void)state;
  assert_int_equal(machine_describe(&arena, &record, NULL), STATUS_OK);
  assert_non_null(record.architecture);
  assert_true(record.cpus > 0 && record.memory_bytes > 0);
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_interconnect), cmocka_unit_test(test_machine)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
