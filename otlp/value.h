// SPDX-License-Identifier: Apache-2.0
// Values of OTLP as text: the tag's value for arrays, maps and bytes. Pure.
#ifndef XSP_OTLP_VALUE_H
#define XSP_OTLP_VALUE_H

#include "base/buf.h"
#include "otlp/otlp.h"

// Appends a value as text: a TEXT as it is, numbers and truth values as in JSON, BYTES as base64, ARRAY and MAP as
// compact JSON. The same for values from JSON and from protobuf. NULL, or why the value is broken (static text).
const char *otlp_value_text(const struct otlp_value *value, struct buf *out);
// Appends attributes as one JSON object. Returns as above.
const char *otlp_attributes_text(const struct otlp_attribute *attributes, size_t count, struct buf *out);
void otlp_text_json(struct slice text, struct buf *out);

#endif
