// SPDX-License-Identifier: Apache-2.0
// One Kineto file that is being read. A new category is a row in events.c, a new argument a row in tags.c. Inside this folder only.
//
//      kineto.c   recognises, reads events and keys, ends the run
//      events.c   one event: its category → class → span
//      tags.c     its arguments → tags, device, stream, correlation
//      frames.c   Python's frames → call paths; which are of one function
//      memory.c   allocations → alloc_bytes of the operators around them
//      tracks.c   (process, thread) and (device, stream) → tracks, and their names
//      chakra.c   execution traces, which describe operators
//      paddle.c   what PaddlePaddle writes otherwise
//      system.c   deviceProperties, distributedInfo, versions → facts
#ifndef XSP_IMPORTERS_KINETO_KINETO_H
#define XSP_IMPORTERS_KINETO_KINETO_H

#include "base/buf.h"
#include "base/interner.h"
#include "base/map.h"
#include "importers/call_paths.h"
#include "importers/description.h"
#include "importers/importer.h"
#include "importers/trace_events/trace_events.h"

// ---- keys and categories
#define KINETO_KEY_NUMBERS 256u // of trace_argument.key_number, beyond which keys are looked up
#define KINETO_CATEGORY_BYTES 48u
struct kineto_word { // what an argument's key means
  bool is_known;     // set; `string` is 0 where the key is empty
  uint8_t meaning;   // enum kineto_key
  uint32_t string;   // import_string of the key to store it under
};
struct kineto_category { // one seen lately and its class
  uint8_t length, event_class;
  char text[KINETO_CATEGORY_BYTES];
};
#define KINETO_CATEGORIES 64u

// ---- tracks
enum kineto_place_kind { PLACE_NONE = 0, PLACE_NUMBER, PLACE_TEXT };
enum kineto_track_kind { TRACK_HOST, TRACK_DEVICE, TRACK_NAME, TRACK_TOTAL };
struct kineto_place { // a pid, tid, device or stream as the file says it
  int64_t kind;       // enum kineto_place_kind
  int64_t value;      // the number, or import_string of the text
};
struct kineto_track_key {       // hashed: without padding
  int64_t kind;                 // enum kineto_track_kind
  int64_t rank;                 // of a file that was merged: import_string of the label before the pid, "TP00"; 0: none
  int64_t process;              // TRACK_DEVICE: a pid + 1 that is not the device's number, as in merged files; 0: none
  struct kineto_place place[2]; // process and thread, or device and stream
};
struct kineto_allocation {
  int64_t time_ns, bytes;
};
struct kineto_open_frame { // frames.c
  int64_t id, end_ns;
  uint64_t place; // of its name; 0: none
};
struct kineto_track {
  struct kineto_track_key key;
  struct kineto_place named[2]; // the pid and tid by which a name is given to it
  uint32_t track_id;            // 0: no span yet
  uint32_t name;                // TRACK_NAME: import_string
  uint64_t kernel_count;        // TRACK_TOTAL: of all streams of a device
  struct call_thread thread;
  VECTOR(struct kineto_open_frame) open; // each within the one before it
  VECTOR(struct kineto_allocation) allocations;
};
#define KINETO_RECENT 64u
struct kineto_tracks { // starts as {0}
  struct interner keys;
  VECTOR(struct kineto_track *) all;          // by the key's id, so in the order of appearance; in the import's arena
  struct kineto_track *recent[KINETO_RECENT]; // seen lately, by a hash of the key; NULL: free
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
  KEY_CALL_STACK, // "inner;outer": becomes a call path
  KEY_QUEUED,     // 0: not known
  KEY_SEQUENCE,   // negative: none
  KEY_RECORD,     // number of the operator, also in an execution trace
};
#define KINETO_REPEAT_BYTES 47u
struct kineto_repeat { // the list or object that a key had last: mostly it has the same again
  uint8_t length;      // of the JSON as the file has it; 0: none, or a longer one
  char json[KINETO_REPEAT_BYTES];
  uint32_t text; // import_string of it without space; 0: not asked for yet
};
#define KINETO_STRINGS(X)                                                                                              \
  X(api)                                                                                                               \
  X(kernel)                                                                                                            \
  X(memcpy)                                                                                                            \
  X(memset) X(sync) X(other) X(module) X(wrapper) X(layer_type) X(copy_kind) X(alloc_bytes) X(alloc_own_bytes)
struct kineto_strings { // import_string of what is used all the time
#define X(name) uint32_t name;
  KINETO_STRINGS(X)
#undef X
};
struct kineto_facts {                        // of one event, by its arguments
  int64_t correlation_id;                    // 0: none
  const struct trace_value *device, *stream; // NULL: not recorded
  uint32_t stack;                            // call path around it; 0: not recorded
};
struct kineto_paddle_step {
  int64_t start_ns, end_ns; // not too far apart
  uint32_t name;            // import_string
  bool has_content;
  struct kineto_track *track;
};
struct kineto_paddle { // of a file of PaddlePaddle's profiler
  bool is_writer, has_base;
  int64_t base_ns; // time of the earliest event, which others count from
  VECTOR(struct kineto_paddle_step) steps;
};
struct kineto_frame_name;
struct kineto_frames {       // starts as {0}
  uint64_t count;            // of frames
  struct interner functions; // "file.py function"
  VECTOR(struct kineto_frame_name) names;
  struct map place_of_name; // import_string to place in `names`, from 1; 0: none of a function
  struct map joined;        // at the end: names to that of their function's first line
};
struct kineto {
  struct import *import;
  struct kineto_paddle paddle;
  struct import_described nodes; // of the execution trace that describes the file
  int64_t span_count;
  struct kineto_word keys[KINETO_KEY_NUMBERS];          // by key_number
  struct kineto_repeat repeats[KINETO_KEY_NUMBERS];     // by key_number
  struct kineto_category categories[KINETO_CATEGORIES]; // by length and two letters
  struct kineto_tracks tracks;
  struct kineto_strings strings;
  struct buf scratch;            // one text at a time
  VECTOR(bool) repeated;         // by argument, of an event with many
  struct interner stacks;        // texts of `Call stack`
  VECTOR(uint32_t) stack_paths;  // call path of each
  uint32_t copy_name, copy_kind; // of the last copy
  int64_t base_ns, first_start_ns, least_start_ns, most_end_ns;
  bool has_base;
  struct kineto_frames frames;
  uint64_t path_count;
  bool has_memory;         // an allocation or its end was seen
  const char *host_name;   // NULL: not recorded
  struct store_rank rank;  // world_size 0: not recorded
  char *device_properties; // JSON, of deviceProperties; NULL: not recorded
  size_t device_properties_length;
};

// events.c
enum kineto_sign { SIGN_NONE, SIGN_LIKELY, SIGN_CERTAIN }; // LIKELY: other tools have the category, too
enum kineto_sign kineto_category_sign(struct slice category);
// STATUS_OK also for what is skipped.
void kineto_events_start(struct kineto *kineto);
enum status kineto_event(void *kineto, const struct trace_event *event, struct error *err) MUST_CHECK;

enum status kineto_add_step(struct kineto *kineto, const struct kineto_paddle_step *step, struct error *err) MUST_CHECK;

// paddle.c
// The event as PyTorch would have written it, whose parts are those of `event`. True: a step, kept until the end.
bool kineto_paddle_event(struct kineto *kineto, const struct trace_event *event, struct trace_event *ret_event);
enum status kineto_paddle_end(struct kineto *kineto, struct error *err) MUST_CHECK; // adds steps that something is in

// tags.c
// Tags the span that is about to be added, and finds what that needs itself.
void kineto_tags(struct kineto *kineto, const struct trace_event *event, int64_t span_id, enum kineto_kind kind,
                 struct kineto_facts *ret_facts);

// chakra.c
enum status kineto_describe(struct kineto *kineto, struct error *err) MUST_CHECK; // reads the file's description

// frames.c
void kineto_frame(struct kineto *kineto, struct kineto_track *track, const struct trace_event *event);
void kineto_frames_join(struct kineto *kineto);                             // at the end
uint32_t kineto_frame_function(const struct kineto *kineto, uint32_t name); // the name of its function's frames
void kineto_frames_done(struct kineto *kineto);

// memory.c
// Takes an event of the allocators; false: it is another one.
bool kineto_memory(struct kineto *kineto, const struct trace_event *event);
void kineto_memory_end(struct kineto *kineto); // at the end, when the spans around allocations are known

// tracks.c
struct kineto_track *kineto_track(struct kineto *kineto, enum kineto_track_kind kind, const struct trace_event *event,
                                  const struct trace_value *first, const struct trace_value *second);
enum status kineto_track_use(struct kineto *kineto, struct kineto_track *track, struct error *err) MUST_CHECK;
// At the end: which process a rank's device tracks belong to.
void kineto_track_ranks(struct kineto *kineto);
void kineto_track_names(struct kineto *kineto);       // at the end
int64_t kineto_busiest_device(struct kineto *kineto); // where most kernels ran; STORE_NONE: none did
void kineto_tracks_done(struct kineto_tracks *tracks);

// system.c
// A key of the top object other than the events.
enum status kineto_top_key(void *kineto, struct slice key, const struct trace_value *value, uint64_t offset,
                           struct error *err) MUST_CHECK;
void kineto_devices(struct kineto *kineto); // at the end, when it is known where kernels ran

#endif
