// SPDX-License-Identifier: Apache-2.0
// The table of tracers. Read by tracers.c (who is chosen), environment.c (how it gets in) and `xsp check`.
#include "launch/tracer_table.h"

#include "frameworks/frameworks.h"

#include <string.h>

#define A XSP_LEVEL_MASK(XSP_LEVEL_APPLICATION)
#define M XSP_LEVEL_MASK(XSP_LEVEL_MODEL)
#define L XSP_LEVEL_MASK(XSP_LEVEL_LAYER)
#define LIB XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY)
#define K XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)

#define FRAMEWORK_ROW(tracer, how, levels) {.name = #tracer, .door = DOOR_##how, .level_mask = levels},

const struct known_tracer launch_known_tracers[] = {
    {.name = "nvtx",
     .door = DOOR_VENDOR,
     .level_mask = A | L | LIB,
     .is_annotations = true,
     .variables = {{"NVTX_INJECTION64_PATH", SET, VALUE_TRACER, 0, NULL}}},
    {.name = "itt",
     .door = DOOR_VENDOR,
     .level_mask = A | L | LIB,
     .is_annotations = true,
     // 0: no limit. With a limit OpenCV leaves layers out and prints that to the program's stderr at its end.
     .variables = {{"INTEL_LIBITTNOTIFY64", SET, VALUE_TRACER, 0, NULL},
                   {"OPENCV_TRACE_DEPTH_OPENCV", IF_ABSENT, VALUE_TEXT, L, "0"},
                   {"OPENCV_TRACE_MAX_CHILDREN_OPENCV", IF_ABSENT, VALUE_TEXT, L, "0"},
                   {"OPENCV_TRACE_MAX_CHILDREN", IF_ABSENT, VALUE_TEXT, L, "0"}}},
    {.name = "opencl",
     .door = DOOR_VENDOR,
     .level_mask = K,
     .serializes = true,
     .library = "opencl",
     .variables = {{"OPENCL_LAYERS", PREPEND, VALUE_TRACER, 0, NULL}}},
    {.name = "cuda",
     .door = DOOR_VENDOR,
     .level_mask = K,
     .has_metrics = true,
     .library = "cupti",
     .variables = {{"CUDA_INJECTION64_PATH", IF_ABSENT, VALUE_TRACER, K, NULL}}},
    {.name = "rocm",
     .door = DOOR_VENDOR,
     .level_mask = A | L | LIB | K,
     .is_annotations = true,
     .has_metrics = true,
     .variables = {{"ROCP_TOOL_LIBRARIES", PREPEND_ENDED, VALUE_TRACER, 0, NULL}}},
    {.name = "levelzero",
     .door = DOOR_FRAMEWORK,
     .level_mask = K,
     .library = "levelzero",
     .variables = {{"ZE_ENABLE_TRACING_LAYER", IF_ABSENT, VALUE_TEXT, K, "1"}}},
    EACH_TRACER(FRAMEWORK_ROW) // guest/frameworks/common/table.h
    {.name = "functions",      // comes with --functions
     .is_not_automatic = true,
     .variables = {{"LD_AUDIT", PREPEND, VALUE_PART, 0, "tracers/functions_audit.so"},
                   {"XSP_FUNCTIONS", OWN, VALUE_FUNCTIONS, 0, NULL}}},
    {.name = "cpu",
     .door = DOOR_PRELOAD,
     .level_mask = XSP_LEVEL_MASK_ALL,
     .variables = {{"XSP_CPU_RATE", OWN, VALUE_RATE, 0, NULL}, {"XSP_CPU_MODE", OWN, VALUE_MODE, 0, NULL}}},
    {.name = "fake", .level_mask = XSP_LEVEL_MASK_ALL, .is_not_automatic = true}, // of tests: not installed
    {.name = "frameworks", .door = DOOR_PART},
    {.name = "functions_audit", .door = DOOR_PART},
    {0},
};

const struct known_tracer *launch_known_tracer(const char *name)
{
  const struct known_tracer *tracer = launch_known_tracers;
  while (tracer->name != NULL && strcmp(tracer->name, name) != 0)
    tracer++;
  return tracer->name != NULL ? tracer : NULL;
}

bool launch_tracer_has_metrics(const char *text)
{
  size_t length = strcspn(text, ":");
  const char *slash = memrchr(text, '/', length), *base = slash != NULL ? slash + 1 : text;
  length -= (size_t)(base - text);
  if (length > 3 && memcmp(base + length - 3, ".so", 3) == 0)
    length -= 3;
  if (length == 4 && memcmp(base, "auto", 4) == 0)
    return true;
  for (const struct known_tracer *tracer = launch_known_tracers; tracer->name != NULL; tracer++)
    if (tracer->has_metrics && strlen(tracer->name) == length && memcmp(base, tracer->name, length) == 0)
      return true;
  return false;
}

bool launch_tracer_is_part(const char *name)
{
  const struct known_tracer *tracer = launch_known_tracer(name);
  return tracer != NULL && tracer->door == DOOR_PART;
}
