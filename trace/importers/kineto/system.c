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

// ---- objects ---------------------------------------------------------------------------------------------------------
#define TEXT_BYTES 128u
struct property { // of an object, and where its value goes
  const char *key;
  int64_t *number;
  char *text; // TEXT_BYTES; longer texts are cut
};

// After the object's beginning. What is absent or of another type stays as it is. False: the object is broken.
static bool read_properties(struct json_reader *reader, const struct property *properties, size_t count)
{
  while (json_next(reader) == JSON_KEY) {
    size_t i = 0;
    while (i < count && strcmp(reader->text, properties[i].key) != 0)
      i++;
    enum json_event event = json_next(reader);
    if (i < count && event == JSON_NUMBER && properties[i].number != NULL)
      (void)json_int64(reader, properties[i].number);
    if (i < count && event == JSON_STRING && properties[i].text != NULL)
      snprintf(properties[i].text, TEXT_BYTES, "%s", reader->text);
    if (!json_skip(reader))
      return false;
  }
  return reader->event == JSON_OBJECT_END;
}

// ---- devices ---------------------------------------------------------------------------------------------------------
struct device {
  int64_t id;
  char name[TEXT_BYTES];
  int64_t memory_bytes, multiprocessors, major, minor; // STORE_NONE: not recorded
};

static const struct device unknown_device = {STORE_NONE, "", STORE_NONE, STORE_NONE, STORE_NONE, STORE_NONE};

static bool read_device(struct json_reader *reader, struct device *ret_device)
{
  struct device *device = ret_device;
  *device = unknown_device;
  const struct property properties[] = {{"id", .number = &device->id},
                                        {"name", .text = device->name},
                                        {"totalGlobalMem", .number = &device->memory_bytes},
                                        {"numSms", .number = &device->multiprocessors},
                                        {"smCount", .number = &device->multiprocessors},
                                        {"computeMajor", .number = &device->major},
                                        {"computeMinor", .number = &device->minor}};
  return read_properties(reader, properties, sizeof properties / sizeof properties[0]);
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
  char backend[TEXT_BYTES] = "", nccl[TEXT_BYTES] = "";
  const struct property properties[] = {{"rank", .number = &rank},
                                        {"world_size", .number = &world_size},
                                        {"backend", .text = backend},
                                        {"nccl_version", .text = nccl}};
  struct json_reader reader;
  json_read_start(&reader, json.data, json.length);
  if (json_next(&reader) == JSON_OBJECT)
    (void)read_properties(&reader, properties, sizeof properties / sizeof properties[0]);
  json_read_done(&reader);
  if (nccl[0] != 0)
    import_system_text(kineto->import, "nccl_version", nccl);
  number_fact(kineto, "world_size", world_size);
  if (backend[0] != 0)
    import_system_text(kineto->import, "distributed_backend", backend);
  if (rank != STORE_NONE && world_size != STORE_NONE)
    import_note(kineto->import, "recorded by rank %" PRId64 " of %" PRId64, rank, world_size);
  if (rank >= 0 && rank < world_size)
    kineto->rank = (struct store_rank){.rank = rank, .local_rank = -1, .world_size = world_size};
  else if (rank != STORE_NONE && world_size == STORE_NONE)
    import_note(kineto->import, "recorded by rank %" PRId64, rank);
}

// ---- keys ------------------------------------------------------------------------------------------------------------
static enum status keep_base(struct kineto *kineto, const struct trace_value *value, uint64_t offset, struct error *err)
{
  if (!trace_int64(value, &kineto->base_ns))
    return import_broken(kineto->import, err, offset, "baseTimeNanoseconds is not a 64-bit integer");
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
  double number;
  if (!slice_ends_with(key, "_version") || key.length == strlen("_version") || key.length >= 64)
    return;
  for (size_t i = 0; i < key.length; i++)
    if (!isalnum((unsigned char)key.data[i]) && key.data[i] != '_')
      return;
  const char *name = arena_copy(kineto->import->arena, key.data, key.length);
  if (value->type == TRACE_STRING && value->raw.length > 0 && value->raw.length < 128) {
    const char *text = arena_copy(kineto->import->arena, value->raw.data, value->raw.length);
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

enum status kineto_top_key(void *context, struct slice key, const struct trace_value *value, uint64_t offset,
                           struct error *err)
{
  struct kineto *kineto = context;
  if (slice_is(key, "baseTimeNanoseconds"))
    return keep_base(kineto, value, offset, err);
  if (slice_is(key, "span_indx") || slice_is(key, "span_index")) // PaddlePaddle's own; 3.3.1 has the latter
    kineto->paddle.is_writer = true;
  else if (slice_is(key, "deviceProperties") && value->type == TRACE_ARRAY)
    keep_devices(kineto, value->raw);
  else if (slice_is(key, "host_name") && value->type == TRACE_STRING && value->raw.length > 0 &&
           value->raw.length <= HOST_BYTES_MOST)
    keep_host(kineto, value->raw);
  else if (slice_is(key, "distributedInfo") && value->type == TRACE_OBJECT &&
           value->raw.length <= PROPERTIES_BYTES_MOST)
    read_distributed(kineto, value->raw);
  else if (slice_is(key, "schemaVersion") && value->raw.length < 32)
    import_version(kineto->import, arena_copy(kineto->import->arena, value->raw.data, value->raw.length));
  else
    keep_version(kineto, key, value);
  return STATUS_OK;
}
