// SPDX-License-Identifier: Apache-2.0
// Numbers as tags; see value.h. Called for payloads and metadata, on the program's threads.
#include "tracers/annotations/value.h"

#include "base/plain_number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- reading
static double read_bfloat(uint16_t bits)
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

static double read_real(struct annotation_value_type type, const void *at)
{
  uint16_t half;
  float single;
  double real;
  long double extended;
  switch (type.size) {
  case sizeof half:
    memcpy(&half, at, sizeof half);
    return type.class == VALUE_BFLOAT ? read_bfloat(half) : read_float16(half);
  case sizeof single:
    memcpy(&single, at, sizeof single);
    return (double)single;
  case sizeof real:
    memcpy(&real, at, sizeof real);
    return real;
  default:
    memcpy(&extended, at, sizeof extended);
    return (double)extended;
  }
}

uint64_t annotation_value_integer(const void *at, size_t size, bool is_signed)
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

void annotation_value_read(struct annotation_value_type type, const void *at, struct annotation_value *ret_value)
{
  if (type.class == VALUE_REAL || type.class == VALUE_BFLOAT) {
    ret_value->type = ANNOTATION_TAG_DOUBLE;
    ret_value->real = read_real(type, at);
    return;
  }
  bool is_signed = type.class == VALUE_SIGNED || type.class == VALUE_CHARACTER;
  uint64_t integer = annotation_value_integer(at, type.size, is_signed);
  ret_value->type = ANNOTATION_TAG_INT;
  ret_value->integer = (int64_t)integer;
  if (!is_signed && integer > INT64_MAX) {
    ret_value->type = ANNOTATION_TAG_TEXT;
    snprintf(ret_value->digits, sizeof ret_value->digits, "%" PRIu64, integer);
  }
}

// ---- writing
void annotation_value_put(const struct annotation_value *value, const char *key, const struct xsp_span *span)
{
  if (value->type == ANNOTATION_TAG_INT)
    xsp_span_tag_int(span, key, value->integer);
  else if (value->type == ANNOTATION_TAG_DOUBLE)
    xsp_span_tag_double(span, key, value->real);
  else
    xsp_span_tag_string(span, key, value->digits);
}

void annotation_value_tag(const struct annotation_value *value, const char *key, struct annotation_tags *tags)
{
  if (value->type == ANNOTATION_TAG_INT)
    annotation_tags_int(tags, key, value->integer);
  else if (value->type == ANNOTATION_TAG_DOUBLE)
    annotation_tags_double(tags, key, value->real);
  else
    annotation_tags_text(tags, key, value->digits, strlen(value->digits));
}

static void write_number(const struct annotation_value *value, char text[32])
{
  if (value->type == ANNOTATION_TAG_INT)
    snprintf(text, 32, "%" PRId64, value->integer);
  else if (value->type == ANNOTATION_TAG_TEXT)
    strcpy(text, value->digits);
  else if (isnan(value->real))
    strcpy(text, "nan");
  else
    snprintf(text, 32, "%.9g", value->real);
  plain_number(text);
}

void annotation_value_list(struct annotation_value_type type, uint64_t count, const void *at,
                           const struct value_list_form *form, const char *key, struct annotation_tags *tags)
{
  static const char end[] = "…]";
  char list[VALUE_LIST_BYTES] = "[";
  size_t used = 1, separator_length = strlen(form->separator);
  uint64_t i = 0;
  for (; i < count && i < form->elements_most; i++) {
    struct annotation_value value;
    char number[32];
    annotation_value_read(type, (const char *)at + i * type.size, &value);
    write_number(&value, number);
    if (used + strlen(number) + 2 * separator_length + sizeof end > form->bytes_most)
      break;
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? form->separator : "", number);
  }
  used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i < count ? form->separator : "",
                           i < count ? end : "]");
  annotation_tags_text(tags, key, list, used);
}
