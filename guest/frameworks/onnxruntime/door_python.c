// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime in Python. The extension module has a copy of the runtime of its own, which exports nothing; its classes
// are what Python programs go through, whichever wrapper they use. So the methods of C.InferenceSession that make and run
// sessions are replaced, the listener is registered into the module's copy, and what lists execution providers leaves
// ours out. The module's RunOptions are the C API's: their address, taken from the object, is given to its functions.

#include "frameworks/onnxruntime/door_objects.h"
#include "frameworks/onnxruntime/hooks.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

// ---- sessions --------------------------------------------------------------------------------------------------------

static bool take_truth(void *value)
{
  bool is_true = value != NULL && ort_module.python->is_true(value) > 0;
  ort_object_release(value);
  ort_module.python->error_clear();
  return is_true;
}

// What object.name() gives, NULL where it fails; for the caller to release. An error is left set.
static void *call_method(void *object, const char *name)
{
  void *method = ort_module.python->get_attribute(object, name);
  void *value = method == NULL ? NULL : ort_module.python->call_object(method, NULL);
  ort_object_release(method);
  return value;
}

// The program names execution providers in its options, instead of in a list for each session.
static void *name_providers(void *original, void *arguments, void *keywords)
{
  void *done = ort_module.python->call(original, arguments, keywords);
  void *options = ort_passed(arguments, 0);
  if (done != NULL && ort_known_find(&ort_known_session_options, options) == NULL)
    ort_object_know(SESSION_OPTIONS, options, options);
  return done;
}

// Adds ours to such options, once. The program cannot see it there. Not to options with a policy of selection, which
// take no names.
static bool options_listen(void *options)
{
  struct known *known = ort_known_find(&ort_known_session_options, options);
  if (known == NULL || !ort_module.layers_usable || ort_module.listener_devices == NULL || !ort_runs_layers_possible())
    return false;
  if (known->state == 0) {
    void *added = ort_module.python->new_tuple(3), *done = NULL, *none = ort_module.python->new_dict();
    if (added != NULL && none != NULL) {
      void *items[] = {options, ort_module.listener_devices, none};
      for (python_size i = 0; i < 3; i++) {
        ort_module.python->incref(items[i]);
        ort_module.python->set_tuple_item(added, i, items[i]);
      }
      done = ort_module.python->call_object(ort_module.add_provider, added);
    }
    known->state = done != NULL ? 2 : 1;
    ort_object_release(added);
    ort_object_release(none);
    ort_object_release(done);
    ort_module.python->error_clear();
  }
  return known->state == 2;
}

static uint32_t providers_of(void *options)
{
  if (!take_truth(call_method(options, "has_providers")))
    return 0;
  return SESSION_NAMES_PROVIDERS | (options_listen(options) ? SESSION_OPTIONS_LISTEN : 0);
}

// C.InferenceSession(options, path or bytes, is it a path, …)
static void *make_session(void *original, void *arguments, void *keywords)
{
  uint64_t asked = xsp_clock_ticks();
  uint32_t state = ort_passed(arguments, 1) == NULL ? 0 : providers_of(ort_passed(arguments, 1));
  void *made = ort_module.python->call(original, arguments, keywords);
  void *session = ort_passed(arguments, 0), *model = ort_passed(arguments, 2), *is_path = ort_passed(arguments, 3);
  if (made == NULL || is_path == NULL)
    return made;
  struct known *known = ort_object_know(SESSIONS, session, session);
  if (known == NULL)
    return made;
  const char *path = ort_module.python->is_true(is_path) > 0 ? ort_text_of(model) : NULL;
  known->site = path != NULL ? ort_runs_site_of_file(path) : NULL;
  known->asked = asked;
  __atomic_store_n(&known->state, state, __ATOMIC_RELEASE);
  return made;
}

// The list of providers with ours before the one for CPUs, which takes what no other wants.
static python_size place_of_ours(void *names)
{
  python_size count = ort_module.python->list_size(names), place = count;
  for (python_size i = 0; i < count && place == count; i++) {
    const char *name = ort_text_of(ort_module.python->list_item(names, i));
    if (name != NULL && strcmp(name, "CPUExecutionProvider") == 0)
      place = i;
  }
  return place;
}

// (session, names of providers, their options, …) with ours among them; NULL: as they are.
static void *with_listener(void *arguments, const struct known *known)
{
  void *names = ort_passed(arguments, 1), *options = ort_passed(arguments, 2);
  if (!ort_module.layers_usable || options == NULL || !ort_runs_layers_possible())
    return NULL;
  if (ort_module.python->sequence_size(names) == 0 && (known->state & SESSION_NAMES_PROVIDERS)) {
    if (!(known->state & SESSION_OPTIONS_LISTEN))
      ort_runs_say("a session whose execution providers are chosen by a policy is recorded without its layers%s", "");
    return NULL;
  }
  void *new_names = ort_module.python->new_list(names), *new_options = ort_module.python->new_list(options);
  void *ours = ort_module.python->new_text(ORT_LISTENER_NAME), *none = ort_module.python->new_dict();
  void *changed = NULL;
  if (new_names != NULL && new_options != NULL && ours != NULL && none != NULL) {
    python_size place = place_of_ours(new_names);
    if (ort_module.python->list_size(new_options) < place) // not one each: the runtime reports the error
      place = -1;
    if (place >= 0 && ort_module.python->list_insert(new_names, place, ours) == 0 &&
        ort_module.python->list_insert(new_options, place, none) == 0) {
      void *half = ort_arguments_with(arguments, 1, new_names);
      changed = half == NULL ? NULL : ort_arguments_with(half, 2, new_options);
      ort_object_release(half);
    }
  }
  ort_object_release(new_names);
  ort_object_release(new_options);
  ort_object_release(ours);
  ort_object_release(none);
  ort_module.python->error_clear();
  return changed;
}

// Is the error that is set about us? Then it is cleared.
static bool is_our_fault(void)
{
  void *type, *value, *traceback;
  ort_module.python->error_fetch(&type, &value, &traceback);
  void *shown = value == NULL ? NULL : ort_module.python->to_text(value);
  const char *text = ort_text_of(shown);
  bool ours = text != NULL && strstr(text, ORT_LISTENER_NAME) != NULL;
  ort_object_release(shown);
  ort_module.python->error_clear();
  if (!ours) {
    ort_module.python->error_restore(type, value, traceback);
    return false;
  }
  ort_object_release(type);
  ort_object_release(value);
  ort_object_release(traceback);
  return true;
}

static void name_by_graph(void *session, struct known *known)
{
  void *metadata = ort_module.python->get_attribute(session, "model_meta");
  void *name = metadata == NULL ? NULL : ort_module.python->get_attribute(metadata, "graph_name");
  known->site = ort_runs_site_of_name(ort_text_of(name));
  ort_object_release(metadata);
  ort_object_release(name);
  ort_module.python->error_clear();
}

static void *initialize_session(void *original, void *arguments, void *keywords)
{
  void *session = ort_passed(arguments, 0);
  struct known *known = ort_known_find(&ort_known_sessions, session);
  if (known == NULL)
    return ort_module.python->call(original, arguments, keywords);
  void *changed = with_listener(arguments, known);
  bool listens = changed != NULL;
  void *done = ort_module.python->call(original, listens ? changed : arguments, keywords);
  ort_object_release(changed);
  if (done == NULL && listens && is_our_fault()) {
    listens = false;
    done = ort_module.python->call(original, arguments, keywords);
  }
  if (done == NULL)
    return NULL;
  if (known->site == NULL)
    name_by_graph(session, known);
  ort_creation_ends(known->asked, known->site);
  if (ort_module.python->sequence_size(ort_passed(arguments, 1)) == 0 && (known->state & SESSION_OPTIONS_LISTEN))
    listens = true;
  uint32_t state =
      (listens ? SESSION_LISTENS : 0) |
      (take_truth(ort_module.python->get_attribute(session, "get_profiling_start_time_ns")) ? SESSION_PROFILES_ITSELF
                                                                                            : 0);
  __atomic_store_n(&known->state, state, __ATOMIC_RELEASE);
  return done;
}

static void *end_profiling(void *original, void *arguments, void *keywords)
{
  void *done = ort_module.python->call(original, arguments, keywords);
  struct known *known = ort_known_find(&ort_known_sessions, ort_passed(arguments, 0));
  if (done != NULL && known != NULL)
    __atomic_fetch_and(&known->state, ~(uint32_t)SESSION_PROFILES_ITSELF, __ATOMIC_RELAXED);
  return done;
}

// ---- the module ------------------------------------------------------------------------------------------------------

// Whether an object of RunOptions holds the address of what the C API calls so: two numbers are written through the
// object and read at the address. The kernel reads it, and reports an address that is not mapped.
static bool holds_run_options(void *options)
{
  const int severity = 0x5e71, verbosity = 0x1ab3;
  void *numbers[] = {ort_module.python->new_int(severity), ort_module.python->new_int(verbosity)};
  int there[2] = {0, 0}, ends[2];
  bool holds = false;
  if (numbers[0] != NULL && numbers[1] != NULL && pipe2(ends, O_CLOEXEC) == 0) {
    holds = ort_module.python->set_attribute(options, "log_severity_level", numbers[0]) == 0 &&
            ort_module.python->set_attribute(options, "log_verbosity_level", numbers[1]) == 0 &&
            write(ends[1], ort_object_held_by(options), sizeof there) == sizeof there &&
            read(ends[0], there, sizeof there) == sizeof there && there[0] == severity && there[1] == verbosity;
    close(ends[0]);
    close(ends[1]);
  }
  ort_object_release(numbers[0]);
  ort_object_release(numbers[1]);
  ort_module.python->error_clear();
  return holds;
}

static void *call_with_texts(void *module, const char *name, const char *first, const char *second)
{
  void *function = ort_module.python->get_attribute(module, name), *arguments = ort_module.python->new_tuple(2),
       *done = NULL;
  if (function != NULL && arguments != NULL) {
    ort_module.python->set_tuple_item(arguments, 0, ort_module.python->new_text(first));
    ort_module.python->set_tuple_item(arguments, 1, ort_module.python->new_text(second));
    done = ort_module.python->call_object(function, arguments);
  }
  ort_object_release(function);
  ort_object_release(arguments);
  ort_module.python->error_clear();
  return done;
}

// Registers the listener in the module's own copy of the runtime.
static bool register_listener(void *module)
{
  const struct ort_listener *listener = ort_runs_listener();
  if (listener == NULL)
    return false;
  void *done =
      call_with_texts(module, "register_execution_provider_library", RUNS_REGISTRATION_NAME, ort_runs_listener_path());
  if (done == NULL)
    return false;
  ort_object_release(done);
  const struct ort_api_base *base = listener->last_registered();
  return base != NULL && ort_runs_load(&ort_module.runtime, base) && ort_module.runtime.version >= ORT_API_LISTENER;
}

// For options that name their providers themselves.
static void find_listener(void *module)
{
  void *devices = call_method(module, "get_ep_devices");
  void *ours = devices == NULL ? NULL : ort_module.python->new_list(devices);
  for (python_size i = ours == NULL ? 0 : ort_module.python->list_size(ours); i-- > 0;)
    if (!ort_is_listener(ort_module.python->list_item(ours, i)))
      ort_module.python->delete_item(ours, i);
  void *options_class = ort_module.python->get_attribute(module, "SessionOptions");
  ort_module.add_provider =
      options_class == NULL ? NULL : ort_module.python->get_attribute(options_class, "add_provider_for_devices");
  if (ours != NULL && (ort_module.add_provider == NULL || ort_module.python->list_size(ours) != 1)) {
    ort_object_release(ours);
    ours = NULL;
  }
  ort_module.listener_devices = ours;
  ort_object_release(devices);
  ort_object_release(options_class);
  ort_module.python->error_clear();
}

static bool prepare_layers(void *module)
{
  if (!register_listener(module)) {
    void *version = call_method(module, "get_version_string");
    const char *text = ort_text_of(version);
    ort_module.python->error_clear();
    ort_runs_say(
        "ONNX Runtime %s in Python calls no listener (1.25 or later does): its models are recorded, its layers "
        "are not",
        text == NULL ? "of unknown version" : text);
    ort_object_release(version);
    return false;
  }
  ort_module.run_options_class = ort_module.python->get_attribute(module, "RunOptions");
  ort_module.value_class = ort_module.python->get_attribute(module, "OrtValue");
  void *probe =
      ort_module.run_options_class == NULL ? NULL : ort_module.python->call_object(ort_module.run_options_class, NULL);
  bool holds = probe != NULL && holds_run_options(probe);
  ort_object_release(probe);
  ort_module.profiled_options = holds ? ort_module.python->call_object(ort_module.run_options_class, NULL) : NULL;
  ort_module.python->error_clear();
  if (ort_module.profiled_options == NULL ||
      !ort_runs_profile(&ort_module.runtime, ort_object_held_by(ort_module.profiled_options))) {
    ort_runs_say("options of a run are not as expected in Python's ONNX Runtime %s: layers are not recorded",
                 ort_module.runtime.base->version_string());
    return false;
  }
  find_listener(module);
  return true;
}

void onnxruntime_python_loaded(const struct python *interpreter, void *module)
{
  if (ort_module.python != NULL)
    return;
  ort_module.python = interpreter;
  static const struct {
    const char *class_name, *name;
    python_wrapper wrapper;
  } wrapped[] = {
      {"InferenceSession", "__init__", make_session},
      {"InferenceSession", "initialize_session", initialize_session},
      {"InferenceSession", "end_profiling", end_profiling},
      {"InferenceSession", "run", ort_run_feed_in_span},
      {"InferenceSession", "run_async", ort_run_async_in_span},
      {"InferenceSession", "run_with_ort_values", ort_run_values_in_span},
      {"InferenceSession", "run_with_iobinding", ort_run_binding_in_span},
      {"InferenceSession", "run_with_ortvaluevector", ort_run_vector_in_span},
      {"InferenceSession", "get_providers", ort_without_name},
      {"InferenceSession", "get_provider_options", ort_without_key},
      {"SessionOptions", "add_provider", name_providers},
      {"SessionOptions", "add_provider_for_devices", name_providers},
      {"SessionIOBinding", "__init__", ort_make_binding},
      {"SessionIOBinding", "bind_input", ort_bind_input},
      {"SessionIOBinding", "bind_ortvalue_input", ort_bind_input},
      {"RunOptions", "__init__", ort_make_run_options},
      {NULL, "get_available_providers", ort_without_name},
      {NULL, "get_ep_devices", ort_without_device},
  };
  ort_module.layers_usable = ort_runs_layers_possible() && prepare_layers(module);
  for (size_t i = 0; i < sizeof wrapped / sizeof wrapped[0]; i++) {
    void *owner =
        wrapped[i].class_name == NULL ? module : ort_module.python->get_attribute(module, wrapped[i].class_name);
    if (owner != NULL)
      framework_python_wrap(ort_module.python, owner, wrapped[i].name, owner != module, wrapped[i].wrapper);
    if (owner != module)
      ort_object_release(owner);
    ort_module.python->error_clear();
  }
}
