// SPDX-License-Identifier: Apache-2.0
// Payloads as NCCL, the nvtx Python package and people write them, and some that say more than is there.
#include "tracers/nvtx/payload.h"
#include "tracers/nvtx/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uchar.h>

#include <cmocka.h>

#define STATIC(number) (NVTX_SCHEMA_STATIC_START + (number))
#define ENTRIES(array) .count = sizeof(array) / sizeof(array)[0], .entries = (array)

static const struct payload_value operations[] = {{0, false, "Sum"}, {1, false, "Product"}, {2, false, "Max"}};
static const struct payload_value modes[] = {{1, true, "read"}, {2, true, "write"}, {4, true, "create"}};

struct all_reduce {
  uint64_t communicator;
  size_t bytes;
  uint32_t operation;
};
static const struct payload_entry all_reduce[] = {
    {0, NVTX_TYPE_UINT64, 0, 0, "NCCL communicator ID"},
    {0, NVTX_TYPE_SIZE, 0, 0, "Message size [bytes]"},
    {0, STATIC(11), 0, 0, "Reduction operation"},
};

struct numbers {
  int8_t small;
  uint16_t port;
  float ratio;
  double exact;
  uint64_t huge;
  void *where;
  int32_t shape[3];
  char name[8];
  uint16_t half, brain;
  uint8_t mode;
};
static const struct payload_entry numbers[] = {
    {0, NVTX_TYPE_INT8, 0, 0, "small"},
    {0, NVTX_TYPE_UINT16, 0, offsetof(struct numbers, port), "port"},
    {0, NVTX_TYPE_FLOAT, 0, offsetof(struct numbers, ratio), "ratio"},
    {0, NVTX_TYPE_DOUBLE, 0, 0, "exact"}, // implicit
    {0, NVTX_TYPE_UINT64, 0, 0, "huge"},
    {0, NVTX_TYPE_ADDRESS, 0, 0, "where"},
    {NVTX_ENTRY_ARRAY_FIXED, NVTX_TYPE_INT32, 3, 0, "shape"},
    {0, NVTX_TYPE_TEXT, 8, 0, "name"},
    {0, NVTX_TYPE_FLOAT16, 0, 0, "half"},
    {0, NVTX_TYPE_BF16, 0, 0, ""},
    {0, STATIC(12), 0, 0, "mode"},
    {NVTX_ENTRY_HIDE, NVTX_TYPE_UINT8, 0, 0, "hidden"},
};
static const struct payload_entry outer[] = {
    {0, NVTX_TYPE_INT, 0, 0, "rank"},
    {0, STATIC(10), 0, 8, "call"},
    {0, NVTX_TYPE_INT, 0, 32, "after"},
};
static const struct payload_entry endless[] = {{0, STATIC(14), 0, 0, "deeper"}, {0, STATIC(14), 0, 0, "again"}};
static const struct payload_entry message[] = {
    {NVTX_ENTRY_MESSAGE, NVTX_TYPE_TEXT_UTF8, 0, 0, "message"}, // a pointer
    {0, NVTX_TYPE_CATEGORY, 0, 0, ""},
    {0, NVTX_TYPE_COLOR, 0, 0, ""},
    {NVTX_ENTRY_TIMESTAMP | NVTX_ENTRY_RANGE_BEGIN, NVTX_TYPE_INT64, 0, 0, "begin"},
    {NVTX_ENTRY_TIMESTAMP | NVTX_ENTRY_RANGE_END, NVTX_TYPE_INT64, 0, 0, "end"},
};
static const struct payload_entry variable[] = {
    {0, NVTX_TYPE_UINT32, 0, 0, "count"},
    {NVTX_ENTRY_ARRAY_LENGTH_ENTRY, NVTX_TYPE_UINT16, 0, 0, "values"},
    {NVTX_ENTRY_ARRAY_TERMINATED, NVTX_TYPE_CHAR, 0, 0, "text"},
    {0, NVTX_TYPE_UINT32, 0, 0, "last"},
};
static const struct payload_entry members[] = {{0, NVTX_TYPE_INT32, 0, 0, "whole"}, {0, NVTX_TYPE_FLOAT, 0, 0, "part"}};
static const struct payload_entry chooser[] = {{0, NVTX_TYPE_INT32, 0, 0, "which"}, {0, STATIC(17), 0, 4, "it"}};
static const struct payload_entry handle[] = {{0, NVTX_TYPE_STRING, 0, 0, "file"}};

static const struct payload_entry one_int[] = {{0, NVTX_TYPE_INT32, 0, 0, "int32"}}; // as the nvtx package has NumPy's
static const struct payload_entry rank[] = {{0, STATIC(21), 0, 0, "rank"}, {0, STATIC(21), 0, 4, "size"}};
static const struct payload_entry array[] = {{0, NVTX_TYPE_UINT64, 0, 0, "size"},
                                             {NVTX_ENTRY_ARRAY_LENGTH_ENTRY, STATIC(21), 0, 0, "data"}};

static const struct payload_schema schemas[] = {
    {.id = STATIC(21), .kind = NVTX_SCHEMA_STATIC, .size = 4, ENTRIES(one_int)},
    {.id = STATIC(22), .kind = NVTX_SCHEMA_STATIC, .size = 8, ENTRIES(rank)},
    {.id = STATIC(23), .kind = NVTX_SCHEMA_DYNAMIC, ENTRIES(array)},
    {.id = STATIC(10), .kind = NVTX_SCHEMA_STATIC, .size = sizeof(struct all_reduce), ENTRIES(all_reduce)},
    {.id = STATIC(11), .is_enum = true, .size = 4, .count = 3, .values = operations},
    {.id = STATIC(12), .is_enum = true, .size = 1, .count = 3, .values = modes},
    {.id = STATIC(13), .kind = NVTX_SCHEMA_STATIC, .size = sizeof(struct numbers), ENTRIES(numbers)},
    {.id = STATIC(14), .kind = NVTX_SCHEMA_DYNAMIC, ENTRIES(endless)},
    {.id = STATIC(15), .kind = NVTX_SCHEMA_STATIC, .size = 40, ENTRIES(outer)},
    {.id = STATIC(16), .kind = NVTX_SCHEMA_DYNAMIC, ENTRIES(variable)},
    {.id = STATIC(17), .kind = NVTX_SCHEMA_UNION, .size = 4, ENTRIES(members)},
    {.id = STATIC(18), .kind = NVTX_SCHEMA_STATIC, .size = 8, ENTRIES(chooser)},
    {.id = STATIC(19), .kind = NVTX_SCHEMA_STATIC, .size = 8, ENTRIES(handle)},
    {.id = STATIC(20), .kind = NVTX_SCHEMA_STATIC, .size = 32, ENTRIES(message)},
};

static const struct payload_schema *find_schema(void *own, uint64_t id)
{
  for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++)
    if (schemas[i].id == id)
      return &schemas[i];
  return NULL;
}

static const char *find_string(void *own, uint64_t string)
{
  return string == 7 ? "registered" : NULL;
}

static size_t read_memory(void *own, uint64_t address, void *to, size_t bytes)
{
  if (address != 0x1234)
    return 0;
  memcpy(to, "elsewhere", 10);
  return 10;
}

static const struct payload_context context = {NULL, find_schema, find_string, read_memory};
static struct payload_event event;

// "key=value; key=value", to be read by people.
static const char *tags_text(void)
{
  static char text[4096];
  size_t at = 0;
  text[0] = '\0';
  for (uint32_t i = 0; i < event.tags.count; i++) {
    const struct annotation_tag *tag = &event.tags.tag[i];
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%s=", i > 0 ? "; " : "", event.tags.text + tag->key);
    if (tag->type == ANNOTATION_TAG_INT)
      at += (size_t)snprintf(text + at, sizeof text - at, "%lld", (long long)tag->value.integer);
    else if (tag->type == ANNOTATION_TAG_DOUBLE)
      at += (size_t)snprintf(text + at, sizeof text - at, "%g", tag->value.real);
    else
      at += (size_t)snprintf(text + at, sizeof text - at, "'%s'", event.tags.text + tag->at);
  }
  return text;
}

// Reads a copy of exactly that size, so that a sanitizer sees a byte too far.
static void read_one(uint64_t schema, const void *bytes, size_t size)
{
  void *copy = malloc(size);
  assert_non_null(copy);
  memcpy(copy, bytes, size);
  struct nvtx_blob blob = {schema, size, copy};
  nvtx_payload_event_clear(&event);
  nvtx_payload_read(&context, &blob, 1, &event);
  free(copy);
}

static void test_nccl(void **state)
{
  struct all_reduce call = {0xfeed, 4096, 0};
  read_one(STATIC(10), &call, sizeof call);
  assert_string_equal(tags_text(), "NCCL communicator ID=65261; Message size [bytes]=4096; Reduction operation='Sum'");
  assert_int_equal(event.tags.left_out, 0);
  call.operation = 9;
  read_one(STATIC(10), &call, sizeof call);
  assert_non_null(strstr(tags_text(), "Reduction operation=9"));
}

static void test_types(void **state)
{
  struct numbers all = {-5,     443,    0.5f, 1e300, UINT64_MAX, (void *)0xbeef, {1, -2, 3}, {'a', 'b', 0, 'x'},
                        0x3c00, 0xc000, 1 | 4};
  read_one(STATIC(13), &all, sizeof all);
  assert_string_equal(tags_text(), "small=-5; port=443; ratio=0.5; exact=1e+300; huge='18446744073709551615'; "
                                   "where='0xbeef'; shape='[1, -2, 3]'; name='ab'; half=1; field 9=-2; "
                                   "mode='read|create'");
  assert_int_equal(event.tags.left_out, 0);
}

static void test_nested(void **state)
{
  struct {
    int rank;
    struct all_reduce call;
    int after;
  } all = {3, {1, 2, 1}, 4};
  read_one(STATIC(15), &all, sizeof all);
  assert_string_equal(tags_text(), "rank=3; call.NCCL communicator ID=1; call.Message size [bytes]=2; "
                                   "call.Reduction operation='Product'; after=4");
}

static void test_endless_nesting_ends(void **state)
{
  char bytes[64] = {0};
  read_one(STATIC(14), bytes, sizeof bytes);
  assert_string_equal(tags_text(), "");
  assert_true(event.tags.left_out > 0);
}

static void test_variable_lengths(void **state)
{
  struct {
    uint32_t count;
    uint16_t values[3];
    char text[6];
    uint32_t last;
  } all = {3, {7, 8, 9}, "hello", 11};
  read_one(STATIC(16), &all, sizeof all);
  assert_string_equal(tags_text(), "count=3; values='[7, 8, 9]'; text='hello'; last=11");
  all.count = 1000; // more than there is
  read_one(STATIC(16), &all, sizeof all);
  assert_true(event.tags.left_out > 0);
  memset(&all, 'x', sizeof all); // no end
  read_one(STATIC(16), &all, sizeof all);
}

static void test_unions(void **state)
{
  struct {
    int which;
    float part;
  } all = {1, 0.25f};
  read_one(STATIC(18), &all, sizeof all);
  assert_string_equal(tags_text(), "which=1; it.part=0.25");
  all.which = 2;
  read_one(STATIC(18), &all, sizeof all);
  assert_string_equal(tags_text(), "which=2");
}

static void test_attributes_of_the_event(void **state)
{
  static const char text[] = "in another payload";
  struct {
    const char *message;
    uint32_t category, color;
    int64_t begin, end;
  } all = {text, 5, 0xff00ff00, 100, 250};
  struct nvtx_blob blobs[] = {{STATIC(20), sizeof all, &all}, {NVTX_SCHEMA_REFERENCED, sizeof text, text}};
  nvtx_payload_event_clear(&event);
  nvtx_payload_read(&context, blobs, 2, &event);
  assert_string_equal(event.message, text);
  assert_int_equal(event.category, 5);
  assert_true(event.has_begin && event.has_end && event.begin == 100 && event.end == 250);
  assert_string_equal(tags_text(), "");
  all.message = (const char *)0x1234; // what the program promises to be readable
  read_one(STATIC(20), &all, sizeof all);
  assert_string_equal(event.message, "elsewhere");
  all.message = (const char *)0x99;
  read_one(STATIC(20), &all, sizeof all);
  assert_string_equal(event.message, "");
}

static void test_plain_payloads(void **state)
{
  const int32_t some[] = {1, 2, 3};
  read_one(NVTX_TYPE_INT32, some, 4);
  assert_string_equal(tags_text(), "payload=1");
  read_one(NVTX_TYPE_INT32, some, sizeof some);
  assert_string_equal(tags_text(), "payload='[1, 2, 3]'");
  read_one(NVTX_TYPE_TEXT_UTF8, "no end", 6);
  assert_string_equal(tags_text(), "payload='no end'");
  read_one(NVTX_TYPE_TEXT_UTF16, u"d\u00fcr", 8);
  assert_string_equal(tags_text(), "payload='d\u00fcr'");
  struct nvtx_blob text = {NVTX_TYPE_TEXT, SIZE_MAX, "to its end"};
  nvtx_payload_event_clear(&event);
  nvtx_payload_read(&context, &text, 1, &event);
  assert_string_equal(tags_text(), "payload='to its end'");
  uint64_t string = 7;
  read_one(STATIC(19), &string, sizeof string);
  assert_string_equal(tags_text(), "file='registered'");
  int64_t many[100] = {0};
  read_one(NVTX_TYPE_INT64, many, sizeof many);
  assert_non_null(strstr(tags_text(), ", …]"));
  read_one(NVTX_SCHEMA_RAW, some, sizeof some);
  assert_int_equal(event.tags.left_out, 1);
}

static void test_values_with_schemas_of_their_own(void **state)
{
  const int32_t two[] = {3, 4};
  read_one(STATIC(22), two, sizeof two);
  assert_string_equal(tags_text(), "rank=3; size=4");
  const struct {
    uint64_t size;
    int32_t data[3];
  } some = {3, {7, 8, 9}};
  read_one(STATIC(23), &some, 20);
  assert_string_equal(tags_text(), "size=3; data='[7, 8, 9]'");
}

static void test_small_floats(void **state)
{
  const uint16_t halves[] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x3555, 0x7c00, 0x8000};
  read_one(NVTX_TYPE_FLOAT16, halves, sizeof halves);
  assert_string_equal(tags_text(), "payload='[1, -2, 65504, 5.96046448e-08, 6.10351562e-05, 0.333251953, inf, -0]'");
  const uint16_t brains[] = {0x3f80, 0xc000, 0x0080, 0x7f80};
  read_one(NVTX_TYPE_BF16, brains, sizeof brains);
  assert_string_equal(tags_text(), "payload='[1, -2, 1.17549435e-38, inf]'");
}

static void test_too_short(void **state)
{
  struct numbers all = {0};
  for (size_t size = 1; size < sizeof all; size++)
    read_one(STATIC(13), &all, size);
  for (size_t size = 1; size < offsetof(struct all_reduce, operation) + 4; size++) {
    read_one(STATIC(10), &all, size);
    assert_true(event.tags.left_out > 0);
  }
  read_one(STATIC(99), &all, sizeof all); // never registered
  assert_int_equal(event.tags.left_out, 1);
  struct nvtx_blob none[] = {{STATIC(10), 0, &all}, {STATIC(10), 8, NULL}, {STATIC(10), SIZE_MAX, &all}};
  nvtx_payload_event_clear(&event);
  nvtx_payload_read(&context, none, 3, &event);
  assert_string_equal(tags_text(), "");
}

static void test_wide_texts(void **state)
{
  char utf8[16];
  assert_int_equal(nvtx_text_to_utf8(U"a\u00e9\u20ac\U0001f600", SIZE_MAX, 4, utf8, sizeof utf8), 10);
  assert_string_equal(utf8, "a\u00e9\u20ac\U0001f600");
  assert_int_equal(nvtx_text_to_utf8(u"\U0001f600", SIZE_MAX, 2, utf8, sizeof utf8), 4);
  assert_string_equal(utf8, "\U0001f600");
  const uint32_t wrong[] = {0xd800, 0x110000, 'x', 0};
  nvtx_text_to_utf8(wrong, SIZE_MAX, 4, utf8, sizeof utf8);
  assert_string_equal(utf8, "\ufffd\ufffdx");
  assert_int_equal(nvtx_text_to_utf8(U"aaaaaaaaaaaaaa\u20ac", SIZE_MAX, 4, utf8, sizeof utf8), 14); // no half character
  assert_int_equal(nvtx_text_to_utf8(U"abc", 2, 4, utf8, sizeof utf8), 2);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nccl),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_nested),
      cmocka_unit_test(test_endless_nesting_ends),
      cmocka_unit_test(test_variable_lengths),
      cmocka_unit_test(test_unions),
      cmocka_unit_test(test_attributes_of_the_event),
      cmocka_unit_test(test_plain_payloads),
      cmocka_unit_test(test_values_with_schemas_of_their_own),
      cmocka_unit_test(test_small_floats),
      cmocka_unit_test(test_too_short),
      cmocka_unit_test(test_wide_texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
