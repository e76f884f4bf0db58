// SPDX-License-Identifier: Apache-2.0
// A22 over samples with known figures: whose line, which kind of code, waits, threads, the error of sampling; the sweep by time.
#include "analyze/lines/innermost.h"
#include "analyze/test_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xsp/call_path.h>

#define MS 1000000
#define USER "/home/me/train.py"

static struct fixture fixture;
static uint32_t main_context, step_context, numpy_context, worker_context;
static uint32_t main_thread, other_thread;

static uint32_t native(uint32_t caller, const char *name, const char *module)
{
  const struct store_frame frame = {.kind = XSP_FRAME_NATIVE, .name = name, .module = module, .address = 64};
  return store_context_id(fixture.store, caller, store_frame_id(fixture.store, &frame));
}

static void take(uint32_t thread, uint32_t context, unsigned kind, int64_t time_ms, int64_t duration_ms)
{
  fixture.thread = thread;
  fixture.context_id = context;
  fixture_sample(&fixture, kind, time_ms * MS, duration_ms * MS);
}

// A program of 1000 ms: main calls step (train.py:20), which calls NumPy, and an operator from 100 to 200 ms.
static void start(void)
{
  fixture_start(&fixture);
  main_context = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "main", USER, 10);
  step_context = fixture_frame(&fixture, main_context, XSP_FRAME_PYTHON, "step", USER, 20);
  uint32_t library = fixture_frame(&fixture, step_context, XSP_FRAME_PYTHON, "dot",
                                   "/venv/lib/python3.11/site-packages/numpy/core.py", 5);
  numpy_context = native(library, "dgemm", "/venv/lib/python3.11/site-packages/numpy.libs/libopenblas64_.so");
  uint32_t pool =
      fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "_worker", "/usr/lib/python3.11/concurrent/thread.py", 81);
  worker_context = native(pool, "pthread_cond_wait", "/usr/lib/x86_64-linux-gnu/libc.so.6");
  const struct store_run run = {.batch_size = 1, .dropped_count = 2, .own_pct = 0};
  fixture_run_full(&fixture, &run);
  main_thread = fixture_track(&fixture, &(const struct store_track){.name = "python3",
                                                                    .host = "h",
                                                                    .process_id = 7,
                                                                    .thread_id = 7,
                                                                    .device_id = STORE_NONE,
                                                                    .stream_id = STORE_NONE});
  other_thread = fixture_track(&fixture, &(const struct store_track){.name = "python3 8",
                                                                     .host = "h",
                                                                     .process_id = 7,
                                                                     .thread_id = 8,
                                                                     .device_id = STORE_NONE,
                                                                     .stream_id = STORE_NONE});
  fixture.thread = main_thread;
  fixture.context_id = 0;
  (void)fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "program", "python3 train.py", 0, 1000 * MS);
  (void)fixture_span_in(&fixture, XSP_LEVEL_LAYER, "module", "Net", 90 * MS, 200 * MS);
  (void)fixture_span_in(&fixture, XSP_LEVEL_LAYER, "operator", "aten::add", 100 * MS, 100 * MS);
}

static void add_samples(void)
{
  take(main_thread, step_context, SAMPLE_CPU, 50, 10);   // Python
  take(main_thread, step_context, SAMPLE_CPU, 95, 10);   // Python, in the module around the operator
  take(main_thread, step_context, SAMPLE_CPU, 150, 30);  // in the operator
  take(main_thread, numpy_context, SAMPLE_CPU, 300, 50); // native, below step
  take(main_thread, main_context, SAMPLE_CPU, 900, 20);
  take(main_thread, main_context, SAMPLE_SLEEP, 800, 400);
  take(other_thread, worker_context, SAMPLE_LOCK, 990, 900); // parked
  take(other_thread, worker_context, SAMPLE_CPU, 995, 5);
  take(other_thread, 0, SAMPLE_CPU, 996, 1); // without a call path
  fixture_ready(&fixture);
}

static void check_row(size_t row, double samples, double python_ms, double native_ms, double operator_ms,
                      double waiting_ms)
{
  ASSERT_NEAR(fixture_number(&fixture, row, "samples"), samples);
  ASSERT_NEAR(fixture_number(&fixture, row, "python_ms"), python_ms);
  ASSERT_NEAR(fixture_number(&fixture, row, "native_ms"), native_ms);
  ASSERT_NEAR(fixture_number(&fixture, row, "operator_ms"), operator_ms);
  ASSERT_NEAR(fixture_number(&fixture, row, "waiting_ms"), waiting_ms);
  ASSERT_NEAR(fixture_number(&fixture, row, "time_ms"), python_ms + native_ms + operator_ms + waiting_ms);
}

static void test_by_line(void **state)
{
  (void)state;
  start();
  add_samples();
  assert_int_equal(fixture_ask(&fixture, "lines"), STATUS_OK);
  assert_string_equal(fixture.tables[0].id, "A22");
  assert_int_equal(fixture.tables[0].row_count, 4);
  assert_string_equal(fixture_text(&fixture, 0, "file"), USER);
  ASSERT_NEAR(fixture_number(&fixture, 0, "line"), 10);
  check_row(0, 1, 20, 0, 0, 400);
  assert_null(fixture_text(&fixture, 0, "hottest"));
  assert_string_equal(fixture_text(&fixture, 1, "function"), "step");
  ASSERT_NEAR(fixture_number(&fixture, 1, "line"), 20);
  check_row(1, 4, 20, 50, 30, 0); // of 7 samples, 126 ms on CPUs
  ASSERT_NEAR(fixture_number(&fixture, 1, "error_ms"),
              1.96 / 126 * sqrt(26.0 * 26 * 3600 + 100.0 * 100 * 426)); // 3600: 10² + …
  ASSERT_NEAR(fixture_number(&fixture, 1, "time_pct"), 10);
  assert_string_equal(fixture_text(&fixture, 1, "hottest"), "dot (core.py)");
  // No line of the user's: the innermost that is known. The wait is in no row.
  assert_string_equal(fixture_text(&fixture, 2, "function"), "_worker");
  check_row(2, 1, 5, 0, 0, 0);
  assert_string_equal(fixture_text(&fixture, 2, "hottest"), "pthread_cond_wait (libc)");
  assert_null(fixture_text(&fixture, 3, "file"));
  check_row(3, 1, 0, 1, 0, 0);
  fixture_done(&fixture);
}

// XLA's: its layers are on a track of their own, and have the call path of the Python that made them.
static void test_a_layer_of_a_librarys_thread(void **state)
{
  (void)state;
  start();
  uint32_t layer = fixture_frame(&fixture, step_context, XSP_FRAME_FRAMEWORK, "dot_general", NULL, 0);
  uint32_t library = native(0, "start_thread", "/usr/lib/x86_64-linux-gnu/libc.so.6");
  uint32_t profiled = fixture_track(&fixture, &(const struct store_track){.name = "tf_XLAEigen",
                                                                          .host = "h",
                                                                          .process_id = 7,
                                                                          .thread_id = 8,
                                                                          .device_id = STORE_NONE,
                                                                          .stream_id = STORE_NONE});
  fixture.thread = profiled;
  fixture.context_id = layer;
  (void)fixture_span_in(&fixture, XSP_LEVEL_LAYER, "fused", "fusion.1", 300 * MS, 100 * MS);
  take(other_thread, library, SAMPLE_CPU, 350, 10);
  take(other_thread, main_context, SAMPLE_CPU, 360, 10); // has a line
  take(other_thread, library, SAMPLE_LOCK, 370, 10);     // a wait
  take(other_thread, library, SAMPLE_CPU, 450, 7);       // after it
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "lines"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 3);
  ASSERT_NEAR(fixture_number(&fixture, 0, "line"), 10);
  ASSERT_NEAR(fixture_number(&fixture, 1, "line"), 20);
  check_row(1, 1, 0, 0, 10, 0);
  assert_string_equal(fixture_text(&fixture, 1, "hottest"), "dot_general");
  assert_string_equal(fixture_text(&fixture, 2, "function"), "start_thread");
  fixture_done(&fixture);
}

static void test_summary(void **state)
{
  (void)state;
  start();
  add_samples();
  assert_int_equal(fixture_ask(&fixture, "A22"), STATUS_OK);
  ASSERT_NEAR(fixture_summary(&fixture, "samples"), 7);
  ASSERT_NEAR(fixture_summary(&fixture, "python_ms"), 45);
  ASSERT_NEAR(fixture_summary(&fixture, "native_ms"), 51);
  ASSERT_NEAR(fixture_summary(&fixture, "operator_ms"), 30);
  ASSERT_NEAR(fixture_summary(&fixture, "waiting_ms"), 400);
  ASSERT_NEAR(fixture_summary(&fixture, "other_waiting_ms"), 900);
  ASSERT_NEAR(fixture_summary(&fixture, "time_ms"), 526);
  ASSERT_NEAR(fixture_summary(&fixture, "duration_ms"), 1000);
  ASSERT_NEAR(fixture_summary(&fixture, "sampled_pct"), 52); // 120 on a CPU and 400 in waits, of 1000
  ASSERT_NEAR(fixture_summary(&fixture, "rate_hz"), 7 / 0.126);
  ASSERT_NEAR(fixture_summary(&fixture, "lost"), 2);
  fixture_done(&fixture);
}

static void ask_by(const char *by)
{
  fixture.request.by = by;
  assert_int_equal(fixture_ask(&fixture, "A22"), STATUS_OK);
}

static void test_by(void **state)
{
  (void)state;
  start();
  take(main_thread, fixture_frame(&fixture, main_context, XSP_FRAME_PYTHON, "step", USER, 21), SAMPLE_CPU, 60, 15);
  add_samples();
  ask_by("function");
  assert_int_equal(fixture.tables[0].row_count, 4);
  assert_string_equal(fixture_text(&fixture, 1, "function"), "step");
  ASSERT_NEAR(fixture_number(&fixture, 1, "line"), 20);
  check_row(1, 5, 35, 50, 30, 0);
  ask_by("file");
  assert_int_equal(fixture.tables[0].row_count, 3);
  assert_string_equal(fixture_text(&fixture, 0, "file"), USER);
  check_row(0, 6, 55, 50, 30, 400);
  assert_false(fixture_has_column(&fixture, "line"));
  ask_by("thread");
  assert_int_equal(fixture.tables[0].row_count, 2);
  assert_string_equal(fixture_text(&fixture, 0, "thread"), "python3 8");
  ASSERT_NEAR(fixture_number(&fixture, 0, "thread_id"), 8);
  check_row(0, 2, 5, 1, 0, 900);
  check_row(1, 6, 55, 50, 30, 400);
  ask_by("process");
  assert_int_equal(fixture.tables[0].row_count, 1);
  assert_string_equal(fixture_text(&fixture, 0, "process"), "python3");
  ASSERT_NEAR(fixture_number(&fixture, 0, "process_id"), 7);
  check_row(0, 8, 60, 51, 30, 1300);
  fixture.request.by = "layer";
  assert_int_equal(fixture_ask(&fixture, "A22"), STATUS_USE);
  fixture_done(&fixture);
}

static void test_a_process_that_executes_another_program(void **state)
{
  (void)state;
  start();
  take(main_thread, step_context, SAMPLE_CPU, 50, 10);
  const struct store_track next = {
      .name = "worker", .host = "h", .process_id = 7, .thread_id = 7, .device_id = STORE_NONE, .stream_id = STORE_NONE};
  take(fixture_track(&fixture, &next), step_context, SAMPLE_CPU, 60, 10);
  fixture_ready(&fixture);
  ask_by("thread");
  assert_int_equal(fixture.tables[0].row_count, 1);
  assert_string_equal(fixture_text(&fixture, 0, "thread"), "worker");
  ask_by("process");
  assert_string_equal(fixture_text(&fixture, 0, "process"), "worker");
  fixture_done(&fixture);
}

static void test_no_samples(void **state)
{
  (void)state;
  start();
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A22"), STATUS_NO);
  assert_non_null(strstr(fixture.error.why, "samples"));
  fixture_done(&fixture);
}

// The interpreter and the C library are Python's time where Python calls them; a library of an extension is not.
static void test_native_code(void **state)
{
  (void)state;
  start();
  uint32_t loop = native(main_context, "_PyEval_EvalFrameDefault", "/usr/bin/python3.11");
  uint32_t copy = native(loop, "memcpy", "/usr/lib/x86_64-linux-gnu/libc.so.6");
  uint32_t extension = native(loop, "scan", "/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so");
  uint32_t inside = native(extension, "memcpy", "/usr/lib/x86_64-linux-gnu/libc.so.6");
  uint32_t program = native(0, "solve", "/home/me/solve"); // no Python at all
  take(main_thread, loop, SAMPLE_CPU, 301, 1);
  take(main_thread, copy, SAMPLE_CPU, 302, 2);
  take(main_thread, extension, SAMPLE_CPU, 303, 4);
  take(main_thread, inside, SAMPLE_CPU, 304, 8);
  take(other_thread, program, SAMPLE_CPU, 305, 16);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A22"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 2);
  assert_string_equal(fixture_text(&fixture, 0, "function"), "solve");
  check_row(0, 1, 0, 16, 0, 0);
  check_row(1, 4, 3, 12, 0, 0);
  assert_string_equal(fixture_text(&fixture, 1, "hottest"), "scan (_json)");
  fixture_done(&fixture);
}

// A1: samples in Python, on the observation's thread and within its time. Warm-up does not count.
// What a line calls, as a person would name it.
static void test_names_of_native_code(void **state)
{
  (void)state;
  static const char torch[] = "/venv/lib/python3.11/site-packages/torch/lib/libtorch_python.so";
  static const char *const names[][2] = {
      {"torch::autograd::THPVariable_contiguous(_object*, _object*)", "Tensor.contiguous (libtorch_python)"},
      {"_object* torch::autograd::TypeError_to_NotImplemented_<&torch::autograd::THPVariable_matmul>(_object*, "
       "_object*)",
       "Tensor.matmul (libtorch_python)"},
      {"void at::(anonymous namespace)::fill<float, 2>(at::Tensor&)",
       "at::(anonymous namespace)::fill<float, 2> (libtorch_python)"},
      {"std::function<void (int)>::operator()(int) const", "std::function<void (int)>::operator() (libtorch_python)"},
      {"gemm", "gemm (libtorch_python)"},
      {"jax::(anonymous namespace)::PyArray_bf_getbuffer(_object*)",
       "numpy.asarray() of an array of JAX (libtorch_python)"},
      {"c10::TensorImpl::sizes() const", "c10::TensorImpl::sizes (libtorch_python)"},
      {"at::native::foo() [clone .cold]", "at::native::foo (libtorch_python)"},
      {"std::ostream& operator<<(std::ostream&, int)", "operator<< (libtorch_python)"},
      {"char& std::operator>> <char>(char&, int)", "std::operator>> <char> (libtorch_python)"},
      {"A<int>::operator->() const", "A<int>::operator-> (libtorch_python)"},
      {"c10::Scalar::operator unsigned long() const", "c10::Scalar::operator unsigned long (libtorch_python)"},
      {"foo()", "foo (libtorch_python)"},
      {"std::function<void ()>::operator()() const", "std::function<void ()>::operator() (libtorch_python)"},
      {"void my_operator(int)", "my_operator (libtorch_python)"},
      {"ufunc_generic_fastcall", "NumPy's arithmetic on arrays (libtorch_python)"},
  };
  const int count = sizeof names / sizeof names[0];
  start();
  for (int i = 0; i < count; i++)
    take(main_thread,
         native(fixture_frame(&fixture, main_context, XSP_FRAME_PYTHON, "call", USER, 31 + i), names[i][0], torch),
         SAMPLE_CPU, 301 + i, 20 - i);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A22"), STATUS_OK);
  for (int i = 0; i < count; i++)
    assert_string_equal(fixture_text(&fixture, (size_t)i, "hottest"), names[i][1]);
  fixture_done(&fixture);
}

static void test_python_of_observations(void **state)
{
  (void)state;
  fixture_start(&fixture);
  uint32_t step = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "step", USER, 20);
  fixture_run(&fixture, "M/L", 1);
  main_thread = fixture.thread;
  fixture_model(&fixture, 100 * MS, true);
  for (int i = 0; i < 2; i++) // from 100.001 ms on, a microsecond between them
    fixture_model(&fixture, 100 * MS, false);
  (void)fixture_span(&fixture, XSP_LEVEL_LAYER, "conv", 250 * MS, 20 * MS);
  take(main_thread, step, SAMPLE_CPU, 50, 10);  // warm-up
  take(main_thread, step, SAMPLE_CPU, 150, 12); // in the first
  take(main_thread, step, SAMPLE_CPU, 220, 8);  // in the second
  take(main_thread, step, SAMPLE_CPU, 260, 20); // in its layer
  take(main_thread, step, SAMPLE_SLEEP, 240, 5);
  take(fixture.stream, step, SAMPLE_CPU, 230, 7); // elsewhere
  take(main_thread, step, SAMPLE_CPU, 305, 9);    // after them
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "python_ms"), 10);
  char error[32];
  snprintf(error, sizeof error, "± %.2g ms", 1.96 * sqrt(0.25 * (12 * 12 + 8 * 8) + 0.25 * 20 * 20) / 2);
  assert_true(fixture_has_note(&fixture, error));
  fixture_done(&fixture);
}

// What only hands on is not what people look for: it is named where nothing else is called.
static void test_hottest(void **state)
{
  (void)state;
  start();
  uint32_t hook = fixture_frame(&fixture, step_context, XSP_FRAME_PYTHON, "profile_hook_step.<locals>.wrapper",
                                "/venv/lib/python3.11/site-packages/torch/optim/optimizer.py", 480);
  uint32_t adam = fixture_frame(&fixture, hook, XSP_FRAME_PYTHON, "Adam.step",
                                "/venv/lib/python3.11/site-packages/torch/optim/adam.py", 200);
  uint32_t call = fixture_frame(&fixture, main_context, XSP_FRAME_PYTHON, "Module._call_impl",
                                "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", 1750);
  take(main_thread, adam, SAMPLE_CPU, 310, 30);
  take(main_thread, hook, SAMPLE_CPU, 320, 10);
  take(main_thread, call, SAMPLE_CPU, 330, 5);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A22"), STATUS_OK);
  assert_string_equal(fixture_text(&fixture, 0, "hottest"), "Adam.step (adam.py)");
  assert_string_equal(fixture_text(&fixture, 1, "hottest"), "Module._call_impl (module.py)");
  fixture_done(&fixture);
}

// Of a file of `xsp run --aggregate`, which has no single samples: by call path, in A17.
static void test_folded(void **state)
{
  (void)state;
  fixture_start(&fixture);
  struct correlate_fold *fold = correlate_fold_begin(fixture.store);
  uint32_t outer = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "main", USER, 10);
  uint32_t inner = fixture_frame(&fixture, outer, XSP_FRAME_PYTHON, "step", USER, 20);
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, 100 * MS, false);
  take(fixture.thread, inner, SAMPLE_CPU, 50, 10);
  take(fixture.thread, inner, SAMPLE_CPU, 60, 30);
  take(fixture.thread, outer, SAMPLE_CPU, 70, 5);
  take(fixture.thread, outer, SAMPLE_IO, 80, 8);
  assert_int_equal(store_commit(fixture.store, NULL), STATUS_OK);
  assert_int_equal(store_put_drained(fixture.store, NULL, 0, NULL), STATUS_OK); // as collect marks such files
  correlate_fold_end(fold);
  assert_int_equal(fixture_ask(&fixture, "A22"), STATUS_NO);
  assert_int_equal(fixture_ask(&fixture, "A17"), STATUS_OK);
  for (size_t row = 0; row < fixture.tables[0].row_count; row++) {
    if (strcmp(fixture_text(&fixture, row, "name"), "main") != 0)
      continue;
    ASSERT_NEAR(fixture_number(&fixture, row, "cpu_ms"), 45);
    ASSERT_NEAR(fixture_number(&fixture, row, "cpu_self_ms"), 5);
    ASSERT_NEAR(fixture_number(&fixture, row, "wait_ms"), 8);
    fixture_done(&fixture);
    return;
  }
  fail_msg("no row of main");
}

// A layer of 10 ms a picture, sampled for 1 ms a picture: of the batch size that is asked for.
static void test_batch_sizes(void **state)
{
  (void)state;
  fixture_start(&fixture);
  for (int64_t batch_size = 1; batch_size <= 4; batch_size += 3) {
    fixture_run(&fixture, "M/L", batch_size);
    uint32_t line = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "main", USER, 10);
    fixture.context_id = 0;
    (void)fixture_span(&fixture, XSP_LEVEL_MODEL, "net", 0, 100 * MS);
    fixture.context_id = fixture_frame(&fixture, line, XSP_FRAME_FRAMEWORK, "conv", NULL, 0);
    (void)fixture_span(&fixture, XSP_LEVEL_LAYER, "conv", 0, batch_size * 10 * MS);
    take(fixture.thread, line, SAMPLE_CPU, 10, batch_size);
  }
  fixture_ready(&fixture);
  fixture.request.batch = 4;
  assert_int_equal(fixture_ask(&fixture, "A22"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "time_ms"), 4);
  assert_int_equal(fixture_ask(&fixture, "A17"), STATUS_OK);
  ASSERT_NEAR(fixture_summary(&fixture, "host_ms"), 40);
  fixture.request.batch = 2;
  assert_int_equal(fixture_ask(&fixture, "A22"), STATUS_NO);
  assert_int_equal(fixture_ask(&fixture, "A17"), STATUS_NO);
  fixture_done(&fixture);
}

// Of spans that lie in each other, end where another begins, never end, or are on another track.
static void test_sweep(void **state)
{
  (void)state;
  int64_t starts[] = {0, 10, 20, 30, 5, 60}, durations[] = {50, 10, 10, 5, 90, 0};
  uint32_t span_tracks[] = {1, 1, 1, 1, 2, 1};
  uint8_t kinds[] = {XSP_KIND_SYNC, XSP_KIND_SYNC, XSP_KIND_LAUNCH, XSP_KIND_EXECUTION, XSP_KIND_SYNC, XSP_KIND_SYNC};
  uint8_t flags[] = {0, 0, 0, 0, 0, STORE_SPAN_OPEN};
  int64_t times[] = {70, 20, 12, 50, 49, 30, 0, -1, 3};
  uint32_t tracks[] = {1, 1, 1, 1, 1, 1, 1, 1, 3};
  static const uint32_t expected[] = {5, 2, 1, ROW_NONE, 0, 0, 0, ROW_NONE, ROW_NONE};
  const struct run_columns columns = {.spans = {.count = 6,
                                                .start_ns = starts,
                                                .duration_ns = durations,
                                                .track_id = span_tracks,
                                                .kind = kinds,
                                                .flags = flags}};
  const struct store_samples samples = {.count = 9, .time_ns = times, .track_id = tracks};
  struct arena arena = {0};
  const uint32_t *rows = innermost_rows(&columns, &samples, &(struct map){0}, &arena);
  for (size_t i = 0; i < samples.count; i++)
    assert_int_equal(rows[i], expected[i]);
  const struct store_track known[] = {{.track_id = 2, .process_id = 8, .thread_id = 9},
                                      {.track_id = 3, .process_id = 8, .thread_id = 9},
                                      {.track_id = 4, .process_id = STORE_NONE, .thread_id = STORE_NONE}};
  struct map threads = innermost_threads(known, 3);
  assert_int_equal(innermost_rows(&columns, &samples, &threads, &arena)[8], ROW_NONE); // before the span
  times[8] = 6;
  assert_int_equal(innermost_rows(&columns, &samples, &threads, &arena)[8], 4);
  map_done(&threads);
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_by_line),
      cmocka_unit_test(test_a_layer_of_a_librarys_thread),
      cmocka_unit_test(test_summary),
      cmocka_unit_test(test_by),
      cmocka_unit_test(test_no_samples),
      cmocka_unit_test(test_native_code),
      cmocka_unit_test(test_names_of_native_code),
      cmocka_unit_test(test_sweep),
      cmocka_unit_test(test_python_of_observations),
      cmocka_unit_test(test_folded),
      cmocka_unit_test(test_hottest),
      cmocka_unit_test(test_batch_sizes),
      cmocka_unit_test(test_a_process_that_executes_another_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
