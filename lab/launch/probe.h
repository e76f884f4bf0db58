// SPDX-License-Identifier: Apache-2.0
// Probes a predictor or a tracer in a child process, so that a library that crashes, exits or hangs does no harm. The
// child's output is discarded.
#ifndef XSP_LAUNCH_PROBE_H
#define XSP_LAUNCH_PROBE_H

#include "base/error.h"
#include "frameworks/frameworks.h"

#include <stdbool.h>

#define PROBE_TIMEOUT_MS 60000 // a Python environment on a cold disk may take seconds

struct probe_result { // of another process: no pointers
  bool is_usable;
  enum status status; // why not
  char name[64];
  char library[1024];
  char version[128];
  char reason[1536];
  char advice[256];
  char untold[64]; // predictors: properties of layers that they do not report
};

// `library_path` NULL: search. Never fails: what goes wrong is the reason.
void probe_predictor(const struct predictor *predictor, const char *library_path, struct probe_result *ret_result);
void probe_tracer(const char *path, struct probe_result *ret_result);

#endif
