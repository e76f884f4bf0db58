// SPDX-License-Identifier: Apache-2.0
// Parts of a module's instructions (HloInstructionProto): shapes, and what collectives are.
#ifndef XSP_IMPORTERS_XPLANE_INSTRUCTIONS_H
#define XSP_IMPORTERS_XPLANE_INSTRUCTIONS_H

#include "base/buf.h"
#include "base/slice.h"
#include "base/wire.h"

// ---- shape.c
// Adds a field's numbers, packed or one, to the `count` that there are; returns how many there are then.
size_t xplane_numbers(const struct wire_field *field, uint64_t *numbers, size_t count, size_t most);
void xplane_put_shape(struct buf *out, struct wire shape); // "f32[64,128]"; nothing for tuples
int64_t xplane_shape_bytes(struct wire shape);             // 0: of tuples, or unknown

// ---- mesh.c
#define XPLANE_DEVICES_MOST 1024u // of a process
#define XPLANE_DIMENSIONS_MOST 48u
// An array of the numbers from 0 on in these dimensions, its axes put in this order, row by row. Returns how many there are; 0: more than
// `most`, or a wrong order.
size_t xplane_numbers_in_order(const uint64_t *dimensions, const uint64_t *order, size_t count, uint64_t *numbers,
                               size_t most);
// Of a MeshAxesReplicaGroupListProto: 2 for two groups and more; 0: unknown.
uint64_t xplane_mesh_groups(struct wire list);
// The members of its groups, XPLANE_DEVICES_MOST at most, one group after the other. 0: unknown.
size_t xplane_mesh_members(struct wire list, uint64_t *members, size_t *ret_group_size);

// ---- collectives.c
// "all_reduce" of "all-reduce" and "all-reduce-start"; NULL: it is no collective.
const char *xplane_collective_kind(struct slice opcode);
// Of a field of an instruction (HloInstructionProto): how many groups of devices exchange apart. A file may have them twice: one
// by one, which add up, and in newer fields, of which the largest number counts. Both start at 0.
void xplane_collective_groups(const struct wire_field *field, uint64_t *listed, uint64_t *newer);

#endif
