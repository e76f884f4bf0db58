// SPDX-License-Identifier: Apache-2.0
// Reads index.json and manifests; see layout.h.
#include "isolation/layout.h"

#include "base/json_read.h"
#include "base/slice.h"

#include <string.h>

struct reading {
  struct layout *layout;
  struct arena *arena;
  const char *architecture; // of this machine
  const char *problem;
};
struct descriptor {
  struct reading *reading;
  struct layout_blob blob;
  bool has_platform, fits;
};

static bool wrong(struct reading *reading, const char *problem)
{
  reading->problem = problem;
  return false;
}

static bool take_platform(void *context, struct json_reader *json, const char *key)
{
  struct descriptor *descriptor = context;
  if (json->event == JSON_STRING && strcmp(key, "architecture") == 0)
    descriptor->fits &= strcmp(json->text, descriptor->reading->architecture) == 0;
  if (json->event == JSON_STRING && strcmp(key, "os") == 0)
    descriptor->fits &= strcmp(json->text, "linux") == 0;
  return true;
}

static bool take_digest(struct descriptor *descriptor, const struct json_reader *json)
{
  static const char kind[] = "sha256:";
  const char *hex = json->text + strlen(kind);
  if (json->event != JSON_STRING || !text_begins_with(json->text, kind) || strlen(hex) != LAYOUT_HEX ||
      strspn(hex, "0123456789abcdef") != LAYOUT_HEX)
    return wrong(descriptor->reading, "a digest is not sha256: and 64 lower-case hex digits");
  memcpy(descriptor->blob.hex, hex, LAYOUT_HEX + 1);
  return true;
}

static bool take_member(void *context, struct json_reader *json, const char *key)
{
  struct descriptor *descriptor = context;
  if (strcmp(key, "digest") == 0)
    return take_digest(descriptor, json);
  if (strcmp(key, "mediaType") == 0 && json->event == JSON_STRING)
    descriptor->blob.media_type = arena_copy(descriptor->reading->arena, json->text, strlen(json->text));
  if (strcmp(key, "size") == 0 && (!json_int64(json, &descriptor->blob.size_bytes) || descriptor->blob.size_bytes < 0))
    return wrong(descriptor->reading, "a size is not a number of bytes");
  if (strcmp(key, "platform") == 0) {
    descriptor->has_platform = true;
    return json_each(json, take_platform, descriptor);
  }
  return true;
}

static bool read_descriptor(struct reading *reading, struct json_reader *json, struct descriptor *descriptor)
{
  *descriptor = (struct descriptor){.reading = reading, .blob = {.media_type = "", .size_bytes = -1}, .fits = true};
  if (json->event != JSON_OBJECT || !json_each(json, take_member, descriptor))
    return false;
  return descriptor->blob.hex[0] != 0 || wrong(reading, "an entry has no digest");
}

static bool take_manifest(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  struct descriptor descriptor;
  if (!read_descriptor(reading, json, &descriptor))
    return false;
  if (descriptor.fits && (descriptor.has_platform || reading->layout->chosen.hex[0] == 0))
    reading->layout->chosen = descriptor.blob;
  return true;
}

static bool take_layer(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  struct layout *layout = reading->layout;
  struct descriptor descriptor;
  if (layout->layer_count == LAYOUT_LAYERS_MOST)
    return wrong(reading, "it has more than 512 layers");
  if (!read_descriptor(reading, json, &descriptor))
    return false;
  layout->layers[layout->layer_count++] = descriptor.blob;
  return true;
}

static bool take_top(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  if (strcmp(key, "manifests") == 0)
    return json->event == JSON_ARRAY && json_each(json, take_manifest, reading);
  if (strcmp(key, "layers") == 0)
    return json->event == JSON_ARRAY && json_each(json, take_layer, reading);
  return true;
}

const char *isolation_layout_read(const char *text, size_t length, const char *architecture, struct arena *arena,
                                  struct layout *ret_layout)
{
  struct reading reading = {.layout = ret_layout, .arena = arena, .architecture = architecture};
  *ret_layout = (struct layout){.layers = arena_alloc_array(arena, LAYOUT_LAYERS_MOST, sizeof(struct layout_blob))};
  if (json_each_of_text(text, length, take_top, &reading))
    return NULL;
  return reading.problem != NULL ? reading.problem : "it is not the JSON of an OCI image layout";
}
