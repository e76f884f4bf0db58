// SPDX-License-Identifier: Apache-2.0
// What trtexec --exportProfile writes: [{"count": N}, {"name", "timeMs", "averageMs", "medianMs", "percentage"}, …], mean times
// of layers in the order in which they run. A description has their types, shapes and tactics (layers.h). See
// docs/importers.md.
#include "importers/json_document.h"
#include "importers/tensorrt/layers.h"
#include "importers/text_file.h"

#include <inttypes.h>

#define MILLISECONDS 3 // as a power of ten of µs

static int recognize(struct slice head, bool is_all)
{
  head = import_json_head(head);
  return slice_starts_with(head, "[") && slice_contains(head, "\"averageMs\"") && slice_contains(head, "\"timeMs\"")
             ? 3
             : 0;
}

struct reading { // `json` for the visitors
  struct import_json json;
  struct import_described layers;
  uint32_t track_id;
  int64_t last_span_id, placed_ns;
  uint64_t undescribed;
  // Of the layer that is read:
  uint32_t name;
  char mean_ms[64];
  struct store_tag median, count;
};

static bool take_member(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  if (strcmp(key, "name") == 0 && reader->event == JSON_STRING)
    reading->name = import_string(reading->json.import, reader->text, reader->length);
  else if (strcmp(key, "averageMs") == 0 && reader->event == JSON_NUMBER && reader->length < sizeof reading->mean_ms)
    memcpy(reading->mean_ms, reader->text, reader->length + 1);
  else if (strcmp(key, "medianMs") == 0 && !import_json_value(reading->json.import, reader, &reading->median))
    reading->median.type = 0;
  else if (strcmp(key, "count") == 0 && !import_json_value(reading->json.import, reader, &reading->count))
    reading->count.type = 0;
  return true;
}

static void put_tag(struct reading *reading, struct store_tag tag, int64_t span_id, const char *key)
{
  if (tag.type == 0)
    return;
  tag.span_id = span_id;
  tag.key = import_word(reading->json.import, key);
  import_tag(reading->json.import, &tag);
}

// Layers run one after the other on one stream: a place for each that adds up to the inference.
static enum status add_layer(struct reading *reading, struct error *err)
{
  struct import *import = reading->json.import;
  struct import_decimal zero = {slice_of("0"), 0}, mean = {slice_of(reading->mean_ms), MILLISECONDS};
  struct store_span span = {.level = XSP_LEVEL_LAYER, .kind = XSP_KIND_SYNC, .name = reading->name};
  bool has_times;
  XSP_TRY(import_decimal_times(import, zero, mean, &span, &has_times, err));
  if (!has_times)
    return STATUS_OK;
  span.span_id = ++reading->last_span_id;
  span.start_ns = reading->placed_ns;
  span.track_id = reading->track_id;
  span.flags = STORE_SPAN_PLACED;
  if (__builtin_add_overflow(reading->placed_ns, span.duration_ns, &reading->placed_ns))
    return import_broken(import, err, input_offset(import->input, import->input->at),
                         "the times of all layers are beyond 64 bits of nanoseconds");
  import_tag_int(import, span.span_id, import_word(import, "layer_index"), span.span_id - 1);
  put_tag(reading, reading->median, span.span_id, "median_ms");
  put_tag(reading, reading->count, span.span_id, "count");
  if (import->description != NULL && !import_described_give(&reading->layers, import, span.name, span.span_id))
    reading->undescribed++;
  return import_span(import, &span, err);
}

static bool take_item(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  reading->name = 0;
  reading->mean_ms[0] = 0;
  reading->median.type = 0;
  if (key != NULL || reader->event != JSON_OBJECT || !json_each(reader, take_member, context))
    return false;
  if (reading->name == 0) {
    import_skip(reading->json.import, "number of inferences");
    return true;
  }
  return import_json_ok(&reading->json, add_layer(reading, reading->json.err));
}

static enum status read_profile(struct reading *reading, struct error *err)
{
  struct import *import = reading->json.import;
  struct store_track track = IMPORT_NO_PLACE;
  track.name = "TensorRT";
  import_run(import, &(struct store_run){0});
  import_framework(import, "tensorrt", NULL);
  XSP_TRY(import_track(import, &track, &reading->track_id, err));
  if (import->description != NULL)
    XSP_TRY(tensorrt_layers_read(&reading->layers, import, err));
  XSP_TRY(import_json_each(&reading->json, take_item, reading, err));
  if (reading->undescribed > 0)
    import_note(import, "%" PRIu64 " layers are not in %s: is it of another engine?", reading->undescribed,
                import->description->path);
  if (import->description != NULL && reading->layers.tags.count == 0)
    import_note(import, "%s has names alone, no types or shapes: build the engine with --profilingVerbosity=detailed",
                import->description->path);
  import_note(import, "times are means over all inferences, one layer after the other%s",
              import->description == NULL ? "; give trtexec's --exportLayerInfo, too, for types and shapes" : "");
  return STATUS_OK;
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.json.import = import};
  enum status status = read_profile(&reading, err);
  import_described_done(&reading.layers);
  return status;
}

const struct importer importer_tensorrt = {
    .name = "tensorrt",
    .summary = "TensorRT profile JSON (trtexec --exportProfile)",
    .recognize = recognize,
    .read = read_file,
};
