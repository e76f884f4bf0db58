// SPDX-License-Identifier: Apache-2.0
// Preloaded by tests/tracers/test_cuda_graphs.py: gives call paths as a framework's tracer does. The n-th that is asked for is
// "layer n", called by "capture".
#include <stdio.h>
#include <xsp/monitor.h>

static uint32_t next_layer(uint32_t sources)
{
  static uint32_t asked;
  char name[32];
  if (sources != (XSP_SOURCE_PYTHON | XSP_SOURCE_FRAMEWORK))
    return 0;
  snprintf(name, sizeof name, "layer %u", __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED));
  struct xsp_frame capture = {
      .size = sizeof capture, .kind = XSP_FRAME_PYTHON, .name = "capture", .file = "model.py", .line = 7};
  struct xsp_frame layer = {.size = sizeof layer, .kind = XSP_FRAME_FRAMEWORK, .name = name};
  return xsp_call_path(xsp_call_path(0, &capture), &layer);
}

__attribute__((constructor)) static void provide(void)
{
  xsp_monitor_provide(next_layer);
}
