// SPDX-License-Identifier: Apache-2.0
// The doors of nvtx.so: the vendor's (each library that embeds NVTX calls it at its first NVTX call, by
// NVTX_INJECTION64_PATH) and xsp's. Whichever comes first starts it. Must not call NVTX: other threads wait meanwhile.
#include "tracers/nvtx/callbacks.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int InitializeInjectionNvtx2(nvtx_get_table get_table);
EXPORTED int InitializeInjectionNvtx(nvtx_get_table get_table);
EXPORTED int InitializeInjectionNvtxExtension(struct nvtx_extension *module);

static bool begin(void)
{
  xsp_attach(NULL); // the session of the environment; joined already as a rule
  if (xsp_session_levels() == 0)
    return false; // no session: NVTX works as without a tool
  annotations_start("nvtx");
  (void)xsp_tracer_join(xsp_tracer_entry(NULL));
  return true;
}

int InitializeInjectionNvtx2(nvtx_get_table get_table)
{
  const struct nvtx_callbacks_table *callbacks = get_table == NULL ? NULL : get_table(NVTX_TABLE_CALLBACKS);
  if (callbacks == NULL || callbacks->struct_size < sizeof *callbacks || !begin())
    return 0;
  const struct nvtx_version_table *version = get_table(NVTX_TABLE_VERSION);
  if (version != NULL && version->struct_size >= sizeof *version && version->set_tool_version != NULL)
    version->set_tool_version(3);
  nvtx_callbacks_fill(callbacks);
  return 1;
}

// Versions 1 and 2, which were a library of their own; the same tables.
int InitializeInjectionNvtx(nvtx_get_table get_table)
{
  return InitializeInjectionNvtx2(get_table);
}

int InitializeInjectionNvtxExtension(struct nvtx_extension *module)
{
  if (module == NULL || module->struct_size < sizeof *module || !begin())
    return 0;
  nvtx_extensions_fill(module);
  return 1;
}

// ---- xsp's door
static int probe(const struct xsp_host *host, char *why, size_t why_size)
{
  if (host != NULL && host->size >= sizeof *host && host->found != NULL)
    host->found(host, "NVTX headers in the program's libraries", NULL);
  return 0; // needs nothing: libraries carry NVTX with them and look for a tool
}

static int start(const struct xsp_host *host)
{
  annotations_start("nvtx");
  annotations_host(host);
  return 0;
}

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *host)
{
  static const struct xsp_tracer tracer = {
      .size = sizeof tracer,
      .level_mask = XSP_LEVEL_MASK(XSP_LEVEL_APPLICATION) | XSP_LEVEL_MASK(XSP_LEVEL_MODEL) |
                    XSP_LEVEL_MASK(XSP_LEVEL_LAYER) | XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY),
      .name = "nvtx",
      .summary = "ranges, marks and counters that programs and libraries annotate with NVTX",
      .probe = probe,
      .start = start,
  };
  return &tracer;
}
