// SPDX-License-Identifier: Apache-2.0
// Reads RunMetadata; see metadata.h. Called by layers.c after an inference, outside every span.
#include "frameworks/tensorflow/metadata.h"

#include "base/sorted.h"
#include "base/wire.h"

#include <stdlib.h>
#include <string.h>

enum { METADATA_STEP_STATS = 1, METADATA_PARTITION_GRAPHS = 3, STEP_STATS_DEVICE = 1 };
enum { DEVICE_NAME = 1, DEVICE_NODE = 2 };
enum {
  NODE_NAME = 1,
  NODE_START_US = 2,
  NODE_END_US = 5, // after the start
  NODE_MEMORY = 6,
  NODE_OUTPUT = 7,
  NODE_LABEL = 8,
  NODE_START_NS = 13,
  NODE_END_NS = 16,
};

#define SAME_START_MAXIMUM 16u

// ---- one entry -------------------------------------------------------------------------------------------------------

static struct slice text_of(const struct wire_field *field)
{
  return (struct slice){field->bytes, field->length};
}

static const char *find_text(const char *bytes, size_t length, const char *wanted)
{
  return length > 0 ? memmem(bytes, length, wanted, strlen(wanted)) : NULL;
}

// "conv = Conv2D(x, w)" → "Conv2D"; labels of lanes that are none of the executor's have no such form.
static struct slice type_of(const struct wire_field *label)
{
  const char *bytes = label->bytes, *end = bytes + label->length;
  const char *equals = find_text(bytes, label->length, " = ");
  if (equals == NULL)
    return slice_of("");
  const char *type = equals + 3;
  const char *open = memchr(type, '(', (size_t)(end - type));
  return open != NULL ? (struct slice){type, (size_t)(open - type)} : slice_of("");
}

static uint64_t allocated(struct wire memory)
{
  struct wire_field field;
  uint64_t bytes = 0;
  while (wire_find(&memory, 2, WIRE_VARINT, &field)) // total_bytes
    if (field.value <= INT64_MAX)
      bytes = field.value;
  return bytes;
}

// NodeOutput: slot, tensor_description → type and shape. Slot 0 is not written.
static void read_output(struct wire output, struct tensorflow_output *ret_output)
{
  struct wire_field field, part;
  *ret_output = (struct tensorflow_output){.shape.rank = TENSORFLOW_NO_RANK};
  while (wire_next(&output, &field)) {
    if (wire_is(&field, 1, WIRE_VARINT))
      ret_output->slot = field.value;
    if (!wire_is(&field, 3, WIRE_BYTES))
      continue;
    ret_output->shape = (struct tensorflow_shape){0}; // a scalar's shape is not written
    struct wire description = wire_inside(&field);
    while (wire_next(&description, &part)) {
      if (wire_is(&part, 1, WIRE_VARINT))
        ret_output->type = (uint32_t)part.value;
      if (wire_is(&part, 2, WIRE_BYTES))
        tensorflow_shape_read(part.bytes, part.length, &ret_output->shape);
    }
  }
}

bool tensorflow_output_next(struct wire *message, struct tensorflow_output *ret_output)
{
  struct wire_field field;
  bool is_found = wire_find(message, NODE_OUTPUT, WIRE_BYTES, &field);
  if (is_found)
    read_output(wire_inside(&field), ret_output);
  return is_found;
}

static uint64_t add_bounded(uint64_t a, uint64_t b)
{
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

// There are fields in microseconds and in nanoseconds; old versions have only the former.
static bool set_times(uint64_t start_us, uint64_t end_us, uint64_t start_ns, uint64_t end_ns,
                      struct tensorflow_step *step)
{
  bool has_ns = start_ns != 0;
  if (!has_ns && (start_us > INT64_MAX / 1000 || end_us > INT64_MAX / 1000))
    return false;
  step->start_ns = has_ns ? start_ns : start_us * 1000;
  step->duration_ns = has_ns ? end_ns : end_us * 1000;
  return step->start_ns <= INT64_MAX && step->duration_ns <= INT64_MAX - step->start_ns;
}

// False: no execution of a node, or times that make no sense.
static bool read_step(struct wire message, struct tensorflow_step *step)
{
  *step = (struct tensorflow_step){.type = {"", 0},
                                   .shape.rank = TENSORFLOW_NO_RANK,
                                   .message = message.at,
                                   .message_length = (size_t)(message.end - message.at)};
  uint64_t numbers[NODE_END_NS + 1] = {0};
  struct wire_field field;
  while (wire_next(&message, &field)) {
    if (field.type == WIRE_VARINT && field.number <= NODE_END_NS)
      numbers[field.number] = field.value;
    if (field.type != WIRE_BYTES)
      continue;
    if (field.number == NODE_NAME)
      step->node = text_of(&field);
    else if (field.number == NODE_LABEL)
      step->type = type_of(&field);
    else if (field.number == NODE_MEMORY)
      step->alloc_bytes = add_bounded(step->alloc_bytes, allocated(wire_inside(&field)));
  }
  struct wire outputs = wire_over(step->message, step->message_length);
  struct tensorflow_output output;
  while (tensorflow_output_next(&outputs, &output))
    if (output.slot == 0)
      step->shape = output.shape;
  if (message.problem != NULL || step->node.length == 0 || slice_is(step->node, "_SOURCE"))
    return false; // _SOURCE is the executor's own mark of the beginning
  return set_times(numbers[NODE_START_US], numbers[NODE_END_US], numbers[NODE_START_NS], numbers[NODE_END_NS], step);
}

// ---- lanes -----------------------------------------------------------------------------------------------------------

// A device's name alone is the lane on which the host ran its nodes; "…/stream:all", "…/stream:13", "…/memcpy" and threads
// show the same work once more, as the device did it.
static bool is_host_lane(struct wire device)
{
  struct wire_field field;
  bool is_host = true;
  while (wire_find(&device, DEVICE_NAME, WIRE_BYTES, &field)) {
    const char *name = field.bytes;
    is_host = find_text(name, field.length, "/stream:") == NULL && find_text(name, field.length, "/memcpy") == NULL &&
              find_text(name, field.length, "/host:") == NULL;
  }
  return is_host;
}

// Of two that are equal, as they were written.
SORTED_BY(compare_steps, struct tensorflow_step, RISING(start_ns) ?: FALLING(duration_ns) ?: RISING(node.data))

static bool is_same(const struct tensorflow_step *a, const struct tensorflow_step *b)
{
  return a->start_ns == b->start_ns && a->duration_ns == b->duration_ns && slice_equal(a->node, b->node);
}

static void leave_out_repeated(struct tensorflow_steps *steps)
{
  size_t kept = 0;
  for (size_t i = 0; i < steps->count; i++) {
    bool is_repeated = false; // few others begin in the same nanosecond
    for (size_t k = kept; k > 0 && kept - k < SAME_START_MAXIMUM && !is_repeated; k--)
      is_repeated = is_same(&steps->items[k - 1], &steps->items[i]);
    if (!is_repeated)
      steps->items[kept++] = steps->items[i];
  }
  steps->left_out += steps->count - kept;
  steps->count = kept;
}

// Every entry of every lane, first to count them (items NULL), then to keep those that are executions.
static const char *walk(const void *bytes, size_t length, struct tensorflow_steps *steps, size_t *ret_most)
{
  struct wire metadata = wire_over(bytes, length);
  struct wire_field field, device_field, node_field;
  const char *problem = NULL;
  *ret_most = 0;
  while (wire_find(&metadata, METADATA_STEP_STATS, WIRE_BYTES, &field)) {
    struct wire stats = wire_inside(&field);
    while (wire_find(&stats, STEP_STATS_DEVICE, WIRE_BYTES, &device_field)) {
      struct wire device = wire_inside(&device_field);
      bool is_host = is_host_lane(device);
      while (wire_find(&device, DEVICE_NODE, WIRE_BYTES, &node_field)) {
        ++*ret_most;
        if (steps->items == NULL)
          continue;
        if (is_host && read_step(wire_inside(&node_field), &steps->items[steps->count]))
          steps->count++;
        else
          steps->left_out++;
      }
      problem = problem != NULL ? problem : device.problem;
    }
    problem = problem != NULL ? problem : stats.problem;
  }
  return problem != NULL ? problem : metadata.problem;
}

bool tensorflow_steps_read(const void *bytes, size_t length, struct arena *arena, struct tensorflow_steps *ret_steps,
                           const char **ret_problem)
{
  *ret_steps = (struct tensorflow_steps){0};
  size_t most = 0;
  *ret_problem = walk(bytes, length, ret_steps, &most);
  if (*ret_problem != NULL)
    return false;
  ret_steps->items = arena_alloc_array(arena, most + 1, sizeof *ret_steps->items);
  (void)walk(bytes, length, ret_steps, &most);
  qsort(ret_steps->items, ret_steps->count, sizeof *ret_steps->items, compare_steps);
  leave_out_repeated(ret_steps);
  return true;
}

bool tensorflow_partitions_read(const void *bytes, size_t length, struct arena *arena,
                                struct tensorflow_graph **ret_graphs, size_t *ret_count, const char **ret_problem)
{
  struct wire metadata = wire_over(bytes, length);
  struct wire_field field;
  *ret_count = 0;
  *ret_problem = NULL;
  *ret_graphs = arena_alloc_array(arena, wire_count(metadata, METADATA_PARTITION_GRAPHS) + 1, sizeof **ret_graphs);
  while (*ret_problem == NULL && wire_find(&metadata, METADATA_PARTITION_GRAPHS, WIRE_BYTES, &field))
    if (tensorflow_graph_read(field.bytes, field.length, arena, &(*ret_graphs)[*ret_count], ret_problem))
      ++*ret_count;
  if (*ret_problem == NULL)
    *ret_problem = metadata.problem;
  return *ret_problem == NULL;
}
