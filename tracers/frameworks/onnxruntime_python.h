// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's Python module, which has its own copy of the runtime inside.
#ifndef XSP_TRACERS_FRAMEWORKS_ONNXRUNTIME_PYTHON_H
#define XSP_TRACERS_FRAMEWORKS_ONNXRUNTIME_PYTHON_H

#include "tracers/frameworks/python.h"

void onnxruntime_python_loaded(const struct python *python, void *module);

#endif
