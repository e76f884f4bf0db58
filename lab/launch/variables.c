// SPDX-License-Identifier: Apache-2.0
// The tables of variables by option. Read by environment.c (programs) and runner_process.c (models).
#include "launch/variables.h"

#include <stddef.h>
#include <string.h>

const struct fixed_variable launch_serial_variables[] = {
    {"XSP_SERIALIZE", "1", "xsp"},                 // OpenCL's tracer waits for each command before its call returns
    {"CUDA_LAUNCH_BLOCKING", "1", "CUDA"},         // a launch returns when its kernel has ended
    {"HIP_LAUNCH_BLOCKING", "1", "HIP"},           // the same
    {"AMD_SERIALIZE_KERNEL", "3", "HIP"},          // waits before and after each kernel
    {"UR_L0_SERIALIZE", "2", "SYCL"},              // on Level Zero: each submission waits for its end
    {"OMP_NUM_THREADS", "1", "OpenMP"},            // operators in teams of threads
    {"TF_NUM_INTEROP_THREADS", "1", "TensorFlow"}, // operators side by side
    {"MXNET_ENGINE_TYPE", "NaiveEngine", "MXNet"}, // the same
    {NULL, NULL, NULL},
};

const struct fixed_variable launch_pin_variables[] = {
    {"TF_DETERMINISTIC_OPS", "1", "TensorFlow"},      {"TF_CUDNN_DETERMINISTIC", "1", "TensorFlow"},
    {"TF_CUDNN_USE_AUTOTUNE", "0", "TensorFlow"}, // no choice by times measured in this process
    {"MXNET_ENFORCE_DETERMINISM", "1", "MXNet"},      {"MXNET_CUDNN_AUTOTUNE_DEFAULT", "0", "MXNet"}, // the same
    {"CUBLAS_WORKSPACE_CONFIG", ":4096:8", "cuBLAS"}, {NULL, NULL, NULL},
};

void pin_variables_explain(struct buf *out)
{
  for (const struct fixed_variable *variable = launch_pin_variables; variable->name != NULL; variable++) {
    bool is_first = variable == launch_pin_variables;
    bool is_same = !is_first && strcmp(variable[-1].of, variable->of) == 0;
    if (is_same)
      buf_text(out, ", ");
    else
      buf_format(out, "%s%s (", is_first ? "" : "), ", variable->of);
    buf_format(out, "%s=%s", variable->name, variable->value);
  }
  buf_text(out, ")");
}
