// SPDX-License-Identifier: Apache-2.0
// Events of LiteRT's profiler as ai-edge-litert 2.3.0 wrote them, and what it should not write; and its lines on stderr.
#include "frameworks/common/stderr_capture.h"
#include "frameworks/litert/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct raw { // as events.c describes it
  const char *tag;
  uint64_t kind, start_us, duration_us, memory[6];
  int64_t node, subgraph;
  uint64_t source;
};
_Static_assert(sizeof(struct raw) == LITERT_EVENT_BYTES, "the library's layout");

static void operators_are_told(void **state)
{
  const struct raw raw[] = {
      {"LiteRT::Run[buffer registration]", 1, 36568086367, 107, {557056, 379040, 95010816}, 0, 0, 0},
      {"Invoke", 1, 36568086498, 15882, {0}, 0, 0, 0},
      {"GATHER", 2, 36754281905, 31, {0}, 4, 0, 0},
      {"Convolution (NHWC, F32) IGEMM", 8, 0, 14128, {0}, 1, 0, UINT64_C(94158568030208)},
      {"Invoke", 32, 0, UINT64_C(4294967296), {0}, -1, 0, 0},
  };
  struct litert_event events[5];
  assert_int_equal(litert_events_read((const unsigned char *)raw, 5, events), 2);
  assert_string_equal(events[0].tag, "GATHER");
  assert_false(events[0].is_delegated);
  assert_int_equal(events[0].start_us, 36754281905);
  assert_int_equal(events[0].duration_us, 31);
  assert_int_equal(events[0].node, 4);
  assert_string_equal(events[1].tag, "Convolution (NHWC, F32) IGEMM");
  assert_true(events[1].is_delegated);
  assert_int_equal(events[1].start_us, 0);
  assert_int_equal(events[1].duration_us, 14128);
  assert_int_equal(events[1].node, 1);
}

static void the_upper_half_of_the_kind_is_no_kind(void **state)
{
  const struct raw raw = {"ADD", UINT64_C(0xaaaaaaaa00000002), 5, 6, {0}, 0, 0, 0};
  struct litert_event event;
  assert_int_equal(litert_events_read((const unsigned char *)&raw, 1, &event), 1);
}

static void impossible_events_are_left_out(void **state)
{
  const struct raw raw[] = {
      {NULL, 2, 1, 1, {0}, 0, 0, 0},   {"ADD", 2, 1, UINT64_MAX, {0}, 0, 0, 0}, {"ADD", 2, UINT64_MAX, 1, {0}, 0, 0, 0},
      {"ADD", 2, 1, 1, {0}, -1, 0, 0}, {"ADD", 4, 1, 1, {0}, 0, 0, 0},
  };
  struct litert_event events[5];
  assert_int_equal(litert_events_read((const unsigned char *)raw, 5, events), 0);
}

static void what_was_written_is_measured(void **state)
{
  unsigned char bytes[4 * LITERT_EVENT_ROOM];
  memset(bytes, LITERT_EVENT_GUARD, sizeof bytes);
  assert_int_equal(litert_events_written(bytes, sizeof bytes), 0);
  memset(bytes, 0, 4 * LITERT_EVENT_BYTES);
  assert_int_equal(litert_events_written(bytes, sizeof bytes), 4 * LITERT_EVENT_BYTES);
  // Padding behind the last member may stay as it was: whole words count.
  memset(bytes, LITERT_EVENT_GUARD, sizeof bytes);
  memset(bytes, 0, 4 * LITERT_EVENT_BYTES - 4);
  assert_int_equal(litert_events_written(bytes, sizeof bytes), 4 * LITERT_EVENT_BYTES);
  memset(bytes, 0, 4 * 112); // a later version with a member more
  assert_int_not_equal(litert_events_written(bytes, sizeof bytes), 4 * LITERT_EVENT_BYTES);
}

static void lines_become_one(void **state)
{
  char text[64];
  framework_stderr_capture_line(
      "INFO: [a.cc:1] hello\nERROR: [b.cc:22] Failed to invoke.\nERROR: gather index out of bounds \n", "ERROR: ", text,
      sizeof text);
  assert_string_equal(text, "Failed to invoke; gather index out of bounds");
  framework_stderr_capture_line("", "ERROR: ", text, sizeof text);
  assert_string_equal(text, "");
  framework_stderr_capture_line("ERROR: \nERROR: [no end\nERROR: ...", "ERROR: ", text, sizeof text);
  assert_string_equal(text, "[no end");
  char small[6];
  framework_stderr_capture_line("ERROR: abcdefgh\nERROR: more", "ERROR: ", small, sizeof small);
  assert_string_equal(small, "abcde");
}

static void stderr_is_caught_and_given_back(void **state)
{
  char text[64];
  struct stderr_capture capture;
  int before = dup(STDERR_FILENO), pipes[2];
  assert_int_equal(pipe(pipes), 0);
  dup2(pipes[1], STDERR_FILENO);
  framework_stderr_capture_start(&capture);
  assert_int_equal(write(STDERR_FILENO, "noise\nERROR: why", 16), 16);
  framework_stderr_capture_end(&capture, "ERROR: ", text, sizeof text);
  dup2(before, STDERR_FILENO);
  close(before);
  assert_string_equal(text, "why");
  char passed[32] = {0};
  assert_int_equal(read(pipes[0], passed, sizeof passed), 16); // and nothing is lost
  assert_string_equal(passed, "noise\nERROR: why");
  close(pipes[0]);
  close(pipes[1]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operators_are_told),
      cmocka_unit_test(the_upper_half_of_the_kind_is_no_kind),
      cmocka_unit_test(impossible_events_are_left_out),
      cmocka_unit_test(what_was_written_is_measured),
      cmocka_unit_test(lines_become_one),
      cmocka_unit_test(stderr_is_caught_and_given_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
