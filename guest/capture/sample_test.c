// SPDX-License-Identifier: Apache-2.0
// Samples in this process's own session, read back as trace/format/session.h describes the folder.
#include "tests/support/ring_reader.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xsp/call_path.h>
#include <xsp/tracer.h>

#include <cmocka.h>

static char directory[] = "/dev/shm/xsp-sample-test-XXXXXX";
static struct session_read result;

static int make_folder(void **state)
{
  (void)state;
  return mkdtemp(directory) == NULL || rmdir(directory) != 0;
}

static int remove_session(void **state)
{
  (void)state;
  session_read_done(&result);
  remove_folder(directory);
  return 0;
}

// The n-th sample of this thread, in the order of writing.
static const struct record *sample(size_t n)
{
  for (size_t i = 0; i < result.count; i++)
    if (result.records[i].record.type == RECORD_SAMPLE && n-- == 0) {
      assert_int_equal(result.records[i].tid, (uint32_t)gettid());
      return &result.records[i].record;
    }
  fail_msg("there are not so many samples");
  return NULL;
}

static void read_again(void)
{
  session_read_done(&result);
  assert_true(session_read(directory, &result));
}

static void test_without_a_session(void **state)
{
  (void)state;
  errno = 77;
  assert_int_equal(xsp_sample(XSP_SAMPLE_CPU, 0, 5), 0);
  assert_int_equal(errno, 77);
  assert_int_equal(xsp_attach(directory), 0);
}

static void test_within_the_innermost_open_span(void **state)
{
  (void)state;
  struct xsp_site *site = xsp_site_create("app", XSP_LEVEL_APPLICATION, "span", NULL);
  struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_NATIVE, .name = "f"};
  uint32_t path = xsp_call_path(0, &frame);
  uint64_t before = xsp_clock_ticks();
  assert_int_equal(xsp_sample(XSP_SAMPLE_CPU, path, 5), 1);
  struct xsp_span outer = xsp_span_start(site), inner = xsp_span_start(site);
  assert_int_equal(xsp_sample(XSP_SAMPLE_LOCK, 0, UINT64_C(1) << 40), 1);
  xsp_span_finish(&inner);
  assert_int_equal(xsp_sample(XSP_SAMPLE_CHILD, path, 7), 1);
  xsp_span_finish(&outer);
  uint64_t after = xsp_clock_ticks();
  read_again();
  const struct record *alone = sample(0), *innermost = sample(1), *around = sample(2);
  assert_int_equal(alone->id, 0);
  assert_int_equal(alone->site, path);
  assert_int_equal(alone->kind_clock, SAMPLE_CPU);
  assert_int_equal(alone->duration, 5);
  assert_true(alone->start >= before && alone->start <= innermost->start && around->start <= after);
  assert_int_equal(innermost->id, inner.id);
  assert_int_equal(innermost->kind_clock, SAMPLE_LOCK);
  assert_int_equal(innermost->site, 0);
  assert_true(innermost->duration == UINT64_C(1) << 40);
  assert_int_equal(around->id, outer.id);
}

// One entry for frames that are a path already; the same arguments, the same path.
static void test_joined_paths(void **state)
{
  (void)state;
  struct xsp_frame line = {.size = sizeof line, .kind = XSP_FRAME_PYTHON, .name = "line"};
  struct xsp_frame outer = {.size = sizeof outer, .kind = XSP_FRAME_NATIVE, .address = 1};
  uint32_t caller = xsp_call_path(0, &line), inner = xsp_call_path(xsp_call_path(0, &outer), &outer), deep = inner;
  uint32_t joined = xsp_sample_path(caller, inner);
  assert_true(joined > caller && joined > inner);
  assert_int_equal(xsp_sample_path(caller, inner), joined);
  assert_int_equal(xsp_sample_path(0, inner), inner);
  read_again();
  const struct catalog_path *path = (const void *)(result.catalog + (size_t)joined * 8);
  assert_int_equal(path->entry.type, CATALOG_PATH);
  assert_int_equal(path->caller, caller);
  assert_int_equal(path->frame, inner);
  assert_int_equal(path->depth, 3);
  const uint64_t misused = result.misused, lost = result.lost;
  assert_int_equal(xsp_sample_path(caller, 0), 0);
  assert_int_equal(xsp_sample_path(caller, 1), 0);
  assert_int_equal(xsp_sample_path(1, inner), 0);
  for (uint32_t i = 2; i <= CATALOG_JOINED_FRAMES_MOST; i++)
    deep = xsp_call_path(deep, &outer);
  assert_int_equal(xsp_sample_path(caller, deep), 0);
  read_again();
  assert_int_equal(result.misused - misused, 3);
  assert_int_equal(result.lost - lost, 1);
}

static void test_deeper_than_the_open_list(void **state)
{
  (void)state;
  struct xsp_site *site = xsp_site_create("app", XSP_LEVEL_APPLICATION, "deep", NULL);
  struct xsp_span spans[RING_OPEN_SPANS + 3];
  const size_t count = sizeof spans / sizeof *spans;
  for (size_t i = 0; i < count; i++)
    spans[i] = xsp_span_start(site);
  assert_int_equal(xsp_sample(XSP_SAMPLE_CPU, 0, 1), 1);
  for (size_t i = count; i-- > 0;)
    xsp_span_finish(&spans[i]);
  read_again();
  assert_int_equal(sample(3)->id, spans[RING_OPEN_SPANS - 1].id);
}

static void take_in_handler(int signal)
{
  (void)signal;
  (void)xsp_sample(XSP_SAMPLE_CPU, 0, 1);
}

static void test_in_a_handler(void **state)
{
  (void)state;
  assert_true(signal(SIGUSR1, take_in_handler) != SIG_ERR);
  struct xsp_site *site = xsp_site_create("app", XSP_LEVEL_APPLICATION, "interrupted", NULL);
  struct xsp_span span = xsp_span_start(site);
  assert_int_equal(raise(SIGUSR1), 0);
  xsp_span_finish(&span);
  read_again();
  assert_int_equal(sample(4)->id, span.id);
}

static void test_no_such_kind(void **state)
{
  (void)state;
  size_t before = result.count;
  assert_int_equal(xsp_sample((enum xsp_sample_kind)0, 0, 1), 0);
  assert_int_equal(xsp_sample((enum xsp_sample_kind)6, 0, 1), 0);
  read_again();
  assert_int_equal(result.count, before);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_without_a_session), cmocka_unit_test(test_within_the_innermost_open_span),
      cmocka_unit_test(test_joined_paths),      cmocka_unit_test(test_deeper_than_the_open_list),
      cmocka_unit_test(test_in_a_handler),      cmocka_unit_test(test_no_such_kind),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_session);
}
