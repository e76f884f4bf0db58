// SPDX-License-Identifier: Apache-2.0
// Groups of devices as axes of a mesh (MeshAxesReplicaGroupListProto), which JAX's NamedSharding leads to, and numbers in another order, as of
// XLA's iota. Called by collectives.c and devices.c.
#include "importers/xplane/instructions.h"

// Numbers of fields in xla_data.proto.
enum { LIST_MESH = 1, LIST_AXES = 2 };
enum { MESH_AXES = 1, MESH_DEVICES = 2, MESH_TRANSFORM = 3, AXIS_SIZE = 2 };
enum { TRANSFORM_DIMENSIONS = 1, TRANSFORM_ORDER = 2 };
enum { USED_AXIS = 1, USED_PART = 2, PART_BEFORE = 1, PART_SIZE = 2 };
#define AXES_MOST 16u

struct mesh {
  uint64_t before[AXES_MOST], used[AXES_MOST],
      after[AXES_MOST]; // an axis is of these factors: before and after what is used
  size_t count;
};

// 0: larger than `most`.
static uint64_t product(const uint64_t *factors, size_t count, uint64_t most)
{
  uint64_t all = 1;
  for (size_t i = 0; i < count; i++)
    all = factors[i] <= most && all * factors[i] <= most ? all * factors[i] : 0;
  return all;
}

size_t xplane_numbers_in_order(const uint64_t *dimensions, const uint64_t *order, size_t count, uint64_t *numbers,
                               size_t most)
{
  size_t all = (size_t)product(dimensions, count, most);
  for (size_t at = 0; at < all; at++) {
    uint64_t rest = at, index[XPLANE_DIMENSIONS_MOST] = {0};
    for (size_t i = count; i-- > 0;) {
      if (order[i] >= count)
        return 0;
      index[order[i]] = rest % dimensions[order[i]];
      rest /= dimensions[order[i]];
    }
    numbers[at] = 0;
    for (size_t i = 0; i < count; i++)
      numbers[at] = numbers[at] * dimensions[i] + index[i];
  }
  return all;
}

static bool use_axis(struct wire wire, struct mesh *mesh)
{
  struct wire_field field, part;
  uint64_t axis = 0, before = 1, size = 0;
  while (wire_next(&wire, &field)) {
    struct wire inside = wire_inside(&field);
    axis = wire_is(&field, USED_AXIS, WIRE_VARINT) ? field.value : axis;
    while (wire_is(&field, USED_PART, WIRE_BYTES) && wire_next(&inside, &part)) {
      before = wire_is(&part, PART_BEFORE, WIRE_VARINT) ? part.value : before;
      size = wire_is(&part, PART_SIZE, WIRE_VARINT) ? part.value : size;
    }
  }
  if (axis >= mesh->count || mesh->used[axis] != 1) // two parts of an axis are not seen
    return false;
  uint64_t whole = mesh->before[axis];
  size = size == 0 ? whole : size;
  if (before == 0 || size == 0 || size > whole || before > whole / size || whole % (before * size) != 0)
    return false;
  mesh->before[axis] = before;
  mesh->used[axis] = size;
  mesh->after[axis] = whole / (before * size);
  return true;
}

static bool read_mesh(struct wire list, struct mesh *mesh)
{
  struct wire_field field, part, size;
  struct wire rest = list;
  mesh->count = 0;
  while (wire_find(&rest, LIST_MESH, WIRE_BYTES, &field)) {
    struct wire inside = wire_inside(&field);
    while (wire_find(&inside, MESH_AXES, WIRE_BYTES, &part)) {
      struct wire axis = wire_inside(&part);
      if (mesh->count == AXES_MOST)
        return false;
      mesh->before[mesh->count] = wire_find(&axis, AXIS_SIZE, WIRE_VARINT, &size) ? size.value : 1;
      mesh->used[mesh->count] = mesh->after[mesh->count] = 1;
      mesh->count++;
    }
  }
  while (wire_find(&list, LIST_AXES, WIRE_BYTES, &field))
    if (!use_axis(wire_inside(&field), mesh))
      return false;
  return mesh->count > 0;
}

// Devices in the mesh's own order. 0: they count from 0 on.
static size_t read_devices(struct wire list, uint64_t *devices, size_t most)
{
  uint64_t dimensions[XPLANE_DIMENSIONS_MOST], order[XPLANE_DIMENSIONS_MOST];
  size_t count = 0, dimension_count = 0, ordered = 0;
  struct wire_field mesh, field, part;
  while (wire_find(&list, LIST_MESH, WIRE_BYTES, &mesh)) {
    struct wire inside = wire_inside(&mesh);
    while (wire_next(&inside, &field)) {
      struct wire transform = wire_inside(&field);
      if (field.number == MESH_DEVICES)
        count = xplane_numbers(&field, devices, count, most);
      while (wire_is(&field, MESH_TRANSFORM, WIRE_BYTES) && wire_next(&transform, &part)) {
        if (part.number == TRANSFORM_DIMENSIONS)
          dimension_count = xplane_numbers(&part, dimensions, dimension_count, XPLANE_DIMENSIONS_MOST);
        if (part.number == TRANSFORM_ORDER)
          ordered = xplane_numbers(&part, order, ordered, XPLANE_DIMENSIONS_MOST);
      }
    }
  }
  if (ordered > 0 && ordered == dimension_count)
    count = xplane_numbers_in_order(dimensions, order, ordered, devices, most);
  return count;
}

uint64_t xplane_mesh_groups(struct wire list)
{
  struct mesh mesh;
  uint64_t groups = 1;
  if (!read_mesh(list, &mesh))
    return mesh.count > 0 ? 2 : 0;
  for (size_t i = 0; i < mesh.count; i++)
    groups = mesh.before[i] <= 1 && mesh.after[i] <= 1 ? groups : 2;
  return groups;
}

size_t xplane_mesh_members(struct wire list, uint64_t *members, size_t *ret_group_size)
{
  struct mesh mesh;
  uint64_t dimensions[XPLANE_DIMENSIONS_MOST], order[XPLANE_DIMENSIONS_MOST], devices[XPLANE_DEVICES_MOST];
  if (!read_mesh(list, &mesh))
    return 0;
  for (size_t i = 0; i < mesh.count; i++) {
    dimensions[3 * i] = mesh.before[i], dimensions[3 * i + 1] = mesh.used[i], dimensions[3 * i + 2] = mesh.after[i];
    order[2 * i] = 3 * i, order[2 * i + 1] = 3 * i + 2,
              order[2 * mesh.count + i] = 3 * i + 1; // what is used runs fastest
  }
  size_t count = xplane_numbers_in_order(dimensions, order, 3 * mesh.count, members, XPLANE_DEVICES_MOST);
  size_t device_count = read_devices(list, devices, XPLANE_DEVICES_MOST);
  if (count == 0 || (device_count > 0 && device_count != count))
    return 0;
  for (size_t i = 0; i < count && device_count > 0; i++)
    members[i] = devices[members[i]];
  *ret_group_size = (size_t)product(mesh.used, mesh.count, count);
  return count;
}
