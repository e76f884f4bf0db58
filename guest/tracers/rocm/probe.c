// SPDX-License-Identifier: Apache-2.0
// What ROCm this machine has. In a program it is HIP and HSA that choose a librocprofiler-sdk: the one next to their
// librocprofiler-register.
#include "tracers/rocm/probe.h"

#include "tracers/device/function.h"
#include "tracers/rocm/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void advise(const struct xsp_host *host, const char *advice)
{
  if (host->size >= sizeof *host)
    host->advise(host, advice);
}

static void *open_library(char *why, size_t why_size)
{
  static const char *const names[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0"};
  const char *given = getenv("ROCPROFILER_REGISTER_LIBRARY"), *toolkit = getenv("ROCM_PATH");
  if (given != NULL && *given != '\0') {
    void *library = dlopen(given, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
      snprintf(why, why_size, "ROCPROFILER_REGISTER_LIBRARY: %s", dlerror());
    return library;
  }
  void *library = NULL;
  for (size_t i = 0; library == NULL && i < sizeof names / sizeof names[0]; i++) {
    char path[PATH_MAX];
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL &&
        snprintf(path, sizeof path, "%s/lib/%s", toolkit != NULL && *toolkit != '\0' ? toolkit : "/opt/rocm",
                 names[i]) < (int)sizeof path)
      library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == NULL)
    snprintf(why, why_size, "no librocprofiler-sdk.so.1 or .0: neither the system's nor in ROCM_PATH or /opt/rocm");
  return library;
}

static bool find_version(void *library, uint32_t *ret_version)
{
  int (*get_version)(uint32_t *, uint32_t *, uint32_t *);
  uint32_t major = 0, minor = 0, patch = 0;
  if (!device_function(library, "rocprofiler_get_version", &get_version) ||
      get_version(&major, &minor, &patch) != ROCM_OK)
    return false;
  *ret_version = ROCM_VERSION(major, minor) + patch;
  return true;
}

static int count_gpus(int version, const void **agents, size_t count, void *data)
{
  for (size_t i = 0; i < count; i++)
    *(uint32_t *)data += ((const struct rocm_agent *)agents[i])->type == ROCM_AGENT_GPU;
  return ROCM_OK;
}

static bool describe(const struct xsp_host *host, void *library, uint32_t *ret_gpus, char *why, size_t why_size)
{
  struct link_map *map = NULL;
  const char *file = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "librocprofiler-sdk";
  uint32_t version = 0;
  struct rocm rocm;
  char reason[200], text[96];
  if (!find_version(library, &version) || !rocm_library_find(library, version, &rocm, reason, sizeof reason)) {
    snprintf(why, why_size, "%s: %s", file, version == 0 ? "it did not report its version" : reason);
    advise(host, "install rocprofiler-sdk of ROCm 6.2 or later");
    return false;
  }
  rocm.query_agents(ROCM_AGENT_VERSION, count_gpus, sizeof(struct rocm_agent), ret_gpus);
  snprintf(text, sizeof text, "rocprofiler-sdk %u.%u.%u, %u GPU%s", version / 10000, version / 100 % 100, version % 100,
           *ret_gpus, *ret_gpus == 1 ? "" : "s");
  if (host->size >= sizeof *host)
    host->found(host, file, text);
  return true;
}

int rocm_probe(const struct xsp_host *host, char *why, size_t why_size)
{
  const char *session = getenv("XSP_SESSION");
  if (session != NULL && *session != '\0')
    return 0;
  uint32_t gpus = 0;
  void *library = open_library(why, why_size);
  if (library == NULL)
    advise(host, "install rocprofiler-sdk of ROCm 6.2 or later (AMD's package rocprofiler-sdk)");
  if (library == NULL || !describe(host, library, &gpus, why, why_size))
    return -1;
  if (gpus > 0 && access("/dev/kfd", R_OK | W_OK) == 0)
    return 0;
  if (gpus > 0)
    snprintf(why, why_size, "/dev/kfd: %s", strerror(errno));
  else
    snprintf(why, why_size, "no GPU of AMD is found");
  advise(
      host,
      "the kernel's driver amdgpu is needed, membership in the group render, and in a container its devices (docker: "
      "--device /dev/kfd --device /dev/dri)");
  return -1;
}
