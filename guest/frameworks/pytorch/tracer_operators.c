// SPDX-License-Identifier: Apache-2.0
// Operators as layers: PyTorch calls these functions at the start and end of each, on the thread that runs it, mostly
// without Python's lock. They take no lock, and allocate only when a thread first comes here.
#include "frameworks/common/guest.h"
#include "frameworks/pytorch/tracer.h"
#include "tracers/frames/find_object.h"
#include "tracers/frames/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/monitor.h>

static enum call_paths_mode paths_mode;
static bool records_paths, records_shapes, has_values;

#define STACK_REACH 65536u // bytes that the functions between a record and its callback take at most

#define LINKED "autograd::engine::evaluate_function: "

// Encloses the backward operator that is linked to a forward one, and learns its module and path from it.
static bool encloses_backward(const char *name)
{
  return name[0] == 'a' && name[1] == 'u' && strncmp(name, LINKED, sizeof LINKED - 1) == 0;
}

struct open_operator *pytorch_operator_innermost(struct pytorch_thread *thread)
{
  for (uint32_t i = thread != NULL ? thread->depth : 0; i > 0; i--)
    if (thread->open[i - 1].scope != SCOPE_USER)
      return &thread->open[i - 1];
  return NULL;
}

static const struct module_name *module_now(const struct pytorch_thread *thread)
{
  uint32_t depth = thread->module_depth < DEPTH_MAXIMUM ? thread->module_depth : DEPTH_MAXIMUM;
  return depth > 0 ? thread->modules[depth - 1] : NULL;
}

// Python's wrappers of at::RecordFunction keep it in an object of Python's.
static const void *on_stack(const void *record)
{
  return (uintptr_t)record - (uintptr_t)__builtin_frame_address(0) < STACK_REACH ? record : NULL;
}

static uint32_t full_path(const struct open_operator *around, const void *inner)
{
  if (around == NULL)
    return frames_path(CALL_PATHS_FULL, NULL, inner);
  const struct frames_place outer = {.path = around->path, .python = around->top, .stack = around->stack};
  return frames_path(CALL_PATHS_FULL, &outer, inner);
}

// `around`: the operator that it is nested in, or NULL.
static void find_place(const struct pytorch_thread *thread, const struct open_operator *around,
                       struct open_operator *opened)
{
  opened->module_depth = thread->module_depth;
  opened->place.is_input = thread->input_depth > 0;
  opened->place.module =
      around != NULL && around->module_depth == thread->module_depth ? around->place.module : module_now(thread);
  if (!records_paths)
    return;
  opened->top = python_frames_top();
  if (paths_mode == CALL_PATHS_FULL && opened->record != NULL) // a client that asks has none
    opened->place.caller = full_path(around, opened->stack);
  else if (around == NULL)
    opened->place.caller = python_frames_path();
  else if (opened->top.frame == around->top.frame && opened->top.instruction == around->top.instruction)
    opened->place.caller = around->path;
  else // it called Python again: an autograd function of the program's, a hook
    opened->place.caller = python_frames_path_since(around->top, around->path);
}

static __attribute__((noinline)) struct operator_site find_site_with_shapes(const char *name,
                                                                            const struct open_operator *opened)
{
  struct operator_shapes shapes; // large: not on the stack of those that do without
  bool has_shapes = pytorch_shapes_read(opened->record, &shapes);
  return pytorch_site_of_operator(NULL, name, opened->scope, &opened->place, has_shapes ? &shapes : NULL);
}

static void find_site(uint32_t *last, const char *name, struct open_operator *opened)
{
  struct operator_site found = records_shapes && opened->late_start == 0
                                   ? find_site_with_shapes(name, opened)
                                   : pytorch_site_of_operator(last, name, opened->scope, &opened->place, NULL);
  opened->site = found.site;
  opened->path = found.path;
}

static bool is_unsettled(const struct open_operator *around)
{
  return around != NULL && around->late_start != 0 && around->site == NULL;
}

// A backward operator, and the step of the engine around it, are where the forward operator was.
static bool find_forward(const void *record, struct open_operator *around, struct open_operator *opened,
                         struct operator_place *ret_forward)
{
  if (opened->scope != SCOPE_BACKWARD || opened->sequence < 0)
    return false;
  uint32_t thread = pytorch_layout_forward_thread(record, opened->sequence);
  if (thread == 0)
    return false;
  if (is_unsettled(around))
    around->sequence = opened->sequence;
  if (!pytorch_links_find(thread, opened->sequence, ret_forward)) { // forgotten, or before the tracer
    opened->place.forward_thread = pytorch_links_system_thread(thread);
    if (is_unsettled(around))
      around->place.forward_thread = opened->place.forward_thread;
    return false;
  }
  if (is_unsettled(around))
    around->place = *ret_forward;
  return true;
}

static void tag_sequence(const struct open_operator *opened)
{
  if (opened->sequence >= 0)
    xsp_span_tag_int(&opened->span, "sequence", opened->sequence);
}

// Outermost operators without any allocation have 0; else nested ones without any have no tag.
static void tag_memory(struct pytorch_thread *thread, const struct open_operator *opened)
{
  struct open_operator *around = pytorch_operator_innermost(thread);
  bool has_any = opened->allocated > 0 || opened->has_allocated;
  if (around != NULL)
    around->has_allocated = around->has_allocated || has_any;
  if (torch->note_block == NULL || (opened->allocated == 0 && (around != NULL || has_any)))
    return;
  xsp_span_tag_int(&opened->span, "alloc_bytes", (int64_t)opened->allocated);
  if (opened->allocated > 0)
    xsp_span_tag_int(&opened->span, "alloc_own_bytes", (int64_t)opened->allocated);
}

// A backward operator, and what is in it, has its forward operator's call path: this is that of the backward pass.
static uint32_t python_path(void)
{
  return records_paths ? python_frames_path() : 0;
}

static void begin(const void *record, enum scope scope)
{
  struct pytorch_thread *thread = thread_get();
  if (thread == NULL || thread->depth >= DEPTH_MAXIMUM || compile_is_running(thread))
    return;
  const char *name = torch->name(record);
  struct open_operator *around = pytorch_operator_innermost(thread), *opened = &thread->open[thread->depth++];
  *opened = (struct open_operator){.record = record,
                                   .stack = on_stack(record),
                                   .scope = (uint8_t)scope,
                                   .sequence = pytorch_layout_sequence(record, scope == SCOPE_BACKWARD)};
  struct operator_place forward;
  bool has_forward = find_forward(record, around, opened, &forward);
  if (is_unsettled(around))
    find_site(NULL, torch->name(around->record), around);
  find_place(thread, around, opened);
  if (has_forward) {
    if (around != NULL && around->late_start != 0)
      forward.caller = around->path;
    opened->place = forward;
  }
  if (scope == SCOPE_BACKWARD)
    pytorch_collectives_backward(thread, name, has_forward ? &forward : NULL);
  if (scope == SCOPE_FUNCTION && opened->sequence >= 0)
    pytorch_links_add(thread->number, opened->sequence, &opened->place);
  if (scope == SCOPE_FUNCTION && encloses_backward(name)) {
    opened->late_start = xsp_clock_ticks();
    if (pytorch_monitor_wants(XSP_DOMAIN_OPERATOR))
      pytorch_monitor_operator(opened, name, false);
    return;
  }
  find_site(&thread->last_site, name, opened);
  opened->span = xsp_span_start(opened->site);
  tag_sequence(opened);
  if (scope == SCOPE_FUNCTION && pytorch_collectives_starts(name))
    pytorch_collectives_started(thread, opened, name, around == NULL ? opened->place.caller : python_path());
  if (pytorch_monitor_wants(XSP_DOMAIN_OPERATOR))
    pytorch_monitor_operator(opened, name, false);
}

static void begin_range(const void *record)
{
  struct pytorch_thread *thread = thread_get();
  const char *name = torch->name(record);
  if (thread == NULL || compile_is_running(thread) || pytorch_exchange_begins(record, name) ||
      thread->depth >= DEPTH_MAXIMUM)
    return;
  struct open_operator *opened = &thread->open[thread->depth++];
  *opened = (struct open_operator){.record = record, .scope = SCOPE_USER};
  if (!pytorch_collectives_begins(record, name, &opened->span))
    opened->span = xsp_span_start(pytorch_steps_range_begins(thread, name));
}

static void publish_late(const void *record, struct open_operator *opened)
{
  if (opened->site == NULL)
    find_site(NULL, torch->name(record), opened);
  const struct xsp_interval interval = {.size = sizeof interval, .start = opened->late_start, .end = xsp_clock_ticks()};
  opened->span = xsp_span_emit(opened->site, &interval);
  tag_sequence(opened);
}

// An operator that ends on another thread, or was too deep, is not listed here. Entries above one that is are stale.
static void end(const void *record, void *context)
{
  struct pytorch_thread *thread = thread_get();
  uint32_t depth = thread != NULL ? thread->depth : 0;
  while (depth > 0 && thread->open[depth - 1].record != record)
    depth--;
  if (depth == 0) {
    pytorch_exchange_ended(record);
    return;
  }
  struct open_operator *opened = &thread->open[depth - 1];
  thread->depth = depth;
  if (opened->scope != SCOPE_USER && pytorch_monitor_wants(XSP_DOMAIN_OPERATOR))
    pytorch_monitor_operator(opened, torch->name(record), true);
  thread->depth = depth - 1;
  if (opened->late_start != 0)
    publish_late(record, opened);
  if (opened->scope != SCOPE_USER)
    tag_memory(thread, opened);
  if (opened->late_start == 0)
    xsp_span_finish(&opened->span);
  if (opened->scope == SCOPE_USER)
    pytorch_steps_range_ended(thread, torch->name(record));
}

// The result is a std::unique_ptr, empty, in memory of the caller.
#if defined(__aarch64__) // whose address is in x8, which C cannot read
#define START(function, call)                                                                                          \
  __attribute__((used)) static void function##_begins(const void *record)                                              \
  {                                                                                                                    \
    call;                                                                                                              \
  }                                                                                                                    \
  void function(void);                                                                                                 \
  __asm__(".text\n.type " #function ", %function\n" #function ":\n  str xzr, [x8]\n  b " #function "_begins\n");
#else
#define START(function, call)                                                                                          \
  static void *function(void **result, const void *record)                                                             \
  {                                                                                                                    \
    *result = NULL;                                                                                                    \
    call;                                                                                                              \
    return result;                                                                                                     \
  }
#endif
START(start_function, begin(record, SCOPE_FUNCTION))
START(start_backward, begin(record, SCOPE_BACKWARD))
START(start_range, begin_range(record))

// The operators that are open on this thread, and the Python functions that called them or that they call.
static uint32_t path_now(uint32_t sources)
{
  struct pytorch_thread *thread = thread_get();
  struct open_operator now = {0};
  (void)sources; // the reader leaves out what it does not want
  if (thread != NULL)
    find_place(thread, pytorch_operator_innermost(thread), &now);
  return now.place.caller;
}

static void add(uint32_t scope, void *start)
{
  struct pytorch_callback callback = {.start = start, .end = (void *)end, .probability = 1.0};
  callback.scopes[scope] = true;
  callback.needs_inputs = has_values && scope != SCOPE_USER;
  callback.needs_outputs = callback.needs_inputs && pytorch_monitor_wants(XSP_DOMAIN_OPERATOR);
  (void)torch->add_callback(callback);
}

void pytorch_operators_start(void)
{
  const uint32_t levels = xsp_session_levels();
  add(SCOPE_USER, (void *)start_range);
  if ((levels & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) == 0)
    return;
  pytorch_layout_find();
  records_shapes = getenv("XSP_SHAPES") != NULL || guest_option("shapes") != NULL;
  has_values = (records_shapes || pytorch_monitor_wants(XSP_DOMAIN_OPERATOR)) && pytorch_shapes_start();
  records_shapes = records_shapes && has_values;
  paths_mode = call_paths_mode();
  records_paths = paths_mode != CALL_PATHS_NONE;
  find_object_setup();
  if (paths_mode == CALL_PATHS_FULL && !frames_native_setup(NULL))
    guest_report("call paths have no native functions: no memory, or glibc is older than 2.35");
  xsp_monitor_provide(path_now);
  add(SCOPE_BACKWARD, (void *)start_backward);
  // TorchScript, custom classes, the lite interpreter and the static runtime announce functions, too.
  static const uint8_t functions[] = {SCOPE_FUNCTION, 2, 4, 6, 8, 9};
  for (size_t i = 0; i < sizeof functions; i++)
    add(functions[i], (void *)start_function);
}

void pytorch_operators_python(const void *address_in_interpreter)
{
  char why[160], note[224];
  if (paths_mode == CALL_PATHS_FULL)
    (void)frames_native_setup(address_in_interpreter);
  if (!records_paths || python_frames_setup(address_in_interpreter, why, sizeof why))
    return;
  snprintf(note, sizeof note, "call paths have no Python functions: %s", why);
  guest_report(note);
}

uint32_t pytorch_operators_caller(struct pytorch_thread *thread)
{
  const struct open_operator *around = pytorch_operator_innermost(thread);
  return around != NULL ? around->path : python_path();
}

uint32_t pytorch_operators_path_of(uint32_t caller, const char *name)
{
  const struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_FRAMEWORK, .name = name};
  return records_paths ? xsp_call_path(caller, &frame) : 0;
}

uint32_t pytorch_operators_path(struct pytorch_thread *thread, const char *name)
{
  return pytorch_operators_path_of(pytorch_operators_caller(thread), name);
}

struct xsp_span pytorch_operators_kernel_begins(struct pytorch_thread *thread, const struct pytorch_kernel *kernel,
                                                const char *name)
{
  struct open_operator opened = {.scope = SCOPE_FUNCTION};
  find_place(thread, pytorch_operator_innermost(thread), &opened);
  opened.place.kernel = kernel;
  return xsp_span_start(pytorch_site_of_operator(&thread->last_site, name, SCOPE_FUNCTION, &opened.place, NULL).site);
}
