// SPDX-License-Identifier: Apache-2.0
// Members of JSON that OTLP does not have: decoders pass over them, and a report names them. What is read again, since a
// window ended in it, counts once: names are pending until otlp_unknown_keep.
#ifndef XSP_OTLP_UNKNOWN_H
#define XSP_OTLP_UNKNOWN_H

#include "base/buf.h"
#include "otlp/fields.h"

#define OTLP_UNKNOWN_NAMES 8u // others are counted together
#define OTLP_UNKNOWN_BYTES 40u
struct otlp_unknown_name {
  enum otlp_message message;
  char name[OTLP_UNKNOWN_BYTES]; // longer ones are cut
  uint64_t count, pending;
};
struct otlp_unknown { // starts as {0}
  struct otlp_unknown_name names[OTLP_UNKNOWN_NAMES];
  size_t name_count;
  uint64_t other_count, other_pending;
  bool has_pending;
};

// Members of OTLP that xsp does not read are no unknown ones. `unknown` may be NULL.
void otlp_unknown_add(struct otlp_unknown *unknown, enum otlp_message message, struct slice name);
void otlp_unknown_keep(struct otlp_unknown *unknown);
void otlp_unknown_forget(struct otlp_unknown *unknown);
// "3 Value of AnyValue, 1 color of Span"; nothing where there are none.
void otlp_unknown_text(const struct otlp_unknown *unknown, struct buf *out);

#endif
