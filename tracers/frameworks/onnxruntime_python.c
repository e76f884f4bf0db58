// SPDX-License-Identifier: Apache-2.0
#include "tracers/frameworks/onnxruntime_python.h"
void onnxruntime_python_loaded(const struct python *python, void *module)
{
}
