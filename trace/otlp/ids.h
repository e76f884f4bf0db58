// SPDX-License-Identifier: Apache-2.0
// The span ids of one run: OTLP's are 8 bytes, unique within their trace; the store's are positive and unique within the
// run. Inside this room only. One thread.
//
// Numbers are kept where they can be (so that a trace that was exported comes back with its ids): the first that claims
// one has it, without its top bit; what collides gets another. An id is fixed when it is first mentioned, as a span or as
// a parent: children come before their parents in most files.
#ifndef XSP_OTLP_IDS_H
#define XSP_OTLP_IDS_H

#include "base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct otlp_id_owners { // a hash table without removal: a slot of 16 bytes an id, at most three quarters of them full
  struct otlp_id_owner {
    uint64_t id;     // 0: free
    uint64_t owner;  // the number's top bit << 32 | its trace
  } * slots;         // owned
  size_t slot_count; // a power of two, or 0
  size_t count;
  uint64_t seed; // ids come from a file
};
struct otlp_ids { // starts as {0}
  struct otlp_id_owners owners;
  struct map others;   // (number, trace) to the id that was made up for it
  uint64_t given;      // ids that had to be made up
  size_t absent_count; // mentioned as parents, and no spans so far
};

// The id of `number` (not 0) in `trace`. `is_span`: as a span, not as a parent; *ret_is_repeated: it was one already.
int64_t otlp_ids_find(struct otlp_ids *ids, uint32_t trace, uint64_t number, bool is_span, bool *ret_is_repeated);
void otlp_ids_done(struct otlp_ids *ids);

#endif
