// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime in Python. The extension module has a copy of the runtime of its own, which exports nothing; its classes
// are what Python programs go through, whichever wrapper they use. So the methods of C.InferenceSession that make and run
// sessions are replaced, the listener is registered into the module's copy, and what lists execution providers leaves
// ours out. The module's RunOptions are the C API's: their address, taken from the object, is given to its functions.
#include "tracers/frameworks/onnxruntime_python.h"

#include "tracers/frameworks/onnxruntime_runs.h"
#include "tracers/onnxruntime/listener.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

// One module a process: a second interpreter's is not traced. Written while the module is loaded, then only read.
static const struct python *python;
static struct ort_runtime runtime;
static bool layers_usable;      // the listener is registered
static void *profiled_options;  // a RunOptions of the module, for programs that give none
static void *run_options_class; // these are the module's
static void *value_class;

// ---- small steps -----------------------------------------------------------------------------------------------------

static void release(void *object)
{
  if (object != NULL)
    python->decref(object);
}

static void *argument(void *arguments, python_size index)
{
  return index < python->tuple_size(arguments) ? python->tuple_item(arguments, index) : NULL;
}

// The arguments with one replaced, or one more at the end.
static void *with_argument(void *arguments, python_size index, void *value)
{
  python_size size = python->tuple_size(arguments);
  void *changed = index > size ? NULL : python->new_tuple(index == size ? size + 1 : size);
  for (python_size i = 0; changed != NULL && i < size; i++) {
    void *item = i == index ? value : python->tuple_item(arguments, i);
    python->incref(item);
    python->set_tuple_item(changed, i, item);
  }
  if (changed != NULL && index == size) {
    python->incref(value);
    python->set_tuple_item(changed, size, value);
  }
  return changed;
}

static const char *text_of(void *object) // NULL: no text
{
  const char *text = object == NULL ? NULL : python->text(object);
  if (text == NULL)
    python->error_clear();
  return text;
}

static bool attribute_is_true(void *object, const char *name)
{
  void *value = python->get_attribute(object, name);
  bool is_true = value != NULL && python->is_true(value) > 0;
  release(value);
  python->error_clear();
  return is_true;
}

static bool method_is_true(void *object, const char *name)
{
  void *method = python->get_attribute(object, name);
  void *value = method == NULL ? NULL : python->call_object(method, NULL);
  bool is_true = value != NULL && python->is_true(value) > 0;
  release(method);
  release(value);
  python->error_clear();
  return is_true;
}

static int64_t first_of_sequence(void *sequence)
{
  void *first = python->sequence_item(sequence, 0);
  int64_t value = first == NULL ? -1 : python->int_value(first);
  release(first);
  python->error_clear();
  return value;
}

// The first dimension of an array or of the module's own value; -1: it does not say.
static int64_t batch_of(void *value)
{
  void *shape = python->get_attribute(value, "shape");
  if (shape != NULL && value_class != NULL && python->is_instance(value, value_class) > 0) {
    void *called = python->call_object(shape, NULL);
    release(shape);
    shape = called;
  }
  int64_t batch = shape == NULL ? -1 : first_of_sequence(shape);
  release(shape);
  python->error_clear();
  return batch;
}

static int64_t batch_of_feed(void *feed)
{
  python_size position = 0;
  void *key = NULL, *value = NULL;
  if (feed == NULL || python->dict_size(feed) < 1 || !python->dict_next(feed, &position, &key, &value)) {
    python->error_clear();
    return -1;
  }
  return batch_of(value);
}

// ---- sessions --------------------------------------------------------------------------------------------------------

// C.InferenceSession(options, path or bytes, is it a path, …)
static void *make_session(void *original, void *arguments, void *keywords)
{
  void *made = python->call(original, arguments, keywords);
  void *session = argument(arguments, 0), *options = argument(arguments, 1), *model = argument(arguments, 2);
  void *is_path = argument(arguments, 3);
  if (made == NULL || is_path == NULL)
    return made;
  struct known *known = known_add(&known_sessions, session);
  if (known == NULL)
    return made;
  const char *path = python->is_true(is_path) > 0 ? text_of(model) : NULL;
  known->site = path != NULL ? runs_site_of_file(path) : NULL;
  __atomic_store_n(&known->state, method_is_true(options, "has_providers") ? SESSION_NAMES_PROVIDERS : 0,
                   __ATOMIC_RELEASE);
  return made;
}

// The list of providers with ours before the one for CPUs, which takes what no other wants.
static python_size place_of_ours(void *names)
{
  python_size count = python->list_size(names), place = count;
  for (python_size i = 0; i < count && place == count; i++) {
    const char *name = text_of(python->list_item(names, i));
    if (name != NULL && strcmp(name, "CPUExecutionProvider") == 0)
      place = i;
  }
  return place;
}

// (session, names of providers, their options, …) with ours among them; NULL: as they are.
static void *with_listener(void *arguments, const struct known *known)
{
  void *names = argument(arguments, 1), *options = argument(arguments, 2);
  if (!layers_usable || options == NULL || !runs_layers_possible())
    return NULL;
  if (python->sequence_size(names) == 0 && (known->state & SESSION_NAMES_PROVIDERS)) {
    runs_say("a session whose options name its execution providers is recorded without its layers%s", "");
    return NULL;
  }
  void *new_names = python->new_list(names), *new_options = python->new_list(options);
  void *ours = python->new_text(ORT_LISTENER_NAME), *none = python->new_dict();
  void *changed = NULL;
  if (new_names != NULL && new_options != NULL && ours != NULL && none != NULL) {
    python_size place = place_of_ours(new_names);
    if (python->list_size(new_options) < place) // not one each: the runtime has something to say to that
      place = -1;
    if (place >= 0 && python->list_insert(new_names, place, ours) == 0 &&
        python->list_insert(new_options, place, none) == 0) {
      void *half = with_argument(arguments, 1, new_names);
      changed = half == NULL ? NULL : with_argument(half, 2, new_options);
      release(half);
    }
  }
  release(new_names);
  release(new_options);
  release(ours);
  release(none);
  python->error_clear();
  return changed;
}

// Is the error that is set about us? Then it is cleared.
static bool is_our_fault(void)
{
  void *type, *value, *traceback;
  python->error_fetch(&type, &value, &traceback);
  void *shown = value == NULL ? NULL : python->to_text(value);
  const char *text = text_of(shown);
  bool ours = text != NULL && strstr(text, ORT_LISTENER_NAME) != NULL;
  release(shown);
  python->error_clear();
  if (!ours) {
    python->error_restore(type, value, traceback);
    return false;
  }
  release(type);
  release(value);
  release(traceback);
  return true;
}

static void name_by_graph(void *session, struct known *known)
{
  void *metadata = python->get_attribute(session, "model_meta");
  void *name = metadata == NULL ? NULL : python->get_attribute(metadata, "graph_name");
  known->site = runs_site_of_name(text_of(name));
  release(metadata);
  release(name);
  python->error_clear();
}

static void *initialize_session(void *original, void *arguments, void *keywords)
{
  void *session = argument(arguments, 0);
  struct known *known = known_find(&known_sessions, session);
  if (known == NULL)
    return python->call(original, arguments, keywords);
  void *changed = with_listener(arguments, known);
  bool listens = changed != NULL;
  void *done = python->call(original, listens ? changed : arguments, keywords);
  release(changed);
  if (done == NULL && listens && is_our_fault()) {
    listens = false;
    done = python->call(original, arguments, keywords);
  }
  if (done == NULL)
    return NULL;
  if (known->site == NULL)
    name_by_graph(session, known);
  uint32_t state = (listens ? SESSION_LISTENS : 0) |
                   (attribute_is_true(session, "get_profiling_start_time_ns") ? SESSION_PROFILES_ITSELF : 0);
  __atomic_store_n(&known->state, state, __ATOMIC_RELEASE);
  return done;
}

static void *end_profiling(void *original, void *arguments, void *keywords)
{
  void *done = python->call(original, arguments, keywords);
  struct known *known = known_find(&known_sessions, argument(arguments, 0));
  if (done != NULL && known != NULL)
    __atomic_fetch_and(&known->state, ~(uint32_t)SESSION_PROFILES_ITSELF, __ATOMIC_RELAXED);
  return done;
}

// ---- inferences ------------------------------------------------------------------------------------------------------

// What an object of one of the module's classes holds, for classes that are held by their address alone.
static void *held_by(void *object)
{
  void *held;
  memcpy(&held, (const char *)object + python->object_size, sizeof held);
  return held;
}

// The options of an inference, as the C API has them. False: they are something else, or are given by keyword.
static bool options_of(void *given, const struct ort_run_options **ret_options)
{
  *ret_options = NULL;
  if (given == NULL || given == python->none)
    return true;
  if (!layers_usable || python->is_instance(given, run_options_class) <= 0) {
    python->error_clear();
    return false;
  }
  *ret_options = held_by(given);
  return *ret_options != NULL;
}

// The arguments for options that the runtime is to be given; NULL: as they are.
static void *with_options(void *arguments, python_size index, const struct ort_run_options *given)
{
  void *there = argument(arguments, index);
  if (given == NULL || given != runtime.profiled || (there != NULL && there != python->none))
    return NULL;
  void *changed = with_argument(arguments, index, profiled_options);
  python->error_clear();
  return changed;
}

static void *run_in_span(void *original, void *arguments, void *keywords, python_size options_index, int64_t batch)
{
  const struct known *known = known_find(&known_sessions, argument(arguments, 0));
  const struct ort_run_options *options;
  bool has_keywords = keywords != NULL && python->dict_size(keywords) > 0;
  if (known == NULL || known->site == NULL)
    return python->call(original, arguments, keywords);
  struct known without_layers = *known;
  if (has_keywords || !options_of(argument(arguments, options_index), &options)) {
    without_layers.state = 0;
    known = &without_layers;
    options = NULL;
  }
  struct run run = run_begin(&runtime, known, options, batch);
  void *changed = with_options(arguments, options_index, run.given);
  void *done = python->call(original, changed != NULL ? changed : arguments, keywords);
  run_end(&run);
  if (changed != NULL)
    python->decref(changed);
  return done;
}

static void *run(void *original, void *arguments, void *keywords) // (session, output names, feed, options)
{
  return run_in_span(original, arguments, keywords, 3, batch_of_feed(argument(arguments, 2)));
}

static void *run_with_values(void *original, void *arguments, void *keywords) // (session, feed, output names, options)
{
  return run_in_span(original, arguments, keywords, 3, batch_of_feed(argument(arguments, 1)));
}

static void *run_with_binding(void *original, void *arguments, void *keywords) // (session, binding, options)
{
  const struct known *binding = known_find(&known_bindings, argument(arguments, 1));
  return run_in_span(original, arguments, keywords, 2, binding == NULL ? -1 : binding->batch);
}

static void *run_with_vector(void *original, void *arguments, void *keywords) // (session, options, names, values, …)
{
  void *values = argument(arguments, 3);
  void *first = values == NULL ? NULL : python->sequence_item(values, 0);
  int64_t batch = first == NULL ? -1 : batch_of(first);
  release(first);
  python->error_clear();
  return run_in_span(original, arguments, keywords, 1, batch);
}

// The callback of an inference that ends elsewhere: (callback, address of what is pending) as `self`.
static void *async_ended(void *both, void *arguments, void *keywords)
{
  struct pending *pending = (struct pending *)(uintptr_t)python->int_value(python->tuple_item(both, 1));
  pending_end(pending);
  return python->call(python->tuple_item(both, 0), arguments, keywords);
}

static void *wrap_callback(void *callback, const struct pending *pending)
{
  static struct python_definition definition;
  void *both = python->new_tuple(2), *address = python->new_int((long)(uintptr_t)pending), *wrapped = NULL;
  if (both != NULL && address != NULL) {
    python->incref(callback);
    python->set_tuple_item(both, 0, callback);
    python->set_tuple_item(both, 1, address); // takes it
    address = NULL;
    wrapped = python_function(python, &definition, "callback", async_ended, both);
  }
  release(both);
  release(address);
  python->error_clear();
  return wrapped;
}

static void *run_async(void *original, void *arguments,
                       void *keywords) // (session, names, feed, callback, data, options)
{
  const struct known *known = known_find(&known_sessions, argument(arguments, 0));
  const struct ort_run_options *options;
  bool has_keywords = keywords != NULL && python->dict_size(keywords) > 0;
  void *callback = argument(arguments, 3);
  if (known == NULL || known->site == NULL || callback == NULL || has_keywords ||
      !options_of(argument(arguments, 5), &options))
    return python->call(original, arguments, keywords);
  struct pending *pending = pending_begin(&runtime, known, options, batch_of_feed(argument(arguments, 2)));
  void *wrapped = pending == NULL ? NULL : wrap_callback(callback, pending);
  void *with_callback = wrapped == NULL ? NULL : with_argument(arguments, 3, wrapped);
  release(wrapped);
  if (with_callback == NULL) {
    python->error_clear();
    if (pending != NULL)
      pending_cancel(pending);
    return python->call(original, arguments, keywords);
  }
  void *changed = with_options(with_callback, 5, pending->given);
  void *done = python->call(original, changed != NULL ? changed : with_callback, keywords);
  if (done == NULL)
    pending_cancel(pending);
  release(changed);
  release(with_callback);
  return done;
}

// ---- bindings and options --------------------------------------------------------------------------------------------

// An object at an address where another one was.
static void *make_binding(void *original, void *arguments, void *keywords)
{
  known_remove(&known_bindings, argument(arguments, 0));
  return python->call(original, arguments, keywords);
}

static void *make_run_options(void *original, void *arguments, void *keywords)
{
  void *done = python->call(original, arguments, keywords);
  void *made = argument(arguments, 0);
  if (done != NULL && made != NULL && layers_usable && held_by(made) != NULL)
    known_remove(&known_options, held_by(made));
  return done;
}

// (binding, name, array or value) or (binding, name, device, type, shape, address)
static void *bind_input(void *original, void *arguments, void *keywords)
{
  void *shape = argument(arguments, 4), *value = argument(arguments, 2);
  int64_t batch = shape != NULL ? first_of_sequence(shape) : value != NULL ? batch_of(value) : -1;
  const char *name = text_of(argument(arguments, 1));
  void *done = python->call(original, arguments, keywords);
  if (done != NULL && name != NULL)
    binding_note(argument(arguments, 0), name, batch);
  return done;
}

// ---- what would show that we are here --------------------------------------------------------------------------------

static void *without_name(void *original, void *arguments, void *keywords) // a list of names
{
  void *names = python->call(original, arguments, keywords);
  for (python_size i = names == NULL ? 0 : python->sequence_size(names); i-- > 0;) {
    void *item = python->sequence_item(names, i);
    const char *name = text_of(item);
    if (name != NULL && strcmp(name, ORT_LISTENER_NAME) == 0)
      python->delete_item(names, i);
    release(item);
  }
  if (names != NULL)
    python->error_clear();
  return names;
}

static void *without_key(void *original, void *arguments, void *keywords) // names and their options
{
  void *options = python->call(original, arguments, keywords);
  if (options != NULL) {
    python->delete_dict_item(options, ORT_LISTENER_NAME);
    python->error_clear();
  }
  return options;
}

static void *without_device(void *original, void *arguments, void *keywords) // a list of devices
{
  void *devices = python->call(original, arguments, keywords);
  for (python_size i = devices == NULL ? 0 : python->sequence_size(devices); i-- > 0;) {
    void *item = python->sequence_item(devices, i);
    void *name = item == NULL ? NULL : python->get_attribute(item, "ep_name");
    const char *text = text_of(name);
    if (text != NULL && strcmp(text, ORT_LISTENER_NAME) == 0)
      python->delete_item(devices, i);
    release(name);
    release(item);
  }
  if (devices != NULL)
    python->error_clear();
  return devices;
}

// ---- the module ------------------------------------------------------------------------------------------------------

// Whether an object of RunOptions holds the address of what the C API calls so: two numbers are written through the
// object and read at the address. Read by the kernel, which says so where there is nothing.
static bool holds_run_options(void *options)
{
  const int severity = 0x5e71, verbosity = 0x1ab3;
  void *numbers[] = {python->new_int(severity), python->new_int(verbosity)};
  int there[2] = {0, 0}, ends[2];
  bool holds = false;
  if (numbers[0] != NULL && numbers[1] != NULL && pipe2(ends, O_CLOEXEC) == 0) {
    holds = python->set_attribute(options, "log_severity_level", numbers[0]) == 0 &&
            python->set_attribute(options, "log_verbosity_level", numbers[1]) == 0 &&
            write(ends[1], held_by(options), sizeof there) == sizeof there &&
            read(ends[0], there, sizeof there) == sizeof there && there[0] == severity && there[1] == verbosity;
    close(ends[0]);
    close(ends[1]);
  }
  release(numbers[0]);
  release(numbers[1]);
  python->error_clear();
  return holds;
}

static void *call_with_texts(void *module, const char *name, const char *first, const char *second)
{
  void *function = python->get_attribute(module, name), *arguments = python->new_tuple(2), *done = NULL;
  if (function != NULL && arguments != NULL) {
    python->set_tuple_item(arguments, 0, python->new_text(first));
    python->set_tuple_item(arguments, 1, python->new_text(second));
    done = python->call_object(function, arguments);
  }
  release(function);
  release(arguments);
  python->error_clear();
  return done;
}

// The listener into the module's own copy of the runtime, whose functions it is then told.
static bool register_listener(void *module)
{
  const struct ort_listener *listener = runs_listener();
  if (listener == NULL)
    return false;
  void *done =
      call_with_texts(module, "register_execution_provider_library", RUNS_REGISTRATION_NAME, runs_listener_path());
  if (done == NULL)
    return false;
  release(done);
  const struct ort_api_base *base = listener->last_registered();
  return base != NULL && runs_load(&runtime, base) && runtime.version >= ORT_API_LISTENER;
}

static bool prepare_layers(void *module)
{
  if (!register_listener(module)) {
    void *function = python->get_attribute(module, "get_version_string");
    void *version = function == NULL ? NULL : python->call_object(function, NULL);
    const char *text = text_of(version);
    python->error_clear();
    runs_say("ONNX Runtime %s in Python calls no listener (1.25 or later does): its models are recorded, its layers "
             "are not",
             text == NULL ? "of unknown version" : text);
    release(function);
    release(version);
    return false;
  }
  run_options_class = python->get_attribute(module, "RunOptions");
  value_class = python->get_attribute(module, "OrtValue");
  void *probe = run_options_class == NULL ? NULL : python->call_object(run_options_class, NULL);
  bool holds = probe != NULL && holds_run_options(probe);
  release(probe);
  profiled_options = holds ? python->call_object(run_options_class, NULL) : NULL;
  python->error_clear();
  if (profiled_options == NULL || !runs_profile(&runtime, held_by(profiled_options))) {
    runs_say("options of a run are not as expected in Python's ONNX Runtime %s: layers are not recorded",
             runtime.base->version_string());
    return false;
  }
  return true;
}

void onnxruntime_python_loaded(const struct python *interpreter, void *module)
{
  if (python != NULL)
    return;
  python = interpreter;
  static const struct {
    const char *class_name, *name;
    python_wrapper wrapper;
  } wrapped[] = {
      {"InferenceSession", "__init__", make_session},
      {"InferenceSession", "initialize_session", initialize_session},
      {"InferenceSession", "end_profiling", end_profiling},
      {"InferenceSession", "run", run},
      {"InferenceSession", "run_async", run_async},
      {"InferenceSession", "run_with_ort_values", run_with_values},
      {"InferenceSession", "run_with_iobinding", run_with_binding},
      {"InferenceSession", "run_with_ortvaluevector", run_with_vector},
      {"InferenceSession", "get_providers", without_name},
      {"InferenceSession", "get_provider_options", without_key},
      {"SessionIOBinding", "__init__", make_binding},
      {"SessionIOBinding", "bind_input", bind_input},
      {"SessionIOBinding", "bind_ortvalue_input", bind_input},
      {"RunOptions", "__init__", make_run_options},
      {NULL, "get_available_providers", without_name},
      {NULL, "get_ep_devices", without_device},
  };
  layers_usable = runs_layers_possible() && prepare_layers(module);
  for (size_t i = 0; i < sizeof wrapped / sizeof wrapped[0]; i++) {
    void *owner = wrapped[i].class_name == NULL ? module : python->get_attribute(module, wrapped[i].class_name);
    if (owner != NULL)
      python_wrap(python, owner, wrapped[i].name, owner != module, wrapped[i].wrapper);
    if (owner != module)
      release(owner);
    python->error_clear();
  }
}
