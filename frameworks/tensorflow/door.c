// SPDX-License-Identifier: Apache-2.0
// TensorFlow in C programs and in Python: its Python modules reach the library through four functions of its C interface,
// which the loader binds to ours, since this file is preloaded. They pass on, and tell tensorflow.so of functions and
// operations that are executed and of sessions that are run.
//
// One library is traced in a process: the first.
#include "frameworks/tensorflow/tracer.h"

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

static void *reals[FUNCTIONS]; // atomic: TensorFlow's own; NULL: not met yet
static const struct tensorflow_hooks *the_hooks;
static struct tensorflow_functions functions;
static uint32_t hooks_state;    // atomic: enum framework_state
static __thread unsigned depth; // of calls that passed by here

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
#undef X
  functions.recorder_level = frameworks_lookup(library, TENSORFLOW_RECORDER_LEVEL);
  return has_interface;
}

static const struct tensorflow_hooks *load_tracer(void)
{
  void *symbol = framework_tracer_symbol(&framework_tensorflow, TENSORFLOW_HOOKS_SYMBOL);
  tensorflow_hooks_fn get;
  memcpy(&get, &symbol, sizeof get);
  return get == NULL ? NULL : get();
}

static bool attach(const void *real)
{
  const struct tensorflow_hooks *hooks = load_tracer();
  bool is_whole = hooks != NULL && find_functions(real);
  if (hooks != NULL && !is_whole)
    hooks->say("this TensorFlow lacks functions that 2.x has: it is not traced");
  if (is_whole)
    hooks->start(&functions, framework_model_range());
  the_hooks = hooks;
  return is_whole;
}

struct passing {
  void *real; // NULL: there is none
  const struct tensorflow_hooks *hooks;
};

static struct passing enter(enum function number, const char *name, const void *caller)
{
  struct passing passing = {framework_real(&reals[number], name, caller), NULL};
  if (depth++ == 0 && passing.real != NULL && framework_tracer(&framework_tensorflow) != NULL &&
      framework_attach_once(&hooks_state, attach, passing.real))
    passing.hooks = the_hooks;
  return passing;
}

// Within a function of EACH_FUNCTION; there is no caller without the library that it was bound to.
#define ENTER(name)                                                                                                    \
  struct passing passing = enter(OF_##name, #name, __builtin_extract_return_addr(__builtin_return_address(0)));        \
  name##_fn real;                                                                                                      \
  memcpy(&real, &passing.real, sizeof real)

void TFE_Execute(void *op, void **results, int *count, void *status)
{
  ENTER(TFE_Execute);
  struct tensorflow_call call = {.is_open = false};
  if (passing.hooks != NULL)
    passing.hooks->execute_begins(&call, op);
  if (real != NULL)
    real(op, results, count, status);
  if (call.is_open)
    passing.hooks->execute_ended(&call, results, count != NULL ? *count : 0, functions.code(status) == 0);
  depth--;
}

void TF_SessionRun(void *session, const void *options, const struct output *inputs, void *const *values,
                   int input_count, const struct output *outputs, void **results, int count, const void *const *targets,
                   int target_count, void *metadata, void *status)
{
  ENTER(TF_SessionRun);
  struct tensorflow_call call = {.is_open = false};
  if (passing.hooks != NULL)
    passing.hooks->run_begins(&call, session, count > 0 ? outputs[0].operation : NULL);
  if (real != NULL)
    real(session, options, inputs, values, input_count, outputs, results, count, targets, target_count, metadata,
         status);
  if (call.is_open)
    passing.hooks->run_ended(&call, results, count, functions.code(status) == 0);
  depth--;
}

void *TF_LoadSessionFromSavedModel(const void *options, const void *run_options, const char *folder,
                                   const char *const *tags, int count, void *graph, void *meta_graph, void *status)
{
  ENTER(TF_LoadSessionFromSavedModel);
  void *session = real == NULL ? NULL : real(options, run_options, folder, tags, count, graph, meta_graph, status);
  if (passing.hooks != NULL && session != NULL)
    passing.hooks->session_made(session, folder);
  depth--;
  return session;
}

void TF_DeleteSession(void *session, void *status)
{
  ENTER(TF_DeleteSession);
  if (passing.hooks != NULL)
    passing.hooks->session_freed(session);
  if (real != NULL)
    real(session, status);
  depth--;
}

// ---- the recorder ----------------------------------------------------------------------------------------------------

// TraceMeRecorder::Start, as TensorFlow's profiler calls it: a prediction that has the recorder gives it up. Not kept by
// number as those above: other libraries of one process may have this one, too.
#define EACH_START(X)                                                                                                  \
  X(_ZN3tsl8profiler15TraceMeRecorder5StartEi, (int level), (level))                                                   \
  X(_ZN3tsl8profiler15TraceMeRecorder5StartEim, (int level, uint64_t filter), (level, filter))

#define X(name, parameters, arguments)                                                                                 \
  XSP_API bool name parameters;                                                                                        \
  bool name parameters                                                                                                 \
  {                                                                                                                    \
    void *found = framework_next(#name, __builtin_extract_return_addr(__builtin_return_address(0)));                   \
    bool(*real) parameters;                                                                                            \
    memcpy(&real, &found, sizeof real);                                                                                \
    bool is_told = __atomic_load_n(&hooks_state, __ATOMIC_ACQUIRE) == FRAMEWORK_ATTACHED;                              \
    if (is_told)                                                                                                       \
      the_hooks->program_begins();                                                                                     \
    bool is_on = real != NULL && real arguments;                                                                       \
    if (is_told)                                                                                                       \
      the_hooks->program_began();                                                                                      \
    return is_on;                                                                                                      \
  }
EACH_START(X)
#undef X

// ---- the framework ---------------------------------------------------------------------------------------------------

static const struct framework_symbol symbols[FUNCTIONS + 1];

// Of a second copy of TensorFlow nothing is told.
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

// Who looks it up itself is no profiler of TensorFlow's.
static void *start_found(const struct framework_symbol *symbol, void *found)
{
  return found;
}

static const struct framework_symbol starts[] = {
#define X(name, parameters, arguments) {#name, start_found, (void (*)(void))name},
    EACH_START(X)
#undef X
        {NULL, NULL, NULL},
};
const struct framework framework_tensorflow_recorder = {
    .name = "tensorflow",
    .symbol_prefix = "_ZN3tsl8profiler15TraceMeRecorder5Start",
    .symbols = starts,
};
static const struct framework_symbol symbols[] = {
#define X(name, result, parameters) {#name, symbol_found, (void (*)(void))name},
    EACH_FUNCTION(X)
#undef X
        {NULL, NULL, NULL},
};
const struct framework framework_tensorflow = {
    .name = "tensorflow",
    .symbol_prefix = "TF",
    .symbols = symbols,
};
