// SPDX-License-Identifier: Apache-2.0
// <xsp/read.h>, by the shared library as its users load it: tables, the tree, analyses, errors, threads, exhausted memory.
#include "report/report.h"
#include "tests/support/folder.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xsp/read.h>
#include <xsp/span.h>

#include <cmocka.h>

static uint32_t text(struct store *store, const char *string)
{
  return store_string(store, string, strlen(string));
}

// Two predictions; in each a layer, in it a launch whose kernel runs on a device.
static void make_file(struct store *store)
{
  struct error err = {0};
  struct store_run run = {.run_id = 7, .experiment_id = 1, .batch_size = 2, .own_pct = 0.0 / 0.0};
  run.levels.mask =
      XSP_LEVEL_MASK(XSP_LEVEL_MODEL) | XSP_LEVEL_MASK(XSP_LEVEL_LAYER) | XSP_LEVEL_MASK(XSP_LEVEL_KERNEL);
  assert_int_equal(store_add_experiment(store, &(struct store_experiment){.experiment_id = 1, .name = "e"}, &err), 0);
  assert_int_equal(store_add_run(store, &run, &err), STATUS_OK);
  for (int64_t track = 1; track <= 2; track++)
    assert_int_equal(store_add_track(store,
                                     &(struct store_track){.run_id = 7,
                                                           .track_id = track,
                                                           .process_id = 1,
                                                           .thread_id = track == 1 ? 1 : STORE_NONE,
                                                           .device_id = track == 1 ? STORE_NONE : 0,
                                                           .stream_id = STORE_NONE},
                                     &err),
                     STATUS_OK);
  for (int64_t i = 0; i < 2; i++) {
    int64_t id = 4 * i + 1, start = 10000 * i;
    const struct store_span spans[] = {
        {.span_id = id, .start_ns = start, .duration_ns = 9000, .track_id = 1, .level = 1, .name = text(store, "net")},
        {.span_id = id + 1,
         .start_ns = start + 10,
         .duration_ns = 800,
         .track_id = 1,
         .level = 2,
         .name = text(store, "conv")},
        {.span_id = id + 2,
         .start_ns = start + 20,
         .duration_ns = 100,
         .track_id = 1,
         .level = 4,
         .kind = XSP_KIND_LAUNCH,
         .correlation_id = i + 1,
         .name = text(store, "cudaLaunchKernel"),
         .category = text(store, "api")},
        {.span_id = id + 3,
         .start_ns = start + 500,
         .duration_ns = 3000,
         .track_id = 2,
         .level = 4,
         .kind = XSP_KIND_EXECUTION,
         .correlation_id = i + 1,
         .name = text(store, "gemm"),
         .category = text(store, "kernel")}};
    assert_int_equal(store_add_spans(store, 7, spans, 4, &err), STATUS_OK);
  }
  assert_int_equal(correlate_store(store, &err), STATUS_OK);
  assert_int_equal(store_finish(store, &err), STATUS_OK);
}

static int set_up(void **state)
{
  struct store *store = NULL;
  if (make_folder(state) != 0 || store_create(path, false, &store, NULL) != STATUS_OK)
    return -1;
  make_file(store);
  store_close(store);
  return 0;
}

static struct xsp_read_file *open_file(void)
{
  struct xsp_read_file *file = NULL;
  assert_int_equal(xsp_read_open(path, &file), XSP_READ_OK);
  assert_non_null(file);
  assert_string_equal(xsp_read_error(), "");
  return file;
}

static struct xsp_read_column column(const struct xsp_read_table *table, const char *name)
{
  struct xsp_read_column found = {.size = sizeof found};
  for (size_t i = 0; i < xsp_read_column_count(table); i++) {
    assert_int_equal(xsp_read_table_column(table, i, &found), XSP_READ_OK);
    if (strcmp(found.name, name) == 0)
      return found;
  }
  fail_msg("there is no column %s", name);
  return found;
}

static int64_t integer(const struct xsp_read_table *table, const char *name, size_t row)
{
  return ((const int64_t *)column(table, name).values)[row];
}

static void assert_text(const struct xsp_read_table *table, const char *name, size_t row, const char *expected)
{
  const char *bytes;
  const int64_t *offsets;
  size_t count = xsp_read_texts(table, &bytes, &offsets);
  int64_t number = integer(table, name, row);
  assert_true((size_t)number < count);
  assert_int_equal(offsets[number + 1] - offsets[number], strlen(expected));
  assert_memory_equal(bytes + offsets[number], expected, strlen(expected));
}

static void a_query_gives_typed_columns(void **state)
{
  (void)state;
  struct xsp_read_file *file = open_file();
  struct xsp_read_table *table = NULL;
  static const char sql[] =
      "select 3 as i, 2.5 as r, 'abc' as t, x'0001' as b, null as n, column1 as m from (values (1), (null), ('abc'))";
  assert_int_equal(xsp_read_query(file, sql, &table), XSP_READ_OK);
  xsp_read_close(file); // the table lives on
  assert_int_equal(xsp_read_row_count(table), 3);
  static const uint32_t types[] = {XSP_READ_INTEGER, XSP_READ_REAL, XSP_READ_TEXT,
                                   XSP_READ_BLOB,    XSP_READ_NULL, XSP_READ_MIXED};
  for (size_t i = 0; i < 6; i++) {
    struct xsp_read_column found = {.size = sizeof found};
    assert_int_equal(xsp_read_table_column(table, i, &found), XSP_READ_OK);
    assert_int_equal(found.type, types[i]);
    assert_int_equal(found.null_count, i == 4 ? 3 : i == 5 ? 1 : 0);
  }
  assert_int_equal(integer(table, "i", 2), 3);
  assert_true(((const double *)column(table, "r").values)[1] == 2.5);
  assert_text(table, "t", 0, "abc");
  assert_int_equal(integer(table, "m", 2), integer(table, "t", 2)); // equal texts have one number
  assert_int_equal(column(table, "m").types[1], XSP_READ_NULL);
  struct xsp_read_column found = {.size = sizeof found};
  assert_int_equal(xsp_read_table_column(table, 6, &found), XSP_READ_USE);
  xsp_read_free_table(table);
}

// Of the struct's first version, which is 40 bytes, and of a later one that this library does not know.
static void columns_are_of_the_callers_version(void **state)
{
  (void)state;
  struct xsp_read_file *file = open_file();
  struct xsp_read_table *table = NULL;
  assert_int_equal(xsp_read_query(file, "select 3 as i", &table), XSP_READ_OK);
  xsp_read_close(file);
  struct {
    struct xsp_read_column column;
    uint64_t later[2];
  } room;
  for (uint32_t size = 0; size <= sizeof room; size += 8) {
    memset(&room, 0x55, sizeof room);
    room.column.size = size;
    assert_int_equal(xsp_read_table_column(table, 0, &room.column), size < 40 ? XSP_READ_USE : XSP_READ_OK);
    assert_int_equal(room.column.size, size < 40 ? size : 40);
    assert_int_equal(room.column.type, size < 40 ? 0x55555555 : XSP_READ_INTEGER);
    assert_true(room.later[0] == UINT64_C(0x5555555555555555));
  }
  xsp_read_free_table(table);
}

static void the_tree_has_times_of_host_and_device(void **state)
{
  (void)state;
  struct xsp_read_file *file = open_file();
  struct xsp_read_table *table = NULL;
  assert_int_equal(xsp_read_tree(file, 7, &table), XSP_READ_OK);
  assert_int_equal(xsp_read_row_count(table), 4);
  assert_text(table, "name", 0, "net");
  assert_int_equal(integer(table, "time_ns", 0), 6000);
  assert_int_equal(integer(table, "device_ns", 0), 6000);
  assert_int_equal(integer(table, "host_ns", 0), 18000);
  assert_int_equal(integer(table, "calls", 0), 2);
  assert_text(table, "name", 1, "conv");
  assert_int_equal(integer(table, "host_ns", 1), 1600);
  assert_int_equal(integer(table, "count", 1), 2);
  for (size_t row = 2; row < 4; row++) // the launch and the kernel
    assert_int_equal(integer(table, "parent", row), 1);
  assert_int_equal(integer(table, "is_kernel", 2) + integer(table, "is_kernel", 3), 1);
  xsp_read_free_table(table);
  assert_int_equal(xsp_read_tree(file, 8, &table), XSP_READ_USE);
  assert_null(table);
  assert_non_null(strstr(xsp_read_error(), "run 8"));
  xsp_read_close(file);
}

static void an_analysis_is_json(void **state)
{
  (void)state;
  struct xsp_read_file *file = open_file();
  const char *const options[] = {"batch", "2", "sort", "layer_name", NULL}, *const bad[] = {"batch", "0", NULL},
                    *const unknown[] = {"bach", "1", NULL};
  char *json = NULL;
  assert_int_equal(xsp_read_analysis(file, "a2", options, &json), XSP_READ_OK);
  assert_non_null(strstr(json, "\"analysis\":\"A2\""));
  assert_non_null(strstr(json, "\"conv\""));
  xsp_read_free_text(json);
  assert_int_equal(xsp_read_analysis(file, "A2", bad, &json), XSP_READ_USE);
  assert_null(json);
  assert_int_equal(xsp_read_analysis(file, "A2", unknown, &json), XSP_READ_USE);
  assert_non_null(strstr(xsp_read_error(), "bach"));
  assert_int_equal(xsp_read_analysis(file, "Z9", NULL, &json), XSP_READ_USE);
  assert_int_equal(xsp_read_analysis(file, "A18", NULL, &json), XSP_READ_NO);
  xsp_read_close(file);
}

static void errors_name_what_failed(void **state)
{
  (void)state;
  struct xsp_read_file *file = NULL;
  struct xsp_read_table *table = NULL;
  assert_int_equal(xsp_read_open("/nowhere/a.xsp", &file), XSP_READ_INPUT);
  assert_null(file);
  assert_non_null(strstr(xsp_read_error(), "/nowhere/a.xsp"));
  assert_null(strchr(xsp_read_error(), '\n'));
  file = open_file();
  assert_int_equal(xsp_read_query(file, "delete from run", &table), XSP_READ_USE);
  assert_null(table);
  assert_int_equal(xsp_read_query(file, "select nothing from span", &table), XSP_READ_USE);
  assert_non_null(strstr(xsp_read_error(), "nothing"));
  xsp_read_close(file);
  xsp_read_close(NULL);
  xsp_read_free_table(NULL);
}

static void *read_in_thread(void *argument)
{
  (void)argument;
  struct xsp_read_file *file = NULL;
  struct xsp_read_table *table = NULL;
  bool is_right = xsp_read_open(path, &file) == XSP_READ_OK;
  for (int i = 0; i < 50 && is_right; i++) {
    is_right = xsp_read_query(file, "select count(*) from span", &table) == XSP_READ_OK &&
               *(const int64_t *)column(table, "count(*)").values == 8;
    xsp_read_free_table(table);
    is_right = is_right && xsp_read_query(file, "select", &table) == XSP_READ_USE && xsp_read_error()[0] != '\0';
  }
  xsp_read_close(file);
  return is_right ? argument : NULL;
}

static void threads_have_files_and_errors_of_their_own(void **state)
{
  (void)state;
  pthread_t threads[4];
  for (size_t i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, read_in_thread, path), 0);
  for (size_t i = 0; i < 4; i++) {
    void *result = NULL;
    assert_int_equal(pthread_join(threads[i], &result), 0);
    assert_ptr_equal(result, path);
  }
}

// In a child, whose address space is limited.
static int exhaust(void)
{
  static const char sql[] = "with recursive n(i) as (select 1 union all select i + 1 from n) select i, i, i, i from n";
  struct xsp_read_file *file = NULL, *other = NULL;
  struct xsp_read_table *table = NULL;
  if (xsp_read_open(path, &file) != XSP_READ_OK)
    return 10;
  struct rlimit limit = {(rlim_t)256 << 20, (rlim_t)256 << 20};
  setrlimit(RLIMIT_AS, &limit);
  if (xsp_read_query(file, sql, &table) != XSP_READ_MEMORY || table != NULL)
    return 11;
  if (strstr(xsp_read_error(), "out of memory") == NULL)
    return 12;
  if (xsp_read_query(file, "select 1", &table) != XSP_READ_USE)
    return 13;
  xsp_read_close(file);
  limit.rlim_cur = limit.rlim_max;
  return xsp_read_open("/nowhere/a.xsp", &other) == XSP_READ_INPUT ? 0 : 14;
}

static void exhausted_memory_leaves_the_process_alive(void **state)
{
  (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip(); // its shadow needs the whole address space
#endif
  int status = 0;
  pid_t child = fork();
  if (child == 0)
    _exit(exhaust());
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_query_gives_typed_columns),
      cmocka_unit_test(columns_are_of_the_callers_version),
      cmocka_unit_test(the_tree_has_times_of_host_and_device),
      cmocka_unit_test(an_analysis_is_json),
      cmocka_unit_test(errors_name_what_failed),
      cmocka_unit_test(threads_have_files_and_errors_of_their_own),
      cmocka_unit_test(exhausted_memory_leaves_the_process_alive),
  };
  return cmocka_run_group_tests(tests, set_up, remove_folder);
}
