// SPDX-License-Identifier: Apache-2.0
// Facts about the machine and the file, in the keys next to its events: which GPU, which rank, which
// versions, what times count from. Called once a key, and at the end.
#include "importers/kineto/kineto.h"

#include "base/json_read.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PROPERTIES_BYTES_MOST ((size_t)1 << 20)
#define HOST_BYTES_MOST 255u

// ---- devices ---------------------------------------------------------------------------------------------------------
struct device {
  int64_t id;
  char name[128];
  int64_t memory_bytes, multiprocessors, major, minor; // STORE_NONE: not recorded
};

static const struct device unknown_device = {STORE_NONE, "", STORE_NONE, STORE_NONE, STORE_NONE, STORE_NONE};

// The reader stands on a key of a device; moves over its value. False: broken.
static bool read_property(struct json_reader *reader, struct device *device)
{
  const struct {
    const char *key;
    int64_t *number;
  } numbers[] = {{"id", &device->id},
                 {"totalGlobalMem", &device->memory_bytes},
                 {"numSms", &device->multiprocessors},
                 {"computeMajor", &device->major},
                 {"computeMinor", &device->minor}};
  bool is_name = strcmp(reader->text, "name") == 0;
  int64_t *number = NULL;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    if (strcmp(reader->text, numbers[i].key) == 0)
      number = numbers[i].number;
  enum json_event event = json_next(reader);
  if (event == JSON_NUMBER && number != NULL)
    (void)json_int64(reader, number);
  if (event == JSON_STRING && is_name)
    snprintf(device->name, sizeof device->name, "%s", reader->text);
  return json_skip(reader);
}

static bool read_device(struct json_reader *reader, struct device *ret_device)
{
  *ret_device = unknown_device;
  enum json_event event;
  while ((event = json_next(reader)) == JSON_KEY)
    if (!read_property(reader, ret_device))
      return false;
  return event == JSON_OBJECT_END;
}

static void number_fact(struct kineto *kineto, const char *key, int64_t number)
{
  if (number != STORE_NONE)
    import_system_number(kineto->import, key, (double)number);
}

static void device_facts(struct kineto *kineto, const struct device *device)
{
  char text[48];
  if (device->name[0] != 0)
    import_system_text(kineto->import, "gpu", device->name);
  number_fact(kineto, "gpu_memory_bytes", device->memory_bytes);
  number_fact(kineto, "gpu_multiprocessors", device->multiprocessors);
  if (device->major != STORE_NONE && device->minor != STORE_NONE) {
    snprintf(text, sizeof text, "%" PRId64 ".%" PRId64, device->major, device->minor);
    import_system_text(kineto->import, "gpu_compute_capability", text);
  }
}

void kineto_devices(struct kineto *kineto)
{
  if (kineto->device_properties == NULL)
    return;
  int64_t wanted = kineto_busiest_device(kineto), count = 0;
  struct device device, chosen = unknown_device;
  struct json_reader reader;
  json_read_start(&reader, kineto->device_properties, kineto->device_properties_length);
  bool ok = json_next(&reader) == JSON_ARRAY;
  while (ok && json_next(&reader) == JSON_OBJECT) {
    ok = read_device(&reader, &device);
    if (ok && (count++ == 0 || device.id == wanted))
      chosen = device;
  }
  json_read_done(&reader);
  if (count > 0) {
    import_system_number(kineto->import, "gpu_count", (double)count);
    device_facts(kineto, &chosen);
  }
}

// ---- the process group -----------------------------------------------------------------------------------------------
// {"backend": "nccl", "rank": 0, "world_size": 2, …, "nccl_version": "2.17.1"}
static void read_distributed(struct kineto *kineto, struct slice json)
{
  int64_t rank = STORE_NONE, world_size = STORE_NONE;
  char backend[64] = "";
  struct json_reader reader;
  json_read_start(&reader, json.data, json.length);
  bool ok = json_next(&reader) == JSON_OBJECT;
  while (ok && json_next(&reader) == JSON_KEY) {
    bool is_rank = strcmp(reader.text, "rank") == 0, is_size = strcmp(reader.text, "world_size") == 0;
    bool is_backend = strcmp(reader.text, "backend") == 0, is_nccl = strcmp(reader.text, "nccl_version") == 0;
    enum json_event event = json_next(&reader);
    if (event == JSON_NUMBER && (is_rank || is_size))
      (void)json_int64(&reader, is_rank ? &rank : &world_size);
    if (event == JSON_STRING && is_backend)
      snprintf(backend, sizeof backend, "%s", reader.text);
    if (event == JSON_STRING && is_nccl)
      import_system_text(kineto->import, "nccl_version", reader.text);
    ok = json_skip(&reader);
  }
  json_read_done(&reader);
  number_fact(kineto, "world_size", world_size);
  if (backend[0] != 0)
    import_system_text(kineto->import, "distributed_backend", backend);
  if (rank != STORE_NONE && world_size != STORE_NONE)
    import_note(kineto->import, "recorded by rank %" PRId64 " of %" PRId64, rank, world_size);
  else if (rank != STORE_NONE)
    import_note(kineto->import, "recorded by rank %" PRId64, rank);
}

// ---- keys ------------------------------------------------------------------------------------------------------------
static enum status keep_base(struct kineto *kineto, const struct trace_value *value, struct error *err)
{
  if (!trace_int64(value, &kineto->base_ns))
    return import_broken(kineto->import, err, input_offset(kineto->import->input, kineto->import->input->at),
                         "baseTimeNanoseconds is not a 64-bit integer");
  kineto->has_base = true;
  return STATUS_OK;
}

static void keep_devices(struct kineto *kineto, struct slice json)
{
  if (json.length > PROPERTIES_BYTES_MOST)
    return;
  kineto->device_properties = arena_copy(kineto->import->arena, json.data, json.length);
  kineto->device_properties_length = json.length;
}

// "cuda_runtime_version": 12000 and the like, whatever a maker adds.
static void keep_version(struct kineto *kineto, struct slice key, const struct trace_value *value)
{
  static const char suffix[] = "_version";
  char name[64], text[128];
  double number;
  size_t end = sizeof suffix - 1;
  if (key.length <= end || key.length >= sizeof name || memcmp(key.data + key.length - end, suffix, end) != 0)
    return;
  for (size_t i = 0; i < key.length; i++)
    if (!isalnum((unsigned char)key.data[i]) && key.data[i] != '_')
      return;
  memcpy(name, key.data, key.length);
  name[key.length] = 0;
  if (value->type == TRACE_STRING && value->raw.length > 0 && value->raw.length < sizeof text) {
    memcpy(text, value->raw.data, value->raw.length);
    text[value->raw.length] = 0;
    if (strcmp(name, "pytorch_version") == 0 || strcmp(name, "torch_version") == 0)
      import_framework(kineto->import, NULL, text);
    else
      import_system_text(kineto->import, name, text);
  } else if (trace_double(value, &number)) {
    import_system_number(kineto->import, name, number);
  }
}

static void keep_host(struct kineto *kineto, struct slice name)
{
  kineto->host_name = arena_copy(kineto->import->arena, name.data, name.length);
  import_system_text(kineto->import, "host", kineto->host_name);
}

enum status kineto_top_key(void *context, struct slice key, const struct trace_value *value, struct error *err)
{
  struct kineto *kineto = context;
  char version[32];
  if (slice_is(key, "baseTimeNanoseconds"))
    return keep_base(kineto, value, err);
  if (slice_is(key, "deviceProperties") && value->type == TRACE_ARRAY)
    keep_devices(kineto, value->raw);
  else if (slice_is(key, "host_name") && value->type == TRACE_STRING && value->raw.length > 0 &&
           value->raw.length <= HOST_BYTES_MOST)
    keep_host(kineto, value->raw);
  else if (slice_is(key, "distributedInfo") && value->type == TRACE_OBJECT &&
           value->raw.length <= PROPERTIES_BYTES_MOST)
    read_distributed(kineto, value->raw);
  else if (slice_is(key, "schemaVersion") && value->raw.length < sizeof version) {
    memcpy(version, value->raw.data, value->raw.length);
    version[value->raw.length] = 0;
    import_version(kineto->import, version);
  } else {
    keep_version(kineto, key, value);
  }
  return STATUS_OK;
}
