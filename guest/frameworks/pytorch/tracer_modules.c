// SPDX-License-Identifier: Apache-2.0
// Calls of torch.nn.Module: the function object Module.__call__ gets another vectorcall, in C, which runs the original. No
// Python code changes and no frame is added, so torch.compile sees the same program. Everything here runs with the
// interpreter held, on the program's threads.
//
// Where the interpreter is not laid out as expected, modules are not recorded, with a note.
#include "frameworks/common/guest.h"
#include "frameworks/pytorch/tracer.h"

#include <string.h>

#define OFFSET_FLAG ((size_t)1 << (8 * sizeof(size_t) - 1)) // PY_VECTORCALL_ARGUMENTS_OFFSET

typedef void *(*vectorcall)(void *function, void *const *arguments, size_t count, void *keywords);
typedef void *(*method)(void *self, void *arguments, void *keywords);

static const struct python *py;
static void *(*modules_by_name)(void);                        // PyImport_GetModuleDict; borrowed
static void *(*dict_item)(void *dictionary, const char *key); // borrowed

// ---- calls -----------------------------------------------------------------------------------------------------------

static vectorcall original_call;
static bool names_parts; // for layers: models need their outermost call only

static bool attribute_is_true(void *object, const char *name)
{
  void *value = py->get_attribute(object, name);
  bool is_true = value != NULL && py->is_true(value) == 1;
  if (value != NULL)
    py->decref(value);
  py->error_clear();
  return is_true;
}

static void *call_outermost(struct pytorch_thread *thread, const struct module *module, void *function,
                            void *const *arguments, size_t count, void *keywords)
{
  struct steps_call call = {.name = module->class_name,
                            .module = arguments[0],
                            .is_model = module->is_model,
                            .is_training = attribute_is_true(arguments[0], "training")};
  call.signature = pytorch_inputs_signature(arguments, count & ~OFFSET_FLAG, keywords, &call.batch_size, &call.padding);
  pytorch_steps_call_begins(thread, &call);
  void *result = original_call(function, arguments, count, keywords);
  call.has_graph = result != NULL && (!pytorch_inputs_are_tensor(result) || attribute_is_true(result, "requires_grad"));
  if (result != NULL)
    pytorch_steps_call_ended(thread, &call);
  return result;
}

static void *call(void *function, void *const *arguments, size_t count, void *keywords)
{
  struct pytorch_thread *thread = (count & ~OFFSET_FLAG) > 0 ? thread_get() : NULL;
  if (thread == NULL || compile_is_running(thread))
    return original_call(function, arguments, count, keywords);
  uint32_t depth = thread->module_depth;
  if (depth > 0 && !names_parts)
    return original_call(function, arguments, count, keywords);
  thread->module_depth++;
  if (depth == 0) {
    thread->outermost_module = arguments[0];
    thread->was_repeated = false;
  }
  const struct module *module = pytorch_names_enter(arguments[0], thread->outermost_module, &thread->was_repeated);
  if (depth < DEPTH_MAXIMUM)
    thread->modules[depth] = module->name;
  void *result = depth == 0 ? call_outermost(thread, module, function, arguments, count, keywords)
                            : original_call(function, arguments, count, keywords);
  thread->module_depth = depth;
  return result;
}

static method original_backward;

static void *backward(void *self, void *arguments, void *keywords)
{
  struct pytorch_thread *thread = thread_get();
  if (thread == NULL || compile_is_running(thread))
    return original_backward(self, arguments, keywords);
  struct xsp_span span;
  thread->ready = (struct ready_gradients){.parameters = 0};
  pytorch_steps_backward_begins(thread, &span);
  void *result = original_backward(self, arguments, keywords);
  pytorch_steps_backward_ended(thread, &span);
  return result;
}

// ---- doors -----------------------------------------------------------------------------------------------------------

static bool has_type(void *object, const char *name)
{
  void *class = py->type_of(object), *text = class != NULL ? py->get_attribute(class, "__name__") : NULL;
  const char *found = text != NULL ? py->text(text) : NULL;
  bool is_it = found != NULL && strcmp(found, name) == 0;
  if (text != NULL)
    py->decref(text);
  if (class != NULL)
    py->decref(class);
  py->error_clear();
  return is_it;
}

static int64_t number_of(void *object, const char *name)
{
  void *value = py->get_attribute(object, name);
  int64_t number = value != NULL ? py->int_value(value) : -1;
  if (value != NULL)
    py->decref(value);
  py->error_clear();
  return number;
}

// PyTypeObject after its object's head: ob_size, tp_name, tp_basicsize, tp_itemsize, tp_dealloc, tp_vectorcall_offset. The
// sizes are compared with what the interpreter reports, and the function found there with that of another function.
static vectorcall *vectorcall_of(void *function, void *other)
{
  const size_t pointer = sizeof(void *);
  void *class = py->type_of(function); // lives on: it is builtin
  const char *type = class;
  int64_t size, offset;
  if (class == NULL || !has_type(function, "function") || !has_type(other, "function"))
    return NULL;
  memcpy(&size, type + py->object_size + 2 * pointer, sizeof size);
  memcpy(&offset, type + py->object_size + 5 * pointer, sizeof offset);
  if (size != number_of(class, "__basicsize__") || offset <= (int64_t)py->object_size ||
      offset > size - (int64_t)pointer || offset % (int64_t)pointer != 0)
    return NULL;
  vectorcall *place = (vectorcall *)(void *)((char *)function + offset);
  return *place != NULL && *place == *(vectorcall *)(void *)((char *)other + offset) ? place : NULL;
}

static bool open_module_door(void *class)
{
  void *function = py->get_attribute(class, "__call__"), *other = py->get_attribute(class, "register_buffer");
  vectorcall *place = function != NULL && other != NULL ? vectorcall_of(function, other) : NULL;
  if (place != NULL) {
    original_call = *place;
    void (*set)(void *, vectorcall) = NULL;
    void *symbol = py->symbol("PyFunction_SetVectorcall"); // from 3.12 on: else specialised code goes past it
    memcpy(&set, &symbol, sizeof set);
    if (set != NULL)
      set(function, call);
    else
      *place = call;
  }
  if (other != NULL)
    py->decref(other);
  py->error_clear();
  return place != NULL; // the function stays alive: its class has it
}

struct method_definition { // PyMethodDef
  const char *name;
  method function;
  int flags;
};

// PyMethodDescrObject: the object's head, d_type, d_name, d_qualname, d_method.
static bool open_backward_door(void *torch_c)
{
  void *class = py->get_attribute(torch_c, "_ImperativeEngine");
  void *found = class != NULL ? py->get_attribute(class, "run_backward") : NULL;
  struct method_definition *definition = NULL;
  if (found != NULL && has_type(found, "method_descriptor"))
    memcpy(&definition, (char *)found + py->object_size + 3 * sizeof(void *), sizeof definition);
  bool is_it = definition != NULL && strcmp(definition->name, "run_backward") == 0 && definition->flags == 3;
  if (is_it) {
    original_backward = definition->function;
    definition->function = backward;
  }
  if (found != NULL)
    py->decref(found);
  if (class != NULL)
    py->decref(class);
  py->error_clear();
  return is_it;
}

// The doors of modules, compilations and their reasons, fused kernels, data loaders and process groups were tried.
static bool is_open, is_compile_open, is_reason_open, is_fused_open, is_input_open, is_collective_open;

static void try_module_door(void)
{
  void *module = dict_item(modules_by_name(), "torch.nn.modules.module");
  void *class = module != NULL ? py->get_attribute(module, "Module") : NULL;
  void *torch_module = class != NULL ? dict_item(modules_by_name(), "torch") : NULL;
  void *tensor_class = torch_module != NULL ? py->get_attribute(torch_module, "Tensor") : NULL;
  if (tensor_class != NULL) {
    is_open = true;
    pytorch_inputs_start(py, tensor_class);
    pytorch_threads_python(py, torch_module);
    if (!open_module_door(class))
      guest_report("this Python keeps functions in an unknown way: modules of PyTorch are not recorded");
  }
  if (class != NULL)
    py->decref(class);
  py->error_clear();
}

static void try_compile_door(void)
{
  void *module = dict_item(modules_by_name(), "torch._dynamo.callback"); // torch.compile imports it
  is_compile_open = module != NULL && pytorch_compile_python(py, module);
  py->error_clear();
}

static void try_reason_door(void)
{
  void *convert_frame = dict_item(modules_by_name(), "torch._dynamo.convert_frame");
  is_reason_open = convert_frame != NULL && pytorch_compile_reasons_python(
                                                py, convert_frame, dict_item(modules_by_name(), "torch._dynamo.utils"));
}

static void try_input_door(void)
{
  void *module = dict_item(modules_by_name(), "torch.utils.data._utils.fetch");
  is_input_open = module != NULL && pytorch_input_python(py, module);
}

static void try_collective_door(void)
{
  void *module = dict_item(modules_by_name(), "torch.distributed.distributed_c10d");
  is_collective_open = module != NULL && pytorch_groups_python(py, module);
}

static void try_fused_door(void)
{
  void *async_compile = dict_item(modules_by_name(), "torch._inductor.async_compile");
  void *codegen = dict_item(modules_by_name(), "torch._inductor.codegen.cpp");
  is_fused_open = pytorch_fused_python(py, async_compile, codegen);
}

// Python calls it for each import, before the module's code runs: the first import after Module is defined.
static int audit(const char *event, void *arguments, void *data)
{
  if ((is_open && is_compile_open && is_reason_open && is_fused_open && is_input_open && is_collective_open) ||
      strcmp(event, "import") != 0)
    return 0;
  void *type, *value, *traceback;
  py->error_fetch(&type, &value, &traceback);
  if (!is_open)
    try_module_door();
  if (!is_compile_open)
    try_compile_door();
  if (!is_reason_open)
    try_reason_door();
  if (!is_fused_open)
    try_fused_door();
  if (!is_input_open)
    try_input_door();
  if (!is_collective_open)
    try_collective_door();
  py->error_restore(type, value, traceback);
  return 0;
}

#define LOOK_UP(variable, name)                                                                                        \
  do {                                                                                                                 \
    void *symbol_ = py->symbol(name);                                                                                  \
    memcpy(&(variable), &symbol_, sizeof symbol_);                                                                     \
  } while (0)

static const char *unusable(void)
{
  const char *(*version)(void);
  void *(*current)(void), *(*first)(void);
  LOOK_UP(version, "Py_GetVersion");
  LOOK_UP(current, "PyInterpreterState_Get");
  LOOK_UP(first, "PyInterpreterState_Main");
  if (version == NULL || current == NULL || first == NULL)
    return "this Python is not known: modules of PyTorch are not recorded";
  if (strstr(version(), "free-threading") != NULL)
    return "Python without a global lock: modules of PyTorch are not recorded";
  return current() != first() ? "PyTorch in a subinterpreter: its modules are not recorded" : NULL;
}

void pytorch_modules_python(const struct python *python, void *torch_c)
{
  static bool was_called;
  if (was_called)
    return;
  was_called = true;
  py = python;
  void *in_interpreter;
  memcpy(&in_interpreter, &py->incref, sizeof in_interpreter);
  pytorch_operators_python(in_interpreter);
  names_parts = (xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0;
  const char *why = unusable();
  int (*add_audit_hook)(int (*)(const char *, void *, void *), void *);
  LOOK_UP(modules_by_name, "PyImport_GetModuleDict");
  LOOK_UP(dict_item, "PyDict_GetItemString");
  LOOK_UP(add_audit_hook, "PySys_AddAuditHook");
  if (why == NULL &&
      (!pytorch_names_start(py) || modules_by_name == NULL || dict_item == NULL || add_audit_hook == NULL))
    why = "this Python lacks functions: modules of PyTorch are not recorded";
  if (why == NULL && !open_backward_door(torch_c))
    guest_report("this PyTorch has another autograd engine: backward passes are not recorded");
  if (why == NULL && add_audit_hook(audit, NULL) != 0)
    why = "this Python refuses audit hooks: modules of PyTorch are not recorded";
  if (why != NULL)
    guest_report(why);
  py->error_clear();
}
