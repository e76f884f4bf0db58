// SPDX-License-Identifier: Apache-2.0
// Compilations of torch.compile: Dynamo runs its callback handler at the start and end of each, on the thread that compiles.
// Two methods of the handler, on the object, get functions in C. Rejected: to register callbacks with it, as
// torch._dynamo.reset() forgets them. A compilation runs operators, backward passes and modules on fake tensors: what asks
// compile_is_running leaves them out. Everything else here runs with the interpreter held.
#include "frameworks/pytorch/tracer.h"

#include <stdio.h>
#include <string.h>
#include <xsp/call_path.h>
#include <xsp/monitor.h>

#define NAME "torch.compile"

const struct pytorch_thread *pytorch_compile_thread;

static const struct python *py;
static struct xsp_site *site;
static struct xsp_span span;    // of pytorch_compile_thread
static uint32_t nested;         // compilations in it, which PyTorch 2.15 does not report
static void *breaks;            // torch._dynamo.utils.graph_break_reasons, a list; NULL: this PyTorch has none
static python_size first_break; // of the span's, in it
static __thread struct {        // what this thread's innermost call of _compile compiles
  void *code;                   // borrowed; NULL: no call
  void *reason;                 // why it is compiled again; NULL: it is not, or unknown
} compiling;

static void tag(const char *key, void *text) // takes `text`, which may be NULL
{
  const char *value = text != NULL ? py->text(text) : NULL;
  if (value != NULL && strcmp(value, "None") != 0)
    xsp_span_tag_string(&span, key, value);
  if (text != NULL)
    py->decref(text);
}

// `arguments`: a torch._dynamo.callback.CallbackArgs; of older versions, nothing.
static void tag_arguments(void *arguments)
{
  void *event = py->tuple_size(arguments) > 0 ? py->tuple_item(arguments, 0) : NULL;
  if (event == NULL)
    return;
  tag("compile_id", py->get_attribute(event, "compile_id"));
  py->error_clear();
  void *trigger = py->get_attribute(event, "callback_trigger");
  tag("trigger", trigger != NULL ? py->get_attribute(trigger, "name") : NULL);
  if (trigger != NULL)
    py->decref(trigger);
}

static void tag_line(void *object, const char *attribute)
{
  void *line = pytorch_attribute(py, object, attribute);
  long long value = line != NULL ? py->int_value(line) : 0;
  if (value > 0)
    xsp_span_tag_int(&span, "line", value);
  pytorch_release(py, line);
}

// Of the code object: which function is compiled, from where.
static void tag_function(void)
{
  if (compiling.code == NULL)
    return;
  void *name = pytorch_attribute(py, compiling.code, "co_qualname"); // from 3.11 on
  tag("function", name != NULL ? name : py->get_attribute(compiling.code, "co_name"));
  tag("file", pytorch_attribute(py, compiling.code, "co_filename"));
  tag_line(compiling.code, "co_firstlineno");
  const char *reason = compiling.reason != NULL ? py->text(compiling.reason) : NULL;
  if (reason != NULL)
    xsp_span_tag_string(&span, "reason", reason);
}

static void begin(void *arguments)
{
  const struct pytorch_thread *thread = thread_get();
  if (compile_is_running(thread)) {
    nested++;
    return;
  }
  span = xsp_span_start(site);
  xsp_span_call_path(&span, pytorch_operators_path(pytorch_thread_own, NAME));
  tag_arguments(arguments);
  tag_function();
  first_break = breaks != NULL ? py->list_size(breaks) : 0;
  py->error_clear();
  if (pytorch_monitor_wants(XSP_DOMAIN_COMPILATION))
    pytorch_monitor_compilation(&span, NAME, false);
  nested = 0;
  pytorch_fused_compilation_begins();
  __atomic_store_n(&pytorch_compile_thread, thread, __ATOMIC_RELAXED);
}

// Of the first graph break in the span: its first line, and where the program is then ("net.py:12").
static void tag_break(void)
{
  python_size count = breaks != NULL ? py->list_size(breaks) : 0;
  void *one = count > first_break ? py->list_item(breaks, first_break) : NULL; // borrowed
  void *reason = pytorch_attribute(py, one, "reason"), *stack = pytorch_attribute(py, one, "user_stack");
  const char *text = reason != NULL ? py->text(reason) : NULL;
  if (text != NULL) {
    char line[256];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    xsp_span_tag_string(&span, "graph_break", line);
  }
  python_size depth = stack != NULL ? py->list_size(stack) : 0;
  void *frame = depth > 0 ? py->list_item(stack, depth - 1) : NULL;
  void *file = pytorch_attribute(py, frame, "filename"), *number = pytorch_attribute(py, frame, "lineno");
  const char *name = file != NULL ? py->text(file) : NULL;
  char place[1040];
  if (name != NULL && number != NULL) {
    snprintf(place, sizeof place, "%.1023s:%lld", name, py->int_value(number));
    xsp_span_tag_string(&span, "break_source", place);
  }
  pytorch_release(py, number);
  pytorch_release(py, file);
  pytorch_release(py, stack);
  pytorch_release(py, reason);
  py->error_clear();
}

static void finish(void)
{
  const struct pytorch_thread *thread = thread_get();
  if (compile_is_running(thread) && nested > 0) {
    nested--;
    return;
  }
  // Of compilations that overlap, PyTorch reports the first start and the last end: that span stays open.
  if (compile_is_running(thread)) {
    if (pytorch_monitor_wants(XSP_DOMAIN_COMPILATION))
      pytorch_monitor_compilation(&span, NAME, true);
    tag_break();
    xsp_span_finish(&span);
  }
  __atomic_store_n(&pytorch_compile_thread, NULL, __ATOMIC_RELAXED);
}

static void *starts(void *original, void *arguments, void *keywords)
{
  begin(arguments);
  return py->call(original, arguments, keywords);
}

static void *ends(void *original, void *arguments, void *keywords)
{
  void *result = py->call(original, arguments, keywords);
  void *type, *value, *traceback;
  py->error_fetch(&type, &value, &traceback);
  finish();
  py->error_restore(type, value, traceback);
  return result;
}

// _compile(code, …) of torch._dynamo.convert_frame, within which the callbacks run.
static void *compiles(void *original, void *arguments, void *keywords)
{
  void *code = compiling.code, *reason = compiling.reason;
  compiling.code = py->tuple_size(arguments) > 0 ? py->tuple_item(arguments, 0) : NULL;
  compiling.reason = NULL;
  void *result = py->call(original, arguments, keywords);
  pytorch_release(py, compiling.reason);
  compiling.code = code;
  compiling.reason = reason;
  return result;
}

// get_and_maybe_log_recompilation_reasons, which _compile calls before: the guards that failed, a list of texts.
static void *explains(void *original, void *arguments, void *keywords)
{
  void *result = py->call(original, arguments, keywords);
  if (result == NULL || compiling.code == NULL || py->list_size(result) < 1) {
    if (result != NULL)
      py->error_clear();
    return result;
  }
  pytorch_release(py, compiling.reason);
  compiling.reason = py->list_item(result, 0);
  py->incref(compiling.reason);
  return result;
}

bool pytorch_compile_replace(const struct python *python, void *object, struct python_definition *definition,
                             bool is_method)
{
  void *original = python->get_attribute(object, definition->name);
  void *function = original != NULL ? python->new_function(definition, original, NULL) : NULL;
  void *value = is_method && function != NULL ? python->new_method(function) : function;
  bool is_done = value != NULL && python->set_attribute(object, definition->name, value) == 0;
  if (value != NULL && value != function)
    python->decref(value);
  if (function != NULL)
    python->decref(function);
  if (original != NULL)
    python->decref(original);
  python->error_clear();
  return is_done;
}

bool pytorch_compile_python(const struct python *python, void *module)
{
  static struct python_definition start = {"run_start_callbacks", (void *)starts, 3, NULL}, // arguments and keywords
      end = {"run_end_callbacks", (void *)ends, 3, NULL};
  py = python;
  void *handler = py->get_attribute(module, "callback_handler");
  py->error_clear();
  if (handler == NULL) // the module's code is not at its end
    return false;
  site = xsp_site_create(TRACER, XSP_LEVEL_APPLICATION, NAME, "compile");
  // an end alone does nothing
  (void)(pytorch_compile_replace(py, handler, &end, false) && pytorch_compile_replace(py, handler, &start, false));
  py->decref(handler);
  return true;
}

bool pytorch_compile_reasons_python(const struct python *python, void *convert_frame, void *utils)
{
  static struct python_definition compile = {"_compile", (void *)compiles, 3, NULL}, // arguments and keywords
      explain = {"get_and_maybe_log_recompilation_reasons", (void *)explains, 3, NULL};
  py = python;
  void *original = pytorch_attribute(python, convert_frame, compile.name);
  if (original == NULL || utils == NULL) // the module's code is not at its end
    return false;
  py->decref(original);
  breaks = pytorch_attribute(python, utils, "graph_break_reasons"); // kept
  (void)pytorch_compile_replace(py, convert_frame, &compile, false);
  (void)pytorch_compile_replace(py, convert_frame, &explain, false); // before 2.6 there is none
  return true;
}
