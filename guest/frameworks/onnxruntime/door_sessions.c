// SPDX-License-Identifier: Apache-2.0
// Sessions and inferences; see door_sessions.h. Called by door.c on the program's threads.
#include "frameworks/onnxruntime/door_sessions.h"

#include <string.h>

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
  if (copy->runtime.version < ORT_API_LISTENER || !ort_runs_layers_possible() || ort_runs_listener() == NULL)
    return NULL;
  struct ort_env *own_env = (struct ort_env *)(uintptr_t)env; // an environment is one for all; const is courtesy
  const struct ort_ep_device *device = find_listener(copy, env);
  if (device == NULL) {
    drop(copy, api->register_ep_library(own_env, RUNS_REGISTRATION_NAME, ort_runs_listener_path()));
    device = find_listener(copy, env); // by us or by another thread
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

// A session that failed because of our listener is made again without it; other errors are the program's.
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
  known->site = ort_runs_site_of_name(name);
  if (name != NULL)
    drop(copy, api->allocator_free(allocator, name));
  if (metadata != NULL)
    api->release_model_metadata(metadata);
}

static void note_session(const struct copy *copy, const struct ort_session *session, const char *path, bool listens,
                         uint64_t asked)
{
  struct known *known = ort_known_add(&ort_known_sessions, session);
  if (known == NULL) {
    ort_runs_say("more than %s sessions at a time: further ones are not traced", "4000");
    return;
  }
  if (path != NULL)
    known->site = ort_runs_site_of_file(path);
  else
    name_by_graph(copy, session, known);
  ort_creation_ends(asked, known->site);
  uint64_t start_ns = 0;
  if (copy->runtime.api.profiling_start_ns != NULL)
    drop(copy, copy->runtime.api.profiling_start_ns(session, &start_ns)); // 0: it does not profile
  uint32_t state = (listens ? SESSION_LISTENS : 0) | (start_ns != 0 ? SESSION_PROFILES_ITSELF : 0);
  __atomic_store_n(&known->state, state, __ATOMIC_RELEASE);
}

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

struct ort_status *ort_sessions_make(struct copy *copy, const struct making *making,
                                     const struct ort_session_options *options, struct ort_session **ret_session)
{
  uint64_t asked = xsp_clock_ticks();
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
    note_session(copy, *ret_session, making->path, listens, asked);
  return status;
}

// ---- inferences ------------------------------------------------------------------------------------------------------

int64_t ort_sessions_batch_of(const struct copy *copy, const struct ort_value *value)
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

static struct ort_status *run_real(const struct copy *copy, struct ort_session *session,
                                   const struct ort_run_options *options, const struct feed *feed)
{
  return copy->runtime.api.run(session, options, feed->input_names, feed->inputs, feed->input_count, feed->output_names,
                               feed->output_count, feed->outputs);
}

struct ort_status *ort_sessions_run_feed(struct copy *copy, struct ort_session *session,
                                         const struct ort_run_options *options, const struct feed *feed)
{
  const struct known *known = ort_known_find(&ort_known_sessions, session);
  if (known == NULL)
    return run_real(copy, session, options, feed);
  int64_t batch = feed->inputs != NULL && feed->input_count > 0 ? ort_sessions_batch_of(copy, feed->inputs[0]) : -1;
  struct run run = ort_run_begin(&copy->runtime, known, options, batch);
  struct ort_status *status = run_real(copy, session, run.given, feed);
  ort_run_end(&run);
  return status;
}

struct ort_status *ort_sessions_run_binding(struct copy *copy, struct ort_session *session,
                                            const struct ort_run_options *options, const struct ort_binding *binding)
{
  const struct known *known = ort_known_find(&ort_known_sessions, session);
  if (known == NULL)
    return copy->runtime.api.run_with_binding(session, options, binding);
  const struct known *bound = ort_known_find(&ort_known_bindings, binding);
  struct run run = ort_run_begin(&copy->runtime, known, options, bound == NULL ? -1 : bound->batch);
  struct ort_status *status = copy->runtime.api.run_with_binding(session, run.given, binding);
  ort_run_end(&run);
  return status;
}

// On the runtime's thread that computed it.
static void async_ended(void *data, struct ort_value **outputs, size_t output_count, struct ort_status *status)
{
  struct ort_pending *pending = data;
  ort_async_callback callback = pending->callback;
  void *callback_data = pending->callback_data;
  ort_pending_end(pending);
  callback(callback_data, outputs, output_count, status);
}

struct ort_status *ort_sessions_run_later(struct copy *copy, struct ort_session *session,
                                          const struct ort_run_options *options, const struct feed *feed,
                                          ort_async_callback callback, void *data)
{
  const struct known *known = ort_known_find(&ort_known_sessions, session);
  struct ort_pending *pending = NULL;
  if (known != NULL && callback != NULL) {
    int64_t batch = feed->inputs != NULL && feed->input_count > 0 ? ort_sessions_batch_of(copy, feed->inputs[0]) : -1;
    pending = ort_pending_begin(&copy->runtime, known, options, batch);
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
    ort_pending_cancel(pending);
  return status;
}

// ---- devices ---------------------------------------------------------------------------------------------------------

struct ort_status *ort_sessions_list_devices(struct copy *copy, const struct ort_env *env,
                                             const struct ort_ep_device *const **ret_devices, size_t *ret_count)
{
  struct ort_status *status = copy->runtime.api.ep_devices(env, ret_devices, ret_count);
  const struct ort_ep_device **list = copy->devices;
  if (status != NULL || ret_devices == NULL || ret_count == NULL || *ret_count > DEVICES_MAXIMUM)
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
