// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime in programs that use its C functions, linked or looked up. The program gets a copy of the runtime's table
// of functions in which those that make, run and release sessions are ours: they pass on to the real ones, with the
// listener among the session's execution providers where layers may be recorded.
//
// The functions carry nothing that says whose table they are from: there is a set of them for each copy of the runtime.
#include "frameworks/onnxruntime/door_runs.h"

#include "frameworks/onnxruntime/door_python.h"
#include "frameworks/onnxruntime/tracer.h"

#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#define EACH_COPY(X) X(0) X(1) X(2) X(3)
#define COPIES 4
#define WAITS_MAXIMUM 100000
#define SLOTS_MAXIMUM 1024u // of any table yet to come; 1.31 has about 430

struct copy {
  uint32_t state;               // atomic: 0 free, 1 being filled, 2 in use, 3 left alone
  ort_get_api_base_fn get_base; // the library's
  const struct ort_api_base *real;
  struct ort_api_base base; // the program's
  const void *real_table;   // what `table` is a copy of
  const void **table;       // the program's; a mapping that stays
  struct ort_runtime runtime;
};
static struct copy copies[COPIES];

// ---- sessions --------------------------------------------------------------------------------------------------------

static void drop(const struct copy *copy, struct ort_status *status)
{
  if (status != NULL)
    copy->runtime.api.release_status(status);
}

static const struct ort_ep_device *find_listener(const struct copy *copy, const struct ort_env *env)
{
  const struct ort_ep_device *const *devices = NULL;
  size_t count = 0;
  struct ort_status *status = copy->runtime.api.ep_devices(env, &devices, &count);
  for (size_t i = 0; status == NULL && i < count; i++)
    if (strcmp(copy->runtime.api.ep_device_name(devices[i]), ORT_LISTENER_NAME) == 0)
      return devices[i];
  drop(copy, status);
  return NULL;
}

// The program's options with the listener added, in a clone. NULL: as they are.
static struct ort_session_options *add_listener(const struct copy *copy, const struct ort_env *env,
                                                const struct ort_session_options *options)
{
  const struct ort_api *api = &copy->runtime.api;
  if (copy->runtime.version < ORT_API_LISTENER || !runs_layers_possible() || runs_listener() == NULL)
    return NULL;
  struct ort_env *own_env = (struct ort_env *)(uintptr_t)env; // an environment is one for all; const is courtesy
  const struct ort_ep_device *device = find_listener(copy, env);
  if (device == NULL) {
    drop(copy, api->register_ep_library(own_env, RUNS_REGISTRATION_NAME, runs_listener_path()));
    device = find_listener(copy, env); // whoever registered it
  }
  struct ort_session_options *clone = NULL;
  if (device == NULL)
    return NULL;
  struct ort_status *status =
      options != NULL ? api->clone_session_options(options, &clone) : api->create_session_options(&clone);
  if (status == NULL)
    status = api->append_ep(clone, own_env, &device, 1, NULL, NULL, 0);
  if (status == NULL)
    return clone;
  drop(copy, status);
  if (clone != NULL)
    api->release_session_options(clone);
  return NULL;
}

// A session that failed for our being there is made again without us; any other error is the program's.
static bool is_our_fault(const struct copy *copy, struct ort_status *status)
{
  return status != NULL && strstr(copy->runtime.api.error_message(status), ORT_LISTENER_NAME) != NULL;
}

static void name_by_graph(const struct copy *copy, const struct ort_session *session, struct known *known)
{
  const struct ort_api *api = &copy->runtime.api;
  struct ort_model_metadata *metadata = NULL;
  struct ort_allocator *allocator = NULL;
  char *name = NULL;
  struct ort_status *status = api->default_allocator(&allocator);
  if (status == NULL)
    status = api->model_metadata(session, &metadata);
  if (status == NULL)
    status = api->graph_name(metadata, allocator, &name);
  drop(copy, status);
  known->site = runs_site_of_name(name);
  if (name != NULL)
    drop(copy, api->allocator_free(allocator, name));
  if (metadata != NULL)
    api->release_model_metadata(metadata);
}

static void note_session(const struct copy *copy, const struct ort_session *session, const char *path, bool listens)
{
  struct known *known = known_add(&known_sessions, session);
  if (known == NULL) {
    runs_say("more than %s sessions at a time: further ones are not traced", "4000");
    return;
  }
  if (path != NULL)
    known->site = runs_site_of_file(path);
  else
    name_by_graph(copy, session, known);
  uint64_t start_ns = 0;
  if (copy->runtime.api.profiling_start_ns != NULL)
    drop(copy, copy->runtime.api.profiling_start_ns(session, &start_ns)); // 0: it does not profile
  uint32_t state = (listens ? SESSION_LISTENS : 0) | (start_ns != 0 ? SESSION_PROFILES_ITSELF : 0);
  __atomic_store_n(&known->state, state, __ATOMIC_RELEASE);
}

// The four ways to make a session, in one form.
struct making {
  const struct ort_env *env;
  const char *path; // or
  const void *model;
  size_t size_bytes;
  struct ort_prepacked *prepacked; // NULL: without
};

static struct ort_status *make_real(const struct copy *copy, const struct making *making,
                                    const struct ort_session_options *options, struct ort_session **ret_session)
{
  const struct ort_api *api = &copy->runtime.api;
  if (making->path != NULL)
    return making->prepacked == NULL
               ? api->create_session(making->env, making->path, options, ret_session)
               : api->create_session_prepacked(making->env, making->path, options, making->prepacked, ret_session);
  return making->prepacked == NULL
             ? api->create_session_from_array(making->env, making->model, making->size_bytes, options, ret_session)
             : api->create_session_from_array_prepacked(making->env, making->model, making->size_bytes, options,
                                                        making->prepacked, ret_session);
}

static struct ort_status *make(struct copy *copy, const struct making *making,
                               const struct ort_session_options *options, struct ort_session **ret_session)
{
  struct ort_session_options *clone = add_listener(copy, making->env, options);
  bool listens = clone != NULL;
  struct ort_status *status = make_real(copy, making, listens ? clone : options, ret_session);
  if (listens && is_our_fault(copy, status)) {
    drop(copy, status);
    listens = false;
    status = make_real(copy, making, options, ret_session);
  }
  if (clone != NULL)
    copy->runtime.api.release_session_options(clone);
  if (status == NULL && ret_session != NULL && *ret_session != NULL)
    note_session(copy, *ret_session, making->path, listens);
  return status;
}

// ---- inferences ------------------------------------------------------------------------------------------------------

// The first dimension of a tensor; -1: none.
static int64_t batch_of(const struct copy *copy, const struct ort_value *value)
{
  const struct ort_api *api = &copy->runtime.api;
  struct ort_tensor_info *info = NULL;
  int is_tensor = 0;
  size_t rank = 0;
  int64_t first = -1;
  struct ort_status *status = value == NULL ? NULL : api->is_tensor(value, &is_tensor);
  if (status == NULL && is_tensor)
    status = api->tensor_info_of_value(value, &info);
  if (status == NULL && info != NULL)
    status = api->dimension_count(info, &rank);
  if (status == NULL && rank > 0)
    status = api->dimensions(info, &first, 1);
  if (status != NULL)
    first = -1;
  drop(copy, status);
  if (info != NULL)
    api->release_tensor_info(info);
  return first;
}

// What both kinds of runs are given.
struct feed {
  const char *const *input_names;
  const struct ort_value *const *inputs;
  size_t input_count;
  const char *const *output_names;
  size_t output_count;
  struct ort_value **outputs;
};

static struct ort_status *run_real(const struct copy *copy, struct ort_session *session,
                                   const struct ort_run_options *options, const struct feed *feed)
{
  return copy->runtime.api.run(session, options, feed->input_names, feed->inputs, feed->input_count, feed->output_names,
                               feed->output_count, feed->outputs);
}

static struct ort_status *run_feed(struct copy *copy, struct ort_session *session,
                                   const struct ort_run_options *options, const struct feed *feed)
{
  const struct known *known = known_find(&known_sessions, session);
  if (known == NULL)
    return run_real(copy, session, options, feed);
  int64_t batch = feed->inputs != NULL && feed->input_count > 0 ? batch_of(copy, feed->inputs[0]) : -1;
  struct run run = run_begin(&copy->runtime, known, options, batch);
  struct ort_status *status = run_real(copy, session, run.given, feed);
  run_end(&run);
  return status;
}

static struct ort_status *run_binding(struct copy *copy, struct ort_session *session,
                                      const struct ort_run_options *options, const struct ort_binding *binding)
{
  const struct known *known = known_find(&known_sessions, session);
  if (known == NULL)
    return copy->runtime.api.run_with_binding(session, options, binding);
  const struct known *bound = known_find(&known_bindings, binding);
  struct run run = run_begin(&copy->runtime, known, options, bound == NULL ? -1 : bound->batch);
  struct ort_status *status = copy->runtime.api.run_with_binding(session, run.given, binding);
  run_end(&run);
  return status;
}

// On the runtime's thread that computed it.
static void async_ended(void *data, struct ort_value **outputs, size_t output_count, struct ort_status *status)
{
  struct pending *pending = data;
  ort_async_callback callback = pending->callback;
  void *callback_data = pending->callback_data;
  pending_end(pending);
  callback(callback_data, outputs, output_count, status);
}

static struct ort_status *run_later(struct copy *copy, struct ort_session *session,
                                    const struct ort_run_options *options, const struct feed *feed,
                                    ort_async_callback callback, void *data)
{
  const struct known *known = known_find(&known_sessions, session);
  struct pending *pending = NULL;
  if (known != NULL && callback != NULL) {
    int64_t batch = feed->inputs != NULL && feed->input_count > 0 ? batch_of(copy, feed->inputs[0]) : -1;
    pending = pending_begin(&copy->runtime, known, options, batch);
  }
  if (pending != NULL) {
    pending->callback = callback;
    pending->callback_data = data;
    options = pending->given;
    callback = async_ended;
    data = pending;
  }
  struct ort_status *status =
      copy->runtime.api.run_async(session, options, feed->input_names, feed->inputs, feed->input_count,
                                  feed->output_names, feed->output_count, feed->outputs, callback, data);
  if (status != NULL && pending != NULL) // the callback will not be called
    pending_cancel(pending);
  return status;
}

// ---- what else says that we are here ---------------------------------------------------------------------------------

// The list of devices without ours. It belongs to the environment in the program's eyes: a copy is kept, and made anew
// only where the list has changed.
static struct ort_status *list_devices(struct copy *copy, const struct ort_env *env,
                                       const struct ort_ep_device *const **ret_devices, size_t *ret_count)
{
  static const struct ort_ep_device *kept[COPIES][256]; // written with what stands there already, but for new devices
  struct ort_status *status = copy->runtime.api.ep_devices(env, ret_devices, ret_count);
  const struct ort_ep_device **list = kept[copy - copies];
  if (status != NULL || ret_devices == NULL || ret_count == NULL || *ret_count > 256)
    return status;
  size_t count = 0;
  for (size_t i = 0; i < *ret_count; i++)
    if (strcmp(copy->runtime.api.ep_device_name((*ret_devices)[i]), ORT_LISTENER_NAME) != 0)
      __atomic_store_n(&list[count++], (*ret_devices)[i], __ATOMIC_RELAXED);
  if (count == *ret_count)
    return NULL;
  *ret_devices = list;
  *ret_count = count;
  return NULL;
}

// ---- the table -------------------------------------------------------------------------------------------------------

#define FEED_PARAMETERS                                                                                                \
  const char *const *input_names, const struct ort_value *const *inputs, size_t input_count,                           \
      const char *const *output_names, size_t output_count, struct ort_value **outputs
#define FEED                                                                                                           \
  &(struct feed)                                                                                                       \
  {                                                                                                                    \
    input_names, inputs, input_count, output_names, output_count, outputs                                              \
  }

#define OF_COPY(n)                                                                                                     \
  static struct ort_status *create_session_##n(const struct ort_env *env, const char *path,                            \
                                               const struct ort_session_options *options, struct ort_session **out)    \
  {                                                                                                                    \
    return make(&copies[n], &(struct making){.env = env, .path = path}, options, out);                                 \
  }                                                                                                                    \
  static struct ort_status *create_session_from_array_##n(const struct ort_env *env, const void *model, size_t size,   \
                                                          const struct ort_session_options *options,                   \
                                                          struct ort_session **out)                                    \
  {                                                                                                                    \
    return make(&copies[n], &(struct making){.env = env, .model = model, .size_bytes = size}, options, out);           \
  }                                                                                                                    \
  static struct ort_status *create_session_prepacked_##n(const struct ort_env *env, const char *path,                  \
                                                         const struct ort_session_options *options,                    \
                                                         struct ort_prepacked *prepacked, struct ort_session **out)    \
  {                                                                                                                    \
    return make(&copies[n], &(struct making){.env = env, .path = path, .prepacked = prepacked}, options, out);         \
  }                                                                                                                    \
  static struct ort_status *create_session_from_array_prepacked_##n(                                                   \
      const struct ort_env *env, const void *model, size_t size, const struct ort_session_options *options,            \
      struct ort_prepacked *prepacked, struct ort_session **out)                                                       \
  {                                                                                                                    \
    struct making making = {.env = env, .model = model, .size_bytes = size, .prepacked = prepacked};                   \
    return make(&copies[n], &making, options, out);                                                                    \
  }                                                                                                                    \
  static struct ort_status *run_##n(struct ort_session *session, const struct ort_run_options *options,                \
                                    FEED_PARAMETERS)                                                                   \
  {                                                                                                                    \
    return run_feed(&copies[n], session, options, FEED);                                                               \
  }                                                                                                                    \
  static struct ort_status *run_async_##n(struct ort_session *session, const struct ort_run_options *options,          \
                                          FEED_PARAMETERS, ort_async_callback callback, void *data)                    \
  {                                                                                                                    \
    return run_later(&copies[n], session, options, FEED, callback, data);                                              \
  }                                                                                                                    \
  static struct ort_status *run_with_binding_##n(struct ort_session *session, const struct ort_run_options *options,   \
                                                 const struct ort_binding *binding)                                    \
  {                                                                                                                    \
    return run_binding(&copies[n], session, options, binding);                                                         \
  }                                                                                                                    \
  static struct ort_status *bind_input_##n(struct ort_binding *binding, const char *name,                              \
                                           const struct ort_value *value)                                              \
  {                                                                                                                    \
    binding_note(binding, name, batch_of(&copies[n], value));                                                          \
    return copies[n].runtime.api.bind_input(binding, name, value);                                                     \
  }                                                                                                                    \
  static void release_binding_##n(struct ort_binding *binding)                                                         \
  {                                                                                                                    \
    known_remove(&known_bindings, binding);                                                                            \
    copies[n].runtime.api.release_binding(binding);                                                                    \
  }                                                                                                                    \
  static void release_session_##n(struct ort_session *session)                                                         \
  {                                                                                                                    \
    known_remove(&known_sessions, session);                                                                            \
    copies[n].runtime.api.release_session(session);                                                                    \
  }                                                                                                                    \
  static void release_run_options_##n(struct ort_run_options *options)                                                 \
  {                                                                                                                    \
    known_remove(&known_options, options);                                                                             \
    copies[n].runtime.api.release_run_options(options);                                                                \
  }                                                                                                                    \
  static struct ort_status *enable_run_profiling_##n(struct ort_run_options *options, const char *prefix)              \
  {                                                                                                                    \
    options_taken(options, true);                                                                                      \
    return copies[n].runtime.api.enable_run_profiling(options, prefix);                                                \
  }                                                                                                                    \
  static struct ort_status *disable_run_profiling_##n(struct ort_run_options *options)                                 \
  {                                                                                                                    \
    options_taken(options, false);                                                                                     \
    return copies[n].runtime.api.disable_run_profiling(options);                                                       \
  }                                                                                                                    \
  static struct ort_status *end_profiling_##n(struct ort_session *session, struct ort_allocator *allocator,            \
                                              char **path)                                                             \
  {                                                                                                                    \
    struct ort_status *status = copies[n].runtime.api.end_profiling(session, allocator, path);                         \
    struct known *known = known_find(&known_sessions, session);                                                        \
    if (status == NULL && known != NULL)                                                                               \
      __atomic_fetch_and(&known->state, ~(uint32_t)SESSION_PROFILES_ITSELF, __ATOMIC_RELAXED);                         \
    return status;                                                                                                     \
  }                                                                                                                    \
  static struct ort_status *ep_devices_##n(const struct ort_env *env, const struct ort_ep_device *const **devices,     \
                                           size_t *count)                                                              \
  {                                                                                                                    \
    return list_devices(&copies[n], env, devices, count);                                                              \
  }
EACH_COPY(OF_COPY)
#undef OF_COPY

// X(member of struct ort_api): what of the table is ours
#define REPLACED(X, n)                                                                                                 \
  X(create_session, n)                                                                                                 \
  X(create_session_from_array, n)                                                                                      \
  X(create_session_prepacked, n)                                                                                       \
  X(create_session_from_array_prepacked, n)                                                                            \
  X(run, n)                                                                                                            \
  X(run_async, n)                                                                                                      \
  X(run_with_binding, n)                                                                                               \
  X(bind_input, n)                                                                                                     \
  X(release_binding, n)                                                                                                \
  X(release_session, n)                                                                                                \
  X(release_run_options, n)                                                                                            \
  X(enable_run_profiling, n)                                                                                           \
  X(disable_run_profiling, n)                                                                                          \
  X(end_profiling, n)                                                                                                  \
  X(ep_devices, n)

static const struct ort_api ours[COPIES] = {
#define X(member, n) .member = member##_##n,
#define OF_COPY(n) [n] = {REPLACED(X, n)},
    EACH_COPY(OF_COPY)
#undef OF_COPY
#undef X
};

// A table's length follows from its version only for versions that are out by now, but it is a constant of its library:
// it ends where the library's data end at the latest.
static const void **copy_table(struct copy *copy, const void *real_table)
{
  size_t readable = framework_readable(real_table);
  if (readable > SLOTS_MAXIMUM * sizeof(void *))
    readable = SLOTS_MAXIMUM * sizeof(void *);
  uint32_t version = copy->runtime.version;
  const void **table =
      mmap(NULL, SLOTS_MAXIMUM * sizeof(void *), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (readable == 0 || table == MAP_FAILED) // made by hand somewhere: left alone
    return NULL;
  memcpy(table, real_table, readable);
#define X(member, slot, first, result, parameters)                                                                     \
  if (version >= (first) && ours[copy - copies].member != NULL)                                                        \
    memcpy(&table[slot], &ours[copy - copies].member, sizeof table[slot]);
  ORT_API_LIST(X)
#undef X
  mprotect(table, SLOTS_MAXIMUM * sizeof(void *), PROT_READ);
  return table;
}

// ---- the entrance ----------------------------------------------------------------------------------------------------

// The library may have been closed and opened again since: what lies elsewhere now is not what was copied.
#define OF_COPY(n)                                                                                                     \
  static const void *get_api_##n(uint32_t version)                                                                     \
  {                                                                                                                    \
    const void *table = copies[n].real->get_api(version);                                                              \
    return table == copies[n].real_table ? copies[n].table : table;                                                    \
  }                                                                                                                    \
  static const struct ort_api_base *get_base_##n(void)                                                                 \
  {                                                                                                                    \
    const struct ort_api_base *real = copies[n].get_base();                                                            \
    return real == copies[n].real ? &copies[n].base : real;                                                            \
  }
EACH_COPY(OF_COPY)
#undef OF_COPY

#define OF_COPY(n) get_api_##n,
static const void *(*const get_apis[COPIES])(uint32_t) = {EACH_COPY(OF_COPY)};
#undef OF_COPY
#define OF_COPY(n) get_base_##n,
static const ort_get_api_base_fn get_bases[COPIES] = {EACH_COPY(OF_COPY)};
#undef OF_COPY

static bool fill(struct copy *copy, ort_get_api_base_fn get_base)
{
  const struct ort_api_base *real = get_base();
  if (real == NULL || !runs_load(&copy->runtime, real))
    return false;
  copy->get_base = get_base;
  copy->real = real;
  copy->real_table = real->get_api(copy->runtime.version);
  copy->base = (struct ort_api_base){get_apis[copy - copies], real->version_string};
  copy->table = copy_table(copy, copy->real_table);
  if (copy->table == NULL)
    return false;
  if (copy->runtime.version < ORT_API_LISTENER && runs_layers_possible())
    runs_say("ONNX Runtime %s calls no listener (1.25 or later does): its models are recorded, its layers are not",
             real->version_string());
  return true;
}

// The library's entrance as the program gets it: the same one where there is nothing to be done.
static ort_get_api_base_fn entrance_of(ort_get_api_base_fn get_base)
{
  for (size_t i = 0; i < COPIES; i++) {
    struct copy *copy = &copies[i];
    uint32_t state = 0;
    if (__atomic_compare_exchange_n(&copy->state, &state, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
      state = fill(copy, get_base) ? 2 : 3;
      copy->get_base = get_base;
      __atomic_store_n(&copy->state, state, __ATOMIC_RELEASE);
    }
    for (int waits = 0; state == 1 && waits < WAITS_MAXIMUM; waits++) { // another thread fills it
      sched_yield();
      state = __atomic_load_n(&copy->state, __ATOMIC_ACQUIRE);
    }
    if (state == 1) // it never will: it was filled while the process forked
      continue;
    if (copy->get_base == get_base)
      return state == 2 ? get_bases[i] : get_base;
  }
  runs_say("more than %s copies of ONNX Runtime in this process: the others are not traced", "4");
  return get_base;
}

XSP_API const struct ort_api_base *OrtGetApiBase(void);

static void *symbol_found(const struct framework_symbol *symbol, void *found)
{
  ort_get_api_base_fn get_base, own = OrtGetApiBase;
  memcpy(&get_base, &found, sizeof get_base);
  if (get_base == own) // looked up in the program itself: ours passes on by itself
    return found;
  get_base = entrance_of(get_base);
  memcpy(&found, &get_base, sizeof found);
  return found;
}

// Linked programs call this one.
const struct ort_api_base *OrtGetApiBase(void)
{
  void *found = framework_next(ORT_GET_API_BASE, __builtin_extract_return_addr(__builtin_return_address(0)));
  ort_get_api_base_fn get_base;
  memcpy(&get_base, &found, sizeof get_base);
  if (get_base == NULL)
    return NULL;
  return runs_listener_path() == NULL ? get_base() : entrance_of(get_base)();
}

static const struct framework_symbol symbols[] = {
    {ORT_GET_API_BASE, symbol_found, (void (*)(void))OrtGetApiBase, NULL},
    {.name = NULL},
};
const struct framework framework_onnxruntime = {
    .name = "onnxruntime",
    .symbol_prefix = ORT_GET_API_BASE,
    .symbols = symbols,
    .python_module = "onnxruntime_pybind11_state",
    .python_loaded = onnxruntime_python_loaded,
};
