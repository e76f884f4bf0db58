// SPDX-License-Identifier: Apache-2.0
// The grammar of the list, its faults with their lines, and patterns.
#include "tracers/functions/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <xsp/span.h>

#include <cmocka.h>

static struct function_rule rules[FUNCTIONS_RULES_MOST];
static uint32_t count;
static struct functions_fault fault;
static char text[1 << 16];

static bool parse(const char *list)
{
  snprintf(text, sizeof text, "%s", list);
  memset(&fault, 0, sizeof fault);
  return functions_list_parse(text, strlen(text), rules, &count, &fault);
}

static void test_lines(void **state)
{
  assert_true(parse("# a comment\n\ncblas_sgemm\r\n  libdnnl.so*:dnnl_primitive_execute # why\n"
                    "sgemm_ as \"Fortran sgemm\" level kernel stack 2048\n/opt/x:y/libz.so:z\tstack 0 as z#1"));
  assert_int_equal(count, 4);
  assert_string_equal(rules[0].name, "cblas_sgemm");
  assert_null(rules[0].library);
  assert_null(rules[0].as);
  assert_int_equal(rules[0].level, XSP_LEVEL_LIBRARY);
  assert_int_equal(rules[0].stack_bytes, FUNCTIONS_STACK_DEFAULT);
  assert_int_equal(rules[0].line, 3);
  assert_string_equal(rules[1].library, "libdnnl.so*");
  assert_string_equal(rules[1].name, "dnnl_primitive_execute");
  assert_string_equal(rules[2].as, "Fortran sgemm");
  assert_int_equal(rules[2].level, XSP_LEVEL_KERNEL);
  assert_int_equal(rules[2].stack_bytes, 2048);
  assert_string_equal(rules[3].library, "/opt/x:y/libz.so");
  assert_string_equal(rules[3].name, "z");
  assert_string_equal(rules[3].as, "z#1");
  assert_int_equal(rules[3].stack_bytes, 0);
  assert_true(parse(""));
  assert_int_equal(count, 0);
  assert_true(parse("\xef\xbb\xbf_ZN3fooEv"));
  assert_string_equal(rules[0].name, "_ZN3fooEv");
  assert_true(parse("cudnn*Forward\nc?tt*"));
  assert_true(rules[0].is_pattern && rules[1].is_pattern == true && count == 2);
}

static void test_signatures(void **state)
{
  assert_true(parse("libcudart.so*:cudaMalloc(pointer to,ulong\tbytes ) -> int as malloc # x\n"
                    "none( )\nrest(text a, float b, double c, uint d, long e) level kernel"));
  assert_int_equal(count, 3);
  assert_string_equal(rules[0].library, "libcudart.so*");
  assert_string_equal(rules[0].name, "cudaMalloc");
  assert_int_equal(rules[0].parameter_count, 2);
  assert_string_equal(rules[0].parameters[0].name, "to");
  assert_int_equal(rules[0].parameters[0].type, FUNCTIONS_POINTER);
  assert_string_equal(rules[0].parameters[1].name, "bytes");
  assert_int_equal(rules[0].parameters[1].type, FUNCTIONS_ULONG);
  assert_int_equal(rules[0].result, FUNCTIONS_INT);
  assert_string_equal(rules[0].as, "malloc");
  assert_int_equal(rules[1].parameter_count, 0);
  assert_int_equal(rules[1].result, FUNCTIONS_NO_TYPE);
  static const uint8_t types[] = {FUNCTIONS_TEXT, FUNCTIONS_FLOAT, FUNCTIONS_DOUBLE, FUNCTIONS_UINT, FUNCTIONS_LONG};
  assert_int_equal(rules[2].parameter_count, 5);
  for (size_t i = 0; i < 5; i++)
    assert_int_equal(rules[2].parameters[i].type, types[i]);
  assert_true(parse("f(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l)"));
  assert_false(parse("f(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l, int m)"));
}

static void test_faults(void **state)
{
  static const struct {
    const char *list;
    uint32_t line;
    const char *what, *word;
  } cases[] = {
      {"a b", 1, "is not known here", "b"},
      {"ok\nfoo(int)", 2, "has an argument that is not written", "foo"},
      {"foo(int a", 1, "has a quote or a bracket", "foo(int a"},
      {"foo(int a)b", 1, "has arguments that do not end", "foo"},
      {"foo(int a,)", 1, "has an argument that is not written", "foo"},
      {"foo(int a b)", 1, "has an argument that is not written", "foo"},
      {"foo(int *a)", 1, "has an argument that is not written", "foo"},
      {"foo(char a)", 1, "is no type", "char"},
      {"(int a)", 1, "is not the name of a function", ""},
      {"foo() ->", 1, "has no value", "->"},
      {"foo() -> void", 1, "is no type", "void"},
      {"foo() -> int -> int", 1, "is there twice", "->"},
      {"ok\n\n:x", 3, "has no library before", ":x"},
      {"lib:", 1, "has no function behind", "lib:"},
      {"\"\"", 1, "is not the name of a function", ""},
      {"2x", 1, "is not the name of a function", "2x"},
      {"*", 1, "matches too much", "*"},
      {"lib*:ab*", 1, "matches too much", "ab*"},
      {"a*b*c*d*e*f*g*h*i*", 1, "has too many '*'", "a*b*c*d*e*f*g*h*i*"},
      {"setjmp", 1, "cannot be traced: it returns twice", "setjmp"},
      {"libc.so.6:vfork", 1, "cannot be traced: it returns twice", "vfork"},
      {"_Fork", 1, "cannot be traced: its child", "_Fork"},
      {"dlsym", 1, "cannot be traced: it depends on who calls it", "dlsym"},
      {"_Unwind_Resume", 1, "cannot be traced: it unwinds", "_Unwind_Resume"},
      {"xsp_span_start", 1, "cannot be traced: it belongs to xsp", "xsp_span_start"},
      {"f as", 1, "has no value", "as"},
      {"f as \"\"", 1, "has no value", "as"},
      {"f as \"x", 1, "has a quote", "x"},
      {"f as \"x\"y", 1, "has a quote", "x"},
      {"f as a as b", 1, "is there twice", "as"},
      {"f level L", 1, "is no level", "L"},
      {"f stack 12", 1, "is no number of bytes", "12"},
      {"f stack 4104", 1, "is no number of bytes", "4104"},
      {"f stack 99999999999999999999", 1, "is no number of bytes", "99999999999999999999"},
      {"f stack -8", 1, "is no number of bytes", "-8"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_false(parse(cases[i].list));
    assert_int_equal(fault.line, cases[i].line);
    assert_ptr_equal(strstr(fault.what, cases[i].what), fault.what);
    assert_string_equal(fault.word, cases[i].word);
  }
  char with_nul[] = "abc\nd\0f\n";
  assert_false(functions_list_parse(with_nul, sizeof with_nul - 1, rules, &count, &fault));
  assert_int_equal(fault.line, 2);
  assert_int_equal(count, 1); // what is before the fault is usable
}

static void test_bounds(void **state)
{
  size_t length = 0;
  for (unsigned i = 0; i <= FUNCTIONS_RULES_MOST; i++)
    length += (size_t)snprintf(text + length, sizeof text - length, "f%u\n", i);
  assert_false(functions_list_parse(text, length, rules, &count, &fault));
  assert_int_equal(count, FUNCTIONS_RULES_MOST);
  assert_int_equal(fault.line, FUNCTIONS_RULES_MOST + 1);
  char long_name[5000];
  memset(long_name, 'x', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = '\0';
  assert_true(parse(long_name));
  long_name[0] = '+';
  assert_false(parse(long_name));
  assert_int_equal(strlen(fault.word), sizeof fault.word - 1);
}

static void test_patterns(void **state)
{
  assert_true(functions_glob("libdnnl.so*", "libdnnl.so.3"));
  assert_true(functions_glob("*gemm*", "cblas_sgemm"));
  assert_true(functions_glob("?gemm", "sgemm"));
  assert_true(functions_glob("a*b*c", "aXbXbc"));
  assert_true(functions_glob("*", ""));
  assert_false(functions_glob("?", ""));
  assert_false(functions_glob("libdnnl.so", "libdnnl.so.3"));
  assert_false(functions_glob("a*b", "aXc"));
  char wanted[64], name[4096]; // at worst the product of the lengths, not more
  memset(name, 'a', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  strcpy(wanted, "*a*a*a*a*a*a*a*b");
  assert_false(functions_glob(wanted, name));
  assert_null(functions_refusal("cblas_sgemm"));
  assert_non_null(functions_refusal("_dl_open"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),  cmocka_unit_test(test_signatures), cmocka_unit_test(test_faults),
      cmocka_unit_test(test_bounds), cmocka_unit_test(test_patterns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
