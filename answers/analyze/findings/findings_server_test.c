// SPDX-License-Identifier: Apache-2.0
// F29, F30, F33 and F40 to F42 over programs that serve predictions from threads of their own.
#include "analyze/findings/test_findings.h"

#include <string.h>
#include <xsp/call_path.h>

#define FILE_OF "/home/me/serve.py"
#define PYTHON "/usr/lib/python3.11/"
#define TORCH "/venv/lib/python3.11/site-packages/torch/"

static uint32_t python(uint32_t caller, const char *name, const char *file, int64_t line)
{
  return fixture_frame(&fixture, caller, XSP_FRAME_PYTHON, name, file, line);
}

static bool has_paths;      // operators have call paths, as samples always have
static uint32_t tracks[32]; // by thread id; 0: it has none yet

static uint32_t thread(int64_t id)
{
  if (tracks[id] == 0)
    tracks[id] = fixture_track(&fixture, &(const struct store_track){.name = "python3",
                                                                     .host = "h",
                                                                     .process_id = 7,
                                                                     .thread_id = id,
                                                                     .device_id = STORE_NONE,
                                                                     .stream_id = STORE_NONE});
  return tracks[id];
}

static void start(int64_t batch_size)
{
  static const struct store_system_value system[] = {{.key = "cpus_allowed", .number = 2, .is_number = true}};
  memset(tracks, 0, sizeof tracks);
  has_paths = true;
  fixture_experiment_on(&fixture, "serve", system, 1);
  fixture_run(&fixture, "A/M/L", batch_size);
}

// 60 predictions of `model_ms`, one each 10 ms, by the threads in turn, called by `handle` (serve.py:20).
static void serve(int threads, int64_t model_ms)
{
  uint32_t handle = python(0, "handle", FILE_OF, 20), model = python(handle, "forward", TORCH "nn/linear.py", 134);
  for (int i = 0; i < 60; i++) {
    fixture.thread = thread(8 + i % threads);
    fixture.context_id = has_paths ? model : 0;
    (void)fixture_span(&fixture, XSP_LEVEL_MODEL, "Net", i * 10 * MS, model_ms * MS);
    (void)fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::linear", i * 10 * MS, model_ms * MS);
    fixture.context_id = model;
    fixture_sample(&fixture, SAMPLE_CPU, (i * 10 + model_ms) * MS, model_ms * MS);
  }
}

// What a thread waits for, `ms` at the end of each of the 60 intervals but the last.
static void waits(int64_t id, uint32_t context_id, unsigned kind, int64_t ms)
{
  fixture.thread = thread(id);
  fixture.context_id = context_id;
  for (int i = 1; i < 60; i++)
    fixture_sample(&fixture, kind, i * 10 * MS, ms * MS);
}

static uint32_t in_lock(void)
{
  return python(python(0, "run", PYTHON "threading.py", 975), "do_POST", FILE_OF, 31);
}

static void test_f40(void **unused)
{
  (void)unused;
  start(4);
  serve(4, 6);
  for (int i = 0; i < 4; i++)
    waits(8 + i, in_lock(), SAMPLE_LOCK, 5);
  assert_int_equal(ask_rule("F40"), 1);
  ASSERT_NEAR(found_number(0, "line"), 31);
  ASSERT_NEAR(found_number(0, "saving_pct"), 100 * (1 - 1 / (1 + 4 * 59 * 5 / 596.0)));
}

static void test_f40_is_silent_where_predictions_overlap(void **unused)
{
  (void)unused;
  start(4);
  serve(4, 12);
  for (int i = 0; i < 4; i++)
    waits(8 + i, in_lock(), SAMPLE_LOCK, 5);
  assert_int_equal(ask_rule("F40"), 0);
}

// A queue waits in Python's own code.
static void test_f40_is_silent_about_waits_for_requests(void **unused)
{
  (void)unused;
  start(4);
  serve(4, 6);
  for (int i = 0; i < 4; i++)
    waits(8 + i, python(in_lock(), "get", PYTHON "queue.py", 171), SAMPLE_LOCK, 5);
  assert_int_equal(ask_rule("F40"), 0);
}

static void test_f41(void **unused)
{
  (void)unused;
  start(4);
  serve(1, 4);
  waits(8, python(0, "handle", FILE_OF, 18), SAMPLE_SLEEP, 6);
  assert_int_equal(ask_rule("F41"), 1);
  ASSERT_NEAR(found_number(0, "line"), 18);
  ASSERT_NEAR(found_number(0, "share_pct"), 100 * 59 * 6 / (59 * 6 + 60 * 4.0));
  assert_int_equal(ask_rule("F29"), 0); // its cause is the same
}

static void test_f41_is_silent_about_many_threads(void **unused)
{
  (void)unused;
  start(4);
  serve(3, 4);
  for (int i = 0; i < 3; i++)
    waits(8 + i, python(0, "handle", FILE_OF, 18), SAMPLE_SLEEP, 6);
  assert_int_equal(ask_rule("F41"), 0);
}

static void test_f41_is_silent_where_threads_are_idle(void **unused)
{
  (void)unused;
  start(4);
  serve(1, 2);
  waits(8, python(0, "handle", FILE_OF, 18), SAMPLE_SLEEP, 4);
  waits(8, python(0, "readinto", PYTHON "socket.py", 706), SAMPLE_IO, 4);
  assert_int_equal(ask_rule("F41"), 0);
}

static void test_f42_with(bool operators_have_paths)
{
  start(1);
  has_paths = operators_have_paths;
  serve(1, 8);
  for (int i = 0; i < 3; i++)
    waits(20 + i, python(python(0, "client", FILE_OF, 40), "result", PYTHON "concurrent/futures/_base.py", 451),
          SAMPLE_LOCK, 10);
  assert_int_equal(ask_rule("F42"), 1);
  ASSERT_NEAR(found_number(0, "saving_pct"), 100 * (480 / 598.0) * (1 - 598 / (3 * 59 * 10.0)));
  ASSERT_NEAR(found_number(0, "line"), 20);
}

static void test_f42(void **unused)
{
  (void)unused;
  test_f42_with(true);
}

static void test_f42_has_the_line_of_samples(void **unused)
{
  (void)unused;
  test_f42_with(false);
}

static void test_f42_is_silent_about_batches(void **unused)
{
  (void)unused;
  start(2);
  serve(1, 8);
  for (int i = 0; i < 3; i++)
    waits(20 + i, python(0, "client", FILE_OF, 40), SAMPLE_LOCK, 10);
  assert_int_equal(ask_rule("F42"), 0);
}

// The main thread of a server waits for all of it.
static void test_f33_is_silent_about_servers(void **unused)
{
  (void)unused;
  start(4);
  serve(2, 6);
  waits(7, python(python(0, "main", FILE_OF, 50), "join", PYTHON "threading.py", 1100), SAMPLE_LOCK, 9);
  fixture.context_id = python(python(0, "main", FILE_OF, 5), "forward", TORCH "nn/linear.py", 134);
  fixture_sample(&fixture, SAMPLE_CPU, 100 * MS, 100 * MS);
  assert_int_equal(ask_rule("F33"), 0);
}

// A server's event loop is in a thread of its own, below frames of libraries.
static void test_f29_in_the_thread_of_an_event_loop(void **unused)
{
  (void)unused;
  start(4);
  serve(1, 4);
  uint32_t loop = python(0, "run", PYTHON "asyncio/runners.py", 118),
           library = python(loop, "run_asgi", "/venv/lib/python3.11/site-packages/uvicorn/h11_impl.py", 410);
  waits(8, python(library, "predict", FILE_OF, 12), SAMPLE_SLEEP, 6);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "blocks the event loop"));
  ASSERT_NEAR(found_number(0, "line"), 12);
  assert_int_equal(ask_rule("F41"), 0);
}

// The main thread's coroutine reads requests from a pipe, for threads that run predictions.
static void test_f29_is_silent_about_an_event_loop_that_waits_for_requests(void **unused)
{
  (void)unused;
  start(4);
  serve(1, 4);
  uint32_t loop = python(0, "Handle._run", PYTHON "asyncio/events.py", 80);
  waits(7, python(python(loop, "main", FILE_OF, 12), "Connection._recv", PYTHON "multiprocessing/connection.py", 395),
        SAMPLE_IO, 9);
  assert_int_equal(ask_rule("F29"), 0);
}

// On two processors, of which two for requests; the others are clients.
static size_t computing_beside_two(int clients)
{
  start(4);
  serve(2, 6);
  for (int i = 0; i < clients; i++)
    waits(20 + i, python(0, "client", FILE_OF, 40), SAMPLE_CPU, 3);
  return ask_rule("F30");
}

static void test_f30_is_silent_about_threads_of_servers(void **unused)
{
  (void)unused;
  assert_int_equal(computing_beside_two(4), 0);
}

static void test_f30_of_more_than_threads_of_servers(void **unused)
{
  (void)unused;
  assert_int_equal(computing_beside_two(5), 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_f40),
      TEST(test_f40_is_silent_where_predictions_overlap),
      TEST(test_f40_is_silent_about_waits_for_requests),
      TEST(test_f41),
      TEST(test_f41_is_silent_about_many_threads),
      TEST(test_f41_is_silent_where_threads_are_idle),
      TEST(test_f42),
      TEST(test_f42_has_the_line_of_samples),
      TEST(test_f42_is_silent_about_batches),
      TEST(test_f33_is_silent_about_servers),
      TEST(test_f29_in_the_thread_of_an_event_loop),
      TEST(test_f29_is_silent_about_an_event_loop_that_waits_for_requests),
      TEST(test_f30_is_silent_about_threads_of_servers),
      TEST(test_f30_of_more_than_threads_of_servers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
