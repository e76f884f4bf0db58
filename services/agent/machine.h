// SPDX-License-Identifier: Apache-2.0
// What the agent's machine has, read once when it starts.
#ifndef XSP_AGENT_MACHINE_H
#define XSP_AGENT_MACHINE_H

#include "agent/record.h"
#include "base/error.h"

// Fills the machine's fields of the record. Texts are in `arena`. STATUS_SYSTEM: XSP_LIBRARY_NVML names something else.
enum status machine_hardware(struct arena *arena, struct agent_record *record, struct error *err) MUST_CHECK;
// The same, and the frameworks that `xsp check` finds usable, each opened in a process of its own. Before
// the agent has threads.
enum status machine_describe(struct arena *arena, struct agent_record *record, struct error *err) MUST_CHECK;
// "mlx5_0: 100 Gb/sec (4X EDR), …" of the InfiniBand devices in `folder` (/sys/class/infiniband); NULL: none.
const char *machine_interconnect(const char *folder, struct arena *arena);

#endif
