// SPDX-License-Identifier: Apache-2.0
// PyTorch in unmodified programs. Whichever comes first loads pytorch.so: Python's module torch._C is complete; a program
// that is linked against libtorch starts; or c10 asks whether memory is profiled, which it does for each allocation. The
// last covers programs that load libtorch themselves: they are traced from their first tensor on.
//
// Only the first copy of PyTorch in a process is traced.
#include "frameworks/pytorch/tracer.h"

#include "frameworks/common/door.h"

#include <string.h>

#define REPORT_PARAMETERS (void *address, int64_t bytes, size_t total, size_t reserved, struct framework_device device)
#define EACH_FUNCTION(X)                                                                                               \
  X(_ZN3c1022memoryProfilingEnabledEv, bool, (void))                                                                   \
  X(_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm, void, (void *reporter, void *address, size_t bytes))                   \
  X(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE, void, REPORT_PARAMETERS)                                    \
  X(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE, void, REPORT_PARAMETERS) // 1.13

struct framework_device { // c10::Device
  int8_t type, index;
};
enum function {
#define X(name, result, parameters) OF_##name,
  EACH_FUNCTION(X)
#undef X
      FUNCTIONS,
};
#define X(name, result, parameters)                                                                                    \
  XSP_API result name parameters;                                                                                      \
  typedef result(*name##_fn) parameters;
EACH_FUNCTION(X)
#undef X

static void *reals[FUNCTIONS]; // atomic: c10's own; NULL: not found yet
static const struct pytorch_hooks *the_hooks;
static struct pytorch_functions functions;
static enum pytorch_memory wanted_memory; // written before the door counts as attached

// ---- the tracer ------------------------------------------------------------------------------------------------------

// `address`: in a library next to which PyTorch's are found.
static bool find_functions(const void *address)
{
  void *library = framework_library_of(framework_next(PYTORCH_ADD_CALLBACK, address));
  if (library == NULL)
    return false;
  void *symbol;
  bool is_whole = true;
#define X(member, name, result, parameters)                                                                            \
  symbol = frameworks_lookup(library, #name);                                                                          \
  memcpy(&functions.member, &symbol, sizeof symbol);                                                                   \
  is_whole = is_whole && symbol != NULL;
  PYTORCH_NEEDED_FUNCTIONS(X)
  bool has_interface = is_whole;
  PYTORCH_OPTIONAL_FUNCTIONS(X)
#undef X
  functions.undefined = frameworks_lookup(library, PYTORCH_UNDEFINED);
  return has_interface;
}

static bool attach(const void *address)
{
  const struct pytorch_hooks *hooks = framework_hooks(&framework_pytorch, PYTORCH_HOOKS_SYMBOL);
  bool is_whole = hooks != NULL && find_functions(address);
  if (hooks != NULL && !is_whole)
    hooks->report("this PyTorch lacks functions that 1.13 and later have: it is not traced");
  if (is_whole)
    wanted_memory = hooks->start(&functions, framework_model_range());
  the_hooks = hooks;
  return is_whole;
}

static struct framework_door door = {&framework_pytorch, attach, FRAMEWORK_UNKNOWN};

// Of a program that is linked with PyTorch. Bound by the loader: a lookup that fails allocates memory, in every process.
extern void add_callback(void) __asm__(PYTORCH_ADD_CALLBACK) __attribute__((weak));

static void program_starts(void)
{
  if (add_callback != NULL)
    (void)framework_attach(&door, (const void *)(uintptr_t)add_callback);
}

static void python_loaded(const struct python *python, void *module)
{
  if (framework_attach(&door, (const void *)python_loaded))
    the_hooks->python(python, module);
}

// ---- c10's functions -------------------------------------------------------------------------------------------------

// c10's own function, for an export of its name. Called for each allocation: once the tracer is connected, or is not to be, a
// load of both.
static inline void *enter(enum function function, const char *name, const void *caller)
{
  void *real = __atomic_load_n(&reals[function], __ATOMIC_ACQUIRE);
  if (real != NULL && __atomic_load_n(&door.state, __ATOMIC_ACQUIRE) >= FRAMEWORK_ATTACHED)
    return real;
  bool is_traced = false;
  unsigned depth = 0;
  return framework_enter(&door, &depth, &reals[function], name, caller, &is_traced);
}

static inline bool wants(enum pytorch_memory memory)
{
  return __atomic_load_n(&door.state, __ATOMIC_ACQUIRE) == FRAMEWORK_ATTACHED && wanted_memory == memory;
}

// Within a function of EACH_FUNCTION.
#define ENTER(name)                                                                                                    \
  void *found = enter(OF_##name, #name, FRAMEWORK_CALLER);                                                             \
  name##_fn real;                                                                                                      \
  memcpy(&real, &found, sizeof real)

bool _ZN3c1022memoryProfilingEnabledEv(void)
{
  ENTER(_ZN3c1022memoryProfilingEnabledEv);
  return wants(PYTORCH_MEMORY_ALL) || (real != NULL && real());
}

void _ZN3c1025ProfiledCPUMemoryReporter3NewEPvm(void *reporter, void *address, size_t bytes)
{
  ENTER(_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm);
  if (wants(PYTORCH_MEMORY_SUMS))
    the_hooks->allocated(bytes);
  if (real != NULL)
    real(reporter, address, bytes);
}

static unsigned number_of(struct framework_device device)
{
  return device.type == 0 ? 0 : (unsigned)(uint8_t)device.type + 256u * (uint8_t)device.index;
}

// The program's profiler takes the report if it asked for it.
#define REPORT(name)                                                                                                   \
  void name REPORT_PARAMETERS                                                                                          \
  {                                                                                                                    \
    ENTER(name);                                                                                                       \
    if (wants(PYTORCH_MEMORY_ALL) || wants(PYTORCH_MEMORY_SUMS))                                                       \
      the_hooks->memory(address, bytes, total, number_of(device));                                                     \
    if (real != NULL)                                                                                                  \
      real(address, bytes, total, reserved, device);                                                                   \
  }
REPORT(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE)
REPORT(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE)

static const struct framework_symbol symbols[] = {
#define X(name, result, parameters) {#name, framework_first_copy, (void (*)(void))name, &reals[OF_##name]},
    EACH_FUNCTION(X)
#undef X
        {.name = NULL},
};

const struct framework framework_pytorch = {
    .name = "pytorch",
    .symbol_prefix = "_ZN3c10",
    .symbols = symbols,
    .program_starts = program_starts,
    .python_module = "_C",
    .python_folder = "torch",
    .python_loaded = python_loaded,
};
