// SPDX-License-Identifier: Apache-2.0
// MXNet in programs that look its functions up (Python does, by ctypes) or are linked against it. Each function here calls
// MXNet's own of the same name and reports models, forward calls, results read, and a program's own use of the profiler
// to mxnet.so.
//
// Only the first copy of MXNet in a process is traced. MXNet calls its own functions through the loader, hence through
// here: only the program's call counts.
#include "frameworks/mxnet/hooks.h"

#include "frameworks/common/door.h"

#include <stdlib.h>
#include <string.h>

typedef void *handle;

#define PREDICTOR_PARAMETERS                                                                                           \
  const char *json, const void *parameters, int size, int device, int device_id, uint32_t count, const char **names,   \
      const uint32_t *starts, const uint32_t *shapes
#define PREDICTOR_ARGUMENTS json, parameters, size, device, device_id, count, names, starts, shapes
#define INVOKED (MXNET_CACHED_OP, model, result == 0 && *output_count > 0 ? (*outputs)[0] : NULL, result == 0)

// X(name, parameters, arguments, before, after): what the tracer is called for before and after MXNet's own function.
#define EACH_PLAIN_FUNCTION(X)                                                                                         \
  X(SymbolCreateFromFile, (const char *path, handle *symbol), (path, symbol), ,                                        \
    on_success(symbol_read, *symbol, path))                                                                            \
  X(PredCreate, (PREDICTOR_PARAMETERS, handle * made), (PREDICTOR_ARGUMENTS, made), ,                                  \
    on_success(made, MXNET_PREDICTOR, *made, NULL, json))                                                              \
  X(PredCreateEx,                                                                                                      \
    (PREDICTOR_PARAMETERS, uint32_t type_count, const char **type_names, const int *types, handle *made),              \
    (PREDICTOR_ARGUMENTS, type_count, type_names, types, made), ,                                                      \
    on_success(made, MXNET_PREDICTOR, *made, NULL, json))                                                              \
  X(PredCreatePartialOut, (PREDICTOR_PARAMETERS, uint32_t output_count, const char **outputs, handle *made),           \
    (PREDICTOR_ARGUMENTS, output_count, outputs, made), , on_success(made, MXNET_PREDICTOR, *made, NULL, json))        \
  X(FreeCachedOp, (handle model), (model), the_hooks->freed(model), )                                                  \
  X(ExecutorFree, (handle model), (model), the_hooks->freed(model), )                                                  \
  X(PredFree, (handle model), (model), the_hooks->freed(model), )                                                      \
  X(InvokeCachedOp, (handle model, int count, handle *inputs, int *output_count, handle **outputs),                    \
    (model, count, inputs, output_count, outputs), the_hooks->forward_begins(MXNET_CACHED_OP, model),                  \
    the_hooks->forward_ended INVOKED)                                                                                  \
  X(InvokeCachedOpEx,                                                                                                  \
    (handle model, int count, handle *inputs, int *output_count, handle **outputs, const int **storage_types),         \
    (model, count, inputs, output_count, outputs, storage_types), the_hooks->forward_begins(MXNET_CACHED_OP, model),   \
    the_hooks->forward_ended INVOKED)                                                                                  \
  X(ExecutorForward, (handle model, int is_training), (model, is_training),                                            \
    the_hooks->forward_begins(MXNET_EXECUTOR, model),                                                                  \
    the_hooks->forward_ended(MXNET_EXECUTOR, model, NULL, result == 0))                                                \
  X(PredForward, (handle model), (model), the_hooks->forward_begins(MXNET_PREDICTOR, model),                           \
    the_hooks->forward_ended(MXNET_PREDICTOR, model, NULL, result == 0))                                               \
  X(NDArraySyncCopyToCPU, (handle array, void *data, size_t size), (array, data, size), , the_hooks->results_read())   \
  X(NDArrayWaitToRead, (handle array), (array), , the_hooks->results_read())                                           \
  X(NDArrayWaitAll, (void), (), , the_hooks->results_read())                                                           \
  X(PredGetOutput, (handle model, uint32_t number, float *data, uint32_t size), (model, number, data, size), ,         \
    the_hooks->results_read())                                                                                         \
  X(SetProfilerConfig, (int count, const char *const *keys, const char *const *values), (count, keys, values),         \
    the_hooks->program_profiles(), on_success(program_configured, count, keys, values))                                \
  X(SetProcessProfilerConfig, (int count, const char *const *keys, const char *const *values, handle store),           \
    (count, keys, values, store), the_hooks->program_profiles(), on_success(program_configured, count, keys, values))  \
  X(SetProfilerState, (int state), (state), the_hooks->program_profiles(), )                                           \
  X(SetProcessProfilerState, (int state, int of_server, handle store), (state, of_server, store),                      \
    the_hooks->program_profiles(), )                                                                                   \
  X(DumpProfile, (int is_last), (is_last), the_hooks->program_profiles(), on_success(program_dumped, ))                \
  X(DumpProcessProfile, (int is_last, int of_server, handle store), (is_last, of_server, store),                       \
    the_hooks->program_profiles(), on_success(program_dumped, ))                                                       \
  X(NotifyShutdown, (void), (), the_hooks->ending(), )
// Those whose arguments may change.
#define EACH_FLAGGED_FUNCTION(X)                                                                                       \
  X(CreateCachedOp, (handle symbol, handle * made), , , )                                                              \
  X(CreateCachedOpEx, (handle symbol, int count, const char **keys, const char **values, handle *made), , , )          \
  X(CreateCachedOpEX,                                                                                                  \
    (handle symbol, int count, const char **keys, const char **values, handle *made, bool is_thread_safe), , , )
#define EACH_FUNCTION(X) EACH_PLAIN_FUNCTION(X) EACH_FLAGGED_FUNCTION(X)
#define on_success(hook, ...)                                                                                          \
  if (result == 0)                                                                                                     \
  the_hooks->hook(__VA_ARGS__)

enum function {
#define X(name, ...) OF_##name,
  EACH_FUNCTION(X)
#undef X
      FUNCTIONS,
};
#define X(name, parameters, ...)                                                                                       \
  XSP_API int MX##name parameters;                                                                                     \
  typedef int(*name##_fn) parameters;
EACH_FUNCTION(X)
#undef X

static void *reals[FUNCTIONS]; // atomic: MXNet's own; NULL: not found yet
static const struct mxnet_hooks *the_hooks;
static struct mxnet_functions functions;
static __thread unsigned depth; // of calls that pass through here

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

// By default MXNet merges several operators into one event. When it makes a model it reads this variable, and a flag of
// cached operators (below). Set here, so that other programs, and Python's os.environ, never see it.
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
  const struct mxnet_hooks *hooks = framework_hooks(&framework_mxnet, MXNET_HOOKS_SYMBOL);
  bool is_whole = hooks != NULL && find_functions(real);
  if (hooks != NULL && !is_whole)
    hooks->report("this MXNet lacks functions that 1.9 has: it is not traced");
  if (is_whole) {
    keep_operators_apart();
    hooks->start(&functions, framework_session(), framework_model_range());
  }
  the_hooks = hooks;
  return is_whole;
}

static struct framework_door door = {&framework_mxnet, attach, FRAMEWORK_UNKNOWN};

static int leave(int result)
{
  depth--;
  return result;
}

// Within a function of EACH_FUNCTION.
#define ENTER(name)                                                                                                    \
  bool is_traced = false;                                                                                              \
  void *found = framework_enter(&door, &depth, &reals[OF_##name], "MX" #name, FRAMEWORK_CALLER, &is_traced);           \
  name##_fn real;                                                                                                      \
  memcpy(&real, &found, sizeof real);                                                                                  \
  if (real == NULL)                                                                                                    \
  return leave(-1)

#define X(name, parameters, arguments, before, after)                                                                  \
  int MX##name parameters                                                                                              \
  {                                                                                                                    \
    ENTER(name);                                                                                                       \
    if (is_traced) {                                                                                                   \
      before;                                                                                                          \
    }                                                                                                                  \
    int result = real arguments;                                                                                       \
    if (is_traced) {                                                                                                   \
      after;                                                                                                           \
    }                                                                                                                  \
    return leave(result);                                                                                              \
  }
EACH_PLAIN_FUNCTION(X)
#undef X

// ---- cached operators, which get a flag ------------------------------------------------------------------------------

#define FLAGS_MAXIMUM 64
// The program's flags, and one more where it does not set itself how many operators are to be run as one.
struct flags {
  const char *keys[FLAGS_MAXIMUM + 1], *values[FLAGS_MAXIMUM + 1];
};

static bool add_flag(bool is_traced, int count, const char **keys, const char **values, struct flags *flags)
{
  static const char name[] = "forward_bulk_size";
  if (!is_traced || (xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) == 0 || count < 0 || count > FLAGS_MAXIMUM)
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
  int result = add_flag(is_traced, 0, NULL, NULL, &flags)
                   ? functions.CreateCachedOpEx(symbol, 1, flags.keys, flags.values, made)
                   : real(symbol, made);
  if (is_traced && result == 0)
    the_hooks->made(MXNET_CACHED_OP, *made, symbol, NULL);
  return leave(result);
}

int MXCreateCachedOpEx(handle symbol, int count, const char **keys, const char **values, handle *made)
{
  ENTER(CreateCachedOpEx);
  struct flags flags;
  int result = add_flag(is_traced, count, keys, values, &flags)
                   ? real(symbol, count + 1, flags.keys, flags.values, made)
                   : real(symbol, count, keys, values, made);
  if (is_traced && result == 0)
    the_hooks->made(MXNET_CACHED_OP, *made, symbol, NULL);
  return leave(result);
}

int MXCreateCachedOpEX(handle symbol, int count, const char **keys, const char **values, handle *made,
                       bool is_thread_safe)
{
  ENTER(CreateCachedOpEX);
  struct flags flags;
  int result = add_flag(is_traced, count, keys, values, &flags)
                   ? real(symbol, count + 1, flags.keys, flags.values, made, is_thread_safe)
                   : real(symbol, count, keys, values, made, is_thread_safe);
  if (is_traced && result == 0)
    the_hooks->made(MXNET_CACHED_OP, *made, symbol, NULL);
  return leave(result);
}

// ---- the framework ---------------------------------------------------------------------------------------------------

static const struct framework_symbol symbols[] = {
#define X(name, ...) {"MX" #name, framework_first_copy, (void (*)(void))MX##name, &reals[OF_##name]},
    EACH_FUNCTION(X)
#undef X
        {.name = NULL},
};
const struct framework framework_mxnet = {
    .name = "mxnet",
    .symbol_prefix = "MX",
    .symbols = symbols,
    .prefix_found = keep_operators_apart,
};
