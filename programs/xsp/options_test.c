// SPDX-License-Identifier: Apache-2.0
// Option parsing: forms, order, wrong use, numbers; and the search for the nearest word.
#include "base/nearest.h"
#include "programs/xsp/verb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct option_description options[] = {
    {.name = "batch", .value_name = "N", .default_value = "1", .help = ""},
    {.name = "output", .letter = 'o', .value_name = "OUT", .help = ""},
    {.name = "input", .value_name = "NAME=FILE", .flags = OPTION_REPEATABLE, .help = ""},
    {.name = "force", .letter = 'f', .help = ""},
    {0},
};
static const struct verb verb = {.name = "try",
                                 .synopsis = "FILE",
                                 .least_arguments = 1,
                                 .most_arguments = 2,
                                 .options = options,
                                 .is_reader = true};

struct parsed {
  struct invocation invocation;
  struct error err;
  enum status status;
};

static struct parsed parse(size_t count, const char **texts)
{
  struct parsed parsed = {0};
  parsed.status = invocation_parse(&verb, (int)count, (char **)texts, &parsed.invocation, &parsed.err);
  return parsed;
}
#define PARSE(...) parse(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

static void test_forms(void **state)
{
  struct parsed parsed = PARSE("--batch=4", "file", "-oout", "--input", "a=b", "-f", "--input=c=d", "second");
  assert_int_equal(parsed.status, STATUS_OK);
  assert_string_equal(invocation_value(&parsed.invocation, "batch"), "4");
  assert_string_equal(invocation_value(&parsed.invocation, "output"), "out");
  assert_string_equal(invocation_value_at(&parsed.invocation, "input", 0), "a=b");
  assert_string_equal(invocation_value_at(&parsed.invocation, "input", 1), "c=d");
  assert_null(invocation_value_at(&parsed.invocation, "input", 2));
  assert_true(invocation_has(&parsed.invocation, "force"));
  assert_false(invocation_has(&parsed.invocation, "json"));
  assert_int_equal(parsed.invocation.argument_count, 2);
  assert_string_equal(parsed.invocation.arguments[1], "second");
  invocation_done(&parsed.invocation);
}

static void test_end_of_options(void **state)
{
  struct parsed parsed = PARSE("-f", "--", "--batch", "-o");
  assert_int_equal(parsed.status, STATUS_OK);
  assert_int_equal(parsed.invocation.argument_count, 2);
  assert_string_equal(parsed.invocation.arguments[0], "--batch");
  assert_string_equal(invocation_value(&parsed.invocation, "batch"), "1"); // the default
  invocation_done(&parsed.invocation);
}

static void test_the_last_one_counts(void **state)
{
  struct parsed parsed = PARSE("--batch", "2", "-", "--batch=", "-fo", "-x");
  assert_int_equal(parsed.status, STATUS_OK);
  assert_string_equal(invocation_value(&parsed.invocation, "batch"), "");
  assert_string_equal(invocation_value(&parsed.invocation, "output"), "-x");
  assert_string_equal(parsed.invocation.arguments[0], "-");
  invocation_done(&parsed.invocation);
}

static void expect_use(struct parsed parsed, const char *where, const char *advice)
{
  assert_int_equal(parsed.status, STATUS_USE);
  assert_string_equal(parsed.err.where, where);
  if (strstr(parsed.err.advice, advice) == NULL)
    fail_msg("advice is \"%s\"", parsed.err.advice);
  invocation_done(&parsed.invocation);
}

// The first plain argument begins a command, whose options are its own; before it are only the verb's.
static void test_a_command(void **state)
{
  static const struct verb runs = {.name = "run",
                                   .synopsis = "COMMAND",
                                   .least_arguments = 1,
                                   .most_arguments = SIZE_MAX,
                                   .options = options,
                                   .takes_command = true};
  static const char *const texts[][5] = {{"-f", "program", "--batch", "--", "-f"}, {"-f", "--", "program", "-f", "-x"}};
  for (size_t i = 0; i < 2; i++) {
    struct invocation invocation;
    assert_int_equal(invocation_parse(&runs, 5, (char **)texts[i], &invocation, NULL), STATUS_OK);
    assert_int_equal(invocation.option_count, 1);
    assert_string_equal(invocation.arguments[0], "program");
    assert_string_equal(invocation.arguments[invocation.argument_count - 1], texts[i][4]);
    assert_int_equal(invocation.argument_count, i == 0 ? 4 : 3);
    assert_null(invocation.arguments[invocation.argument_count]);
    invocation_done(&invocation);
  }
}

static void test_wrong_use(void **state)
{
  expect_use(PARSE("file", "--bacth=3"), "--bacth", "--batch");
  expect_use(PARSE("file", "--forc"), "--forc", "--force");
  expect_use(PARSE("file", "--zzzzzzzz"), "--zzzzzzzz", "`xsp help try`");
  expect_use(PARSE("file", "-z"), "-z", "help try");
  expect_use(PARSE("file", "--batch"), "--batch", "--batch=N");
  expect_use(PARSE("file", "--force=1"), "--force=1", "");
  expect_use(PARSE("-f"), "try", "xsp try FILE");
  expect_use(PARSE("a", "b", "c"), "c", "xsp try FILE");
}

static void test_help_needs_no_arguments(void **state)
{
  struct parsed parsed = PARSE("--help");
  assert_int_equal(parsed.status, STATUS_OK);
  invocation_done(&parsed.invocation);
}

static void test_numbers(void **state)
{
  static const struct {
    const char *text;
    enum status status;
    int64_t value;
  } cases[] = {
      {"1", STATUS_OK, 1},     {"100", STATUS_OK, 100}, {"0", STATUS_USE, 0},
      {"101", STATUS_USE, 0},  {"", STATUS_USE, 0},     {"4x", STATUS_USE, 0},
      {" 4", STATUS_USE, 0},   {"+4", STATUS_USE, 0},   {"99999999999999999999", STATUS_USE, 0},
      {"0x10", STATUS_USE, 0}, {"-", STATUS_USE, 0},    {"4.0", STATUS_USE, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct parsed parsed = PARSE("file", "--batch", cases[i].text);
    int64_t value = 0;
    assert_int_equal(invocation_int64(&parsed.invocation, "batch", 1, 100, &value, &parsed.err), cases[i].status);
    assert_int_equal(value, cases[i].value);
    invocation_done(&parsed.invocation);
  }
}

static void test_sizes(void **state)
{
  static const struct {
    const char *text;
    enum status status;
    uint64_t bytes;
  } cases[] = {
      {"65536", STATUS_OK, 65536}, {"64K", STATUS_OK, 65536}, {"1m", STATUS_OK, 1 << 20}, {"2G", STATUS_USE, 0},
      {"1", STATUS_USE, 0},        {"64KB", STATUS_USE, 0},   {"64X", STATUS_USE, 0},     {"99999999T", STATUS_USE, 0},
      {"", STATUS_USE, 0},         {"-1", STATUS_USE, 0},     {"M", STATUS_USE, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct parsed parsed = PARSE("file", "--batch", cases[i].text);
    uint64_t bytes = 0;
    assert_int_equal(invocation_bytes(&parsed.invocation, "batch", 65536, 1 << 30, &bytes, &parsed.err),
                     cases[i].status);
    assert_int_equal(bytes, cases[i].bytes);
    invocation_done(&parsed.invocation);
  }
}

static void test_reals(void **state)
{
  static const char *const bad[] = {"", "nan", "inf", "1e999", "5%", "0x1p3", "-1"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct parsed parsed = PARSE("file", "--batch", bad[i]);
    double value = 7;
    assert_int_equal(invocation_double(&parsed.invocation, "batch", 0, 100, &value, &parsed.err), STATUS_USE);
    assert_true(value == 7);
    invocation_done(&parsed.invocation);
  }
  struct parsed parsed = PARSE("file", "--batch", "2.5");
  double value = 0;
  assert_int_equal(invocation_double(&parsed.invocation, "batch", 0, 100, &value, &parsed.err), STATUS_OK);
  assert_true(value == 2.5);
  invocation_done(&parsed.invocation);
}

static void test_lists(void **state)
{
  int64_t *values = NULL;
  size_t count = 0;
  struct error err;
  assert_int_equal(option_int64_list("batch", "1,2,16", 64, &values, &count, &err), STATUS_OK);
  assert_int_equal(count, 3);
  assert_int_equal(values[2], 16);
  free(values);
  static const char *const bad[] = {"", "1,", ",1", "1,,2", "1,65", "1 2", "a"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_int_equal(option_int64_list("batch", bad[i], 64, &values, &count, &err), STATUS_USE);
}

static void test_nearest(void **state)
{
  static const char *const words[] = {"profile", "analyze", "info", "sql", "export", "on"};
  static const char *const cases[][2] = {{"prfoile", "profile"}, {"analyse", "analyze"}, {"in", "info"},
                                         {"exprot", "export"},   {"frobnicate", NULL},   {"top", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct nearest nearest;
    nearest_start(&nearest, cases[i][0]);
    for (size_t j = 0; j < sizeof words / sizeof words[0]; j++)
      nearest_offer(&nearest, words[j]);
    if (cases[i][1] == NULL)
      assert_null(nearest.best);
    else
      assert_string_equal(nearest.best, cases[i][1]);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forms),     cmocka_unit_test(test_end_of_options),
      cmocka_unit_test(test_wrong_use), cmocka_unit_test(test_the_last_one_counts),
      cmocka_unit_test(test_numbers),   cmocka_unit_test(test_help_needs_no_arguments),
      cmocka_unit_test(test_reals),     cmocka_unit_test(test_lists),
      cmocka_unit_test(test_nearest),   cmocka_unit_test(test_a_command),
      cmocka_unit_test(test_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
