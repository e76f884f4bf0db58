// SPDX-License-Identifier: Apache-2.0
// A TFLite model made by hand: whole it is taken, cut anywhere it is refused, and offsets that lead nowhere are not followed.
#include "frameworks/litert/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define WORDS 64

// A flatbuffer in words of four bytes, where a builder would put them otherwise: one graph that has a name and nothing else,
// and one buffer of eight bytes. Returns its size.
static size_t make(uint32_t words[WORDS])
{
  memset(words, 0, WORDS * 4);
  words[0] = 8 * 4; // the model: word 8
  memcpy(&words[1], "TFL3", 4);
  words[2] = 14 | 16u << 16; // fields 0..4 in bytes 4..13
  words[3] = 0;              // version, operator codes: absent
  words[4] = 4 | 0u << 16;   // graphs in the object's byte 4, description absent
  words[5] = 8;              // buffers in its byte 8
  words[8] = 6 * 4;          // the object: fields at word 2
  words[9] = 2 * 4;          // graphs: word 11
  words[10] = 4 * 4;         // buffers: word 14
  words[11] = 1;
  words[12] = 8 * 4; // the graph: word 20
  words[14] = 1;
  words[15] = 13 * 4;        // the buffer: word 28
  words[16] = 14 | 8u << 16; // a graph's fields: bytes 4..13, the name in its byte 4
  words[19] = 4u;            // field 4 lies in byte 12 of the fields
  words[20] = 4 * 4;         // the graph's object
  words[21] = 1 * 4;         // its name: word 22
  words[22] = 4;
  memcpy(&words[23], "main", 4);
  words[25] = 6 | 8u << 16; // a buffer's fields
  words[26] = 4;
  words[28] = 3 * 4; // the buffer's object
  words[29] = 1 * 4; // its data: word 30
  words[30] = 8;
  return (30 + 1 + 2) * 4;
}

static void a_whole_model_is_whole(void **state)
{
  uint32_t words[WORDS];
  char place[128];
  size_t size = make(words);
  if (litert_file_is_cut((const unsigned char *)words, size, place, sizeof place))
    fail_msg("%s", place);
}

static void every_cut_is_found(void **state)
{
  uint32_t words[WORDS];
  char place[128];
  size_t size = make(words);
  for (size_t length = 8; length < size; length++) {
    if (!litert_file_is_cut((const unsigned char *)words, length, place, sizeof place))
      fail_msg("cut at byte %zu", length);
    assert_non_null(strstr(place, "after its end"));
  }
}

static void what_is_no_model_is_not_judged(void **state)
{
  char place[128];
  assert_false(litert_file_is_cut((const unsigned char *)"", 0, place, sizeof place));
  assert_false(litert_file_is_cut((const unsigned char *)"\xff\xff\xff\xffTFL2....", 12, place, sizeof place));
  assert_true(litert_file_is_cut((const unsigned char *)"\xff\xff\xff\xffTFL3....", 12, place, sizeof place));
  assert_false(litert_file_damage("/nowhere/model.tflite", place, sizeof place));
}

static void offsets_that_lead_out_are_found(void **state)
{
  static const struct {
    size_t word;
    uint32_t value;
  } wrong[] = {{8, 0x7fffffff},  {8, 0x80000000},  {9, 0xfffffff0},  {11, 0xffffffff},
               {12, 0x7ffffff0}, {22, 0x40000000}, {30, 0xffffffff}, {2, 0xffffffff}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    uint32_t words[WORDS];
    char place[128];
    size_t size = make(words);
    words[wrong[i].word] = wrong[i].value;
    if (!litert_file_is_cut((const unsigned char *)words, size, place, sizeof place))
      fail_msg("word %zu", wrong[i].word);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_whole_model_is_whole),
      cmocka_unit_test(every_cut_is_found),
      cmocka_unit_test(what_is_no_model_is_not_judged),
      cmocka_unit_test(offsets_that_lead_out_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
