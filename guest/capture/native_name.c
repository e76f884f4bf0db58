// SPDX-License-Identifier: Apache-2.0
// Names of native frames for clients in the process, as their modules export them; the collector finds more of them afterwards, by
// debug information. Called by monitor.c for a client, in its callback. It takes the loader's lock: never from a signal handler.
#include "capture/capture.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define KNOWN_FRAMES 4096u // a look into a library with many symbols takes a millisecond

static uint64_t known[KNOWN_FRAMES]; // atomic, by frame: its id << 32 | the name's; 0: free

struct search {
  const char *module; // NULL: the program
  uintptr_t base;
  bool is_found;
};

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
  struct search *search = context;
  const char *name = info->dlpi_name != NULL ? info->dlpi_name : ""; // "": the program
  search->is_found = strcmp(name, search->module != NULL ? search->module : "") == 0;
  search->base = info->dlpi_addr;
  return search->is_found;
}

static bool is_program(const char *module)
{
  char program[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = '\0';
  return strcmp(module, program) == 0;
}

static uint32_t find(const struct catalog_frame *frame)
{
  const struct catalog_string *module = catalog_entry(frame->module, CATALOG_STRING);
  Dl_info found = {0};
  if (module == NULL)
    return 0;
  struct search search = {.module = is_program(module->text) ? NULL : module->text};
  (void)dl_iterate_phdr(look, &search);
  if (!search.is_found || dladdr((const void *)(search.base + (uintptr_t)frame->address), &found) == 0 ||
      found.dli_sname == NULL)
    return 0;
  return catalog_text(found.dli_sname); // a copy: the module may be unloaded
}

uint32_t native_name(uint32_t frame_id, const struct catalog_frame *frame)
{
  uint64_t *slot = &known[frame_id % KNOWN_FRAMES], entry = __atomic_load_n(slot, __ATOMIC_RELAXED);
  if (entry >> 32 != frame_id) {
    entry = (uint64_t)frame_id << 32 | find(frame);
    __atomic_store_n(slot, entry, __ATOMIC_RELAXED);
  }
  return (uint32_t)entry;
}
