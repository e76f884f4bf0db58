// SPDX-License-Identifier: Apache-2.0
// Begin and end events of Chrome traces paired up, one lane a track. They may stand in the file in any order: each lane
// is sorted by time, events of equal times in the order of the file. Inside this room only.
//
//      begin A      begin B      end B      begin C      end A      end C        asynchronous spans may cross
//
// An end event with a name ends the innermost open span that began by this name, else one that began without a name; an
// end event without a name ends the innermost.
// Memory: 48 bytes an event, of complete events only those after the first begin or end event of their lane.
#ifndef XSP_IMPORTERS_LANES_H
#define XSP_IMPORTERS_LANES_H

#include "base/vector.h"
#include "importers/importer.h"

struct lane;
struct import_lanes { // starts as {.import = …}
  struct import *import;
  VECTOR(struct lane) lanes;
  VECTOR(struct store_tag) tags; // of end events: their span is not known yet
  uint32_t most_name;
  uint64_t open_count;     // after import_lanes_finish: spans that never ended
  uint64_t misnamed_count; // end events whose name no open span had
};
struct lane_end {
  int64_t time_ns;
  uint32_t name;   // of import_string; 0: none
  uint64_t offset; // of the event in the file
};
uint32_t import_lanes_add(struct import_lanes *lanes, uint32_t track_id); // a new lane: 1, 2, …
// A complete event; span->track_id is filled in.
enum status import_lanes_complete(struct import_lanes *lanes, uint32_t lane, const struct store_span *span,
                                  struct error *err) MUST_CHECK;
// A begin event; its duration is not known yet. `name` is the file's, of import_string.
void import_lanes_begin(struct import_lanes *lanes, uint32_t lane, const struct store_span *span, uint32_t name);
void import_lanes_end(struct import_lanes *lanes, uint32_t lane, const struct lane_end *end);
void import_lanes_end_tag(struct import_lanes *lanes, uint32_t lane,
                          const struct store_tag *tag); // of the last end event
// At the end of the file: all spans leave, in the order in which they begin. STATUS_INPUT: a duration is beyond 64 bits.
enum status import_lanes_finish(struct import_lanes *lanes, struct error *err) MUST_CHECK;
void import_lanes_done(struct import_lanes *lanes);

#endif
