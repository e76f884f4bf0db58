// SPDX-License-Identifier: Apache-2.0
// Small steps with objects of ONNX Runtime's Python module, and what is known of them by their address.
#include "frameworks/onnxruntime/door_objects.h"

#include <string.h>

struct ort_module ort_module;

// ---- small steps -----------------------------------------------------------------------------------------------------

void ort_object_release(void *object)
{
  if (object != NULL)
    ort_module.python->decref(object);
}

void *ort_passed(void *arguments, python_size index)
{
  return index < ort_module.python->tuple_size(arguments) ? ort_module.python->tuple_item(arguments, index) : NULL;
}

void *ort_arguments_with(void *arguments, python_size index, void *value)
{
  const struct python *python = ort_module.python;
  python_size size = python->tuple_size(arguments);
  void *changed = index < size ? python->new_tuple(size) : NULL;
  for (python_size i = 0; changed != NULL && i < size; i++) {
    void *item = i == index ? value : python->tuple_item(arguments, i);
    python->incref(item);
    python->set_tuple_item(changed, i, item);
  }
  return changed;
}

const char *ort_text_of(void *object) // NULL: no text
{
  const char *text = object == NULL ? NULL : ort_module.python->text(object);
  if (text == NULL)
    ort_module.python->error_clear();
  return text;
}

int64_t ort_first_of_sequence(void *sequence)
{
  void *first = ort_module.python->sequence_item(sequence, 0);
  int64_t value = first == NULL ? -1 : ort_module.python->int_value(first);
  ort_object_release(first);
  ort_module.python->error_clear();
  return value;
}

// The first dimension of an array or of the module's own value; -1: unknown.
int64_t ort_batch_of(void *value)
{
  void *shape = ort_module.python->get_attribute(value, "shape");
  if (shape != NULL && ort_module.value_class != NULL &&
      ort_module.python->is_instance(value, ort_module.value_class) > 0) {
    void *called = ort_module.python->call_object(shape, NULL);
    ort_object_release(shape);
    shape = called;
  }
  int64_t batch = shape == NULL ? -1 : ort_first_of_sequence(shape);
  ort_object_release(shape);
  ort_module.python->error_clear();
  return batch;
}

// ---- objects by their address ----------------------------------------------------------------------------------------

static struct known_table *const guarded[] = {&ort_known_sessions, &ort_known_bindings, &ort_known_options,
                                              &ort_known_session_options};

// The end of an object: its address may be another's from now on.
static void *object_ended(void *table_and_key, void *arguments, void *keywords)
{
  struct known_table *table = guarded[ort_module.python->int_value(ort_module.python->tuple_item(table_and_key, 0))];
  const void *key =
      (const void *)(uintptr_t)ort_module.python->int_value(ort_module.python->tuple_item(table_and_key, 1));
  struct known *known = ort_known_find(table, key);
  if (known != NULL && known->guard != NULL && known->guard == ort_passed(arguments, 0)) {
    void *guard = known->guard;
    ort_known_remove(table, key);
    ort_module.python->decref(guard);
  }
  ort_module.python->incref(ort_module.python->none);
  return ort_module.python->none;
}

// What is known of `key`, as new, until `object` ends. NULL: nothing can be.
struct known *ort_object_know(enum known_kind kind, void *object, const void *key)
{
  static struct python_definition definition;
  struct known *known = ort_known_add(guarded[kind], key);
  void *both = known == NULL ? NULL : ort_module.python->new_tuple(2), *callback = NULL;
  if (both != NULL) {
    ort_module.python->set_tuple_item(both, 0, ort_module.python->new_int((long)kind));
    ort_module.python->set_tuple_item(both, 1, ort_module.python->new_int((long)(uintptr_t)key));
    callback = framework_python_function(ort_module.python, &definition, "ended", object_ended, both);
  }
  if (callback != NULL)
    known->guard = ort_module.python->new_weak_reference(object, callback);
  ort_object_release(both);
  ort_object_release(callback);
  ort_module.python->error_clear();
  return known;
}

// What an object of one of the module's classes holds, for classes that are held by their address alone.
void *ort_object_held_by(void *object)
{
  void *held;
  memcpy(&held, (const char *)object + ort_module.python->object_size, sizeof held);
  return held;
}
