// SPDX-License-Identifier: Apache-2.0
// Fused kernels of torch.compile on CPUs. A module that Inductor generated calls them by its globals, which
// AsyncCompile.wait completes: from then on they are functions in C that run the originals. The generated code and its cache
// keys stay as they are. Rejected: cpp.enable_kernel_profile and provenance tracking, which change both.
//
// What a kernel was made of is known while it is generated, so not of kernels from Inductor's cache. Everything here runs
// with the interpreter held.
#include "frameworks/common/guest.h"
#include "frameworks/pytorch/tracer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAST 0x80 // METH_FASTCALL
#define TEXTS_MOST 64u

struct texts { // sorted, each once
  uint32_t count;
  char *items[TEXTS_MOST];
};
struct pytorch_kernel { // never freed once a module calls it
  char *name;
  void *original;                 // the function
  struct texts operators, source; // "aten::add"; "net.py:13"
  struct pytorch_kernel *next;    // of `generated`
};

static const struct python *py;
static void *(*call)(void *function, void *const *arguments, size_t count, void *keywords);
static void *(*dict_item)(void *dictionary, const char *key); // borrowed
static int (*set_dict_item)(void *dictionary, const char *key, void *value);
static struct pytorch_kernel *generated; // no module calls them yet

static const char *text_of(void *object) // NULL: none
{
  const char *text = object != NULL ? py->text(object) : NULL;
  py->error_clear();
  return text;
}

// ---- what they are made of -------------------------------------------------------------------------------------------

static void add_text(struct texts *texts, const char *text)
{
  uint32_t at = 0;
  while (at < texts->count && strverscmp(texts->items[at], text) < 0)
    at++;
  if (texts->count == TEXTS_MOST || (at < texts->count && strcmp(texts->items[at], text) == 0))
    return;
  char *copy = strdup(text);
  if (copy == NULL)
    return;
  memmove(&texts->items[at + 1], &texts->items[at], (texts->count - at) * sizeof texts->items[0]);
  texts->items[at] = copy;
  texts->count++;
}

static void tag_texts(struct xsp_site *site, const char *key, const struct texts *texts, const char *separator)
{
  char text[2048];
  size_t length = 0;
  for (uint32_t i = 0; i < texts->count; i++) {
    size_t needed = strlen(separator) + strlen(texts->items[i]);
    if (length + needed >= sizeof text)
      break;
    length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i > 0 ? separator : "", texts->items[i]);
  }
  if (length > 0)
    xsp_site_tag_string(site, key, text);
}

void pytorch_fused_tag(struct xsp_site *site, const struct pytorch_kernel *kernel)
{
  tag_texts(site, "operators", &kernel->operators, " ");
  tag_texts(site, "source", &kernel->source, ", ");
}

static struct pytorch_kernel **find_generated(const char *name) // where it is linked; else the list's end
{
  struct pytorch_kernel **link = &generated;
  while (*link != NULL && strcmp((*link)->name, name) != 0)
    link = &(*link)->next;
  return link;
}

static void free_kernel(struct pytorch_kernel *kernel)
{
  for (uint32_t i = 0; i < kernel->operators.count; i++)
    free(kernel->operators.items[i]);
  for (uint32_t i = 0; i < kernel->source.count; i++)
    free(kernel->source.items[i]);
  free(kernel->name);
  free(kernel);
}

static struct pytorch_kernel *make_kernel(const char *name)
{
  struct pytorch_kernel *kernel = calloc(1, sizeof *kernel);
  if (kernel != NULL && (kernel->name = strdup(name)) == NULL) {
    free(kernel);
    kernel = NULL;
  }
  return kernel;
}

void pytorch_fused_compilation_begins(void)
{
  while (generated != NULL) {
    struct pytorch_kernel *kernel = generated;
    generated = kernel->next;
    free_kernel(kernel);
  }
}

// The innermost line of a Python stack as text.
static void add_line(struct texts *source, const char *stack)
{
  static const char head[] = "  File \"";
  char file[1024], place[1040];
  unsigned line;
  const char *last = NULL;
  for (const char *at = strstr(stack, head); at != NULL; at = strstr(at + 1, head))
    last = at;
  if (last == NULL || sscanf(last, "  File \"%1023[^\"]\", line %u", file, &line) != 2)
    return;
  snprintf(place, sizeof place, "%s:%u", file, line);
  add_text(source, place);
}

static void add_origin(struct pytorch_kernel *kernel, void *origin) // a torch.fx.Node
{
  void *meta = pytorch_attribute(py, origin, "meta");
  void *operator= meta != NULL ? dict_item(meta, "original_aten") : NULL;
  void *schema = pytorch_attribute(py, operator, "_schema"), *name = pytorch_attribute(py, schema, "name");
  const char *text = text_of(name);
  if (text != NULL) {
    add_text(&kernel->operators, text);
    text = text_of(dict_item(meta, "stack_trace"));
    if (text != NULL)
      add_line(&kernel->source, text);
  }
  pytorch_release(py, name);
  pytorch_release(py, schema);
  pytorch_release(py, meta);
}

static void *list_of(void *objects) // NULL: cannot be listed
{
  void *list = objects != NULL ? py->new_list(objects) : NULL;
  py->error_clear();
  return list;
}

static void add_nodes(struct pytorch_kernel *kernel, void *nodes) // of Inductor's scheduler
{
  void *list = list_of(nodes);
  for (python_size i = 0; list != NULL && i < py->list_size(list); i++) {
    void *node = pytorch_attribute(py, py->list_item(list, i), "node"), *set = pytorch_attribute(py, node, "origins"),
         *origins = list_of(set);
    for (python_size k = 0; origins != NULL && k < py->list_size(origins); k++)
      add_origin(kernel, py->list_item(origins, k));
    pytorch_release(py, origins);
    pytorch_release(py, set);
    pytorch_release(py, node);
  }
  pytorch_release(py, list);
}

// CppScheduling.define_kernel(self, source, nodes, …): its result is the kernel's name. Equal kernels share one.
static void *defines(void *original, void *arguments, void *keywords)
{
  void *result = py->call(original, arguments, keywords);
  const char *name = result != NULL ? text_of(result) : NULL;
  if (name == NULL || py->tuple_size(arguments) < 3)
    return result;
  struct pytorch_kernel **link = find_generated(name);
  if (*link == NULL)
    *link = make_kernel(name);
  if (*link != NULL)
    add_nodes(*link, py->tuple_item(arguments, 2));
  py->error_clear();
  return result;
}

// ---- their calls -----------------------------------------------------------------------------------------------------

static void *run(void *self, void *const *arguments, python_size count)
{
  const struct pytorch_kernel *kernel = (const struct pytorch_kernel *)(uintptr_t)py->int_value(self);
  struct pytorch_thread *thread = thread_get();
  if (thread == NULL || compile_is_running(thread))
    return call(kernel->original, arguments, (size_t)count, NULL);
  struct xsp_span span = pytorch_operators_kernel_begins(thread, kernel, kernel->name);
  void *result = call(kernel->original, arguments, (size_t)count, NULL);
  xsp_span_finish(&span);
  return result;
}

static bool replace_kernel(void *scope, const char *name, void *original)
{
  static struct python_definition definition = {"kernel", (void *)run, FAST, NULL};
  struct pytorch_kernel **link = find_generated(name), *kernel = *link;
  if (kernel != NULL)
    *link = kernel->next;
  else
    kernel = make_kernel(name);
  void *self = kernel != NULL ? py->new_int((long)(uintptr_t)kernel) : NULL;
  void *function = self != NULL ? py->new_function(&definition, self, NULL) : NULL;
  bool is_done = function != NULL && set_dict_item(scope, name, function) == 0;
  if (is_done)
    kernel->original = original;
  else if (kernel != NULL)
    free_kernel(kernel);
  pytorch_release(py, function);
  pytorch_release(py, self);
  py->error_clear();
  return is_done;
}

// The function "kernel" of an extension.
static bool is_kernel(void *object)
{
  void *name = pytorch_attribute(py, object, "__name__");
  const char *text = text_of(name);
  bool is_it = text != NULL && strcmp(text, "kernel") == 0;
  pytorch_release(py, name);
  return is_it;
}

static void report_once(bool *was_reported, const char *message)
{
  if (!*was_reported)
    guest_report(message);
  *was_reported = true;
}

static void kernel_is_loaded(void *scope, const char *name, void *function)
{
  static bool is_unknown, is_cached;
  if (!is_kernel(function)) {
    report_once(&is_unknown, "this PyTorch keeps fused kernels in an unknown way: they are not recorded");
    return;
  }
  if (*find_generated(name) == NULL)
    report_once(&is_cached,
                "fused kernels come from Inductor's cache, which does not have their operators and source; try: "
                "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1");
  py->incref(function); // for the kernel
  if (!replace_kernel(scope, name, function))
    py->decref(function);
}

// AsyncCompile.wait(self, globals). While PyDict_Next is in use, values of keys may be replaced.
static void *waits(void *original, void *arguments, void *keywords)
{
  static const char prefix[] = "cpp_fused_";
  void *result = py->call(original, arguments, keywords);
  if (result == NULL || py->tuple_size(arguments) < 2)
    return result;
  void *scope = py->tuple_item(arguments, 1), *key, *value;
  python_size at = 0;
  while (py->dict_next(scope, &at, &key, &value)) {
    const char *name = text_of(key);
    if (name != NULL && strncmp(name, prefix, sizeof prefix - 1) == 0)
      kernel_is_loaded(scope, name, value);
  }
  return result;
}

// ---- doors -----------------------------------------------------------------------------------------------------------

// True: it was tried.
static bool replace_method(void *module, const char *class_name, struct python_definition *definition)
{
  void *class = pytorch_attribute(py, module, class_name);
  if (class == NULL) // the module's code is not at its end
    return false;
  if (!pytorch_compile_replace(py, class, definition, true))
    guest_report("this PyTorch makes fused kernels in another way: they are not recorded, or without their source");
  pytorch_release(py, class);
  return true;
}

static bool has_functions(const struct python *python)
{
  void *symbol;
#define LOOK_UP(variable, name)                                                                                        \
  symbol = python->symbol(name);                                                                                       \
  memcpy(&(variable), &symbol, sizeof symbol)
  LOOK_UP(call, "PyObject_VectorcallDict"); // from 3.9 on
  LOOK_UP(dict_item, "PyDict_GetItemString");
  LOOK_UP(set_dict_item, "PyDict_SetItemString");
#undef LOOK_UP
  return call != NULL && dict_item != NULL && set_dict_item != NULL;
}

bool pytorch_fused_python(const struct python *python, void *async_compile, void *codegen)
{
  static struct python_definition wait_method = {"wait", (void *)waits, 3, NULL}, // arguments and keywords
      define_method = {"define_kernel", (void *)defines, 3, NULL};
  static bool has_wait, has_define;
  if ((xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) == 0)
    return true;
  if (async_compile == NULL)
    return false;
  py = python;
  if (!has_functions(python)) {
    guest_report("this Python lacks functions: fused kernels of PyTorch are not recorded");
    return true;
  }
  has_wait = has_wait || replace_method(async_compile, "AsyncCompile", &wait_method);
  has_define = has_define || replace_method(codegen, "CppScheduling", &define_method);
  return has_wait && has_define;
}
