// SPDX-License-Identifier: Apache-2.0
// What trtexec --exportLayerInfo writes: {"Layers": [{"Name", "LayerType", "Inputs", "Outputs", "TacticName", …}], …}. See
// layers.h. It has no times, so it is no trace.
#include "importers/tensorrt/layers.h"

#include "importers/json_document.h"

static int recognize(struct slice head, bool is_all)
{
  (void)is_all;
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
  struct tensorrt_layers *layers;
  uint32_t name;         // of the layer that is read; 0: not met yet
  const char *shape_key; // of the tensors that are read
  bool has_shape;
};

static void add_tag(struct reading *reading, struct json_reader *reader, const char *key)
{
  struct store_tag tag = {0};
  if (!import_json_value(reading->json.import, reader, &tag))
    return;
  tag.key = import_word(reading->json.import, key);
  *vector_add(&reading->layers->tags) = tag;
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
  (void)key;
  return reader->event != JSON_OBJECT || json_each(reader, take_tensor, context);
}

static bool take_member(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  bool is_input = strcmp(key, "Inputs") == 0;
  if (strcmp(key, "Name") == 0 && reader->event == JSON_STRING) {
    reading->name = import_string(reading->json.import, reader->text, reader->length);
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
  struct tensorrt_layers *layers = reading->layers;
  (void)key;
  *vector_add(&layers->first_tags) = layers->tags.count;
  reading->name = 0;
  if (reader->event == JSON_STRING)
    reading->name = import_string(reading->json.import, reader->text, reader->length);
  else if (reader->event == JSON_OBJECT && !json_each(reader, take_member, context))
    return false;
  *vector_add(&layers->names) = reading->name;
  return true;
}

static bool take_top(void *context, struct json_reader *reader, const char *key)
{
  return key == NULL || strcmp(key, "Layers") != 0 || json_each(reader, take_layer, context);
}

// Equal names are taken in their order.
static void index_names(struct tensorrt_layers *layers)
{
  vector_reserve(&layers->same, layers->names.count);
  layers->same.count = layers->names.count;
  for (size_t i = layers->names.count; i > 0; i--) {
    uint64_t *next = map_at(&layers->by_name, map_number(layers->names.items[i - 1]), NULL);
    layers->same.items[i - 1] = (size_t)*next;
    *next = i;
  }
}

enum status tensorrt_layers_read(struct tensorrt_layers *layers, const struct import *import, struct error *err)
{
  struct input input;
  struct import described;
  enum status status = import_description_open(import, &input, &described, err);
  struct reading reading = {.json.import = &described, .layers = layers};
  if (status == STATUS_OK)
    status = import_json_each(&reading.json, take_top, &reading, err);
  if (status == STATUS_OK && layers->first_tags.count == 0)
    status = import_broken(&described, err, 0, "it has no layers");
  index_names(layers);
  import->description->events = layers->first_tags.count;
  *vector_add(&layers->first_tags) = layers->tags.count;
  input_close(&input);
  return status;
}

bool tensorrt_layers_tag(struct tensorrt_layers *layers, struct import *import, uint32_t name, int64_t span_id)
{
  uint64_t *next = map_find(&layers->by_name, map_number(name));
  if (next == NULL || *next == 0)
    return false;
  size_t layer = (size_t)*next - 1;
  *next = layers->same.items[layer];
  for (size_t i = layers->first_tags.items[layer]; i < layers->first_tags.items[layer + 1]; i++) {
    struct store_tag tag = layers->tags.items[i];
    tag.span_id = span_id;
    import_tag(import, &tag);
  }
  import->description->kept++;
  return true;
}

void tensorrt_layers_done(struct tensorrt_layers *layers)
{
  map_done(&layers->by_name);
  vector_done(&layers->first_tags);
  vector_done(&layers->names);
  vector_done(&layers->same);
  vector_done(&layers->tags);
}
