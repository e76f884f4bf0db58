// SPDX-License-Identifier: Apache-2.0
// The table of OTLP's fields as the decoders and the encoder use it, and the lists that decoders fill.
#include "otlp/fields.h"

#include "base/hex.h"
#include "base/vector.h"
#include "base/wire.h"

#include <stdlib.h>
#include <string.h>

#define UNREAD .form = OTLP_FORM_UNREAD
#define SCALAR(form_, place) .form = OTLP_FORM_##form_, .offset = (place)
#define ENUM(place, names) .form = OTLP_FORM_ENUM, .offset = (place), .inner = OTLP_##names
#define VALUE(type) .form = OTLP_FORM_VALUE, .inner = (type)
#define INNER(form_, message) .form = OTLP_FORM_##form_, .inner = OTLP_##message##_MESSAGE
#define HEAD(message) INNER(HEAD, message)
#define LIST(message) INNER(LIST, message)
#define ITEMS(message, list) INNER(ITEMS, message), .offset = offsetof(struct otlp_parts, list)
#define MESSAGE(message, place) INNER(MESSAGE, message), .offset = (place)

const struct otlp_field otlp_fields[OTLP_MESSAGE_COUNT * OTLP_NUMBERS] = {
#define X(message, field, number, wire, name_, ...)                                                                    \
  [OTLP_##message##_##field] = {name_, sizeof name_ - 1, WIRE_KEY(number, WIRE_##wire), {__VA_ARGS__}},
    OTLP_FIELDS(X)
#undef X
};
const struct otlp_step otlp_steps[OTLP_MESSAGE_COUNT * OTLP_KEYS] = {
#define X(message, field, number, wire, name, ...)                                                                     \
  [OTLP_##message##_MESSAGE * OTLP_KEYS + WIRE_KEY(number, WIRE_##wire)] = {__VA_ARGS__},
    OTLP_FIELDS(X)
#undef X
};

// ---- names -----------------------------------------------------------------------------------------------------------
static bool is_snake_case(const struct otlp_field *field, struct slice name)
{
  size_t at = 0;
  for (size_t i = 0; i < field->name_length; i++) {
    char byte = field->name[i];
    bool is_upper = byte >= 'A' && byte <= 'Z';
    if (at + is_upper >= name.length || (is_upper && name.data[at] != '_') ||
        name.data[at + is_upper] != (is_upper ? (char)(byte | 0x20) : byte))
      return false;
    at += 1 + is_upper;
  }
  return at == name.length;
}

const struct otlp_field *otlp_field_named(enum otlp_message message, struct slice name, unsigned *hint)
{
  const struct otlp_field *fields = &otlp_fields[message * OTLP_NUMBERS];
  if (name.length == 0)
    return NULL;
  for (unsigned i = 0, number = *hint; i < OTLP_NUMBERS; i++, number = (number + 1) % OTLP_NUMBERS)
    if (fields[number].name_length == name.length && memcmp(fields[number].name, name.data, name.length) == 0) {
      *hint = (number + 1) % OTLP_NUMBERS;
      return &fields[number];
    }
  for (unsigned number = 1; number < OTLP_NUMBERS; number++)
    if (fields[number].name != NULL && is_snake_case(&fields[number], name))
      return &fields[number];
  return NULL;
}

// ---- lists -----------------------------------------------------------------------------------------------------------
static const size_t item_sizes[OTLP_MESSAGE_COUNT] = {[OTLP_PAIR_MESSAGE] = sizeof(struct otlp_attribute),
                                                      [OTLP_EVENT_MESSAGE] = sizeof(struct otlp_event),
                                                      [OTLP_LINK_MESSAGE] = sizeof(struct otlp_link)};

void *otlp_parts_add(struct otlp_parts *parts, const struct otlp_step *step)
{
  struct otlp_list *list = (struct otlp_list *)(void *)((char *)parts + step->offset);
  size_t size = item_sizes[step->inner];
  if (list->count == OTLP_PARTS_MOST)
    return NULL;
  list->items = vector_room(list->items, list->count, &list->capacity, 1, size);
  return memset((char *)list->items + list->count++ * size, 0, size);
}

void otlp_parts_finish(struct otlp_parts *parts)
{
  struct otlp_span *span = &parts->span;
  if (span->end_ns == 0) // protobuf does not distinguish it from an absent one
    span->end_ns = OTLP_NO_TIME;
  span->attributes = parts->attributes.items;
  span->attribute_count = parts->attributes.count;
  span->inner = parts->inner.items;
  span->events = parts->events.items;
  span->event_count = parts->events.count;
  span->links = parts->links.items;
  span->link_count = parts->links.count;
}

void otlp_parts_done(struct otlp_parts *parts)
{
  free(parts->attributes.items);
  free(parts->inner.items);
  free(parts->events.items);
  free(parts->links.items);
  *parts = (struct otlp_parts){0};
}

bool otlp_has_trace_id(const struct otlp_span *span)
{
  static const uint8_t zero[16];
  const struct slice id = span->trace_id;
  uint8_t bytes[sizeof zero];
  if (!span->is_json)
    return id.length == sizeof zero && memcmp(id.data, zero, sizeof zero) != 0;
  return id.length == 2 * sizeof zero && hex_decode(id.data, bytes, sizeof zero) &&
         memcmp(bytes, zero, sizeof zero) != 0;
}
