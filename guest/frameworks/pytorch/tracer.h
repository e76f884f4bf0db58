// SPDX-License-Identifier: Apache-2.0
// What pytorch.so's files share, and the door's functions (door.c, in frameworks.so), which finds PyTorch and calls the hooks.
#ifndef XSP_FRAMEWORKS_PYTORCH_TRACER_H
#define XSP_FRAMEWORKS_PYTORCH_TRACER_H

#include "frameworks/common/door_python.h"
#include "frameworks/common/padding.h"
#include "tracers/frames/python.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xsp/span.h>

struct pytorch_callback { // at::RecordFunctionCallback, passed by value
  void *start;            // std::unique_ptr<ObserverContext> (*)(const RecordFunction &)
  void *end;              // void (*)(const RecordFunction &, ObserverContext *)
  double probability;
  bool scopes[10];
  bool needs_inputs, needs_outputs, needs_ids;
};
_Static_assert(sizeof(struct pytorch_callback) == 40, "equal in PyTorch 1.13 to 2.15");

struct pytorch_vector { // std::vector
  void *begin, *end, *capacity;
};
// X(member, PyTorch's name, return type, parameters)
#define PYTORCH_ADD_CALLBACK "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"
#define PYTORCH_NEEDED_FUNCTIONS(X)                                                                                    \
  X(add_callback, _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE, uint64_t, (struct pytorch_callback))         \
  X(name, _ZNK2at14RecordFunction4nameEv, const char *, (const void *record))                                          \
  X(current_thread, _ZN2at14RecordFunction15currentThreadIdEv, uint64_t, (void))
// NULL where a version does not have them: what depends on them is not recorded.
#define PYTORCH_OPTIONAL_FUNCTIONS(X)                                                                                  \
  X(construct, _ZN2at14RecordFunctionC1ENS_11RecordScopeE, void, (void *record, uint8_t scope))                        \
  X(destroy, _ZN2at14RecordFunctionD1Ev, void, (void *record))                                                         \
  X(enable, _ZN2at20enableRecordFunctionEb, void, (bool))                                                              \
  X(is_enabled, _ZN2at23isRecordFunctionEnabledEv, bool, (void))                                                       \
  X(next_sequence, _ZN2at15sequence_number4peekEv, uint64_t, (void))                                                   \
  X(has_gradient, _ZN3c108GradMode10is_enabledEv, bool, (void))                                                        \
  X(note_block, _ZN3c1025ProfiledCPUMemoryReporter3NewEPvm, void, (void *reporter, void *address, size_t bytes))       \
  X(input_count, _ZNK2at14RecordFunction10num_inputsEv, size_t, (const void *record))                                  \
  X(output_count, _ZNK2at14RecordFunction11num_outputsEv, size_t, (const void *record))                                \
  X(kinds, _ZN5torch8profiler4impl10inputTypesB5cxx11ERKN2at14RecordFunctionE, struct pytorch_vector,                  \
    (const void *record))                                                                                              \
  X(release, _ZdlPv, void, (void *))                                                                                   \
  X(rank, aoti_torch_get_dim, int32_t, (void *tensor, int64_t *ret_rank))                                              \
  X(sizes, aoti_torch_get_sizes, int32_t, (void *tensor, int64_t **ret_sizes))                                         \
  X(strides, aoti_torch_get_strides, int32_t, (void *tensor, int64_t **ret_strides))                                   \
  X(type, aoti_torch_get_dtype, int32_t, (void *tensor, int32_t *ret_type))                                            \
  X(layout, aoti_torch_get_layout, int32_t, (void *tensor, int32_t *ret_layout))

struct pytorch_functions {
#define X(member, name, result, parameters) result(*member) parameters;
  PYTORCH_NEEDED_FUNCTIONS(X)
  PYTORCH_OPTIONAL_FUNCTIONS(X)
#undef X
  const void *undefined; // PYTORCH_UNDEFINED: what undefined tensors point to
};
#define PYTORCH_UNDEFINED "_ZN3c1019UndefinedTensorImpl10_singletonE"

enum pytorch_memory { // what is wanted of c10
  PYTORCH_MEMORY_NONE,
  PYTORCH_MEMORY_SUMS, // the bytes of each allocation
  PYTORCH_MEMORY_ALL,  // it reports each allocation and release
};
struct pytorch_hooks { // static; appended to only
  uint32_t size;
  enum pytorch_memory (*start)(const struct pytorch_functions *functions, const char *model_range); // once, first
  void (*report)(const char *message);                       // to xsp, for its notes on the run
  void (*python)(const struct python *python, void *module); // torch._C is complete; the interpreter is held
  // On the thread that does it. `bytes` < 0: released. `total_bytes`: of the device's allocator, after it. `device`: 0: a CPU, else
  // c10::DeviceType + 256 * index.
  void (*allocated)(uint64_t bytes);
  void (*memory)(const void *address, int64_t bytes, uint64_t total_bytes, unsigned device);
};
#define PYTORCH_HOOKS_SYMBOL "xsp_pytorch"
XSP_API const struct pytorch_hooks *xsp_pytorch(void);

// ---- tracer.c
#define TRACER "pytorch"
extern const struct pytorch_functions *torch; // before any other function here is called

// ---- tracer_thread.c: what the tracer keeps for a thread
#define DEPTH_MAXIMUM 64u // of nested operators, and of nested modules; deeper ones are not recorded

struct module_name { // of a torch.nn.Module; never freed
  uint64_t hash;     // not 0
  const char *text;  // "layer4.0.conv1"; of an outermost module the name of its class
};
struct pytorch_kernel;                 // tracer_fused.c
struct operator_place {                // the same for all calls of a line
  const struct module_name *module;    // NULL: none
  uint32_t caller;                     // call path in which it was called; 0: unknown
  uint32_t forward_thread;             // of a backward operator: gettid of the forward operator's thread; 0: not known
  const struct pytorch_kernel *kernel; // NULL: an operator
  bool is_input;                       // a data loader called it
};
struct open_operator {
  const void *record; // the at::RecordFunction
  const void *stack;  // the same, if it lies in the stack frame of the function that calls the operator
  struct xsp_span span;
  uint64_t late_start;   // ticks; not 0: published at its end, as its place is known later
  struct xsp_site *site; // NULL: not known yet
  struct operator_place place;
  uint32_t module_depth;   // of the thread when it began
  uint32_t path;           // its own call path
  struct python_place top; // of the Python stack
  int64_t sequence;        // autograd's number; -1: none
  uint64_t allocated;      // bytes, not within nested operators
  bool has_allocated;      // nested ones
  uint8_t scope;           // enum scope
};
struct ready_gradients {            // of a backward pass, since a collective took some
  const struct module_name *module; // of the backward operator that ran last; NULL: unknown
  const struct module_name *first, *last;
  uint32_t parameters;
};
struct steps;
struct pytorch_blocks;
struct pytorch_thread {
  uint32_t depth, module_depth; // may pass DEPTH_MAXIMUM
  uint32_t number;              // PyTorch's
  uint32_t last_site;           // of a begun operator; tracer_sites.c
  struct open_operator open[DEPTH_MAXIMUM];
  const struct module_name *modules[DEPTH_MAXIMUM];
  void *outermost_module;        // of Python; borrowed
  bool was_repeated;             // see pytorch_names_enter
  uint32_t input_depth;          // open calls of data loaders
  struct ready_gradients ready;  // tracer_collectives.c
  struct steps *steps;           // tracer_steps.c
  struct pytorch_blocks *blocks; // tracer_memory.c
};
extern __thread struct pytorch_thread *pytorch_thread_own __attribute__((tls_model("initial-exec"))); // NULL: none yet
struct pytorch_thread *pytorch_thread_make(void);
// This thread's; NULL: no memory. Allocates when the thread first calls it; freed with the thread.
static inline struct pytorch_thread *thread_get(void)
{
  return pytorch_thread_own != NULL ? pytorch_thread_own : pytorch_thread_make();
}

// ---- tracer_shapes.c: inputs of operators, with the option "shapes"
#define SHAPES_TEXT 2048u
struct operator_shapes { // JSON, as torch.profiler writes it
  uint64_t hash;         // not 0
  char dims[SHAPES_TEXT], strides[SHAPES_TEXT], types[SHAPES_TEXT], values[SHAPES_TEXT];
};
bool pytorch_shapes_start(void); // false: this PyTorch lacks functions
// False: none, too long, or not known.
bool pytorch_shapes_read(const void *record, struct operator_shapes *ret_shapes);
// Bytes of the tensors among the inputs of a range that passes them. False: it has none, or they are not known.
bool pytorch_shapes_bytes(const void *record, int64_t *ret_bytes);

// The inputs, or at its end the outputs, as a JSON array: [{"type":"float","shape":[8,3]},1,null]. As xsp_event_arguments.
size_t pytorch_shapes_describe(const void *record, bool of_outputs, char *text, size_t size);

// ---- tracer_monitor.c: clients of <xsp/monitor.h> in the process
bool pytorch_monitor_wants(unsigned domain); // enum xsp_domain
void pytorch_monitor_operator(const struct open_operator *opened, const char *name, bool has_ended);
void pytorch_monitor_memory(const void *address, int64_t bytes);
void pytorch_monitor_compilation(const struct xsp_span *span, const char *name, bool has_ended);

// ---- tracer_sites.c: sites of operators
enum scope { SCOPE_FUNCTION = 0, SCOPE_BACKWARD = 1, SCOPE_USER = 7 }; // at::RecordScope

struct operator_site {
  struct xsp_site *site; // NULL: not recorded
  uint32_t path;         // call path: of `caller`, then the operator
};
// Any thread; lock-free. `shapes` may be NULL. `last` is the thread's last site, which this one mostly follows, or NULL.
struct operator_site pytorch_site_of_operator(uint32_t *last, const char *name, enum scope scope,
                                              const struct operator_place *place, const struct operator_shapes *shapes);

// ---- tracer_layout.c: where the fields of at::RecordFunction are
// Finds them, on the thread that installs the callbacks. Without them operators have no sequence numbers.
void pytorch_layout_find(void);
// The sequence number; -1: none. `is_backward`: of an autograd node, whose number may be any.
int64_t pytorch_layout_sequence(const void *record, bool is_backward);
// Copies the c10::ArrayRef of the inputs. Null where the callback did not ask for them.
bool pytorch_layout_inputs(const void *record, void *ret_inputs, size_t size);
bool pytorch_layout_outputs(const void *record, const void **ret_begin, size_t *ret_count, size_t item_bytes);
// PyTorch's number of the thread that ran the forward operator of a backward operator with this number; 0: unknown.
uint32_t pytorch_layout_forward_thread(const void *record, int64_t sequence);

// ---- tracer_links.c: from a backward operator to its forward operator
// Both by PyTorch's own thread number. Bounded: old operators are forgotten.
void pytorch_links_add(uint32_t thread, int64_t sequence, const struct operator_place *forward);
bool pytorch_links_find(uint32_t thread, int64_t sequence, struct operator_place *ret_forward);
void pytorch_links_note_thread(uint32_t thread);       // the calling thread's number
uint32_t pytorch_links_system_thread(uint32_t thread); // gettid; 0: unknown

// ---- tracer_memory.c
enum pytorch_memory pytorch_tensors_start(void);
void pytorch_tensors_allocated(uint64_t bytes);
void pytorch_tensors_tag(struct xsp_span *span);         // of the model: what was allocated since the last such span
void pytorch_tensors_end(struct pytorch_blocks *blocks); // of a thread, on it; NULL is fine
void pytorch_tensors_reported(const void *address, int64_t bytes, uint64_t total_bytes, unsigned device);

// ---- tracer_operators.c
struct open_operator *pytorch_operator_innermost(struct pytorch_thread *thread); // NULL: none
void pytorch_operators_start(void);
void pytorch_operators_python(const void *address_in_interpreter); // with the interpreter held
uint32_t pytorch_operators_path(struct pytorch_thread *thread,
                                const char *name); // of what happens now; 0: not recorded
// The same in two parts, for what may never be published: the first costs a load in an operator.
uint32_t pytorch_operators_caller(struct pytorch_thread *thread);
uint32_t pytorch_operators_path_of(uint32_t caller, const char *name);
// A fused kernel, in the operator that is open on this thread; the caller finishes the span.
struct xsp_span pytorch_operators_kernel_begins(struct pytorch_thread *thread, const struct pytorch_kernel *kernel,
                                                const char *name);

// ---- tracer_names.c: with the interpreter held
struct module {
  const struct module_name *name; // NULL: too many
  const char *class_name;         // kept
  bool is_model;                  // of an outermost module: it has parameters or parts
};
bool pytorch_names_start(const struct python *python); // false: this interpreter lacks functions
// A module that is called inside the call of `outermost`, or is that. The outermost one's parts are named when it is first
// called, and once again in a call (`was_repeated`) that comes to an unknown module. Valid until the next call.
const struct module *pytorch_names_enter(void *self, void *outermost, bool *was_repeated);

const char *pytorch_names_keep(const char *text); // the same text, for ever; NULL: too many

// ---- tracer_inputs.c: what an outermost module is called with. With the interpreter held
void pytorch_inputs_start(const struct python *python, void *tensor_class);
bool pytorch_inputs_are_tensor(void *object); // not of a class of the program's, whose attributes could be code
// "float32[8,3,224,224], mask=bool[8,196]", kept; NULL: no tensors, or too many different ones. As a vectorcall has them. The batch
// size is the first axis of the first tensor that has one, else -1.
const char *pytorch_inputs_signature(void *const *arguments, size_t count, void *keywords, int64_t *ret_batch_size,
                                     struct padding *ret_padding);

// ---- tracer_modules.c: calls of torch.nn.Module
void pytorch_modules_python(const struct python *python, void *torch_c);

// ---- tracer_threads.c: calls of torch.set_num_threads
void pytorch_threads_python(const struct python *python, void *torch_module);

// ---- tracer_compile.c: compilations of torch.compile
// `module`: torch._dynamo.callback, with the interpreter held. False: its code has not run yet.
bool pytorch_compile_python(const struct python *python, void *module);
// What is compiled, and why: modules torch._dynamo.convert_frame and .utils, NULL: not imported yet. False: not at its end.
bool pytorch_compile_reasons_python(const struct python *python, void *convert_frame, void *utils);
// Replaces `object.NAME` by the definition's function, whose `self` is the original. `is_method`: of a class.
bool pytorch_compile_replace(const struct python *python, void *object, struct python_definition *definition,
                             bool is_method);
extern const struct pytorch_thread
    *pytorch_compile_thread; // atomic; the thread that compiles; NULL: none. Only to be compared
// What this thread does is done with fake tensors, and not recorded.
static inline bool compile_is_running(const struct pytorch_thread *thread)
{
  return thread != NULL && __atomic_load_n(&pytorch_compile_thread, __ATOMIC_RELAXED) == thread;
}

// ---- objects of Python that may not be there: `object` NULL
static inline void *pytorch_attribute(const struct python *python, void *object,
                                      const char *name) // new; NULL: it has none
{
  void *value = object != NULL ? python->get_attribute(object, name) : NULL;
  python->error_clear();
  return value;
}
static inline void pytorch_release(const struct python *python, void *object)
{
  if (object != NULL)
    python->decref(object);
}

// ---- tracer_groups.c: process groups of torch.distributed
struct process_group {
  const char *name;  // kept; NULL: unknown
  uint32_t number;   // 0: unknown
  uint32_t size;     // ranks; 0: unknown
  uint32_t sequence; // atomic; of the last collective that began
};
// `module`: torch.distributed.distributed_c10d, with the interpreter held. False: its code has not run yet.
bool pytorch_groups_python(const struct python *python, void *module);
struct process_group *pytorch_group_of_thread(void); // that the calling thread works for
struct process_group *pytorch_group_unknown(void);

// ---- tracer_collectives.c: collectives of torch.distributed, as spans of category "collective"
bool pytorch_collectives_starts(const char *name); // whether this operator starts one
// `opened`: on the thread. `path`: of Python's functions that started it; 0: unknown.
void pytorch_collectives_started(struct pytorch_thread *thread, const struct open_operator *opened, const char *name,
                                 uint32_t path);
// An operator of a backward pass begins, `forward` of whose place is that of its forward operator, or NULL.
void pytorch_collectives_backward(struct pytorch_thread *thread, const char *name,
                                  const struct operator_place *forward);
// Of a range. False: it is no run of a collective.
bool pytorch_collectives_begins(const void *record, const char *name, struct xsp_span *ret_span);
// The same of a send or receive, whose end any thread may report. False: it is none.
bool pytorch_exchange_begins(const void *record, const char *name);
void pytorch_exchange_ended(const void *record); // of any range; no effect if it is none

// ---- tracer_loader.c: batches that data loaders make
// `module`: torch.utils.data._utils.fetch, with the interpreter held. False: its code has not run yet.
bool pytorch_input_python(const struct python *python, void *module);

// ---- tracer_fused.c: fused kernels of torch.compile, as layers of category "fused"
// The modules torch._inductor.async_compile and torch._inductor.codegen.cpp, with the interpreter held; NULL: not imported
// yet. True: nothing is left to do.
bool pytorch_fused_python(const struct python *python, void *async_compile, void *codegen);
void pytorch_fused_compilation_begins(
    void); // with the interpreter held: forgets kernels that were made and never called
void pytorch_fused_tag(struct xsp_site *site,
                       const struct pytorch_kernel *kernel); // what the kernel was made of, where known

// ---- tracer_steps.c: inferences, training steps and their parts. All on the thread that is concerned.
void pytorch_steps_start(const char *model_range);
// A range of torch.profiler.record_function, which the optimisers and data loaders use, too.
struct xsp_site *pytorch_steps_range_begins(struct pytorch_thread *thread, const char *name);
void pytorch_steps_range_ended(struct pytorch_thread *thread, const char *name);
void pytorch_steps_backward_begins(struct pytorch_thread *thread, struct xsp_span *ret_span);
void pytorch_steps_backward_ended(struct pytorch_thread *thread, struct xsp_span *span);
struct steps_call {       // of an outermost module
  const char *name;       // of its class; kept
  const void *module;     // itself; only to be compared
  const char *signature;  // types and shapes of its tensors; kept; NULL: unknown
  uint64_t start;         // ticks
  int64_t batch_size;     // -1: unknown
  struct padding padding; // of its token ids
  bool is_model;          // has parameters or parts
  bool is_training;       // module.training
  bool has_gradient;      // when it began
  bool has_graph;         // its result can be differentiated
};
void pytorch_steps_call_begins(struct pytorch_thread *thread, struct steps_call *call);
void pytorch_steps_call_ended(struct pytorch_thread *thread, const struct steps_call *call);
void pytorch_steps_end(struct steps *steps); // no backward pass follows; NULL: none

#endif
