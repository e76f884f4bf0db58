// SPDX-License-Identifier: Apache-2.0
// Inferences of Python programs: a model span around each, with the runtime's profiling where layers are recorded; and the
// bindings and options that they are given. Called by the interpreter in place of the module's own methods.
#include "frameworks/onnxruntime/door_objects.h"

static int64_t batch_of_feed(void *feed)
{
  python_size position = 0;
  void *key = NULL, *value = NULL;
  if (feed == NULL || ort_module.python->dict_size(feed) < 1 ||
      !ort_module.python->dict_next(feed, &position, &key, &value)) {
    ort_module.python->error_clear();
    return -1;
  }
  return ort_batch_of(value);
}

// ---- inferences ------------------------------------------------------------------------------------------------------

// The options of an inference, as the C API has them. False: they are something else, or are given by keyword.
static bool options_of(void *given, const struct ort_run_options **ret_options)
{
  *ret_options = NULL;
  if (given == NULL || given == ort_module.python->none)
    return true;
  if (!ort_module.layers_usable || ort_module.python->is_instance(given, ort_module.run_options_class) <= 0) {
    ort_module.python->error_clear();
    return false;
  }
  *ret_options = ort_object_held_by(given);
  return *ret_options != NULL;
}

// The arguments for options that the runtime is to be given; NULL: as they are.
static void *with_options(void *arguments, python_size index, const struct ort_run_options *given)
{
  void *there = ort_passed(arguments, index);
  if (given == NULL || given != ort_module.runtime.profiled || there != ort_module.python->none)
    return NULL;
  void *changed = ort_arguments_with(arguments, index, ort_module.profiled_options);
  ort_module.python->error_clear();
  return changed;
}

// With `changed` arguments (NULL: as they are). Arguments that the method does not take are shown in its error: then those
// of the program are given, nothing having run.
static void *call_changed(void *original, void *changed, void *arguments, void *keywords)
{
  const struct python *python = ort_module.python;
  void *done = python->call(original, changed != NULL ? changed : arguments, keywords);
  if (done != NULL || changed == NULL || !python->error_matches(python->type_error))
    return done;
  python->error_clear();
  return python->call(original, arguments, keywords);
}

// `feed`: of a dictionary, else NULL.
static void *run_in_span(void *original, void *arguments, void *keywords, python_size options_index, int64_t batch,
                         void *feed)
{
  char signature[512];
  const struct known *known = ort_known_find(&ort_known_sessions, ort_passed(arguments, 0));
  const struct ort_run_options *options;
  bool has_keywords = keywords != NULL && ort_module.python->dict_size(keywords) > 0;
  if (known == NULL || known->site == NULL)
    return ort_module.python->call(original, arguments, keywords);
  struct known without_layers = *known;
  if (has_keywords || !options_of(ort_passed(arguments, options_index), &options)) {
    without_layers.state = 0;
    known = &without_layers;
    options = NULL;
  }
  struct padding padding = {0};
  bool has_signature = feed != NULL && ort_signature_of_feed(feed, signature, sizeof signature, &padding);
  struct run run = ort_run_begin(&ort_module.runtime, known, options, batch);
  if (has_signature)
    xsp_span_tag_string(&run.span, "signature", signature);
  padding_tag(&run.span, &padding);
  void *changed = with_options(arguments, options_index, run.given);
  void *done = call_changed(original, changed, arguments, keywords);
  ort_run_end(&run);
  if (changed != NULL)
    ort_module.python->decref(changed);
  return done;
}

void *ort_run_feed_in_span(void *original, void *arguments, void *keywords) // (session, output names, feed, options)
{
  void *feed = ort_passed(arguments, 2);
  return run_in_span(original, arguments, keywords, 3, batch_of_feed(feed), feed);
}

void *ort_run_values_in_span(void *original, void *arguments, void *keywords) // (session, feed, output names, options)
{
  void *feed = ort_passed(arguments, 1);
  return run_in_span(original, arguments, keywords, 3, batch_of_feed(feed), feed);
}

void *ort_run_binding_in_span(void *original, void *arguments, void *keywords) // (session, binding, options)
{
  const struct known *binding = ort_known_find(&ort_known_bindings, ort_passed(arguments, 1));
  return run_in_span(original, arguments, keywords, 2, binding == NULL ? -1 : binding->batch, NULL);
}

void *ort_run_vector_in_span(void *original, void *arguments, void *keywords) // (session, options, names, values, …)
{
  void *values = ort_passed(arguments, 3);
  void *first = values == NULL ? NULL : ort_module.python->sequence_item(values, 0);
  int64_t batch = first == NULL ? -1 : ort_batch_of(first);
  ort_object_release(first);
  ort_module.python->error_clear();
  return run_in_span(original, arguments, keywords, 1, batch, NULL);
}

// The callback of an inference that ends elsewhere: (callback, address of what is pending) as `self`.
static void *async_ended(void *both, void *arguments, void *keywords)
{
  struct ort_pending *pending =
      (struct ort_pending *)(uintptr_t)ort_module.python->int_value(ort_module.python->tuple_item(both, 1));
  ort_pending_end(pending);
  return ort_module.python->call(ort_module.python->tuple_item(both, 0), arguments, keywords);
}

static void *wrap_callback(void *callback, const struct ort_pending *pending)
{
  static struct python_definition definition;
  void *both = ort_module.python->new_tuple(2), *address = ort_module.python->new_int((long)(uintptr_t)pending),
       *wrapped = NULL;
  if (both != NULL && address != NULL) {
    ort_module.python->incref(callback);
    ort_module.python->set_tuple_item(both, 0, callback);
    ort_module.python->set_tuple_item(both, 1, address); // takes it
    address = NULL;
    wrapped = framework_python_function(ort_module.python, &definition, "callback", async_ended, both);
  }
  ort_object_release(both);
  ort_object_release(address);
  ort_module.python->error_clear();
  return wrapped;
}

void *ort_run_async_in_span(void *original, void *arguments,
                            void *keywords) // (session, names, feed, callback, data, options)
{
  const struct known *known = ort_known_find(&ort_known_sessions, ort_passed(arguments, 0));
  const struct ort_run_options *options;
  bool has_keywords = keywords != NULL && ort_module.python->dict_size(keywords) > 0;
  void *callback = ort_passed(arguments, 3);
  if (known == NULL || known->site == NULL || callback == NULL || callback == ort_module.python->none || has_keywords ||
      !options_of(ort_passed(arguments, 5), &options))
    return ort_module.python->call(original, arguments, keywords);
  struct ort_pending *pending =
      ort_pending_begin(&ort_module.runtime, known, options, batch_of_feed(ort_passed(arguments, 2)));
  void *wrapped = pending == NULL ? NULL : wrap_callback(callback, pending);
  void *with_callback = wrapped == NULL ? NULL : ort_arguments_with(arguments, 3, wrapped);
  ort_object_release(wrapped);
  if (with_callback == NULL) {
    ort_module.python->error_clear();
    if (pending != NULL)
      ort_pending_cancel(pending);
    return ort_module.python->call(original, arguments, keywords);
  }
  void *changed = with_options(with_callback, 5, pending->given);
  void *done = call_changed(original, changed != NULL ? changed : with_callback, arguments, keywords);
  if (done == NULL)
    ort_pending_cancel(pending);
  ort_object_release(changed);
  ort_object_release(with_callback);
  return done;
}

// ---- bindings and options --------------------------------------------------------------------------------------------

void *ort_make_binding(void *original, void *arguments, void *keywords)
{
  void *done = ort_module.python->call(original, arguments, keywords);
  if (done != NULL && ort_passed(arguments, 0) != NULL)
    ort_object_know(BINDINGS, ort_passed(arguments, 0), ort_passed(arguments, 0));
  return done;
}

void *ort_make_run_options(void *original, void *arguments, void *keywords)
{
  void *done = ort_module.python->call(original, arguments, keywords);
  void *made = ort_passed(arguments, 0);
  if (done != NULL && made != NULL && ort_module.layers_usable && ort_object_held_by(made) != NULL)
    ort_object_know(OPTIONS, made, ort_object_held_by(made));
  return done;
}

// (binding, name, array or value) or (binding, name, device, type, shape, address)
void *ort_bind_input(void *original, void *arguments, void *keywords)
{
  void *shape = ort_passed(arguments, 4), *value = ort_passed(arguments, 2);
  int64_t batch = shape != NULL ? ort_first_of_sequence(shape) : value != NULL ? ort_batch_of(value) : -1;
  const char *name = ort_text_of(ort_passed(arguments, 1));
  void *done = ort_module.python->call(original, arguments, keywords);
  if (done != NULL && name != NULL)
    ort_binding_note(ort_passed(arguments, 0), name, batch);
  return done;
}
