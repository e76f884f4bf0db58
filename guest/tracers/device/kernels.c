// SPDX-License-Identifier: Apache-2.0
// Kernels by name and shape. The name is compared as text: nothing says that its address is used once only.
#include "tracers/device/kernels.h"

#include "base/hash.h"
#include "tracers/annotations/guest_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITES_CAPACITY (UINT32_C(1) << 16)
#define SEED UINT64_C(0xcbf29ce484222325) // sites are shared by the session's processes: a variant is the same in each

struct known_kernel {
  struct device_kernel_shape shape;
  const char *name; // follows this structure
  struct xsp_site *site;
};

static void *sites[SITES_CAPACITY];
static uint32_t site_count;

static bool is_same(const void *entry, const void *key)
{
  const struct known_kernel *left = entry, *right = key;
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

static double product(const uint32_t sizes[3])
{
  return (double)sizes[0] * sizes[1] * sizes[2];
}

static struct xsp_site *make_site(const char *tracer, const struct known_kernel *kernel, uint64_t hash)
{
  const struct device_kernel_shape *shape = &kernel->shape;
  struct xsp_site *site =
      xsp_site_create_variant(tracer, XSP_LEVEL_KERNEL, kernel->name, "kernel", (uint32_t)(hash >> 32 ^ hash) | 1);
  if (site == NULL)
    return NULL;
  tag_three(site, "grid", shape->grid);
  tag_three(site, "block", shape->block);
  tag_three(site, "cluster", shape->cluster);
  if (shape->registers != 0) {
    xsp_site_tag_int(site, "registers", shape->registers);
    xsp_site_tag_int(site, "shared_bytes", shape->shared_bytes);
  }
  if (shape->scalar_registers != 0)
    xsp_site_tag_int(site, "scalar_registers", shape->scalar_registers);
  if (shape->local_bytes != 0)
    xsp_site_tag_int(site, "local_bytes", shape->local_bytes);
  if (shape->is_cooperative)
    xsp_site_tag_int(site, "cooperative", 1);
  double ppm = product(shape->grid) * product(shape->block) / shape->device_threads * 1e6;
  if (shape->device_threads != 0 && ppm < 1e18)
    xsp_site_tag_int(site, "parallelism_ppm", (int64_t)ppm);
  return site;
}

struct xsp_site *device_kernel_site(const char *tracer, const char *name, const struct device_kernel_shape *shape)
{
  struct known_kernel key = {.shape = *shape};
  key.name = name == NULL || name[0] == '\0' ? "(kernel without a name)" : name;

  size_t length = strlen(key.name);
  uint64_t hash = hash_text(key.name, length, hash_text((const char *)shape, sizeof *shape, SEED));
  const struct known_kernel *known = guest_find(sites, SITES_CAPACITY, (uint32_t)hash, is_same, &key);
  if (known != NULL)
    return known->site;
  struct known_kernel *fresh =
      __atomic_load_n(&site_count, __ATOMIC_RELAXED) < SITES_CAPACITY / 2 ? malloc(sizeof *fresh + length + 1) : NULL;
  if (fresh == NULL)
    return xsp_site_create(tracer, XSP_LEVEL_KERNEL, key.name, "kernel");
  *fresh = key;
  fresh->name = memcpy(fresh + 1, key.name, length + 1);
  fresh->site = make_site(tracer, fresh, hash);
  known = guest_add(sites, SITES_CAPACITY, &site_count, (uint32_t)hash, is_same, fresh, fresh);
  if (known != fresh) // another thread was faster
    free(fresh);
  return known->site;
}

// Without functions of libm: tracers need libc alone.
void device_kernel_tag_metric(const struct xsp_span *kernel, const char *tag, double value)
{
  if (value > -0x1p53 && value < 0x1p53 && value == (double)(int64_t)value)
    xsp_span_tag_int(kernel, tag, (int64_t)value);
  else if (isfinite(value))
    xsp_span_tag_double(kernel, tag, value);
}
