// SPDX-License-Identifier: Apache-2.0
// Modules, kernels and memory, which is the host's.

#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct allocation {
  struct allocation *next;
  void *memory;
  size_t size;
  ze_memory_type_t type;
  uint32_t device;
  struct levelzero_context *context;
};
static int the_module;
static struct allocation *allocations;

// ---- modules and memory
API(module_create, ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
    ze_module_handle_t *ret, ze_module_build_log_handle_t *log)
{
  *ret = (ze_module_handle_t)&the_module;
  return OK;
}

API(module_destroy, ze_module_handle_t module)
{
  return OK;
}

API(kernel_create, ze_module_handle_t module, const ze_kernel_desc_t *desc, ze_kernel_handle_t *ret)
{
  struct kernel *kernel = calloc(1, sizeof *kernel);
  snprintf(kernel->name, sizeof kernel->name, "%s", desc->pKernelName);
  *ret = (ze_kernel_handle_t)kernel;
  return OK;
}

API(kernel_destroy, ze_kernel_handle_t kernel)
{
  free(kernel);
  return OK;
}

API(kernel_size, ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
  memcpy(((struct kernel *)kernel)->block, (uint32_t[]){x, y, z}, 3 * sizeof x);
  return OK;
}

API(kernel_name, ze_kernel_handle_t kernel, size_t *size, char *name)
{
  snprintf(name, *size, "%s", ((struct kernel *)kernel)->name);
  return OK;
}

static ze_result_t allocate(ze_context_handle_t context, size_t size, ze_memory_type_t type, ze_device_handle_t device,
                            void **ret)
{
  struct allocation *made = calloc(1, sizeof *made);
  *made = (struct allocation){allocations,
                              aligned_alloc(64, (size + 63) / 64 * 64),
                              size,
                              type,
                              device == NULL ? DEVICES : ((struct levelzero_device *)device)->number,
                              (struct levelzero_context *)context};
  LOCK;
  made->next = allocations;
  allocations = made;
  made->context->allocations++;
  UNLOCK;
  *ret = made->memory;
  return OK;
}

API(memory_host, ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc, size_t size, size_t alignment,
    void **ret)
{
  return allocate(context, size, ZE_MEMORY_TYPE_HOST, NULL, ret);
}

API(memory_device, ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc, size_t size, size_t alignment,
    ze_device_handle_t device, void **ret)
{
  return size > 1u << 30 ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
                         : allocate(context, size, ZE_MEMORY_TYPE_DEVICE, device, ret);
}

API(memory_shared, ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc,
    const ze_host_mem_alloc_desc_t *host, size_t size, size_t alignment, ze_device_handle_t device, void **ret)
{
  return allocate(context, size, ZE_MEMORY_TYPE_SHARED, device, ret);
}

static struct allocation **find(const void *memory)
{
  struct allocation **place = &allocations;
  while (*place != NULL && (*place)->memory != memory)
    place = &(*place)->next;
  return place;
}

API(memory_free, ze_context_handle_t context, void *memory)
{
  LOCK;
  struct allocation **place = find(memory), *found = *place;
  if (found != NULL) {
    *place = found->next;
    found->context->allocations--;
  }
  UNLOCK;
  if (found == NULL)
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  free(found->memory);
  free(found);
  return OK;
}

API(memory_properties, ze_context_handle_t context, const void *memory, ze_memory_allocation_properties_t *ret,
    ze_device_handle_t *ret_device)
{
  LOCK;
  const struct allocation *found = *find(memory);
  ret->type = found == NULL ? ZE_MEMORY_TYPE_UNKNOWN : found->type;
  if (ret_device != NULL)
    *ret_device = found == NULL || found->device == DEVICES ? NULL : (ze_device_handle_t)&sim_devices[found->device];
  UNLOCK;
  return OK;
}

API(memory_range, ze_context_handle_t context, const void *memory, void **base, size_t *size)
{
  LOCK;
  const struct allocation *found = *find(memory);
  UNLOCK;
  if (found == NULL)
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  *base = found->memory;
  *size = found->size;
  return OK;
}

// ---- tables
TABLE(Module, ze_module_dditable_t)
{
  *table = (ze_module_dditable_t){.pfnCreate = module_create, .pfnDestroy = module_destroy};
  return OK;
}

TABLE(Kernel, ze_kernel_dditable_t)
{
  *table = (ze_kernel_dditable_t){.pfnCreate = kernel_create,
                                  .pfnDestroy = kernel_destroy,
                                  .pfnSetGroupSize = kernel_size,
                                  .pfnGetName = kernel_name};
  return OK;
}

TABLE(Mem, ze_mem_dditable_t)
{
  *table = (ze_mem_dditable_t){.pfnAllocShared = memory_shared,
                               .pfnAllocDevice = memory_device,
                               .pfnAllocHost = memory_host,
                               .pfnFree = memory_free,
                               .pfnGetAllocProperties = memory_properties,
                               .pfnGetAddressRange = memory_range};
  return OK;
}
