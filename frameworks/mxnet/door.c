// SPDX-License-Identifier: Apache-2.0
// MXNet in programs that look its functions up (Python does, by ctypes) or are linked against it. Each function here passes
// on to MXNet's own of the same name and tells mxnet.so of models made, forward calls, results read, and a program that
// uses MXNet's profiler itself.
//
// One library is traced in a process: the first. MXNet calls its own functions through the loader, so that they come by
// here again: only the program's call counts.
#include "frameworks/mxnet/tracer.h"

#include "frameworks/common/door.h"

#include <stdlib.h>
#include <string.h>

typedef void *handle;

// X(name, parameters, arguments)
#define EACH_FUNCTION(X)                                                                                               \
  X(SymbolCreateFromFile, (const char *path, handle *symbol), (path, symbol))                                          \
  X(CreateCachedOp, (handle symbol, handle * made), (symbol, made))                                                    \
  X(CreateCachedOpEx, (handle symbol, int count, const char **keys, const char **values, handle *made),                \
    (symbol, count, keys, values, made))                                                                               \
  X(CreateCachedOpEX,                                                                                                  \
    (handle symbol, int count, const char **keys, const char **values, handle *made, bool is_thread_safe),             \
    (symbol, count, keys, values, made, is_thread_safe))                                                               \
  X(FreeCachedOp, (handle model), (model))                                                                             \
  X(ExecutorFree, (handle model), (model))                                                                             \
  X(PredFree, (handle model), (model))                                                                                 \
  X(PredCreate,                                                                                                        \
    (const char *json, const void *parameters, int size, int device, int device_id, uint32_t count,                    \
     const char **names, const uint32_t *starts, const uint32_t *shapes, handle *made),                                \
    (json, parameters, size, device, device_id, count, names, starts, shapes, made))                                   \
  X(PredCreateEx,                                                                                                      \
    (const char *json, const void *parameters, int size, int device, int device_id, uint32_t count,                    \
     const char **names, const uint32_t *starts, const uint32_t *shapes, uint32_t type_count, const char **type_names, \
     const int *types, handle *made),                                                                                  \
    (json, parameters, size, device, device_id, count, names, starts, shapes, type_count, type_names, types, made))    \
  X(PredCreatePartialOut,                                                                                              \
    (const char *json, const void *parameters, int size, int device, int device_id, uint32_t count,                    \
     const char **names, const uint32_t *starts, const uint32_t *shapes, uint32_t output_count, const char **outputs,  \
     handle *made),                                                                                                    \
    (json, parameters, size, device, device_id, count, names, starts, shapes, output_count, outputs, made))            \
  X(InvokeCachedOp, (handle model, int count, handle *inputs, int *output_count, handle **outputs),                    \
    (model, count, inputs, output_count, outputs))                                                                     \
  X(InvokeCachedOpEx,                                                                                                  \
    (handle model, int count, handle *inputs, int *output_count, handle **outputs, const int **storage_types),         \
    (model, count, inputs, output_count, outputs, storage_types))                                                      \
  X(ExecutorForward, (handle model, int is_training), (model, is_training))                                            \
  X(PredForward, (handle model), (model))                                                                              \
  X(NDArraySyncCopyToCPU, (handle array, void *data, size_t size), (array, data, size))                                \
  X(NDArrayWaitToRead, (handle array), (array))                                                                        \
  X(NDArrayWaitAll, (void), ())                                                                                        \
  X(PredGetOutput, (handle model, uint32_t number, float *data, uint32_t size), (model, number, data, size))           \
  X(SetProfilerConfig, (int count, const char *const *keys, const char *const *values), (count, keys, values))         \
  X(SetProcessProfilerConfig, (int count, const char *const *keys, const char *const *values, handle store),           \
    (count, keys, values, store))                                                                                      \
  X(SetProfilerState, (int state), (state))                                                                            \
  X(SetProcessProfilerState, (int state, int of_server, handle store), (state, of_server, store))                      \
  X(DumpProfile, (int is_last), (is_last))                                                                             \
  X(DumpProcessProfile, (int is_last, int of_server, handle store), (is_last, of_server, store))                       \
  X(NotifyShutdown, (void), ())

enum function {
#define X(name, parameters, arguments) OF_##name,
  EACH_FUNCTION(X)
#undef X
      FUNCTIONS,
};
#define X(name, parameters, arguments) XSP_API int MX##name parameters;
EACH_FUNCTION(X)
#undef X

static void *reals[FUNCTIONS]; // atomic: MXNet's own; NULL: not met yet
static const struct mxnet_hooks *the_hooks;
static struct mxnet_functions functions;
static uint32_t hooks_state;    // atomic: enum framework_state
static __thread unsigned depth; // of calls that passed by here

// ---- the tracer ------------------------------------------------------------------------------------------------------

static bool find_functions(const void *of_library)
{
  void *library = framework_library_of(of_library);
  void *symbol;
#define X(name, arguments)                                                                                             \
  symbol = library == NULL ? NULL : frameworks_lookup(library, "MX" #name);                                            \
  memcpy(&functions.name, &symbol, sizeof symbol);                                                                     \
  if (symbol == NULL)                                                                                                  \
    return false;
  MXNET_TRACER_FUNCTIONS(X)
#undef X
  return true;
}

static const struct mxnet_hooks *load_tracer(void)
{
  void *symbol = framework_tracer_symbol(&framework_mxnet, MXNET_HOOKS_SYMBOL);
  mxnet_hooks_fn get;
  memcpy(&get, &symbol, sizeof get);
  return get == NULL ? NULL : get();
}

// MXNet makes one event of several operators unless it is told not to, which it asks for when it makes a model: by this
// variable, and by a flag of cached operators (below). Not in xsp's table of variables: no other program is to see it, and
// a Python program does not, in os.environ.
static void keep_operators_apart(void)
{
  static uint32_t was_done; // atomic
  if (__atomic_load_n(&was_done, __ATOMIC_RELAXED) != 0 || __atomic_exchange_n(&was_done, 1, __ATOMIC_RELAXED) != 0)
    return;
  if ((xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) == 0)
    return;
  setenv("MXNET_EXEC_BULK_EXEC_INFERENCE", "0", 0);
}

static bool attach(const void *real)
{
  const struct mxnet_hooks *hooks = load_tracer();
  bool is_whole = hooks != NULL && find_functions(real);
  if (hooks != NULL && !is_whole)
    hooks->say("this MXNet lacks functions that 1.9 has: it is not traced");
  if (is_whole) {
    keep_operators_apart();
    hooks->start(&functions, framework_session(), framework_model_range());
  }
  the_hooks = hooks;
  return is_whole;
}

struct call {
  void *real; // NULL: there is none
  const struct mxnet_hooks *hooks;
};

static struct call enter(enum function number, const char *name, const void *caller)
{
  struct call call = {framework_real(&reals[number], name, caller), NULL};
  if (depth++ == 0 && call.real != NULL && framework_tracer(&framework_mxnet) != NULL &&
      framework_attach_once(&hooks_state, attach, call.real))
    call.hooks = the_hooks;
  return call;
}

static int leave(int result)
{
  depth--;
  return result;
}

#define X(name, parameters, arguments) typedef int(*name##_fn) parameters;
EACH_FUNCTION(X)
#undef X

// Within a function of EACH_FUNCTION: `call` is entered, `result` is what MXNet's own returned.
#define ENTER(name)                                                                                                    \
  struct call call = enter(OF_##name, "MX" #name, __builtin_extract_return_addr(__builtin_return_address(0)));         \
  name##_fn real;                                                                                                      \
  memcpy(&real, &call.real, sizeof real);                                                                              \
  if (real == NULL)                                                                                                    \
  return leave(-1)

// ---- models ----------------------------------------------------------------------------------------------------------

int MXSymbolCreateFromFile(const char *path, handle *symbol)
{
  ENTER(SymbolCreateFromFile);
  int result = real(path, symbol);
  if (call.hooks != NULL && result == 0)
    call.hooks->symbol_read(*symbol, path);
  return leave(result);
}

#define FLAGS_MAXIMUM 64
// The program's flags, and one more where it does not say itself how many operators are to be run as one.
struct flags {
  const char *keys[FLAGS_MAXIMUM + 1], *values[FLAGS_MAXIMUM + 1];
};

static bool add_flag(const struct call *call, int count, const char **keys, const char **values, struct flags *flags)
{
  static const char name[] = "forward_bulk_size";
  if (call->hooks == NULL || (xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) == 0 || count < 0 ||
      count > FLAGS_MAXIMUM)
    return false;
  for (int i = 0; i < count; i++) {
    if (strcmp(keys[i], name) == 0)
      return false;
    flags->keys[i] = keys[i];
    flags->values[i] = values[i];
  }
  flags->keys[count] = name;
  flags->values[count] = "0";
  return true;
}

int MXCreateCachedOp(handle symbol, handle *made)
{
  ENTER(CreateCachedOp);
  struct flags flags;
  int result = add_flag(&call, 0, NULL, NULL, &flags)
                   ? functions.CreateCachedOpEx(symbol, 1, flags.keys, flags.values, made)
                   : real(symbol, made);
  if (call.hooks != NULL && result == 0)
    call.hooks->made(MXNET_CACHED_OP, *made, symbol, NULL);
  return leave(result);
}

int MXCreateCachedOpEx(handle symbol, int count, const char **keys, const char **values, handle *made)
{
  ENTER(CreateCachedOpEx);
  struct flags flags;
  int result = add_flag(&call, count, keys, values, &flags) ? real(symbol, count + 1, flags.keys, flags.values, made)
                                                            : real(symbol, count, keys, values, made);
  if (call.hooks != NULL && result == 0)
    call.hooks->made(MXNET_CACHED_OP, *made, symbol, NULL);
  return leave(result);
}

int MXCreateCachedOpEX(handle symbol, int count, const char **keys, const char **values, handle *made,
                       bool is_thread_safe)
{
  ENTER(CreateCachedOpEX);
  struct flags flags;
  int result = add_flag(&call, count, keys, values, &flags)
                   ? real(symbol, count + 1, flags.keys, flags.values, made, is_thread_safe)
                   : real(symbol, count, keys, values, made, is_thread_safe);
  if (call.hooks != NULL && result == 0)
    call.hooks->made(MXNET_CACHED_OP, *made, symbol, NULL);
  return leave(result);
}

int MXPredCreate(const char *json, const void *parameters, int size, int device, int device_id, uint32_t count,
                 const char **names, const uint32_t *starts, const uint32_t *shapes, handle *made)
{
  ENTER(PredCreate);
  int result = real(json, parameters, size, device, device_id, count, names, starts, shapes, made);
  if (call.hooks != NULL && result == 0)
    call.hooks->made(MXNET_PREDICTOR, *made, NULL, json);
  return leave(result);
}

int MXPredCreateEx(const char *json, const void *parameters, int size, int device, int device_id, uint32_t count,
                   const char **names, const uint32_t *starts, const uint32_t *shapes, uint32_t type_count,
                   const char **type_names, const int *types, handle *made)
{
  ENTER(PredCreateEx);
  int result = real(json, parameters, size, device, device_id, count, names, starts, shapes, type_count, type_names,
                    types, made);
  if (call.hooks != NULL && result == 0)
    call.hooks->made(MXNET_PREDICTOR, *made, NULL, json);
  return leave(result);
}

int MXPredCreatePartialOut(const char *json, const void *parameters, int size, int device, int device_id,
                           uint32_t count, const char **names, const uint32_t *starts, const uint32_t *shapes,
                           uint32_t output_count, const char **outputs, handle *made)
{
  ENTER(PredCreatePartialOut);
  int result =
      real(json, parameters, size, device, device_id, count, names, starts, shapes, output_count, outputs, made);
  if (call.hooks != NULL && result == 0)
    call.hooks->made(MXNET_PREDICTOR, *made, NULL, json);
  return leave(result);
}

int MXFreeCachedOp(handle model)
{
  ENTER(FreeCachedOp);
  if (call.hooks != NULL)
    call.hooks->freed(model);
  int result = real(model);
  return leave(result);
}

int MXExecutorFree(handle model)
{
  ENTER(ExecutorFree);
  if (call.hooks != NULL)
    call.hooks->freed(model);
  int result = real(model);
  return leave(result);
}

int MXPredFree(handle model)
{
  ENTER(PredFree);
  if (call.hooks != NULL)
    call.hooks->freed(model);
  int result = real(model);
  return leave(result);
}

// ---- predictions -----------------------------------------------------------------------------------------------------

int MXInvokeCachedOp(handle model, int count, handle *inputs, int *output_count, handle **outputs)
{
  ENTER(InvokeCachedOp);
  if (call.hooks != NULL)
    call.hooks->forward_begins(MXNET_CACHED_OP, model);
  int result = real(model, count, inputs, output_count, outputs);
  if (call.hooks != NULL)
    call.hooks->forward_ended(MXNET_CACHED_OP, model, result == 0 && *output_count > 0 ? (*outputs)[0] : NULL,
                              result == 0);
  return leave(result);
}

int MXInvokeCachedOpEx(handle model, int count, handle *inputs, int *output_count, handle **outputs,
                       const int **storage_types)
{
  ENTER(InvokeCachedOpEx);
  if (call.hooks != NULL)
    call.hooks->forward_begins(MXNET_CACHED_OP, model);
  int result = real(model, count, inputs, output_count, outputs, storage_types);
  if (call.hooks != NULL)
    call.hooks->forward_ended(MXNET_CACHED_OP, model, result == 0 && *output_count > 0 ? (*outputs)[0] : NULL,
                              result == 0);
  return leave(result);
}

int MXExecutorForward(handle model, int is_training)
{
  ENTER(ExecutorForward);
  if (call.hooks != NULL)
    call.hooks->forward_begins(MXNET_EXECUTOR, model);
  int result = real(model, is_training);
  if (call.hooks != NULL)
    call.hooks->forward_ended(MXNET_EXECUTOR, model, NULL, result == 0);
  return leave(result);
}

int MXPredForward(handle model)
{
  ENTER(PredForward);
  if (call.hooks != NULL)
    call.hooks->forward_begins(MXNET_PREDICTOR, model);
  int result = real(model);
  if (call.hooks != NULL)
    call.hooks->forward_ended(MXNET_PREDICTOR, model, NULL, result == 0);
  return leave(result);
}

int MXNDArraySyncCopyToCPU(handle array, void *data, size_t size)
{
  ENTER(NDArraySyncCopyToCPU);
  int result = real(array, data, size);
  if (call.hooks != NULL)
    call.hooks->results_read();
  return leave(result);
}

int MXNDArrayWaitToRead(handle array)
{
  ENTER(NDArrayWaitToRead);
  int result = real(array);
  if (call.hooks != NULL)
    call.hooks->results_read();
  return leave(result);
}

int MXNDArrayWaitAll(void)
{
  ENTER(NDArrayWaitAll);
  int result = real();
  if (call.hooks != NULL)
    call.hooks->results_read();
  return leave(result);
}

int MXPredGetOutput(handle model, uint32_t number, float *data, uint32_t size)
{
  ENTER(PredGetOutput);
  int result = real(model, number, data, size);
  if (call.hooks != NULL)
    call.hooks->results_read();
  return leave(result);
}

// ---- what the program does with the profiler ------------------------------------------------------------------------

int MXSetProfilerConfig(int count, const char *const *keys, const char *const *values)
{
  ENTER(SetProfilerConfig);
  if (call.hooks != NULL)
    call.hooks->program_profiles();
  int result = real(count, keys, values);
  if (call.hooks != NULL && result == 0)
    call.hooks->program_configured(count, keys, values);
  return leave(result);
}

int MXSetProcessProfilerConfig(int count, const char *const *keys, const char *const *values, handle store)
{
  ENTER(SetProcessProfilerConfig);
  if (call.hooks != NULL)
    call.hooks->program_profiles();
  int result = real(count, keys, values, store);
  if (call.hooks != NULL && result == 0)
    call.hooks->program_configured(count, keys, values);
  return leave(result);
}

int MXSetProfilerState(int state)
{
  ENTER(SetProfilerState);
  if (call.hooks != NULL)
    call.hooks->program_profiles();
  int result = real(state);
  return leave(result);
}

int MXSetProcessProfilerState(int state, int of_server, handle store)
{
  ENTER(SetProcessProfilerState);
  if (call.hooks != NULL)
    call.hooks->program_profiles();
  int result = real(state, of_server, store);
  return leave(result);
}

int MXDumpProfile(int is_last)
{
  ENTER(DumpProfile);
  if (call.hooks != NULL)
    call.hooks->program_profiles();
  int result = real(is_last);
  if (call.hooks != NULL && result == 0)
    call.hooks->program_dumped();
  return leave(result);
}

int MXDumpProcessProfile(int is_last, int of_server, handle store)
{
  ENTER(DumpProcessProfile);
  if (call.hooks != NULL)
    call.hooks->program_profiles();
  int result = real(is_last, of_server, store);
  if (call.hooks != NULL && result == 0)
    call.hooks->program_dumped();
  return leave(result);
}

int MXNotifyShutdown(void)
{
  ENTER(NotifyShutdown);
  if (call.hooks != NULL)
    call.hooks->ending();
  int result = real();
  return leave(result);
}

// ---- the framework ---------------------------------------------------------------------------------------------------

static const struct framework_symbol symbols[FUNCTIONS + 1];

// Of a second copy of MXNet nothing is told.
static void *symbol_found(const struct framework_symbol *symbol, void *found)
{
  void *own, *met = NULL;
  memcpy(&own, &symbol->own_export, sizeof own);
  if (found == own) // looked up in the program itself: ours passes on by itself
    return found;
  bool is_first =
      __atomic_compare_exchange_n(&reals[symbol - symbols], &met, found, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return is_first || met == found ? own : found;
}

static const struct framework_symbol symbols[] = {
#define X(name, parameters, arguments) {"MX" #name, symbol_found, (void (*)(void))MX##name},
    EACH_FUNCTION(X)
#undef X
        {NULL, NULL, NULL},
};
const struct framework framework_mxnet = {
    .name = "mxnet",
    .symbol_prefix = "MX",
    .symbols = symbols,
    .met = keep_operators_apart,
};
