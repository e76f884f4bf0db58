// SPDX-License-Identifier: Apache-2.0
// The span ids of one run: OTLP's are 8 bytes, unique within their trace; the store's are positive and unique within the
// run. Inside this room only. One thread.
//
// Numbers are kept where they can be (so that a trace that was exported comes back with its ids): the first that claims
// one has it, without its top bit; what collides gets another. An id is fixed when it is first mentioned, as a span or as
// a parent: children come before their parents in most files. 16 bytes an entry, 24 to 48 bytes a span.
#ifndef XSP_OTLP_IDS_H
#define XSP_OTLP_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct otlp_id_entry {
  uint64_t number; // 0: a free slot
  uint32_t trace;
  uint32_t state; // private to ids.c
};
struct otlp_ids { // starts as {0}
  struct otlp_id_entry *entries;
  size_t count, capacity;
  uint64_t seed;
  uint32_t given;      // ids that had to be made up
  size_t absent_count; // mentioned as parents, and no spans so far
};

// The id of `number` (not 0) in `trace`. `is_span`: as a span, not as a parent; *ret_is_repeated: it was one already.
int64_t otlp_ids_find(struct otlp_ids *ids, uint32_t trace, uint64_t number, bool is_span, bool *ret_is_repeated);
void otlp_ids_done(struct otlp_ids *ids);

#endif
