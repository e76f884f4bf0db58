// SPDX-License-Identifier: Apache-2.0
// From a ring's records to spans with everything recorded about them. Pure: no I/O, no store, one thread at a time.
//
// Facts about a span (its parent, correlation, trace, tags, logs) are records of their own. Between a span's start
// and its finish they come before the span's record and wait here for it; tags of an emitted interval come after it and
// are passed on at once. Memory is bounded: RING_FACTS_MAXIMUM facts wait, then tags and logs are passed on unattached
// (they carry their span's id) and the rest is counted as an orphan.
#ifndef XSP_COLLECT_RING_DECODE_H
#define XSP_COLLECT_RING_DECODE_H

#include "base/vector.h"
#include "format/session.h"

#include <xsp/span.h>

#include <stdbool.h>
#include <stdint.h>

#define RING_FACTS_MAXIMUM 1024u
#define RING_SEEN_WINDOW (UINT32_C(1) << 17) // ids remembered as finished

struct decoded_span {
  int64_t span_id;
  uint64_t start, duration; // in `clock`
  uint64_t thread;          // 0: unknown
  uint32_t process;         // number of the process file
  uint32_t site;
  uint16_t track; // 0: the thread's own
  uint8_t kind, clock;
  bool open, has_parent, has_trace, has_remote_parent;
  uint64_t correlation; // 0: none
  uint32_t path;        // of its own, a catalog id; 0: its site's
  struct xsp_context parent;
  uint8_t trace[16], remote_parent[8];
};

struct decoded_sample {
  int64_t span_id; // 0: none was open
  uint64_t ticks;
  uint64_t duration_ns;
  uint64_t thread;  // 0: unknown
  uint32_t process; // number of the process file
  uint32_t path;    // catalog id; 0: unknown
  uint16_t track;   // 0: the thread's own
  uint8_t kind;     // enum sample_kind
};

// Where decoded things go. A fact is a tag or a log, or, late, any other fact about a span. Each function may be NULL: then
// only the decoder's state follows (records that were stored before).
struct ring_output {
  void *context;
  void (*span)(void *context, const struct decoded_span *span);
  void (*fact)(void *context, int64_t span_id, const struct record *record); // after its span's span() call
  void (*thread_name)(void *context, uint32_t process, uint64_t thread, uint32_t name);
  void (*sample)(void *context, const struct decoded_sample *sample);
};

struct ring_fact {
  struct record record;
  uint64_t id;       // unwrapped
  uint64_t position; // of the record in the ring
};

struct ring_decoder {
  uint32_t number;                             // the ring's
  uint32_t process;                            // present owner
  uint64_t thread;                             // present owner; 0: unknown
  uint64_t highest;                            // id seen so far, unwrapped: 32-bit ids go round
  VECTOR(struct ring_fact) facts;              // waiting, in the order of their records
  uint64_t *seen;                              // owned; a bit per id of the window that ends at `highest`
  uint64_t malformed, repeated, orphans, open; // totals; repeated: a second finish of one span
};

void ring_decode_start(struct ring_decoder *decoder, uint32_t number, uint32_t process, uint64_t thread);
void ring_decode_done(struct ring_decoder *decoder);
// One record.
void ring_decode(struct ring_decoder *decoder, const struct record *record, uint64_t position,
                 const struct ring_output *output);
// A span of the open list of a process that is gone, or of a RECORD_OPEN. Nothing where it was finished after all.
void ring_decode_open(struct ring_decoder *decoder, const struct open_span *open, const struct ring_output *output);
// The first position that has to be read again to rebuild the facts that wait now; `position` where none waits.
uint64_t ring_decode_resume(const struct ring_decoder *decoder, uint64_t position);
// The 64-bit number of a 32-bit id that lies near `reference`.
uint64_t ring_decode_unwrap(uint64_t reference, uint32_t id);
// ring << 32 | id, with the times that ids went round in the bits above.
int64_t ring_decode_span_id(uint32_t ring, uint64_t unwrapped);

#endif
