// SPDX-License-Identifier: Apache-2.0
// A run that is correlated again after it got more spans, as those of a live file: its notes are of the last time.
#include "correlate/correlate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <xsp/span.h>

#include <cmocka.h>

#include "tests/support/expect.h"
#include "tests/support/folder.h"

static int64_t span_count;

static void add_call(struct store *store, const char *name)
{
  span_count++;
  const struct store_span span = {.span_id = span_count,
                                  .start_ns = span_count * 1000,
                                  .duration_ns = 500,
                                  .track_id = 1,
                                  .level = XSP_LEVEL_MODEL,
                                  .name = store_string(store, name, strlen(name))};
  OK(store_add_spans(store, 1, &span, 1, err));
}

// How many names the run's note has, after it is correlated; "": it has no note.
static void check_names(struct store *store, const char *expected)
{
  struct arena arena = {0};
  struct store_note *notes;
  size_t count, found = 0;
  OK(correlate_store(store, err));
  OK(store_notes(store, 1, &arena, &notes, &count, err));
  for (size_t i = 0; i < count; i++)
    if (strcmp(notes[i].key, STORE_NOTE_OBSERVATION_NAMES) == 0) {
      assert_string_equal(notes[i].value, expected);
      found++;
    }
  assert_int_equal(found, *expected != 0);
  arena_done(&arena);
}

static void test_notes_are_of_the_last_time(void **state)
{
  (void)state;
  struct store *store;
  const struct store_experiment experiment = {.experiment_id = 1, .name = "net"};
  const struct store_run run = {.run_id = 1, .experiment_id = 1, .epoch_is_unix = true};
  const struct store_track track = {
      .run_id = 1, .track_id = 1, .device_id = STORE_NONE, .stream_id = STORE_NONE, .process_id = 1, .thread_id = 1};
  OK(store_create(path, true, &store, err));
  OK(store_add_experiment(store, &experiment, err));
  OK(store_add_run(store, &run, err));
  OK(store_add_track(store, &track, err));
  add_call(store, "forward");
  check_names(store, "");
  add_call(store, "evaluate");
  check_names(store, "2");
  add_call(store, "save");
  check_names(store, "3");
  for (int i = 0; i < 64; i++)
    add_call(store, (char[]){(char)('?' + i), 0});
  check_names(store, ""); // each call has its own
  store_discard(store);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_notes_are_of_the_last_time)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
