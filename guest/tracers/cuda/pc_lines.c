// SPDX-License-Identifier: Apache-2.0
// CUPTI reads the lines itself, in code that it is given: what was loaded, named by a checksum in each sample.
#include "tracers/cuda/pc_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/call_path.h>

#define CUBINS_MOST 4096u
#define BYTES_MOST ((size_t)256 << 20)

static struct cubin {
  uint64_t crc;
  size_t bytes;
  void *code;
} cubins[CUBINS_MOST]; // none is ever taken out: samples may come after a module is unloaded
static uint32_t cubin_count;
static size_t bytes_kept;

static const struct cubin *find(uint64_t crc)
{
  for (uint32_t i = 0; i < cubin_count; i++)
    if (cubins[i].crc == crc)
      return &cubins[i];
  return NULL;
}

bool pc_lines_keep(const struct cupti *cupti, const struct cupti_module *module)
{
  static const char section[] = ".debug_line";
  struct pc_cubin_crc crc = {sizeof crc, module->cubin_bytes, module->cubin, 0};
  if (module->cubin == NULL || cupti->pc_get_cubin_crc == NULL || cupti->pc_get_line == NULL ||
      memmem(module->cubin, module->cubin_bytes, section, sizeof section) == NULL ||
      cupti->pc_get_cubin_crc(&crc) != CUPTI_OK || find(crc.ret_crc) != NULL)
    return true;
  bool has_room = cubin_count < CUBINS_MOST && module->cubin_bytes <= BYTES_MOST - bytes_kept;
  void *code = has_room ? malloc(module->cubin_bytes) : NULL;
  if (code == NULL)
    return false;
  memcpy(code, module->cubin, module->cubin_bytes);
  cubins[cubin_count++] = (struct cubin){crc.ret_crc, module->cubin_bytes, code};
  bytes_kept += module->cubin_bytes;
  return true;
}

static uint32_t line_path(const struct cupti *cupti, const struct pc_record *record, uint32_t kernel)
{
  const struct cubin *cubin = find(record->cubin_crc);
  if (cubin == NULL)
    return kernel;
  struct pc_line line = {.size = sizeof line,
                         .cubin = cubin->code,
                         .function = record->function,
                         .cubin_bytes = cubin->bytes,
                         .offset = record->offset};
  char file[4096];
  uint32_t path = kernel;
  if (cupti->pc_get_line(&line) == CUPTI_OK && line.ret_file != NULL && line.ret_line != 0) {
    bool has_folder = line.ret_folder != NULL && line.ret_folder[0] != '\0' && line.ret_file[0] != '/';
    snprintf(file, sizeof file, "%s%s%s", has_folder ? line.ret_folder : "", has_folder ? "/" : "", line.ret_file);
    const struct xsp_frame frame = {
        .size = sizeof frame, .kind = XSP_FRAME_DEVICE, .name = record->function, .file = file, .line = line.ret_line};
    path = xsp_call_path(kernel, &frame);
  }
  free(line.ret_file);
  free(line.ret_folder);
  return path;
}

uint32_t pc_lines_path(const struct cupti *cupti, const struct pc_record *record, uint32_t caller)
{
  char name[32], module[32];
  struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_DEVICE, .name = record->function};
  uint32_t kernel = xsp_call_path(caller, &frame), line = kernel == 0 ? 0 : line_path(cupti, record, kernel);
  if (line == 0)
    return 0;
  snprintf(name, sizeof name, "+0x%llx", (unsigned long long)record->offset);
  snprintf(module, sizeof module, "cubin %016llx", (unsigned long long)record->cubin_crc);
  frame.name = name;
  frame.module = module;
  frame.address = record->offset;
  return xsp_call_path(line, &frame);
}
