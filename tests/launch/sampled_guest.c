// SPDX-License-Identifier: Apache-2.0
// Takes samples of itself with known durations: train.py:10 calls train.py:20, which is 30 ms in Python and 60 ms in NumPy, and
// waits 40 ms at train.py:10.
#include <stdint.h>
#include <xsp/call_path.h>
#include <xsp/tracer.h>

#define MS UINT64_C(1000000)

static uint32_t path(uint32_t caller, const char *name, const char *file, uint32_t line)
{
  const struct xsp_frame frame = {
      .size = sizeof frame, .kind = XSP_FRAME_PYTHON, .name = name, .file = file, .line = line};
  return xsp_call_path(caller, &frame);
}

int main(void)
{
  uint32_t outer = path(0, "<module>", "/home/me/train.py", 10), step = path(outer, "step", "/home/me/train.py", 20);
  const struct xsp_frame dot = {
      .size = sizeof dot, .kind = XSP_FRAME_NATIVE, .name = "dgemm", .module = "/lib/libblas.so"};
  uint32_t numpy = xsp_call_path(step, &dot);
  int is_recorded = 1;
  for (int i = 0; i < 10; i++)
    is_recorded &= xsp_sample(XSP_SAMPLE_CPU, i < 4 ? step : numpy, i < 4 ? 30 * MS / 4 : 10 * MS);
  is_recorded &= xsp_sample(XSP_SAMPLE_SLEEP, outer, 40 * MS);
  return is_recorded ? 0 : 1;
}
