// SPDX-License-Identifier: Apache-2.0
// What pytorch.so's files and frameworks.so (door.c) share. frameworks.so finds PyTorch's functions and calls the hooks;
// everything else is between the tracer's own files.
#ifndef XSP_FRAMEWORKS_PYTORCH_TRACER_H
#define XSP_FRAMEWORKS_PYTORCH_TRACER_H

#include "frameworks/common/door_python.h"

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
  X(next_sequence, _ZN2at15sequence_number4peekEv, uint64_t, (void))

struct pytorch_functions {
#define X(member, name, result, parameters) result(*member) parameters;
  PYTORCH_NEEDED_FUNCTIONS(X)
  PYTORCH_OPTIONAL_FUNCTIONS(X)
#undef X
};

struct pytorch_hooks { // static; appended to only
  uint32_t size;
  void (*start)(const struct pytorch_functions *functions); // once, first
  void (*report)(const char *message);                      // to xsp, for its notes on the run
};
#define PYTORCH_HOOKS_SYMBOL "xsp_pytorch"
XSP_API const struct pytorch_hooks *xsp_pytorch(void);

// ---- tracer_layout.c: where the fields of at::RecordFunction are
// Finds them, on the thread that installs the callbacks. Without them operators have no sequence numbers.
void layout_find(const struct pytorch_functions *functions);
// The sequence number; -1: none. `is_backward`: of an autograd node, whose number may be any.
int64_t layout_sequence(const void *record, bool is_backward);

// ---- tracer_operators.c
void operators_start(const struct pytorch_functions *functions);

#endif
