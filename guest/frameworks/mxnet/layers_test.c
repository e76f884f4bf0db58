// SPDX-License-Identifier: Apache-2.0
// Events of MXNet's profile as layers: their threads, and the microseconds in which they began and ended.
#include "frameworks/mxnet/layers.h"

#include "tests/support/ring_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/expect.h"

#define THREAD 7

// In µs. Published in a child, which belongs to the session.
static const struct mxnet_event events[] = {
    {"first", 151, 160, THREAD, 0},
    {"other", 155, 170, THREAD + 1, 1},
    {"second", 160, 171, THREAD, 2}, // begins in the microsecond in which "first" ends
};

static void publish(void)
{
  const struct layer_publisher_options options = {"mxnet", MXNET_UNTOLD, LAYER_TIMES_REALTIME};
  struct layer_publisher *publisher = framework_layer_publisher_create(&options);
  static const struct known_thread known = {THREAD, 4711};
  const struct thread_table threads = {&known, 1};
  if (mxnet_layers_publish(publisher, events, sizeof events / sizeof events[0], &threads, NULL, NULL, 0,
                           (struct xsp_context){0}, NULL) != STATUS_OK)
    _exit(98);
  framework_layer_publisher_free(publisher);
}

// The layers as a session with these levels gets them.
static void check_layers(const char *levels, uint64_t more_ns)
{
  const struct {
    const char *name;
    uint64_t start_ns, end_ns;
  } expected[] = {
      {"first", 151000, 160000 + more_ns}, {"other", 155000, 170000 + more_ns}, {"second", 160000, 171000 + more_ns}};
  char folder[] = "/tmp/xsp-mxnet-layers-XXXXXX";
  assert_non_null(mkdtemp(folder));
  pid_t child = fork();
  if (child == 0) {
    setenv("XSP_LEVELS", levels, 1);
    if (xsp_attach(folder) != 0)
      _exit(99);
    publish();
    _exit(0);
  }
  int status = 0;
  struct session_read read = {0};
  assert_int_equal(waitpid(child, &status, 0), child);
  bool is_read = status == 0 && session_read(folder, &read);
  remove_folder(folder);
  assert_true(is_read);
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    const struct read_record *span = find_span(&read, expected[i].name);
    assert_non_null(span);
    assert_int_equal(span->record.start, expected[i].start_ns);
    assert_int_equal(span->record.start + span->record.duration, expected[i].end_ns);
    uint32_t id = read.process[span->process].track[span->record.track - 1];
    const struct catalog_track *track = (const struct catalog_track *)(read.catalog + (size_t)id * 8);
    assert_int_equal(track->thread_id, strcmp(expected[i].name, "other") == 0 ? 0 : 4711);
  }
  session_read_done(&read);
}

static void layers_have_threads_and_their_last_microsecond(void **state)
{
  check_layers("M/L", 0);
  check_layers("M/L/K", 999);
  check_layers("M/L/Lib", 999);
}

int main(void)
{
  unsetenv("XSP_SESSION");
  const struct CMUnitTest tests[] = {cmocka_unit_test(layers_have_threads_and_their_last_microsecond)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
