// SPDX-License-Identifier: Apache-2.0
// Shapes of XLA's arrays as JAX writes them. Called by hlo.c.
#include "importers/xplane/instructions.h"

#include <inttypes.h>

enum { SHAPE_TYPE = 2, SHAPE_DIMENSIONS = 3, SHAPE_PARTS = 4 }; // ShapeProto
#define DIMENSIONS_MOST 16u                                     // of an array
// xla.PrimitiveType, as JAX writes them.
static const char *const type_names[] = {"",    "bool", "s8",  "s16", "s32",   "s64",    "u8",  "u16",  "u32",
                                         "u64", "f16",  "f32", "f64", "tuple", "opaque", "c64", "bf16", "token"};

size_t xplane_numbers(const struct wire_field *field, uint64_t *numbers, size_t count, size_t most)
{
  struct wire packed = wire_inside(field);
  uint64_t number;
  if (field->type == WIRE_VARINT && count < most)
    numbers[count++] = field->value;
  else if (field->type == WIRE_BYTES)
    while (packed.at < packed.end && wire_varint(&packed, &number))
      if (count < most)
        numbers[count++] = number;
  return count;
}

void xplane_put_shape(struct buf *out, struct wire shape)
{
  struct wire_field field;
  uint64_t type = 0, dimensions[DIMENSIONS_MOST];
  size_t count = 0;
  while (wire_next(&shape, &field)) {
    if (wire_is(&field, SHAPE_TYPE, WIRE_VARINT))
      type = field.value;
    else if (field.number == SHAPE_DIMENSIONS)
      count = xplane_numbers(&field, dimensions, count, DIMENSIONS_MOST);
    else if (field.number == SHAPE_PARTS)
      return;
  }
  if (type == 0 || type == 13) // a tuple
    return;
  if (type < sizeof type_names / sizeof type_names[0])
    buf_text(out, type_names[type]);
  else
    buf_format(out, "type%" PRIu64, type);
  for (size_t i = 0; i < count; i++)
    buf_format(out, "%s%" PRIu64, i == 0 ? "[" : ",", dimensions[i]);
  buf_text(out, count == 0 ? "[]" : "]");
}

int64_t xplane_shape_bytes(struct wire shape)
{
  static const int64_t bytes_of[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 0, 0, 8, 2, 0, 16, 1, 1};
  struct wire_field field;
  uint64_t type = 0, dimensions[DIMENSIONS_MOST];
  size_t count = 0;
  while (wire_next(&shape, &field)) {
    if (wire_is(&field, SHAPE_TYPE, WIRE_VARINT))
      type = field.value;
    else if (field.number == SHAPE_DIMENSIONS)
      count = xplane_numbers(&field, dimensions, count, DIMENSIONS_MOST);
  }
  int64_t bytes = type < sizeof bytes_of / sizeof bytes_of[0] ? bytes_of[type] : 0;
  for (size_t i = 0; i < count; i++)
    if (dimensions[i] > INT64_MAX || __builtin_mul_overflow(bytes, (int64_t)dimensions[i], &bytes))
      return 0;
  return bytes;
}
