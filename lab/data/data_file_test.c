// SPDX-License-Identifier: Apache-2.0
// Data sets in one file: written and read back; a file that is cut off or changed after its index was read.
#include "data/data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/expect.h"
#include "tests/support/folder.h"

#define ITEMS 300

static void write_items(void)
{
  struct data_writer *writer = NULL;
  char name[32], label[8], bytes[600];
  OK(data_writer_open(path, true, &writer, err));
  for (int i = 0; i < ITEMS; i++) {
    snprintf(name, sizeof name, "%d/%d.bin", i % 7, i);
    snprintf(label, sizeof label, "%d", i % 7);
    memset(bytes, i, sizeof bytes);
    OK(data_writer_add(writer, name, i % 10 == 0 ? NULL : label, bytes, (size_t)(2 * i), err));
  }
  assert_int_not_equal(access(path, F_OK), 0); // its name comes last
  OK(data_writer_finish(writer, err));
  data_writer_close(writer);
}

static void test_read_back(void **state)
{
  (void)state;
  struct arena arena = {0};
  struct data_file file;
  struct buf bytes = {0};
  write_items();
  OK(data_file_open(path, &arena, &file, err));
  assert_int_equal(file.count, ITEMS);
  for (int i = ITEMS - 1; i >= 0; i--) {
    const struct data_file_item *item = &file.items[i];
    char name[32];
    snprintf(name, sizeof name, "%d/%d.bin", i % 7, i);
    assert_string_equal(item->name, name);
    assert_true(i % 10 == 0 ? item->label == NULL : item->label[0] == '0' + i % 7);
    OK(data_file_read(file.file, path, item, &bytes, err));
    assert_int_equal(bytes.length, 2 * i);
    for (size_t k = 0; k < bytes.length; k++)
      assert_int_equal((uint8_t)bytes.data[k], (uint8_t)i);
  }
  buf_done(&bytes);
  data_file_close(&file);
  arena_done(&arena);
}

static void test_changed_after_it_was_opened(void **state)
{
  (void)state;
  struct arena arena = {0};
  struct data_file file;
  struct buf bytes = {0};
  struct error problem = {0};
  write_items();
  OK(data_file_open(path, &arena, &file, err));
  FILE *other = fopen(path, "r+");
  assert_non_null(other);
  fseek(other, (long)file.items[100].offset, SEEK_SET);
  fputc('x', other);
  fclose(other);
  assert_int_equal(data_file_read(file.file, path, &file.items[100], &bytes, &problem), STATUS_INPUT);
  assert_non_null(strstr(problem.why, "CRC-32"));
  assert_int_equal(truncate(path, (off_t)file.items[200].offset + 1), 0);
  OK(data_file_read(file.file, path, &file.items[199], &bytes, err));
  for (int i = 200; i < ITEMS; i++) {
    assert_int_equal(data_file_read(file.file, path, &file.items[i], &bytes, &problem), STATUS_INPUT);
    assert_non_null(strstr(problem.why, "cut off"));
    assert_non_null(strstr(problem.where, file.items[i].name));
  }
  buf_done(&bytes);
  data_file_close(&file);
  arena_done(&arena);
}

static void test_a_writer_that_gives_up(void **state)
{
  (void)state;
  struct data_writer *writer = NULL;
  struct error problem = {0};
  OK(data_writer_open(path, false, &writer, err));
  OK(data_writer_add(writer, "a", NULL, "x", 1, err));
  assert_int_equal(data_writer_add(writer, "../a", NULL, "x", 1, &problem), STATUS_INPUT);
  data_writer_close(writer);
  assert_int_not_equal(access(path, F_OK), 0); // remove_folder shows that nothing else is left
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_read_back, clear_folder),
      cmocka_unit_test_teardown(test_changed_after_it_was_opened, clear_folder),
      cmocka_unit_test(test_a_writer_that_gives_up),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
