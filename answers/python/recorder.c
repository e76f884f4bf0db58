// SPDX-License-Identifier: Apache-2.0
// xsp_python.so, a module of CPython: spans as context managers. Loaded by src/xsp/recording.py. A guest in somebody's program: it
// never prints or ends it, and what cannot be recorded is left out. All functions run with Python's lock.
#include "python/recorder.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/span.h>

#define NAMES_MOST 65536 // further ones share a site
#define SPARE_MOST 64
#define SITE "xsp_python.site"
// As in src/xsp/recording.py.
#define TAG_HELP                                                                                                       \
  "Tags the innermost span of this thread: the last that began and has not ended, maybe another coroutine's. In "      \
  "coroutines use the span's own `tag`."
#define TRACEPARENT_HELP                                                                                               \
  "The W3C header that makes another service's spans children of this thread's innermost span (see `tag`); None: not " \
  "recorded."
#define SET_TRACEPARENT_HELP                                                                                           \
  "Makes the caller's span that the W3C header names the parent of this thread's innermost span (see `tag`)."

struct span {
  PyObject head;
  struct xsp_site *site;
  struct xsp_span span;
  struct span **thread; // list of the thread that began it; NULL: it has not begun, or is over
  struct span *outer;   // in that list
};
static PyObject *span_type, *sites;    // sites: name, or (name, level, category), to a capsule of the site
static struct span *spare[SPARE_MOST]; // memory of spans that are gone
static unsigned spare_count;
// Begun and not over, the innermost first; each is referred to until it is over.
static __thread struct span *current;

// ---- sites -----------------------------------------------------------------------------------------------------------
static bool is_text(PyObject *object)
{
  return (PyType_GetFlags(object->type) & TYPE_IS_TEXT) != 0;
}

static const char *copy_text(PyObject *text)
{
  const char *bytes = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  return bytes != NULL ? strdup(bytes) : NULL;
}

// -1, with an exception: no such level.
static int level_of(PyObject *text)
{
  static const char *const names[XSP_LEVEL_COUNT] = {XSP_LEVEL_NAMES};
  const char *name = text == NULL ? names[0] : PyUnicode_AsUTF8AndSize(text, NULL);
  for (int level = 0; name != NULL && level < XSP_LEVEL_COUNT; level++)
    if (strcmp(names[level], name) == 0)
      return level;
  if (name != NULL)
    PyErr_Format(PyExc_ValueError, "level must be application, model, layer, library or kernel, not '%s'", name);
  return -1;
}

static struct xsp_site *make_site(const char *name, int level, const char *category)
{
  struct xsp_site *site = name != NULL ? malloc(sizeof *site) : NULL;
  if (site != NULL)
    *site = (struct xsp_site){.size = sizeof *site,
                              .mask = XSP_LEVEL_MASK(level),
                              .levels = &xsp_unregistered_v1,
                              .level = (uint32_t)level,
                              .name = name,
                              .category = category};
  return site;
}

// In a capsule, new, or of those beyond NAMES_MOST. Sites are never freed: libxsp refers to them. NULL, with an exception: wrong
// arguments, no memory.
static PyObject *new_site(PyObject *key, PyObject *name, PyObject *level_name, PyObject *category)
{
  static PyObject *other;
  bool is_other = PyDict_Size(sites) >= NAMES_MOST;
  int level = level_of(level_name);
  if (level < 0 || (is_other && other != NULL))
    return level < 0 ? NULL : other;
  struct xsp_site *site = is_other ? make_site("(other names)", XSP_LEVEL_APPLICATION, NULL)
                                   : make_site(copy_text(name), level, copy_text(category));
  PyObject *capsule = site != NULL && PyErr_Occurred() == NULL ? PyCapsule_New(site, SITE, NULL) : NULL;
  if (capsule == NULL || (!is_other && PyDict_SetItem(sites, key, capsule) != 0)) {
    if (PyErr_Occurred() == NULL) // a text that has no UTF-8 has set one
      PyErr_NoMemory();
    return NULL;
  }
  other = is_other ? capsule : other; // else the map keeps it
  if (!is_other)
    Py_DecRef(capsule);
  return capsule;
}

// Borrowed.
static PyObject *find_site(PyObject *name, PyObject *level, PyObject *category)
{
  if (level == NULL && category == NULL) {
    PyObject *capsule = PyDict_GetItemWithError(sites, name);
    return capsule != NULL || PyErr_Occurred() != NULL ? capsule : new_site(name, name, NULL, NULL);
  }
  PyObject *key =
      PyTuple_Pack(3, name, level != NULL ? level : &_Py_NoneStruct, category != NULL ? category : &_Py_NoneStruct);
  PyObject *capsule = key != NULL ? PyDict_GetItemWithError(sites, key) : NULL;
  if (capsule == NULL && PyErr_Occurred() == NULL)
    capsule = new_site(key, name, level, category);
  if (key != NULL)
    Py_DecRef(key);
  return capsule;
}

// ---- spans -----------------------------------------------------------------------------------------------------------
static PyObject *module_span_of(PyObject *module, PyObject *capsule)
{
  struct xsp_site *site = PyCapsule_GetPointer(capsule, SITE);
  if (site == NULL)
    return NULL;
  struct span *span = spare_count > 0 ? spare[--spare_count] : malloc(sizeof *span);
  if (span == NULL)
    return PyErr_NoMemory();
  *span = (struct span){.site = site};
  return PyObject_Init(span, span_type);
}

static void span_dealloc(PyObject *self)
{
  PyObject *type = self->type;
  if (spare_count < SPARE_MOST)
    spare[spare_count++] = (struct span *)self;
  else
    free(self);
  Py_DecRef(type);
}

static PyObject *span_enter(PyObject *self, PyObject *nothing)
{
  struct span *span = (struct span *)self;
  Py_IncRef(self);
  if (span->thread != NULL) // begun already
    return self;
  span->span = xsp_span_start(span->site);
  if (span->span.start != 0) {
    span->thread = &current;
    span->outer = current;
    current = span;
    Py_IncRef(self);
  }
  return self;
}

// Takes a span that is over off the list of its thread. Another thread's list is left alone: its owner may be gone.
static void take_off(struct span *span)
{
  struct span **at = &current;
  if (span->thread != &current)
    return;
  while (*at != NULL && *at != span)
    at = &(*at)->outer;
  if (*at == NULL)
    return;
  *at = span->outer;
  span->thread = NULL;
  Py_DecRef((PyObject *)span);
}

static PyObject *span_exit(PyObject *self, PyObject *const *arguments, intptr_t count)
{
  struct span *span = (struct span *)self;
  if (span->span.start != 0) {
    xsp_span_finish(&span->span);
    span->span.start = 0;
    take_off(span);
  }
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}

// ---- tags ------------------------------------------------------------------------------------------------------------
// Of an int or a float. False: the value is neither, or has more than 64 bits.
static bool put_number(const struct span *span, const char *key, PyObject *value)
{
  int overflows = 1;
  long long number = 0;
  if ((PyType_GetFlags(value->type) & TYPE_IS_LONG) != 0)
    number = PyLong_AsLongLongAndOverflow(value, &overflows);
  if (overflows == 0)
    xsp_span_tag_int(&span->span, key, number);
  else if (PyType_IsSubtype(value->type, &PyFloat_Type))
    xsp_span_tag_double(&span->span, key, PyFloat_AsDouble(value));
  else
    return false;
  return true;
}

// numbers.Real, which numpy's types are registered as. Borrowed; NULL, with an exception: it cannot be imported.
static PyObject *real_type(void)
{
  static PyObject *real;
  PyObject *module = real == NULL ? PyImport_ImportModule("numbers") : NULL;
  if (module != NULL) {
    real = PyObject_GetAttrString(module, "Real");
    Py_DecRef(module);
  }
  return real;
}

// The int or float that a number of another type stands for. NULL: none; an exception may be set.
static PyObject *number_of(PyObject *value)
{
  PyObject *number = PyIndex_Check(value) ? PyNumber_Index(value) : NULL;
  if (number != NULL)
    return number;
  PyErr_Clear();
  PyObject *real = real_type();
  return real != NULL && PyObject_IsInstance(value, real) == 1 ? PyNumber_Float(value) : NULL;
}

// Of another type than int and float: as a number where it is one, else as a text. Runs the value's own code, which may end the span.
// A value without a text has no tag: recording raises nothing that the program would not meet without xsp.
static void put_other(struct span *span, const char *key, PyObject *value)
{
  Py_IncRef((PyObject *)span);
  PyObject *number = is_text(value) ? NULL : number_of(value);
  PyErr_Clear();
  bool is_put = number != NULL && (span->span.start == 0 || put_number(span, key, number));
  PyObject *text = is_put ? NULL : PyObject_Str(value);
  const char *bytes = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  if (bytes != NULL && span->span.start != 0)
    xsp_span_tag_string(&span->span, key, bytes);
  if (number != NULL)
    Py_DecRef(number);
  if (text != NULL)
    Py_DecRef(text);
  PyErr_Clear();
  Py_DecRef((PyObject *)span);
}

static PyObject *put_tag(struct span *span, PyObject *const *arguments, intptr_t count)
{
  const char *key = count == 2 && is_text(arguments[0]) ? PyUnicode_AsUTF8AndSize(arguments[0], NULL) : NULL;
  if (key == NULL && PyErr_Occurred() == NULL)
    PyErr_Format(PyExc_TypeError, "tag takes a text and a value");
  if (key == NULL)
    return NULL;
  if (span != NULL && span->span.start != 0 && !put_number(span, key, arguments[1]))
    put_other(span, key, arguments[1]);
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}

static PyObject *span_tag(PyObject *self, PyObject *const *arguments, intptr_t count)
{
  return put_tag((struct span *)self, arguments, count);
}

// This thread's; NULL: none.
static struct span *innermost(void)
{
  while (current != NULL && current->span.start == 0) { // ended by another thread
    struct span *over = current;
    current = over->outer;
    Py_DecRef((PyObject *)over);
  }
  return current;
}

static PyObject *module_tag(PyObject *module, PyObject *const *arguments, intptr_t count)
{
  return put_tag(innermost(), arguments, count);
}

// ---- W3C trace context -----------------------------------------------------------------------------------------------
static PyObject *module_traceparent(PyObject *module, PyObject *nothing)
{
  char header[XSP_TRACEPARENT_SIZE];
  const struct span *span = innermost();
  if (xsp_traceparent_out(span != NULL ? &span->span : NULL, header) == 0)
    return PyUnicode_FromString(header);
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}

static PyObject *module_set_traceparent(PyObject *module, PyObject *header)
{
  const struct span *span = innermost();
  const char *text = is_text(header) ? PyUnicode_AsUTF8AndSize(header, NULL) : NULL;
  if (text == NULL && PyErr_Occurred() == NULL)
    PyErr_Format(PyExc_TypeError, "set_traceparent takes a text");
  if (text == NULL)
    return NULL;
  if (xsp_traceparent_in(span != NULL ? &span->span : NULL, text) != 0)
    return PyErr_Format(PyExc_ValueError, "not a W3C traceparent: %R", header);
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}

// ---- the module ------------------------------------------------------------------------------------------------------
// Of the arguments name, level and category. Borrowed; NULL, with an exception: they are wrong.
static PyObject *site_of(PyObject *const *arguments, intptr_t count, PyObject *keywords)
{
  static const char *const names[] = {"name", "level", "category"};
  PyObject *given[3] = {NULL};
  intptr_t keyword_count = keywords != NULL ? PyTuple_Size(keywords) : 0;
  for (intptr_t i = 0; i < count + keyword_count; i++) {
    const char *name = i < count ? NULL : PyUnicode_AsUTF8AndSize(PyTuple_GetItem(keywords, i - count), NULL);
    intptr_t place = i < count ? i : 0;
    while (name != NULL && place < 3 && strcmp(names[place], name) != 0)
      place++;
    if (place >= 3)
      return PyErr_Format(PyExc_TypeError, "span takes name, level and category");
    if (arguments[i] != &_Py_NoneStruct)
      given[place] = arguments[i];
  }
  for (int i = 0; i < 3; i++)
    if (given[i] != NULL ? !is_text(given[i]) : i == 0)
      return PyErr_Format(PyExc_TypeError, "%s of a span must be a text", names[i]);
  return find_site(given[0], given[1], given[2]);
}

static PyObject *module_span(PyObject *module, PyObject *const *arguments, intptr_t count, PyObject *keywords)
{
  PyObject *capsule = site_of(arguments, count, keywords);
  return capsule != NULL ? module_span_of(module, capsule) : NULL;
}

static PyObject *module_site(PyObject *module, PyObject *const *arguments, intptr_t count, PyObject *keywords)
{
  PyObject *capsule = site_of(arguments, count, keywords);
  if (capsule != NULL)
    Py_IncRef(capsule);
  return capsule;
}

__attribute__((visibility("default"))) PyObject *PyInit_xsp_python(void);
PyObject *PyInit_xsp_python(void)
{
  static struct method span_methods[] = {{"__enter__", (void *)span_enter, METH_NOARGS, NULL},
                                         {"__exit__", (void *)span_exit, METH_FASTCALL, NULL},
                                         {"tag", (void *)span_tag, METH_FASTCALL, "Tags this span."},
                                         {0}};
  static struct type_slot slots[] = {{TYPE_DEALLOC, (void *)span_dealloc}, {TYPE_METHODS, span_methods}, {0}};
  static struct type_definition type = {"xsp_python.Span", sizeof(struct span), 0, TYPE_NO_INSTANTIATION, slots};
  static struct method methods[] = {{"span", (void *)module_span, METH_FASTCALL | METH_KEYWORDS, NULL},
                                    {"site", (void *)module_site, METH_FASTCALL | METH_KEYWORDS, NULL},
                                    {"span_of", (void *)module_span_of, METH_O, NULL}, // a site's
                                    {"tag", (void *)module_tag, METH_FASTCALL, TAG_HELP},
                                    {"traceparent", (void *)module_traceparent, METH_NOARGS, TRACEPARENT_HELP},
                                    {"set_traceparent", (void *)module_set_traceparent, METH_O, SET_TRACEPARENT_HELP},
                                    {0}};
  static struct module_definition module = {
      .head = {.references = 1}, .name = "xsp_python", .size = -1, .methods = methods};
  if (span_type == NULL)
    span_type = PyType_FromSpec(&type);
  if (sites == NULL)
    sites = PyDict_New();
  return span_type != NULL && sites != NULL ? PyModule_Create2(&module, STABLE_ABI) : NULL;
}
