// SPDX-License-Identifier: Apache-2.0
// Tests only: a plugin that spans and is unloaded again, by a program that knows nothing of xsp.
#include <xsp/span.h>

XSP_SITE(plugin, XSP_LEVEL_LIBRARY, "plugin");

__attribute__((visibility("default"))) void plugin_work(void);
void plugin_work(void)
{
  struct xsp_span span = xsp_span_start(&plugin);
  xsp_span_finish(&span);
}
