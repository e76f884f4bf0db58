// SPDX-License-Identifier: Apache-2.0
// Numbers in the traced program's memory as tags: one number keeps its type, several become a text. Pure, but for errno;
// allocates nothing. The bytes may be unaligned.
#ifndef XSP_TRACERS_ANNOTATIONS_VALUE_H
#define XSP_TRACERS_ANNOTATIONS_VALUE_H

#include "tracers/annotations/tags.h"

#include <stdbool.h>

enum value_class {
  VALUE_NONE, // not decoded
  VALUE_SIGNED,
  VALUE_UNSIGNED,
  VALUE_REAL,   // IEEE 754 of 2, 4 or 8 bytes, or the processor's long double
  VALUE_BFLOAT, // the upper half of a float
  VALUE_ADDRESS,
  VALUE_TEXT,
  VALUE_CHARACTER,
  VALUE_STRING, // a registered string's handle
};
struct annotation_value_type {
  uint8_t class, size; // enum value_class; bytes, 0: not known
};

struct annotation_value {
  enum annotation_tag_type type;
  union {
    int64_t integer;
    double real;
    char digits[24]; // ANNOTATION_TAG_TEXT: an unsigned number beyond int64_t
  };
};

uint64_t annotation_value_integer(const void *at, size_t size, bool is_signed); // of 1, 2, 4 or 8 bytes, else 0
void annotation_value_read(struct annotation_value_type type, const void *at, struct annotation_value *ret_value);
void annotation_value_put(const struct annotation_value *value, const char *key, const struct xsp_span *span);
void annotation_value_tag(const struct annotation_value *value, const char *key, struct annotation_tags *tags);

// Several numbers as "[1, 2, 3]". A list that was cut ends with "…]".
struct value_list_form {
  const char *separator;
  uint64_t elements_most;
  size_t bytes_most; // with the NUL, at most VALUE_LIST_BYTES
};
#define VALUE_LIST_BYTES 1024
void annotation_value_list(struct annotation_value_type type, uint64_t count, const void *at,
                           const struct value_list_form *form, const char *key, struct annotation_tags *tags);

#endif
