// SPDX-License-Identifier: Apache-2.0
// Which devices exchange with each other, and whether those of a process are ranks; see devices.c. Inside this folder only.
#ifndef XSP_IMPORTERS_XPLANE_DEVICES_H
#define XSP_IMPORTERS_XPLANE_DEVICES_H

#include "importers/xplane/instructions.h"
#include "importers/xplane/xplane.h"

struct xplane_grouping { // of a collective's devices; starts as {0}
  uint64_t instruction;  // its place in xplane.instructions + 1
  // Devices by the numbers that the module has for them, one computation's after another's; none: they have the same ones.
  uint64_t assigned[XPLANE_DEVICES_MOST];
  size_t assigned_count, computations;
};
void xplane_read_assignment(struct wire wire, struct xplane_grouping *grouping);
// By the instruction's fields.
void xplane_add_groups(struct xplane *x, const struct xplane_grouping *of, struct wire wire);
uint32_t xplane_group_of(const struct xplane *x, const struct xplane_instruction *instruction, int64_t device); // text
void xplane_devices_find(struct xplane *x); // after the second pass: device_count
void xplane_rank_of_device(const struct xplane *x, int64_t device, struct store_track *track);

#endif
