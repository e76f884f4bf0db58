// SPDX-License-Identifier: Apache-2.0
// Several devices of one process that compute a module together, as those of jax.sharding: each is a rank, and exchanges with those of its
// group. Called by hlo.c for the groups, by executions.c once all executions are known, and where tracks are made.
#include "importers/xplane/devices.h"

#include "base/sorted.h"

#include <inttypes.h>
#include <stdlib.h>

// Numbers of fields in hlo.proto and xla_data.proto; numbers in a group, and devices that run a computation, have field 1.
enum { INSTRUCTION_GROUPS = 49, INSTRUCTION_DEVICES = 87, INSTRUCTION_MESH = 93 };
enum { ASSIGNMENT_COMPUTATIONS = 3 };
enum { DEVICES_GROUPS = 1, DEVICES_RULE = 2 };
enum { RULE_GROUPS = 1, RULE_SIZE = 2, RULE_DIMENSIONS = 3, RULE_ORDER = 4 };
#define DEVICES_MOST XPLANE_DEVICES_MOST
#define DIMENSIONS_MOST XPLANE_DIMENSIONS_MOST

// ---- groups ----------------------------------------------------------------------------------------------------------
// "0-3" and "0,2", as of communicators of MPI.
static void put_members(struct buf *out, const uint64_t *members, size_t count)
{
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && members[end] == members[end - 1] + 1;)
      end++;
    buf_format(out, "%s%" PRIu64, i > 0 ? "," : "", members[i]);
    if (end - i > 1)
      buf_format(out, "-%" PRIu64, members[end - 1]);
  }
}

SORTED_BY(by_number, uint64_t, ORDER(*a, *b))

// Returns how many of them were in no group of the instruction. A module's own numbers of devices become theirs.
static size_t add_group(struct xplane *x, const struct xplane_grouping *of, uint64_t *members, size_t count)
{
  struct buf text SCOPED(buf_done) = {0};
  size_t new_count = 0;
  for (size_t i = 0; i < count; i++)
    if (members[i] < of->assigned_count)
      members[i] = of->assigned[members[i] % of->computations * (of->assigned_count / of->computations) +
                                members[i] / of->computations];
  qsort(members, count, sizeof *members, by_number);
  put_members(&text, members, count);
  for (size_t i = 0; i < count; i++) {
    bool is_new;
    *map_at(&x->group_at, (struct map_key){of->instruction, members[i]}, &is_new) =
        (uint64_t)interner_at(&x->texts, text.data, text.length) + 1;
    new_count += is_new;
  }
  return new_count;
}

static size_t add_listed(struct xplane *x, const struct xplane_grouping *of, struct wire group)
{
  uint64_t members[DEVICES_MOST];
  size_t count = 0;
  struct wire_field field;
  while (wire_next(&group, &field))
    if (field.number == 1)
      count = xplane_numbers(&field, members, count, DEVICES_MOST);
  return count > 0 ? add_group(x, of, members, count) : 0;
}

static size_t add_in_turn(struct xplane *x, const struct xplane_grouping *of, uint64_t *members, size_t count,
                          size_t size)
{
  size_t new_count = 0;
  for (size_t at = 0; at < count; at += size)
    new_count += add_group(x, of, members + at, size);
  return new_count;
}

// Numbers from 0 on in an array of these dimensions, which are put in another order; then groups of one size follow each other.
static size_t add_by_rule(struct xplane *x, const struct xplane_grouping *of, struct wire rule)
{
  uint64_t dimensions[DIMENSIONS_MOST], order[DIMENSIONS_MOST], members[DEVICES_MOST], groups = 0, size = 0;
  size_t count = 0, ordered = 0;
  struct wire_field field;
  while (wire_next(&rule, &field)) {
    groups = wire_is(&field, RULE_GROUPS, WIRE_VARINT) ? field.value : groups;
    size = wire_is(&field, RULE_SIZE, WIRE_VARINT) ? field.value : size;
    if (field.number == RULE_DIMENSIONS)
      count = xplane_numbers(&field, dimensions, count, DIMENSIONS_MOST);
    if (field.number == RULE_ORDER)
      ordered = xplane_numbers(&field, order, ordered, DIMENSIONS_MOST);
  }
  if (ordered == 0)
    for (; ordered < count; ordered++)
      order[ordered] = ordered;
  size_t all = ordered == count ? xplane_numbers_in_order(dimensions, order, count, members, DEVICES_MOST) : 0;
  if (size == 0 || size > DEVICES_MOST || groups > DEVICES_MOST || groups * size != all)
    return 0;
  return add_in_turn(x, of, members, all, (size_t)size);
}

void xplane_read_assignment(struct wire wire, struct xplane_grouping *grouping)
{
  struct wire_field field, part;
  grouping->computations = 0;
  while (wire_find(&wire, ASSIGNMENT_COMPUTATIONS, WIRE_BYTES, &field)) {
    struct wire computation = wire_inside(&field);
    grouping->computations++;
    while (wire_next(&computation, &part))
      if (part.number == 1)
        grouping->assigned_count =
            xplane_numbers(&part, grouping->assigned, grouping->assigned_count, XPLANE_DEVICES_MOST);
  }
  if (grouping->computations == 0 || grouping->assigned_count % grouping->computations != 0)
    grouping->assigned_count = 0;
}

void xplane_add_groups(struct xplane *x, const struct xplane_grouping *of, struct wire wire)
{
  uint64_t members[DEVICES_MOST];
  struct wire_field field, part;
  size_t devices = 0, size = 0;
  while (wire_next(&wire, &field)) {
    struct wire inside = wire_inside(&field);
    if (wire_is(&field, INSTRUCTION_GROUPS, WIRE_BYTES))
      devices += add_listed(x, of, inside);
    else if (wire_is(&field, INSTRUCTION_MESH, WIRE_BYTES)) {
      size_t count = xplane_mesh_members(inside, members, &size);
      devices += add_in_turn(x, of, members, count, size);
    }
    while (wire_is(&field, INSTRUCTION_DEVICES, WIRE_BYTES) && wire_next(&inside, &part)) {
      if (wire_is(&part, DEVICES_GROUPS, WIRE_BYTES))
        devices += add_listed(x, of, wire_inside(&part));
      else if (wire_is(&part, DEVICES_RULE, WIRE_BYTES))
        devices += add_by_rule(x, of, wire_inside(&part));
    }
  }
  x->grouped_devices = devices > x->grouped_devices ? devices : x->grouped_devices;
}

uint32_t xplane_group_of(const struct xplane *x, const struct xplane_instruction *instruction, int64_t device)
{
  const struct map_key key = {(uint64_t)(instruction - x->instructions.items) + 1, (uint64_t)device};
  const uint64_t *group = x->device_count > 0 ? map_find(&x->group_at, key) : NULL;
  return group != NULL ? (uint32_t)*group - 1 : instruction->group - 1;
}

// ---- devices as ranks ------------------------------------------------------------------------------------------------
void xplane_devices_find(struct xplane *x)
{
  struct map seen SCOPED(map_done) = {0};
  int64_t last = -1;
  for (size_t i = 0; i < x->runs.count; i++) {
    const struct xplane_run *run = &x->runs.items[i];
    const struct xplane_plane *first = &x->planes.items[x->runs.items[0].plane], *plane = &x->planes.items[run->plane];
    if (run->device < 0 || run->device >= DEVICES_MOST || xplane_owner(x, plane) != xplane_owner(x, first))
      return;
    (void)map_at(&seen, map_number((uint64_t)run->device), NULL);
    last = run->device > last ? run->device : last;
  }
  bool are_all = seen.count > 1 && (int64_t)seen.count == last + 1 && seen.count == x->grouped_devices;
  x->device_count = are_all ? (uint32_t)seen.count : 0; // else other processes have some of them
}

void xplane_rank_of_device(const struct xplane *x, int64_t device, struct store_track *track)
{
  if (x->device_count > 0)
    track->rank = (struct store_rank){.world_size = x->device_count, .rank = device, .local_rank = device};
}
