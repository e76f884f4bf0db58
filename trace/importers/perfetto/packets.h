// SPDX-License-Identifier: Apache-2.0
// Packets of a Perfetto trace taken apart: texts of sequences, tracks, events. Private to this folder. One thread at a time.
#ifndef XSP_IMPORTERS_PERFETTO_PACKETS_H
#define XSP_IMPORTERS_PERFETTO_PACKETS_H

#include "base/map.h"
#include "base/vector.h"
#include "base/wire.h"
#include "importers/importer.h"
#include "importers/perfetto/clocks.h"

#include "base/buf.h"

#define PERFETTO_CATEGORIES 4u // of an event

enum perfetto_text { PERFETTO_CATEGORY, PERFETTO_NAME, PERFETTO_KEY, PERFETTO_STRING, PERFETTO_TEXTS };
enum perfetto_type { PERFETTO_BEGIN = 1, PERFETTO_END = 2, PERFETTO_INSTANT = 3, PERFETTO_COUNTER = 4 };

struct perfetto_track { // as its descriptors say
  uint32_t name;        // id of import_string; 0: none
  uint64_t parent;      // uuid; 0: none
  int64_t process_id, thread_id;
};
struct perfetto_sequence { // defaults of one
  uint64_t clock, track;
};
struct perfetto_packets { // starts as {.import = …}
  struct import *import;
  struct map texts;    // (sequence and kind, iid) → id of import_string
  struct map track_of; // uuid → place in `tracks` + 1
  struct map sequence_of;
  struct map legacy_groups; // what ids count within → its place + 1
  struct map legacy_tracks; // (place, id) → uuid that is made up
  VECTOR(struct perfetto_track) tracks;
  VECTOR(struct perfetto_sequence) sequences;
  struct perfetto_clocks clocks;
  uint64_t untaken; // debug annotations whose value is no tag
  struct buf scratch;
};

struct perfetto_event {
  uint64_t type, track;         // enum perfetto_type; a uuid
  int64_t time_ns, duration_ns; // the latter of a complete event; below 0: it did not end
  bool is_complete,
      ends_by_name; // a beginning with its duration; an end, if it has a name, of what is open by that name
  uint32_t name;
  uint32_t categories[PERFETTO_CATEGORIES];
  size_t category_count;
  VECTOR(struct store_tag) tags; // of the event; kept between events
};

// Takes a packet. *ret_reason NULL: *event is an event of the trace; "": the packet was a description and is no event; else why
// it is none. False: it is damaged, and packet->problem says how.
bool perfetto_packet(struct perfetto_packets *packets, struct wire *packet, struct perfetto_event *event,
                     const char **ret_reason);
const struct perfetto_track *perfetto_find_track(const struct perfetto_packets *packets,
                                                 uint64_t uuid); // NULL: not described
// Of several descriptors of a track the last one to say something counts.
void perfetto_keep_track(struct perfetto_packets *packets, uint64_t uuid, const struct perfetto_track *track);
// Ids of import_string: of a field's text, of a sequence's (0: none).
uint32_t perfetto_intern(struct perfetto_packets *packets, const struct wire_field *field);
uint32_t perfetto_find_text(const struct perfetto_packets *packets, uint64_t sequence, enum perfetto_text kind,
                            uint64_t iid);
// legacy.c: type, track and duration of an event by its legacy_event; the type stays 0 where it has none. False: it is damaged.
bool perfetto_legacy(struct perfetto_packets *packets, uint64_t sequence, struct wire message,
                     struct perfetto_event *event);
void perfetto_packets_done(struct perfetto_packets *packets);

#endif
