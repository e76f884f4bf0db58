// SPDX-License-Identifier: Apache-2.0
// Batches that a data loader makes: each call of a fetcher's `fetch`, in the process and on the thread that makes the batch, is a span of
// category "input", named after the data set's function. Called by tracer_modules.c; everything runs with the interpreter held.
#include "frameworks/pytorch/tracer.h"

#include <stdio.h>

#define FUNCTIONS 32u // of data sets; batches of others have the plain name
#define TEXT_SIZE 256u
#define PLAIN "fetch"

static const struct python *py;
static struct {
  const void *class; // of the data set; only to be compared
  struct xsp_site *site;
} functions[FUNCTIONS];
static uint32_t function_count;

static const char *text_of(void *object, const char *otherwise)
{
  const char *text = object != NULL ? py->text(object) : NULL;
  py->error_clear();
  return text != NULL ? text : otherwise;
}

// `name`: of the data set's method. NULL: no function of Python's.
static struct xsp_site *site_of_method(void *class, const char *name)
{
  char text[TEXT_SIZE];
  void *function = pytorch_attribute(py, class, name), *code = pytorch_attribute(py, function, "__code__");
  void *qualified = pytorch_attribute(py, function, "__qualname__"), *file = pytorch_attribute(py, code, "co_filename");
  void *line = pytorch_attribute(py, code, "co_firstlineno");
  struct xsp_site *site = NULL;
  if (code != NULL && line != NULL) {
    snprintf(text, sizeof text, "%s", text_of(qualified, name));
    site = xsp_site_create_variant(TRACER, XSP_LEVEL_APPLICATION, text, "input", function_count + 1);
    if (site != NULL) {
      xsp_site_tag_string(site, "file", text_of(file, ""));
      xsp_site_tag_int(site, "line", py->int_value(line));
      py->error_clear();
    }
  }
  pytorch_release(py, line);
  pytorch_release(py, file);
  pytorch_release(py, qualified);
  pytorch_release(py, code);
  pytorch_release(py, function);
  return site;
}

static struct xsp_site *site_of(void *fetcher)
{
  static struct xsp_site *plain;
  void *data_set = pytorch_attribute(py, fetcher, "dataset"), *class = data_set != NULL ? py->type_of(data_set) : NULL;
  struct xsp_site *site = NULL;
  for (uint32_t i = 0; i < function_count && class != NULL && site == NULL; i++)
    if (functions[i].class == class)
      site = functions[i].site;
  void *iterator = pytorch_attribute(py, fetcher, "dataset_iter"); // of an iterable data set
  if (site == NULL && class != NULL && function_count < FUNCTIONS &&
      (site = site_of_method(class, iterator != NULL ? "__iter__" : "__getitem__")) != NULL) {
    functions[function_count].class = class;
    functions[function_count++].site = site;
    py->incref(class); // so that no other one gets its address
  }
  pytorch_release(py, iterator);
  pytorch_release(py, class);
  pytorch_release(py, data_set);
  if (site == NULL && plain == NULL)
    plain = xsp_site_create(TRACER, XSP_LEVEL_APPLICATION, PLAIN, "input");
  return site != NULL ? site : plain;
}

static void *fetch(void *original, void *arguments, void *keywords)
{
  struct pytorch_thread *thread = thread_get();
  void *fetcher = py->tuple_size(arguments) > 0 ? py->tuple_item(arguments, 0) : NULL;
  if (thread == NULL || fetcher == NULL)
    return py->call(original, arguments, keywords);
  struct xsp_span span = xsp_span_start(site_of(fetcher));
  thread->input_depth++;
  void *result = py->call(original, arguments, keywords);
  thread->input_depth--;
  xsp_span_finish(&span);
  return result;
}

bool pytorch_input_python(const struct python *python, void *module)
{
  static const char *const classes[] = {"_MapDatasetFetcher", "_IterableDatasetFetcher"};
  static struct python_definition definition = {"fetch", (void *)fetch, 3, NULL}; // arguments and keywords
  py = python;
  void *last = pytorch_attribute(py, module, classes[1]);
  if (last == NULL) // the module's code is not at its end
    return false;
  pytorch_release(py, last);
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
    void *class = pytorch_attribute(py, module, classes[i]);
    if (class != NULL)
      (void)pytorch_compile_replace(py, class, &definition, true);
    pytorch_release(py, class);
  }
  return true;
}
