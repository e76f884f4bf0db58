// SPDX-License-Identifier: Apache-2.0
// The simulated libcuda: kernels that compute. Their arguments are taken at the launch, as a driver does.
#include "device.h"

#include <string.h>

static void saxpy(const struct simulator_operation *operation)
{
  const uint64_t *given = operation->arguments;
  float *y = (float *)given[0], a;
  const float *x = (const float *)given[1];
  memcpy(&a, &given[2], sizeof a);
  for (uint64_t i = 0; i < given[3]; i++)
    y[i] += a * x[i];
}

static void block_sum(const struct simulator_operation *operation)
{
  float *total = (float *)operation->arguments[0];
  const float *x = (const float *)operation->arguments[1];
  for (uint32_t i = 0; i < operation->grid[0] * operation->block[0]; i++)
    *total += x[i];
}

static void counted_add(const struct simulator_operation *operation)
{
  float *y = (float *)operation->arguments[0];
  const float *x = (const float *)operation->arguments[1];
  for (uint64_t i = 0; i < (uint64_t)operation->grid[0] * operation->block[0]; i++)
    y[i] += x[i];
}

static const struct kernel {
  const char *name;
  void (*run)(const struct simulator_operation *operation); // NULL: waits as many nanoseconds as its argument says
  uint8_t bytes[KERNEL_ARGUMENTS];
} kernels[] = {{"saxpy", saxpy, {8, 8, 4, 4}},
               {"block_sum", block_sum, {8, 8}},
               {"counted_add", counted_add, {8, 8}},
               {"spin", NULL, {8}}};

static const struct kernel *find(const char *name)
{
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
    if (strcmp(kernels[i].name, name) == 0)
      return &kernels[i];
  return NULL;
}

void kernels_take(struct simulator_operation *operation, void **arguments)
{
  const struct kernel *kernel = find(operation->name);
  for (unsigned i = 0; kernel && arguments && i < KERNEL_ARGUMENTS; i++)
    if (kernel->bytes[i] > 0)
      memcpy(&operation->arguments[i], arguments[i], kernel->bytes[i]);
}

void kernels_run(const struct simulator_operation *operation)
{
  const struct kernel *kernel = find(operation->name);
  if (kernel && kernel->run)
    kernel->run(operation);
}

uint64_t kernels_duration_ns(const struct simulator_operation *operation)
{
  const struct kernel *kernel = find(operation->name);
  return kernel && !kernel->run ? operation->arguments[0] : 0;
}
