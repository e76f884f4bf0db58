// SPDX-License-Identifier: Apache-2.0
// Level Zero in programs that look its functions up (SYCL's runtime does) or are linked against its loader. Nothing works
// before the loader is initialised: where that has succeeded, guest/tracers/levelzero learns of it and asks the loader to be
// called from then on.
#include "frameworks/common/door.h"
#include "tracers/levelzero/hooks.h"

#include <string.h>

#define UNINITIALIZED 0x78000001u

typedef uint32_t init_fn(uint32_t flags);
typedef uint32_t init_drivers_fn(uint32_t *count, void **ret_drivers, void *desc);

XSP_API uint32_t zeInit(uint32_t flags);
XSP_API uint32_t zeInitDrivers(uint32_t *count, void **ret_drivers, void *desc);

static void *real_init, *real_init_drivers; // atomic: the loader's own; NULL: not found yet
static const struct levelzero_hooks *the_hooks;
static __thread unsigned depth;

static bool attach(const void *real)
{
  the_hooks = framework_hooks(&framework_levelzero, LEVELZERO_HOOKS_SYMBOL);
  return the_hooks != NULL;
}

static struct framework_door door = {&framework_levelzero, attach, FRAMEWORK_UNKNOWN};

static uint32_t leave(uint32_t result, const void *real, bool is_traced)
{
  depth--;
  if (is_traced && result == 0)
    the_hooks->initialised(framework_library_of(real));
  return result;
}

uint32_t zeInit(uint32_t flags)
{
  bool is_traced;
  void *found = framework_enter(&door, &depth, &real_init, "zeInit", FRAMEWORK_CALLER, &is_traced);
  init_fn *real;
  memcpy(&real, &found, sizeof real);
  return leave(real == NULL ? UNINITIALIZED : real(flags), found, is_traced);
}

uint32_t zeInitDrivers(uint32_t *count, void **ret_drivers, void *desc)
{
  bool is_traced;
  void *found = framework_enter(&door, &depth, &real_init_drivers, "zeInitDrivers", FRAMEWORK_CALLER, &is_traced);
  init_drivers_fn *real;
  memcpy(&real, &found, sizeof real);
  return leave(real == NULL ? UNINITIALIZED : real(count, ret_drivers, desc), found, is_traced);
}

static const struct framework_symbol symbols[] = {
    {"zeInit", framework_first_copy, (void (*)(void))zeInit, &real_init},
    {"zeInitDrivers", framework_first_copy, (void (*)(void))zeInitDrivers, &real_init_drivers},
    {.name = NULL},
};
const struct framework framework_levelzero = {.name = "levelzero", .symbol_prefix = "zeInit", .symbols = symbols};
