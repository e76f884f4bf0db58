// SPDX-License-Identifier: Apache-2.0
// Growing byte buffer; see buf.h. Doubling growth, a sticky failure flag, never past its maximum.
#include "base/buf.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *buf, size_t maximum)
{
  *buf = (struct buf){.maximum = maximum};
}

bool buf_reserve(struct buf *buf, size_t more)
{
  size_t maximum = buf->maximum > 0 ? buf->maximum : BUF_MAXIMUM_DEFAULT;
  if (buf->failed || more > maximum || buf->length > maximum - more) {
    buf->failed = true;
    return false;
  }
  size_t needed = buf->length + more + 1;
  if (needed <= buf->capacity)
    return true;
  size_t capacity = buf->capacity < 128 ? 128 : buf->capacity * 2;
  if (capacity - 1 > maximum)
    capacity = maximum + 1;
  if (capacity < needed)
    capacity = needed;
  buf->data = memory_resize(buf->data, capacity, 1);
  buf->capacity = capacity;
  return true;
}

bool buf_format(struct buf *buf, const char *format, ...)
{
  va_list args;
  va_list again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  bool done = length >= 0 && buf_reserve(buf, (size_t)length);
  if (done) {
    vsnprintf(buf->data + buf->length, (size_t)length + 1, format, again);
    buf->length += (size_t)length;
  }
  va_end(again);
  return done;
}

void buf_clear(struct buf *buf)
{
  buf->length = 0;
  buf->failed = false;
  if (buf->data != NULL)
    buf->data[0] = 0;
}

void buf_done(struct buf *buf)
{
  free(buf->data);
  *buf = (struct buf){.maximum = buf->maximum};
}

void buf_utf8(struct buf *buf, const char *text, size_t length)
{
  size_t plain = 0; // start of what is valid and not yet copied
  if (utf8_is_ascii(text, length)) {
    buf_put(buf, text, length);
    return;
  }
  for (size_t i = 0; i < length;) {
    size_t size = utf8_sequence((const unsigned char *)text + i, length - i);
    if (size != 0) {
      i += size;
      continue;
    }
    buf_put(buf, text + plain, i - plain);
    buf_text(buf, "\xef\xbf\xbd");
    plain = ++i;
  }
  buf_put(buf, text + plain, length - plain);
}
