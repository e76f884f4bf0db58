// SPDX-License-Identifier: Apache-2.0
// `xsp check opencl`: the loader, whether it knows layers, and the platforms it finds. In a traced process nothing is
// looked at: most programs never use OpenCL, and loading its drivers takes longer than such programs run.
#include "base/scoped.h"
#include "tracers/device/function.h"
#include "tracers/opencl/opencl.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLATFORMS_MOST 16

struct loader {
  const char *file;
  __typeof__(clGetPlatformIDs) *get_platforms;
  __typeof__(clGetPlatformInfo) *get_platform_info;
  __typeof__(clGetDeviceIDs) *get_devices;
};

// A loader that knows layers looks for this name in them; one that does not has no use for it.
static bool knows_layers(const char *file)
{
  static const char wanted[] = "clGetLayerInfo";
  struct stat status;
  int descriptor SCOPED(scoped_close) = open(file, O_RDONLY | O_CLOEXEC);
  bool found = false;
  if (descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_size > 0) {
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes != MAP_FAILED) {
      found = memmem(bytes, (size_t)status.st_size, wanted, sizeof wanted - 1) != NULL;
      munmap(bytes, (size_t)status.st_size);
    }
  }
  return found;
}

static const char *platform_text(const struct loader *loader, cl_platform_id platform, cl_platform_info what,
                                 char *text, size_t size)
{
  if (loader->get_platform_info(platform, what, size - 1, text, NULL) != CL_SUCCESS)
    snprintf(text, size, "?");
  text[size - 1] = '\0';
  return text;
}

// "PLATFORM VERSION (2 devices); …"
static void describe_platforms(const struct loader *loader, const cl_platform_id *platforms, cl_uint count, char *text,
                               size_t size)
{
  size_t used = 0;
  text[0] = '\0';
  for (cl_uint i = 0; i < count && used + 1 < size; i++) {
    char name[128] = "", version[256] = "";
    cl_uint devices = 0;
    if (loader->get_devices(platforms[i], CL_DEVICE_TYPE_ALL, 0, NULL, &devices) != CL_SUCCESS)
      devices = 0;
    platform_text(loader, platforms[i], CL_PLATFORM_NAME, name, sizeof name);
    platform_text(loader, platforms[i], CL_PLATFORM_VERSION, version, sizeof version);
    char *rest = strstr(version, "  "); // how it was built
    if (rest != NULL || (rest = strchr(version, ',')) != NULL)
      *rest = '\0';
    int length = snprintf(text + used, size - used, "%s%s, %s, %u device%s", i == 0 ? "" : "; ", name, version, devices,
                          devices == 1 ? "" : "s");
    used += length > 0 ? (size_t)length : 0;
  }
}

static void advise(const struct xsp_host *host, const char *advice)
{
  if (host->size >= sizeof *host)
    host->advise(host, advice);
}

static bool in_container(void)
{
  return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

static int no_platform(const struct xsp_host *host, char *why, size_t why_size)
{
  glob_t found = {0};
  const char *folder = getenv("OCL_ICD_VENDORS");
  bool has_icd = glob("/etc/OpenCL/vendors/*.icd", 0, NULL, &found) == 0;
  globfree(&found);
  snprintf(why, why_size, "the OpenCL loader finds no platform%s",
           has_icd ? ": the drivers named in /etc/OpenCL/vendors do not load or have no device" : "");
  if (folder != NULL)
    advise(host, "OCL_ICD_VENDORS is set: see that it names a folder with the drivers' .icd files");
  else if (has_icd && in_container())
    advise(host, "give the container the device and the driver (docker: --gpus all with "
                 "NVIDIA_DRIVER_CAPABILITIES=all, or --device /dev/dri), or install a CPU driver: apt-get install "
                 "pocl-opencl-icd");
  else
    advise(host, "install a driver: apt-get install pocl-opencl-icd (CPU), or the one of the GPU's vendor");
  return -1;
}

static void *open_loader(const struct xsp_host *host, struct loader *ret_loader, char *why, size_t why_size)
{
  const char *given = getenv("XSP_LIBRARY_OPENCL");
  void *library = dlopen(given != NULL ? given : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    snprintf(why, why_size, "%s", dlerror());
    advise(host, given != NULL ? "give the file of an OpenCL loader: XSP_LIBRARY_OPENCL or --library opencl=PATH"
                               : "apt-get install ocl-icd-libopencl1 pocl-opencl-icd");
    return NULL;
  }
  device_function(library, "clGetPlatformIDs", &ret_loader->get_platforms);
  device_function(library, "clGetPlatformInfo", &ret_loader->get_platform_info);
  device_function(library, "clGetDeviceIDs", &ret_loader->get_devices);
  struct link_map *map = NULL;
  ret_loader->file = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "libOpenCL.so.1";
  if (ret_loader->get_platforms == NULL || ret_loader->get_platform_info == NULL || ret_loader->get_devices == NULL) {
    snprintf(why, why_size, "%s is no OpenCL library", ret_loader->file);
    return NULL;
  }
  return library;
}

int opencl_probe(const struct xsp_host *host, char *why, size_t why_size)
{
  const char *session = getenv("XSP_SESSION");
  if (session != NULL && *session != '\0')
    return 0;
  struct loader loader = {0};
  if (open_loader(host, &loader, why, why_size) == NULL)
    return -1;
  cl_platform_id platforms[PLATFORMS_MOST];
  cl_uint count = 0;
  cl_int error = loader.get_platforms(PLATFORMS_MOST, platforms, &count);
  if (count > PLATFORMS_MOST)
    count = PLATFORMS_MOST;
  char text[512];
  describe_platforms(&loader, platforms, error == CL_SUCCESS ? count : 0, text, sizeof text);
  if (host->size >= sizeof *host)
    host->found(host, loader.file, text[0] == '\0' ? NULL : text);
  if (!knows_layers(loader.file)) {
    snprintf(why, why_size, "the OpenCL loader %s does not know layers", loader.file);
    advise(host, "use ocl-icd 2.3 or newer, or the Khronos loader 2021.04 or newer (apt-get install "
                 "ocl-icd-libopencl1), before the vendor's in LD_LIBRARY_PATH");
    return -1;
  }
  return error != CL_SUCCESS || count == 0 ? no_platform(host, why, why_size) : 0;
}
