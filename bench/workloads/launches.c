// SPDX-License-Identifier: Apache-2.0
// Cost of launching a kernel: empty kernels, as many as the queue takes, in rounds. Run by bench/workloads.py plain,
// under xsp, and with `--events`, where the program times its kernels by OpenCL's event profiling, as it would without
// xsp's tracer. Prints one JSON object: medians over the rounds.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 31
#define LAUNCHES 1000 // a round
#define ITEMS 64

static double launch_ns[ROUNDS], whole_ns[ROUNDS], own_ns[ROUNDS];
static cl_event events[LAUNCHES];
static cl_ulong recorded_ns; // so that the compiler keeps the reads

static void must(cl_int code, const char *what)
{
  if (code == CL_SUCCESS)
    return;
  fprintf(stderr, "launches: %s: OpenCL error %d\n", what, (int)code);
  exit(1);
}

static double now_ns(clockid_t clock)
{
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void read_events(void)
{
  for (int i = 0; i < LAUNCHES; i++) {
    cl_ulong start = 0, end = 0;
    must(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_START, sizeof start, &start, NULL),
         "start of an event");
    must(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_END, sizeof end, &end, NULL), "end of an event");
    recorded_ns += end - start;
    must(clReleaseEvent(events[i]), "release of an event");
  }
}

static void run_round(cl_command_queue queue, cl_kernel kernel, bool with_events, int round)
{
  static const size_t items = ITEMS;
  double begin = now_ns(CLOCK_MONOTONIC), own = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < LAUNCHES; i++)
    must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, with_events ? &events[i] : NULL),
         "launch");
  launch_ns[round] = (now_ns(CLOCK_MONOTONIC) - begin) / LAUNCHES;
  own_ns[round] = (now_ns(CLOCK_THREAD_CPUTIME_ID) - own) / LAUNCHES;
  must(clFinish(queue), "finish");
  if (with_events)
    read_events();
  whole_ns[round] = (now_ns(CLOCK_MONOTONIC) - begin) / LAUNCHES;
}

static int compare(const void *left, const void *right)
{
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static double median(double values[ROUNDS])
{
  qsort(values, ROUNDS, sizeof values[0], compare);
  return values[ROUNDS / 2];
}

int main(int argc, char **argv)
{
  bool with_events = argc > 1 && strcmp(argv[1], "--events") == 0;
  const char *source = "__kernel void nothing(__global float *a) { a[get_global_id(0)] += 1; }";
  cl_platform_id platform;
  cl_device_id device;
  cl_int code;
  must(clGetPlatformIDs(1, &platform, NULL), "platform");
  must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  must(code, "context");
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, with_events ? CL_QUEUE_PROFILING_ENABLE : 0, 0};
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, properties, &code);
  must(code, "queue");
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
  must(code, "program");
  must(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
  cl_kernel kernel = clCreateKernel(program, "nothing", &code);
  must(code, "kernel");
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * sizeof(float), NULL, &code);
  must(code, "buffer");
  must(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "argument");
  run_round(queue, kernel, with_events, 0); // builds it for this size
  for (int round = 0; round < ROUNDS; round++)
    run_round(queue, kernel, with_events, round);
  printf("{\"launches\":%d,\"launch_ns\":%.1f,\"own_ns\":%.1f,\"whole_ns\":%.1f}\n", LAUNCHES * (ROUNDS + 1),
         median(launch_ns), median(own_ns), median(whole_ns));
  return 0;
}
