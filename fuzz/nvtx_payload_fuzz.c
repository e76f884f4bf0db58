// SPDX-License-Identifier: Apache-2.0
// Random schemas over random bytes: every read is inside the payload, and decoding ends. The first byte is the number
// of schemas, each follows with its entries of 12 bytes; the rest is the payload.
#include "tracers/nvtx/payload.h"

#include <stdlib.h>
#include <string.h>

#define SCHEMAS 4
#define ENTRIES 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct payload_schema schemas[SCHEMAS];
static struct payload_entry entries[SCHEMAS][ENTRIES];
static const struct payload_value values[] = {{1, false, "one"}, {2, true, "two"}, {4, true, "four"}};

static const struct payload_schema *find_schema(void *own, uint64_t id)
{
  return id >= NVTX_SCHEMA_STATIC_START && id < NVTX_SCHEMA_STATIC_START + SCHEMAS
             ? &schemas[id - NVTX_SCHEMA_STATIC_START]
             : NULL;
}

static const char *find_string(void *own, uint64_t handle)
{
  return handle % 2 == 0 ? "registered" : NULL;
}

static size_t read_memory(void *own, uint64_t address, void *to, size_t bytes)
{
  size_t got = address % 64 < bytes ? address % 64 : bytes;
  memset(to, 'm', got);
  return got;
}

static uint8_t take(const uint8_t **data, size_t *size)
{
  if (*size == 0)
    return 0;
  --*size;
  return *(*data)++;
}

// One byte for each: flags are at bits 1 to 14, types small or a schema's.
static void make_entry(struct payload_entry *entry, const uint8_t **data, size_t *size)
{
  uint64_t low = take(data, size), high = take(data, size), type = take(data, size);
  entry->flags = low | high << 8;
  entry->type = type >= 128 ? NVTX_SCHEMA_STATIC_START + type % (SCHEMAS + 1) : type;
  entry->detail = take(data, size);
  entry->offset = take(data, size);
  if (entry->detail == 255)
    entry->detail = UINT64_MAX;
  if (entry->offset == 255)
    entry->offset = UINT64_MAX - 3;
  entry->name = low % 2 == 0 ? "name" : "";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  memset(schemas, 0, sizeof schemas);
  unsigned count = take(&data, &size) % (SCHEMAS + 1);
  for (unsigned i = 0; i < count; i++) {
    struct payload_schema *schema = &schemas[i];
    uint8_t what = take(&data, &size);
    schema->is_enum = what >= 128;
    schema->kind = what % 4 + 1;
    schema->alignment = what / 4 % 8;
    schema->size = take(&data, &size);
    schema->count = schema->is_enum ? 3 : take(&data, &size) % (ENTRIES + 1);
    if (schema->is_enum)
      schema->values = values;
    else
      schema->entries = entries[i];
    for (unsigned j = 0; !schema->is_enum && j < schema->count; j++)
      make_entry(&entries[i][j], &data, &size);
  }
  for (unsigned i = count; i < SCHEMAS; i++)
    schemas[i].entries = entries[i];
  uint64_t type = take(&data, &size);
  uint8_t *copy = malloc(size + (size == 0)); // of its size, so that a byte too far is seen
  if (copy == NULL)
    return 0;
  if (size > 0)
    memcpy(copy, data, size);
  const struct payload_context context = {NULL, find_schema, find_string, read_memory};
  struct nvtx_blob blobs[3] = {{type < 128 ? type : NVTX_SCHEMA_STATIC_START + type % SCHEMAS, size, copy},
                               {NVTX_TYPE_UINT8, size / 2, copy},
                               {NVTX_SCHEMA_REFERENCED, size, copy}};
  struct payload_event event;
  nvtx_payload_event_clear(&event);
  nvtx_payload_read(&context, blobs, 3, &event);
  nvtx_payload_type_size(&context, type);
  if (event.tags.count > ANNOTATION_TAGS_MOST || event.tags.text_used > sizeof event.tags.text ||
      strlen(event.message) >= sizeof event.message)
    abort();
  free(copy);
  return 0;
}
