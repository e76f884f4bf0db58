// SPDX-License-Identifier: Apache-2.0
// A growing byte buffer with a maximum. One thread at a time. Never in a traced process: exhausted memory ends the process
// (base/memory.h).
#ifndef XSP_BASE_BUF_H
#define XSP_BASE_BUF_H

#include "base/scoped.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct buf {     // starts as {0}, or by buf_init for a maximum of its own
  char *data;    // owned; NUL-terminated after every buf_ call that succeeded; may be NULL while empty
  size_t length; // bytes used, without the NUL
  size_t capacity;
  size_t maximum; // 0: BUF_MAXIMUM_DEFAULT. A call that would pass it fails and sets `failed`
  bool failed;    // sticky: a call would have passed the maximum. Check once at the end.
};

#define BUF_MAXIMUM_DEFAULT ((size_t)1 << 30)

void buf_init(struct buf *buf, size_t maximum);
bool buf_reserve(struct buf *buf, size_t more); // room for `more` bytes beyond length
bool buf_format(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Appends `text` as valid UTF-8: each malformed byte becomes U+FFFD.
void buf_utf8(struct buf *buf, const char *text, size_t length);
void buf_clear(struct buf *buf); // keeps the memory
void buf_done(struct buf *buf);

// Exports write hundreds of millions of short pieces: where there is room, nothing else is looked at. Returns where up to
// `most` bytes can be written, then call buf_filled; NULL: no room. Inside this room only.
static inline char *buf_room(struct buf *buf, size_t most)
{
  bool has_room = !buf->failed && most < buf->capacity - buf->length;
  return has_room || buf_reserve(buf, most) ? buf->data + buf->length : NULL;
}

static inline void buf_filled(struct buf *buf, char *end)
{
  *end = 0;
  buf->length = (size_t)(end - buf->data);
}

static inline bool buf_put(struct buf *buf, const void *bytes, size_t length)
{
  char *to = buf_room(buf, length);
  if (to == NULL)
    return false;
  if (length > 0)
    memcpy(to, bytes, length);
  buf_filled(buf, to + length);
  return true;
}

static inline bool buf_text(struct buf *buf, const char *text)
{
  return buf_put(buf, text, strlen(text));
}

#endif
