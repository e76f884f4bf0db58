// SPDX-License-Identifier: Apache-2.0
// The tracer's descriptor, and predictions: a session's run, or one call of a function (tf.function, Keras, a SavedModel's
// signature). Operations that are executed one by one are layers without a model. Called by frameworks.so on the program's
// threads.
#include "frameworks/tensorflow/hooks.h"

#include "base/clock.h"
#include "base/hash.h"
#include "format/range.h"
#include "frameworks/common/guest.h"
#include "frameworks/common/sites.h"
#include "frameworks/tensorflow/allocations.h"
#include "frameworks/tensorflow/tracer_recording.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 256
#define SLOTS 8192u
#define SESSIONS 256u

static const struct tensorflow_functions *tf;
static const char *the_model_range;

// Whether the call returns before its work is done: then querying its results would wait.
static bool is_async(const void *op, void *status)
{
  void *context = tf->op_context(op, status);
  void *executor = context != NULL ? tf->executor_of(context) : NULL;
  bool is_it = executor != NULL && tf->is_async(executor);
  if (executor != NULL)
    tf->delete_executor(executor);
  return is_it;
}

// ---- sites -----------------------------------------------------------------------------------------------------------

static struct site_slot slots[SLOTS]; // by level and name
static struct site_table sites = {.slots = slots, .slot_count = SLOTS};

// `inputs`: of a function; 0: not known.
static struct xsp_site *make_site(enum xsp_level level, const char *name, int inputs)
{
  struct xsp_site *site = xsp_site_create_variant("tensorflow", level, name, NULL, (uint32_t)inputs);
  char signature[32];
  snprintf(signature, sizeof signature, "%d inputs", inputs);
  if (site != NULL && inputs > 0)
    xsp_site_tag_string(site, "signature", signature);
  if (site != NULL && level == XSP_LEVEL_LAYER)
    xsp_site_tag_string(site, "layer_type", name);
  if (site != NULL && level == XSP_LEVEL_MODEL)
    xsp_site_tag_string(site, "model", name);
  if (site != NULL && level == XSP_LEVEL_MODEL && range_matches(the_model_range, name, strlen(name)))
    xsp_site_tag_int(site, "step", 1);
  return site;
}

static struct xsp_site *site_of(enum xsp_level level, const char *name, int inputs)
{
  uint64_t key = hash_text(name, strlen(name), (uint64_t)level << 32 | (uint32_t)inputs) | 1;
  struct xsp_site *site = framework_sites_find(&sites, key);
  if (site == NULL && (site = make_site(level, name, inputs)) != NULL && framework_sites_have_room(&sites))
    site = framework_sites_add(&sites, key, site);
  return site;
}

// ---- a call ----------------------------------------------------------------------------------------------------------

static void begin_model(struct tensorflow_call *call, const char *name, int inputs)
{
  call->function = hash_text(name, strlen(name), 0);
  call->is_recorded = tensorflow_recording_begin(call->function, !call->is_async);
  struct xsp_site *site = site_of(XSP_LEVEL_MODEL, name, inputs);
  call->is_open = true;
  call->start_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
  call->span = xsp_span_start(site);
}

static void end_call(struct tensorflow_call *call, int64_t batch)
{
  if (batch >= 0)
    xsp_span_tag_int(&call->span, "batch_size", batch);
  struct xsp_context model = xsp_span_context(&call->span);
  xsp_span_finish(&call->span);
  if (call->is_recorded)
    tensorflow_recording_end(call->function, model, call->start_ns, (int64_t)clock_now_ns(CLOCK_REALTIME));
  if (call->function != 0)
    tensorflow_recording_leave();
}

// ---- functions -------------------------------------------------------------------------------------------------------

// "__inference_serve_123" is called serve. False: an operation, or a function that belongs to loading and saving.
static bool function_name(const char *op, char *name)
{
  static const char *const begins[] = {"__inference_", "__forward_", "__backward_"};
  static const char *const not_models[] = {"_traced_restore", "_traced_save", "_creator",
                                           "_initializer",    "_destroyer",   "Dataset_"};
  const char *at = NULL;
  for (size_t i = 0; i < sizeof begins / sizeof begins[0] && at == NULL; i++)
    if (strncmp(op, begins[i], strlen(begins[i])) == 0)
      at = i == 2 ? op + 2 : op + strlen(begins[i]); // what goes backward is a step of its own
  if (at == NULL)
    return false;
  while (at[0] == '_' && at[1] == '_')
    at++;
  for (size_t i = 0; i < sizeof not_models / sizeof not_models[0]; i++)
    if (strncmp(at, not_models[i], strlen(not_models[i])) == 0)
      return false;
  size_t length = strlen(at);
  while (length > 0 && at[length - 1] >= '0' && at[length - 1] <= '9')
    length--;
  length = length > 1 && at[length - 1] == '_' ? length - 1 : strlen(at);
  snprintf(name, NAME_SIZE, "%.*s", (int)length, at);
  return true;
}

static void hook_execute_begins(struct tensorflow_call *call, const void *op)
{
  static uint32_t reported_async;
  char name[NAME_SIZE];
  void *status = tf->new_status(); // a question's, and not the program's
  const char *op_name = tf->op_name(op, status);
  bool is_function = op_name != NULL && function_name(op_name, name);
  call->is_async = is_function && is_async(op, status);
  int inputs = is_function && tf->input_count != NULL ? tf->input_count(op, status) : 0;
  tf->delete_status(status);
  if (call->is_async && __atomic_exchange_n(&reported_async, 1, __ATOMIC_RELAXED) == 0)
    guest_report(
        "TensorFlow executes functions asynchronously: they are recorded until the call returns, without layers");
  if (op_name == NULL)
    return;
  if (is_function) {
    begin_model(call, name, inputs);
  } else if (tensorflow_recording_is_wanted()) {
    struct xsp_site *site = site_of(XSP_LEVEL_LAYER, op_name, 0);
    call->is_open = true;
    call->span = xsp_span_start(site);
  }
}

static void hook_execute_ended(struct tensorflow_call *call, void *const *results, int count, bool is_done)
{
  int64_t batch = -1;
  if (call->function != 0 && !call->is_async && is_done && count > 0 && results != NULL && results[0] != NULL) {
    void *status = tf->new_status();
    batch = tf->handle_rank(results[0], status) > 0 ? tf->handle_dimension(results[0], 0, status) : -1;
    tf->delete_status(status);
  }
  end_call(call, batch);
}

// ---- sessions --------------------------------------------------------------------------------------------------------

static struct session {
  uintptr_t handle; // atomic; 0: free
  char name[NAME_SIZE];
} sessions[SESSIONS];

static struct session *find_session(const void *handle)
{
  for (size_t i = 0; i < SESSIONS; i++)
    if (__atomic_load_n(&sessions[i].handle, __ATOMIC_ACQUIRE) == (uintptr_t)handle)
      return &sessions[i];
  return NULL;
}

static void hook_session_made(const void *handle, const char *folder)
{
  size_t length = folder != NULL ? strlen(folder) : 0;
  while (length > 1 && folder[length - 1] == '/')
    length--;
  const char *slash = length > 0 ? memrchr(folder, '/', length) : NULL;
  const char *base = slash != NULL ? slash + 1 : folder;
  for (size_t i = 0; i < SESSIONS && length > 0; i++) {
    uintptr_t free_now = 0;
    if (!__atomic_compare_exchange_n(&sessions[i].handle, &free_now, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    snprintf(sessions[i].name, NAME_SIZE, "%.*s", (int)(folder + length - base), base);
    __atomic_store_n(&sessions[i].handle, (uintptr_t)handle, __ATOMIC_RELEASE);
    return;
  }
}

static void hook_session_freed(const void *handle)
{
  struct session *session = handle != NULL ? find_session(handle) : NULL;
  if (session != NULL)
    __atomic_store_n(&session->handle, 0, __ATOMIC_RELEASE);
}

// A SavedModel's folder, else the outermost scope of what is asked for: "model" of "model/dense/Softmax".
static void hook_run_begins(struct tensorflow_call *call, const void *handle, void *first_output)
{
  const struct session *session = find_session(handle);
  char name[NAME_SIZE] = "session";
  if (session != NULL) {
    snprintf(name, sizeof name, "%s", session->name);
  } else if (first_output != NULL) {
    const char *output = tf->operation_name(first_output);
    size_t length = output != NULL ? strcspn(output, "/") : 0;
    if (length > 0)
      snprintf(name, sizeof name, "%.*s", (int)length, output);
  } else { // targets only: initialisers, saving
    return;
  }
  begin_model(call, name, 0);
}

static void hook_run_ended(struct tensorflow_call *call, void *const *results, int count, bool is_done)
{
  bool has_batch = is_done && count > 0 && results != NULL && results[0] != NULL && tf->rank(results[0]) > 0;
  end_call(call, has_batch ? tf->dimension(results[0], 0) : -1);
}

// ---- for frameworks.so -----------------------------------------------------------------------------------------------

static void hook_start(const struct tensorflow_functions *functions, const char *model_range)
{
  tf = functions;
  the_model_range = model_range;
  tensorflow_recording_start(functions);
}

const struct tensorflow_hooks *xsp_tensorflow(void)
{
  static const struct tensorflow_hooks hooks = {
      .size = sizeof hooks,
      .start = hook_start,
      .execute_begins = hook_execute_begins,
      .execute_ended = hook_execute_ended,
      .session_made = hook_session_made,
      .session_freed = hook_session_freed,
      .run_begins = hook_run_begins,
      .run_ended = hook_run_ended,
      .report = guest_report,
      .program_begins = tensorflow_recording_program_begins,
      .program_began = tensorflow_recording_program_began,
      .allocated = tensorflow_allocations_note,
  };
  (void)xsp_tracer_join(guest_tracer());
  return &hooks;
}

// ---- the library, for `xsp check` ------------------------------------------------------------------------------------

static bool examine(void *handle, const char **ret_version, const char **ret_advice, char *why, size_t why_size)
{
  struct tensorflow_functions found;
  void *symbol;
  bool has_layers = true;
#define X(member, name, result, parameters)                                                                            \
  symbol = dlsym(handle, #name);                                                                                       \
  memcpy(&found.member, &symbol, sizeof symbol);                                                                       \
  has_layers = has_layers && symbol != NULL;
  TENSORFLOW_TRACER_FUNCTIONS(X)
  bool is_whole = has_layers;
  TENSORFLOW_RECORDER_FUNCTIONS(X)
#undef X
  *ret_version = found.version != NULL ? found.version() : NULL;
  if (!has_layers)
    snprintf(why, why_size, "%s",
             is_whole ? "this TensorFlow has no known recorder: models, but no layers"
                      : "this TensorFlow lacks functions that 2.x has");
  return has_layers;
}

const struct guest_library guest_library = {
    .names = {.name = "tensorflow",
              .sonames = (const char *const[]){"libtensorflow_cc.so.2", "libtensorflow.so.2", NULL},
              .package_glob = "tensorflow/libtensorflow_cc.so*",
              .advice = "pip install tensorflow-cpu; a program that brings its own needs nothing"},
    .summary = "models and layers of TensorFlow 2, in Python and in C programs",
    .variable = "TF_CPP_MIN_LOG_LEVEL",
    .value = "3",
    .examine = examine,
};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *host)
{
  return guest_tracer();
}
