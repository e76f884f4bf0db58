// SPDX-License-Identifier: Apache-2.0
// What the parts of the reader of trace events share: trace_events.c walks the document, read.c reads one event, shapes.c
// knows its bytes between values, pieces.c reads all on a thread of its own. Private to them.
#ifndef XSP_IMPORTERS_TRACE_EVENTS_TRACE_EVENTS_PRIVATE_H
#define XSP_IMPORTERS_TRACE_EVENTS_TRACE_EVENTS_PRIVATE_H

#include "base/arena.h"
#include "base/json_block.h"
#include "base/json_scan.h"
#include "importers/trace_events/trace_events.h"

// ---- shapes.c
// The bytes between the values of events: a program writes the same keys in the same order with the same spaces again
// and again. Each such gap that has been read once by the grammar is kept as a node of a tree; from then on one comparison
// of bytes tells which field the next value is.
//
//      {⎵"ph": "▒▒▒", "cat": "▒▒▒", "ts": ▒▒▒,⎵"args": {⎵"External id": ▒▒▒⎵}⎵}
//      └─ gap ──┘  └── gap ───┘  └─ gap ─┘  └──────── gap ───────────┘   └ gap ┘          ▒ value
//
// A node's place in the tree says in which state of the grammar its gap was read, so equal bytes mean the same there.
#define SHAPE_GAP_BYTES 64 // longer gaps are read by the grammar each time; at most INPUT_PADDING
#define SHAPE_NODES_MOST 2048
#define SHAPE_CHILDREN_MOST 16
#define SHAPE_KEYS_MOST 1024

enum trace_field {
  FIELD_OTHER,
  FIELD_NAME,
  FIELD_CATEGORY,
  FIELD_PHASE,
  FIELD_TIME,
  FIELD_DURATION,
  FIELD_PROCESS,
  FIELD_THREAD,
  FIELD_ID,
  FIELD_ID2,
  FIELD_SCOPE,
  FIELD_COUNT,
  FIELD_ARGUMENT = FIELD_COUNT, // a member of "args"
};
enum gap_end { // what comes after a gap
  GAP_STRING,  // a string, its opening quote belongs to the gap
  GAP_NUMBER,
  GAP_VALUE, // anything else
  GAP_EVENT, // nothing: the gap ends with the event's closing brace
};

struct gap { // what the bytes of a gap mean
  enum gap_end end;
  enum trace_field field;
  bool in_arguments;     // the next gap begins in "args"
  bool begins_arguments; // "args" is in this gap
  bool is_plain;         // no key in it is written with escapes or beyond ASCII
  bool is_special;       // begins_arguments, or the event ends
  uint32_t key_number;   // the same for equal keys, from 1; 0: not kept in the tree
  struct slice key;      // FIELD_ARGUMENT; in the window, or in the tree's memory
};

struct trace_shape {
  char bytes[SHAPE_GAP_BYTES]; // zeros after `length`
  uint64_t needed;             // a bit for each byte of the gap
  uint32_t length;
  uint8_t next_least, next_span; // what may come after: a gap may also be the beginning of a longer one
  uint8_t child_count;
  struct trace_shape *child, *sibling;
  struct gap gap;
};

struct trace_shapes {
  struct trace_shape *nodes; // SHAPE_NODES_MOST of them; [0] is the root: after an event's opening brace
  uint32_t count;
  struct slice keys[SHAPE_KEYS_MOST]; // by key_number - 1
  uint32_t key_count;
  struct arena arena; // of the keys
};

void trace_shapes_init(struct trace_shapes *shapes);
void trace_shapes_done(struct trace_shapes *shapes);
// Keeps a gap that was read after the node `parent`; NULL where there is no room.
struct trace_shape *trace_shapes_add(struct trace_shapes *shapes, struct trace_shape *parent, const char *bytes,
                                     size_t length, const struct gap *gap);

static inline bool shape_matches(const struct trace_shape *shape, const char *at)
{
  uint32_t needed = (uint32_t)shape->needed & BLOCK_ALL;
  if ((block_equal(at, shape->bytes) & needed) != needed)
    return false;
  for (uint32_t i = BLOCK_BYTES; i < shape->length; i += BLOCK_BYTES) {
    needed = (uint32_t)(shape->needed >> i) & BLOCK_ALL;
    if ((block_equal(at + i, shape->bytes + i) & needed) != needed)
      return false;
  }
  return true;
}

// The node after `parent` whose gap is at `at` (SHAPE_GAP_BYTES + 1 may be read there), or NULL.
static inline struct trace_shape *shapes_find(const struct trace_shape *parent, const char *at)
{
  struct trace_shape *shape = parent->child;
  while (shape != NULL &&
         !(shape_matches(shape, at) && (uint8_t)((uint8_t)at[shape->length] - shape->next_least) <= shape->next_span))
    shape = shape->sibling;
  return shape;
}

// ---- the reader

enum trace_place {      // in this order: trace_next compares
  PLACE_START,          // before the document
  PLACE_FIRST_KEY,      // after the '{' of the top object
  PLACE_KEY,            // after a comma of it
  PLACE_AFTER_VALUE,    // after a value of it
  PLACE_FIRST_EVENT,    // after the '[' of the events
  PLACE_EVENT,          // after a comma of them
  PLACE_AFTER_EVENT,    // after an event
  PLACE_AFTER_DOCUMENT, // nothing but space may follow
};

#define SCRATCH_BYTES ((size_t)64 << 10)
#define ARGUMENTS_FIRST 64 // room for more comes when it is needed
#define ARGUMENTS_MOST 65536

struct trace_reader_private {
  struct input *input;
  enum trace_place place;
  bool is_bare_array;
  bool seen_event;
  struct json_scan scan;
  struct trace_argument *arguments;
  size_t argument_capacity;
  char *scratch; // decoded strings of the present event: SCRATCH_BYTES, then the arena
  size_t scratch_used;
  struct arena more_scratch;
  struct trace_shapes shapes;
  struct trace_value fields[FIELD_COUNT + 1]; // of the present event; what is no TRACE_NONE counts
  struct trace_pieces *pieces;                // that it reads into, on a thread of its own; NULL: none
};

// ---- pieces.c: before the window moves
void trace_pieces_window(struct trace_pieces *pieces);

// At an event's opening brace, within `depth` containers. Returns the position after it, or NULL as scanners do.
const char *trace_read_event(struct trace_reader_private *own, const char *at, unsigned depth,
                             struct trace_event *event);
const char *trace_read_value(struct trace_reader_private *own, const char *at, unsigned depth,
                             struct trace_value *ret_value);
// A key, its colon, and the space around them. *ret_is_plain becomes false where the key was decoded.
const char *trace_read_key(struct trace_reader_private *own, const char *at, struct slice *ret_key, bool *ret_is_plain);

#endif
