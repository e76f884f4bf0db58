// SPDX-License-Identifier: Apache-2.0
// Decodes one request in OTLP's JSON that is whole in memory: what otlp_proto_decode does for protobuf. No I/O.
#ifndef XSP_OTLP_JSON_REQUEST_H
#define XSP_OTLP_JSON_REQUEST_H

#include "otlp/json.h"

#define OTLP_JSON_PADDING 64 // zero bytes after the request, which may be read

// STATUS_INPUT with json->scan.problem and json->scan.at: it is broken; the visitor has seen what was before that. Any other
// status than STATUS_OK comes from the visitor, with json->scan.problem NULL.
enum status otlp_json_decode(struct otlp_json *json, const char *at, size_t length, const struct otlp_visitor *visitor,
                             struct error *err) MUST_CHECK;

#endif
