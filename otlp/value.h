// SPDX-License-Identifier: Apache-2.0
// Values of OTLP as text: what a tag keeps of arrays, maps and bytes. Private to collect. Pure.
#ifndef XSP_OTLP_VALUE_H
#define XSP_OTLP_VALUE_H

#include "base/buf.h"
#include "otlp/otlp.h"

// Appends what a value is as text: a TEXT as it is; numbers and truth values as JSON has them; BYTES as base64; ARRAY and
// MAP as compact JSON. The same whether it came as JSON or as protobuf. NULL, or why it is broken (static text).
const char *otlp_value_text(const struct otlp_value *value, struct buf *out);
// Appends attributes as one JSON object. As above.
const char *otlp_attributes_text(const struct otlp_attribute *attributes, size_t count, struct buf *out);
// Appends a TEXT, BOOL, INT, DOUBLE or EMPTY value as JSON.
void otlp_scalar_json(const struct otlp_value *value, struct buf *out);
void otlp_text_json(struct otlp_text text, struct buf *out);
void otlp_base64(struct otlp_text bytes, struct buf *out);

#define OTLP_TOO_DEEP "a value is nested deeper than 100"

// Arrays and maps, in JSON or in protobuf, by an explicit stack. value->type is ARRAY or MAP.
const char *otlp_json_nested(const struct otlp_value *value, struct buf *out);  // otlp_json_value.c
const char *otlp_proto_nested(const struct otlp_value *value, struct buf *out); // otlp_proto_value.c

#endif
