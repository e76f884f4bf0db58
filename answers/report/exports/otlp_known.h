// SPDX-License-Identifier: Apache-2.0
// Attributes of spans in OTLP. Many spans have the same ones, and keys of tags: they are encoded once, and copied. Inside this room only.
#ifndef XSP_REPORT_EXPORTS_OTLP_KNOWN_H
#define XSP_REPORT_EXPORTS_OTLP_KNOWN_H

#include "report/exports/otlp_facts.h"
#include "report/exports/pieces.h"

struct otlp_known {
  struct store *store;            // borrowed, as all but `pieces`
  struct otlp_out *out;           // into the list of a span's attributes
  const struct otlp_facts *facts; // of the run
  struct pieces pieces;           // to be forgotten before each run
  size_t tag_at;                  // place after the last span's tags; reset to 0 with facts->tags
};

// The level comes first in the list.
void otlp_known_put_kind(struct otlp_known *attributes, unsigned level, unsigned kind, uint32_t category);
// `basis`: -1: none.
void otlp_known_put_tracer(struct otlp_known *attributes, uint32_t tracer, int basis);
void otlp_known_put_track(struct otlp_known *attributes, uint32_t track_id); // 0: none
void otlp_known_put_tags(struct otlp_known *attributes, int64_t span_id);

#endif
