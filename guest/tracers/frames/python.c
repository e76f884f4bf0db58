// SPDX-License-Identifier: Apache-2.0
// Walks the Python stack of the calling thread and finds its call path: by one lookup of the whole stack's hash, else frame
// by frame, else by the code object's texts. Called by tracers at operators.
//
// A frame is known by (code object, generation, instruction). Addresses of code objects are used again: whenever one dies,
// the generation of its address changes, in `generations`, so that what is cached of it is never found again. Addresses
// share generations; then a stack is looked up anew. All of it is exact: a hash is trusted (hash_cache.h), an address is not.
#include "tracers/frames/python.h"

#include "tracers/frames/hash_cache.h"
#include "tracers/frames/interpreter.h"
#include "tracers/frames/readable.h"
#include "tracers/frames/unwind.h"

#include <stdio.h>
#include <string.h>
#include <xsp/call_path.h>

#define GENERATIONS 4096 // 16 KiB: each frame of each walk reads one
#define NAME_BYTES 512
#define FILE_BYTES 4096

static struct interpreter python; // constant while `is_on`
static struct hash_cache cache;
static uint32_t is_on; // atomic: stacks are read
static uint32_t generations[GENERATIONS];
static uint64_t known_codes[GENERATIONS];  // atomic: a code object that lives, with its texts; | WAS_CODE; 0: none
#define WAS_CODE 1                         // it looked like a code object, and no end of it was seen since
static void (*code_dealloc)(object *code); // PyCode_Type's own

// ---- code objects that die
static size_t code_slot(uint64_t code)
{
  return (code >> 5) % GENERATIONS;
}

static uint32_t *generation_of(uint64_t code)
{
  return &generations[code_slot(code)];
}

static bool is_known_code(uint64_t code)
{
  return code != 0 && __atomic_load_n(&known_codes[code_slot(code)], __ATOMIC_ACQUIRE) == code;
}

static bool was_code(uint64_t code)
{
  return code != 0 && (__atomic_load_n(&known_codes[code_slot(code)], __ATOMIC_RELAXED) & ~(uint64_t)WAS_CODE) == code;
}

// Of a code object that a frame of this thread holds: its end is seen.
static void know_code(uint64_t code)
{
  __atomic_store_n(&known_codes[code_slot(code)], code, __ATOMIC_RELEASE);
}

// PyCode_Type.tp_dealloc: before the memory is free. With the interpreter's GIL; subinterpreters may have their own.
static void note_code_end(object *code)
{
  __atomic_add_fetch(generation_of((uintptr_t)code), 1, __ATOMIC_RELAXED);
  if (was_code((uintptr_t)code))
    __atomic_store_n(&known_codes[code_slot((uintptr_t)code)], 0, __ATOMIC_RELAXED);
  code_dealloc(code);
}

enum { TYPE_DEALLOC = 48, SLOT_DEALLOC = 52 }; // in PyTypeObject; Py_tp_dealloc

// 3.12 has watchers of code objects, earlier versions have not: the type's slot is the same in all.
static bool watch_code(const struct python_api *api, char *why, size_t why_size)
{
  void *slot = api->PyType_GetSlot(api->PyCode_Type, SLOT_DEALLOC), *note = NULL;
  void (*function)(object *) = note_code_end;
  memcpy(&note, &function, sizeof note);
  void **place = (void **)((char *)api->PyCode_Type + TYPE_DEALLOC);
  if (slot == NULL || *place != slot) {
    snprintf(why, why_size, "Python 3.%u: the type of its code objects is not as assumed", python.minor);
    return false;
  }
  memcpy(&code_dealloc, &slot, sizeof slot);
  __atomic_store_n(place, note, __ATOMIC_RELEASE);

  object *file = api->PyUnicode_FromString("<xsp>");
  object *code = file == NULL ? NULL : api->Py_CompileStringObject("0", file, 257, NULL, -1);
  uint32_t *generation = generation_of((uintptr_t)code), before = __atomic_load_n(generation, __ATOMIC_RELAXED);
  if (code != NULL)
    api->Py_DecRef(code);
  if (file != NULL)
    api->Py_DecRef(file);
  if (code != NULL && __atomic_load_n(generation, __ATOMIC_RELAXED) != before)
    return true;
  snprintf(why, why_size, "Python 3.%u: the end of code objects cannot be seen", python.minor);
  return false;
}

// ---- setup
// At Python's exit, before other threads' stacks are freed.
static object *(*make_bool)(long);
static object *end_walks(object *self, object *arguments)
{
  __atomic_store_n(&is_on, 0, __ATOMIC_RELAXED);
  return make_bool(true);
}

static bool set_up(const void *caller_in_interpreter, char *why, size_t why_size)
{
  static struct python_api api;
  object *type, *value, *trace;
  if (!interpreter_find(caller_in_interpreter, &api, &python, why, why_size))
    return false;
  make_bool = api.PyBool_FromLong;
  api.PyErr_Fetch(&type, &value, &trace); // a pending exception stays pending
  bool is_usable = interpreter_check(&api, &python, end_walks, why, why_size) && watch_code(&api, why, why_size);
  api.PyErr_Restore(type, value, trace);
  if (is_usable && !hash_cache_map(&cache)) {
    snprintf(why, why_size, "no memory for call paths");
    is_usable = false;
  }
  __atomic_store_n(&is_on, is_usable, __ATOMIC_RELEASE);
  return is_usable;
}

bool python_frames_setup(const void *caller_in_interpreter, char *why, size_t why_size)
{
  static char first_why[256];
  static bool is_done, is_usable;
  if (!is_done) {
    is_done = true;
    is_usable = set_up(caller_in_interpreter, first_why, sizeof first_why);
  }
  snprintf(why, why_size, "%s", first_why);
  return is_usable;
}

bool python_frames_are_read(void)
{
  return __atomic_load_n(&is_on, __ATOMIC_ACQUIRE);
}

// ---- walks
struct stack {
  struct hash128 hash; // of all frames, from the innermost
  uint32_t count;
  bool has_more;   // than PYTHON_FRAMES_MOST
  bool is_found;   // the frame where the walk was to end
  bool is_checked; // the innermost frame may be one that is being made or left, whose code object has ended
  struct python_frame frames[PYTHON_FRAMES_MOST];
};

// A frame as two words. The upper half of the instruction's address follows from the code object's: a generation changes it
// without making two frames one.
__attribute__((always_inline)) static inline void hash_frame(struct hash128 *hash, const struct python_frame *frame)
{
  uint64_t generation = __atomic_load_n(generation_of(frame->code), __ATOMIC_RELAXED);
  hash128_add(hash, frame->code, frame->instruction ^ generation << 32);
}

static void walk(const struct python_place *since, struct stack *ret_stack)
{
  const struct interpreter layout = python; // in registers: nothing that is stored here changes it
  char *frame = interpreter_top(&layout);
  uint32_t count = 0;
  struct hash128 hash = {0, 0};
  while ((frame = interpreter_skip(&layout, frame)) != NULL && frame != since->frame && count < PYTHON_FRAMES_MOST) {
    struct python_frame *read = &ret_stack->frames[count++];
    *read = interpreter_read(&layout, frame);
    hash_frame(&hash, read);
    frame = (char *)word_at(frame, layout.back);
  }
  ret_stack->hash = hash;
  ret_stack->count = count;
  ret_stack->has_more = count == PYTHON_FRAMES_MOST && frame != NULL && frame != since->frame;
  ret_stack->is_found = frame == since->frame;
  ret_stack->is_checked = false;
}

// ---- walks that check what they read
// Frames are in the newest block, those of C code (3.12+) on the native stack; else in other blocks, or in generators.
static bool is_readable_frame(struct readable_pages *known, const char *frame)
{
  return (uintptr_t)frame - known->from < known->bytes || unwind_has_read((uintptr_t)frame, python.frame_bytes) ||
         is_readable_part(known, frame, python.frame_bytes);
}

static bool is_of_code(struct readable_pages *known, const char *frame)
{
  if (!is_readable_frame(known, frame))
    return false;
  const char *code = (const char *)(uintptr_t)interpreter_read(&python, frame).code;
  if (was_code((uintptr_t)code))
    return true;
  if (!is_readable_part(known, code + OBJECT_TYPE, sizeof(void *)) || word_at(code, OBJECT_TYPE) != python.code_type)
    return false;
  __atomic_store_n(&known_codes[code_slot((uintptr_t)code)], (uintptr_t)code | WAS_CODE, __ATOMIC_RELAXED);
  return true;
}

// The state of the calling thread lives as long as the interpreter gives it: the kernel is asked once.
static bool is_readable_thread(struct readable_pages *known, const char *thread)
{
  static __thread const char *before __attribute__((tls_model("initial-exec")));
  const char *word = thread + python.thread_frame;
  if (thread == before)
    readable_know(known, (uintptr_t)word);
  else if (is_readable_part(known, word, sizeof(void *)))
    before = thread;
  return thread == before;
}

// A control frame is in a stack frame of the interpreter, which the native walk has mostly seen.
static bool is_readable_control(struct readable_pages *known, const char *control)
{
  const char *from = control + python.control_frame;
  const size_t size = CONTROL_FRAME_BEFORE + sizeof(void *);
  return unwind_has_read((uintptr_t)from, size) || is_readable_part(known, from, size);
}

// The innermost frame; NULL: none, or no sense in it. 3.11 and 3.12 enter a control frame first and then fill it: until then
// the one before has the innermost, if it can be found. *ret_on_the_way: a frame that is further out; NULL: not known.
static char *checked_top(struct readable_pages *known, const char **ret_on_the_way)
{
  *ret_on_the_way = NULL;
  const char *thread = python.thread_state(), *control;
  if (thread == NULL || !is_readable_thread(known, thread))
    return NULL;
  known->from = interpreter_newest_block(&python, thread, &known->bytes);
  control = word_at(thread, python.thread_frame);
  if (python.control_frame == NO_OFFSET)
    return (char *)control;
  for (int i = 0; i < 2 && is_readable_control(known, control); i++) {
    char *frame = word_at(control, python.control_frame);
    control = word_at(control, python.control_frame + CONTROL_FRAME_BEFORE);
    if (!is_of_code(known, frame))
      continue;
    if (is_readable_control(known, control))
      *ret_on_the_way = word_at(control, python.control_frame);
    return frame;
  }
  return NULL;
}

static bool is_of_c(const char *frame) // the interpreter's own, in a stack frame of it
{
  return python.owner != NO_OFFSET && frame[python.owner] >= OWNER_C_STACK;
}

// Whether a stack may end with this frame. A frame that is being made may have no caller yet: the compiler chooses the order in
// which its words are written. The outermost frame is one of C code (3.12+), or says that C code entered it (3.11).
static bool is_outermost(const char *frame)
{
  if (python.owner == NO_OFFSET)
    return true; // 3.10: made before it is entered
  return python.minor == 11 ? frame[python.owner - ENTRY_BEFORE_OWNER] != 0 : is_of_c(frame);
}

// A frame of C code that returned, just below the stack pointer: what is being made may still lead there. Others may lie there,
// too: their memory is often mapped right below a small stack.
static bool is_left(const char *frame, uintptr_t sp)
{
  const uintptr_t near = 1 << 20; // another stack may lie lower
  return is_of_c(frame) && (uintptr_t)frame < sp && sp - (uintptr_t)frame <= near;
}

// A frame that cannot be read ends the stack.
static void walk_checked(uintptr_t sp, struct stack *stack)
{
  struct readable_pages known = {.last = 0};
  stack->hash = (struct hash128){0, 0};
  stack->count = 0;
  const char *on_the_way;
  char *frame = checked_top(&known, &on_the_way);
  bool is_linked = on_the_way == NULL, is_complete = false;
  for (int steps = 0; steps < 2 * PYTHON_FRAMES_MOST && stack->count < PYTHON_FRAMES_MOST; steps++) {
    if (frame == NULL || !is_readable_frame(&known, frame) || is_left(frame, sp))
      break;
    if (!is_of_c(frame)) {
      struct python_frame *read = &stack->frames[stack->count++];
      *read = interpreter_read(&python, frame);
      hash_frame(&stack->hash, read);
    }
    is_linked |= frame == on_the_way;
    is_complete = is_outermost(frame);
    frame = word_at(frame, python.back);
  }
  stack->has_more = stack->count == PYTHON_FRAMES_MOST && frame != NULL;
  if ((!is_linked || !is_complete) && !stack->has_more) // the innermost has no caller yet
    stack->count = 0;
  stack->is_found = true;
  stack->is_checked = true;
}

// Whether this is a code object, with its texts. A frame that is being made or left may have anything: it is passed over.
static bool is_code(const struct python_frame *frame)
{
  struct readable_pages known = {.last = 0};
  const char *code = (const char *)(uintptr_t)frame->code;
  if (is_known_code(frame->code))
    return true;
  if ((uintptr_t)code % sizeof(void *) != 0 || !is_readable_part(&known, code, python.code_units) ||
      word_at(code, OBJECT_TYPE) != python.code_type)
    return false;
  const size_t text_bytes = python.text.unicode_header;
  return is_readable_part(&known, word_at(code, python.name), text_bytes) &&
         is_readable_part(&known, word_at(code, python.file), text_bytes);
}

// The frame's call path by its code object's texts; 0: no room.
static uint32_t resolve(uint32_t caller, const struct python_frame *frame)
{
  char name[NAME_BYTES], file[FILE_BYTES];
  object *code = (object *)(uintptr_t)frame->code;
  int64_t at = interpreter_position(&python, frame);
  if (at < 0 || (python.minor > 10 && at >= (int64_t)(intptr_t)word_at(code, OBJECT_SIZE) * 2))
    at = -1; // not begun: the first line
  int line = python.line_of(code, (int)at);
  struct xsp_frame fresh = {.size = sizeof fresh, .kind = XSP_FRAME_PYTHON, .line = line > 0 ? (uint32_t)line : 0};
  if (frame_text_read(&python.text, word_at(code, python.name), name, sizeof name))
    fresh.name = name;
  if (frame_text_read(&python.text, word_at(code, python.file), file, sizeof file))
    fresh.file = file;
  // The interpreter's own frame around a call from C (3.12), interrupted before it was marked as such.
  return fresh.file != NULL && strcmp(file, "<shim>") == 0 ? caller : xsp_call_path(caller, &fresh);
}

static uint32_t path_of_frame(uint32_t caller, const struct python_frame *frame, bool is_held)
{
  struct hash128 hash = hash128_of(caller, 1);
  hash_frame(&hash, frame);
  uint32_t path = hash_cache_find(&cache, &hash);
  if (path == 0 && !is_code(frame))
    return caller;
  if (path == 0 && (path = resolve(caller, frame)) != 0)
    hash_cache_put(&cache, &hash, path);
  if (is_held)
    know_code(frame->code);
  return path;
}

static uint32_t path_of_stack(uint32_t caller, const struct stack *stack)
{
  uint32_t path = caller;
  if (stack->has_more) {
    struct xsp_frame more = {.size = sizeof more, .kind = XSP_FRAME_PYTHON, .name = "(more frames)"};
    path = xsp_call_path(caller, &more);
    if (path == 0)
      return 0;
  }
  for (uint32_t i = stack->count; i-- > 0;)
    if ((path = path_of_frame(path, &stack->frames[i], i > 0 || !stack->is_checked)) == 0)
      return 0;
  return path;
}

static uint32_t path_after(uint32_t caller, struct stack *stack)
{
  if (stack->count == 0)
    return caller;
  hash128_add(&stack->hash, caller, stack->has_more);
  uint32_t path = hash_cache_find(&cache, &stack->hash);
  if (path == 0 && (path = path_of_stack(caller, stack)) != 0)
    hash_cache_put(&cache, &stack->hash, path);
  return path;
}

uint32_t python_frames_path_since(struct python_place since, uint32_t caller)
{
  struct stack stack;
  if (!python_frames_are_read())
    return caller;
  walk(&since, &stack);
  if (!stack.is_found && !stack.has_more)
    caller = 0;
  return path_after(caller, &stack);
}

uint32_t python_frames_path_checked(uintptr_t sp, bool is_inside)
{
  struct stack stack;
  if (!python_frames_are_read() || (python.minor >= 14 && !is_inside))
    return 0;
  walk_checked(sp, &stack);
  return path_after(0, &stack);
}

uint32_t python_frames_path(void)
{
  return python_frames_path_since((struct python_place){NULL, NULL}, 0);
}

struct python_place python_frames_top(void)
{
  struct python_place top = {NULL, NULL};
  if (!python_frames_are_read())
    return top;
  char *frame = interpreter_skip(&python, interpreter_top(&python));
  if (frame != NULL)
    top = (struct python_place){frame, (const void *)(uintptr_t)interpreter_read(&python, frame).instruction};
  return top;
}
