// SPDX-License-Identifier: Apache-2.0
// Exports of timelines with very many tracks, processes, lanes or flows. The floor is the same export of a tenth of them:
// where the time is linear, both take as long for each. Prints one JSON object per line.
#include "bench/measure.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPEATS 3
#define MANY 300000u
#define FEW (MANY / 10)

// What each span of a case has that no other has.
enum shape { THREADS, PROCESSES, OPEN_GROUPS, CROSSING, ONE_CORRELATION, SHAPES };
static const char *const shape_names[SHAPES] = {"threads", "processes", "groups of open spans", "spans that all cross",
                                                "launches with one id"};

// Processor time: one thread that does not wait; other programs' load must not count.
static double now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static struct store_span make_span(struct store *store, enum shape shape, uint32_t i, uint32_t count)
{
  bool has_tracks = shape <= OPEN_GROUPS, is_launch = shape == ONE_CORRELATION && i % 2 == 0;
  struct store_span span = {.span_id = i + 1,
                            .start_ns = INT64_C(1700000000000000000) + 10 * (int64_t)i,
                            .duration_ns = shape == CROSSING      ? 10 * (int64_t)count
                                           : shape == OPEN_GROUPS ? 0
                                                                  : 9,
                            .track_id = has_tracks ? i + 1 : 1,
                            .name = store_string(store, "span", 4),
                            .flags = shape == OPEN_GROUPS ? STORE_SPAN_OPEN : 0};
  if (shape == ONE_CORRELATION) {
    span.correlation_id = 5;
    span.level = XSP_LEVEL_KERNEL;
    span.kind = is_launch ? XSP_KIND_LAUNCH : XSP_KIND_EXECUTION;
  }
  return span;
}

static struct store_track make_track(enum shape shape, uint32_t i)
{
  return (struct store_track){.run_id = 1,
                              .track_id = i + 1,
                              .process_id = shape == PROCESSES ? i + 1 : 1,
                              .thread_id = shape == OPEN_GROUPS ? STORE_NONE : i + 1,
                              .device_id = STORE_NONE,
                              .stream_id = STORE_NONE};
}

static struct store *make_store(const char *path, enum shape shape, uint32_t count)
{
  struct error err = {0};
  struct arena arena = {0};
  struct store *store;
  check(store_create(path, true, &store, &err), &err);
  check(store_add_experiment(store, &(struct store_experiment){.experiment_id = 1, .name = "bench"}, &err), &err);
  check(store_add_run(store, &(struct store_run){.run_id = 1, .experiment_id = 1, .epoch_is_unix = true}, &err), &err);
  for (uint32_t i = 0; i < (shape <= OPEN_GROUPS ? count : 1); i++) {
    struct store_track track = make_track(shape, i);
    check(store_add_track(store, &track, &err), &err);
  }
  for (uint32_t i = 0; i < count; i++) {
    struct store_span span = make_span(store, shape, i, count);
    check(store_add_spans(store, 1, &span, 1, &err), &err);
  }
  struct store_derived derived = {.count = count};
  derived.parent_id = arena_alloc_array(&arena, count, sizeof(int64_t));
  derived.model_id = arena_alloc_array(&arena, count, sizeof(int64_t));
  derived.layer_id = arena_alloc_array(&arena, count, sizeof(int64_t));
  derived.self_ns = arena_alloc_array(&arena, count, sizeof(int64_t));
  derived.observation = arena_alloc_array(&arena, count, sizeof(int32_t));
  derived.depth = arena_alloc_array(&arena, count, sizeof(uint32_t));
  derived.basis = arena_alloc_array(&arena, count, 1);
  check(store_put_derived(store, 1, &derived, NULL, 0, &err), &err);
  check(store_finish(store, &err), &err);
  arena_done(&arena);
  return store;
}

static double time_export(struct store *store, const char *path, uint32_t count)
{
  struct error err = {0};
  double values[REPEATS];
  const struct report_export_options options = {.force = true};
  for (int i = 0; i < REPEATS; i++) {
    double start = now_ns();
    check(report_export_file(store, "chrome", path, &options, &err), &err);
    values[i] = (now_ns() - start) / count;
  }
  unlink(path);
  return median(values, REPEATS);
}

static double measure(const char *folder, enum shape shape, uint32_t count)
{
  char path[512], target[512];
  snprintf(path, sizeof path, "%s/xsp-bench-timeline-%d.xsp", folder, (int)getpid());
  snprintf(target, sizeof target, "%s/xsp-bench-timeline-%d.json", folder, (int)getpid());
  struct store *store = make_store(path, shape, count);
  double value = time_export(store, target, count);
  store_close(store);
  unlink(path);
  return value;
}

int main(void)
{
  const char *folder = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
  for (enum shape shape = 0; shape < SHAPES; shape++) {
    double floor_ns = measure(folder, shape, FEW), value = measure(folder, shape, MANY);
    printf("{\"bench\":\"timeline/export\",\"case\":\"%u %s\",\"value\":%.0f,\"unit\":\"ns each\",\"floor\":%.0f,"
           "\"ratio\":%.2f,\"target\":1.5,\"peers\":{}}\n",
           MANY, shape_names[shape], value, floor_ns, value / floor_ns);
    fflush(stdout);
  }
  return 0;
}
