// SPDX-License-Identifier: Apache-2.0
// Every command that a queue takes, once or twice, with its data checked: part of the test program.
#include "tests/tracers/opencl/guest.h"

#define FLOATS 1024u

static uint32_t sum(const void *bytes, size_t size)
{
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ ((const unsigned char *)bytes)[i]) * 16777619u;
  return hash;
}

static void buffers(cl_command_queue queue)
{
  float host[FLOATS], back[FLOATS];
  for (unsigned i = 0; i < FLOATS; i++)
    host[i] = (float)i;
  cl_mem a = test_buffer(FLOATS), b = test_buffer(FLOATS);
  const size_t origin[3] = {0, 0, 0}, other[3] = {64, 2, 0}, region[3] = {64, 4, 1};
  CHECK(clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
  CHECK(clEnqueueCopyBuffer(queue, a, b, 0, 2048, 2048, 0, NULL, NULL));
  CHECK(clEnqueueFillBuffer(queue, b, &host[3], sizeof host[3], 0, 2048, 0, NULL, NULL));
  CHECK(clEnqueueCopyBufferRect(queue, a, b, origin, other, region, 256, 0, 256, 0, 0, NULL, NULL));
  CHECK(clEnqueueWriteBufferRect(queue, b, CL_FALSE, other, origin, region, 256, 0, 256, 0, host, 0, NULL, NULL));
  CHECK(clEnqueueReadBufferRect(queue, b, CL_TRUE, other, origin, region, 256, 0, 256, 0, back, 0, NULL, NULL));
  CHECK(clEnqueueMigrateMemObjects(queue, 1, &b, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
  float *mapped;
  CHECK_MADE(mapped,
             clEnqueueMapBuffer(queue, b, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, sizeof host, 0, NULL, NULL, &error));
  mapped[7] = 42;
  CHECK(clEnqueueUnmapMemObject(queue, b, mapped, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL));
  printf("buffers %08x\n", sum(back, sizeof back));
  CHECK(clReleaseMemObject(a));
  CHECK(clReleaseMemObject(b));
}

static void images(cl_command_queue queue)
{
  const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
  const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 8};
  const size_t origin[3] = {0, 0, 0}, region[3] = {16, 8, 1};
  unsigned char host[512], back[512];
  for (unsigned i = 0; i < sizeof host; i++)
    host[i] = (unsigned char)(i * 7);
  const cl_uint color[4] = {1, 2, 3, 4};
  cl_mem a, b, buffer = test_buffer(128);
  CHECK_MADE(a, clCreateImage(test.context, CL_MEM_READ_WRITE, &format, &shape, NULL, &error));
  CHECK_MADE(b, clCreateImage(test.context, CL_MEM_READ_WRITE, &format, &shape, NULL, &error));
  CHECK(clEnqueueWriteImage(queue, a, CL_TRUE, origin, region, 0, 0, host, 0, NULL, NULL));
  CHECK(clEnqueueFillImage(queue, b, color, origin, region, 0, NULL, NULL));
  CHECK(clEnqueueCopyImage(queue, a, b, origin, origin, (const size_t[]){8, 8, 1}, 0, NULL, NULL));
  CHECK(clEnqueueCopyImageToBuffer(queue, b, buffer, origin, region, 0, 0, NULL, NULL));
  CHECK(clEnqueueCopyBufferToImage(queue, buffer, a, 0, origin, region, 0, NULL, NULL));
  size_t row = 0;
  void *mapped;
  CHECK_MADE(mapped,
             clEnqueueMapImage(queue, a, CL_TRUE, CL_MAP_READ, origin, region, &row, NULL, 0, NULL, NULL, &error));
  printf("images %08x", sum(mapped, row * 8));
  CHECK(clEnqueueUnmapMemObject(queue, a, mapped, 0, NULL, NULL));
  CHECK(clEnqueueReadImage(queue, a, CL_TRUE, origin, region, 0, 0, back, 0, NULL, NULL));
  printf(" %08x\n", sum(back, sizeof back));
  CHECK(clReleaseMemObject(a));
  CHECK(clReleaseMemObject(b));
  CHECK(clReleaseMemObject(buffer));
}

static void shared_memory(cl_command_queue queue)
{
  cl_device_svm_capabilities can = 0;
  if (clGetDeviceInfo(test.device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL) != CL_SUCCESS || can == 0) {
    printf("no shared memory\n");
    return;
  }
  unsigned char *a = clSVMAlloc(test.context, CL_MEM_READ_WRITE, 4096, 0);
  unsigned char *b = clSVMAlloc(test.context, CL_MEM_READ_WRITE, 4096, 0);
  const unsigned char pattern = 9;
  const void *moved = b;
  CHECK(clEnqueueSVMMemFill(queue, a, &pattern, 1, 4096, 0, NULL, NULL));
  CHECK(clEnqueueSVMMemcpy(queue, CL_TRUE, b, a, 4096, 0, NULL, NULL));
  CHECK(clEnqueueSVMMigrateMem(queue, 1, &moved, NULL, 0, 0, NULL, NULL));
  CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, b, 4096, 0, NULL, NULL));
  printf("shared %08x\n", sum(b, 4096));
  CHECK(clEnqueueSVMUnmap(queue, b, 0, NULL, NULL));
  CHECK(clEnqueueSVMFree(queue, 1, (void *[]){a}, NULL, NULL, 0, NULL, NULL));
  CHECK(clFinish(queue));
  clSVMFree(test.context, b);
}

static void CL_CALLBACK native(void *arguments)
{
  **(int **)arguments += 1;
}

static void kernels(cl_command_queue queue)
{
  static int calls;
  int *where = &calls;
  cl_mem buffer = test_buffer(FLOATS);
  cl_kernel kernel = test_kernel("busy", buffer, 10), clone;
  float back[FLOATS];
  const float one = 1;
  const size_t global[2] = {16, 8}, local[2] = {4, 2};
  CHECK(clEnqueueFillBuffer(queue, buffer, &one, sizeof one, 0, sizeof back, 0, NULL, NULL));
  CHECK(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL));
  CHECK(clEnqueueTask(queue, kernel, 0, NULL, NULL));
  cl_int error = CL_SUCCESS;
  clone = clCloneKernel(kernel, &error); // a driver may not have it: then that is its answer
  if (error == CL_SUCCESS) {
    test_launch(queue, clone, FLOATS, NULL);
    CHECK(clReleaseKernel(clone));
  }
  error = clEnqueueNativeKernel(queue, native, &where, sizeof where, 0, NULL, NULL, 0, NULL, NULL);
  CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL));
  printf("kernels %08x, native kernel %s\n", sum(back, sizeof back), error == CL_SUCCESS ? "ran" : "not here");
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseMemObject(buffer));
}

static void synchronisation(cl_command_queue queue)
{
  cl_event marker, barrier, old;
  CHECK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker));
  CHECK(clEnqueueBarrierWithWaitList(queue, 1, &marker, &barrier));
  CHECK(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
  CHECK(clEnqueueMarker(queue, &old));
  printf("marker without an event: %d\n", clEnqueueMarker(queue, NULL));
  CHECK(clEnqueueBarrier(queue));
  CHECK(clFlush(queue));
  CHECK(clWaitForEvents(1, &old));
  CHECK(clFinish(queue));
  CHECK(clReleaseEvent(marker));
  CHECK(clReleaseEvent(barrier));
  CHECK(clReleaseEvent(old));
}

static void errors(cl_command_queue queue)
{
  cl_int back = 0;
  printf("errors %d", clEnqueueReadBuffer(NULL, NULL, CL_TRUE, 0, 4, &back, 0, NULL, NULL));
  cl_mem buffer = test_buffer(1);
  printf(" %d", clEnqueueReadBuffer(queue, buffer, CL_TRUE, 4, 4, &back, 0, NULL, NULL));
  printf(" %d\n", clEnqueueFillBuffer(queue, buffer, &back, 3, 0, 4, 0, NULL, NULL));
  CHECK(clReleaseMemObject(buffer));
}

void commands_of_all_kinds(void)
{
  cl_command_queue queue = test_queue(0);
  buffers(queue);
  images(queue);
  shared_memory(queue);
  kernels(queue);
  synchronisation(queue);
  errors(queue);
  CHECK(clReleaseCommandQueue(queue));
}
