// SPDX-License-Identifier: Apache-2.0
// Nodes of TensorFlow's devices as spans; see step_stats.h. Called by timeline.c and run_metadata.c.
#include "importers/tensorflow/step_stats.h"

#include "base/sorted.h"

#include <stdio.h>
#include <strings.h>

enum step_device step_device_of(struct slice name)
{
  if (slice_ends_with(name, "/stream:all"))
    return STEP_KERNELS;
  if (slice_ends_with(name, "/memcpy"))
    return STEP_COPIES;
  return slice_contains(name, "/stream:") ? STEP_STREAM : STEP_HOST;
}

// The number after "gpu:", in whatever case.
static int64_t device_number(struct slice device)
{
  struct slice digits;
  int64_t number;
  for (size_t i = 0; i + 4 <= device.length; i++)
    if (strncasecmp(device.data + i, "gpu:", 4) == 0) {
      struct slice rest = slice_after(device, i + 4);
      if (slice_cut(&rest, '/', &digits) && slice_int64(digits, &number))
        return number;
    }
  return STORE_NONE;
}

// Operators are on no thread: lanes are the timeline's, so that none overlaps another.
enum status step_track(struct import *import, struct slice device, unsigned lane, uint32_t *ret_track_id,
                       struct error *err)
{
  struct store_track track = IMPORT_NO_PLACE;
  char name[160];
  int length = snprintf(name, sizeof name, "%.*s", device.length < 120 ? (int)device.length : 120, device.data);
  if (lane > 0)
    snprintf(name + length, sizeof name - (size_t)length, " %u", lane);
  track.name = name;
  if (step_device_of(device) != STEP_HOST)
    track.device_id = device_number(device);
  return import_track(import, &track, ret_track_id, err);
}

enum status step_add(struct step_reading *reading, struct step_node *node, int64_t *ret_span_id, struct error *err)
{
  struct import *import = reading->import;
  *ret_span_id = 0;
  if (node->device == STEP_STREAM && reading->has_all_streams) {
    import_skip(import, "of one stream, also in the lanes of all");
    return STATUS_OK;
  }
  node->span_id = *ret_span_id = ++reading->last_span_id;
  if (node->op != 0)
    import_tag_text(import, node->span_id, import_word(import, "layer_type"), node->op);
  if (node->device != STEP_HOST) {
    *vector_add(&reading->device_nodes) = *node;
    return STATUS_OK;
  }
  *vector_add(&reading->layers) = *node;
  // Times of operators that ran next to each other say nothing about who called whom.
  struct store_span span = {.span_id = node->span_id,
                            .start_ns = node->start_ns,
                            .duration_ns = node->duration_ns,
                            .track_id = node->track_id,
                            .name = node->name,
                            .level = XSP_LEVEL_LAYER,
                            .kind = XSP_KIND_SYNC,
                            .flags = STORE_FLAG_BASIS(BASIS_NONE)};
  return import_span(import, &span, err);
}

SORTED_BY(compare_layers, struct step_node, RISING(name) ?: RISING(start_ns))

// Of the sorted layers of the node's name the last that had begun; 0: none had.
static int64_t find_layer(const struct step_reading *reading, const struct step_node *node)
{
  size_t end = PARTITION_POINT(i, 0, reading->layers.count, compare_layers(&reading->layers.items[i], node) <= 0);
  const struct step_node *layer = end > 0 ? &reading->layers.items[end - 1] : NULL;
  return layer != NULL && layer->name == node->name ? layer->span_id : 0;
}

static const char *category(struct import *import, const struct step_node *node)
{
  size_t length;
  const char *op = import_text(import, node->op, &length);
  struct slice text = {op, length};
  if (slice_starts_with(text, "MEMSET") || slice_starts_with(text, "Memset"))
    return "memset";
  bool is_copy = node->device == STEP_COPIES || slice_starts_with(text, "MEMCPY") || slice_starts_with(text, "Memcpy");
  return is_copy ? "memcpy" : "kernel";
}

enum status step_finish(struct step_reading *reading, struct error *err)
{
  vector_sort(&reading->layers, compare_layers);
  for (size_t i = 0; i < reading->device_nodes.count; i++) {
    const struct step_node *node = &reading->device_nodes.items[i];
    struct store_span span = {.span_id = node->span_id,
                              .recorded_parent_id = find_layer(reading, node),
                              .start_ns = node->start_ns,
                              .duration_ns = node->duration_ns,
                              .track_id = node->track_id,
                              .name = node->name,
                              .category = import_word(reading->import, category(reading->import, node)),
                              .level = XSP_LEVEL_KERNEL,
                              .kind = XSP_KIND_EXECUTION};
    XSP_TRY(import_span(reading->import, &span, err));
  }
  return STATUS_OK;
}

void step_done(struct step_reading *reading)
{
  vector_done(&reading->layers);
  vector_done(&reading->device_nodes);
}
