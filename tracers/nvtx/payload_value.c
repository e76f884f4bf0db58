// SPDX-License-Identifier: Apache-2.0
// Values in NVTX payloads: predefined types, enumerations and arrays of numbers as tags. Called by payload.c with bytes
// that it has found to be there.
#include "tracers/nvtx/payload_value.h"

#include <stdio.h>
#include <string.h>

#define ELEMENTS_MOST 64         // of an array
#define ALIGNING_ENTRIES_MOST 64 // of a schema

// ---- predefined types
struct value_type value_type(uint64_t type)
{
  static const struct value_type types[] = {
      [NVTX_TYPE_CHAR] = {CLASS_CHARACTER, 1},
      [NVTX_TYPE_UCHAR] = {CLASS_UNSIGNED, 1},
      [NVTX_TYPE_SHORT] = {CLASS_SIGNED, sizeof(short)},
      [NVTX_TYPE_USHORT] = {CLASS_UNSIGNED, sizeof(short)},
      [NVTX_TYPE_INT] = {CLASS_SIGNED, sizeof(int)},
      [NVTX_TYPE_UINT] = {CLASS_UNSIGNED, sizeof(int)},
      [NVTX_TYPE_LONG] = {CLASS_SIGNED, sizeof(long)},
      [NVTX_TYPE_ULONG] = {CLASS_UNSIGNED, sizeof(long)},
      [NVTX_TYPE_LONGLONG] = {CLASS_SIGNED, sizeof(long long)},
      [NVTX_TYPE_ULONGLONG] = {CLASS_UNSIGNED, sizeof(long long)},
      [NVTX_TYPE_INT8] = {CLASS_SIGNED, 1},
      [NVTX_TYPE_UINT8] = {CLASS_UNSIGNED, 1},
      [NVTX_TYPE_INT16] = {CLASS_SIGNED, 2},
      [NVTX_TYPE_UINT16] = {CLASS_UNSIGNED, 2},
      [NVTX_TYPE_INT32] = {CLASS_SIGNED, 4},
      [NVTX_TYPE_UINT32] = {CLASS_UNSIGNED, 4},
      [NVTX_TYPE_INT64] = {CLASS_SIGNED, 8},
      [NVTX_TYPE_UINT64] = {CLASS_UNSIGNED, 8},
      [NVTX_TYPE_FLOAT] = {CLASS_REAL, 4},
      [NVTX_TYPE_DOUBLE] = {CLASS_REAL, 8},
      [NVTX_TYPE_LONGDOUBLE] = {CLASS_REAL, sizeof(long double)},
      [NVTX_TYPE_SIZE] = {CLASS_UNSIGNED, sizeof(size_t)},
      [NVTX_TYPE_ADDRESS] = {CLASS_ADDRESS, sizeof(void *)},
      [NVTX_TYPE_WCHAR] = {CLASS_CHARACTER, sizeof(wchar_t)},
      [NVTX_TYPE_CHAR8] = {CLASS_CHARACTER, 1},
      [NVTX_TYPE_CHAR16] = {CLASS_CHARACTER, 2},
      [NVTX_TYPE_CHAR32] = {CLASS_CHARACTER, 4},
      [NVTX_TYPE_BYTE] = {CLASS_UNSIGNED, 1},
      [NVTX_TYPE_INT128] = {CLASS_NONE, 16},
      [NVTX_TYPE_UINT128] = {CLASS_NONE, 16},
      [NVTX_TYPE_FLOAT16] = {CLASS_REAL, 2},
      [NVTX_TYPE_FLOAT32] = {CLASS_REAL, 4},
      [NVTX_TYPE_FLOAT64] = {CLASS_REAL, 8},
      [NVTX_TYPE_FLOAT128] = {CLASS_NONE, 16},
      [NVTX_TYPE_BF16] = {CLASS_REAL, 2},
      [NVTX_TYPE_TF32] = {CLASS_REAL, 4},
      [NVTX_TYPE_RANGE_ID] = {CLASS_UNSIGNED, 8},
      [NVTX_TYPE_CATEGORY] = {CLASS_UNSIGNED, 4},
      [NVTX_TYPE_COLOR] = {CLASS_UNSIGNED, 4},
      [NVTX_TYPE_SCOPE_ID] = {CLASS_UNSIGNED, 8},
      [NVTX_TYPE_PID_UINT32] = {CLASS_UNSIGNED, 4},
      [NVTX_TYPE_PID_UINT64] = {CLASS_UNSIGNED, 8},
      [NVTX_TYPE_TID_UINT32] = {CLASS_UNSIGNED, 4},
      [NVTX_TYPE_TID_UINT64] = {CLASS_UNSIGNED, 8},
      [NVTX_TYPE_TEXT] = {CLASS_TEXT, 1},
      [NVTX_TYPE_TEXT_UTF8] = {CLASS_TEXT, 1},
      [NVTX_TYPE_TEXT_UTF16] = {CLASS_TEXT, 2},
      [NVTX_TYPE_TEXT_UTF32] = {CLASS_TEXT, 4},
      [NVTX_TYPE_STRING] = {CLASS_STRING, sizeof(void *)},
      [NVTX_TYPE_UNION_SELECTOR] = {CLASS_NONE, 8},
  };
  return type < sizeof types / sizeof types[0] ? types[type] : (struct value_type){CLASS_NONE, 0};
}

size_t payload_type_size(const struct payload_context *context, uint64_t type)
{
  if (type < NVTX_SCHEMA_STATIC_START)
    return value_type(type).size;
  const struct payload_schema *schema = context->schema(context->own, type);
  return schema == NULL ? 0 : schema->size;
}

uint64_t value_alignment(const struct payload_context *context, uint64_t type)
{
  if (type < NVTX_SCHEMA_STATIC_START) {
    uint64_t size = value_type(type).size;
    return size == 0 ? 1 : size > 16 ? 16 : size;
  }
  const struct payload_schema *schema = context->schema(context->own, type);
  if (schema == NULL)
    return 1;
  uint64_t widest = schema->is_enum && schema->size != 0 ? schema->size : 1;
  for (uint32_t i = 0; !schema->is_enum && i < schema->count && i < ALIGNING_ENTRIES_MOST; i++) {
    const struct payload_entry *entry = &schema->entries[i];
    bool is_pointer = (entry->flags & NVTX_ENTRY_POINTER) != 0;
    uint64_t size = is_pointer || entry->type >= NVTX_SCHEMA_STATIC_START ? 8 : value_type(entry->type).size;
    if (size > widest && size <= 16)
      widest = size;
  }
  return schema->alignment != 0 && schema->alignment < widest ? schema->alignment : widest;
}

bool value_is_single(const struct payload_schema *schema)
{
  return schema != NULL && !schema->is_enum && schema->count == 1 && schema->kind == NVTX_SCHEMA_STATIC &&
         schema->entries[0].flags == 0 && schema->entries[0].offset == 0 &&
         schema->entries[0].type < NVTX_SCHEMA_STATIC_START &&
         value_type(schema->entries[0].type).class != CLASS_TEXT &&
         value_type(schema->entries[0].type).size == schema->size;
}

// ---- values
// bfloat16 is the upper half of a float.
static double read_bfloat16(uint16_t bits)
{
  uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return (double)value;
}

static double read_float16(uint16_t bits)
{
  uint32_t exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  double sign = bits >> 15 != 0 ? -1 : 1, scale;
  if (exponent == 0x1f)
    return fraction == 0 ? sign * __builtin_inf() : __builtin_nan("");
  // The last bit of the fraction is worth 2^(exponent - 25), of the smallest numbers 2^-24.
  uint64_t word = (uint64_t)(1023 - 25 + (exponent == 0 ? 1 : exponent)) << 52;
  memcpy(&scale, &word, sizeof scale);
  return sign * (double)(fraction + (exponent == 0 ? 0u : 0x400u)) * scale;
}

static double read_real(uint64_t type, const unsigned char *at)
{
  uint16_t half;
  float single;
  double real;
  long double extended;
  switch (type) {
  case NVTX_TYPE_FLOAT16:
  case NVTX_TYPE_BF16:
    memcpy(&half, at, sizeof half);
    return type == NVTX_TYPE_BF16 ? read_bfloat16(half) : read_float16(half);
  case NVTX_TYPE_DOUBLE:
  case NVTX_TYPE_FLOAT64:
    memcpy(&real, at, sizeof real);
    return real;
  case NVTX_TYPE_LONGDOUBLE:
    memcpy(&extended, at, sizeof extended);
    return (double)extended;
  default:
    memcpy(&single, at, sizeof single);
    return (double)single;
  }
}

uint64_t value_integer(const unsigned char *at, size_t size, bool is_signed)
{
  uint8_t one;
  uint16_t two;
  uint32_t four;
  uint64_t eight = 0;
  switch (size) {
  case 1:
    memcpy(&one, at, 1);
    return is_signed ? (uint64_t)(int64_t)(int8_t)one : one;
  case 2:
    memcpy(&two, at, 2);
    return is_signed ? (uint64_t)(int64_t)(int16_t)two : two;
  case 4:
    memcpy(&four, at, 4);
    return is_signed ? (uint64_t)(int64_t)(int32_t)four : four;
  case 8:
    memcpy(&eight, at, 8);
    return eight;
  default:
    return 0;
  }
}

void value_tag(const struct payload_context *context, struct annotation_tags *tags, const char *key, uint64_t type,
               struct value_type known, const unsigned char *at)
{
  char text[32];
  if (known.class == CLASS_REAL) {
    annotation_tags_double(tags, key, read_real(type, at));
    return;
  }
  uint64_t value = value_integer(at, known.size, known.class == CLASS_SIGNED || known.class == CLASS_CHARACTER);
  if (known.class == CLASS_ADDRESS) {
    annotation_tags_text(tags, key, text, (size_t)snprintf(text, sizeof text, "0x%llx", (unsigned long long)value));
  } else if (known.class == CLASS_STRING) {
    const char *string = context->string(context->own, value);
    if (string != NULL)
      annotation_tags_text(tags, key, string, strnlen(string, VALUE_TEXT_MOST));
  } else if (known.class == CLASS_UNSIGNED && value > INT64_MAX) {
    annotation_tags_text(tags, key, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)value));
  } else {
    annotation_tags_int(tags, key, (int64_t)value);
  }
}

void value_tag_enum(struct annotation_tags *tags, const char *key, const struct payload_schema *schema,
                    const unsigned char *at)
{
  uint64_t value = value_integer(at, schema->size, false), rest = value;
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
    annotation_tags_int(tags, key, (int64_t)value_integer(at, schema->size, true));
}

// Numbers of an array as "[1, 2, 3, …]"; one that is to be read as characters does not come here.
void value_tag_array(struct annotation_tags *tags, const char *key, uint64_t type, struct value_type known,
                     const unsigned char *at, uint64_t count)
{
  char text[VALUE_TEXT_MOST];
  size_t length = 1;
  text[0] = '[';
  for (uint64_t i = 0; i < count; i++) {
    const unsigned char *element = at + i * known.size;
    char one[48];
    int bytes;
    if (i == ELEMENTS_MOST)
      bytes = snprintf(one, sizeof one, ", …");
    else if (known.class == CLASS_REAL)
      bytes = snprintf(one, sizeof one, "%s%.9g", i > 0 ? ", " : "", read_real(type, element));
    else if (known.class == CLASS_SIGNED)
      bytes =
          snprintf(one, sizeof one, "%s%lld", i > 0 ? ", " : "", (long long)value_integer(element, known.size, true));
    else
      bytes = snprintf(one, sizeof one, "%s%llu", i > 0 ? ", " : "",
                       (unsigned long long)value_integer(element, known.size, false));
    if (bytes < 0 || length + (size_t)bytes + 2 > sizeof text)
      break;
    memcpy(text + length, one, (size_t)bytes);
    length += (size_t)bytes;
    if (i == ELEMENTS_MOST)
      break;
  }
  text[length++] = ']';
  annotation_tags_text(tags, key, text, length);
}
