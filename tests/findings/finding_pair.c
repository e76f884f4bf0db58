// SPDX-License-Identifier: Apache-2.0
// finding_pair NAME bad|mended [TIMES]: programs that use a GPU badly, and the same mended: findings about devices. It prints
// the median time of a step, as examples/findings/steps.py does. The simulated device has its own speeds: kernels run for
// XSP_SIM_KERNEL_NS, copies of pageable memory at 10 GB/s, of pinned memory at 25. The host's work and the copies take TIMES as long.
#include <cuda.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xsp/span.h>

#define STEPS 24
#define WARM_UP 8
#define KERNELS 6
#define HOST_NS 400000
#define BYTES ((size_t)8 << 20)

XSP_SITE(step_site, XSP_LEVEL_MODEL, "step");
XSP_SITE(prepare_site, XSP_LEVEL_LAYER, "prepare");
static bool is_mended;
static unsigned times = 1;
static CUfunction kernel;
static CUstream stream;
static CUdeviceptr device;
static void *host;

static void must(CUresult result, const char *what)
{
  if (result == CUDA_SUCCESS)
    return;
  fprintf(stderr, "%s failed: %d\n", what, result);
  exit(3);
}

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Of the host. It sleeps, as if it read a file: other programs on the machine disturb that less than arithmetic.
static void work(void)
{
  nanosleep(&(struct timespec){.tv_nsec = times * HOST_NS}, NULL);
}

static void launch(void)
{
  must(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), "cuLaunchKernel");
}

static void wait_for_all(void)
{
  must(cuStreamSynchronize(stream), "cuStreamSynchronize");
}

// F5: the input of each kernel is made anew in each step, or was made before.
static void host_bound(void)
{
  struct xsp_span span = xsp_span_start(&prepare_site);
  for (unsigned i = 0; i < KERNELS; i++) {
    for (unsigned k = 0; k < 4 && !is_mended; k++)
      work();
    launch();
  }
  xsp_span_finish(&span);
  wait_for_all();
}

// F7: the input is in pageable memory, or in pinned memory.
static void copies(void)
{
  must(cuMemcpyHtoDAsync(device, host, times * BYTES, stream), "cuMemcpyHtoDAsync");
  launch();
  wait_for_all();
}

// F8: the host waits for each kernel before its next work, or once.
static void waits(void)
{
  for (unsigned i = 0; i < KERNELS; i++) {
    launch();
    if (!is_mended)
      wait_for_all();
    work();
  }
  wait_for_all();
}

// F15: the device waits for the host's work before each launch, or has several launches in advance.
static void gaps(void)
{
  for (unsigned i = 0; i < KERNELS; i++) {
    if (!is_mended)
      work();
    launch();
  }
  if (is_mended)
    work();
  wait_for_all();
}

static int by_time(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*step)(void);
  } pairs[] = {{"host_bound", host_bound}, {"copies", copies}, {"waits", waits}, {"gaps", gaps}};
  CUmodule module = NULL;
  CUcontext context;
  uint64_t times_ns[STEPS];
  is_mended = argc > 2 && strcmp(argv[2], "mended") == 0;
  times = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
  must(cuInit(0), "cuInit");
  must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  must(cuModuleLoadData(&module, "image"), "cuModuleLoadData");
  must(cuModuleGetFunction(&kernel, module, "multiply"), "cuModuleGetFunction");
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  must(cuMemAlloc(&device, times * BYTES), "cuMemAlloc");
  host = calloc(times, BYTES);
  if (is_mended)
    must(cuMemHostAlloc(&host, times * BYTES, 0), "cuMemHostAlloc");
  for (size_t i = 0; argc > 1 && i < sizeof pairs / sizeof pairs[0]; i++)
    for (unsigned k = 0; strcmp(pairs[i].name, argv[1]) == 0 && k < STEPS; k++) {
      uint64_t start_ns = now_ns();
      struct xsp_span span = xsp_span_start(&step_site);
      pairs[i].step();
      xsp_span_finish(&span);
      times_ns[k] = now_ns() - start_ns;
    }
  qsort(times_ns + WARM_UP, STEPS - WARM_UP, sizeof *times_ns, by_time);
  printf("%.3f ms a step\n", (double)times_ns[WARM_UP + (STEPS - WARM_UP) / 2] / 1e6);
  return 0;
}
