// SPDX-License-Identifier: Apache-2.0
// A kernel's name is read when it is made, so that a handle that the driver gives out again has its new name. A site has the
// tags of its shape, so that a launch costs two look-ups.
#include "tracers/levelzero/kernels.h"

#include "base/hash.h"
#include "tracers/annotations/guest_table.h"
#include "tracers/levelzero/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITES_CAPACITY (UINT32_C(1) << 16)
#define SEED UINT64_C(0xcbf29ce484222325) // sites are shared by the session's processes: a variant is the same in each
#define NO_NAME "(kernel without a name)"

struct kernel {
  const char *name;  // atomic; never freed: a launch may be reading it
  uint32_t block[3]; // atomic
};
struct shape {
  uint32_t grid[3], block[3]; // 0: not known
};
struct known {
  struct shape shape;
  const char *name; // follows this structure
  struct xsp_site *site;
};

static struct guest_map kernels = {.capacity = 1u << 18};
static void *sites[SITES_CAPACITY];
static uint32_t site_count;
static void *names[SITES_CAPACITY];
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
  const char *known = guest_find(names, SITES_CAPACITY, hash, is_same_name, name);
  if (known != NULL)
    return known;
  char *fresh = __atomic_load_n(&name_count, __ATOMIC_RELAXED) < SITES_CAPACITY / 2 ? malloc(length + 1) : NULL;
  if (fresh == NULL)
    return NO_NAME;
  memcpy(fresh, name, length + 1);
  const char *kept = guest_add(names, SITES_CAPACITY, &name_count, hash, is_same_name, fresh, fresh);
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
    kernel_sized(handle, none);
  }
  return kernel;
}

void kernel_made(void *handle, const char *name)
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

void kernel_sized(void *handle, const uint32_t block[3])
{
  struct kernel *kernel = kernel_of(handle);
  for (int i = 0; i < 3 && kernel != NULL; i++)
    __atomic_store_n(&kernel->block[i], block[i], __ATOMIC_RELAXED);
}

// ---- sites
static bool is_same(const void *entry, const void *key)
{
  const struct known *left = entry, *right = key;
  return memcmp(&left->shape, &right->shape, sizeof left->shape) == 0 && strcmp(left->name, right->name) == 0;
}

static void tag_three(struct xsp_site *site, const char *key, const uint32_t values[3])
{
  char text[48];
  if (values[0] == 0)
    return;
  snprintf(text, sizeof text, "[%u,%u,%u]", values[0], values[1], values[2]);
  xsp_site_tag_string(site, key, text);
}

static struct xsp_site *site_of(const struct known *key)
{
  size_t length = strlen(key->name);
  uint64_t hash = hash_text(key->name, length, hash_text((const char *)&key->shape, sizeof key->shape, SEED));
  const struct known *known = guest_find(sites, SITES_CAPACITY, (uint32_t)hash, is_same, key);
  if (known != NULL)
    return known->site;
  struct known *fresh =
      __atomic_load_n(&site_count, __ATOMIC_RELAXED) < SITES_CAPACITY / 2 ? malloc(sizeof *fresh + length + 1) : NULL;
  if (fresh == NULL)
    return xsp_site_create(LEVELZERO_TRACER, XSP_LEVEL_KERNEL, key->name, "kernel");
  *fresh = *key;
  fresh->name = memcpy(fresh + 1, key->name, length + 1);
  fresh->site = xsp_site_create_variant(LEVELZERO_TRACER, XSP_LEVEL_KERNEL, key->name, "kernel",
                                        (uint32_t)(hash >> 32 ^ hash) | 1);
  if (fresh->site != NULL) {
    tag_three(fresh->site, "grid", key->shape.grid);
    tag_three(fresh->site, "block", key->shape.block);
  }
  known = guest_add(sites, SITES_CAPACITY, &site_count, (uint32_t)hash, is_same, fresh, fresh);
  if (known != fresh)
    free(fresh);
  return known->site;
}

struct xsp_site *kernel_site(void *handle, const uint32_t *grid, const uint32_t *block)
{
  struct kernel *kernel = kernel_of(handle);
  const char *name = kernel == NULL ? NULL : __atomic_load_n(&kernel->name, __ATOMIC_ACQUIRE);
  struct known key = {.name = name == NULL ? NO_NAME : name};
  for (int i = 0; i < 3; i++) {
    key.shape.grid[i] = grid == NULL ? 0 : grid[i];
    if (block != NULL)
      key.shape.block[i] = block[i];
    else if (kernel != NULL)
      key.shape.block[i] = __atomic_load_n(&kernel->block[i], __ATOMIC_RELAXED);
  }
  return site_of(&key);
}
