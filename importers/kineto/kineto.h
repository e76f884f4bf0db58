// SPDX-License-Identifier: Apache-2.0
// One Kineto file that is being read. A new category is a row in events.c, a new argument a row in tags.c. Inside this folder only.
//
//      kineto.c   recognises, reads events and keys, ends the run
//      events.c   one event: its category → class → span
//      tags.c     its arguments → tags, device, stream, correlation
//      tracks.c   (process, thread) and (device, stream) → tracks, and their names
//      system.c   deviceProperties, distributedInfo, versions → facts
//      words.c    keys and categories → what they mean, by one look-up
#ifndef XSP_IMPORTERS_KINETO_KINETO_H
#define XSP_IMPORTERS_KINETO_KINETO_H

#include "base/buf.h"
#include "base/interner.h"
#include "importers/call_paths.h"
#include "importers/importer.h"
#include "importers/trace_events/trace_events.h"

// ---- words
#define KINETO_WORD_BYTES 48u
#define KINETO_KEY_NUMBERS 256u // of trace_argument.key_number, beyond which keys are looked up
#define KINETO_WORDS_MOST 256u  // what a file brings beyond these is looked up the slow way
struct kineto_word {
  char text[KINETO_WORD_BYTES];
  uint8_t length, meaning;
  uint32_t string; // import_string of the key to store it under
};
struct kineto_words { // starts as {0}
  struct kineto_word words[KINETO_WORDS_MOST];
  uint16_t slots[2 * KINETO_WORDS_MOST]; // word + 1; 0: free
  unsigned count;
};
const struct kineto_word *kineto_word_find(const struct kineto_words *words, struct text text); // NULL: not there
// False: too long, or no room.
bool kineto_word_add(struct kineto_words *words, struct text text, unsigned meaning, uint32_t string);

// ---- tracks
struct kineto_place { // a pid, tid, device or stream as the file says it
  enum { PLACE_NONE = 0, PLACE_NUMBER, PLACE_TEXT } kind;
  int64_t value; // the number, or import_string of the text
};
struct kineto_track {
  enum kineto_track_kind { TRACK_HOST, TRACK_DEVICE, TRACK_NAME, TRACK_TOTAL } kind;
  struct kineto_place place[2]; // process and thread, or device and stream
  struct kineto_place named[2]; // the pid and tid by which a name is given to it
  uint32_t track_id;            // 0: no span yet
  uint32_t name;                // TRACK_NAME: import_string
  uint64_t kernel_count;        // TRACK_TOTAL: of all streams of a device
  struct call_thread thread;
};
#define KINETO_RECENT 64u
#define KINETO_RECENT_BYTES 40u
struct kineto_recent {        // a pair of raw values seen lately and its track
  struct kineto_track *track; // NULL: free
  uint8_t kind, type[2], length[2];
  char bytes[KINETO_RECENT_BYTES];
};
struct kineto_tracks { // starts as {0}
  struct interner keys;
  VECTOR(struct kineto_track *) all; // by the key's id, so in the order of appearance; in the import's arena
  struct kineto_recent recent[KINETO_RECENT];
};

// ---- one file
enum kineto_kind {
  KINETO_HOST,
  KINETO_CALL,
  KINETO_DEVICE
};                // of a span: of the host, a call there to a runtime, on a device
enum kineto_key { // what an argument's key means
  KEY_TAG = 0,    // nothing more than itself
  KEY_DROP,       // repeats what is elsewhere
  KEY_CORRELATION,
  KEY_DEVICE,
  KEY_STREAM,
  KEY_EXTERNAL_ID, // calls carry their operator's too
  KEY_CALL_STACK,  // "inner;outer"
  KEY_QUEUED,      // 0: not known
  KEY_SEQUENCE,    // negative: none
};
#define KINETO_REPEAT_BYTES 47u
struct kineto_repeat { // the list or object that a key had last: mostly it has the same again
  uint8_t length;      // of the JSON as the file has it; 0: none, or a longer one
  char json[KINETO_REPEAT_BYTES];
  uint32_t text; // import_string of it without space; 0: not asked for yet
};
struct kineto_strings { // import_string of what is used all the time
  uint32_t api, kernel, memcpy, memset, sync, other, module, layer_type, copy_kind, call_path;
};
struct kineto_facts {                        // of one event, by its arguments
  int64_t correlation_id;                    // 0: none
  const struct trace_value *device, *stream; // NULL: not recorded
};
struct kineto {
  struct import *import;
  int64_t run_id, span_count;
  struct kineto_words categories, keys;
  const struct kineto_word *numbered_keys[KINETO_KEY_NUMBERS]; // by key_number, into `keys`; NULL: not seen yet
  struct kineto_repeat repeats[KINETO_KEY_NUMBERS];            // by key_number
  const struct kineto_word *recent_categories[8];              // by length and first letter
  struct kineto_tracks tracks;
  struct kineto_strings strings;
  struct buf scratch;            // one text at a time
  VECTOR(bool) repeated;         // by argument, of an event with many
  uint32_t copy_name, copy_kind; // of the last copy
  int64_t base_ns, first_start_ns, least_start_ns, most_end_ns;
  bool has_base;
  uint64_t frame_count, path_count;
  const char *host_name;   // NULL: not recorded
  char *device_properties; // JSON, of deviceProperties; NULL: not recorded
  size_t device_properties_length;
};

// events.c. STATUS_OK also for what is skipped.
void kineto_events_start(struct kineto *kineto);
enum status kineto_event(struct kineto *kineto, const struct trace_event *event, struct error *err) MUST_CHECK;

// tags.c
void kineto_tags_start(struct kineto *kineto);
void kineto_tags_done(struct kineto *kineto);
// Tags the span that is about to be added, and finds what that needs itself.
void kineto_tags(struct kineto *kineto, const struct trace_event *event, int64_t span_id, enum kineto_kind kind,
                 struct kineto_facts *ret_facts);

// tracks.c
struct kineto_track *kineto_track(struct kineto *kineto, enum kineto_track_kind kind, const struct trace_event *event,
                                  const struct trace_value *first, const struct trace_value *second);
enum status kineto_track_use(struct kineto *kineto, struct kineto_track *track, struct error *err) MUST_CHECK;
enum status kineto_track_names(struct kineto *kineto, struct error *err) MUST_CHECK; // at the end
int64_t kineto_busiest_device(struct kineto *kineto); // where most kernels ran; STORE_NONE: none did
void kineto_tracks_done(struct kineto_tracks *tracks);

// system.c
// A key of the top object other than the events.
enum status kineto_top_key(struct kineto *kineto, struct text key, const struct trace_value *value,
                           struct error *err) MUST_CHECK;
void kineto_devices(struct kineto *kineto); // at the end, when it is known where kernels ran

#endif
