// SPDX-License-Identifier: Apache-2.0
// Call stacks of CUDA calls in an Nsight Systems export (nsys profile --cudabacktrace), each as one text, outermost frame
// first. The table has a row a frame and a stack for every call, but few different ones: a text is kept once.
#include "importers/nsys/reader.h"

#include "base/buf.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define MODULE_BYTES_MOST 4096u       // of a path; longer ones are none
#define FRAMES_MOST 256u              // of one stack; its outermost frames are left out
#define PATH_BYTES ((size_t)16 << 10) // of one path, as for other importers
#define PATHS_BYTES_MOST ((size_t)256 << 20)

enum { ID, SYMBOL, MODULE, DEPTH, UNRESOLVED, COLUMNS };

struct frame {
  int64_t depth; // 0: innermost
  uint32_t name;
};
struct stack {
  struct nsys_reader *reader;
  int64_t id;
  struct frame frames[FRAMES_MOST];
  size_t count;
  struct buf text;
  size_t kept_bytes; // of all paths
};

static int by_depth(const void *a, const void *b)
{
  const struct frame *left = a, *right = b;
  return (left->depth > right->depth) - (left->depth < right->depth);
}

// Joins the frames and notes the path of the stack's id; the first stack of an id counts.
static void finish(struct stack *stack)
{
  struct nsys_reader *reader = stack->reader;
  struct nsys_key key = {stack->id, 0, 0};
  uint32_t path = 0;
  size_t room = PATH_BYTES, count = stack->count, first = count;
  stack->count = 0;
  if (count == 0 || nsys_map_find(&reader->stacks, key, &path))
    return;
  qsort(stack->frames, count, sizeof stack->frames[0], by_depth);
  for (size_t i = 0; i < count; i++) { // innermost first, as far as they fit
    size_t length;
    import_text(reader->import, stack->frames[i].name, &length);
    if (length + 1 > room) {
      first = i;
      break;
    }
    room -= length + 1;
  }
  buf_clear(&stack->text);
  if (first < count)
    buf_text(&stack->text, "…;");
  for (size_t i = first; i-- > 0;) {
    size_t length;
    const char *name = import_text(reader->import, stack->frames[i].name, &length);
    buf_put(&stack->text, name, length);
    if (i > 0)
      buf_put(&stack->text, ";", 1);
  }
  stack->kept_bytes += stack->text.length;
  if (stack->kept_bytes > PATHS_BYTES_MOST || stack->text.length == 0)
    return;
  path = import_string(reader->import, stack->text.data, stack->text.length);
  nsys_map_put(&reader->stacks, key, path);
}

// A frame's function; of one that nsys could not name, its library: "[libcuda.so.1]".
static enum status frame_name(struct nsys_reader *reader, struct nsys_scan *scan, uint32_t *ret_name, struct error *err)
{
  char text[256];
  struct slice path;
  uint32_t module;
  if (nsys_int(scan, UNRESOLVED, 0) == 0)
    return nsys_column_string(reader, scan, SYMBOL, ret_name, err);
  XSP_TRY(nsys_column_string(reader, scan, MODULE, &module, err));
  path.data = import_text(reader->import, module, &path.length);
  if (path.length < MODULE_BYTES_MOST)
    path = nsys_file_name(path);
  if (path.length == 0 || path.length > sizeof text - 2)
    return nsys_column_string(reader, scan, SYMBOL, ret_name, err);
  text[0] = '[';
  memcpy(text + 1, path.data, path.length);
  text[path.length + 1] = ']';
  *ret_name = import_string(reader->import, text, path.length + 2);
  return STATUS_OK;
}

static enum status read_frame(void *context, struct nsys_scan *scan, struct error *err)
{
  struct stack *stack = context;
  int64_t id = nsys_int(scan, ID, 0);
  if (id != stack->id)
    finish(stack);
  stack->id = id;
  if (stack->count == FRAMES_MOST)
    return STATUS_OK;
  struct frame *frame = &stack->frames[stack->count++];
  frame->depth = nsys_int(scan, DEPTH, 0);
  return frame_name(stack->reader, scan, &frame->name, err);
}

enum status nsys_read_stacks(struct nsys_reader *reader, struct error *err)
{
  static const struct nsys_column columns[COLUMNS] = {
      {"id", true}, {"symbol", true}, {"module", false}, {"stackDepth", true}, {"unresolved", false}};
  struct stack *stack = memory_new(1, sizeof *stack);
  stack->reader = reader;
  buf_init(&stack->text, PATH_BYTES + 16);
  enum status status = nsys_read_rows(&reader->database, "CUDA_CALLCHAINS", columns, COLUMNS, read_frame, stack, err);
  if (status == STATUS_OK)
    finish(stack);
  buf_done(&stack->text);
  free(stack);
  return status;
}
