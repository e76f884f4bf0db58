// SPDX-License-Identifier: Apache-2.0
// What trtexec --exportLayerInfo writes: {"Layers": [{"Name", "LayerType", "Inputs", "Outputs", "TacticName", …}], …}. See
// layers.h. It has no times, so it is no trace.
#include "importers/tensorrt/layers.h"

#include "importers/json_document.h"

static int recognize(struct slice head, bool is_all)
{
  head = import_json_head(head);
  return slice_starts_with(head, "{") && slice_contains(head, "\"Layers\"") &&
                 (slice_contains(head, "\"LayerType\"") || slice_contains(head, "\"Bindings\""))
             ? 3
             : 0;
}

const struct importer importer_tensorrt_layers = {
    .name = "tensorrt-layers",
    .summary = "TensorRT's layer information, given together with a tensorrt profile",
    .recognize = recognize,
    .describes = "tensorrt",
};

struct reading { // of one description; `json` for the visitors
  struct import_json json;
  struct import_described *layers;
  const char *shape_key; // of the tensors that are read
  bool has_shape;
};

static void add_tag(struct reading *reading, struct json_reader *reader, const char *key)
{
  struct store_tag tag = {0};
  if (*key == 0 || !import_json_value(reading->json.import, reader, &tag))
    return;
  tag.key = import_word(reading->json.import, key);
  import_described_tag(reading->layers, &tag);
}

static void take_name(struct reading *reading, const struct json_reader *reader)
{
  import_described_key(reading->layers, import_string(reading->json.import, reader->text, reader->length));
}

// The shape of the first tensor that has one.
static bool take_tensor(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  if (!reading->has_shape && strcmp(key, "Dimensions") == 0 && reader->event == JSON_ARRAY) {
    add_tag(reading, reader, reading->shape_key);
    reading->has_shape = true;
  }
  return true;
}

static bool take_tensors(void *context, struct json_reader *reader, const char *key)
{
  return reader->event != JSON_OBJECT || json_each(reader, take_tensor, context);
}

static bool take_member(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  bool is_input = strcmp(key, "Inputs") == 0;
  if (strcmp(key, "Name") == 0 && reader->event == JSON_STRING) {
    take_name(reading, reader);
  } else if ((is_input || strcmp(key, "Outputs") == 0) && reader->event == JSON_ARRAY) {
    reading->has_shape = false;
    reading->shape_key = is_input ? "input_shape" : "layer_shape";
    return json_each(reader, take_tensors, context);
  } else {
    add_tag(reading, reader, strcmp(key, "LayerType") == 0 ? "layer_type" : key);
  }
  return true;
}

// An object, or the name alone where the engine was built without --profilingVerbosity=detailed.
static bool take_layer(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  import_described_begin(reading->layers);
  if (reader->event == JSON_STRING)
    take_name(reading, reader);
  return reader->event != JSON_OBJECT || json_each(reader, take_member, context);
}

static bool take_top(void *context, struct json_reader *reader, const char *key)
{
  return key == NULL || strcmp(key, "Layers") != 0 || json_each(reader, take_layer, context);
}

enum status tensorrt_layers_read(struct import_described *layers, const struct import *import, struct error *err)
{
  struct input input SCOPED(input_close) = {0};
  struct import described;
  enum status status = import_description_open(import, &input, &described, err);
  struct reading reading = {.json.import = &described, .layers = layers};
  if (status == STATUS_OK)
    status = import_json_each(&reading.json, take_top, &reading, err);
  if (status == STATUS_OK && layers->keys.count == 0)
    status = import_broken(&described, err, 0, "it has no layers");
  import_described_end(layers, import);
  return status;
}
