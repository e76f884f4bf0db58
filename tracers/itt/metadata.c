// SPDX-License-Identifier: Apache-2.0
// Metadata values as tags: one value keeps its type, several become a text "[1,2,3]". Pure but for errno; called on
// memory of the traced program.
#include "tracers/itt/itt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LIST_BYTES 256 // of a list's text; what does not fit is told by "…"

struct value {
  enum { VALUE_NONE, VALUE_INT, VALUE_UNSIGNED, VALUE_DOUBLE } is;
  int64_t integer;
  uint64_t natural; // VALUE_UNSIGNED: beyond int64
  double real;
};

static size_t size_of(int type)
{
  switch ((enum itt_type)type) {
  case ITT_TYPE_U64:
  case ITT_TYPE_S64:
  case ITT_TYPE_DOUBLE:
    return 8;
  case ITT_TYPE_U32:
  case ITT_TYPE_S32:
  case ITT_TYPE_FLOAT:
    return 4;
  case ITT_TYPE_U16:
  case ITT_TYPE_S16:
    return 2;
  case ITT_TYPE_UNKNOWN:
    break;
  }
  return 0;
}

#define READ(c_type)                                                                                                   \
  do {                                                                                                                 \
    c_type number;                                                                                                     \
    memcpy(&number, data, sizeof number);                                                                              \
    value.integer = (int64_t)number;                                                                                   \
  } while (0)

static struct value read_value(int type, const void *data)
{
  struct value value = {.is = VALUE_INT};
  float narrow;
  switch ((enum itt_type)type) {
  case ITT_TYPE_U64:
    memcpy(&value.natural, data, sizeof value.natural);
    value.integer = (int64_t)value.natural;
    if (value.natural > INT64_MAX)
      value.is = VALUE_UNSIGNED;
    break;
  case ITT_TYPE_S64:
    READ(int64_t);
    break;
  case ITT_TYPE_U32:
    READ(uint32_t);
    break;
  case ITT_TYPE_S32:
    READ(int32_t);
    break;
  case ITT_TYPE_U16:
    READ(uint16_t);
    break;
  case ITT_TYPE_S16:
    READ(int16_t);
    break;
  case ITT_TYPE_FLOAT:
    memcpy(&narrow, data, sizeof narrow);
    value.is = VALUE_DOUBLE;
    value.real = (double)narrow;
    break;
  case ITT_TYPE_DOUBLE:
    memcpy(&value.real, data, sizeof value.real);
    value.is = VALUE_DOUBLE;
    break;
  case ITT_TYPE_UNKNOWN:
    value.is = VALUE_NONE;
    break;
  }
  return value;
}

// The program's locale may write a comma for the decimal point.
static void write_double(char *to, size_t size, double value)
{
  if (isnan(value) || isinf(value)) {
    snprintf(to, size, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return;
  }
  snprintf(to, size, "%.9g", value);
  char *comma = strchr(to, ',');
  if (comma != NULL)
    *comma = '.';
}

static void write_value(char *to, size_t size, const struct value *value)
{
  if (value->is == VALUE_DOUBLE)
    write_double(to, size, value->real);
  else if (value->is == VALUE_UNSIGNED)
    snprintf(to, size, "%llu", (unsigned long long)value->natural);
  else
    snprintf(to, size, "%lld", (long long)value->integer);
}

static void add_list(struct annotation_tags *tags, const char *key, int type, size_t count, const unsigned char *data)
{
  static const char more[] = ",…]";
  char list[LIST_BYTES] = "[";
  size_t used = 1, size = size_of(type), i = 0;
  for (; i < count; i++) {
    char number[32];
    struct value value = read_value(type, data + i * size);
    write_value(number, sizeof number, &value);
    size_t length = strlen(number);
    if (used + length + 1 + sizeof more > sizeof list)
      break;
    if (i > 0)
      list[used++] = ',';
    memcpy(list + used, number, length);
    used += length;
  }
  memcpy(list + used, i < count ? more : "]", i < count ? sizeof more : 2);
  annotation_tags_text(tags, key, list, strlen(list));
}

bool itt_metadata_read(struct annotation_tags *tags, const char *key, int type, size_t count, const void *data)
{
  if (size_of(type) == 0 || data == NULL)
    return false;
  if (count == 0)
    return true;
  if (count > 1) {
    add_list(tags, key, type, count, data);
    return true;
  }
  struct value value = read_value(type, data);
  char text[32];
  if (value.is == VALUE_DOUBLE) {
    annotation_tags_double(tags, key, value.real);
  } else if (value.is == VALUE_INT) {
    annotation_tags_int(tags, key, value.integer);
  } else {
    write_value(text, sizeof text, &value);
    annotation_tags_text(tags, key, text, strlen(text));
  }
  return true;
}
