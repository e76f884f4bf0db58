// SPDX-License-Identifier: Apache-2.0
// The scripted model: its contents and how its text is read. Text format in docs/internals/predictors.md.
#ifndef XSP_FRAMEWORKS_SCRIPT_MODEL_H
#define XSP_FRAMEWORKS_SCRIPT_MODEL_H

#include "base/arena.h"
#include "base/error.h"
#include "frameworks/common/predictor.h"

#include <stddef.h>
#include <stdint.h>

enum script_fault { SCRIPT_FAULT_NONE, SCRIPT_ABORT, SCRIPT_SEGV, SCRIPT_EXIT, SCRIPT_HANG, SCRIPT_ALLOCATE };

struct script_kernel {
  struct script_kernel *next;
  const char *name;
  uint64_t duration_ns;
};

struct script_layer {
  struct script_layer *next;
  const char *name, *type;
  const char *shape;    // "N,64,112,112"; NULL: none
  int64_t alloc_bytes;  // -1: none
  uint64_t duration_ns; // of its own work, before its kernels
  struct script_kernel *kernels;
  struct xsp_site *site; // set by the predictor
};

struct script_model {
  struct script_layer *layers;
  size_t layer_count;
  struct tensor_info *inputs;
  size_t input_count;
  double batch_factor; // durations are multiplied by 1 + (batch - 1) * batch_factor
  enum script_fault fault;
  uint64_t fault_value;      // exit status, or bytes
  uint64_t fault_prediction; // happens in the n-th inference, from 1; 0: when the model is opened
};

#define SCRIPT_TEXT_MAXIMUM ((size_t)1 << 20)

// `path` is for errors only. Everything lives in `arena`. Errors: STATUS_INPUT with path and line.
enum status script_parse(const char *text, size_t length, const char *path, struct arena *arena,
                         struct script_model *ret_model, struct error *err) MUST_CHECK;

#endif
