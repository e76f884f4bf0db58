// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format: numbers of each length, each kind of field, and each way to be cut or wrong.
#include "base/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

// Read from memory that ends where the text does, for the sanitizers.
static const char *problem_of(const char *text, size_t length, size_t *ret_fields)
{
  char *exact = malloc(length + 1);
  memcpy(exact, text, length);
  struct wire wire = wire_over(exact, length), skipping = wire_over(exact, length), quick = wire_over(exact, length);
  struct wire_field field, quick_field;
  *ret_fields = 0;
  while (wire_next(&wire, &field)) {
    (*ret_fields)++;
    assert_true(wire_next_quick(&quick, &quick_field));
    assert_true(quick_field.number == field.number && quick_field.type == field.type);
    assert_true(quick_field.value == field.value && quick.at == wire.at);
    if (field.type == WIRE_BYTES)
      assert_true(quick_field.bytes == field.bytes && quick_field.length == field.length);
  }
  assert_false(wire_next_quick(&quick, &quick_field));
  assert_true(quick.problem == wire.problem);
  size_t skipped = 0;
  uint64_t key;
  while (skipping.at < skipping.end && wire_varint(&skipping, &key) && wire_skip(&skipping, key))
    skipped++;
  assert_int_equal(skipped, *ret_fields); // all ways to read agree
  assert_true((skipping.problem == NULL) == (wire.problem == NULL));
  if (wire.problem != NULL)
    assert_string_equal(skipping.problem, wire.problem);
  free(exact);
  return wire.problem;
}

static void numbers_have_any_length(void **state)
{
  static const uint64_t numbers[] = {0, 1, 127, 128, 300, UINT32_MAX, (uint64_t)1 << 62, (uint64_t)1 << 63, UINT64_MAX};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    char text[16] = {0x08};
    size_t length = 1;
    uint64_t rest = numbers[i];
    do {
      text[length++] = (char)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
      rest >>= 7;
    } while (rest != 0);
    struct wire wire = wire_over(text, length);
    struct wire_field field;
    assert_true(wire_next(&wire, &field));
    assert_true(wire_is(&field, 1, WIRE_VARINT));
    assert_true(field.value == numbers[i]);
    assert_false(wire_next(&wire, &field));
    assert_null(wire.problem);
    size_t fields;
    for (size_t cut = 1; cut < length; cut++)
      assert_string_equal(problem_of(text, cut, &fields), "it ends inside a number");
  }
}

static void each_kind_of_field_is_read(void **state)
{
  static const char text[] = "\x09\x01\x02\x03\x04\x05\x06\x07\x08" // 1: fixed64
                             "\x15\x01\x02\x03\x04"                 // 2: fixed32
                             "\x1a\x02hi"                           // 3: bytes
                             "\x22\x00";                            // 4: none
  struct wire wire = wire_over(text, sizeof text - 1);
  struct wire_field field;
  assert_true(wire_next(&wire, &field) && wire_is(&field, 1, WIRE_FIXED64));
  assert_true(field.value == UINT64_C(0x0807060504030201));
  assert_true(wire_next(&wire, &field) && wire_is(&field, 2, WIRE_FIXED32));
  assert_true(field.value == 0x04030201 && field.start == text + 9);
  assert_true(wire_next(&wire, &field) && wire_is(&field, 3, WIRE_BYTES));
  assert_true(field.length == 2 && memcmp(field.bytes, "hi", 2) == 0);
  assert_true(wire_next(&wire, &field) && wire_is(&field, 4, WIRE_BYTES));
  struct wire inside = wire_inside(&field);
  assert_false(wire_next(&inside, &field));
  assert_null(inside.problem);
  assert_false(wire_next(&wire, &field));
  assert_null(wire.problem);
}

static void what_is_cut_says_what_is_there(void **state)
{
  static const char text[] = "\x08\x01\x1a\x05hi";
  struct wire wire = wire_over(text, sizeof text - 1);
  struct wire_field field;
  assert_true(wire_next(&wire, &field));
  assert_false(wire_next(&wire, &field));
  assert_ptr_equal(wire.problem, wire_cut);
  assert_true(wire_is(&field, 3, WIRE_BYTES));
  assert_true(field.start == text + 2 && field.value == 5 && field.length == 2);
  assert_false(wire_next(&wire, &field)); // it stays so
}

// What wire_skip makes of the first field; *ret_left: bytes after it.
static const char *skip_problem(const char *text, size_t length, size_t *ret_left)
{
  char *exact = malloc(length);
  memcpy(exact, text, length);
  struct wire wire = wire_over(exact, length);
  uint64_t key;
  assert_true(wire_varint(&wire, &key));
  assert_true(wire_skip(&wire, key) == (wire.problem == NULL));
  *ret_left = (size_t)(wire.end - wire.at);
  free(exact);
  return wire.problem;
}

static void groups_are_skipped(void **state)
{
  static const struct {
    const char *text;
    size_t length;
    const char *problem;
  } broken[] = {
      {"\x0b", 1, "it ends inside a group"},
      {"\x0b\x08\x01", 3, "it ends inside a group"},
      {"\x0b\x08", 2, "it ends inside a number"},
      {"\x0b\x1a\x05hi\x0c", 6, "a part is longer than what is there"},
      {"\x0b\x08\x01\x14", 4, "a field is of an unknown kind"}, // the end of another group
      {"\x0b\x13\x0c\x14", 4, "a field is of an unknown kind"}, // across each other
      {"\x0b\x00\x0c", 3, "a field has no number"},
      {"\x0c", 1, "a field is of an unknown kind"}, // an end without a beginning
  };
  // Group 1 of a number, a group 2 of bytes and a group 1; then a number.
  static const char text[] = "\x0b\x08\x01\x13\x1a\x01\x14\x14\x0b\x0c\x0c\x10\x05";
  char nested[2 * (WIRE_GROUPS_MOST + 1)];
  size_t left;
  assert_null(skip_problem(text, sizeof text - 1, &left));
  assert_int_equal(left, 2);
  struct wire wire = wire_over(text, sizeof text - 1);
  struct wire_field field;
  assert_false(wire_next(&wire, &field)); // only wire_skip takes them
  assert_string_equal(wire.problem, "a field is of an unknown kind");
  for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
    assert_string_equal(skip_problem(broken[i].text, broken[i].length, &left), broken[i].problem);
  memset(nested, 0x0b, sizeof nested / 2);
  memset(nested + sizeof nested / 2, 0x0c, sizeof nested / 2);
  assert_null(skip_problem(nested + 1, sizeof nested - 2, &left));
  assert_int_equal(left, 0);
  assert_string_equal(skip_problem(nested, sizeof nested, &left), "groups are nested deeper than 100");
}

static void damage_is_said(void **state)
{
  static const struct {
    const char *text;
    size_t length, fields;
    const char *problem;
  } cases[] = {
      {"", 0, 0, NULL},
      {"\x08\x01\x08\x02", 4, 2, NULL},
      {"\x00\x01", 2, 0, "a field has no number"},
      {"\x80\x80\x80\x80\x80\x01\x01", 7, 0, "a field has no number"}, // beyond 2^29
      {"\x0f\x00", 2, 0, "a field is of an unknown kind"},
      {"\x09\x01\x02\x03\x04\x05\x06\x07", 8, 0, "it ends inside a number"},
      {"\x0d\x01\x02\x03", 4, 0, "it ends inside a number"},
      {"\x0a", 1, 0, "it ends inside a number"},
      {"\x0a\x02x", 3, 0, "a part is longer than what is there"},
      {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", 12, 0, "a part is longer than what is there"},
      {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, 0, "a number is too long"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    size_t fields;
    const char *problem = problem_of(cases[i].text, cases[i].length, &fields);
    assert_int_equal(fields, cases[i].fields);
    assert_int_equal(problem == NULL, cases[i].problem == NULL);
    if (problem != NULL)
      assert_string_equal(problem, cases[i].problem);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_have_any_length),
      cmocka_unit_test(each_kind_of_field_is_read),
      cmocka_unit_test(what_is_cut_says_what_is_there),
      cmocka_unit_test(groups_are_skipped),
      cmocka_unit_test(damage_is_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
