// SPDX-License-Identifier: Apache-2.0
// A pull reader over JSON text in memory: no tree, no recursion, bounded nesting. Made for hostile input. Tracers use it
// in the traced process: memory that runs out is JSON_ERROR.
//
//   struct json_reader r; json_read_start(&r, text, length);
//   while (json_next(&r) != JSON_END) switch (r.event) { ... }
//
// Strings are handed out decoded, in the reader's own scratch, valid until the next call; U+FFFD replaces invalid UTF-8.
// Numbers are handed out as text (`r.text`, decimal, never through a double) so that the caller chooses.
// A raw control byte inside a string is tolerated (ONNX Runtime writes names unescaped), everything else is RFC 8259.
#ifndef XSP_BASE_JSON_READ_H
#define XSP_BASE_JSON_READ_H

#include "base/error.h"
#include "base/scoped.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_event {
  JSON_END,   // the document is complete and only white space follows
  JSON_ERROR, // r.offset says where, r.problem what
  JSON_OBJECT,
  JSON_OBJECT_END,
  JSON_ARRAY,
  JSON_ARRAY_END,
  JSON_KEY,
  JSON_STRING,
  JSON_NUMBER,
  JSON_TRUE,
  JSON_FALSE,
  JSON_NULL,
};

#define JSON_READ_DEPTH 128 // deeper nesting is JSON_ERROR

struct json_reader {
  const char *start, *at, *end; // borrowed
  enum json_event event;
  const char *text; // KEY, STRING, NUMBER: NUL-terminated; length in `length` (strings may hold NUL bytes)
  size_t length;
  size_t offset;       // of the event's first byte
  const char *problem; // static text, with JSON_ERROR
  char *scratch;       // owned, private: the decoded string
  size_t scratch_length, scratch_bytes;
  bool has_no_memory;
  unsigned depth;
  uint8_t stack[JSON_READ_DEPTH]; // private
  uint8_t state;                  // private
};

void json_read_start(struct json_reader *reader, const char *text, size_t length);
enum json_event json_next(struct json_reader *reader);
// After JSON_OBJECT or JSON_ARRAY: runs to its end. After a scalar: nothing. False on error.
bool json_skip(struct json_reader *reader);
bool json_int64(const struct json_reader *reader, int64_t *ret_value); // exact integer numbers only
void json_read_done(struct json_reader *reader);

// Hands the current object's members, or the current array's items, to `visit` one after the other: the value is current, and `key`
// is NULL in an array. `visit` may read on to the value's end, or leave it. Members with keys of JSON_KEY_BYTES and more are
// passed over. False: not an object or an array, malformed, or `visit` returned false. One thread; `visit` may nest.
#define JSON_KEY_BYTES 64
typedef bool (*json_take)(void *context, struct json_reader *reader, const char *key);
bool json_each(struct json_reader *reader, json_take visit, void *context);
// The same of a whole text that is one object.
bool json_each_of_text(const char *text, size_t length, json_take visit, void *context);

#endif
