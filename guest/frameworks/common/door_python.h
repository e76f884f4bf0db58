// SPDX-License-Identifier: Apache-2.0
// The program's own Python interpreter, through its stable C functions, looked up in the process: any version from 3.8
// on, embedded or not, without linking to one. What is replaced in a module is replaced by functions in C: they leave no
// frame in a traceback.
#ifndef XSP_FRAMEWORKS_COMMON_DOOR_PYTHON_H
#define XSP_FRAMEWORKS_COMMON_DOOR_PYTHON_H

#include "frameworks/common/door.h"

#include <stdint.h>

typedef intptr_t python_size;

// X(member, Python's name, return type, parameters). Objects are void *.
#define PYTHON_LIST(X)                                                                                                 \
  X(incref, Py_IncRef, void, (void *))                                                                                 \
  X(decref, Py_DecRef, void, (void *))                                                                                 \
  X(type_of, PyObject_Type, void *, (void *)) /* runs no code of the program, which the attribute __class__ may be */  \
  X(get_attribute, PyObject_GetAttrString, void *, (void *, const char *))                                             \
  X(set_attribute, PyObject_SetAttrString, int, (void *, const char *, void *))                                        \
  X(call, PyObject_Call, void *, (void *, void *arguments, void *keywords))                                            \
  X(call_object, PyObject_CallObject, void *, (void *, void *arguments))                                               \
  X(is_true, PyObject_IsTrue, int, (void *))                                                                           \
  X(is_instance, PyObject_IsInstance, int, (void *, void *type))                                                       \
  X(new_function, PyCFunction_NewEx, void *, (void *definition, void *self, void *module_name))                        \
  X(new_method, PyInstanceMethod_New, void *, (void *function))                                                        \
  X(new_tuple, PyTuple_New, void *, (python_size))                                                                     \
  X(tuple_size, PyTuple_Size, python_size, (void *))                                                                   \
  X(tuple_item, PyTuple_GetItem, void *, (void *, python_size))          /* borrowed */                                \
  X(set_tuple_item, PyTuple_SetItem, int, (void *, python_size, void *)) /* takes the item */                          \
  X(new_list, PySequence_List, void *, (void *))                                                                       \
  X(list_size, PyList_Size, python_size, (void *))                                                                     \
  X(list_item, PyList_GetItem, void *, (void *, python_size)) /* borrowed */                                           \
  X(list_insert, PyList_Insert, int, (void *, python_size, void *))                                                    \
  X(delete_item, PySequence_DelItem, int, (void *, python_size))                                                       \
  X(sequence_size, PySequence_Size, python_size, (void *))                                                             \
  X(sequence_item, PySequence_GetItem, void *, (void *, python_size))                                                  \
  X(new_dict, PyDict_New, void *, (void))                                                                              \
  X(dict_size, PyDict_Size, python_size, (void *))                                                                     \
  X(dict_next, PyDict_Next, int, (void *, python_size *, void **key, void **value)) /* borrowed */                     \
  X(delete_dict_item, PyDict_DelItemString, int, (void *, const char *))                                               \
  X(new_text, PyUnicode_FromString, void *, (const char *))                                                            \
  X(text, PyUnicode_AsUTF8, const char *, (void *)) /* as long as the object */                                        \
  X(new_int, PyLong_FromLong, void *, (long))                                                                          \
  X(int_value, PyLong_AsLongLong, long long, (void *))                                                                 \
  X(error_fetch, PyErr_Fetch, void, (void **type, void **value, void **traceback))                                     \
  X(error_restore, PyErr_Restore, void, (void *type, void *value, void *traceback))                                    \
  X(error_matches, PyErr_ExceptionMatches, int, (void *class))                                                         \
  X(error_clear, PyErr_Clear, void, (void))                                                                            \
  X(new_weak_reference, PyWeakref_NewRef, void *, (void *, void *callback))                                            \
  X(to_text, PyObject_Str, void *, (void *))

struct python {
#define X(member, name, result, parameters) result(*member) parameters;
  PYTHON_LIST(X)
#undef X
  void *none;         // borrowed
  void *type_error;   // borrowed; the class
  size_t object_size; // of what every object begins with
  void *(*symbol)(
      const char *name); // a function or variable of the interpreter that is not in the list; NULL: it has none
};

// Replaces one of Python's functions: called with the same arguments, and with the function it replaces.
typedef void *(*python_wrapper)(void *original, void *arguments, void *keywords);
// PyMethodDef. The interpreter keeps a pointer to it: static, or never freed.
struct python_definition {
  const char *name;
  void *function;
  int flags;
  const char *documentation;
};
// A function that calls `wrapper` with `original`, whatever that is. NULL: an error of Python's is set.
void *framework_python_function(const struct python *python, struct python_definition *definition, const char *name,
                                python_wrapper wrapper, void *original);
// Replaces `object.name` (a function of a module, or, where `is_method`, of a class) where there is one. The definition is
// kept for ever. False: nothing is replaced, and no error is left set.
bool framework_python_wrap(const struct python *python, void *object, const char *name, bool is_method,
                           python_wrapper wrapper);

// For framework_offer: the entrance that runs `found` and then framework->python_loaded. `caller` lies in the interpreter.
void *framework_python_entrance(const struct framework *framework, void *found, const void *caller);

#endif
