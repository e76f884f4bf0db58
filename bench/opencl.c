// SPDX-License-Identifier: Apache-2.0
// Cost of tracing in a program that launches kernels with OpenCL. First on a driver that does nothing, which measures
// the tracer alone; then on the machine's own driver: without a layer, with a layer that passes launches on (the
// floor), with ours switched off, with ours. Children of this program, interleaved, print medians over their rounds in
// processor time. The minimum counts, since waits between a driver's threads vary from run to run.
#include "bench/measure.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<CL/cl_layer.h>)
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <xsp/span.h>

#define ROUNDS 25
#define LAUNCHES 1000 // a round
#define REPEATS 9     // of each case

// Processor time, without other programs'.
static double now_ns(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void find(void *library, const char *name, void *ret_function)
{
  void *symbol = dlsym(library, name);
  if (symbol == NULL) {
    fprintf(stderr, "opencl: %s is missing\n", name);
    exit(1);
  }
  memcpy(ret_function, &symbol, sizeof symbol);
}

static const size_t one = 1;

// ---- above a driver that does nothing
static cl_ulong base_ns;
static int object;

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t size, void *value, size_t *ret)
{
  snprintf(value, size, "nothing");
  return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *ret_error)
{
  return (cl_command_queue)&object;
}

static cl_int CL_API_CALL release(cl_command_queue queue)
{
  return CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                  const size_t *global, const size_t *local, cl_uint waits, const cl_event *wait_list,
                                  cl_event *event)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now); // as every driver does
  base_ns = (cl_ulong)now.tv_sec * 1000000000 + (cl_ulong)now.tv_nsec;
  if (event != NULL)
    *event = (cl_event)&object;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_uint waits, const cl_event *wait_list,
                                         cl_event *event)
{
  return enqueue(queue, NULL, 0, NULL, NULL, NULL, 0, NULL, event);
}

static cl_int CL_API_CALL wait_for(cl_uint count, const cl_event *events)
{
  return CL_SUCCESS;
}

static cl_int CL_API_CALL times(cl_event event, cl_profiling_info what, size_t size, void *value, size_t *ret)
{
  *(cl_ulong *)value = base_ns;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL release_event(cl_event event)
{
  return CL_SUCCESS;
}

static cl_int CL_API_CALL set_callback(cl_event event, cl_int type, void(CL_CALLBACK *notify)(cl_event, cl_int, void *),
                                       void *data)
{
  notify(event, CL_COMPLETE, data);
  return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *ret_error)
{
  return (cl_kernel)&object;
}

static double launch_round(__typeof__(clEnqueueNDRangeKernel) *launch)
{
  double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < LAUNCHES; i++)
    launch((cl_command_queue)&object, (cl_kernel)&object, 1, NULL, &one, NULL, 0, NULL, NULL);
  return (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / LAUNCHES;
}

// In a process of its own, because the layer begins once.
static void above_nothing(const char *layer)
{
  static struct _cl_icd_dispatch driver;
  driver.clGetDeviceInfo = device_info;
  driver.clCreateCommandQueue = create_queue;
  driver.clReleaseCommandQueue = release;
  driver.clEnqueueNDRangeKernel = enqueue;
  driver.clEnqueueMarkerWithWaitList = enqueue_marker;
  driver.clWaitForEvents = wait_for;
  driver.clGetEventProfilingInfo = times;
  driver.clReleaseEvent = release_event;
  driver.clSetEventCallback = set_callback;
  driver.clCreateKernel = create_kernel;
  void *library = dlopen(layer, RTLD_NOW);
  __typeof__(cl_int(CL_API_CALL *)(cl_uint, const struct _cl_icd_dispatch *, cl_uint *,
                                   const struct _cl_icd_dispatch **)) initialise;
  find(library, "clInitLayer", &initialise);
  const struct _cl_icd_dispatch *ours;
  cl_uint count;
  if (initialise(sizeof driver / sizeof(void *), &driver, &count, &ours) != CL_SUCCESS ||
      ours->clEnqueueNDRangeKernel == NULL)
    exit(1);
  cl_int error;
  ours->clCreateCommandQueue((cl_context)&object, (cl_device_id)&object, 0, &error);
  ours->clCreateKernel(NULL, "kernel", &error);
  double bare[ROUNDS], on[ROUNDS], off[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    bare[round] = launch_round(enqueue);
    xsp_tracer_set_levels("opencl", XSP_LEVEL_MASK_ALL);
    on[round] = launch_round(ours->clEnqueueNDRangeKernel);
    xsp_tracer_set_levels("opencl", 0);
    off[round] = launch_round(ours->clEnqueueNDRangeKernel);
  }
  printf("%f %f %f\n", median(bare, ROUNDS), median(on, ROUNDS), median(off, ROUNDS));
}

// ---- on the machine's driver
static const char source[] = "__kernel void nothing(__global float *a) { a[get_global_id(0)] += 1; }";

static void on_driver(bool is_off)
{
  void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
  if (library == NULL)
    exit(4);
  __typeof__(clGetPlatformIDs) *platforms;
  __typeof__(clGetDeviceIDs) *devices;
  __typeof__(clCreateContext) *create_context;
  __typeof__(clCreateCommandQueueWithProperties) *make_queue;
  __typeof__(clCreateProgramWithSource) *create_program;
  __typeof__(clBuildProgram) *build;
  __typeof__(clCreateKernel) *make_kernel;
  __typeof__(clCreateBuffer) *create_buffer;
  __typeof__(clSetKernelArg) *set_argument;
  __typeof__(clEnqueueNDRangeKernel) *launch;
  __typeof__(clFinish) *finish;
  find(library, "clGetPlatformIDs", &platforms);
  find(library, "clGetDeviceIDs", &devices);
  find(library, "clCreateContext", &create_context);
  find(library, "clCreateCommandQueueWithProperties", &make_queue);
  find(library, "clCreateProgramWithSource", &create_program);
  find(library, "clBuildProgram", &build);
  find(library, "clCreateKernel", &make_kernel);
  find(library, "clCreateBuffer", &create_buffer);
  find(library, "clSetKernelArg", &set_argument);
  find(library, "clEnqueueNDRangeKernel", &launch);
  find(library, "clFinish", &finish);
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  if (platforms(1, &platform, NULL) != CL_SUCCESS ||
      devices(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
    exit(4);
  cl_context context = create_context(NULL, 1, &device, NULL, NULL, &error);
  cl_command_queue queue = make_queue(context, device, NULL, &error);
  const char *text = source;
  cl_program program = create_program(context, 1, &text, NULL, &error);
  build(program, 1, &device, "", NULL, NULL);
  cl_kernel kernel = make_kernel(program, "nothing", &error);
  cl_mem buffer = create_buffer(context, CL_MEM_READ_WRITE, sizeof(float), NULL, &error);
  set_argument(kernel, 0, sizeof buffer, &buffer);
  if (is_off)
    xsp_tracer_set_levels("opencl", 0);
  double calls[ROUNDS], whole[ROUNDS];
  for (int round = -3; round < ROUNDS; round++) {
    double begin = now_ns(CLOCK_PROCESS_CPUTIME_ID), call = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < LAUNCHES; i++)
      error |= launch(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
    call = now_ns(CLOCK_THREAD_CPUTIME_ID) - call;
    finish(queue);
    if (round < 0)
      continue;
    calls[round] = call / LAUNCHES;
    whole[round] = (now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / LAUNCHES;
  }
  if (error != CL_SUCCESS)
    exit(1);
  printf("%f %f\n", median(calls, ROUNDS), median(whole, ROUNDS));
}

// ---- the parent
static char program[4096], tracer[4096], empty[4096], session[64];

static void set_or_not(const char *name, const char *value)
{
  if (value != NULL)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

// Reads the output of the child; false if there is none.
static bool run_child(const char *mode, const char *layer, bool in_session, double *ret_values, int count)
{
  set_or_not("OPENCL_LAYERS", layer);
  set_or_not("XSP_SESSION", in_session ? session : NULL);
  set_or_not("XSP_TRACERS", in_session ? tracer : NULL);
  char command[8300];
  snprintf(command, sizeof command, "rm -rf %s; exec '%s' %s", session, program, mode);
  FILE *output = popen(command, "r");
  int got = 0;
  while (output != NULL && got < count && fscanf(output, "%lf", &ret_values[got]) == 1)
    got++;
  return output != NULL && pclose(output) == 0 && got == count;
}

static void print_line(const char *label, double value, double floor, double bare)
{
  printf("{\"bench\":\"opencl/launch\",\"case\":\"%s\",\"value\":%.1f,\"unit\":\"ns/launch\",\"floor\":%.1f,"
         "\"ratio\":%.4f,\"peers\":{\"no layer\":%.1f}}\n",
         label, value, floor, value / floor, bare);
}

static double least(const double values[REPEATS])
{
  double found = values[0];
  for (int i = 1; i < REPEATS; i++)
    found = values[i] < found ? values[i] : found;
  return found;
}

static void measure_driver(void)
{
  enum { BARE, EMPTY, NEVER, OFF, ON, CASES };
  static const char *const modes[CASES] = {"--driver", "--driver", "--driver", "--driver-off", "--driver"};
  const char *layers[CASES] = {NULL, empty, tracer, tracer, tracer};
  double calls[CASES][REPEATS], whole[CASES][REPEATS], call[CASES], all[CASES];
  for (int repeat = 0; repeat < REPEATS; repeat++)
    for (int i = 0; i < CASES; i++) {
      double values[2];
      if (!run_child(modes[i], layers[i], i >= OFF, values, 2)) {
        fprintf(stderr, "opencl: no driver to measure on\n");
        return;
      }
      calls[i][repeat] = values[0];
      whole[i][repeat] = values[1];
    }
  for (int i = 0; i < CASES; i++) {
    call[i] = least(calls[i]);
    all[i] = least(whole[i]);
  }
  print_line("launch and its completion, traced", all[ON], all[EMPTY], all[BARE]);
  print_line("launch and its completion, switched off", all[OFF], all[EMPTY], all[BARE]);
  print_line("launch and its completion, session without kernels", all[NEVER], all[EMPTY], all[BARE]);
  print_line("the call alone, traced", call[ON], call[EMPTY], call[BARE]);
}

int main(int argc, char **argv)
{
  const char *build = getenv("XSP_BUILD");
  snprintf(tracer, sizeof tracer, "%s/tracers/opencl.so", build == NULL ? "." : build);
  if (argc > 1) {
    if (strcmp(argv[1], "--nothing") == 0)
      above_nothing(tracer);
    else
      on_driver(strcmp(argv[1], "--driver-off") == 0);
    return 0;
  }
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length < 0 ? 0 : length] = '\0';
  snprintf(empty, sizeof empty, "%s/bench-programs/opencl_empty.so", build == NULL ? "." : build);
  snprintf(session, sizeof session, "/dev/shm/xsp-bench-opencl-%d", (int)getpid());
  double values[3][REPEATS];
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    double got[3];
    if (!run_child("--nothing", NULL, true, got, 3))
      return 1;
    for (int i = 0; i < 3; i++)
      values[i][repeat] = got[i];
  }
  double bare = median(values[0], REPEATS);
  print_line("above a driver that does nothing, traced", median(values[1], REPEATS), bare, bare);
  print_line("above a driver that does nothing, switched off", median(values[2], REPEATS), bare, bare);
  measure_driver();
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", session);
  return system(command) == 0 ? 0 : 1;
}
#else
int main(void)
{
  fprintf(stderr, "opencl: built without OpenCL's headers\n");
  return 0;
}
#endif
