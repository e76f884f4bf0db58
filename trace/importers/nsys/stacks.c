// SPDX-License-Identifier: Apache-2.0
// Call stacks of CUDA calls in an Nsight Systems export (nsys profile --cudabacktrace), each as one call path. The table has a
// row a frame and a stack for every call, but few different ones: equal stacks are one path.
#include "importers/nsys/reader.h"

#include "base/memory.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#define MODULE_BYTES_MOST 4096u // of a path; longer ones are none
#define FRAMES_MOST 256u        // of one stack; its outermost frames are left out

enum { ID, SYMBOL, MODULE, DEPTH, UNRESOLVED, COLUMNS };

struct frame {
  int64_t depth;         // 0: innermost
  uint32_t name, module; // 0: not known
};
struct stack {
  struct nsys_reader *reader;
  int64_t id;
  struct frame frames[FRAMES_MOST];
  size_t count;
};

SORTED_BY(by_depth, struct frame, RISING(depth))

// Notes the path of the stack's id; the first stack of an id counts.
static void finish(struct stack *stack)
{
  struct nsys_reader *reader = stack->reader;
  struct nsys_key key = {stack->id, 0, 0};
  uint32_t path = 0;
  size_t count = stack->count;
  stack->count = 0;
  if (count == 0 || nsys_map_find(&reader->stacks, key, &path))
    return;
  qsort(stack->frames, count, sizeof stack->frames[0], by_depth);
  for (size_t i = count; i-- > 0;) {
    const struct frame *frame = &stack->frames[i];
    if (frame->name != 0 || frame->module != 0)
      path = import_path(reader->import, path, XSP_FRAME_NATIVE, frame->name, frame->module);
  }
  if (path != 0)
    nsys_map_put(&reader->stacks, key, path);
}

// The file name of a frame's library; 0: not known.
static enum status find_module(struct nsys_reader *reader, struct import_scan *scan, uint32_t *ret_module,
                               struct error *err)
{
  struct slice path;
  uint32_t module;
  XSP_TRY(nsys_column_string(reader, scan, MODULE, &module, err));
  path.data = import_text(reader->import, module, &path.length);
  *ret_module = path.length < MODULE_BYTES_MOST ? import_slice(reader->import, nsys_file_name(path)) : 0;
  return STATUS_OK;
}

static enum status read_frame(void *context, struct import_scan *scan, struct error *err)
{
  struct stack *stack = context;
  int64_t id = import_scan_int(scan, ID, 0);
  if (id != stack->id)
    finish(stack);
  stack->id = id;
  if (stack->count == FRAMES_MOST)
    return STATUS_OK;
  struct frame *frame = &stack->frames[stack->count++];
  frame->depth = import_scan_int(scan, DEPTH, 0);
  XSP_TRY(find_module(stack->reader, scan, &frame->module, err));
  frame->name = 0;
  if (import_scan_int(scan, UNRESOLVED, 0) != 0 && frame->module != 0)
    return STATUS_OK; // its symbol is an address
  return nsys_column_string(stack->reader, scan, SYMBOL, &frame->name, err);
}

enum status nsys_read_stacks(struct nsys_reader *reader, struct error *err)
{
  static const struct import_column columns[COLUMNS] = {
      {"id", true}, {"symbol", true}, {"module", false}, {"stackDepth", true}, {"unresolved", false}};
  struct stack *stack SCOPED(scoped_free) = memory_new(1, sizeof *stack);
  stack->reader = reader;
  XSP_TRY(import_read_rows(&reader->database, "CUDA_CALLCHAINS", columns, COLUMNS, read_frame, stack, err));
  finish(stack);
  return STATUS_OK;
}
