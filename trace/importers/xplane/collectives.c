// SPDX-License-Identifier: Apache-2.0
// Collectives among XLA's operations: their kind, and whether all devices exchange with each other. Called by hlo.c.
#include "importers/xplane/instructions.h"

// Numbers of fields in hlo.proto and xla_data.proto: groups as they were written first, as lists or by a rule, and by axes of a mesh.
enum { INSTRUCTION_GROUPS = 49, INSTRUCTION_DEVICES = 87, INSTRUCTION_MESH = 93 };
enum { DEVICES_GROUPS = 1, DEVICES_RULE = 2, RULE_GROUPS = 1 };

const char *xplane_collective_kind(struct slice opcode)
{
  static const struct {
    const char *opcode, *kind;
  } kinds[] = {{"all-reduce", "all_reduce"},         {"all-gather", "all_gather"},
               {"reduce-scatter", "reduce_scatter"}, {"all-to-all", "all_to_all"},
               {"ragged-all-to-all", "all_to_all"},  {"collective-broadcast", "broadcast"},
               {"collective-permute", "permute"}};
  if (slice_ends_with(opcode, "-start"))
    opcode.length -= strlen("-start");
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (slice_is(opcode, kinds[i].opcode))
      return kinds[i].kind;
  return NULL;
}

static uint64_t groups_of_devices(struct wire devices)
{
  struct wire_field field, count;
  uint64_t groups = 0;
  while (wire_next(&devices, &field)) {
    struct wire rule = wire_inside(&field);
    if (wire_is(&field, DEVICES_GROUPS, WIRE_BYTES))
      groups++;
    else if (wire_is(&field, DEVICES_RULE, WIRE_BYTES) && wire_find(&rule, RULE_GROUPS, WIRE_VARINT, &count))
      groups = count.value;
  }
  return groups;
}

void xplane_collective_groups(const struct wire_field *field, uint64_t *listed, uint64_t *newer)
{
  if (field->type != WIRE_BYTES)
    return;
  uint64_t groups = field->number == INSTRUCTION_DEVICES ? groups_of_devices(wire_inside(field))
                    : field->number == INSTRUCTION_MESH  ? xplane_mesh_groups(wire_inside(field))
                                                         : 0;
  *listed += field->number == INSTRUCTION_GROUPS;
  *newer = groups > *newer ? groups : *newer;
}
