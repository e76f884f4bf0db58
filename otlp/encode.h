// SPDX-License-Identifier: Apache-2.0
// Writes OTLP messages, as JSON or as protobuf, with the same calls. Inside this room only. Field numbers:
// otlp/attributes.h; what they are called in JSON stands beside them in every call.
#ifndef XSP_OTLP_ENCODE_H
#define XSP_OTLP_ENCODE_H

#include "base/buf.h"
#include "base/json_write.h"

#include <stdint.h>

struct otlp_out {  // by otlp_out_init
  struct buf *buf; // borrowed
  bool is_json;
  struct json_writer json;
  struct buf key; // scratch
};

void otlp_out_init(struct otlp_out *out, bool is_json, struct buf *buf);
void otlp_out_done(struct otlp_out *out);
void otlp_out_start(struct otlp_out *out); // before each message that stands alone
// A message in a message: returns what end needs. `name` NULL: an item of a list.
size_t otlp_out_message(struct otlp_out *out, unsigned field, const char *name);
void otlp_out_message_end(struct otlp_out *out, size_t place);
void otlp_out_list(struct otlp_out *out, const char *name); // of items; nothing in protobuf
void otlp_out_list_end(struct otlp_out *out);

void otlp_out_text(struct otlp_out *out, unsigned field, const char *name, const char *text, size_t length);
void otlp_out_id(struct otlp_out *out, unsigned field, const char *name, const uint8_t *bytes, size_t length);
void otlp_out_enum(struct otlp_out *out, unsigned field, const char *name, unsigned value);
void otlp_out_time(struct otlp_out *out, unsigned field, const char *name, uint64_t time_ns);

// Attributes: items of the list `attributes`, whose number in the message around them is `field`. Keys are
// NUL-terminated, or `prefix` and `length` bytes.
struct otlp_key_text {
  const char *prefix, *text;
  size_t length;
};
struct otlp_key_text otlp_key(const char *text);
void otlp_out_attribute_text(struct otlp_out *out, unsigned field, struct otlp_key_text key, const char *text,
                             size_t length);
void otlp_out_attribute_int(struct otlp_out *out, unsigned field, struct otlp_key_text key, int64_t value);
void otlp_out_attribute_double(struct otlp_out *out, unsigned field, struct otlp_key_text key, double value);
void otlp_out_attribute_bool(struct otlp_out *out, unsigned field, struct otlp_key_text key, bool value);

#endif
