// SPDX-License-Identifier: Apache-2.0
// Call paths of samples: whose line, which kind of code. Called by lines.c and by A1. Pure.
#include "analyze/lines/paths.h"

#include "analyze/installed.h"

#include <ctype.h>
#include <string.h>
#include <xsp/call_path.h>

const struct store_frame *path_frame(const struct store_call_paths *paths, uint32_t context_id)
{
  return &paths->frames[paths->contexts[context_id - 1].frame_id - 1];
}

static uint32_t caller_of(const struct store_call_paths *paths, uint32_t context_id)
{
  return (uint32_t)paths->contexts[context_id - 1].parent_id;
}

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static bool begins_with_one(const char *text, const char *const *prefixes, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
      return true;
  return false;
}

#define BEGINS_WITH_ONE(text, prefixes) begins_with_one(text, prefixes, sizeof(prefixes) / sizeof(prefixes)[0])

// Python itself, or the libraries that any code calls: libc alone does not make Python's time native.
static bool is_of_interpreter(const struct store_frame *frame)
{
  static const char *const modules[] = {"libpython", "python3", "python2", "python",     "libc.so",
                                        "libc-2",    "libm.so", "libm-2",  "libpthread", "ld-linux",
                                        "ld-2",      "ld-musl", "libdl",   "linux-vdso", "[vdso]"};
  return frame->module == NULL || BEGINS_WITH_ONE(base_name(frame->module), modules);
}

enum path_code path_code_of(const struct store_call_paths *paths, uint32_t context_id)
{
  bool is_first = true;
  for (uint32_t id = context_id; id != 0; id = caller_of(paths, id), is_first = false) {
    const struct store_frame *frame = path_frame(paths, id);
    if (frame->kind == XSP_FRAME_PYTHON)
      return PATH_PYTHON;
    if (frame->kind == XSP_FRAME_FRAMEWORK)
      return is_first ? PATH_OPERATOR : PATH_NATIVE;
    if (!is_of_interpreter(frame))
      return PATH_NATIVE;
  }
  return PATH_NATIVE; // without any Python
}

static bool is_own_source(const char *file)
{
  static const char *const system[] = {"/usr/", "/build/", "./", "../"}; // of distributions' packages
  return file != NULL && file[0] == '/' && !BEGINS_WITH_ONE(file, system);
}

uint32_t path_own_line(const struct store_call_paths *paths, uint32_t context_id)
{
  uint32_t native_id = 0;
  bool has_python = false;
  for (uint32_t id = context_id; id != 0; id = caller_of(paths, id)) {
    const struct store_frame *frame = path_frame(paths, id);
    if (frame->kind == XSP_FRAME_PYTHON && !analyze_is_installed(frame->file))
      return id;
    has_python |= frame->kind == XSP_FRAME_PYTHON;
    if (native_id == 0 && frame->kind == XSP_FRAME_NATIVE && is_own_source(frame->file))
      native_id = id;
  }
  return has_python ? 0 : native_id;
}

uint32_t path_known_line(const struct store_call_paths *paths, uint32_t context_id)
{
  for (uint32_t id = context_id; id != 0; id = caller_of(paths, id))
    if (path_frame(paths, id)->file != NULL)
      return id;
  return context_id;
}

const char *path_function(const struct store_frame *frame)
{
  if (frame->name != NULL)
    return frame->name;
  return frame->module != NULL ? base_name(frame->module) : NULL;
}

// Frames that people do not look for: interpreters, PyTorch's way from a module's call to its forward function, and functions
// that decorators of packages put around others.
static bool hands_on(const struct store_frame *frame)
{
  static const char *const wrappers[] = {"wrapper",
                                         "wrapped",
                                         "inner",
                                         "decorate_context",
                                         "_use_grad",
                                         "error_handler",
                                         "op_dispatch_handler",
                                         "reraise_with_filtered_traceback"};
  if (frame->kind == XSP_FRAME_NATIVE)
    return is_of_interpreter(frame) || (frame->name != NULL && strncmp(frame->name, "_Z", 2) == 0); // cut, so mangled
  if (!analyze_is_installed(frame->file))
    return false;
  if (frame->file != NULL && strstr(frame->file, "torch/nn/modules/module.py") != NULL)
    return true;
  const char *name = frame->name != NULL ? frame->name : "", *dot = strrchr(name, '.');
  if (strstr(name, ".<locals>.wrap") != NULL)
    return true;
  for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++)
    if (strcmp(dot != NULL ? dot + 1 : name, wrappers[i]) == 0)
      return true;
  return false;
}

// Of the word `operator` and its signs, "operator()" or "operator<<", at `at`; else 0.
static size_t operator_length(const char *name, const char *at)
{
  bool begins = at == name || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
  if (!begins || strncmp(at, "operator", 8) != 0 || isalnum((unsigned char)at[8]) || at[8] == '_')
    return 0;
  return 8 + (strncmp(at + 8, "()", 2) == 0 ? 2 : strspn(at + 8, "<>=!+-*/%^&|~,"));
}

// Where a qualified name of C++ begins, after what it returns, and how long it is, without parameters.
static const char *qualified_name(const char *name, size_t *ret_length)
{
  const char *begin = name, *at = name;
  bool is_operator = false; // what follows has spaces: "operator bool", "operator<< <char>"
  for (int depth = 0; *at != 0; at++) {
    size_t length = operator_length(name, at);
    if (length > 0) {
      is_operator |= depth == 0;
      at += length - 1;
      continue;
    }
    if (depth == 0 && *at == '(' && strncmp(at, "(anonymous namespace)", 21) != 0)
      break;
    depth += (*at == '<' || *at == '(' || *at == '{') - (*at == '>' || *at == ')' || *at == '}');
    if (depth == 0 && *at == ' ' && !is_operator)
      begin = at + 1;
  }
  *ret_length = (size_t)(at - begin);
  return begin;
}

// "torch::autograd::THPVariable_contiguous(_object*, _object*, _object*)" -> "Tensor.contiguous"; so of what an operator calls,
// "_object* torch::autograd::TypeError_to_NotImplemented_<&torch::autograd::THPVariable_matmul>(_object*, _object*, _object*)".
static const char *readable_name(const struct store_frame *frame, struct arena *arena)
{
  static const char method[] = "torch::autograd::THPVariable_",
                    around[] = "torch::autograd::TypeError_to_NotImplemented_<&";
  static const char *const known[][2] = {{"PyArray_bf_getbuffer", "numpy.asarray() of an array of JAX"},
                                         {"PyArray::BlockUntilReady", "block_until_ready()"},
                                         {"PjitFunction_tp_vectorcall", "a function under jax.jit"},
                                         {"ufunc_generic_fastcall", "NumPy's arithmetic on arrays"}};
  size_t length;
  for (size_t i = 0; frame->kind == XSP_FRAME_NATIVE && i < sizeof known / sizeof known[0]; i++)
    if (strstr(frame->name, known[i][0]) != NULL)
      return known[i][1];
  if (frame->kind != XSP_FRAME_NATIVE || strchr(frame->name, '(') == NULL)
    return frame->name;
  const char *name = qualified_name(frame->name, &length);
  if (length == 0)
    return frame->name;
  if (strncmp(name, around, sizeof around - 1) == 0) {
    name += sizeof around - 1;
    length -= sizeof around; // with its ">"
  }
  if (strncmp(name, method, sizeof method - 1) == 0)
    return arena_format(arena, "Tensor.%.*s", (int)(length - (sizeof method - 1)), name + sizeof method - 1);
  return arena_copy(arena, name, length);
}

const char *path_callee(const struct store_call_paths *paths, uint32_t line_id, uint32_t context_id,
                        struct arena *arena)
{
  const struct store_frame *outer = NULL, *wanted = NULL; // the outermost below the line, of all and of those wanted
  for (uint32_t id = context_id; id != 0 && id != line_id; id = caller_of(paths, id)) {
    const struct store_frame *frame = path_frame(paths, id);
    if (path_function(frame) == NULL)
      continue;
    outer = frame;
    wanted = hands_on(frame) ? wanted : frame;
  }
  const struct store_frame *callee = wanted != NULL ? wanted : outer;
  if (callee == NULL)
    return NULL;
  bool is_native = callee->kind == XSP_FRAME_NATIVE;
  const char *from = is_native ? callee->module : callee->file;
  if (from == NULL || callee->name == NULL)
    return path_function(callee);
  const char *base = base_name(from);
  int length = (int)(is_native ? strcspn(base, ".") : strlen(base)); // versions and platforms say nothing here
  return arena_format(arena, "%s (%.*s)", readable_name(callee, arena), length, base);
}
