// SPDX-License-Identifier: Apache-2.0
// A kernel's name is read when it is made, so that a handle that the driver gives out again has its new name, and a launch costs
// two look-ups.
#include "tracers/levelzero/kernels.h"

#include "base/hash.h"
#include "tracers/annotations/guest_table.h"
#include "tracers/device/kernels.h"
#include "tracers/levelzero/objects.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_CAPACITY (UINT32_C(1) << 16)
#define SEED UINT64_C(0xcbf29ce484222325)
#define NO_NAME "(kernel without a name)"

struct kernel {
  const char *name;  // atomic; never freed: a launch may be reading it
  uint32_t block[3]; // atomic
};

static struct guest_map kernels = {.capacity = 1u << 18};
static void *names[NAMES_CAPACITY];
static uint32_t name_count;

static bool is_same_name(const void *entry, const void *key)
{
  return strcmp(entry, key) == 0;
}

// One copy of each name.
static const char *keep_name(const char *name)
{
  size_t length = strlen(name);
  uint32_t hash = (uint32_t)hash_text(name, length, SEED);
  const char *known = guest_find(names, NAMES_CAPACITY, hash, is_same_name, name);
  if (known != NULL)
    return known;
  char *fresh = __atomic_load_n(&name_count, __ATOMIC_RELAXED) < NAMES_CAPACITY / 2 ? malloc(length + 1) : NULL;
  if (fresh == NULL)
    return NO_NAME;
  memcpy(fresh, name, length + 1);
  const char *kept = guest_add(names, NAMES_CAPACITY, &name_count, hash, is_same_name, fresh, fresh);
  if (kept != fresh)
    free(fresh);
  return kept;
}

static struct kernel *kernel_named(void *handle, const char *name)
{
  struct kernel *kernel = guest_map_get(&kernels, handle), *fresh;
  if (kernel == NULL && (fresh = calloc(1, sizeof *fresh)) != NULL) {
    if (!guest_map_put(&kernels, handle, fresh)) {
      free(fresh);
      return NULL;
    }
    kernel = fresh;
  }
  if (kernel != NULL) {
    const uint32_t none[3] = {0};
    __atomic_store_n(&kernel->name, keep_name(name), __ATOMIC_RELEASE);
    levelzero_kernel_sized(handle, none);
  }
  return kernel;
}

void levelzero_kernel_made(void *handle, const char *name)
{
  kernel_named(handle, name == NULL || *name == '\0' ? NO_NAME : name);
}

// One that was made where xsp was not there, as by an extension.
static struct kernel *kernel_of(void *handle)
{
  struct kernel *kernel = guest_map_get(&kernels, handle);
  if (kernel != NULL)
    return kernel;
  char name[1024] = NO_NAME;
  size_t size = sizeof name;
  if (handle == NULL || ze.KernelGetName(handle, &size, name) != ZE_OK)
    strcpy(name, NO_NAME);
  name[sizeof name - 1] = '\0';
  return kernel_named(handle, name);
}

void levelzero_kernel_sized(void *handle, const uint32_t block[3])
{
  struct kernel *kernel = kernel_of(handle);
  for (int i = 0; i < 3 && kernel != NULL; i++)
    __atomic_store_n(&kernel->block[i], block[i], __ATOMIC_RELAXED);
}

struct xsp_site *levelzero_launched_site(void *handle, const uint32_t *grid, const uint32_t *block)
{
  struct kernel *kernel = kernel_of(handle);
  struct device_kernel_shape shape = {0};
  for (int i = 0; i < 3; i++) {
    shape.grid[i] = grid == NULL ? 0 : grid[i];
    if (block != NULL)
      shape.block[i] = block[i];
    else if (kernel != NULL)
      shape.block[i] = __atomic_load_n(&kernel->block[i], __ATOMIC_RELAXED);
  }
  return device_kernel_site(LEVELZERO_TRACER, kernel == NULL ? NULL : __atomic_load_n(&kernel->name, __ATOMIC_ACQUIRE),
                            &shape);
}
