// SPDX-License-Identifier: Apache-2.0
// See protobuf.h. Used by the predictors' decoders on files and on what a framework hands over; also fuzzed.
#include "predictors/protobuf.h"

static bool fail(struct protobuf *message, const char *problem)
{
  message->problem = problem;
  return false;
}

static bool varint(struct protobuf *message, uint64_t *ret_value)
{
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (message->at == message->end)
      return fail(message, "it ends inside a number");
    uint8_t byte = *message->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *ret_value = value;
      return true;
    }
  }
  return fail(message, "a number is too long");
}

static bool fixed(struct protobuf *message, unsigned size, uint64_t *ret_value)
{
  if ((size_t)(message->end - message->at) < size)
    return fail(message, "it ends inside a number");
  uint64_t value = 0;
  for (unsigned i = 0; i < size; i++)
    value |= (uint64_t)message->at[i] << (8 * i);
  message->at += size;
  *ret_value = value;
  return true;
}

bool protobuf_next(struct protobuf *message, struct protobuf_field *ret_field)
{
  if (message->problem != NULL || message->at == message->end)
    return false;
  uint64_t tag = 0;
  if (!varint(message, &tag))
    return false;
  *ret_field = (struct protobuf_field){.number = tag >> 3, .wire = tag & 7};
  if (ret_field->number == 0)
    return fail(message, "a field has no number");
  switch (ret_field->wire) {
  case PROTOBUF_VARINT:
    return varint(message, &ret_field->value);
  case PROTOBUF_64:
    return fixed(message, 8, &ret_field->value);
  case PROTOBUF_32:
    return fixed(message, 4, &ret_field->value);
  case PROTOBUF_BYTES:
    if (!varint(message, &ret_field->value))
      return false;
    if (ret_field->value > (uint64_t)(message->end - message->at))
      return fail(message, "a part is longer than what is there");
    ret_field->bytes = message->at;
    ret_field->length = (size_t)ret_field->value;
    message->at += ret_field->length;
    return true;
  default:
    return fail(message, "a field is of an unknown kind");
  }
}
