// SPDX-License-Identifier: Apache-2.0
// Decodes OTLP's protobuf from memory. Slices point into the message: nothing is copied, and nothing is allocated once
// the lists have grown. No I/O.
#ifndef XSP_OTLP_PROTO_H
#define XSP_OTLP_PROTO_H

#include "otlp/fields.h"

struct otlp_proto { // starts as {0}; used again for each message; one thread
  struct otlp_parts parts;
  const char *problem; // static text: why the last message was refused
  const char *at;      // where in it
};

// One message: a request, or a part of one for callers that cannot have all of it in memory (RESOURCE_SPANS, SCOPE_SPANS,
// RESOURCE, SCOPE, SPAN). STATUS_INPUT with proto->problem: it is broken; the visitor has seen what was before that. Any
// other status than STATUS_OK comes from the visitor, with proto->problem NULL.
enum status otlp_proto_decode(struct otlp_proto *proto, enum otlp_message message, const char *at, size_t length,
                              const struct otlp_visitor *visitor, struct error *err) MUST_CHECK;
void otlp_proto_done(struct otlp_proto *proto);

// Decodes a PAIR or a VALUE message into `target`, a struct otlp_attribute or otlp_value. NULL, or what is wrong with it.
const char *otlp_proto_item(enum otlp_message message, const char *at, size_t length, void *target);
#define OTLP_WRONG_TYPE "a field has another wire type than OTLP gives it"

#endif
