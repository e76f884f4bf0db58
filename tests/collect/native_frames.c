// SPDX-License-Identifier: Apache-2.0
// A program whose span has the native functions that called it. #line gives the lines that the test compares.
#include "tracers/frames/find_object.h"
#include "tracers/frames/frames.h"

#include <xsp/call_path.h>
#include <xsp/span.h>

static volatile int kept;

__attribute__((noinline)) static void inner(struct xsp_site *site)
{
  struct xsp_span span = xsp_span_start(site);
#line 100
  xsp_span_call_path(&span, frames_path(CALL_PATHS_FULL, NULL, &span));
  xsp_span_finish(&span);
}

__attribute__((always_inline)) static inline void between(struct xsp_site *site)
{
#line 200
  inner(site);
  kept++;
}

__attribute__((noinline)) static void outer(struct xsp_site *site)
{
  between(site);
  kept++;
}

int main(void)
{
  struct xsp_site *site = xsp_site_create("operator", XSP_LEVEL_LAYER, "native_frames", NULL);
  find_object_setup();
  if (!frames_native_setup(NULL))
    return 1;
#line 300
  outer(site);
  return kept == 2 ? 0 : 1;
}
