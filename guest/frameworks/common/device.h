// SPDX-License-Identifier: Apache-2.0
// The device that a model is to run on: `xsp profile --device cpu|gpu|gpu:N|NAME`. A NAME is the framework's own.
#ifndef XSP_FRAMEWORKS_COMMON_DEVICE_H
#define XSP_FRAMEWORKS_COMMON_DEVICE_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>

enum device_kind { DEVICE_DEFAULT, DEVICE_CPU, DEVICE_GPU, DEVICE_NAMED };
struct framework_device {
  enum device_kind kind;
  const char *text; // as given, borrowed; NULL: DEVICE_DEFAULT
  int index;        // of gpu:N; -1: not given
};

// `text` NULL: the framework's default. cpu, gpu and gpu:N in any case. False: empty, or a number that is none.
bool framework_device_parse(const char *text, struct framework_device *ret_device);
// The error where a device is not there. `present`: those that are, "CPU, GPU.0".
enum status framework_device_missing(const struct framework_device *device, const char *framework, const char *present,
                                     struct error *err) MUST_CHECK;
// "CPU, GPU.0" from "CPU" and "GPU.0", in `arena`; `list` is "" at first.
const char *framework_device_list(struct arena *arena, const char *list, const char *name);

#endif
