// SPDX-License-Identifier: Apache-2.0
// The tracer's answer to `xsp check`: which ONNX Runtime a program started from here would find, and whether it is new
// enough. Does nothing in a traced process: there the program's own library counts.
#include "frameworks/onnxruntime/tracer_probe.h"

#include "base/library.h"
#include "frameworks/onnxruntime/abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct library_names library_names = {
    .name = "onnxruntime",
    .sonames = (const char *const[]){"libonnxruntime.so.1", "libonnxruntime.so", NULL},
    .package_glob = "onnxruntime/capi/libonnxruntime.so*",
    .advice = "pip install onnxruntime; a program that brings its own needs nothing",
};

static int not_usable(const struct xsp_host *host, char *why, size_t why_size, const char *reason, const char *advice)
{
  snprintf(why, why_size, "%s", reason);
  host->advise(host, advice);
  return -1;
}

int onnxruntime_probe(const struct xsp_host *host, char *why, size_t why_size)
{
  if (host == NULL || host->size < offsetof(struct xsp_host, advise) + sizeof host->advise)
    return 0;
  if (secure_getenv("XSP_SESSION") != NULL)
    return 0;
  setenv("ORT_DISABLE_TELEMETRY", "1", 0); // we are a process of our own here, made to look and to end
  struct library library;
  struct error err = {0};
  char reason[1024];
  if (library_open(&library_names, NULL, &library, &err) != STATUS_OK) {
    snprintf(reason, sizeof reason, "%s: %s", err.what, err.why);
    return not_usable(host, why, why_size, reason, err.advice[0] != 0 ? err.advice : library_names.advice);
  }
  ort_get_api_base_fn get_base = NULL;
  void *symbol = dlsym(library.handle, ORT_GET_API_BASE);
  memcpy(&get_base, &symbol, sizeof symbol);
  if (get_base == NULL) {
    host->found(host, library.path, NULL);
    return not_usable(host, why, why_size, "not an ONNX Runtime library: " ORT_GET_API_BASE " is missing",
                      library_names.advice);
  }
  const char *version = get_base()->version_string();
  host->found(host, library.path, version);
  if (ort_api_version(version) >= ORT_API_LISTENER)
    return 0;
  snprintf(reason, sizeof reason, "ONNX Runtime %s calls no listener (1.25 or later does): models, but no layers",
           version);
  return not_usable(host, why, why_size, reason, "pip install --upgrade onnxruntime");
}
