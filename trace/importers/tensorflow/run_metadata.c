// SPDX-License-Identifier: Apache-2.0
// TensorFlow's RunMetadata, or the StepStats in it, as protobuf: what session.run leaves with a trace level. Nodes are those of
// tf.Timeline, with nanoseconds, shapes and bytes. See docs/importers.md.
//
//      RunMetadata.step_stats (1) → StepStats.dev_stats (1) → device (1), node_stats (2) → name, times, memory, outputs
#include "base/buf.h"
#include "base/utf8.h"
#include "base/wire.h"
#include "importers/tensorflow/step_stats.h"

#include <inttypes.h>
#include <stdlib.h>

enum { // numbers of fields in tensorflow/core/framework/step_stats.proto
  DEVICE_NAME = 1,
  DEVICE_NODE = 2,
  NODE_NAME = 1,
  NODE_START_US = 2,
  NODE_END_US = 5, // from the start
  NODE_MEMORY = 6,
  NODE_OUTPUT = 7,
  NODE_LABEL = 8,
  NODE_START_NS = 13,
  NODE_END_NS = 16,
  MEMORY_TOTAL = 2,
  OUTPUT_TENSOR = 3,
  TENSOR_SHAPE = 2,
  SHAPE_DIM = 2,
  DIM_SIZE = 1,
};

// ---- recognising -----------------------------------------------------------------------------------------------------
// The first field of a message, where it is number 1 with bytes; what of it is there.
static bool first_of(struct slice message, struct slice *ret_inside)
{
  struct wire wire = wire_over(message.data, message.length);
  struct wire_field field = {0};
  (void)wire_next(&wire, &field);
  if (!wire_is(&field, 1, WIRE_BYTES) || field.bytes == NULL)
    return false;
  size_t rest = (size_t)(message.data + message.length - field.bytes);
  *ret_inside = (struct slice){field.bytes, field.value < rest ? (size_t)field.value : rest};
  return true;
}

static bool is_device(struct slice text)
{
  return slice_starts_with(text, "/job:") || slice_starts_with(text, "/device:") || slice_starts_with(text, "/gpu:") ||
         slice_starts_with(text, "/cpu:");
}

enum shape { SHAPE_NONE, SHAPE_STEP_STATS, SHAPE_RUN_METADATA };
static enum shape shape_of(struct slice head)
{
  struct slice first, second, third;
  if (!first_of(head, &first) || !first_of(first, &second))
    return SHAPE_NONE;
  if (is_device(second))
    return SHAPE_STEP_STATS;
  return first_of(second, &third) && is_device(third) ? SHAPE_RUN_METADATA : SHAPE_NONE;
}

static int recognize(struct slice head, bool is_all)
{
  return shape_of(head) != SHAPE_NONE ? 3 : 0;
}

// ---- reading ---------------------------------------------------------------------------------------------------------
struct reading {
  struct step_reading steps;
  const char *start; // of the file in memory
  uint64_t offset;
  VECTOR(struct step_node) nodes; // of one device
  VECTOR(int64_t) lane_ends;      // of one device: when the last node of a lane ended
  VECTOR(uint32_t) lane_tracks;
  VECTOR(struct wire) messages; // of `nodes`
  struct buf text;
};

static enum status broken(const struct reading *reading, const char *at, const char *problem, struct error *err)
{
  return import_broken(reading->steps.import, err, reading->offset + (uint64_t)(at - reading->start), "%s", problem);
}

static uint32_t intern(struct reading *reading, struct slice text)
{
  buf_clear(&reading->text);
  buf_utf8(&reading->text, text.data, text.length);
  return import_string(reading->steps.import, reading->text.data, reading->text.length);
}

// "conv = Conv2D(x, w)", before it "[cpu 0.1MB 0.1MB] " where memory was recorded → "Conv2D".
static struct slice op_of_label(struct slice label)
{
  const char *equals = label.length > 0 ? memmem(label.data, label.length, " = ", 3) : NULL;
  struct slice op;
  if (equals == NULL)
    return slice_of("");
  label = slice_after(label, (size_t)(equals - label.data) + 3);
  return slice_cut(&label, '(', &op) ? op : slice_of("");
}

// "regs:… @@MatMul:MatMul#id=1#" → node and operator; older files have both in the node's name.
static void split_annotation(struct slice label, struct slice *name, struct slice *ret_op)
{
  const char *at = label.length > 0 ? memmem(label.data, label.length, "@@", 2) : NULL;
  if (at != NULL) {
    struct slice rest = slice_after(label, (size_t)(at - label.data) + 2), annotation;
    if (slice_cut(&rest, '#', &annotation) && rest.data != NULL && annotation.length > 0)
      *name = annotation;
  }
  struct slice rest = *name, node;
  if (!slice_cut(&rest, ':', &node) || rest.data == NULL)
    return;
  *name = node;
  (void)slice_cut(&rest, ':', ret_op);
}

struct stamps {
  uint64_t start_us, end_us, start_ns, end_ns; // ends from the start
};
static bool take_stamps(const struct stamps *stamps, struct step_node *node)
{
  uint64_t start_ns = stamps->start_ns, end_ns = stamps->end_ns;
  if (start_ns == 0 && (__builtin_mul_overflow(stamps->start_us, 1000, &start_ns) ||
                        __builtin_mul_overflow((int64_t)stamps->end_us, 1000, (int64_t *)&end_ns)))
    return false;
  node->start_ns = (int64_t)start_ns;
  node->duration_ns = (int64_t)end_ns;
  int64_t ignored;
  return start_ns <= INT64_MAX && !__builtin_add_overflow(node->start_ns, node->duration_ns, &ignored);
}

static enum status read_node(struct reading *reading, const struct wire_field *message, enum step_device device,
                             struct error *err)
{
  struct wire wire = wire_inside(message);
  struct wire_field field;
  struct step_node node = {.device = device};
  struct stamps stamps = {0};
  struct slice name = slice_of(""), label = slice_of(""), op = slice_of("");
  while (wire_next(&wire, &field)) {
    uint64_t *number = field.number == NODE_START_US   ? &stamps.start_us
                       : field.number == NODE_END_US   ? &stamps.end_us
                       : field.number == NODE_START_NS ? &stamps.start_ns
                       : field.number == NODE_END_NS   ? &stamps.end_ns
                                                       : NULL;
    if (number != NULL && field.type == WIRE_VARINT)
      *number = field.value;
    if (wire_is(&field, NODE_NAME, WIRE_BYTES))
      name = (struct slice){field.bytes, field.length};
    if (wire_is(&field, NODE_LABEL, WIRE_BYTES))
      label = (struct slice){field.bytes, field.length};
  }
  if (wire.problem != NULL)
    return broken(reading, wire.at, wire.problem, err);
  if (!take_stamps(&stamps, &node))
    return broken(reading, message->start, "a time of this node is beyond 64 bits of nanoseconds", err);
  if (node.duration_ns < 0) {
    import_skip(reading->steps.import, "negative duration");
    return STATUS_OK;
  }
  if (device == STEP_HOST)
    op = op_of_label(label);
  else
    split_annotation(label, &name, &op);
  node.name = intern(reading, name);
  node.op = intern(reading, op);
  *vector_add(&reading->nodes) = node;
  *vector_add(&reading->messages) = wire_inside(message);
  return STATUS_OK;
}

// ---- tags ------------------------------------------------------------------------------------------------------------
static void put_shape(struct buf *text, const struct wire_field *shape)
{
  struct wire wire = wire_inside(shape);
  struct wire_field dim, size;
  const char *joint = "";
  buf_text(text, "[");
  while (wire_find(&wire, SHAPE_DIM, WIRE_BYTES, &dim)) {
    struct wire inside = wire_inside(&dim);
    int64_t number = wire_find(&inside, DIM_SIZE, WIRE_VARINT, &size) ? (int64_t)size.value : 0;
    buf_format(text, "%s%" PRId64, joint, number);
    joint = ",";
  }
  buf_text(text, "]");
}

// The shape of the first output, and what all allocators gave in the node.
static void tag_node(struct reading *reading, struct wire wire, int64_t span_id)
{
  struct import *import = reading->steps.import;
  struct wire_field field, tensor, shape, total;
  int64_t allocated = 0;
  bool has_memory = false, has_shape = false;
  while (wire_next(&wire, &field)) {
    struct wire inside = wire_inside(&field);
    if (wire_is(&field, NODE_MEMORY, WIRE_BYTES) && wire_find(&inside, MEMORY_TOTAL, WIRE_VARINT, &total))
      has_memory = !__builtin_add_overflow(allocated, (int64_t)total.value, &allocated);
    if (has_shape || !wire_is(&field, NODE_OUTPUT, WIRE_BYTES) ||
        !wire_find(&inside, OUTPUT_TENSOR, WIRE_BYTES, &tensor))
      continue;
    inside = wire_inside(&tensor);
    has_shape = wire_find(&inside, TENSOR_SHAPE, WIRE_BYTES, &shape);
    buf_clear(&reading->text);
    if (has_shape)
      put_shape(&reading->text, &shape);
  }
  if (has_shape)
    import_tag_bytes(import, span_id, import_word(import, "layer_shape"), reading->text.data, reading->text.length);
  if (has_memory)
    import_tag_int(import, span_id, import_word(import, "alloc_bytes"), allocated);
}

// ---- devices ---------------------------------------------------------------------------------------------------------
// The first lane that is free at `node`'s start, as tf.Timeline lays them out.
static enum status lane_track(struct reading *reading, struct slice device, const struct step_node *node,
                              uint32_t *ret_track_id, struct error *err)
{
  enum { LANES_MOST = 256 }; // more nodes at once than threads: the last lane takes them
  size_t lane = 0;
  while (lane < reading->lane_ends.count && reading->lane_ends.items[lane] > node->start_ns && lane < LANES_MOST - 1)
    lane++;
  if (lane == reading->lane_ends.count) {
    uint32_t track = 0;
    XSP_TRY(step_track(reading->steps.import, device, (unsigned)lane, &track, err));
    *vector_add(&reading->lane_ends) = 0;
    *vector_add(&reading->lane_tracks) = track;
  }
  reading->lane_ends.items[lane] = node->start_ns + node->duration_ns;
  *ret_track_id = reading->lane_tracks.items[lane];
  return STATUS_OK;
}

static enum status read_device(struct reading *reading, const struct wire_field *message, struct error *err)
{
  struct wire wire = wire_inside(message);
  struct wire_field field;
  struct slice device = slice_of("");
  if (wire_find(&wire, DEVICE_NAME, WIRE_BYTES, &field))
    device = (struct slice){field.bytes, field.length};
  uint32_t name = intern(reading, device);
  device.data = import_text(reading->steps.import, name, &device.length);
  reading->nodes.count = reading->messages.count = reading->lane_ends.count = reading->lane_tracks.count = 0;
  wire = wire_inside(message);
  while (wire_next(&wire, &field))
    if (wire_is(&field, DEVICE_NODE, WIRE_BYTES))
      XSP_TRY(read_node(reading, &field, step_device_of(device), err));
  if (wire.problem != NULL)
    return broken(reading, wire.at, wire.problem, err);
  for (size_t i = 0; i < reading->nodes.count; i++) {
    struct step_node *node = &reading->nodes.items[i];
    int64_t span_id;
    XSP_TRY(lane_track(reading, device, node, &node->track_id, err));
    XSP_TRY(step_add(&reading->steps, node, &span_id, err));
    if (span_id != 0)
      tag_node(reading, reading->messages.items[i], span_id);
  }
  return STATUS_OK;
}

static enum status read_step_stats(struct reading *reading, struct wire stats, struct error *err)
{
  struct wire wire = stats;
  struct wire_field device, name;
  while (wire_find(&wire, 1, WIRE_BYTES, &device)) {
    struct wire inside = wire_inside(&device);
    if (wire_find(&inside, DEVICE_NAME, WIRE_BYTES, &name) &&
        step_device_of((struct slice){name.bytes, name.length}) == STEP_KERNELS)
      reading->steps.has_all_streams = true;
  }
  while (wire_find(&stats, 1, WIRE_BYTES, &device))
    XSP_TRY(read_device(reading, &device, err));
  return stats.problem != NULL ? broken(reading, stats.at, stats.problem, err) : STATUS_OK;
}

static enum status read_whole(struct reading *reading, struct error *err)
{
  struct import *import = reading->steps.import;
  struct slice whole;
  struct wire_field stats;
  reading->offset = input_offset(import->input, import->input->at);
  XSP_TRY(input_whole(import->input, &whole, err));
  reading->start = whole.data;
  import->input->at = import->input->end;
  struct wire wire = wire_over(whole.data, whole.length);
  enum shape shape = shape_of(whole);
  if (shape == SHAPE_NONE)
    return import_broken(import, err, reading->offset, "it is neither RunMetadata nor StepStats with a device");
  if (shape == SHAPE_STEP_STATS)
    return read_step_stats(reading, wire, err);
  if (wire_find(&wire, 1, WIRE_BYTES, &stats))
    return read_step_stats(reading, wire_inside(&stats), err);
  return broken(reading, wire.at, wire.problem != NULL ? wire.problem : "it has no step", err);
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.steps.import = import};
  import_run(import, &(struct store_run){.epoch_is_unix = true});
  import_framework(import, "tensorflow", NULL);
  enum status status = read_whole(&reading, err);
  if (status == STATUS_OK)
    status = step_finish(&reading.steps, err);
  step_done(&reading.steps);
  vector_done(&reading.nodes);
  vector_done(&reading.messages);
  vector_done(&reading.lane_ends);
  vector_done(&reading.lane_tracks);
  buf_done(&reading.text);
  return status;
}

const struct importer importer_tf_metadata = {
    .name = "tf-metadata",
    .summary = "TensorFlow's RunMetadata or StepStats as protobuf",
    .recognize = recognize,
    .read = read_file,
};
