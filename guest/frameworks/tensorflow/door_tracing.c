// SPDX-License-Identifier: Apache-2.0
// Tracings of tf.function: TensorFlow's Python makes a graph of a function for each new signature. The function of it that does so,
// of the module tracing_compilation, gets one in C in its place when a module that Python loads later is there. All of it with the
// interpreter held; no error of Python's is left set.
#include "frameworks/common/door.h"
#include "frameworks/common/door_python.h"
#include "frameworks/tensorflow/signature.h"

#include <stdio.h>
#include <string.h>
#include <xsp/span.h>

#define MODULE "tensorflow.python.eager.polymorphic_function.tracing_compilation"
#define FUNCTIONS 64u // more have no reasons
#define DEPTH 8       // of decorators

static const struct python *py;
static struct xsp_site *site;
static struct traced { // a function's last tracing
  void *code;          // kept for ever, 64 at most: no other code gets its address. NULL: free
  const void *scope;   // whether the tracing could make variables
  unsigned count;
  struct tensorflow_signature signature;
} traced[FUNCTIONS];

static void release(void *object)
{
  if (object != NULL)
    py->decref(object);
}

static void *attribute(void *object, const char *name) // NULL: it has none
{
  void *value = object != NULL ? py->get_attribute(object, name) : NULL;
  py->error_clear();
  return value;
}

// The code of the program's function below decorators; NULL: it is no function of Python's.
static void *code_of(void *options)
{
  void *function = attribute(options, "python_function");
  for (int i = 0; i < DEPTH && function != NULL; i++) {
    void *wrapped = attribute(function, "__wrapped__");
    if (wrapped == NULL)
      break;
    release(function);
    function = wrapped;
  }
  void *code = attribute(function, "__code__");
  release(function);
  return code;
}

static void tag_text(struct xsp_span *span, const char *key, void *object, const char *name)
{
  void *value = attribute(object, name);
  const char *text = value != NULL ? py->text(value) : NULL;
  if (text != NULL)
    xsp_span_tag_string(span, key, text);
  py->error_clear();
  release(value);
}

static struct traced *entry_of(void *code)
{
  for (size_t i = 0; i < FUNCTIONS; i++) {
    if (traced[i].code == NULL) {
      py->incref(code);
      traced[i].code = code;
    }
    if (traced[i].code == code)
      return &traced[i];
  }
  return NULL;
}

// `arguments`: types, their context, the graph, options.
static void tag_tracing(struct xsp_span *span, void *arguments)
{
  void *options = py->tuple_size(arguments) >= 4 ? py->tuple_item(arguments, 3) : NULL;
  void *code = code_of(options), *scope = attribute(options, "scope_type");
  void *shown = options != NULL ? py->to_text(py->tuple_item(arguments, 0)) : NULL;
  const char *types = shown != NULL ? py->text(shown) : NULL;
  struct traced *entry = code != NULL && types != NULL && types[0] == '(' ? entry_of(code) : NULL;
  py->error_clear();
  tag_text(span, "function", options, "name");
  if (entry != NULL) {
    char id[32], reason[SIGNATURE_SIZE];
    struct tensorflow_signature signature;
    tensorflow_signature_take(&signature, types);
    snprintf(id, sizeof id, "%u/%u", (unsigned)(entry - traced), entry->count);
    xsp_span_tag_string(span, "compile_id", id);
    if (entry->count++ > 0) {
      bool differs = tensorflow_signature_explain(&entry->signature, &signature, reason, sizeof reason);
      xsp_span_tag_string(span, "reason",
                          differs                 ? reason
                          : entry->scope != scope ? "its first tracing made variables"
                                                  : "another function object with the same code");
    }
    entry->signature = signature;
    entry->scope = scope;
  }
  tag_text(span, "file", code, "co_filename");
  void *line = attribute(code, "co_firstlineno");
  if (line != NULL)
    xsp_span_tag_int(span, "line", py->int_value(line));
  py->error_clear();
  release(line);
  release(shown);
  release(scope);
  release(code);
}

static void *traces(void *original, void *arguments, void *keywords)
{
  struct xsp_span span = xsp_span_start(site);
  tag_tracing(&span, arguments);
  void *graph = py->call(original, arguments, keywords);
  xsp_span_finish(&span);
  return graph;
}

static void python_loaded(const struct python *python, void *module)
{
  if (py != NULL)
    return;
  void *(*modules)(void) = NULL;
  void *symbol = python->symbol("PyImport_GetModuleDict");
  memcpy(&modules, &symbol, sizeof symbol);
  void *(*item)(void *, const char *) = NULL;
  symbol = python->symbol("PyDict_GetItemString");
  memcpy(&item, &symbol, sizeof symbol);
  void *tracing = modules != NULL && item != NULL ? item(modules(), MODULE) : NULL; // borrowed
  if (tracing == NULL)
    return;
  py = python;
  site = xsp_site_create("tensorflow", XSP_LEVEL_APPLICATION, "tf.function", "compile");
  framework_python_wrap(python, tracing, "_create_concrete_function", false, traces);
}

static const struct framework_symbol none[] = {{.name = NULL}};
const struct framework framework_tensorflow_tracing = {
    .name = "tensorflow",
    .symbol_prefix = "PyInit__pywrap_checkpoint_reader",
    .symbols = none,
    .python_module = "_pywrap_checkpoint_reader",
    .python_folder = "util",
    .python_loaded = python_loaded,
};
