// SPDX-License-Identifier: Apache-2.0
// Which code launched a kernel whose samples come: in serialized mode they name their launch. Any thread, no locks.
#ifndef XSP_TRACERS_CUDA_PC_LAUNCHES_H
#define XSP_TRACERS_CUDA_PC_LAUNCHES_H

#include "tracers/cuda/abi.h"

// Asks for callbacks of the driver's launches.
void pc_launches_start(const struct cupti *cupti);
// On the thread that begins a launch: notes its call path.
void pc_launches_note(uint32_t correlation_id);
// The call path of the launch (xsp_call_path); 0: none, or there were 4,096 later ones.
uint32_t pc_launches_path(uint32_t correlation_id);

#endif
