// SPDX-License-Identifier: Apache-2.0
// What the scenarios of the test program share: one device, one context, one small program of kernels, and a check that
// ends the program with the line where a call failed.
#ifndef XSP_TESTS_TRACERS_OPENCL_GUEST_H
#define XSP_TESTS_TRACERS_OPENCL_GUEST_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_opencl {
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_program program;
};
extern struct test_opencl test;

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cl_int check_error = (call);                                                                                       \
    if (check_error != CL_SUCCESS) {                                                                                   \
      fprintf(stderr, "%s:%d: %s is %d\n", __FILE__, __LINE__, #call, check_error);                                    \
      _Exit(99);                                                                                                       \
    }                                                                                                                  \
  } while (0)
#define CHECK_MADE(variable, call)                                                                                     \
  do {                                                                                                                 \
    cl_int error = CL_SUCCESS;                                                                                         \
    (variable) = (call);                                                                                               \
    CHECK(error);                                                                                                      \
  } while (0)

void test_open(void);
void test_close(void);
void test_build(const char *source);
cl_command_queue test_queue(cl_command_queue_properties properties);
cl_kernel test_kernel(const char *name, cl_mem buffer, cl_int rounds); // (buffer, rounds)
cl_mem test_buffer(size_t floats);
void test_launch(cl_command_queue queue, cl_kernel kernel, size_t global, cl_event *event);

void commands_of_all_kinds(void); // commands.c
void queries(void);               // queries.c

#endif
