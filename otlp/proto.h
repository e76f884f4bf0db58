// SPDX-License-Identifier: Apache-2.0
// OTLP's protobuf, read from memory. Private to collect. No I/O, nothing is copied: slices point into the message.
#ifndef XSP_OTLP_PROTO_H
#define XSP_OTLP_PROTO_H

#include "base/wire.h"
#include "otlp/otlp.h"

struct otlp_proto { // starts as {0}; one at a time per thread; used again and again without allocation
  struct otlp_parts parts;
  const char *problem; // static text: why the last message was refused
  const char *at;      // and where in it
};

// A whole TracesData or ExportTraceServiceRequest. STATUS_INPUT with proto->problem: the message is broken; what lay
// before that has been handed over already. Any other status but STATUS_OK comes from the visitor (problem is NULL).
enum status otlp_proto_decode(struct otlp_proto *proto, const char *message, size_t length,
                              const struct otlp_visitor *visitor, struct error *err) MUST_CHECK;
// Its parts, for those who cannot have all of it in memory. They return and complain like the whole.
enum status otlp_proto_resource_spans(struct otlp_proto *proto, const char *message, size_t length,
                                      const struct otlp_visitor *visitor, struct error *err) MUST_CHECK;
enum status otlp_proto_resource(struct otlp_proto *proto, const char *message, size_t length,
                                const struct otlp_visitor *visitor, struct error *err) MUST_CHECK;
enum status otlp_proto_scope_spans(struct otlp_proto *proto, const char *message, size_t length,
                                   const struct otlp_visitor *visitor, struct error *err) MUST_CHECK;
enum status otlp_proto_scope(struct otlp_proto *proto, const char *message, size_t length,
                             const struct otlp_visitor *visitor, struct error *err) MUST_CHECK;
enum status otlp_proto_span(struct otlp_proto *proto, const char *message, size_t length,
                            const struct otlp_visitor *visitor, struct error *err) MUST_CHECK;
void otlp_proto_done(struct otlp_proto *proto);

// ---- between the files of the decoder --------------------------------------------------------------------------------
#define OTLP_WRONG_TYPE "a field has another wire type than OTLP gives it"
#define OTLP_FIELD(number) (UINT32_C(1) << (number))

// Passes over a field; `known` is the mask of the message's field numbers, all of which the caller has looked for with
// the wire type that they should have.
bool otlp_proto_skip(struct wire *wire, uint64_t key, uint32_t known);
bool otlp_proto_text(struct wire *wire, struct otlp_text *ret_text);
// At the length of an AnyValue, of a KeyValue. False: wire->problem.
bool otlp_proto_value(struct wire *wire, struct otlp_value *ret_value);
bool otlp_proto_pair(struct wire *wire, struct otlp_attribute *attribute);
bool otlp_proto_attribute(struct wire *wire, struct otlp_attribute *attribute); // NULL: there are too many
bool otlp_proto_field(struct wire *wire, struct otlp_parts *parts);             // any field of a span, at its key
static inline bool otlp_proto_key(struct wire *wire, uint64_t *ret_key)         // false: the message's end, or broken
{
  return wire->at < wire->end && wire_varint(wire, ret_key);
}

#endif
