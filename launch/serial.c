// SPDX-License-Identifier: Apache-2.0
// The table of variables that serialise launches. Read by environment.c (programs) and runner_process.c (models).
#include "launch/serial.h"

#include <stddef.h>

const struct serial_variable serial_variables[] = {
    {"XSP_SERIALIZE", "1"},               // xsp's tracers: OpenCL waits for each command before its call returns
    {"CUDA_LAUNCH_BLOCKING", "1"},        // a launch returns when its kernel has ended
    {"HIP_LAUNCH_BLOCKING", "1"},         // the same
    {"AMD_SERIALIZE_KERNEL", "3"},        // waits before and after each kernel
    {"OMP_NUM_THREADS", "1"},             // operators in teams of threads
    {"TF_NUM_INTEROP_THREADS", "1"},      // operators side by side
    {"MXNET_ENGINE_TYPE", "NaiveEngine"}, // the same
    {NULL, NULL},
};
