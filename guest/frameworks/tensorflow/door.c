// SPDX-License-Identifier: Apache-2.0
// TensorFlow in C programs and in Python: its Python modules reach the library through four functions of its C interface,
// which the loader binds to ours, since this file is preloaded. They call TensorFlow's own and report functions and
// operations that are executed, and sessions that are run, to tensorflow.so.
//
// Only the first copy of TensorFlow in a process is traced.
#include "frameworks/tensorflow/hooks.h"

#include "frameworks/common/door.h"

#include <string.h>

struct output { // TF_Output
  void *operation;
  int index;
};

// X(name, return type, parameters)
#define EACH_FUNCTION(X)                                                                                               \
  X(TFE_Execute, void, (void *op, void **results, int *count, void *status))                                           \
  X(TF_SessionRun, void,                                                                                               \
    (void *session, const void *options, const struct output *inputs, void *const *values, int input_count,            \
     const struct output *outputs, void **results, int count, const void *const *targets, int target_count,            \
     void *metadata, void *status))                                                                                    \
  X(TF_LoadSessionFromSavedModel, void *,                                                                              \
    (const void *options, const void *run_options, const char *folder, const char *const *tags, int count,             \
     void *graph, void *meta_graph, void *status))                                                                     \
  X(TF_DeleteSession, void, (void *session, void *status))

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

static void *reals[FUNCTIONS]; // atomic: TensorFlow's own; NULL: not found yet
static const struct tensorflow_hooks *the_hooks;
static struct tensorflow_functions functions;
static __thread unsigned depth; // of calls that pass through here

// ---- the tracer ------------------------------------------------------------------------------------------------------

static bool find_functions(const void *of_library)
{
  void *library = framework_library_of(of_library);
  if (library == NULL)
    return false;
  void *symbol;
  bool is_whole = true;
#define X(member, name, result, parameters)                                                                            \
  symbol = frameworks_lookup(library, #name);                                                                          \
  memcpy(&functions.member, &symbol, sizeof symbol);                                                                   \
  is_whole = is_whole && symbol != NULL;
  TENSORFLOW_TRACER_FUNCTIONS(X)
  bool has_interface = is_whole;
  TENSORFLOW_RECORDER_FUNCTIONS(X)
  TENSORFLOW_ALLOCATOR_FUNCTIONS(X)
  TENSORFLOW_INPUT_FUNCTIONS(X)
#undef X
  functions.recorder_level = frameworks_lookup(library, TENSORFLOW_RECORDER_LEVEL);
  return has_interface;
}

static bool attach(const void *real)
{
  const struct tensorflow_hooks *hooks = framework_hooks(&framework_tensorflow, TENSORFLOW_HOOKS_SYMBOL);
  bool is_whole = hooks != NULL && find_functions(real);
  if (hooks != NULL && !is_whole)
    hooks->report("this TensorFlow lacks functions that 2.x has: it is not traced");
  if (is_whole)
    hooks->start(&functions, framework_model_range());
  the_hooks = hooks;
  return is_whole;
}

static struct framework_door door = {&framework_tensorflow, attach, FRAMEWORK_UNKNOWN};

static bool is_attached(void)
{
  return __atomic_load_n(&door.state, __ATOMIC_ACQUIRE) == FRAMEWORK_ATTACHED;
}

// Within a function of EACH_FUNCTION; there is no caller without the library that it was bound to.
#define ENTER(name)                                                                                                    \
  bool is_traced = false;                                                                                              \
  void *found = framework_enter(&door, &depth, &reals[OF_##name], #name, FRAMEWORK_CALLER, &is_traced);                \
  name##_fn real;                                                                                                      \
  memcpy(&real, &found, sizeof real)

void TFE_Execute(void *op, void **results, int *count, void *status)
{
  ENTER(TFE_Execute);
  struct tensorflow_call call = {.is_open = false};
  if (is_traced)
    the_hooks->execute_begins(&call, op);
  if (real != NULL)
    real(op, results, count, status);
  if (call.is_open)
    the_hooks->execute_ended(&call, results, count != NULL ? *count : 0, functions.code(status) == 0);
  depth--;
}

void TF_SessionRun(void *session, const void *options, const struct output *inputs, void *const *values,
                   int input_count, const struct output *outputs, void **results, int count, const void *const *targets,
                   int target_count, void *metadata, void *status)
{
  ENTER(TF_SessionRun);
  struct tensorflow_call call = {.is_open = false};
  if (is_traced)
    the_hooks->run_begins(&call, session, count > 0 ? outputs[0].operation : NULL);
  if (real != NULL)
    real(session, options, inputs, values, input_count, outputs, results, count, targets, target_count, metadata,
         status);
  if (call.is_open)
    the_hooks->run_ended(&call, results, count, functions.code(status) == 0);
  depth--;
}

void *TF_LoadSessionFromSavedModel(const void *options, const void *run_options, const char *folder,
                                   const char *const *tags, int count, void *graph, void *meta_graph, void *status)
{
  ENTER(TF_LoadSessionFromSavedModel);
  void *session = real == NULL ? NULL : real(options, run_options, folder, tags, count, graph, meta_graph, status);
  if (is_traced && session != NULL)
    the_hooks->session_made(session, folder);
  depth--;
  return session;
}

void TF_DeleteSession(void *session, void *status)
{
  ENTER(TF_DeleteSession);
  if (is_traced)
    the_hooks->session_freed(session);
  if (real != NULL)
    real(session, status);
  depth--;
}

// ---- the recorder ----------------------------------------------------------------------------------------------------

// TraceMeRecorder::Start, as TensorFlow's profiler calls it: a prediction that has the recorder gives it up. Not cached as
// those above: several libraries of one process may export it.
#define EACH_START(X)                                                                                                  \
  X(_ZN3tsl8profiler15TraceMeRecorder5StartEi, (int level), (level))                                                   \
  X(_ZN3tsl8profiler15TraceMeRecorder5StartEim, (int level, uint64_t filter), (level, filter))

#define X(name, parameters, arguments)                                                                                 \
  XSP_API bool name parameters;                                                                                        \
  bool name parameters                                                                                                 \
  {                                                                                                                    \
    void *found = framework_next(#name, FRAMEWORK_CALLER);                                                             \
    bool(*real) parameters;                                                                                            \
    memcpy(&real, &found, sizeof real);                                                                                \
    bool is_traced = is_attached();                                                                                    \
    if (is_traced)                                                                                                     \
      the_hooks->program_begins();                                                                                     \
    bool is_on = real != NULL && real arguments;                                                                       \
    if (is_traced)                                                                                                     \
      the_hooks->program_began();                                                                                      \
    return is_on;                                                                                                      \
  }
EACH_START(X)
#undef X

// ---- memory ----------------------------------------------------------------------------------------------------------

// MklCPUAllocator::AllocateRaw, which TensorFlow reaches through a table that the loader fills in. It may run before
// TensorFlow's first function, and attaches nothing.
#define X(name)                                                                                                        \
  XSP_API void *name(void *allocator, size_t alignment, size_t bytes);                                                 \
  void *name(void *allocator, size_t alignment, size_t bytes)                                                          \
  {                                                                                                                    \
    static void *own; /* atomic */                                                                                     \
    void *found = __atomic_load_n(&own, __ATOMIC_RELAXED);                                                             \
    if (found == NULL)                                                                                                 \
      __atomic_store_n(&own, found = framework_next(#name, FRAMEWORK_CALLER), __ATOMIC_RELAXED);                       \
    void *(*real)(void *, size_t, size_t);                                                                             \
    memcpy(&real, &found, sizeof real);                                                                                \
    void *memory = real != NULL ? real(allocator, alignment, bytes) : NULL;                                            \
    if (memory != NULL && is_attached())                                                                               \
      the_hooks->allocated(bytes);                                                                                     \
    return memory;                                                                                                     \
  }
X(_ZN10tensorflow15MklCPUAllocator11AllocateRawEmm)
#undef X

// ---- the framework ---------------------------------------------------------------------------------------------------

// Direct lookups do not come from TensorFlow's profiler.
static void *start_found(const struct framework_symbol *symbol, void *found)
{
  return found;
}

static const struct framework_symbol starts[] = {
#define X(name, ...) {#name, start_found, (void (*)(void))name, NULL},
    EACH_START(X)
#undef X
        {.name = NULL},
};
const struct framework framework_tensorflow_recorder = {
    .name = "tensorflow",
    .symbol_prefix = "_ZN3tsl8profiler15TraceMeRecorder5Start",
    .symbols = starts,
};
static const struct framework_symbol symbols[] = {
#define X(name, ...) {#name, framework_first_copy, (void (*)(void))name, &reals[OF_##name]},
    EACH_FUNCTION(X)
#undef X
        {.name = NULL},
};
const struct framework framework_tensorflow = {
    .name = "tensorflow",
    .symbol_prefix = "TF",
    .symbols = symbols,
};
