// SPDX-License-Identifier: Apache-2.0
// From an instruction of a kernel to its line of source, by the code that the program loaded. Code without lines (of libraries,
// mostly) is not kept. Calls of one process come one at a time: pc_sampling.c has the lock.
#ifndef XSP_TRACERS_CUDA_PC_LINES_H
#define XSP_TRACERS_CUDA_PC_LINES_H

#include "tracers/cuda/abi.h"

// Copies the module's code if it has lines. False: there is no room for it, and its lines stay unknown.
bool pc_lines_keep(const struct cupti *cupti, const struct cupti_module *module);
// The call path (xsp_call_path) of the instruction below `caller` (0: below none): the kernel; its line of source, where that is
// known; the instruction.
uint32_t pc_lines_path(const struct cupti *cupti, const struct pc_record *record, uint32_t caller);

#endif
