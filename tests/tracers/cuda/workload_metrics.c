// SPDX-License-Identifier: Apache-2.0
// Modes of cuda_workload for hardware metrics.
#include "workload.h"

#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

static const unsigned char bytes[4096];

// A graph captured in one stream: its kernels run one after the other, with a copy and a memset between them.
static int chain(unsigned count)
{
  CUfunction add = find_kernel("vector_add"), multiply = find_kernel("_Z6matmulPKfS0_Pfi");
  CUstream stream = new_stream();
  CUdeviceptr memory = allocate(sizeof bytes);
  CUgraph captured = NULL;
  launch(add, wide, stream); // in the batch before
  recording_begin();
  must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
  launch(add, small, stream);
  copy_in(memory, bytes, sizeof bytes, stream);
  launch(multiply, wide, stream);
  set_bytes(memory, 5, 64, stream);
  launch(add, (struct shape){{3, 1, 1}, {96, 1, 1}, 0}, stream);
  must(cuStreamEndCapture(stream, &captured), "cuStreamEndCapture");
  recording_end();
  launch_graph(captured, stream, count);
  launch(multiply, small, stream); // in the batch after
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  return 0;
}

// Two layers, as PyTorch names its operators.
static int layers(unsigned count)
{
  CUfunction add = find_kernel("vector_add"), multiply = find_kernel("_Z6matmulPKfS0_Pfi");
  for (unsigned i = 0; i < count; i++) {
    nvtxRangePushA("aten::mm");
    launch(multiply, wide, NULL);
    nvtxRangePop();
    nvtxRangePushA("aten::relu");
    launch(add, small, NULL);
    launch(add, small, NULL);
    nvtxRangePop();
  }
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  return 0;
}

// Observations, as xsp's runner makes them: each ends with a flush.
static int observations(unsigned count)
{
  void (*flush)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "xsp_tracers_flush"); // NULL: not traced
  for (unsigned i = 0; i < count; i++) {
    launch(find_kernel("vector_add"), (struct shape){{i + 1, 1, 1}, {32, 1, 1}, 0}, NULL);
    must(cuCtxSynchronize(), "cuCtxSynchronize");
    if (flush)
      flush();
  }
  return 0;
}

// Kernels that wait for others, between kernels that do not.
static int collective(unsigned count)
{
  CUfunction add = find_kernel("vector_add"), reduce = find_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  for (unsigned i = 0; i < count; i++) {
    launch(add, small, NULL);
    launch(reduce, wide, NULL);
  }
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  return 0;
}

// One context after the other, on two devices in turns.
static int renewals(unsigned count)
{
  CUfunction add = find_kernel("vector_add");
  for (unsigned i = 0; i < count; i++) {
    CUcontext context = NULL;
    must(cuCtxCreate(&context, NULL, 0, (CUdevice)(i % 2)), "cuCtxCreate");
    launch(add, (struct shape){{i + 1, 1, 1}, {32, 1, 1}, 0}, NULL);
    must(cuCtxSynchronize(), "cuCtxSynchronize");
    must(cuCtxDestroy(context), "cuCtxDestroy");
  }
  return 0;
}

static bool is_over;      // atomic
static unsigned launched; // atomic: on the second device
static pthread_barrier_t both;

static void *launch_on_second_device(void *unused)
{
  CUcontext context = NULL;
  must(cuCtxCreate(&context, NULL, 0, 1), "cuCtxCreate");
  CUfunction reduce = find_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  launch(reduce, small, NULL);
  pthread_barrier_wait(&both);
  while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
    launch(reduce, small, NULL);
    __atomic_add_fetch(&launched, 1, __ATOMIC_RELEASE);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  return unused;
}

// Two devices: while a kernel runs on the first, another thread launches on the second what the first may wait for.
// Again if that thread had no turn meanwhile: of its launches one may have begun before and one may have ended after.
static int peers(unsigned count)
{
  pthread_t thread;
  (void)count;
  pthread_barrier_init(&both, NULL, 2);
  pthread_create(&thread, NULL, launch_on_second_device, NULL);
  pthread_barrier_wait(&both);
  CUfunction add = find_kernel("vector_add");
  unsigned tries = 0, before = 0;
  do {
    before = __atomic_load_n(&launched, __ATOMIC_ACQUIRE);
    launch(add, wide, NULL);
  } while (__atomic_load_n(&launched, __ATOMIC_ACQUIRE) - before < 3 && ++tries < 20);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  return 0;
}

static void *launch_meanwhile(void *context)
{
  must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  CUfunction add = find_kernel("vector_add");
  pthread_barrier_wait(&both);
  do { // at least once, however late
    launch(add, small, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  } while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE));
  return NULL;
}

// A thread launches kernels that wait for others, another on the same device those that do not.
static int crowd(unsigned count)
{
  pthread_t thread;
  CUcontext context = NULL;
  CUfunction reduce = find_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  must(cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  pthread_barrier_init(&both, NULL, 2);
  pthread_create(&thread, NULL, launch_meanwhile, context);
  pthread_barrier_wait(&both);
  for (unsigned i = 0; i < count; i++)
    launch(reduce, wide, NULL);
  __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  return 0;
}

int run_metrics_mode(const char *mode, unsigned count)
{
  static const struct {
    const char *name;
    int (*run)(unsigned count);
  } modes[] = {{"chain", chain},      {"collective", collective},     {"crowd", crowd},
               {"layers", layers},    {"observations", observations}, {"peers", peers},
               {"renewals", renewals}};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
    if (strcmp(mode, modes[i].name) == 0)
      return modes[i].run(count);
  return -1;
}
