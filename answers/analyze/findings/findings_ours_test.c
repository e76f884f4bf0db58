// SPDX-License-Identifier: Apache-2.0
// F4 and F6 to F17 over experiments with known answers: each fires above its threshold and is silent at it, with its bound.
#include "analyze/findings/test_findings.h"

#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

// ---- F6 --------------------------------------------------------------------------------------------------------------
static void step_with_loader(const char *loader, int64_t loader_ns)
{
  fixture_run(&fixture, "A/M/L", 1);
  fixture_model(&fixture, MS, false);
  fixture_span(&fixture, XSP_LEVEL_APPLICATION, loader, 0, loader_ns);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mm", 500 * US, 300 * US);
}

static void test_f6(void **unused)
{
  (void)unused;
  step_with_loader("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 101 * US);
  assert_int_equal(ask_rule("F6"), 1);
  assert_string_equal(found_text(0, "rule"), "input_pipeline");
  ASSERT_NEAR(found_number(0, "time_ms"), 0.101);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.101);
}

static void test_f6_counts_the_start_of_processes(void **unused)
{
  (void)unused;
  step_with_loader("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 101 * US);
  assert_int_equal(ask_rule("F6"), 1);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.101);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.7);
}

// In each observation the loader and what is not recorded take 700 µs together.
static void test_f6_of_a_statistic_by_value(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "A/M/L", 1);
  for (int i = 0; i < 3; i++) {
    int64_t at = fixture.now_ns, loader_ns = (200 + i * 200) * US;
    fixture_model(&fixture, MS, false);
    fixture_span(&fixture, XSP_LEVEL_APPLICATION, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at,
                 loader_ns);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mm", at + 650 * US, 300 * US);
  }
  fixture.request.statistic = "max";
  assert_int_equal(ask_rule("F6"), 1);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.6);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.7);
}

// Two ranks at the same time, each with a loader of its own.
static void test_f6_of_ranks(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "A/M/L", 1);
  for (int rank = 0; rank < 2; rank++) {
    fixture.now_ns = 0;
    fixture.thread = fixture_track(&fixture, &(const struct store_track){.process_id = 10 + rank,
                                                                         .thread_id = 10 + rank,
                                                                         .device_id = STORE_NONE,
                                                                         .stream_id = STORE_NONE});
    fixture_model(&fixture, MS, false);
    fixture_span(&fixture, XSP_LEVEL_APPLICATION, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                 (int64_t)rank * 300 * US, 200 * US);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mm", 600 * US, 300 * US);
  }
  assert_int_equal(ask_rule("F6"), 1);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.2);
}

// As spans of OTLP that name no thread.
static void test_f6_without_tracks(void **unused)
{
  (void)unused;
  struct store_run run = {.run_id = ++fixture.run_id, .experiment_id = fixture.experiment_id, .own_pct = NAN};
  assert_true(level_set_parse("A/M/L", 5, &run.levels));
  assert_int_equal(store_add_run(fixture.store, &run, &fixture.error), STATUS_OK);
  fixture_model(&fixture, MS, false);
  fixture_span(&fixture, XSP_LEVEL_APPLICATION, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0,
               200 * US);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mm", 600 * US, 300 * US);
  assert_int_equal(ask_rule("F6"), 1);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.2);
}

static void test_f6_is_silent(void **unused)
{
  (void)unused;
  step_with_loader("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 100 * US);
  assert_int_equal(ask_rule("F6"), 0);
}

// ---- F7 --------------------------------------------------------------------------------------------------------------
static void copies(const char *name, int64_t duration_ns)
{
  fixture_run(&fixture, "M/K", 1);
  fixture_model(&fixture, MS, false);
  fixture_kernel_named(&fixture, name, 1 * US, 2 * US, duration_ns);
  fixture_kernel_named(&fixture, name, 5 * US, 200 * US, duration_ns);
  fixture_kernel_named(&fixture, "gemm", 6 * US, 400 * US, 100 * US);
}

static void test_f7(void **unused)
{
  (void)unused;
  copies("Memcpy HtoD (Pageable -> Device)", 26 * US);
  assert_int_equal(ask_rule("F7"), 1);
  assert_string_equal(found_text(0, "context"), "Memcpy HtoD (Pageable -> Device)");
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.052);
  ASSERT_NEAR(found_number(0, "share_pct"), 5.2);
}

static void test_f7_is_silent(void **unused)
{
  (void)unused;
  copies("Memcpy HtoD (Pageable -> Device)", 25 * US);
  assert_int_equal(ask_rule("F7"), 0);
}

static void test_f7_is_not_about_pinned_memory(void **unused)
{
  (void)unused;
  copies("Memcpy HtoD (Pinned -> Device)", 150 * US);
  assert_int_equal(ask_rule("F7"), 0);
}

// ---- F8 and F15 ------------------------------------------------------------------------------------------------------
// Four kernels of 100 µs in 1 ms. Each after the first is launched `late_ns` after the one before it has ended; where
// `waits`, the host waits for that end.
static void kernels_with_gaps(int64_t late_ns, bool waits)
{
  int64_t at = 10 * US;
  fixture_run(&fixture, "M/K", 1);
  fixture_model(&fixture, MS, false);
  for (int i = 0; i < 4; i++) {
    fixture_kernel_named(&fixture, "gemm", at - 2 * US, at, 100 * US);
    if (waits)
      fixture_span(&fixture, XSP_LEVEL_KERNEL, "cuStreamSynchronize", at + US, 100 * US);
    at += 100 * US + late_ns + 2 * US;
  }
}

static void test_f8(void **unused)
{
  (void)unused;
  kernels_with_gaps(20 * US, true);
  assert_int_equal(ask_rule("F8"), 1); // three gaps of 22 µs, after three waits of 100 µs
  assert_string_equal(found_text(0, "context"), "cuStreamSynchronize");
  ASSERT_NEAR(found_number(0, "time_ms"), 0.066);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.066);
}

static void test_f8_is_silent(void **unused)
{
  (void)unused;
  kernels_with_gaps(14 * US, true); // 48 µs
  assert_int_equal(ask_rule("F8"), 0);
}

static void test_f8_is_silent_without_waits(void **unused)
{
  (void)unused;
  kernels_with_gaps(60 * US, false);
  assert_int_equal(ask_rule("F8"), 0);
}

static void test_f15(void **unused)
{
  (void)unused;
  kernels_with_gaps(32 * US, false); // three gaps of 34 µs, and 10 µs before the first kernel
  assert_int_equal(ask_rule("F15"), 1);
  assert_string_equal(found_text(0, "rule"), "idle_gaps");
  ASSERT_NEAR(found_number(0, "time_ms"), 0.112);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.6); // and the rest of 1 ms after the last one
}

static void test_f15_is_silent(void **unused)
{
  (void)unused;
  kernels_with_gaps(28 * US, false); // 100 µs
  assert_int_equal(ask_rule("F15"), 0);
}

static void test_f15_leaves_waits_to_f8(void **unused)
{
  (void)unused;
  kernels_with_gaps(150 * US, true);
  assert_int_equal(ask_rule("F15"), 0);
}

// The other device has no work while the host waits for the first one.
static void test_f8_of_two_devices(void **unused)
{
  (void)unused;
  const struct store_track track = {.process_id = 10, .thread_id = STORE_NONE, .device_id = 1, .stream_id = 7};
  kernels_with_gaps(20 * US, true);
  fixture.stream = fixture_track(&fixture, &track);
  fixture_kernel_named(&fixture, "gemm", 9 * US, 30 * US, 50 * US);
  assert_int_equal(ask_rule("F8"), 1);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.066);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.3); // three waits
}

// A second thread of the process, which waits while the first one works.
static void wait_elsewhere(int64_t start_ns, int64_t duration_ns)
{
  const struct store_track track = {
      .process_id = 10, .thread_id = 11, .device_id = STORE_NONE, .stream_id = STORE_NONE};
  uint32_t first = fixture.thread;
  fixture.thread = fixture_track(&fixture, &track);
  fixture_span(&fixture, XSP_LEVEL_KERNEL, "cuStreamSynchronize", start_ns, duration_ns);
  fixture.thread = first;
}

static void test_f8_is_not_about_waits_of_other_threads(void **unused)
{
  (void)unused;
  kernels_with_gaps(60 * US, false);
  wait_elsewhere(20 * US, 100 * US); // returns before the second launch
  assert_int_equal(ask_rule("F8"), 0);
  assert_int_equal(ask_rule("F15"), 1);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.196); // the gap after that wait, too
}

static void test_f8_sees_waits_among_those_of_other_threads(void **unused)
{
  (void)unused;
  kernels_with_gaps(20 * US, true);
  wait_elsewhere(100 * US, 800 * US); // begins last before the first gap, and lasts
  assert_int_equal(ask_rule("F8"), 1);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.066);
}

// Two devices work for 200 µs each of 1 ms, one after the other: both at once would save more than the time without any work.
static void two_devices(int64_t launch_late_ns)
{
  const struct store_track track = {.process_id = 10, .thread_id = STORE_NONE, .device_id = 1, .stream_id = 7};
  fixture_run(&fixture, "M/L/K", 1);
  fixture_model(&fixture, MS, false);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::item", 0, 900 * US);
  fixture_kernel_named(&fixture, "gemm", 1 * US, 2 * US, 200 * US);
  fixture.stream = fixture_track(&fixture, &track);
  fixture_kernel_named(&fixture, "gemm", 201 * US + launch_late_ns, 202 * US + launch_late_ns, 200 * US);
}

static void test_f5_is_bounded_by_the_busiest_device(void **unused)
{
  (void)unused;
  two_devices(0);
  assert_int_equal(ask_rule("F5"), 1);
  assert_non_null(strstr(found_text(0, "saving_basis"), "busiest"));
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.8); // not 0.6
}

static void test_f15_is_bounded_by_the_busiest_device(void **unused)
{
  (void)unused;
  two_devices(100 * US);
  assert_int_equal(ask_rule("F15"), 1);
  assert_non_null(strstr(found_text(0, "saving_basis"), "busiest"));
  ASSERT_NEAR(found_number(0, "time_ms"), 0.102);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.8);
}

// The third observation, which works for its whole time, has no part in medians.
static void test_f5_and_f15_of_medians(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L/K", 1);
  for (int i = 0; i < 3; i++) {
    int64_t at = fixture.now_ns;
    fixture_model(&fixture, i < 2 ? MS : 9 * MS, false);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::item", at, 990 * US);
    fixture_kernel_named(&fixture, "gemm", at + 400 * US, at + 400 * US, i < 2 ? 100 * US : 8 * MS);
  }
  fixture.request.statistic = "median";
  assert_int_equal(ask_rule("F15"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.9);
  fixture.request.thresholds = (const char *[]){"host_bound-ratio=0.1"};
  fixture.request.threshold_count = 1;
  assert_int_equal(ask_rule("F5"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.9);
}

// Times of a device that counts for itself are nowhere in an observation.
static void test_foreign_clocks(void **unused)
{
  (void)unused;
  const struct store_track track = {
      .process_id = 10, .thread_id = STORE_NONE, .device_id = 0, .stream_id = 8, .clock = "npu ticks"};
  fixture_run(&fixture, "M/L/K", 1);
  fixture_model(&fixture, MS, false);
  fixture.stream = fixture_track(&fixture, &track);
  for (int i = 0; i < 4; i++)
    fixture_kernel_named(&fixture, "gemm", (100 * i + 1) * US, (100 * i + 50) * US, 10 * US);
  assert_int_equal(ask_rule("F5"), 0);
  assert_true(fixture_has_note(&fixture, "F5"));
  assert_int_equal(ask_rule("F8"), 0);
  assert_true(fixture_has_note(&fixture, "F8"));
  assert_int_equal(ask_rule("F15"), 0);
  assert_true(fixture_has_note(&fixture, "F15"));
}

// ---- F4 --------------------------------------------------------------------------------------------------------------
// Of 1000 samples at a line of gemm, a kernel of 400 µs, 500 wait for `reason`.
static void stalls(const char *reason)
{
  uint32_t gemm = fixture_frame(&fixture, 0, XSP_FRAME_DEVICE, "gemm", NULL, 0);
  uint32_t line = fixture_frame(&fixture, gemm, XSP_FRAME_DEVICE, "gemm", "gemm.cu", 12);
  fixture_run(&fixture, "M/K", 1);
  fixture_model(&fixture, MS, false);
  fixture.context_id = gemm;
  fixture_kernel_named(&fixture, "gemm", 0, 100 * US, 400 * US);
  fixture.context_id = fixture_frame(&fixture, line, XSP_FRAME_DEVICE, "+0x80", NULL, 0);
  int64_t id = fixture_span_in(&fixture, XSP_LEVEL_KERNEL, "samples", "instruction samples", 600 * US, 0);
  fixture_int(&fixture, id, "samples", 1000);
  fixture_int(&fixture, id, reason, 500);
  fixture_int(&fixture, id, "samples_selected", 400);
}

static void test_f4(void **unused)
{
  (void)unused;
  stalls("samples_long_scoreboard");
  assert_int_equal(ask_rule("F4"), 1);
  assert_string_equal(found_text(0, "file"), "gemm.cu");
  ASSERT_NEAR(found_number(0, "line"), 12);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.2);
}

// Other warps issued: the schedulers are busy.
static void test_f4_is_silent_about_warps_that_are_not_selected(void **unused)
{
  (void)unused;
  stalls("samples_not_selected");
  assert_int_equal(ask_rule("F4"), 0);
}

// s_waitcnt of AMD's devices, not the fixed time of NVIDIA's `wait`.
static void test_f4_has_advice_for_the_whole_reason(void **unused)
{
  (void)unused;
  stalls("samples_waitcnt");
  assert_int_equal(ask_rule("F4"), 1);
  assert_non_null(strstr(found_text(0, "advice"), "memory"));
}

// ---- F9 --------------------------------------------------------------------------------------------------------------
static void step_with_conversion(int64_t duration_ns)
{
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::contiguous", 0, duration_ns);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::copy_", 0, duration_ns / 2);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::copy_", 500 * US, 200 * US);
}

static void test_f9(void **unused)
{
  (void)unused;
  step_with_conversion(52 * US);
  assert_int_equal(ask_rule("F9"), 1);
  assert_string_equal(found_text(0, "context"), "aten::contiguous");
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.052);
}

// Views' gradients: on a device they have no work.
static void test_f9_is_silent_about_gradients_of_views(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L/K", 1);
  fixture_model(&fixture, MS, false);
  for (int i = 0; i < 6; i++)
    fixture_span(&fixture, XSP_LEVEL_LAYER, "TransposeBackward0", i * 20 * US, 10 * US);
  fixture_kernel_named(&fixture, "gemm", 600 * US, 600 * US, 300 * US);
  assert_int_equal(ask_rule("F9"), 0);
}

static void test_f9_of_a_graph_has_no_advice_of_pytorch(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  fixture_span_in(&fixture, XSP_LEVEL_LAYER, "onnxruntime", "ReorderOutput", 0, 90 * US);
  assert_int_equal(ask_rule("F9"), 1);
  assert_null(strstr(found_text(0, "advice"), "torch"));
}

static void test_f9_is_silent(void **unused)
{
  (void)unused;
  step_with_conversion(50 * US);
  assert_int_equal(ask_rule("F9"), 0);
}

static void test_f9_is_silent_about_xla(void **unused)
{
  (void)unused;
  step_with_conversion(90 * US);
  fixture_span_in(&fixture, XSP_LEVEL_LAYER, "jax", "dot.1", 800 * US, US); // the text is what counts
  assert_int_equal(ask_rule("F9"), 0);
}

// With a device, too, the host converts some tensors itself.
static void test_f9_on_the_host_beside_a_device(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L/K", 1);
  fixture_model(&fixture, MS, false);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::contiguous", 0, 52 * US);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::to_dense", 100 * US, 20 * US);
  fixture_kernel_named(&fixture, "copy", 110 * US, 200 * US, 10 * US);
  fixture_kernel_named(&fixture, "gemm", 600 * US, 600 * US, 300 * US);
  assert_int_equal(ask_rule("F9"), 1);
  assert_string_equal(found_text(0, "context"), "aten::contiguous");
  ASSERT_NEAR(found_number(0, "time_ms"), 0.062);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.082);
}

// ---- F10 and F17 -----------------------------------------------------------------------------------------------------
static void batches(const int64_t *latencies_us, int count)
{
  for (int i = 0; i < count; i++) {
    fixture_run(&fixture, "M", INT64_C(1) << i);
    fixture_model(&fixture, latencies_us[i] * US, false);
  }
}

static void test_f10_below_the_optimum(void **unused)
{
  (void)unused;
  static const int64_t latencies_us[] = {100, 120, 160, 319};
  batches(latencies_us, 4);
  fixture.request.batch = 2;
  assert_int_equal(ask_rule("F10"), 1);
  assert_string_equal(found_text(0, "context"), "batch size 2");
  ASSERT_NEAR(found_number(0, "time_ms"), 0.120);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.040); // two of four inputs at batch 4 take 80 µs
}

static void test_f10_of_the_largest(void **unused)
{
  (void)unused;
  static const int64_t latencies_us[] = {100, 120, 160};
  batches(latencies_us, 3);
  assert_int_equal(ask_rule("F10"), 1);
  assert_string_equal(found_text(0, "context"), "batch size 4");
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.080); // 80 µs + 20 µs an input
}

// Each doubling gains more than a tenth: the optimum was not reached.
static void test_f10_below_the_best_one_that_was_measured(void **unused)
{
  (void)unused;
  static const int64_t latencies_us[] = {100, 120, 160};
  batches(latencies_us, 3);
  fixture.request.batch = 2;
  assert_int_equal(ask_rule("F10"), 1);
  assert_null(strstr(found_text(0, "title"), "optimal"));
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.040);
}

static void test_f10_is_silent_at_the_optimum(void **unused)
{
  (void)unused;
  static const int64_t latencies_us[] = {100, 120, 160, 319};
  batches(latencies_us, 4);
  assert_int_equal(ask_rule("F10"), 0);
}

static void kernels_of_batches(int64_t other_us)
{
  for (int64_t batch = 1; batch <= 2; batch++) {
    int64_t at = fixture.now_ns;
    fixture_run(&fixture, "M/K", batch);
    fixture_model(&fixture, (2 - batch) * MS + MS, false); // so that 2 has the higher throughput
    fixture_kernel_named(&fixture, "relu", at + US, at + 2 * US, (100 - other_us) * US);
    fixture_kernel_named(&fixture, batch == 1 ? "gemm_32x32" : "gemm_128x64", at + 3 * US, at + 200 * US,
                         other_us * US);
  }
}

static void test_f17(void **unused)
{
  (void)unused;
  kernels_of_batches(21);
  assert_int_equal(ask_rule("F17"), 1);
  assert_string_equal(found_text(0, "context"), "gemm_128x64");
  ASSERT_NEAR(found_number(0, "share_pct"), 21);
  ASSERT_NEAR(found_number(0, "saving_ms"), NAN);
}

static void test_f17_is_silent(void **unused)
{
  (void)unused;
  kernels_of_batches(20);
  assert_int_equal(ask_rule("F17"), 0);
}

// ---- F11 -------------------------------------------------------------------------------------------------------------
// 1 Gflop and 1 MB on a machine of 10 Tflop/s and 100 GB/s need 100 µs.
static const struct store_system_value roofed[] = {
    {.key = "peak_flops_per_s", .number = 1e13, .is_number = true},
    {.key = "memory_bandwidth_bytes_per_s", .number = 1e11, .is_number = true}};

static void kernel_under_roof(int64_t duration_us)
{
  static const char *const levels[] = {"M/K", "M/K+metrics"};
  fixture_experiment_on(&fixture, "roofs", roofed, 2);
  for (int i = 0; i < 2; i++) {
    int64_t at = fixture.now_ns;
    fixture_run(&fixture, levels[i], 1);
    fixture_model(&fixture, MS, false);
    int64_t kernel = fixture_kernel_named(&fixture, "gemm", at + US, at + 2 * US, duration_us * US);
    if (i == 0)
      continue;
    fixture_real(&fixture, kernel, "flops", 1e9);
    fixture_real(&fixture, kernel, "dram_read_bytes", 1e6);
    fixture_real(&fixture, kernel, "dram_write_bytes", 0);
  }
}

static void test_f11(void **unused)
{
  (void)unused;
  kernel_under_roof(400);
  assert_int_equal(ask_rule("F11"), 1);
  assert_string_equal(found_text(0, "context"), "gemm");
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.3);
}

static void test_f11_is_silent(void **unused)
{
  (void)unused;
  kernel_under_roof(333); // 30.03 %
  assert_int_equal(ask_rule("F11"), 0);
}

// ---- F11 of layers, F12 and F16 -------------------------------------------------------------------------------------
static void add_layer(const char *name, int64_t start_ns, int64_t duration_ns)
{
  int64_t id = fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mm", start_ns, duration_ns);
  fixture_words(&fixture, id, "layer_type", "aten::mm");
  fixture_words(&fixture, id, "module", name);
  fixture_words(&fixture, id, "Input Dims", "[[64,64],[64,64]]");
  fixture_words(&fixture, id, "Input type", "[\"float\",\"float\"]");
}

static void layers_of(int64_t odd_us, int count)
{
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  add_layer("odd", 0, odd_us * US);
  for (int i = 1; i < count; i++)
    add_layer("usual", 200 * i * US, 100 * US);
}

// Its 49,152 bytes take 0.49 µs.
static void layer_under_roof(int64_t others_us, int64_t fourth_us)
{
  fixture_experiment_on(&fixture, "roofs", roofed, 2);
  for (int i = 0; i < 5; i++) {
    fixture_run(&fixture, "M/L", 1);
    int64_t at = fixture.now_ns;
    fixture_model(&fixture, 10 * US, false);
    add_layer("slow", at, (i == 3 ? fourth_us : others_us) * US);
  }
}

static void test_f11_of_layers(void **unused)
{
  (void)unused;
  layer_under_roof(9, 9);
  assert_int_equal(ask_rule("F11"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.009 - 0.00049152);
}

static void test_f11_is_silent_about_layers_that_others_slow(void **unused)
{
  (void)unused;
  layer_under_roof(9, 1);
  assert_int_equal(ask_rule("F11"), 0);
}

static void test_f12(void **unused)
{
  (void)unused;
  layers_of(151, 4);
  assert_int_equal(ask_rule("F12"), 1);
  assert_string_equal(found_text(0, "context"), "odd (aten::mm)");
  ASSERT_NEAR(found_number(0, "time_ms"), 0.151);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.051);
}

static void test_f12_is_silent(void **unused)
{
  (void)unused;
  layers_of(150, 4);
  assert_int_equal(ask_rule("F12"), 0);
}

static void test_f12_needs_three_equal_layers(void **unused)
{
  (void)unused;
  layers_of(190, 2);
  assert_int_equal(ask_rule("F12"), 0);
}

// Of ten observations, the statistic keeps the middle six, whose layer takes 100 µs and 100 + spread, in turns. In the fastest,
// which it leaves out, the layer takes 70 µs.
static void varying(int64_t spread_us)
{
  fixture_run(&fixture, "M/L", 1);
  for (int i = 0; i < 10; i++) {
    int64_t at = fixture.now_ns;
    fixture_model(&fixture, MS + (i < 8 ? i : 900 * (i - 7)) * US, false);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "attention", at,
                 i == 0  ? 70 * US
                 : i < 8 ? (100 + i % 2 * spread_us) * US
                         : MS);
  }
}

static void test_f16(void **unused)
{
  (void)unused;
  varying(60); // quartiles 100 and 160, median 130: 34 %
  assert_int_equal(ask_rule("F16"), 1);
  assert_string_equal(found_text(0, "context"), "attention");
  ASSERT_NEAR(found_number(0, "time_ms"), 0.130);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.030); // to the lower quartile
}

static void test_f16_is_silent(void **unused)
{
  (void)unused;
  varying(50); // 29.7 %
  assert_int_equal(ask_rule("F16"), 0);
}

// ---- F13 -------------------------------------------------------------------------------------------------------------
static void allocate(const char *name, int64_t at_ns, int64_t bytes, int64_t address, int64_t total_bytes)
{
  int64_t id = fixture_span_in(&fixture, XSP_LEVEL_LIBRARY, "memory", name, at_ns, 0);
  fixture_int(&fixture, id, "bytes", bytes);
  fixture_int(&fixture, id, "address", address);
  fixture_int(&fixture, id, "total_bytes", total_bytes);
}

static void growing(int64_t growth_bytes)
{
  int64_t total_bytes = 0;
  fixture_run(&fixture, "M/L/Lib", 1);
  for (int i = 0; i < 8; i++) {
    int64_t at = fixture.now_ns;
    fixture_model(&fixture, MS, false);
    for (int k = 0; k < 3; k++) { // one for good, one that is released
      int64_t bytes = k == 0 ? growth_bytes : 1000000;
      total_bytes += k < 2 ? bytes : -bytes;
      allocate(k < 2 ? "allocate" : "free", at + (k + 1) * US, bytes, k == 0 ? 1000 + i : 1, total_bytes);
    }
  }
}

static void test_f13(void **unused)
{
  (void)unused;
  growing(10001);
  assert_int_equal(ask_rule("F13"), 1);
  assert_string_equal(found_text(0, "rule"), "memory_growth");
  ASSERT_NEAR(found_number(0, "saving_ms"), NAN);
  assert_string_equal(found_text(0, "title"), "memory grows by 0.01 MB with each observation");
}

static void test_f13_is_silent(void **unused)
{
  (void)unused;
  growing(10000);
  assert_int_equal(ask_rule("F13"), 0);
}

// Of a source that leaves out blocks that are released soon: its totals count them, and say nothing.
static void blocks(int64_t growth_bytes)
{
  fixture_run(&fixture, "M/L/Lib", 1);
  for (int i = 0; i < 8; i++) {
    int64_t at = fixture.now_ns, total_bytes = 1000000 * (1 + i * 7 % 5);
    fixture_model(&fixture, MS, false);
    const struct {
      const char *name;
      int64_t bytes, address;
    } events[] = {{"allocate", 5000, 1}, {"allocate", growth_bytes, 1000 + i}, {"free", 5000, 1}};
    for (int k = 0; k < 3; k++) {
      int64_t id = fixture_span_in(&fixture, XSP_LEVEL_LIBRARY, "memory", events[k].name, at + (k + 1) * US, 0);
      fixture_int(&fixture, id, "block_bytes", events[k].bytes);
      fixture_int(&fixture, id, "address", events[k].address);
      fixture_int(&fixture, id, "total_bytes", total_bytes);
    }
  }
}

static void test_f13_of_blocks(void **unused)
{
  (void)unused;
  blocks(20000);
  assert_int_equal(ask_rule("F13"), 1);
  assert_string_equal(found_text(0, "title"), "memory grows by 0.02 MB with each observation");
}

static void test_f13_of_blocks_is_silent(void **unused)
{
  (void)unused;
  blocks(10000);
  assert_int_equal(ask_rule("F13"), 0);
}

// Device 0 holds 1 MB for good and the growth; device 1 has used the same addresses, and released all, when the observation ends.
static void growing_on_two_devices(int64_t growth_bytes)
{
  const struct store_track tracks[] = {
      {.process_id = 10, .thread_id = STORE_NONE, .device_id = 0, .stream_id = STORE_NONE},
      {.process_id = 10, .thread_id = STORE_NONE, .device_id = 1, .stream_id = STORE_NONE}};
  fixture_run(&fixture, "M/L/Lib", 1);
  uint32_t first = fixture_track(&fixture, &tracks[0]), second = fixture_track(&fixture, &tracks[1]);
  uint32_t thread = fixture.thread;
  for (int i = 0; i < 8; i++) {
    int64_t at = fixture.now_ns;
    fixture.thread = thread;
    fixture_model(&fixture, MS, false);
    fixture.thread = first;
    allocate("allocate", at + 100 * US, growth_bytes, 1000 + i, 1000000 + (i + 1) * growth_bytes);
    fixture.thread = second;
    allocate("allocate", at + 200 * US, 500, 1000 + i, 500);
    allocate("free", at + 300 * US, 500, 1000 + i, 0);
  }
}

// PyTorch's are on threads: tags name the device.
static void test_f13_of_tagged_devices(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L/Lib", 1);
  for (int i = 0; i < 8; i++) {
    int64_t at = fixture.now_ns;
    fixture_model(&fixture, MS, false);
    for (int device = 0; device < 2; device++) { // only the first one grows
      allocate("allocate", at + (1 + device) * US, 20000, 1000 + i, 20000 * (device == 0 ? i + 1 : 1));
      fixture_int(&fixture, fixture.span_id, "device_type", 1);
      fixture_int(&fixture, fixture.span_id, "device_index", device);
    }
  }
  assert_int_equal(ask_rule("F13"), 1);
}

static void test_f13_of_two_devices(void **unused)
{
  (void)unused;
  growing_on_two_devices(20000);
  assert_int_equal(ask_rule("F13"), 1);
  assert_string_equal(found_text(0, "title"), "memory grows by 0.02 MB with each observation");
  assert_string_equal(found_text(0, "context"), "allocate");
}

// ---- F14 -------------------------------------------------------------------------------------------------------------
static void leveled(int64_t deep_us)
{
  for (int i = 0; i < 4; i++) {
    fixture_run(&fixture, "M", 1);
    fixture_model(&fixture, 1000 * US + i, false);
    fixture_run(&fixture, "M/L", 1);
    fixture_model(&fixture, deep_us * US + i, false);
  }
}

static void test_f14(void **unused)
{
  (void)unused;
  leveled(1201);
  assert_int_equal(ask_rule("F14"), 1);
  assert_string_equal(found_text(0, "context"), "levels M/L");
  ASSERT_NEAR(found_number(0, "saving_ms"), NAN);
}

static void test_f14_is_silent(void **unused)
{
  (void)unused;
  leveled(1199);
  assert_int_equal(ask_rule("F14"), 0);
}

// What a file lacks is a note, not a finding.
static void test_f38_is_silent_without_a_search(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mm", 0, 900 * US);
  fixture.request.thresholds = (const char *[]){"unused_parameters-share=0"};
  fixture.request.threshold_count = 1;
  assert_int_equal(ask_rule("F38"), 0);
}

static void test_files_that_lack_everything(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M", 1);
  fixture_model(&fixture, MS, false);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 0);
  assert_true(fixture_has_note(&fixture, "F17"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_f5_is_bounded_by_the_busiest_device),
      TEST(test_f5_and_f15_of_medians),
      TEST(test_f6),
      TEST(test_f6_counts_the_start_of_processes),
      TEST(test_f6_of_a_statistic_by_value),
      TEST(test_f6_of_ranks),
      TEST(test_f6_without_tracks),
      TEST(test_f6_is_silent),
      TEST(test_f7),
      TEST(test_f7_is_silent),
      TEST(test_f7_is_not_about_pinned_memory),
      TEST(test_f8),
      TEST(test_f8_of_two_devices),
      TEST(test_f8_is_silent),
      TEST(test_f8_is_silent_without_waits),
      TEST(test_f8_is_not_about_waits_of_other_threads),
      TEST(test_f8_sees_waits_among_those_of_other_threads),
      TEST(test_foreign_clocks),
      TEST(test_f4),
      TEST(test_f4_is_silent_about_warps_that_are_not_selected),
      TEST(test_f4_has_advice_for_the_whole_reason),
      TEST(test_f9),
      TEST(test_f9_is_silent_about_gradients_of_views),
      TEST(test_f9_of_a_graph_has_no_advice_of_pytorch),
      TEST(test_f9_is_silent),
      TEST(test_f9_is_silent_about_xla),
      TEST(test_f9_on_the_host_beside_a_device),
      TEST(test_f10_below_the_optimum),
      TEST(test_f10_of_the_largest),
      TEST(test_f10_below_the_best_one_that_was_measured),
      TEST(test_f10_is_silent_at_the_optimum),
      TEST(test_f11),
      TEST(test_f11_is_silent),
      TEST(test_f11_of_layers),
      TEST(test_f11_is_silent_about_layers_that_others_slow),
      TEST(test_f12),
      TEST(test_f12_is_silent),
      TEST(test_f12_needs_three_equal_layers),
      TEST(test_f13),
      TEST(test_f13_is_silent),
      TEST(test_f13_of_blocks),
      TEST(test_f13_of_blocks_is_silent),
      TEST(test_f13_of_two_devices),
      TEST(test_f13_of_tagged_devices),
      TEST(test_f14),
      TEST(test_f14_is_silent),
      TEST(test_f15),
      TEST(test_f15_is_silent),
      TEST(test_f15_leaves_waits_to_f8),
      TEST(test_f15_is_bounded_by_the_busiest_device),
      TEST(test_f16),
      TEST(test_f16_is_silent),
      TEST(test_f17),
      TEST(test_f17_is_silent),
      TEST(test_f38_is_silent_without_a_search),
      TEST(test_files_that_lack_everything),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
