// SPDX-License-Identifier: Apache-2.0
// What python.c knows of the interpreter in its process: layouts (bytes from the beginning of a structure) and two of its
// functions. Made and verified at setup (layout.c, check.c), constant after that.
#ifndef XSP_TRACERS_FRAMES_INTERPRETER_H
#define XSP_TRACERS_FRAMES_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void object; // PyObject

#define NO_OFFSET UINT32_MAX

// A text in memory: PyUnicodeObject, compact.
struct text_layout {
  uint32_t length, state;                // Py_ssize_t; the word of bit fields
  uint32_t kind_shift;                   // in `state`: 3 bits kind, then compact, then ASCII
  uint32_t ascii_header, unicode_header; // where characters begin
};

struct interpreter {
  uint32_t minor;                       // of 3.minor
  object *(*thread_state)(void);        // PyGILState_GetThisThreadState: needs no GIL
  int (*line_of)(object *code, int at); // PyCode_Addr2Line: reads the code object only
  const object *code_type;
  uint32_t thread_bytes;  // of a thread state, at least; 0: it has no blocks of frames' memory (3.10)
  uint32_t thread_frame;  // thread state → frame, or → control frame
  uint32_t frame_memory;  // thread state → newest block of its frames' memory (3.11+); NO_OFFSET: not found
  uint32_t control_frame; // control frame → frame; NO_OFFSET: there is none (3.10, 3.13+)
  uint32_t code, back, instruction, owner; // in the frame; `owner` NO_OFFSET: 3.10
  uint32_t frame_bytes;                    // from the frame's beginning to the end of the last of these
  uint32_t code_units;                     // in the code object: the first instruction (3.11+)
  uint32_t file, name;                     // in the code object: co_filename, co_qualname (3.10: co_name)
  struct text_layout text;
};

// PyObject and PyVarObject, of every build that is not refused.
enum { OBJECT_TYPE = 8, OBJECT_SIZE = 16 };
// The size of a block of frames' memory, in the block. The thread state has the block's end two words after the block.
enum { BLOCK_SIZE = 8, BLOCK_END = 16 };
// The control frame before, in a control frame: after its frame.
enum { CONTROL_FRAME_BEFORE = 8 };
// Frames of this owner and above belong to the interpreter's C code (3.12+).
#define OWNER_C_STACK 3
// 3.11: the byte before the owner is not 0 where C code entered the frame.
enum { ENTRY_BEFORE_OWNER = 1 };

struct python_frame {
  uint64_t code;        // address
  uint64_t instruction; // address; 3.10: index of the instruction
};

static inline void *word_at(const void *base, uint32_t offset)
{
  void *word;
  __builtin_memcpy(&word, (const char *)base + offset, sizeof word);
  return word;
}

static inline char *interpreter_top(const struct interpreter *python)
{
  object *thread = python->thread_state();
  char *frame = thread == NULL ? NULL : (char *)word_at(thread, python->thread_frame);
  return frame == NULL || python->control_frame == NO_OFFSET ? frame : (char *)word_at(frame, python->control_frame);
}

// The newest block of the thread's frames, which is mapped while the thread state names it. *ret_bytes: of it, where a frame may begin.
static inline uintptr_t interpreter_newest_block(const struct interpreter *python, const char *thread,
                                                 uintptr_t *ret_bytes)
{
  const char *block = python->frame_memory != NO_OFFSET ? (const char *)word_at(thread, python->frame_memory) : NULL;
  uintptr_t bytes = block != NULL ? (uintptr_t)word_at(block, BLOCK_SIZE) : 0; // 0: it is being made
  *ret_bytes = bytes > python->frame_bytes ? bytes - python->frame_bytes : 0;
  return (uintptr_t)block;
}

// The first frame from `frame` outwards that runs Python; NULL: none.
static inline char *interpreter_skip(const struct interpreter *python, char *frame)
{
  while (frame != NULL && python->owner != NO_OFFSET && frame[python->owner] >= OWNER_C_STACK)
    frame = (char *)word_at(frame, python->back);
  return frame;
}

static inline struct python_frame interpreter_read(const struct interpreter *python, const char *frame)
{
  uint64_t code = (uint64_t)(uintptr_t)word_at(frame, python->code) & ~UINT64_C(3); // 3.14 tags references
  uint64_t word = (uint64_t)(uintptr_t)word_at(frame, python->instruction);
  return (struct python_frame){code, python->minor == 10 ? (uint64_t)(int32_t)word : word};
}

// The position of the instruction as PyCode_Addr2Line takes it; negative: not begun.
static inline int64_t interpreter_position(const struct interpreter *python, const struct python_frame *frame)
{
  if (python->minor == 10)
    return (int64_t)frame->instruction * 2;
  return (int64_t)(frame->instruction - frame->code - python->code_units);
}

// ---- text.c
// Writes the text as UTF-8 with a NUL, cut at a character where it does not fit; a lone surrogate becomes U+FFFD. False:
// not a text of a known kind.
bool frame_text_read(const struct text_layout *layout, const object *text, char *utf8, size_t size);

// ---- layout.c
// Functions of the interpreter that setup calls.
#define EACH_PYTHON_FUNCTION(X)                                                                                        \
  X(const char *, Py_GetVersion, (void))                                                                               \
  X(void, Py_DecRef, (object *))                                                                                       \
  X(int, PyGILState_Check, (void))                                                                                     \
  X(object *, PyGILState_GetThisThreadState, (void))                                                                   \
  X(object *, PyInterpreterState_Get, (void))                                                                          \
  X(object *, PyInterpreterState_Main, (void))                                                                         \
  X(object *, PyThreadState_GetFrame, (object *))                                                                      \
  X(object *, PyFrame_GetCode, (object *))                                                                             \
  X(object *, PyFrame_GetBack, (object *))                                                                             \
  X(int, PyFrame_GetLineNumber, (object *))                                                                            \
  X(int, PyCode_Addr2Line, (object *, int))                                                                            \
  X(object *, PyObject_GetAttrString, (object *, const char *))                                                        \
  X(long, PyLong_AsLong, (object *))                                                                                   \
  X(object *, PyBool_FromLong, (long))                                                                                 \
  X(object *, PyUnicode_FromString, (const char *))                                                                    \
  X(const char *, PyUnicode_AsUTF8AndSize, (object *, intptr_t *))                                                     \
  X(object *, PyDict_New, (void))                                                                                      \
  X(int, PyDict_SetItemString, (object *, const char *, object *))                                                     \
  X(object *, PyCFunction_NewEx, (void *, object *, object *))                                                         \
  X(object *, PyEval_GetBuiltins, (void))                                                                              \
  X(object *, PyEval_EvalCode, (object *, object *, object *))                                                         \
  X(object *, Py_CompileStringObject, (const char *, object *, int, void *, int))                                      \
  X(void *, PyType_GetSlot, (object *, int))                                                                           \
  X(void, PyErr_Fetch, (object **, object **, object **))                                                              \
  X(void, PyErr_Restore, (object *, object *, object *))                                                               \
  X(void, PyErr_Clear, (void))

struct python_api {
#define DECLARE(returned, name, arguments) returned(*name) arguments;
  EACH_PYTHON_FUNCTION(DECLARE)
#undef DECLARE
  object *PyCode_Type;
  const char *runtime; // _PyRuntime; NULL: not exported
};

// All of the interpreter but what check.c finds. False: `why`.
bool interpreter_find(const void *caller_in_interpreter, struct python_api *ret_api, struct interpreter *ret_python,
                      char *why, size_t why_size);

// ---- check.c
// Runs Python code and compares each frame of its stack, read by `python`, with the public API. Finds the layouts of code
// objects and texts. `over` is registered with atexit. False: `why`.
typedef object *python_function(object *self, object *arguments);
bool interpreter_check(const struct python_api *api, struct interpreter *python, python_function *over, char *why,
                       size_t why_size);

#endif
