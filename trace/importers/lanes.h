// SPDX-License-Identifier: Apache-2.0
// Begin and end events of Chrome traces paired up, one lane a track. Spans leave a lane in the order in which the file
// begins them wherever that order decides who encloses whom: among spans of one track that start at the same instant.
// Inside this room only.
//
//      stack of a lane:      A (t=5)      B (t=5)      C (t=9)
//      waiting, by begin:                 B's place    …           C starts alone: it leaves when it ends
//
// A, the first that starts at 5, leaves when it ends, and then what waits: B, and complete events that start at 5.
#ifndef XSP_IMPORTERS_LANES_H
#define XSP_IMPORTERS_LANES_H

#include "importers/importer.h"

struct lane;
struct lanes { // starts as {.import = …}
  struct import *import;
  struct lane *lanes;
  size_t count, capacity;
};
uint32_t lanes_add(struct lanes *lanes, uint32_t track_id); // a new lane: 1, 2, …
// A complete event; span->track_id is filled in.
enum status lanes_complete(struct lanes *lanes, uint32_t lane, const struct store_span *span,
                           struct error *err) MUST_CHECK;
// A begin event; its duration is not known yet.
void lanes_begin(struct lanes *lanes, uint32_t lane, const struct store_span *span);
// The span that an end event would end; NULL: none is open.
const struct store_span *lanes_open(const struct lanes *lanes, uint32_t lane);
// Ends it. duration_ns < 0: it makes no sense and is dropped (the caller counts it).
enum status lanes_end(struct lanes *lanes, uint32_t lane, int64_t duration_ns, struct error *err) MUST_CHECK;
// At the end of the file: what is still open leaves as spans that never finished. Returns their number in *ret_open.
enum status lanes_finish(struct lanes *lanes, uint64_t *ret_open, struct error *err) MUST_CHECK;
void lanes_done(struct lanes *lanes);

#endif
