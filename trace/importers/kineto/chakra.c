// SPDX-License-Identifier: Apache-2.0
// PyTorch's execution trace in Chakra's schema, which describes a Kineto file: nodes without times, with the operator's schema
// and the shapes of its tensors. Both number operators alike: rf_id here, "Record function id" there. See docs/importers.md.
#include "importers/description.h"
#include "importers/json_document.h"
#include "importers/kineto/kineto.h"

static int recognize(struct slice head, bool is_all)
{
  head = import_json_head(head);
  return slice_starts_with(head, "{") && slice_contains(head, "\"nodes\"") && slice_contains(head, "\"ctrl_deps\"") ? 3
                                                                                                                    : 0;
}

const struct importer importer_chakra = {
    .name = "chakra",
    .summary = "PyTorch's execution trace (Chakra), given together with a kineto file",
    .recognize = recognize,
    .describes = "kineto",
};

struct reading { // `json` for the visitors
  struct import_json json;
  struct import_described *nodes;
  struct store_tag shape; // of the first output; type 0: none
  // Of the attribute that is read:
  uint32_t key;
  struct store_tag value;
  bool is_record, has_value;
};

static void add_tag(struct reading *reading, const char *key, struct store_tag tag)
{
  tag.key = import_word(reading->json.import, key);
  import_described_tag(reading->nodes, &tag);
}

static void add_value(struct reading *reading, struct json_reader *reader, const char *key)
{
  struct store_tag tag = {0};
  if (import_json_value(reading->json.import, reader, &tag))
    add_tag(reading, key, tag);
}

static bool take_input(void *context, struct json_reader *reader, const char *key)
{
  if (strcmp(key, "shapes") == 0)
    add_value(context, reader, "et_input_shapes");
  else if (strcmp(key, "types") == 0)
    add_value(context, reader, "et_input_types");
  return true;
}

static bool take_shape(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  if (reading->shape.type == 0 && !import_json_value(reading->json.import, reader, &reading->shape))
    reading->shape.type = 0;
  return true;
}

static bool take_output(void *context, struct json_reader *reader, const char *key)
{
  return strcmp(key, "shapes") != 0 || reader->event != JSON_ARRAY || json_each(reader, take_shape, context);
}

static bool take_attribute_member(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  if (strcmp(key, "name") == 0 && reader->event == JSON_STRING) {
    // Kineto has these itself.
    static const char *const known[] = {"seq_id", "scope", "tid", "fw_tid", NULL};
    reading->is_record = strcmp(reader->text, "rf_id") == 0;
    reading->key =
        text_is_in(reader->text, known) ? 0 : import_string(reading->json.import, reader->text, reader->length);
  } else if (strcmp(key, "value") == 0) {
    reading->has_value = import_json_value(reading->json.import, reader, &reading->value);
  }
  return true;
}

static bool take_attribute(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  reading->key = 0;
  reading->has_value = reading->is_record = false;
  if (reader->event != JSON_OBJECT || !json_each(reader, take_attribute_member, context))
    return false;
  if (!reading->has_value)
    return true;
  bool is_number = reading->value.type == STORE_INT;
  if (reading->is_record && is_number && reading->value.value.integer > 0) {
    import_described_key(reading->nodes, (uint64_t)reading->value.value.integer);
  } else if (!reading->is_record && reading->key != 0 && !(is_number && reading->value.value.integer == 0)) {
    reading->value.key = reading->key;
    import_described_tag(reading->nodes, &reading->value);
  }
  return true;
}

static bool take_member(void *context, struct json_reader *reader, const char *key)
{
  if (strcmp(key, "id") == 0)
    add_value(context, reader, "et_node");
  else if (strcmp(key, "inputs") == 0 && reader->event == JSON_OBJECT)
    return json_each(reader, take_input, context);
  else if (strcmp(key, "outputs") == 0 && reader->event == JSON_OBJECT)
    return json_each(reader, take_output, context);
  else if (strcmp(key, "attrs") == 0 && reader->event == JSON_ARRAY)
    return json_each(reader, take_attribute, context);
  return true;
}

static bool take_node(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  import_described_begin(reading->nodes);
  reading->shape = (struct store_tag){0};
  if (reader->event != JSON_OBJECT || !json_each(reader, take_member, context))
    return false;
  if (reading->shape.type == STORE_TEXT)
    add_tag(reading, "layer_shape", reading->shape);
  return true;
}

static bool take_top(void *context, struct json_reader *reader, const char *key)
{
  return key == NULL || strcmp(key, "nodes") != 0 || reader->event != JSON_ARRAY ||
         json_each(reader, take_node, context);
}

enum status kineto_describe(struct kineto *kineto, struct error *err)
{
  struct input input SCOPED(input_close) = {0};
  struct import described;
  enum status status = import_description_open(kineto->import, &input, &described, err);
  struct reading reading = {.json.import = &described, .nodes = &kineto->nodes};
  if (status == STATUS_OK)
    status = import_json_each(&reading.json, take_top, &reading, err);
  if (status == STATUS_OK && kineto->nodes.keys.count == 0)
    status = import_broken(&described, err, 0, "it has no nodes");
  import_described_end(&kineto->nodes, kineto->import);
  return status;
}
