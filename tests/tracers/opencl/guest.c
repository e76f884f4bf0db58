// SPDX-License-Identifier: Apache-2.0
// The program that tests trace: test-opencl SCENARIO [N]. What it prints on stdout does not depend on being traced.
#include "tests/tracers/opencl/guest.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLOATS 1024u
#define THREADS 4

struct test_opencl test;

// ---- scenarios
static void in_threads(void *(*work)(void *), void *argument)
{
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, work, argument) != 0)
      _Exit(98);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
}

// Eight kernels of some milliseconds, each on its own buffer, on the queue given or one of its own.
static void *eight_launches(void *argument)
{
  cl_command_queue queue = argument != NULL ? argument : test_queue(0);
  for (int i = 0; i < 8; i++) {
    cl_mem buffer = test_buffer(64);
    cl_kernel kernel = test_kernel("busy", buffer, 100000);
    test_launch(queue, kernel, 64, NULL);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseMemObject(buffer));
  }
  CHECK(clFinish(queue));
  if (argument == NULL)
    CHECK(clReleaseCommandQueue(queue));
  return NULL;
}

// How many of eight launches had ended when their call returned.
static void at_return(void)
{
  cl_command_queue queue = test_queue(0);
  cl_kernel kernel = test_kernel("busy", test_buffer(64), 100000);
  const size_t global = 64;
  unsigned ended = 0;
  for (int i = 0; i < 8; i++) {
    cl_event event;
    cl_int state = CL_QUEUED;
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, &event));
    CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    CHECK(clReleaseEvent(event));
    ended += state == CL_COMPLETE;
  }
  CHECK(clFinish(queue));
  printf("%u of 8 had ended\n", ended);
}

static void own_queues(void)
{
  in_threads(eight_launches, NULL);
}

static void one_queue_out_of_order(void)
{
  cl_command_queue queue = test_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  in_threads(eight_launches, queue);
  CHECK(clReleaseCommandQueue(queue));
}

static cl_command_queue launches(unsigned count, cl_int rounds)
{
  cl_command_queue queue = test_queue(0);
  cl_kernel kernel = test_kernel("busy", test_buffer(FLOATS), rounds);
  for (unsigned i = 0; i < count; i++)
    test_launch(queue, kernel, 1, NULL);
  return queue;
}

static void many(unsigned count)
{
  CHECK(clFinish(launches(count, 1)));
}

static void leave(unsigned count)
{
  clFlush(launches(count, 1000000));
  exit(7);
}

static void leave_at_once(unsigned count)
{
  clFlush(launches(count, 1000000));
  _exit(8);
}

static void die(unsigned count)
{
  clFlush(launches(count, 1000000));
  raise(SIGKILL);
}

// A command that waits for what never comes: exit must not wait for ever.
static void never(void)
{
  cl_event wait;
  CHECK_MADE(wait, clCreateUserEvent(test.context, &error));
  cl_command_queue queue = test_queue(0);
  cl_kernel kernel = test_kernel("busy", test_buffer(FLOATS), 1);
  const size_t global = 1;
  CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 1, &wait, NULL));
  exit(0);
}

// The program enqueues, then sets the event that its command waits for: serialised or not, it must get there.
static void user_event(void)
{
  cl_event wait, done;
  CHECK_MADE(wait, clCreateUserEvent(test.context, &error));
  cl_command_queue queue = test_queue(0);
  cl_kernel kernel = test_kernel("busy", test_buffer(FLOATS), 1);
  const size_t global = 1;
  CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 1, &wait, &done));
  CHECK(clSetUserEventStatus(wait, CL_COMPLETE));
  CHECK(clWaitForEvents(1, &done));
  test_launch(queue, kernel, 1, NULL);
  CHECK(clFinish(queue));
  printf("both ran\n");
}

static void names(void)
{
  static char source[6000], long_name[201];
  memset(long_name, 'k', sizeof long_name - 1);
  char middle[101];
  memset(middle, 'm', sizeof middle - 1);
  middle[100] = '\0';
  snprintf(source, sizeof source,
           "__kernel void %s(__global float *a, int n) { a[0] += n; }\n__kernel void %s(__global float *a, int n) { "
           "a[0] -= n; }\n"
           "__kernel void s(__global float *a, int n) { a[0] *= n; }\n",
           long_name, middle);
  CHECK(clReleaseProgram(test.program));
  test_build(source);
  cl_command_queue queue = test_queue(0);
  cl_mem buffer = test_buffer(FLOATS);
  const char *const each[] = {long_name, middle, "s"};
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 3; i++) { // released at once: the next may get its address
      cl_kernel kernel = test_kernel(each[i], buffer, 3);
      test_launch(queue, kernel, 1, NULL);
      CHECK(clFinish(queue));
      CHECK(clReleaseKernel(kernel));
    }
  cl_kernel all[3];
  cl_uint count = 0;
  CHECK(clCreateKernelsInProgram(test.program, 3, all, &count));
  printf("%u kernels\n", count);
  for (cl_uint i = 0; i < count; i++) {
    const cl_int rounds = 1;
    CHECK(clSetKernelArg(all[i], 0, sizeof buffer, &buffer));
    CHECK(clSetKernelArg(all[i], 1, sizeof rounds, &rounds));
    test_launch(queue, all[i], 1, NULL);
  }
  CHECK(clFinish(queue));
}

static void CL_CALLBACK aborts(cl_event event, cl_int status, void *data)
{
  abort();
}

static void abort_in_callback(void)
{
  cl_event event;
  cl_command_queue queue = test_queue(0);
  test_launch(queue, test_kernel("busy", test_buffer(FLOATS), 1), 1, &event);
  CHECK(clSetEventCallback(event, CL_COMPLETE, aborts, NULL));
  CHECK(clFinish(queue));
  pause();
}

static void CL_CALLBACK enqueues(cl_event event, cl_int status, void *data)
{
  cl_command_queue queue = data;
  cl_kernel kernel = test_kernel("other", test_buffer(FLOATS), 1);
  test_launch(queue, kernel, 1, NULL);
  CHECK(clFlush(queue));
}

static void enqueue_in_callback(void)
{
  cl_event event;
  cl_command_queue queue = test_queue(0), second = test_queue(0);
  test_launch(queue, test_kernel("busy", test_buffer(FLOATS), 1), 1, &event);
  CHECK(clSetEventCallback(event, CL_COMPLETE, enqueues, second));
  CHECK(clFinish(queue));
  CHECK(clReleaseEvent(event));
}

// Everything is made and released again, by four threads, with commands under way.
static void *storm_thread(void *argument)
{
  for (int round = 0; round < 60; round++) {
    cl_context context;
    CHECK_MADE(context, clCreateContext(NULL, 1, &test.device, NULL, NULL, &error));
    cl_command_queue queue = test_queue(round % 3 == 0 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0), other;
    CHECK_MADE(other, clCreateCommandQueueWithProperties(context, test.device, NULL, &error));
    cl_mem buffer = test_buffer(FLOATS);
    cl_kernel kernel = test_kernel(round % 2 ? "busy" : "other", buffer, 5);
    cl_event event, extra;
    CHECK(clRetainCommandQueue(queue));
    for (int i = 0; i < 5; i++)
      test_launch(queue, kernel, 8, NULL);
    test_launch(queue, kernel, 8, &event);
    CHECK(clReleaseEvent(event)); // before it has completed
    CHECK(clEnqueueMarkerWithWaitList(other, 0, NULL, &extra));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseCommandQueue(queue)); // with commands pending
    CHECK(clReleaseCommandQueue(other));
    CHECK(clReleaseContext(context));
    CHECK(clReleaseEvent(extra));
  }
  return NULL;
}

static void storm(void)
{
  in_threads(storm_thread, NULL);
  cl_command_queue queue = test_queue(0);
  CHECK(clFinish(queue));
  CHECK(clReleaseCommandQueue(queue));
}

// The parent goes on with OpenCL after a fork; the child only ends, in the ways that children do.
static void forks(void)
{
  cl_command_queue queue = launches(20, 1000);
  for (int i = 0; i < 4; i++) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      if (i % 2 == 0)
        _exit(3 + i);
      exit(3 + i); // runs exit handlers in a process that has none of the driver's threads
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    cl_kernel kernel = test_kernel("busy", test_buffer(FLOATS), 1);
    test_launch(queue, kernel, 1, NULL);
  }
  CHECK(clFinish(queue));
}

// A worker that its parent forked before either used OpenCL, and that exits without waiting.
static void forked_worker(void)
{
  pid_t child = fork();
  if (child == 0) {
    test_open();
    clFlush(launches(3, 1000000));
    exit(6);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  exit(0);
}

static void *work_and_exit(void *unused)
{
  eight_launches(NULL);
  exit(9);
}

static void thread_exits(void)
{
  pthread_t thread;
  pthread_create(&thread, NULL, work_and_exit, NULL);
  pthread_join(thread, NULL);
}

static const struct scenario {
  const char *name;
  void (*run)(void);
  void (*run_with)(unsigned count);
} scenarios[] = {
    {"commands", commands_of_all_kinds, NULL},
    {"queries", queries, NULL},
    {"own-queues", own_queues, NULL},
    {"at-return", at_return, NULL},
    {"out-of-order", one_queue_out_of_order, NULL},
    {"many", NULL, many},
    {"leave", NULL, leave},
    {"leave-at-once", NULL, leave_at_once},
    {"die", NULL, die},
    {"never", never, NULL},
    {"user-event", user_event, NULL},
    {"names", names, NULL},
    {"abort-in-callback", abort_in_callback, NULL},
    {"enqueue-in-callback", enqueue_in_callback, NULL},
    {"storm", storm, NULL},
    {"forks", forks, NULL},
    {"thread-exits", thread_exits, NULL},
};

int main(int argc, char **argv)
{
  unsigned count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 10;
  if (argc > 1 && strcmp(argv[1], "devices") == 0) { // 0: there is one to test with
    cl_uint platforms = 0;
    return clGetPlatformIDs(0, NULL, &platforms) == CL_SUCCESS && platforms > 0 ? 0 : 1;
  }
  if (argc > 1 && strcmp(argv[1], "forked-worker") == 0)
    forked_worker();
  for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof scenarios[0]; i++)
    if (strcmp(scenarios[i].name, argv[1]) == 0) {
      test_open();
      if (scenarios[i].run != NULL)
        scenarios[i].run();
      else
        scenarios[i].run_with(count);
      test_close();
      return 0;
    }
  fprintf(stderr, "usage: test-opencl SCENARIO [N]\n");
  return 2;
}

// ---- what they share
static const char source_of_kernels[] =
    "__kernel void busy(__global float *a, int n) { size_t i = get_global_id(1) * get_global_size(0) + "
    "get_global_id(0);"
    " float x = a[i]; for (int k = 0; k < n; k++) x = x * 1.0001f + 0.5f; a[i] = x; }\n"
    "__kernel void other(__global float *a, int n) { a[get_global_id(0)] += n; }\n";

void test_build(const char *source)
{
  CHECK_MADE(test.program, clCreateProgramWithSource(test.context, 1, &source, NULL, &error));
  CHECK(clBuildProgram(test.program, 1, &test.device, "", NULL, NULL));
}

void test_open(void)
{
  CHECK(clGetPlatformIDs(1, &test.platform, NULL));
  CHECK(clGetDeviceIDs(test.platform, CL_DEVICE_TYPE_ALL, 1, &test.device, NULL));
  CHECK_MADE(test.context, clCreateContext(NULL, 1, &test.device, NULL, NULL, &error));
  test_build(source_of_kernels);
}

void test_close(void)
{
  CHECK(clReleaseProgram(test.program));
  CHECK(clReleaseContext(test.context));
}

cl_command_queue test_queue(cl_command_queue_properties properties)
{
  cl_command_queue queue;
  CHECK_MADE(queue, clCreateCommandQueue(test.context, test.device, properties, &error));
  return queue;
}

cl_kernel test_kernel(const char *name, cl_mem buffer, cl_int rounds)
{
  cl_kernel kernel;
  CHECK_MADE(kernel, clCreateKernel(test.program, name, &error));
  CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
  CHECK(clSetKernelArg(kernel, 1, sizeof rounds, &rounds));
  return kernel;
}

cl_mem test_buffer(size_t floats)
{
  cl_mem buffer;
  CHECK_MADE(buffer, clCreateBuffer(test.context, CL_MEM_READ_WRITE, floats * sizeof(float), NULL, &error));
  return buffer;
}

void test_launch(cl_command_queue queue, cl_kernel kernel, size_t global, cl_event *event)
{
  CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, event));
}
