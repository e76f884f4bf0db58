// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/address.h"
#include "clickhouse/sql.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct clickhouse_address read_address(const char *text, struct arena *arena)
{
  struct clickhouse_address address;
  struct error err = {0};
  assert_int_equal(clickhouse_address_read(text, arena, &address, &err), STATUS_OK);
  return address;
}

static void test_parts(void **state)
{
  struct arena arena = {0};
  unsetenv("CLICKHOUSE_USER");
  unsetenv("CLICKHOUSE_PASSWORD");
  struct clickhouse_address address = read_address("clickhouse://db.example", &arena);
  assert_string_equal(address.url, "http://db.example:8123/");
  assert_string_equal(address.database, "default");
  assert_string_equal(address.table, "otel_traces");
  assert_null(address.user);
  assert_null(address.experiment);
  address =
      read_address("clickhouses://me@[::1]/traces?experiment=a%20b&from=2026-01-01&to=2027-01-01&table=t", &arena);
  assert_string_equal(address.url, "https://[::1]:8443/");
  assert_string_equal(address.user, "me");
  assert_string_equal(address.database, "traces");
  assert_string_equal(address.table, "t");
  assert_string_equal(address.experiment, "a b");
  assert_string_equal(address.from, "2026-01-01");
  setenv("CLICKHOUSE_PASSWORD", "secret", 1);
  address = read_address("clickhouse://[::1]:9000/", &arena);
  assert_string_equal(address.url, "http://[::1]:9000/");
  assert_string_equal(address.password, "secret");
  unsetenv("CLICKHOUSE_PASSWORD");
  arena_done(&arena);
}

static void test_wrong(void **state)
{
  static const char *const texts[] = {
      "clickhouse://",      "clickhouse:///x",      "clickhouse://:8123",       "clickhouse://a b",
      "clickhouse://h?x=1", "clickhouse://h?table", "clickhouse://h?table=%00", "clickhouse://h/%zz",
      "clickhouse://a@",    "clickhouse://u:p@h/",  "clickhouse://h%41/",       "clickhouse://h\"/",
  };
  struct arena arena = {0};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct clickhouse_address address;
    struct error err = {0};
    assert_int_equal(clickhouse_address_read(texts[i], &arena, &address, &err), STATUS_USE);
    assert_null(strstr(err.where, "u:p")); // a password is not shown
  }
  arena_done(&arena);
}

// What the address names cannot end its quotes.
static void test_quoting(void **state)
{
  struct arena arena = {0};
  struct buf sql = {0};
  struct clickhouse_address address = read_address("clickhouse://h/d%60b?table=a%60%5C&experiment=x'%5Cy%0A", &arena);
  sql_runs(&address, false, &sql);
  assert_non_null(strstr(sql.data, "FROM `d\\`b`.`a\\`\\\\` WHERE"));
  assert_non_null(strstr(sql.data, "= 'x\\'\\\\y\\x0a')"));
  buf_done(&sql);
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_wrong),
                                     cmocka_unit_test(test_quoting)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
