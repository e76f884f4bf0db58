// SPDX-License-Identifier: Apache-2.0
// The layer above a driver that does what no real one can be asked to: names of any length, a clock of its own, commands
// that fail, functions that are missing. test-opencl-fake LAYER SCENARIO; tests look at the session it leaves.
#include "tests/tracers/opencl/guest.h"

#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <time.h>

struct fake_kernel {
  char *name;
};
struct fake_queue {
  cl_command_queue_properties properties;
  cl_uint references;
};
struct fake_event {
  struct fake_queue *queue;
  cl_ulong times[4]; // queued, submitted, started, ended
  cl_uint references;
};

static struct {
  double clock_rate;
  cl_ulong clock_offset;
  bool refuses_profiling, has_no_callbacks, has_no_times, is_deaf, has_timer, notes_no_queueing;
  cl_int status;   // of commands, when they have ended
  cl_int error;    // of the next enqueue
  uint64_t run_ns; // how long a command runs
  cl_uint events, queues, timer_calls;
} fake = {.clock_rate = 1, .clock_offset = 1000000000000};

static cl_ulong device_ns(void)
{
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  uint64_t ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
  return (cl_ulong)((double)ns * fake.clock_rate) + fake.clock_offset;
}

static void run_for(uint64_t ns)
{
  for (cl_ulong end = device_ns() + ns; device_ns() < end;)
    ;
}

// ---- the driver
static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info what, size_t size, void *value,
                                          size_t *ret_size)
{
  snprintf(value, size, "fake");
  return CL_SUCCESS;
}

static cl_int CL_API_CALL get_timer(cl_device_id device, cl_ulong *ret_device, cl_ulong *ret_host)
{
  *ret_device = device_ns();
  *ret_host = 1;
  fake.timer_calls++;
  return fake.has_timer ? CL_SUCCESS : CL_INVALID_OPERATION;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *ret_error)
{
  bool is_refused = fake.refuses_profiling && (properties & CL_QUEUE_PROFILING_ENABLE);
  struct fake_queue *queue = is_refused ? NULL : calloc(1, sizeof *queue);
  if (ret_error != NULL)
    *ret_error = queue == NULL ? CL_INVALID_QUEUE_PROPERTIES : CL_SUCCESS;
  if (queue != NULL)
    *queue = (struct fake_queue){properties, 1};
  fake.queues += queue != NULL;
  return (cl_command_queue)queue;
}

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
  fake.queues--;
  free(handle);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue handle, cl_command_queue_info what, size_t size, void *value,
                                         size_t *ret_size)
{
  if (what == CL_QUEUE_PROPERTIES)
    *(cl_command_queue_properties *)value = ((struct fake_queue *)handle)->properties;
  else if (what == CL_QUEUE_DEVICE || what == CL_QUEUE_CONTEXT)
    *(void **)value = (void *)0x1000;
  else
    return CL_INVALID_VALUE;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL set_queue_property(cl_command_queue handle, cl_command_queue_properties properties,
                                             cl_bool enable, cl_command_queue_properties *ret_old)
{
  struct fake_queue *queue = (struct fake_queue *)handle;
  if (ret_old != NULL)
    *ret_old = queue->properties;
  queue->properties = enable ? queue->properties | properties : queue->properties & ~properties;
  return CL_SUCCESS;
}

static cl_int enqueue(cl_command_queue handle, cl_event *ret_event)
{
  cl_int error = fake.error;
  fake.error = CL_SUCCESS;
  if (error != CL_SUCCESS)
    return error;
  struct fake_event made = {.queue = (struct fake_queue *)handle, .references = 1};
  made.times[0] = fake.notes_no_queueing ? 0 : device_ns();
  made.times[1] = made.times[2] = device_ns();
  run_for(fake.run_ns);
  made.times[3] = device_ns();
  if (ret_event != NULL) {
    struct fake_event *event = malloc(sizeof *event);
    *event = made;
    fake.events++;
    *ret_event = (cl_event)event;
  }
  return CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                         const size_t *offset, const size_t *global, const size_t *local, cl_uint waits,
                                         const cl_event *wait_list, cl_event *ret_event)
{
  return enqueue(queue, ret_event);
}

static cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_uint waits, const cl_event *wait_list,
                                         cl_event *ret_event)
{
  return enqueue(queue, ret_event);
}

static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *events)
{
  return CL_SUCCESS;
}

static cl_int CL_API_CALL get_event_info(cl_event handle, cl_event_info what, size_t size, void *value,
                                         size_t *ret_size)
{
  if (what != CL_EVENT_COMMAND_QUEUE)
    return CL_INVALID_VALUE;
  *(void **)value = ((struct fake_event *)handle)->queue;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL get_event_times(cl_event handle, cl_profiling_info what, size_t size, void *value,
                                          size_t *ret_size)
{
  struct fake_event *event = (struct fake_event *)handle;
  if (fake.has_no_times || !(event->queue->properties & CL_QUEUE_PROFILING_ENABLE))
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  *(cl_ulong *)value = event->times[what - CL_PROFILING_COMMAND_QUEUED];
  return CL_SUCCESS;
}

static cl_int CL_API_CALL release_event(cl_event handle)
{
  fake.events--;
  free(handle);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL set_callback(cl_event event, cl_int type, void(CL_CALLBACK *notify)(cl_event, cl_int, void *),
                                       void *data)
{
  if (fake.is_deaf)
    return CL_OUT_OF_HOST_MEMORY;
  notify(event, fake.status, data);
  return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *ret_error)
{
  static struct fake_kernel kernel; // one address for all
  kernel.name = (char *)(uintptr_t)name;
  return (cl_kernel)&kernel;
}

static cl_int CL_API_CALL get_kernel_info(cl_kernel handle, cl_kernel_info what, size_t size, void *value,
                                          size_t *ret_size)
{
  const char *name = ((struct fake_kernel *)handle)->name;
  if (ret_size != NULL)
    *ret_size = strlen(name) + 1;
  if (value != NULL)
    memcpy(value, name, strlen(name) + 1);
  return CL_SUCCESS;
}

// ---- the program, above the layer
static struct _cl_icd_dispatch driver, top; // top: the layer's function, or the driver's
static const size_t one[3] = {1, 1, 1};

static int use_layer(const char *path, cl_uint entries)
{
  driver = (struct _cl_icd_dispatch){
      .clGetDeviceInfo = get_device_info,
      .clCreateCommandQueue = create_queue,
      .clReleaseCommandQueue = release_queue,
      .clGetCommandQueueInfo = get_queue_info,
      .clSetCommandQueueProperty = set_queue_property,
      .clEnqueueNDRangeKernel = enqueue_kernel,
      .clEnqueueMarkerWithWaitList = enqueue_marker,
      .clWaitForEvents = wait_for_events,
      .clGetEventInfo = get_event_info,
      .clGetEventProfilingInfo = get_event_times,
      .clReleaseEvent = release_event,
      .clSetEventCallback = fake.has_no_callbacks ? NULL : set_callback,
      .clCreateKernel = create_kernel,
      .clGetKernelInfo = get_kernel_info,
      .clGetDeviceAndHostTimer = get_timer,
  };
  void *library = dlopen(path, RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 90;
  }
  cl_int(CL_API_CALL * initialise)(cl_uint, const struct _cl_icd_dispatch *, cl_uint *,
                                   const struct _cl_icd_dispatch **);
  void *symbol = dlsym(library, "clInitLayer");
  memcpy(&initialise, &symbol, sizeof symbol);
  const struct _cl_icd_dispatch *layer = NULL;
  cl_uint count = 0;
  const cl_uint all = sizeof driver / sizeof(void *);
  if (initialise(entries == 0 ? all : entries, &driver, &count, &layer) != CL_SUCCESS || layer == NULL)
    return 91;
  for (cl_uint i = 0; i < all; i++) { // as a loader does
    void *function = i < count ? ((void *const *)layer)[i] : NULL;
    ((void **)&top)[i] = function != NULL ? function : ((void **)&driver)[i];
  }
  return 0;
}

static cl_command_queue queue_with(cl_command_queue_properties properties)
{
  cl_int error = 0;
  return top.clCreateCommandQueue((cl_context)0x1000, (cl_device_id)0x1000, properties, &error);
}

static cl_int launch(cl_command_queue queue, const char *name, cl_event *ret_event)
{
  cl_kernel kernel = top.clCreateKernel(NULL, name, NULL);
  return top.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, one, NULL, 0, NULL, ret_event);
}

static void names(void)
{
  cl_command_queue queue = queue_with(0);
  const size_t lengths[] = {1, 64, 65, 1001, 60000};
  for (int i = 0; i < 5; i++) {
    char *name = malloc(lengths[i] + 1);
    memset(name, 'a' + i, lengths[i]);
    name[lengths[i]] = '\0';
    launch(queue, name, NULL);
    free(name);
  }
}

static void clocks(double rate)
{
  fake.clock_rate = rate;
  fake.run_ns = 20000;
  cl_command_queue queue = queue_with(0);
  for (cl_ulong end = device_ns() + 400000000; device_ns() < end;)
    launch(queue, "kernel", NULL);
}

static void clock_that_is_off(void)
{
  clocks(1.0003);
}

static void clock_with_a_timer(void)
{
  fake.has_timer = true;
  clocks(0.9998);
  printf("timer %s\n", fake.timer_calls > 2 ? "asked" : "not asked");
}

static void clock_without_queueing(void)
{
  fake.notes_no_queueing = true;
  clocks(1.0001);
}

static void clock_that_steps(void)
{
  fake.run_ns = 20000;
  cl_command_queue queue = queue_with(0);
  for (int i = 0; i < 200; i++) {
    fake.clock_offset += i == 100 ? 5000000000 : 0;
    launch(queue, "kernel", NULL);
  }
}

static void failures(void)
{
  cl_command_queue queue = queue_with(0);
  launch(queue, "fine", NULL);
  fake.error = CL_OUT_OF_RESOURCES;
  printf("error %d\n", launch(queue, "refused", NULL));
  fake.status = -14;
  launch(queue, "failed", NULL);
  fake.status = CL_COMPLETE;
  fake.has_no_times = true;
  launch(queue, "without times", NULL);
  fake.has_no_times = false;
  fake.is_deaf = true;
  launch(queue, "not followed", NULL);
  fake.is_deaf = false;
  cl_event event = NULL;
  launch(queue, "with an event", &event);
  cl_ulong time = 0;
  printf("times %d\n", top.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 8, &time, NULL));
  cl_command_queue_properties old = 99;
  printf("switched %d", top.clSetCommandQueueProperty(queue, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, &old));
  printf(" from %llu\n", (unsigned long long)old);
  printf("times %d\n", top.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 8, &time, NULL));
  printf("switched %d", top.clSetCommandQueueProperty(queue, CL_QUEUE_PROFILING_ENABLE, CL_FALSE, &old));
  printf(" from %llu\n", (unsigned long long)old);
  printf("times %d\n", top.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 8, &time, NULL));
  top.clReleaseEvent(event);
  launch(queue, "at last", NULL);
  printf("%u events, %u queues left\n", fake.events, fake.queues);
}

static void refused_profiling(void)
{
  fake.refuses_profiling = true;
  cl_command_queue queue = queue_with(0);
  launch(queue, "kernel", NULL);
  printf("%s, %u events left\n", queue == NULL ? "no queue" : "a queue", fake.events);
}

static void unseen_queue(void) // made by an extension's function, which no layer sees
{
  cl_command_queue queues[] = {create_queue(NULL, NULL, CL_QUEUE_PROFILING_ENABLE, NULL),
                               create_queue(NULL, NULL, 0, NULL)};
  launch(queues[0], "with times", NULL);
  launch(queues[1], "without times", NULL);
  printf("%u events left\n", fake.events);
}

// More queues than have numbers of their own, each used and released.
static void many_queues(void)
{
  for (int i = 0; i < 3000; i++) {
    cl_command_queue queue = queue_with(0);
    launch(queue, "kernel", NULL);
    top.clReleaseCommandQueue(queue);
  }
  printf("%u events, %u queues left\n", fake.events, fake.queues);
}

static void many_shapes(void)
{
  cl_command_queue queue = queue_with(0);
  cl_kernel kernel = top.clCreateKernel(NULL, "kernel", NULL);
  for (size_t i = 1; i <= 100; i++)
    for (int again = 0; again < 2; again++)
      top.clEnqueueNDRangeKernel(queue, kernel, 2, NULL, (const size_t[]){i, 7}, (const size_t[]){1, i}, 0, NULL, NULL);
}

// Recording is switched off and on by the session while the program runs.
static void switched(void)
{
  uint32_t (*set_levels)(const char *, uint32_t);
  void *symbol = dlsym(RTLD_DEFAULT, "xsp_tracer_set_levels");
  memcpy(&set_levels, &symbol, sizeof symbol);
  set_levels("opencl", 0); // at first, as with a delay
  cl_command_queue queue = queue_with(0);
  for (int part = 0; part < 5; part++) {
    set_levels("opencl", part % 2 == 0 ? 0 : UINT32_MAX);
    for (int i = 0; i < 10; i++)
      launch(queue, part % 2 == 0 ? "off" : "on", NULL);
    printf("%u events\n", fake.events);
  }
}

static const struct scenario {
  const char *name;
  void (*run)(void);
} scenarios[] = {
    {"names", names},
    {"clock-off", clock_that_is_off},
    {"clock-timer", clock_with_a_timer},
    {"clock-bare", clock_without_queueing},
    {"clock-steps", clock_that_steps},
    {"failures", failures},
    {"refused", refused_profiling},
    {"unseen", unseen_queue},
    {"many-queues", many_queues},
    {"shapes", many_shapes},
    {"switched", switched},
};

int main(int argc, char **argv)
{
  if (argc < 3)
    return 2;
  fake.has_no_callbacks = strcmp(argv[2], "no-callbacks") == 0;
  cl_uint entries = strcmp(argv[2], "short-table") == 0 ? 70 : 0; // of OpenCL 1.0
  int status = use_layer(argv[1], entries);
  if (status != 0)
    return status;
  if (fake.has_no_callbacks || entries != 0) {
    cl_command_queue queue = queue_with(0);
    printf("%d, %u events left\n", launch(queue, "kernel", NULL), fake.events);
    return 0;
  }
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
    if (strcmp(scenarios[i].name, argv[2]) == 0) {
      scenarios[i].run();
      return 0;
    }
  return 2;
}
