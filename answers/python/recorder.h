// SPDX-License-Identifier: Apache-2.0
// What recorder.c uses of CPython's stable ABI, version 3.10: frozen there, so no Python headers are needed, and one build serves every
// CPython from 3.10 on. Not free-threaded builds, whose objects have another head.
#ifndef XSP_PYTHON_RECORDER_H
#define XSP_PYTHON_RECORDER_H

#include <stddef.h>
#include <stdint.h>

typedef struct object PyObject;
struct object {
  intptr_t references;
  PyObject *type;
};
struct method {
  const char *name;
  void *function;
  int flags;
  const char *help;
};
enum { METH_KEYWORDS = 2, METH_NOARGS = 4, METH_O = 8, METH_FASTCALL = 0x80 };
struct module_definition {
  PyObject head;
  void *start;
  intptr_t index;
  void *copy;
  const char *name, *help;
  intptr_t size;
  struct method *methods;
  void *slots, *traverse, *clear, *end;
};
struct type_slot {
  int number;
  void *value;
};
enum { TYPE_DEALLOC = 52, TYPE_METHODS = 64 };
struct type_definition {
  const char *name;
  int size_bytes, item_bytes;
  unsigned flags;
  struct type_slot *slots;
};
#define TYPE_NO_INSTANTIATION (1u << 7)
#define TYPE_IS_LONG (1ul << 24)
#define TYPE_IS_TEXT (1ul << 28)
#define STABLE_ABI 1013

extern PyObject _Py_NoneStruct, PyFloat_Type;
extern PyObject *PyExc_TypeError, *PyExc_ValueError;
PyObject *PyModule_Create2(struct module_definition *definition, int version);
PyObject *PyType_FromSpec(struct type_definition *definition);
unsigned long PyType_GetFlags(PyObject *type);
int PyType_IsSubtype(PyObject *type, PyObject *of);
PyObject *PyObject_Init(void *memory, PyObject *type);
PyObject *PyObject_Str(PyObject *object);
PyObject *PyObject_GetAttrString(PyObject *object, const char *name);
int PyObject_IsInstance(PyObject *object, PyObject *type); // -1, with an exception: its own code failed
void Py_IncRef(PyObject *object);
void Py_DecRef(PyObject *object);
PyObject *PyDict_New(void);
PyObject *PyDict_GetItemWithError(PyObject *map, PyObject *key); // borrowed
int PyDict_SetItem(PyObject *map, PyObject *key, PyObject *value);
intptr_t PyDict_Size(PyObject *map);
PyObject *PyTuple_Pack(intptr_t count, ...);
PyObject *PyTuple_GetItem(PyObject *tuple, intptr_t place); // borrowed
intptr_t PyTuple_Size(PyObject *tuple);
PyObject *PyCapsule_New(void *pointer, const char *name, void *end);
void *PyCapsule_GetPointer(PyObject *capsule, const char *name);
PyObject *PyImport_ImportModule(const char *name);
int PyIndex_Check(PyObject *object);
PyObject *PyNumber_Index(PyObject *object);
PyObject *PyNumber_Float(PyObject *object);
long long PyLong_AsLongLongAndOverflow(PyObject *number, int *ret_overflow);
double PyFloat_AsDouble(PyObject *number);
const char *PyUnicode_AsUTF8AndSize(PyObject *text, intptr_t *ret_length); // lives as long as the text
PyObject *PyUnicode_FromString(const char *text);
PyObject *PyErr_Format(PyObject *kind, const char *format, ...);
PyObject *PyErr_Occurred(void);
void PyErr_Clear(void);
PyObject *PyErr_NoMemory(void);

#endif
