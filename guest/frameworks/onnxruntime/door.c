// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime in programs that use its C functions, linked or looked up. The program gets a copy of the runtime's table
// of functions in which those that make, run and release sessions are ours (door_sessions.c).
//
// A function does not know which table it was called from: each copy of the runtime has its own set.
#include "frameworks/onnxruntime/door_sessions.h"

#include "frameworks/onnxruntime/door_objects.h"
#include "frameworks/onnxruntime/hooks.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#define EACH_COPY(X) X(0) X(1) X(2) X(3)
#define COPIES 4
#define WAITS_MAXIMUM 100000
#define SLOTS_MAXIMUM 1024u // of any table yet to come; 1.31 has about 430

static struct copy copies[COPIES];

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
    return ort_sessions_make(&copies[n], &(struct making){.env = env, .path = path}, options, out);                    \
  }                                                                                                                    \
  static struct ort_status *create_session_from_array_##n(const struct ort_env *env, const void *model, size_t size,   \
                                                          const struct ort_session_options *options,                   \
                                                          struct ort_session **out)                                    \
  {                                                                                                                    \
    return ort_sessions_make(&copies[n], &(struct making){.env = env, .model = model, .size_bytes = size}, options,    \
                             out);                                                                                     \
  }                                                                                                                    \
  static struct ort_status *create_session_prepacked_##n(const struct ort_env *env, const char *path,                  \
                                                         const struct ort_session_options *options,                    \
                                                         struct ort_prepacked *prepacked, struct ort_session **out)    \
  {                                                                                                                    \
    return ort_sessions_make(&copies[n], &(struct making){.env = env, .path = path, .prepacked = prepacked}, options,  \
                             out);                                                                                     \
  }                                                                                                                    \
  static struct ort_status *create_session_from_array_prepacked_##n(                                                   \
      const struct ort_env *env, const void *model, size_t size, const struct ort_session_options *options,            \
      struct ort_prepacked *prepacked, struct ort_session **out)                                                       \
  {                                                                                                                    \
    struct making making = {.env = env, .model = model, .size_bytes = size, .prepacked = prepacked};                   \
    return ort_sessions_make(&copies[n], &making, options, out);                                                       \
  }                                                                                                                    \
  static struct ort_status *run_##n(struct ort_session *session, const struct ort_run_options *options,                \
                                    FEED_PARAMETERS)                                                                   \
  {                                                                                                                    \
    return ort_sessions_run_feed(&copies[n], session, options, FEED);                                                  \
  }                                                                                                                    \
  static struct ort_status *run_async_##n(struct ort_session *session, const struct ort_run_options *options,          \
                                          FEED_PARAMETERS, ort_async_callback callback, void *data)                    \
  {                                                                                                                    \
    return ort_sessions_run_later(&copies[n], session, options, FEED, callback, data);                                 \
  }                                                                                                                    \
  static struct ort_status *run_with_binding_##n(struct ort_session *session, const struct ort_run_options *options,   \
                                                 const struct ort_binding *binding)                                    \
  {                                                                                                                    \
    return ort_sessions_run_binding(&copies[n], session, options, binding);                                            \
  }                                                                                                                    \
  static struct ort_status *bind_input_##n(struct ort_binding *binding, const char *name,                              \
                                           const struct ort_value *value)                                              \
  {                                                                                                                    \
    ort_binding_note(binding, name, ort_sessions_batch_of(&copies[n], value));                                         \
    return copies[n].runtime.api.bind_input(binding, name, value);                                                     \
  }                                                                                                                    \
  static void release_binding_##n(struct ort_binding *binding)                                                         \
  {                                                                                                                    \
    ort_known_remove(&ort_known_bindings, binding);                                                                    \
    copies[n].runtime.api.release_binding(binding);                                                                    \
  }                                                                                                                    \
  static void release_session_##n(struct ort_session *session)                                                         \
  {                                                                                                                    \
    ort_known_remove(&ort_known_sessions, session);                                                                    \
    copies[n].runtime.api.release_session(session);                                                                    \
  }                                                                                                                    \
  static void release_run_options_##n(struct ort_run_options *options)                                                 \
  {                                                                                                                    \
    ort_known_remove(&ort_known_options, options);                                                                     \
    copies[n].runtime.api.release_run_options(options);                                                                \
  }                                                                                                                    \
  static struct ort_status *enable_run_profiling_##n(struct ort_run_options *options, const char *prefix)              \
  {                                                                                                                    \
    ort_options_taken(options, true);                                                                                  \
    return copies[n].runtime.api.enable_run_profiling(options, prefix);                                                \
  }                                                                                                                    \
  static struct ort_status *disable_run_profiling_##n(struct ort_run_options *options)                                 \
  {                                                                                                                    \
    ort_options_taken(options, false);                                                                                 \
    return copies[n].runtime.api.disable_run_profiling(options);                                                       \
  }                                                                                                                    \
  static struct ort_status *end_profiling_##n(struct ort_session *session, struct ort_allocator *allocator,            \
                                              char **path)                                                             \
  {                                                                                                                    \
    struct ort_status *status = copies[n].runtime.api.end_profiling(session, allocator, path);                         \
    struct known *known = ort_known_find(&ort_known_sessions, session);                                                \
    if (status == NULL && known != NULL)                                                                               \
      __atomic_fetch_and(&known->state, ~(uint32_t)SESSION_PROFILES_ITSELF, __ATOMIC_RELAXED);                         \
    return status;                                                                                                     \
  }                                                                                                                    \
  static struct ort_status *ep_devices_##n(const struct ort_env *env, const struct ort_ep_device *const **devices,     \
                                           size_t *count)                                                              \
  {                                                                                                                    \
    return ort_sessions_list_devices(&copies[n], env, devices, count);                                                 \
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
  if (real == NULL || !ort_runs_load(&copy->runtime, real))
    return false;
  copy->get_base = get_base;
  copy->real = real;
  copy->real_table = real->get_api(copy->runtime.version);
  copy->base = (struct ort_api_base){get_apis[copy - copies], real->version_string};
  copy->table = copy_table(copy, copy->real_table);
  if (copy->table == NULL)
    return false;
  if (copy->runtime.version < ORT_API_LISTENER && ort_runs_layers_possible())
    ort_runs_say("ONNX Runtime %s calls no listener (1.25 or later does): its models are recorded, its layers are not",
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
  ort_runs_say("more than %s copies of ONNX Runtime in this process: the others are not traced", "4");
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
  return ort_runs_listener_path() == NULL ? get_base() : entrance_of(get_base)();
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
