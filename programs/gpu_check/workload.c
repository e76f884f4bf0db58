// SPDX-License-Identifier: Apache-2.0
// gpu-check-workload check | loop STEPS | counted ELEMENTS: the program that gpu-check traces. `check` does a little of
// everything on the GPU, each part in a layer of its own, prints what it launched and whether results were right. `loop` prints
// the median time of a step of many layers. Status 3: no GPU; 1: a wrong result, or an error of the driver.
#include "launches.h"

#include "base/sorted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT 65536u
#define BYTES (COUNT * sizeof(float))
#define THREADS 256u // as block_sum has them
#define REPLAYS 3
#define PARALLEL 4
#define LAYERS 40
#define LAYER_CYCLES 100000
#define STEPS_MAXIMUM 1000
#define ATTEMPTS 8

static float *input, *output, *total; // of the host, pinned, so that copies are asynchronous
static driver_address x, y[STREAMS], copied[STREAMS], sum;
static unsigned wrong;

static void *pinned(size_t bytes)
{
  void *memory = NULL;
  must(cuda.allocate_host(&memory, bytes, 0), "cuMemHostAlloc");
  return memory;
}

static driver_address allocate(size_t bytes)
{
  driver_address address = 0;
  must(cuda.allocate(&address, bytes), "cuMemAlloc");
  return address;
}

// Integers below 2^24: floats add them exactly, in any order.
static void expect(float found, float expected)
{
  if (found != expected)
    wrong++;
}

static void expect_output(float times)
{
  for (unsigned i = 0; i < COUNT; i++)
    expect(output[i], times * input[i]);
}

static void add(driver_address to, float times, unsigned stream)
{
  launch(saxpy, COUNT / THREADS, THREADS, stream, (void *[]){&to, &x, &times, &(uint32_t){COUNT}});
}

static void add_up(driver_address from, unsigned stream)
{
  launch(block_sum, COUNT / THREADS, THREADS, stream, (void *[]){&sum, &from});
}

static void layer_input(void)
{
  copy_in(x, input, BYTES, 0);
  must(cuda.wait(streams[0]), "cuStreamSynchronize");
}

static void layer_sum(void)
{
  set_zero(y[0], BYTES, 0);
  set_zero(sum, sizeof *total, 0);
  add(y[0], 2, 0);
  add_up(y[0], 0);
  copy_out(total, sum, sizeof *total, 0);
  must(cuda.wait(streams[0]), "cuStreamSynchronize");
  expect(*total, 2 * 15 / 2.0F * COUNT); // of 0 … 15
}

static void layer_parallel(void)
{
  for (unsigned s = 0; s < STREAMS; s++)
    set_zero(y[s], BYTES, s);
  for (unsigned i = 0; i < PARALLEL; i++)
    for (unsigned s = 0; s < STREAMS; s++)
      add(y[s], (float)(s + 1), s);
  for (unsigned s = 0; s < STREAMS; s++)
    copy_inside(copied[s], y[s], BYTES, s);
  for (unsigned s = 0; s < STREAMS; s++) {
    copy_out(output, copied[s], BYTES, s);
    must(cuda.wait(streams[s]), "cuStreamSynchronize");
    expect_output((float)(PARALLEL * (s + 1)));
  }
}

static void layer_graph(void)
{
  graph_begin(1);
  set_zero(y[1], BYTES, 1);
  add(y[1], 3, 1);
  add(y[1], 4, 1);
  copy_out(output, y[1], BYTES, 1);
  driver_handle graph = graph_end(1);
  for (unsigned i = 0; i < REPLAYS; i++) {
    memset(output, 0, BYTES);
    graph_replay(graph, 1);
    must(cuda.wait(streams[1]), "cuStreamSynchronize");
    expect_output(7);
  }
}

// Long kernels, each by a grid of its own. They follow one that is longer than it takes to launch them: so they start one
// right after the other, and the time between two events is the kernel's.
static void layer_long(void)
{
  uint64_t longer = 30000000;
  bool is_timed = false;
  for (unsigned attempt = 0; attempt < ATTEMPTS && !is_timed; attempt++, longer *= 2) {
    launch(spin, TIMED * ATTEMPTS + 1 + attempt, 32, 2, (void *[]){&longer});
    for (unsigned i = 0; i < TIMED; i++)
      launch_timed(i, attempt * TIMED + i + 1, 2000000 * (i + 1), 2);
    is_timed = wait_timed(2);
  }
}

static int check(void)
{
  XSP_SITE(all, XSP_LEVEL_MODEL, "gpu-check");
  XSP_SITE(copies, XSP_LEVEL_LAYER, "input");
  XSP_SITE(sums, XSP_LEVEL_LAYER, "sum");
  XSP_SITE(parallel, XSP_LEVEL_LAYER, "parallel");
  XSP_SITE(graph, XSP_LEVEL_LAYER, "graph");
  XSP_SITE(longs, XSP_LEVEL_LAYER, "long");
  struct xsp_span span = xsp_span_start(&all);
  layer(&copies, layer_input);
  layer(&sums, layer_sum);
  layer(&parallel, layer_parallel);
  layer(&graph, layer_graph);
  layer(&longs, layer_long);
  xsp_span_finish(&span);
  printf("{\"what\": \"results\", \"wrong\": %u}\n", wrong);
  return wrong ? 1 : 0;
}

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

SORTED_BY(compare, uint64_t, ORDER(*a, *b))

static void step(void)
{
  XSP_SITE(whole, XSP_LEVEL_MODEL, "step");
  XSP_SITE(one, XSP_LEVEL_LAYER, "spin");
  struct xsp_span span = xsp_span_start(&whole);
  for (unsigned i = 0; i < LAYERS; i++) {
    struct xsp_span inner = xsp_span_start(&one);
    must(cuda.launch(spin, 1, 1, 1, 32, 1, 1, 0, streams[0], (void *[]){&(uint64_t){LAYER_CYCLES}}, NULL),
         "cuLaunchKernel");
    xsp_span_finish(&inner);
  }
  must(cuda.wait(streams[0]), "cuStreamSynchronize");
  xsp_span_finish(&span);
}

static int loop(unsigned steps)
{
  static uint64_t times_ns[STEPS_MAXIMUM];
  step(); // the first launch loads the kernel
  for (unsigned i = 0; i < steps; i++) {
    uint64_t start_ns = now_ns();
    step();
    times_ns[i] = now_ns() - start_ns;
  }
  qsort(times_ns, steps, sizeof times_ns[0], compare);
  printf("%lu\n", times_ns[steps / 2]);
  return 0;
}

// One kernel of as many additions as there are elements, which reads two floats and writes one for each. With 0: arrays a hundred
// times as large as the cache, so that the GPU's memory is read and written for all but one in a hundred.
static int counted(size_t elements)
{
  driver_address from = 0, to = 0;
  if (elements == 0)
    elements = 100 * l2_bytes / sizeof(float) / THREADS * THREADS;
  if (cuda.allocate(&from, elements * sizeof(float)) != 0 || cuda.allocate(&to, elements * sizeof(float)) != 0)
    elements = 0;
  if (elements > 0) {
    must(cuda.set(from, 0, elements * sizeof(float), streams[0]), "cuMemsetD8Async");
    must(cuda.set(to, 0, elements * sizeof(float), streams[0]), "cuMemsetD8Async");
    must(cuda.launch(counted_add, (unsigned)(elements / THREADS), 1, 1, THREADS, 1, 1, 0, streams[0],
                     (void *[]){&to, &from}, NULL),
         "cuLaunchKernel");
    must(cuda.wait(streams[0]), "cuStreamSynchronize");
  }
  printf("{\"what\": \"counted\", \"elements\": %zu}\n", elements);
  return 0;
}

int main(int count, char **arguments)
{
  bool is_check = count == 2 && strcmp(arguments[1], "check") == 0;
  bool is_counted = count == 3 && strcmp(arguments[1], "counted") == 0;
  long steps = count == 3 && strcmp(arguments[1], "loop") == 0 ? strtol(arguments[2], NULL, 10) : 0;
  if (!is_check && !is_counted && (steps < 1 || steps > STEPS_MAXIMUM)) {
    fprintf(stderr, "usage: gpu-check-workload check | loop STEPS (1 to %d) | counted ELEMENTS\n", STEPS_MAXIMUM);
    return 2;
  }
  int status = start();
  if (status != 0)
    return status;
  if (is_counted)
    return counted(strtoul(arguments[2], NULL, 10) / THREADS * THREADS);
  input = pinned(BYTES);
  output = pinned(BYTES);
  total = pinned(sizeof *total);
  for (unsigned i = 0; i < COUNT; i++)
    input[i] = (float)(i % 16);
  x = allocate(BYTES);
  sum = allocate(sizeof *total);
  for (unsigned s = 0; s < STREAMS; s++) {
    y[s] = allocate(BYTES);
    copied[s] = allocate(BYTES);
  }
  status = is_check ? check() : loop((unsigned)steps);
  must(cuda.wait_all(), "cuCtxSynchronize");
  return status;
}
