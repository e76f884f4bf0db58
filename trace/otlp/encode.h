// SPDX-License-Identifier: Apache-2.0
// Writes OTLP messages, as JSON or as protobuf, with the same calls. Numbers and names come from the table of fields.
#ifndef XSP_OTLP_ENCODE_H
#define XSP_OTLP_ENCODE_H

#include "base/buf.h"
#include "base/json_write.h"
#include "otlp/fields.h"

struct otlp_out {  // by otlp_out_init
  struct buf *buf; // borrowed
  bool is_json;
  struct json_writer json;
  struct buf key; // scratch
};

void otlp_out_init(struct otlp_out *out, bool is_json, struct buf *buf);
void otlp_out_done(struct otlp_out *out);
void otlp_out_start(struct otlp_out *out); // before each request
// A message in a message, an item of a list where the field is one. Returns the place that end needs.
size_t otlp_out_message(struct otlp_out *out, enum otlp_field_id field);
void otlp_out_message_end(struct otlp_out *out, size_t place);
void otlp_out_list(struct otlp_out *out, enum otlp_field_id field); // around the items; nothing in protobuf
void otlp_out_list_end(struct otlp_out *out);

void otlp_out_text(struct otlp_out *out, enum otlp_field_id field, const char *text, size_t length);
void otlp_out_id(struct otlp_out *out, enum otlp_field_id field, const uint8_t *bytes, size_t length); // at most 16
void otlp_out_enum(struct otlp_out *out, enum otlp_field_id field, unsigned value);
void otlp_out_time(struct otlp_out *out, enum otlp_field_id field, uint64_t time_ns);
void otlp_real_json(struct json_writer *json, double real); // "NaN" and "Infinity" as texts, unlike json_double

// An item of the list `field`. The key is prefix and `key`. value: a TEXT, BOOL, INT or DOUBLE.
void otlp_out_attribute(struct otlp_out *out, enum otlp_field_id field, const char *prefix, struct slice key,
                        struct otlp_value value);
// The same in two steps, for keys that come often: how a key is written, and an attribute with what that appended.
void otlp_out_key(const struct otlp_out *out, const char *prefix, struct slice key, struct buf *written);
void otlp_out_attribute_of(struct otlp_out *out, enum otlp_field_id field, struct slice written,
                           struct otlp_value value);
// Of the items of a list: bytes that were written for an earlier one, in JSON without the comma before them.
void otlp_out_written(struct otlp_out *out, struct slice items);

static inline struct otlp_value otlp_value_of_text(struct slice text)
{
  return (struct otlp_value){.type = OTLP_TEXT, .text = text};
}
static inline struct otlp_value otlp_value_of_int(int64_t number)
{
  return (struct otlp_value){.type = OTLP_INT, .integer = number};
}
static inline struct otlp_value otlp_value_of_double(double number)
{
  return (struct otlp_value){.type = OTLP_DOUBLE, .real = number};
}
static inline struct otlp_value otlp_value_of_bool(bool is_true)
{
  return (struct otlp_value){.type = OTLP_BOOL, .integer = is_true};
}

#endif
