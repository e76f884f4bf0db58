// SPDX-License-Identifier: Apache-2.0
// Compilations of torch.compile: Dynamo runs its callback handler at the start and end of each, on the thread that compiles.
// Two methods of the handler, on the object, get functions in C. Rejected: to register callbacks with it, as
// torch._dynamo.reset() forgets them. A compilation runs operators, backward passes and modules on fake tensors: what asks
// compile_is_running leaves them out. Everything else here runs with the interpreter held.
#include "frameworks/pytorch/tracer.h"

#include <string.h>
#include <xsp/call_path.h>
#include <xsp/monitor.h>

#define NAME "torch.compile"

const struct pytorch_thread *pytorch_compile_thread;

static const struct python *py;
static struct xsp_site *site;
static struct xsp_span span; // of pytorch_compile_thread
static uint32_t nested;      // compilations in it, which PyTorch 2.15 does not report

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
  py->error_clear();
  if (pytorch_monitor_wants(XSP_DOMAIN_COMPILATION))
    pytorch_monitor_compilation(&span, NAME, false);
  nested = 0;
  pytorch_fused_compilation_begins();
  __atomic_store_n(&pytorch_compile_thread, thread, __ATOMIC_RELAXED);
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
