// SPDX-License-Identifier: Apache-2.0
// What Level Zero this machine has: its loader, the parts that it loads, devices. In a traced process nothing is looked at: to
// load a driver takes longer than most programs run.
#include "tracers/levelzero/probe.h"

#include "tracers/device/function.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVERS_MOST 16u
#define DEVICES_LISTED 16u
#define PARTS_MOST 16u

struct part { // of the loader: zel_component_version_t
  char name[64];
  uint32_t specification;
  int32_t version[3];
};

static void advise(const struct xsp_host *host, const char *advice)
{
  if (host->size >= sizeof *host)
    host->advise(host, advice);
}

static void append(char *text, size_t size, const char *more)
{
  size_t used = strlen(text);
  snprintf(text + used, size - used, "%s%s", used == 0 ? "" : ", ", more);
}

// "loader 1.8.12, tracing layer 1.8.12"
static void describe_parts(void *library, char *text, size_t size)
{
  uint32_t (*get)(size_t *, struct part *);
  struct part parts[PARTS_MOST];
  size_t count = 0;
  if (!device_function(library, "zelLoaderGetVersions", &get) || get(&count, NULL) != ZE_OK || count > PARTS_MOST ||
      get(&count, parts) != ZE_OK)
    return;
  for (size_t i = 0; i < count; i++) {
    char one[128];
    snprintf(one, sizeof one, "%.63s %d.%d.%d", parts[i].name, parts[i].version[0], parts[i].version[1],
             parts[i].version[2]);
    append(text, size, one);
  }
}

// "2 devices: Intel(R) …, …" of all drivers.
static uint32_t describe_devices(const struct ze *found, char *text, size_t size)
{
  void *drivers[DRIVERS_MOST], *devices[DEVICES_LISTED];
  uint32_t driver_count = DRIVERS_MOST, total = 0;
  char names[512] = "", line[600];
  if (found->DriverGet(&driver_count, drivers) != ZE_OK)
    driver_count = 0;
  for (uint32_t i = 0; i < driver_count && i < DRIVERS_MOST; i++) {
    uint32_t count = DEVICES_LISTED;
    if (found->DeviceGet(drivers[i], &count, devices) != ZE_OK)
      continue;
    for (uint32_t j = 0; j < count && j < DEVICES_LISTED; j++) {
      struct ze_device_properties properties = {.head = {ZE_DEVICE_PROPERTIES_1_2, NULL}};
      if (found->DeviceGetProperties(devices[j], &properties) == ZE_OK)
        append(names, sizeof names, properties.name);
    }
    total += count;
  }
  snprintf(line, sizeof line, "%u device%s%s%s", total, total == 1 ? "" : "s", names[0] == '\0' ? "" : ": ", names);
  append(text, size, line);
  return total;
}

static uint32_t initialise(void *library)
{
  uint32_t (*init)(uint32_t);
  return device_function(library, "zeInit", &init) ? init(0) : UINT32_MAX;
}

static int look_at(const struct xsp_host *host, void *library, char *why, size_t why_size)
{
  struct ze found;
  struct link_map *map = NULL;
  char text[768] = "";
  const char *file = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "libze_loader.so.1";
  if (!levelzero_library_find(library, &found, why, why_size)) {
    advise(host, "use Level Zero's loader 1.8 or newer (apt-get install libze1)");
    return -1;
  }
  uint32_t error = initialise(library);
  describe_parts(library, text, sizeof text);
  uint32_t devices = error == ZE_OK ? describe_devices(&found, text, sizeof text) : 0;
  if (host->size >= sizeof *host)
    host->found(host, file, text[0] == '\0' ? NULL : text);
  if (devices == 0) {
    snprintf(why, why_size, "Level Zero finds no device (zeInit: 0x%x)", error);
    advise(host,
           "install the GPU's driver (apt-get install intel-level-zero-gpu, or libze-intel-gpu1), and give a container "
           "its devices (docker: --device /dev/dri)");
    return -1;
  }
  if (levelzero_library_trace(library, why, why_size) != NULL)
    return 0;
  advise(host, "install the loader's tracing layer (apt-get install libze1), and unset ZE_ENABLE_TRACING_LAYER");
  return -1;
}

int levelzero_probe(const struct xsp_host *host, char *why, size_t why_size)
{
  const char *session = getenv("XSP_SESSION"), *given = getenv("XSP_LIBRARY_LEVELZERO");
  if (session != NULL && *session != '\0')
    return 0;
  setenv("ZE_ENABLE_TRACING_LAYER", "1", 0); // of this process alone: it is xsp's
  void *library = dlopen(given != NULL ? given : "libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library != NULL)
    return look_at(host, library, why, why_size);
  snprintf(why, why_size, "%s", dlerror());
  advise(host, given != NULL ? "give the file of Level Zero's loader: XSP_LIBRARY_LEVELZERO or --library levelzero=PATH"
                             : "apt-get install libze1, and the driver of the GPU");
  return -1;
}
