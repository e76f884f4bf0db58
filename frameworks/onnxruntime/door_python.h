// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's Python module, which has its own copy of the runtime inside.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_DOOR_PYTHON_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_DOOR_PYTHON_H

#include "frameworks/common/door_python.h"

void onnxruntime_python_loaded(const struct python *python, void *module);

#endif
