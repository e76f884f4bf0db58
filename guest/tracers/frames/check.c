// SPDX-License-Identifier: Apache-2.0
// Verifies at setup, with the GIL held, all that is assumed of the interpreter's layout: runs a few lines of Python that
// come back into C, and compares each frame of that stack with the public API. Memory is read only after the kernel has
// confirmed that it can be.
#include "tracers/frames/interpreter.h"
#include "tracers/frames/python.h"
#include "tracers/frames/readable.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// A function, a method that recurses, a generator that C code resumes, and a lambda that C code calls. Characters of one,
// two, three and four bytes.
static const char program[] = "def é(check):\n"
                              "  class Ü:\n"
                              "    def Ω(self, depth):\n"
                              "      if depth:\n"
                              "        return self.Ω(depth - 1)\n"
                              "      return sorted([0], key=lambda _: check())\n"
                              "  def 𐌀():\n"
                              "    yield Ü().Ω(3)\n"
                              "  return list(𐌀())\n"
                              "import atexit\n"
                              "é(check)\n"
                              "atexit.register(over)\n";
enum { PYTHON_FILE_INPUT = 257, PROGRAM_FRAMES = 8 }; // <module>, é, 𐌀, four times Ω, <lambda>
enum { METHOD_WITHOUT_ARGUMENTS = 4 };                // METH_NOARGS

struct method { // PyMethodDef
  const char *name;
  python_function *function;
  int flags;
  const char *documentation;
};

static struct { // of the one check
  const struct python_api *api;
  struct interpreter *python;
  bool is_done; // the program came here, and all was as assumed
  char *why;
  size_t why_size;
} the;

__attribute__((format(printf, 1, 2))) static bool refuse(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  int length = the.why[0] != '\0' ? 0 : snprintf(the.why, the.why_size, "Python 3.%u: ", the.python->minor);
  if (length > 0 && (size_t)length < the.why_size) // the first reason counts
    vsnprintf(the.why + length, the.why_size - (size_t)length, format, arguments);
  va_end(arguments);
  return false;
}

static bool is_readable(const void *base, uint32_t offset)
{
  return is_readable_memory((const char *)base + offset);
}

// The interpreter unmaps a block only after the thread state names another one.
static uint32_t find_frame_memory(const char *thread, const char *frame)
{
  for (uint32_t offset = 0; offset + BLOCK_END < the.python->thread_bytes && is_readable(thread, offset + BLOCK_END);
       offset += 8) {
    const char *block = word_at(thread, offset), *end = word_at(thread, offset + BLOCK_END);
    if (block != NULL && block < frame && frame < end && is_readable(block, BLOCK_SIZE) &&
        word_at(block, BLOCK_SIZE) == (const void *)(end - block))
      return offset;
  }
  return NO_OFFSET;
}

// The walk of python.c with each word checked first. It ends where the interpreter's own stack does.
static bool stack_is_readable(void)
{
  struct interpreter *python = the.python;
  const char *thread = (const char *)python->thread_state();
  if (!is_readable(thread, python->thread_frame))
    return refuse("its thread state is not as assumed");
  const char *frame = (const char *)word_at(thread, python->thread_frame);
  if (python->control_frame != NO_OFFSET) {
    if (!is_readable(frame, python->control_frame))
      return refuse("its control frames are not as assumed");
    frame = (const char *)word_at(frame, python->control_frame);
  }
  python->frame_memory = find_frame_memory(thread, frame);
  for (int depth = 0; frame != NULL && depth < 2 * PYTHON_FRAMES_MOST; depth++) {
    bool has_owner = python->owner != NO_OFFSET;
    if (!is_readable(frame, python->code) || !is_readable(frame, python->back) ||
        !is_readable(frame, python->instruction) || (has_owner && !is_readable(frame, python->owner)))
      return refuse("frame %d is not readable memory", depth);
    frame = (const char *)word_at(frame, python->back);
  }
  return true;
}

// The attribute, which its owner keeps alive. NULL: it has none.
static object *attribute(object *owner, const char *name)
{
  object *value = the.api->PyObject_GetAttrString(owner, name);
  if (value == NULL)
    the.api->PyErr_Clear();
  else
    the.api->Py_DecRef(value);
  return value;
}

static const char *name_attribute(void)
{
  return the.python->minor == 10 ? "co_name" : "co_qualname";
}

// The word of the code object that is this object; NO_OFFSET: none.
static uint32_t find_word(const object *code, uint32_t size, const object *wanted)
{
  for (uint32_t offset = OBJECT_SIZE; offset + sizeof wanted <= size; offset += (uint32_t)sizeof wanted)
    if (word_at(code, offset) == wanted)
      return offset;
  return NO_OFFSET;
}

// What a text is follows `interned`, which has 2 bits, or 16 in early builds of 3.14. The file's name has characters
// of two bytes and is not ASCII.
static bool find_text_layout(const object *file)
{
  enum { KIND_2_COMPACT = 2 | 1 << 3 };
  static const uint32_t shifts[] = {2, 16};
  struct text_layout *text = &the.python->text;
  uint32_t state;
  memcpy(&state, (const char *)file + text->state, sizeof state);
  for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++)
    if ((state >> shifts[i] & 31) == KIND_2_COMPACT) {
      text->kind_shift = shifts[i];
      return true;
    }
  return refuse("its texts are not as assumed");
}

// Finds the fields of code objects by one whose values are known and differ from all others': the lambda's.
static bool find_code_layout(object *code)
{
  struct interpreter *python = the.python;
  object *size = the.api->PyObject_GetAttrString(the.api->PyCode_Type, "__basicsize__");
  long basic_size = size == NULL ? 0 : the.api->PyLong_AsLong(size);
  if (size != NULL)
    the.api->Py_DecRef(size);
  object *file = attribute(code, "co_filename"), *name = attribute(code, name_attribute());
  if (basic_size < 64 || basic_size > 4096 || file == NULL || name == NULL)
    return refuse("its code objects are not as assumed");
  python->code_units = (uint32_t)basic_size; // 3.11+: instructions follow the fixed part
  python->file = find_word(code, (uint32_t)basic_size, file);
  python->name = find_word(code, (uint32_t)basic_size, name);
  if (python->file == NO_OFFSET || python->name == NO_OFFSET)
    return refuse("its code objects do not hold their names");
  return find_text_layout(file);
}

static bool text_is_same(const object *read, object *public, const char *what)
{
  char ours[512];
  intptr_t length = 0;
  if (read != public)
    return refuse("a code object's %s is not where it was in another one", what);
  const char *theirs = the.api->PyUnicode_AsUTF8AndSize(public, &length);
  if (theirs == NULL) { // a lone surrogate
    the.api->PyErr_Clear();
    return true;
  }
  if (!frame_text_read(&the.python->text, read, ours, sizeof ours))
    return refuse("its texts are not as assumed");
  size_t count = strlen(ours);
  bool is_whole = (size_t)length < sizeof ours;
  return (is_whole ? count == (size_t)length : count + 4 >= sizeof ours) && memcmp(ours, theirs, count) == 0
             ? true
             : refuse("a text is read as \"%.40s\", it is \"%.40s\"", ours, theirs);
}

// `public` is the frame object of the same frame.
static bool frame_is_same(const struct python_frame *frame, object *public, int depth)
{
  const struct python_api *api = the.api;
  object *code = api->PyFrame_GetCode(public), *last = api->PyObject_GetAttrString(public, "f_lasti");
  api->Py_DecRef(code);
  long position = last == NULL ? -1 : api->PyLong_AsLong(last);
  if (last != NULL)
    api->Py_DecRef(last);
  if (code != (object *)(uintptr_t)frame->code || word_at(code, OBJECT_TYPE) != api->PyCode_Type)
    return refuse("frame %d has another code object", depth);
  if (depth == 0 && !find_code_layout(code))
    return false;
  int64_t ours = interpreter_position(the.python, frame);
  if (ours != position && (ours >= 0 || position >= 0)) // negative: not begun
    return refuse("frame %d is at instruction %ld, not %ld", depth, (long)ours, position);
  int line = api->PyFrame_GetLineNumber(public), found = api->PyCode_Addr2Line(code, (int)position);
  if (line != found)
    return refuse("frame %d is at line %d, not %d", depth, line, found);
  return text_is_same(word_at(code, the.python->file), attribute(code, "co_filename"), "file") &&
         text_is_same(word_at(code, the.python->name), attribute(code, name_attribute()), "name");
}

static bool stack_is_same(void)
{
  const struct python_api *api = the.api;
  struct interpreter *python = the.python;
  object *public = api->PyThreadState_GetFrame(python->thread_state());
  char *frame = interpreter_skip(python, interpreter_top(python));
  bool is_same = true;
  int depth = 0;
  for (; is_same && public != NULL && frame != NULL && depth < PYTHON_FRAMES_MOST; depth++) {
    struct python_frame read = interpreter_read(python, frame);
    is_same = frame_is_same(&read, public, depth);
    object *back = api->PyFrame_GetBack(public);
    api->Py_DecRef(public);
    public = back;
    frame = interpreter_skip(python, (char *)word_at(frame, python->back));
  }
  if (public != NULL)
    api->Py_DecRef(public);
  if (is_same && ((public == NULL) != (frame == NULL) || depth < PROGRAM_FRAMES))
    return refuse("its stack is read with %d frames", depth);
  return is_same;
}

static object *check(object *self, object *arguments)
{
  the.is_done = stack_is_readable() && stack_is_same();
  return the.api->PyBool_FromLong(the.is_done);
}

static bool run_program(python_function *over)
{
  static struct method methods[] = {{"check", check, METHOD_WITHOUT_ARGUMENTS, NULL},
                                    {"over", NULL, METHOD_WITHOUT_ARGUMENTS, NULL}};
  const struct python_api *api = the.api;
  methods[1].function = over;
  object *globals = api->PyDict_New(), *file = api->PyUnicode_FromString("<xsp Ωé>"), *result = NULL;
  object *code = file == NULL ? NULL : api->Py_CompileStringObject(program, file, PYTHON_FILE_INPUT, NULL, -1);
  bool is_made = globals != NULL && code != NULL &&
                 api->PyDict_SetItemString(globals, "__builtins__", api->PyEval_GetBuiltins()) == 0;
  for (int i = 0; is_made && i < 2; i++) {
    object *function = api->PyCFunction_NewEx(&methods[i], NULL, NULL);
    is_made = function != NULL && api->PyDict_SetItemString(globals, methods[i].name, function) == 0;
    if (function != NULL)
      api->Py_DecRef(function);
  }
  if (is_made)
    result = api->PyEval_EvalCode(code, globals, globals);
  if (result == NULL)
    api->PyErr_Clear();
  bool is_run = result != NULL;
  object *made[] = {result, code, file, globals};
  for (int i = 0; i < 4; i++)
    if (made[i] != NULL)
      api->Py_DecRef(made[i]);
  return is_run || refuse("it did not run xsp's lines of Python");
}

bool interpreter_check(const struct python_api *api, struct interpreter *python, python_function *over, char *why,
                       size_t why_size)
{
  the.api = api;
  the.python = python;
  the.why = why;
  the.why_size = why_size;
  why[0] = '\0';
  return run_program(over) && (the.is_done || refuse("xsp's lines of Python were not run"));
}
