// SPDX-License-Identifier: Apache-2.0
// Kernel objects to names and sites. A name is read when the kernel is created, so that an address that the driver gives
// out again has its new name, and a launch costs one lookup without a lock. Called from the program's threads.
#include "tracers/opencl/kernels.h"

#include "base/hash.h"
#include "tracers/annotations/guest_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHAPES_MOST 32u // of one kernel
#define NAME_SEED UINT64_C(0xcbf29ce484222325)
#define NAMES_CAPACITY (UINT32_C(1) << 16)

struct kernel_shape {
  struct kernel_shape *next;
  struct launch_shape shape;
  struct xsp_site *site;
};

static struct guest_map kernels = {.capacity = UINT32_C(1) << 20};
static void *names[NAMES_CAPACITY]; // atomic: struct opencl_kernel, by hash of the name
static uint32_t name_count;         // atomic

static struct opencl_kernel unnamed = {.name = "(kernel without a name)"};

// Sites are shared by all processes of the session, so a variant must mean the same in each.
static uint32_t variant_of(uint64_t hash)
{
  return (uint32_t)(hash >> 32 ^ hash) | 1;
}

static void make_sites(struct opencl_kernel *kernel)
{
  kernel->launch = xsp_site_create_variant(OPENCL_TRACER, XSP_LEVEL_KERNEL, "clEnqueueNDRangeKernel", "api",
                                           variant_of(kernel->hash));
  if (kernel->launch != NULL)
    xsp_site_tag_string(kernel->launch, "kernel", kernel->name);
  kernel->execution = xsp_site_create(OPENCL_TRACER, XSP_LEVEL_KERNEL, kernel->name, "kernel");
}

void opencl_kernels_start(void)
{
  make_sites(&unnamed);
}

static struct opencl_kernel *make_kernel(const char *name, uint64_t hash)
{
  size_t length = strlen(name);
  struct opencl_kernel *kernel = calloc(1, sizeof *kernel + length + 1);
  if (kernel == NULL)
    return &unnamed;
  memcpy(kernel + 1, name, length + 1);
  kernel->name = (const char *)(kernel + 1);
  kernel->hash = hash;
  make_sites(kernel);
  return kernel;
}

static bool has_name(const void *kernel, const void *name)
{
  return strcmp(((const struct opencl_kernel *)kernel)->name, name) == 0;
}

static struct opencl_kernel *kernel_named(const char *name)
{
  uint64_t hash = hash_text(name, strlen(name), NAME_SEED);
  uint32_t place = (uint32_t)(hash >> 20);
  struct opencl_kernel *known = guest_find(names, NAMES_CAPACITY, place, has_name, name);
  if (known != NULL)
    return known;
  struct opencl_kernel *made = make_kernel(name, hash);
  if (made == &unnamed || __atomic_load_n(&name_count, __ATOMIC_RELAXED) >= NAMES_CAPACITY / 2)
    return made; // beyond the table: a site of this kernel object alone
  known = guest_add(names, NAMES_CAPACITY, &name_count, place, has_name, name, made);
  if (known != made)
    free(made);
  return known;
}

static struct opencl_kernel *ask_driver(cl_kernel handle)
{
  size_t size = 0;
  char small[512];
  if (opencl_next.clGetKernelInfo == NULL ||
      opencl_next.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size) != CL_SUCCESS || size == 0)
    return &unnamed;
  char *name = size < sizeof small ? small : malloc(size + 1);
  struct opencl_kernel *kernel = &unnamed;
  if (name != NULL && opencl_next.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, size, name, NULL) == CL_SUCCESS) {
    name[size] = '\0';
    kernel = kernel_named(name);
  }
  if (name != small)
    free(name);
  return kernel;
}

struct opencl_kernel *opencl_kernel_of(cl_kernel handle)
{
  struct opencl_kernel *kernel = guest_map_get(&kernels, handle);
  if (__builtin_expect(kernel != NULL, 1))
    return kernel;
  kernel = handle == NULL ? &unnamed : ask_driver(handle);
  if (kernel != &unnamed)
    guest_map_put(&kernels, handle, kernel);
  return kernel;
}

// ---- shapes
void opencl_launch_shape_set(struct launch_shape *shape, cl_uint dimensions, const size_t *global, const size_t *local)
{
  *shape = (struct launch_shape){0};
  if (dimensions < 1 || dimensions > 3 || global == NULL)
    return;
  shape->dimensions = dimensions;
  shape->has_local = local != NULL;
  for (cl_uint i = 0; i < 3; i++) {
    shape->global[i] = i < dimensions ? global[i] : 1;
    shape->local[i] = local == NULL ? 0 : i < dimensions ? local[i] : 1;
  }
}

void opencl_launch_shape_text(const size_t values[3], char text[SHAPE_TEXT_SIZE])
{
  snprintf(text, SHAPE_TEXT_SIZE, "[%zu,%zu,%zu]", values[0], values[1], values[2]);
}

static bool same_shape(const struct launch_shape *a, const struct launch_shape *b)
{
  return a->dimensions == b->dimensions && a->has_local == b->has_local &&
         memcmp(a->global, b->global, sizeof a->global) == 0 && memcmp(a->local, b->local, sizeof a->local) == 0;
}

static struct xsp_site *make_shape_site(const struct opencl_kernel *kernel, const struct launch_shape *shape)
{
  uint64_t hash = hash_text((const char *)shape->global, sizeof shape->global, kernel->hash);
  hash = hash_text((const char *)shape->local, sizeof shape->local, hash);
  struct xsp_site *site =
      xsp_site_create_variant(OPENCL_TRACER, XSP_LEVEL_KERNEL, kernel->name, "kernel", variant_of(hash));
  char text[SHAPE_TEXT_SIZE];
  opencl_launch_shape_text(shape->global, text);
  xsp_site_tag_string(site, "grid", text);
  if (shape->has_local) {
    opencl_launch_shape_text(shape->local, text);
    xsp_site_tag_string(site, "block", text);
  }
  return site;
}

struct xsp_site *opencl_kernel_site(struct opencl_kernel *kernel, const struct launch_shape *shape, bool *ret_has_tags)
{
  *ret_has_tags = true;
  if (shape->dimensions == 0)
    return kernel->execution;
  for (const struct kernel_shape *known = __atomic_load_n(&kernel->shapes, __ATOMIC_ACQUIRE); known != NULL;
       known = known->next)
    if (same_shape(&known->shape, shape))
      return known->site;
  if (__atomic_load_n(&kernel->shape_count, __ATOMIC_RELAXED) < SHAPES_MOST && kernel != &unnamed) {
    struct kernel_shape *made = malloc(sizeof *made);
    struct xsp_site *site = made == NULL ? NULL : make_shape_site(kernel, shape);
    if (site != NULL) {
      __atomic_add_fetch(&kernel->shape_count, 1, __ATOMIC_RELAXED);
      *made = (struct kernel_shape){__atomic_load_n(&kernel->shapes, __ATOMIC_ACQUIRE), *shape, site};
      while (
          !__atomic_compare_exchange_n(&kernel->shapes, &made->next, made, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
        ;
      return site;
    }
    free(made);
  }
  *ret_has_tags = false;
  return kernel->execution;
}

// ---- what the program calls
cl_kernel CL_API_CALL opencl_clCreateKernel(cl_program program, const char *name, cl_int *ret_error)
{
  cl_kernel kernel = opencl_next.clCreateKernel(program, name, ret_error);
  if (kernel != NULL && name != NULL)
    guest_map_put(&kernels, kernel, kernel_named(name));
  return kernel;
}

cl_int CL_API_CALL opencl_clCreateKernelsInProgram(cl_program program, cl_uint most, cl_kernel *ret_kernels,
                                                   cl_uint *ret_count)
{
  cl_uint count = 0;
  cl_int error = opencl_next.clCreateKernelsInProgram(program, most, ret_kernels, &count);
  if (error == CL_SUCCESS && ret_count != NULL)
    *ret_count = count;
  for (cl_uint i = 0; error == CL_SUCCESS && ret_kernels != NULL && i < count && i < most; i++)
    guest_map_put(&kernels, ret_kernels[i], ask_driver(ret_kernels[i]));
  return error;
}

cl_kernel CL_API_CALL opencl_clCloneKernel(cl_kernel source, cl_int *ret_error)
{
  cl_kernel kernel = opencl_next.clCloneKernel(source, ret_error);
  if (kernel != NULL)
    guest_map_put(&kernels, kernel, ask_driver(kernel));
  return kernel;
}
