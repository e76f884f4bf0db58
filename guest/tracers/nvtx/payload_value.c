// SPDX-License-Identifier: Apache-2.0
// Values in NVTX payloads: predefined types and enumerations as tags. Called by payload.c with bytes within the payload.
#include "tracers/nvtx/payload_private.h"

#include <stdio.h>
#include <string.h>

#define ALIGNING_ENTRIES_MOST 64 // of a schema

// ---- predefined types
struct annotation_value_type nvtx_value_type(uint64_t type)
{
  static const struct annotation_value_type types[] = {
      [NVTX_TYPE_CHAR] = {VALUE_CHARACTER, 1},
      [NVTX_TYPE_UCHAR] = {VALUE_UNSIGNED, 1},
      [NVTX_TYPE_SHORT] = {VALUE_SIGNED, sizeof(short)},
      [NVTX_TYPE_USHORT] = {VALUE_UNSIGNED, sizeof(short)},
      [NVTX_TYPE_INT] = {VALUE_SIGNED, sizeof(int)},
      [NVTX_TYPE_UINT] = {VALUE_UNSIGNED, sizeof(int)},
      [NVTX_TYPE_LONG] = {VALUE_SIGNED, sizeof(long)},
      [NVTX_TYPE_ULONG] = {VALUE_UNSIGNED, sizeof(long)},
      [NVTX_TYPE_LONGLONG] = {VALUE_SIGNED, sizeof(long long)},
      [NVTX_TYPE_ULONGLONG] = {VALUE_UNSIGNED, sizeof(long long)},
      [NVTX_TYPE_INT8] = {VALUE_SIGNED, 1},
      [NVTX_TYPE_UINT8] = {VALUE_UNSIGNED, 1},
      [NVTX_TYPE_INT16] = {VALUE_SIGNED, 2},
      [NVTX_TYPE_UINT16] = {VALUE_UNSIGNED, 2},
      [NVTX_TYPE_INT32] = {VALUE_SIGNED, 4},
      [NVTX_TYPE_UINT32] = {VALUE_UNSIGNED, 4},
      [NVTX_TYPE_INT64] = {VALUE_SIGNED, 8},
      [NVTX_TYPE_UINT64] = {VALUE_UNSIGNED, 8},
      [NVTX_TYPE_FLOAT] = {VALUE_REAL, 4},
      [NVTX_TYPE_DOUBLE] = {VALUE_REAL, 8},
      [NVTX_TYPE_LONGDOUBLE] = {VALUE_REAL, sizeof(long double)},
      [NVTX_TYPE_SIZE] = {VALUE_UNSIGNED, sizeof(size_t)},
      [NVTX_TYPE_ADDRESS] = {VALUE_ADDRESS, sizeof(void *)},
      [NVTX_TYPE_WCHAR] = {VALUE_CHARACTER, sizeof(wchar_t)},
      [NVTX_TYPE_CHAR8] = {VALUE_CHARACTER, 1},
      [NVTX_TYPE_CHAR16] = {VALUE_CHARACTER, 2},
      [NVTX_TYPE_CHAR32] = {VALUE_CHARACTER, 4},
      [NVTX_TYPE_BYTE] = {VALUE_UNSIGNED, 1},
      [NVTX_TYPE_INT128] = {VALUE_NONE, 16},
      [NVTX_TYPE_UINT128] = {VALUE_NONE, 16},
      [NVTX_TYPE_FLOAT16] = {VALUE_REAL, 2},
      [NVTX_TYPE_FLOAT32] = {VALUE_REAL, 4},
      [NVTX_TYPE_FLOAT64] = {VALUE_REAL, 8},
      [NVTX_TYPE_FLOAT128] = {VALUE_NONE, 16},
      [NVTX_TYPE_BF16] = {VALUE_BFLOAT, 2},
      [NVTX_TYPE_TF32] = {VALUE_REAL, 4},
      [NVTX_TYPE_RANGE_ID] = {VALUE_UNSIGNED, 8},
      [NVTX_TYPE_CATEGORY] = {VALUE_UNSIGNED, 4},
      [NVTX_TYPE_COLOR] = {VALUE_UNSIGNED, 4},
      [NVTX_TYPE_SCOPE_ID] = {VALUE_UNSIGNED, 8},
      [NVTX_TYPE_PID_UINT32] = {VALUE_UNSIGNED, 4},
      [NVTX_TYPE_PID_UINT64] = {VALUE_UNSIGNED, 8},
      [NVTX_TYPE_TID_UINT32] = {VALUE_UNSIGNED, 4},
      [NVTX_TYPE_TID_UINT64] = {VALUE_UNSIGNED, 8},
      [NVTX_TYPE_TEXT] = {VALUE_TEXT, 1},
      [NVTX_TYPE_TEXT_UTF8] = {VALUE_TEXT, 1},
      [NVTX_TYPE_TEXT_UTF16] = {VALUE_TEXT, 2},
      [NVTX_TYPE_TEXT_UTF32] = {VALUE_TEXT, 4},
      [NVTX_TYPE_STRING] = {VALUE_STRING, sizeof(void *)},
      [NVTX_TYPE_UNION_SELECTOR] = {VALUE_NONE, 8},
  };
  return type < sizeof types / sizeof types[0] ? types[type] : (struct annotation_value_type){VALUE_NONE, 0};
}

size_t nvtx_payload_type_size(const struct payload_context *context, uint64_t type)
{
  if (type < NVTX_SCHEMA_STATIC_START)
    return nvtx_value_type(type).size;
  const struct payload_schema *schema = context->schema(context->own, type);
  return schema == NULL ? 0 : schema->size;
}

bool nvtx_value_is_pointer(const struct payload_entry *entry)
{
  return (entry->flags & NVTX_ENTRY_POINTER) != 0 || (nvtx_value_type(entry->type).class == VALUE_TEXT &&
                                                      (entry->flags & NVTX_ENTRY_ARRAY) == 0 && entry->detail == 0);
}

uint64_t nvtx_value_alignment(const struct payload_context *context, uint64_t type)
{
  if (type < NVTX_SCHEMA_STATIC_START) {
    uint64_t size = nvtx_value_type(type).size;
    return size == 0 ? 1 : size > 16 ? 16 : size;
  }
  const struct payload_schema *schema = context->schema(context->own, type);
  if (schema == NULL)
    return 1;
  uint64_t widest = schema->is_enum && schema->size != 0 ? schema->size : 1;
  for (uint32_t i = 0; !schema->is_enum && i < schema->count && i < ALIGNING_ENTRIES_MOST; i++) {
    const struct payload_entry *entry = &schema->entries[i];
    bool is_pointer = (entry->flags & NVTX_ENTRY_POINTER) != 0;
    uint64_t size = is_pointer || entry->type >= NVTX_SCHEMA_STATIC_START ? 8 : nvtx_value_type(entry->type).size;
    if (size > widest && size <= 16)
      widest = size;
  }
  return schema->alignment != 0 && schema->alignment < widest ? schema->alignment : widest;
}

bool nvtx_value_is_single(const struct payload_schema *schema)
{
  return schema != NULL && !schema->is_enum && schema->count == 1 && schema->kind == NVTX_SCHEMA_STATIC &&
         schema->entries[0].flags == 0 && schema->entries[0].offset == 0 &&
         schema->entries[0].type < NVTX_SCHEMA_STATIC_START &&
         nvtx_value_type(schema->entries[0].type).class != VALUE_TEXT &&
         nvtx_value_type(schema->entries[0].type).size == schema->size;
}

// ---- values
void nvtx_payload_tag_value(const struct payload_context *context, struct annotation_tags *tags, const char *key,
                            struct annotation_value_type known, const unsigned char *at)
{
  char text[32];
  if (known.class == VALUE_ADDRESS) {
    int length =
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)annotation_value_integer(at, known.size, false));
    annotation_tags_text(tags, key, text, (size_t)length);
  } else if (known.class == VALUE_STRING) {
    const char *string = context->string(context->own, annotation_value_integer(at, known.size, false));
    if (string != NULL)
      annotation_tags_text(tags, key, string, strnlen(string, VALUE_TEXT_MOST));
  } else {
    struct annotation_value value;
    annotation_value_read(known, at, &value);
    annotation_value_tag(&value, key, tags);
  }
}

void nvtx_payload_tag_enum(struct annotation_tags *tags, const char *key, const struct payload_schema *schema,
                           const unsigned char *at)
{
  uint64_t value = annotation_value_integer(at, schema->size, false), rest = value;
  char text[256];
  size_t length = 0;
  for (uint32_t i = 0; i < schema->count; i++)
    if (!schema->values[i].is_flag && schema->values[i].value == value) {
      annotation_tags_text(tags, key, schema->values[i].name, strlen(schema->values[i].name));
      return;
    }
  for (uint32_t i = 0; i < schema->count; i++) {
    const struct payload_value *flag = &schema->values[i];
    if (!flag->is_flag || flag->value == 0 || (rest & flag->value) != flag->value)
      continue;
    int more = snprintf(text + length, sizeof text - length, "%s%s", length > 0 ? "|" : "", flag->name);
    if (more < 0 || (size_t)more >= sizeof text - length)
      break;
    length += (size_t)more;
    rest &= ~flag->value;
  }
  if (length > 0 && rest == 0)
    annotation_tags_text(tags, key, text, length);
  else
    annotation_tags_int(tags, key, (int64_t)annotation_value_integer(at, schema->size, true));
}
