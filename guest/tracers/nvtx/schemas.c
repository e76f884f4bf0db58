// SPDX-License-Identifier: Apache-2.0
// Registered schemas, enumerations and counters; see schemas.h. Called once a schema by programs, and by decoding.
#include "tracers/nvtx/schemas.h"

#include "tracers/annotations/guest_table.h"
#include "tracers/nvtx/handles.h"
#include "tracers/nvtx/payload_private.h"

#include <string.h>

#define SLOTS 8192u
#define REGISTERED_MOST 6144u
#define ENTRIES_MOST 1024u

enum kind { KIND_SCHEMA = 1, KIND_COUNTER = 2 };

struct registered { // immutable
  const void *domain;
  uint64_t id;
  enum kind kind;
  struct payload_schema schema;
  struct nvtx_counter counter;
};
static void *slots[SLOTS];        // atomic: struct registered, by hash
static uint32_t registered_count; // atomic
static uint64_t last_id;          // atomic: of those that we choose

static uint32_t hash(const struct registered *key)
{
  uint64_t word = key->id ^ (uint64_t)domain_number(key->domain) << 48 ^ (uint64_t)key->kind << 60;
  return (uint32_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> 40);
}

static bool is_same(const void *entry, const void *wanted)
{
  const struct registered *known = entry, *key = wanted;
  return known->id == key->id && known->kind == key->kind && domain_number(known->domain) == domain_number(key->domain);
}

static const struct registered *find(const void *domain, uint64_t id, enum kind kind)
{
  const struct registered key = {.domain = domain, .id = id, .kind = kind};
  return guest_find(slots, SLOTS, hash(&key), is_same, &key);
}

static uint64_t enter(struct registered *fresh)
{
  if (__atomic_load_n(&registered_count, __ATOMIC_RELAXED) >= REGISTERED_MOST)
    return 0;
  guest_add(slots, SLOTS, &registered_count, hash(fresh), is_same, fresh, fresh);
  return fresh->id;
}

static uint64_t choose_id(uint64_t wanted, uint64_t static_start, uint64_t dynamic_start)
{
  if (wanted >= static_start && wanted < dynamic_start)
    return wanted;
  return dynamic_start + __atomic_fetch_add(&last_id, 1, __ATOMIC_RELAXED);
}

static struct registered *begin(const void *domain, enum kind kind, uint64_t id)
{
  struct registered *fresh = nvtx_handles_reserve(sizeof *fresh);
  if (fresh != NULL) {
    fresh->domain = domain;
    fresh->kind = kind;
    fresh->id = fresh->schema.id = id;
  }
  return fresh;
}

// What a struct of these entries takes; 0: some entry's size is not known.
static size_t static_size(const void *domain, const struct payload_schema *schema)
{
  size_t end = 0, widest = 1;
  for (uint32_t i = 0; i < schema->count; i++) {
    const struct payload_entry *entry = &schema->entries[i];
    const struct payload_schema *nested =
        entry->type >= NVTX_SCHEMA_STATIC_START ? nvtx_schema_find(domain, entry->type) : NULL;
    size_t size = nvtx_value_is_pointer(entry) ? 8 : nested != NULL ? nested->size : nvtx_value_type(entry->type).size;
    if (size == 0)
      return 0;
    size_t alignment = size & -size; // of a nested schema: no more than its size allows
    if (alignment > 16 || (entry->type >= NVTX_SCHEMA_STATIC_START && alignment > 8))
      alignment = 8;
    if (schema->alignment != 0 && schema->alignment < alignment)
      alignment = schema->alignment;
    if (alignment > widest)
      widest = alignment;
    if (entry->offset != 0)
      end = entry->offset;
    else
      end = (end + alignment - 1) / alignment * alignment;
    if ((entry->flags & NVTX_ENTRY_ARRAY) == NVTX_ENTRY_ARRAY_FIXED ||
        (nvtx_value_type(entry->type).class == VALUE_TEXT && entry->detail > 0))
      if (__builtin_mul_overflow(size, entry->detail, &size))
        return 0;
    if (__builtin_add_overflow(end, size, &end) || end > SIZE_MAX / 2)
      return 0;
  }
  return (end + widest - 1) / widest * widest;
}

uint64_t nvtx_schema_register(const void *domain, const struct nvtx_schema_attributes *attributes)
{
  const uint64_t needed = NVTX_FIELD_TYPE | NVTX_FIELD_ENTRIES | NVTX_FIELD_ENTRY_COUNT;
  if (attributes == NULL || (attributes->fields & needed) != needed || attributes->entries == NULL ||
      attributes->entry_count == 0 || attributes->entry_count > ENTRIES_MOST || attributes->type < NVTX_SCHEMA_STATIC ||
      attributes->type > NVTX_SCHEMA_UNION_INSIDE)
    return 0;
  uint64_t wanted = (attributes->fields & NVTX_FIELD_ID) != 0 ? attributes->id : 0;
  if (wanted != 0 && find(domain, wanted, KIND_SCHEMA) != NULL)
    return wanted;
  struct registered *fresh =
      begin(domain, KIND_SCHEMA, choose_id(wanted, NVTX_SCHEMA_STATIC_START, NVTX_SCHEMA_DYNAMIC_START));
  struct payload_entry *entries = nvtx_handles_reserve(attributes->entry_count * sizeof *entries);
  if (fresh == NULL || entries == NULL)
    return 0;
  for (size_t i = 0; i < attributes->entry_count; i++) {
    const struct nvtx_schema_entry *entry = &attributes->entries[i];
    entries[i] =
        (struct payload_entry){entry->flags, entry->type, entry->detail, entry->offset, nvtx_handles_copy(entry->name)};
  }
  fresh->schema.kind = (uint32_t)attributes->type;
  fresh->schema.count = (uint32_t)attributes->entry_count;
  fresh->schema.entries = entries;
  fresh->schema.name = (attributes->fields & NVTX_FIELD_NAME) != 0 ? nvtx_handles_copy(attributes->name) : "";
  fresh->schema.flags = (attributes->fields & NVTX_FIELD_FLAGS) != 0 ? attributes->flags : 0;
  fresh->schema.alignment = (attributes->fields & NVTX_FIELD_ALIGNMENT) != 0 ? attributes->alignment : 0;
  if ((attributes->fields & NVTX_FIELD_SIZE) != 0)
    fresh->schema.size = attributes->size;
  if (fresh->schema.size == 0 && attributes->type == NVTX_SCHEMA_STATIC)
    fresh->schema.size = static_size(domain, &fresh->schema);
  return enter(fresh);
}

uint64_t nvtx_schema_register_enum(const void *domain, const struct nvtx_enum_attributes *attributes)
{
  const uint64_t needed = NVTX_ENUM_FIELD_ENTRIES | NVTX_ENUM_FIELD_ENTRY_COUNT | NVTX_ENUM_FIELD_SIZE;
  if (attributes == NULL || (attributes->fields & needed) != needed || attributes->entries == NULL ||
      attributes->entry_count > ENTRIES_MOST || attributes->size == 0 || attributes->size > 8)
    return 0;
  uint64_t wanted = (attributes->fields & NVTX_ENUM_FIELD_ID) != 0 ? attributes->id : 0;
  if (wanted != 0 && find(domain, wanted, KIND_SCHEMA) != NULL)
    return wanted;
  struct registered *fresh =
      begin(domain, KIND_SCHEMA, choose_id(wanted, NVTX_SCHEMA_STATIC_START, NVTX_SCHEMA_DYNAMIC_START));
  struct payload_value *values = nvtx_handles_reserve(attributes->entry_count * sizeof *values);
  if (fresh == NULL || values == NULL)
    return 0;
  for (size_t i = 0; i < attributes->entry_count; i++) {
    const struct nvtx_enum_entry *entry = &attributes->entries[i];
    values[i] = (struct payload_value){entry->value, entry->is_flag != 0, nvtx_handles_copy(entry->name)};
  }
  fresh->schema.is_enum = true;
  fresh->schema.size = attributes->size;
  fresh->schema.count = (uint32_t)attributes->entry_count;
  fresh->schema.values = values;
  fresh->schema.name = "";
  return enter(fresh);
}

uint64_t nvtx_counter_register(const void *domain, const struct nvtx_counter_attributes *given)
{
  struct nvtx_counter_attributes attributes = {0};
  if (given == NULL || given->struct_size < offsetof(struct nvtx_counter_attributes, description))
    return 0;
  memcpy(&attributes, given, given->struct_size < sizeof attributes ? given->struct_size : sizeof attributes);
  if (attributes.id != 0 && find(domain, attributes.id, KIND_COUNTER) != NULL)
    return attributes.id;
  struct registered *fresh =
      begin(domain, KIND_COUNTER, choose_id(attributes.id, NVTX_COUNTER_STATIC_START, NVTX_COUNTER_DYNAMIC_START));
  if (fresh == NULL)
    return 0;
  fresh->counter.schema = attributes.schema;
  fresh->counter.name =
      attributes.name == NULL || *attributes.name == '\0' ? "counter" : nvtx_handles_copy(attributes.name);
  return enter(fresh);
}

const struct payload_schema *nvtx_schema_find(const void *domain, uint64_t id)
{
  const struct registered *known = find(domain, id, KIND_SCHEMA);
  if (known == NULL && domain_number(domain) != 0)
    known = find(NULL, id, KIND_SCHEMA);
  return known == NULL ? NULL : &known->schema;
}

const struct nvtx_counter *nvtx_counter_find(const void *domain, uint64_t id)
{
  const struct registered *known = find(domain, id, KIND_COUNTER);
  return known == NULL ? NULL : &known->counter;
}
