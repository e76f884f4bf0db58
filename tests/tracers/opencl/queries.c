// SPDX-License-Identifier: Apache-2.0
// What a program can ask about its queues and events, printed: part of the test program. The output must be the same with
// and without the tracer.
#include "tests/tracers/opencl/guest.h"

#include <time.h>

#define FLOATS 1024u

static void print_queue(const char *what, cl_command_queue queue)
{
  cl_command_queue_properties properties = 77;
  cl_queue_properties array[16] = {0};
  size_t size = 77, array_size = 77;
  cl_uint references = 77;
  int error = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, &size);
  printf("%s: properties %d %#llx %zu", what, error, (unsigned long long)properties, size);
  printf(", short %d", clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, 1, &properties, NULL));
  error = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof array, array, &array_size);
  printf(", array %d %zu:", error, array_size);
  for (size_t i = 0; error == CL_SUCCESS && i < array_size / sizeof array[0]; i++)
    printf(" %#llx", (unsigned long long)array[i]);
  error = clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL);
  printf(", references %d %u\n", error, references);
}

static const cl_profiling_info times[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                          CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};

static cl_uint event_references(void *event)
{
  cl_uint references = 0;
  CHECK(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, NULL));
  return references;
}

static cl_uint context_references(void *context)
{
  cl_uint references = 0;
  CHECK(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof references, &references, NULL));
  return references;
}

// The driver's threads let go of what has completed in their own time, traced or not: the least count until it stays for 30 ms.
static cl_uint settled(cl_uint (*count)(void *), void *object)
{
  const struct timespec pause = {0, 1000000};
  cl_uint least = count(object);
  for (int same = 0; same < 30; same++) {
    nanosleep(&pause, NULL);
    cl_uint now = count(object);
    if (now < least) {
      least = now;
      same = 0;
    }
  }
  return least;
}

static void print_event(const char *what, cl_event event)
{
  cl_ulong at[4] = {0};
  cl_int status = 0;
  printf("%s: times", what);
  for (int i = 0; i < 4; i++)
    printf(" %d", clGetEventProfilingInfo(event, times[i], sizeof at[i], &at[i], NULL));
  printf(", in order %d", at[0] <= at[1] && at[1] <= at[2] && at[2] <= at[3]);
  printf(", bad size %d", clGetEventProfilingInfo(event, times[0], 1, at, NULL));
  CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
  printf(", references %u, status %d\n", settled(event_references, event), status);
}

static cl_command_queue queue_with(const cl_queue_properties *properties)
{
  cl_command_queue queue;
  CHECK_MADE(queue, clCreateCommandQueueWithProperties(test.context, test.device, properties, &error));
  return queue;
}

static void use(const char *what, cl_command_queue queue, cl_kernel kernel)
{
  cl_event event;
  print_queue(what, queue);
  test_launch(queue, kernel, FLOATS, NULL);
  test_launch(queue, kernel, FLOATS, &event);
  CHECK(clWaitForEvents(1, &event));
  CHECK(clFinish(queue));
  print_event(what, event);
  CHECK(clReleaseEvent(event));
  CHECK(clReleaseCommandQueue(queue));
}

void queries(void)
{
  cl_mem buffer = test_buffer(FLOATS);
  cl_kernel kernel = test_kernel("busy", buffer, 3);
  const cl_queue_properties nothing[] = {0};
  const cl_queue_properties profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  const cl_queue_properties disorder[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  const cl_queue_properties wrong[] = {0x7777, 1, 0};
  use("old", test_queue(0), kernel);
  use("old profiling", test_queue(CL_QUEUE_PROFILING_ENABLE), kernel);
  use("old out of order", test_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), kernel);
  use("none", queue_with(NULL), kernel);
  use("empty", queue_with(nothing), kernel);
  use("profiling", queue_with(profiling), kernel);
  use("out of order", queue_with(disorder), kernel);
  cl_int refused = 0;
  cl_command_queue queue = clCreateCommandQueueWithProperties(test.context, test.device, wrong, &refused);
  printf("wrong property: %d %s\n", refused, queue == NULL ? "NULL" : "made");
  cl_event event;
  CHECK_MADE(event, clCreateUserEvent(test.context, &error));
  print_event("user event", event);
  CHECK(clReleaseEvent(event));
  printf("no event: %d\n", clGetEventProfilingInfo(NULL, CL_PROFILING_COMMAND_END, 8, &(cl_ulong){0}, NULL));
  cl_uint of_kernel = 0, of_buffer = 0;
  CHECK(clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof of_kernel, &of_kernel, NULL));
  CHECK(clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof of_buffer, &of_buffer, NULL));
  printf("references: kernel %u, buffer %u, context %u\n", of_kernel, of_buffer,
         settled(context_references, test.context));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseMemObject(buffer));
}
