// SPDX-License-Identifier: Apache-2.0
// Where libcupti may be. Called once, when the driver starts; makes no call of CUPTI but cuptiGetVersion's.
#include "tracers/cuda/library.h"

#include "tracers/device/function.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const versions[] = {"13", "12", "11.8"};
#define VERSIONS (sizeof versions / sizeof versions[0])

struct loaded {
  char cupti[PATH_MAX];   // a libcupti of the process
  char runtime[PATH_MAX]; // the folder of its libcudart
};

static int note_library(struct dl_phdr_info *info, size_t size, void *data)
{
  struct loaded *loaded = data;
  const char *name = info->dlpi_name == NULL ? NULL : strrchr(info->dlpi_name, '/');
  if (name == NULL || strlen(info->dlpi_name) >= PATH_MAX)
    return 0;
  if (strncmp(name, "/libcupti.so", 12) == 0)
    strcpy(loaded->cupti, info->dlpi_name);
  if (strncmp(name, "/libcudart.so", 13) == 0)
    snprintf(loaded->runtime, sizeof loaded->runtime, "%.*s", (int)(name - info->dlpi_name), info->dlpi_name);
  return 0;
}

static void *open_in(const char *folder, const char *below)
{
  char path[PATH_MAX];
  void *library = NULL;
  for (size_t i = 0; library == NULL && i < VERSIONS; i++)
    if (snprintf(path, sizeof path, "%s%slibcupti.so.%s", folder, below, versions[i]) < (int)sizeof path)
      library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return library;
}

static void *open_library(char *why, size_t why_size)
{
  const char *given = getenv("XSP_LIBRARY_CUPTI"), *toolkit = getenv("CUDA_HOME");
  void *library = given == NULL ? NULL : dlopen(given, RTLD_NOW | RTLD_LOCAL);
  if (given != NULL) {
    if (library == NULL)
      snprintf(why, why_size, "%s", dlerror());
    return library;
  }
  struct loaded loaded = {"", ""};
  dl_iterate_phdr(note_library, &loaded);
  if (loaded.cupti[0] != '\0')
    library = dlopen(loaded.cupti, RTLD_NOW | RTLD_NOLOAD);
  if (library == NULL && loaded.runtime[0] != '\0' && (library = open_in(loaded.runtime, "/")) == NULL &&
      (library = open_in(loaded.runtime, "/../../cuda_cupti/lib/")) == NULL) // of Python packages, 12 and before
    library = open_in(loaded.runtime, "/../extras/CUPTI/lib64/");
  if (library == NULL)
    library = open_in("", "");
  if (library == NULL)
    library = open_in(toolkit != NULL && *toolkit != '\0' ? toolkit : "/usr/local/cuda", "/extras/CUPTI/lib64/");
  if (library == NULL)
    snprintf(why, why_size,
             "no libcupti.so.13, .12 or .11.8: neither loaded, nor by the program's CUDA, nor the system's");
  return library;
}

bool cuda_library_find(struct cupti *ret_cupti, const char **ret_file, char *why, size_t why_size)
{
  struct cupti cupti = {0};
  struct link_map *map = NULL;
  void *library = open_library(why, why_size);
  if (library == NULL)
    return false;
  *ret_file = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "libcupti";
#define FIND(field, name, parameters) &&device_function_needed(library, "it", #name, &cupti.field, why, why_size)
  bool is_complete = true CUPTI_FUNCTIONS_NEEDED(FIND);
#undef FIND
#define FIND(field, name, parameters) device_function(library, #name, &cupti.field);
  CUPTI_FUNCTIONS_OPTIONAL(FIND)
#undef FIND
  if (is_complete && cupti.get_version(&cupti.version) != CUPTI_OK) {
    snprintf(why, why_size, "it does not answer");
    is_complete = false;
  }
  *ret_cupti = cupti;
  return is_complete;
}
