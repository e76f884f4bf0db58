// SPDX-License-Identifier: Apache-2.0
// An interpreter's call paths: each operator has the functions that called it, and costs no more than any span.
#include <stddef.h>
#include <xsp/call_path.h>

// Of a path, a frame of kind `kind` called from it.
static uint32_t call(uint32_t caller, enum xsp_frame_kind kind, const char *name, const char *file, uint32_t line)
{
  struct xsp_frame frame = {.size = sizeof frame, .kind = kind, .name = name, .file = file, .line = line};
  return xsp_call_path(caller, &frame);
}

static void run_operator(const char *name, uint32_t caller)
{
  uint32_t path = call(caller, XSP_FRAME_FRAMEWORK, name, NULL, 0);
  // A site for each operator and path. The path serves as the variant, so that equal names do not share a site.
  struct xsp_site *site = xsp_site_create_variant("my framework", XSP_LEVEL_LAYER, name, NULL, path);
  xsp_site_call_path(site, path);
  struct xsp_span span = xsp_span_start(site);
  xsp_span_finish(&span);
}

int main(void)
{
  uint32_t program = call(0, XSP_FRAME_PYTHON, "<module>", "train.py", 12);
  uint32_t forward = call(program, XSP_FRAME_PYTHON, "forward", "net.py", 40);
  for (int step = 0; step < 3; step++) {
    run_operator("conv", forward);
    run_operator("add", forward);
    run_operator("add", program);
  }
  return 0;
}
