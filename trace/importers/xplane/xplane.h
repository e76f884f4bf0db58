// SPDX-License-Identifier: Apache-2.0
// A file of XLA's profiler (XSpace) that is being read, for all files of this folder.
//
// Names come after the events that use them, and a loop after its body. So a file is read three times: names and modules
// (xplane.c, names.c, hlo.c), which executions and loops there are (executions.c), spans (events.c). Memory does not grow
// with the events, but with different names, executions of modules and of loops.
#ifndef XSP_IMPORTERS_XPLANE_XPLANE_H
#define XSP_IMPORTERS_XPLANE_XPLANE_H

#include "base/buf.h"
#include "base/interner.h"
#include "base/map.h"
#include "base/vector.h"
#include "base/wire.h"
#include "importers/importer.h"

#include <stdio.h>

enum xplane_plane_kind { PLANE_OTHER, PLANE_HOST, PLANE_DEVICE, PLANE_HLO, PLANE_THREADS };

// Values of events that are read: X(member, name in the file).
#define XPLANE_STATS(X)                                                                                                \
  X(hlo_op, "hlo_op")                                                                                                  \
  X(hlo_module, "hlo_module")                                                                                          \
  X(program_id, "program_id")                                                                                          \
  X(run_id, "run_id")                                                                                                  \
  X(device_ordinal, "device_ordinal")                                                                                  \
  X(producer, "_p")                                                                                                    \
  X(consumer, "_c")                                                                                                    \
  X(correlation_id, "correlation_id")                                                                                  \
  X(kernel_details, "kernel_details")                                                                                  \
  X(memcpy_details, "memcpy_details")                                                                                  \
  X(step_num, "step_num")
enum xplane_stat {
#define X(member, name) STAT_##member,
  XPLANE_STATS(X)
#undef X
      STAT_OTHER,
};

struct xplane_stat_name { // a plane's number for a name of values
  uint32_t text;          // of xplane.texts, for values that refer to it, too
  uint8_t stat;           // enum xplane_stat
};
enum xplane_class {
  CLASS_PLAIN,
  CLASS_END,       // "end: OPERATION"
  CLASS_PYTHON,    // "$file.py:12 function"
  CLASS_MARK,      // of a thread pool: no length
  CLASS_FUNCTION,  // "PjitFunction(NAME)": a call of a function under jax.jit
  CLASS_PREPARE,   // tracing, lowering
  CLASS_COMPILE,   // what ends a compilation
  CLASS_OPERATION, // "name:Type" of TensorFlow
};
struct xplane_event_name {
  uint32_t text;
  uint32_t inner; // of CLASS_END the operation, of CLASS_FUNCTION the function, of CLASS_OPERATION the type: texts
  uint8_t class;  // enum xplane_class
};
struct xplane_numbers { // of names in a plane: number → place + 1
  struct map map;
  uint32_t *direct; // owned; the same for the first numbers, once all names are read: writers count from 1
  size_t direct_count;
};
struct xplane_plane {
  enum xplane_plane_kind kind;
  struct slice name;
  int64_t ordinal;    // "/device:GPU:4": 4
  int64_t process_id; // STORE_NONE: not recorded
  bool is_tpu;
  int64_t start_ns;                    // Unix time that its times count from; 0: not recorded
  struct xplane_numbers events, stats; // → event_names, stat_names
};

struct xplane_value {
  enum { VALUE_NONE, VALUE_INT, VALUE_DOUBLE, VALUE_TEXT } type;
  bool is_large; // VALUE_INT of an event's `others`: above INT64_MAX, `integer` has its bits
  int64_t integer;
  double real;
  struct slice text;        // into the event, or xplane.texts
  uint32_t reference, name; // of xplane.texts + 1, 0: into the event; a text
};
#define XPLANE_OTHERS 16u // further values of an event that are kept
struct xplane_event {
  const struct xplane_event_name *name;
  struct slice shown; // its name
  int64_t start_ns, end_ns;
  struct xplane_value values[STAT_OTHER], others[XPLANE_OTHERS];
  size_t other_count;
};

struct xplane_open { // a call of a function under jax.jit that encloses what follows on its line
  int64_t end_ns, first_ns;
  bool has_first;    // something was traced or lowered in it, from first_ns on
  uint32_t function; // text
};
struct xplane_started { // an operation of a TPU that another one ends
  const struct xplane_event_name *name;
  int64_t start_ns, end_ns;
  uint32_t instruction, module; // references of texts, as STAT_hlo_op and STAT_hlo_module have them; 0: not recorded
  bool is_open;
};
struct xplane_line {
  const struct xplane_plane *plane;
  int64_t id, timestamp_ns;
  struct slice name;
  uint32_t track_id;        // 0: not asked for yet
  int64_t compile_until_ns; // what begins before is a pass of the compiler
  VECTOR(struct xplane_open) open;
  VECTOR(struct xplane_started) started;
  struct map started_at;     // text of an operation's name → started + 1
  uint32_t started_track_id; // 0: not asked for yet
};

// ---- modules (hlo.c)
struct xplane_module {
  uint32_t name; // text: "jit_train_step"
  int64_t program_id;
  uint32_t signature; // text: "f32[64,128], f32[128]"
  uint64_t parameters_hash;
  uint32_t donated; // parameters whose memory becomes the result's
};
struct xplane_instruction {
  uint32_t type, shape, source; // texts
  uint32_t caller; // the loop, branch or call that runs its computation: text of its name + 1; 0: the module does
  uint32_t path;   // of import_context: the Python that made it, and its type
  bool is_fused, is_control, is_loop;
  uint32_t collective, group; // texts of its kind, "all_reduce", and who exchange, "all" or "parts", + 1; 0: it is none
  int64_t bytes;              // of a collective's operands
};

// ---- executions (executions.c)
struct xplane_run { // of a module
  uint32_t module_name;
  uint32_t module; // of xplane.modules + 1; 0: the file does not describe it
  uint32_t plane;
  int64_t program_id, run_id, device;
  int64_t start_ns, end_ns, last_start_ns;
  struct map_key last; // producer of the operation that began last
};
struct xplane_step { // from the end of one execution of the module that is repeated to that of the next
  int64_t start_ns, end_ns;
  int64_t device; // 0 where devices are no ranks
  uint32_t run;   // that execution
};
struct xplane_end { // of an operation, in the thread that ended it
  int64_t at_ns;
  uint32_t first, count; // of xplane.starts: that thread's operations before
};
struct xplane_base { // of starts from `first` on
  int64_t ns;
  size_t first;
};
struct xplane_control { // an execution of a loop, branch or call, which encloses operations
  int64_t start_ns, end_ns;
  struct map_key producer; // of its end; of a loop without an event {0, 0}
  bool is_pending;         // a loop without an event, whose span is not added yet
  uint32_t run, operation; // operation: text
  uint32_t counted, turns; // how often one operation of its body ran; counted: its text + 1
};

struct xplane_body { // of a loop in an execution: from its first operation to its last
  int64_t start_ns, end_ns, last_start_ns;
  struct map_key last; // producer of the operation that began last
  uint32_t run, loop;  // loop: text
};

// ---- compilations (compilations.c)
struct xplane_function {    // under jax.jit
  uint32_t name, module;    // texts; the name of its modules
  uint32_t compiled;        // how often
  uint64_t parameters_hash; // of its last module
};
struct xplane_compilation {
  int64_t span_id;
  uint32_t function, nth; // of the function's
};

#define XPLANE_STRINGS(X)                                                                                              \
  X(kernel)                                                                                                            \
  X(memcpy)                                                                                                            \
  X(memset)                                                                                                            \
  X(other)                                                                                                             \
  X(api)                                                                                                               \
  X(collective)                                                                                                        \
  X(group)                                                                                                             \
  X(sequence)                                                                                                          \
  X(compile)                                                                                                           \
  X(compiler_pass)                                                                                                     \
  X(fused)                                                                                                             \
  X(layer_type)                                                                                                        \
  X(layer_shape)                                                                                                       \
  X(source)                                                                                                            \
  X(iterations)                                                                                                        \
  X(program_id)                                                                                                        \
  X(run_id)                                                                                                            \
  X(signature)                                                                                                         \
  X(function)                                                                                                          \
  X(compile_id)                                                                                                        \
  X(reason)                                                                                                            \
  X(bytes)                                                                                                             \
  X(donated)                                                                                                           \
  X(grid)                                                                                                              \
  X(block)                                                                                                             \
  X(registers)                                                                                                         \
  X(shared_bytes)                                                                                                      \
  X(hlo_op)                                                                                                            \
  X(hlo_module)                                                                                                        \
  X(step)                                                                                                              \
  X(step_num)
enum xplane_pass { PASS_NAMES, PASS_SURVEY, PASS_SPANS };
struct xplane {
  struct import *import;
  enum xplane_pass pass;
  struct interner texts;
  VECTOR(uint32_t) string_of;         // of import_string, by text; 0: not asked for yet
  VECTOR(struct xplane_plane) planes; // in the order of the file
  size_t plane;                       // that is being read
  VECTOR(struct xplane_event_name) event_names;
  VECTOR(struct xplane_stat_name) stat_names;
  bool has_start, has_steps; // has_steps: that the program marked
  uint32_t host_count, host; // of the file; text, of the only one

  VECTOR(struct xplane_module) modules;
  VECTOR(uint32_t) module_order; // by name, program
  struct map module_at;          // {name + 1, program} → modules + 1
  VECTOR(struct xplane_instruction) instructions;
  struct map instruction_at;      // {module + 1, name} → instructions + 1
  VECTOR(struct map_key) known;   // by name, what was found last: {module + 1, place}
  VECTOR(uint32_t) control_names; // texts, sorted once the names are read

  struct map group_at;    // {place in instructions + 1, device} → text of its group, "0,2", + 1
  size_t grouped_devices; // the most in groups of one collective
  uint32_t device_count;  // of a process whose devices are the ranks of a job; 0: they are not
  VECTOR(struct xplane_run) runs;
  struct map run_at;                // → runs + 1
  struct map_key last_run_key;      // of run_at: operations of one execution follow each other
  uint32_t last_run;                // its value; 0: none
  VECTOR(struct xplane_step) steps; // in order of time, without gaps
  VECTOR(struct xplane_control) controls;
  VECTOR(uint32_t) control_order; // by run, operation, start
  VECTOR(struct xplane_body) bodies;
  struct map body_at;   // {run + 1, loop's text + 1} → bodies + 1
  size_t lost_controls; // the last of controls: loops without an event
  struct map end_at;    // {plane + 1, producer} → its place in ends + 1, of loops and of what ends in another thread
  VECTOR(struct xplane_end) ends;
  bool keeps_starts;       // from the first such end on, with which the second pass begins anew
  VECTOR(uint32_t) starts; // of operations, from a base on, in order on a line; only of lines with such ends
  VECTOR(struct xplane_base) start_bases;
  size_t line_first;             // the line that is read, in starts
  bool has_line_ends;            // it has such ends
  struct map_key last_operation; // its producer, on the line
  struct map track_at;           // {whose, line's number} → track
  struct map thread_at;          // a line's number → the kernel's number of its thread, in files of `xsp run`
  size_t next_control;           // of PASS_SPANS

  VECTOR(struct xplane_function) functions;
  struct map function_at; // name + 1 → functions + 1
  VECTOR(struct xplane_compilation) compilations;
  int64_t span_count;
  struct {
#define X(name) uint32_t name;
    XPLANE_STRINGS(X)
#undef X
  } strings; // of import_string
};

// Of planes of one process or device, also of several XSpaces that follow each other: the same number.
static inline uint64_t xplane_owner(const struct xplane *x, const struct xplane_plane *plane)
{
  if (plane->kind == PLANE_DEVICE)
    return UINT64_C(1) << 40 | (uint64_t)(plane->ordinal & UINT32_MAX);
  return plane->process_id != STORE_NONE ? UINT64_C(2) << 40 | (uint64_t)(plane->process_id & UINT32_MAX)
                                         : (uint64_t)(plane - x->planes.items) + 1;
}

static inline struct slice xplane_text(const struct xplane *x, uint32_t text)
{
  return interner_text(&x->texts, text);
}

// The text of a value that is one.
static inline uint32_t xplane_value_text(struct xplane *x, const struct xplane_value *value)
{
  if (value->reference != 0)
    return value->reference - 1;
  return interner_at(&x->texts, value->text.length > 0 ? value->text.data : "", value->text.length);
}

// The place of a plane's number + 1. 0: it has none.
static inline uint32_t xplane_place(const struct xplane_numbers *numbers, uint64_t number)
{
  if (number < numbers->direct_count)
    return numbers->direct[number];
  const uint64_t *place = map_find(&numbers->map, map_number(number));
  return place != NULL ? (uint32_t)*place : 0;
}

// A track of the plane's process, on no thread yet. The file does not have which of several hosts a plane is of.
static inline struct store_track xplane_new_track(const struct xplane *x, const struct xplane_plane *plane)
{
  struct store_track track = IMPORT_NO_PLACE;
  track.host = x->host_count == 1 ? xplane_text(x, x->host).data : NULL;
  track.process_id = plane->process_id;
  return track;
}

// ---- names.c: planes' tables, in PASS_NAMES
void xplane_name_plane(struct xplane *x, struct slice name);
enum status xplane_add_event_name(struct xplane *x, struct wire entry, struct error *err) MUST_CHECK;
enum status xplane_add_stat_name(struct xplane *x, struct wire entry, struct error *err) MUST_CHECK;
enum status xplane_plane_fact(struct xplane *x, struct wire stat, struct error *err) MUST_CHECK;
void xplane_names_end(struct xplane *x); // all are read
void xplane_numbers_done(struct xplane_numbers *numbers);
// An error at the place that is being read; `problem` NULL: a field of another kind than expected.
enum status xplane_broken(const struct xplane *x, const char *problem, struct error *err) MUST_CHECK;

// ---- decode.c
// Reads one value. False: it is damaged.
bool xplane_value_read(const struct xplane *x, const struct xplane_plane *plane, struct wire *stat,
                       struct xplane_value *ret_value);
// Reads an event of a line, for the pass.
enum status xplane_read_event(struct xplane *x, struct xplane_line *line, struct slice bytes,
                              struct error *err) MUST_CHECK;

// ---- hlo.c
bool xplane_add_module(struct xplane *x, struct slice name, struct slice proto); // false: the proto is damaged
void xplane_modules_end(struct xplane *x);                                       // all are read
const struct xplane_module *xplane_module_find(const struct xplane *x, uint32_t name, int64_t program_id);
size_t xplane_modules_named(const struct xplane *x, uint32_t name); // the first, in module_order
// NULL: not known, as for modules that the file does not describe.
const struct xplane_instruction *xplane_instruction_find(struct xplane *x, const struct xplane_run *run,
                                                         uint32_t operation);
bool xplane_is_control(const struct xplane *x, uint32_t operation);

// ---- executions.c
// False: the pass is to begin anew, after xplane_survey_restart.
bool xplane_survey_event(struct xplane *x, const struct xplane_plane *plane, const struct xplane_event *event);
void xplane_survey_restart(struct xplane *x);
void xplane_survey_line_end(struct xplane *x);
void xplane_survey_end(struct xplane *x);
enum status xplane_add_runs(struct xplane *x, struct error *err) MUST_CHECK; // their spans
// False: the event is no operation of a module's execution.
bool xplane_run_of(struct xplane *x, const struct xplane_plane *plane, const struct xplane_event *event,
                   uint32_t *ret_run, uint32_t *ret_operation);
// The span around an operation: of the loop, branch or call that runs it, else of the execution. Counts turns.
// `instruction`: the operation's, or NULL.
int64_t xplane_parent_of(struct xplane *x, uint32_t run, uint32_t operation,
                         const struct xplane_instruction *instruction, int64_t start_ns);
// When all threads had left the operation.
int64_t xplane_operation_end(const struct xplane *x, const struct xplane_plane *plane,
                             const struct xplane_event *event);
// The loop of a span that xplane_parent_of named, if it has no event and its span is not added yet; else NULL.
struct xplane_control *xplane_lost_loop(struct xplane *x, int64_t span_id);
void xplane_add_turns(struct xplane *x);                                                          // tags of loops
void xplane_tag_signature(struct xplane *x, int64_t span_id, const struct xplane_module *module); // NULL: none

// ---- steps.c
void xplane_steps_make(struct xplane *x);                                         // after the second pass
enum status xplane_steps_add(struct xplane *x, struct error *err) MUST_CHECK;     // their spans
int64_t xplane_step_around(const struct xplane *x, const struct xplane_run *run); // its span; 0: none
static inline int64_t xplane_run_span(uint32_t run)
{
  return (int64_t)run + 1;
}
static inline int64_t xplane_step_span(const struct xplane *x, size_t step)
{
  return (int64_t)(x->runs.count + step) + 1;
}
static inline int64_t xplane_control_span(const struct xplane *x, size_t control)
{
  return (int64_t)(x->runs.count + x->steps.count + control) + 1;
}

// ---- events.c, device.c
void xplane_events_start(struct xplane *x);
uint32_t xplane_string(struct xplane *x, uint32_t text); // of import_string
enum status xplane_track(struct xplane *x, struct xplane_line *line, struct error *err) MUST_CHECK;
// Whether an event of this name becomes nothing, and is counted. The second pass read it as a whole.
bool xplane_skips(struct xplane *x, const struct xplane_line *line, uint64_t number);
enum status xplane_host_event(struct xplane *x, struct xplane_line *line, const struct xplane_event *event,
                              struct error *err) MUST_CHECK;
enum status xplane_device_event(struct xplane *x, struct xplane_line *line, const struct xplane_event *event,
                                struct error *err) MUST_CHECK;
enum status xplane_device_line_end(struct xplane *x, struct xplane_line *line, struct error *err) MUST_CHECK;

// ---- started.c: asynchronous operations of a TPU
// True: the event starts one, and is kept until the one that ends it, or the line's end. `ret_lost` is open where one before of the
// same name is: nothing ended it.
bool xplane_starts(struct xplane *x, struct xplane_line *line, const struct xplane_event *event,
                   struct xplane_started *ret_lost);
// The operation that the event ends; NULL: none.
struct xplane_started *xplane_started_by(struct xplane *x, struct xplane_line *line, const struct xplane_event *event);

// ---- compilations.c
enum status xplane_compilation_event(struct xplane *x, struct xplane_line *line, const struct xplane_event *event,
                                     struct error *err) MUST_CHECK; // adds its span where it ends one
void xplane_compilations_end(struct xplane *x);                     // their tags

#endif
