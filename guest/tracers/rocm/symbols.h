// SPDX-License-Identifier: Apache-2.0
// Kernels of loaded code: executions have only their number.
#ifndef XSP_TRACERS_ROCM_SYMBOLS_H
#define XSP_TRACERS_ROCM_SYMBOLS_H

#include "tracers/rocm/abi.h"

struct rocm_kernel_symbol {
  uint32_t vector_registers, scalar_registers; // of a work-item, of a wave
  char name[];                                 // mangled
};

// rocprofiler-sdk's callback, on the program's threads; `rocm` is a struct rocm.
void rocm_symbols_note(const struct rocm_event *event, void *user_data, void *rocm);
const struct rocm_kernel_symbol *rocm_symbol_of(uint64_t kernel_id); // NULL: not known. Any thread; it is kept

#endif
