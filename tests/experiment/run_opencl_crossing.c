// SPDX-License-Identifier: Apache-2.0
// A program like asynchronous frameworks: a layer begins when its kernels are enqueued and ends when their end is seen.
// Hence layers cross on the only thread, unless each launch has ended when it returns (XSP_SERIALIZE): kernels wait until
// all are enqueued. For the tests of `xsp run --resolve`. Exit status 77: no OpenCL device.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <xsp/span.h>

#define LAYERS 4
#define KERNELS 2
#define ITEMS 64
#define ROUNDS 4000

static const char source[] = "kernel void spin(global int *out, int rounds) {"
                             "  int x = get_global_id(0);"
                             "  for (int i = 0; i < rounds; i++) x = x * 1664525 + 1013904223;"
                             "  out[get_global_id(0)] = x; }";

struct layer {
  struct xsp_span span;
  cl_event last;
  int is_open;
};

static int finish_done(struct layer *layers)
{
  int open = 0;
  for (int i = 0; i < LAYERS; i++) {
    cl_int state = CL_QUEUED;
    if (!layers[i].is_open)
      continue;
    clGetEventInfo(layers[i].last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    if (state == CL_COMPLETE) {
      xsp_span_finish(&layers[i].span);
      clReleaseEvent(layers[i].last);
      layers[i].is_open = 0;
    }
    open += layers[i].is_open;
  }
  return open;
}

int main(void)
{
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
    return 77;
  const char *text = source;
  size_t items = ITEMS;
  cl_int rounds = ROUNDS;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * sizeof(cl_int), NULL, &error);
  cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
  if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
    return 2;
  cl_kernel kernel = clCreateKernel(program, "spin", &error);
  clSetKernelArg(kernel, 0, sizeof memory, &memory);
  clSetKernelArg(kernel, 1, sizeof rounds, &rounds);
  error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL); // compiled for its size by now
  if (error != CL_SUCCESS || clFinish(queue) != CL_SUCCESS)
    return 3;
  struct layer layers[LAYERS] = {0};
  bool is_serial = getenv("XSP_SERIALIZE") != NULL;
  cl_event all_enqueued = clCreateUserEvent(context, &error);
  if (is_serial)
    clSetUserEventStatus(all_enqueued, CL_COMPLETE);
  for (int i = 0; i < LAYERS; i++) {
    char name[32];
    snprintf(name, sizeof name, "layer%d", i);
    layers[i].span = xsp_span_start(xsp_site_create("app", XSP_LEVEL_LAYER, name, NULL));
    for (int k = 0; k < KERNELS; k++)
      if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 1, &all_enqueued,
                                 k == KERNELS - 1 ? &layers[i].last : NULL) != CL_SUCCESS)
        return 4;
    clFlush(queue);
    layers[i].is_open = 1;
    finish_done(layers);
  }
  if (!is_serial)
    clSetUserEventStatus(all_enqueued, CL_COMPLETE);
  while (finish_done(layers) > 0)
    ;
  puts("done");
  return 0;
}
