// SPDX-License-Identifier: Apache-2.0
// Texts of tracers: written into the caller's memory, cut where it ends, without printf, which takes longer than many operators.
#ifndef XSP_FRAMEWORKS_COMMON_TEXT_WRITER_H
#define XSP_FRAMEWORKS_COMMON_TEXT_WRITER_H

#include "base/plain_number.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct text_writer {
  char *text;          // ends with 0
  size_t size, length; // length may reach or pass size: the text is cut
};

static inline void text_put_bytes(struct text_writer *writer, const char *text, size_t length)
{
  size_t room = writer->length + 1 < writer->size ? writer->size - 1 - writer->length : 0;
  size_t fits = length < room ? length : room;
  if (fits > 0) {
    memcpy(writer->text + writer->length, text, fits);
    writer->text[writer->length + fits] = 0;
  }
  writer->length += length;
}

static inline void text_put(struct text_writer *writer, const char *text)
{
  text_put_bytes(writer, text, strlen(text));
}

static inline void text_put_integer(struct text_writer *writer, int64_t number)
{
  char digits[20];
  size_t at = sizeof digits;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do
    digits[--at] = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (number < 0)
    text_put_bytes(writer, "-", 1);
  text_put_bytes(writer, digits + at, sizeof digits - at);
}

static inline void text_put_double(struct text_writer *writer, double real)
{
  char text[32];
  snprintf(text, sizeof text, "%.17g", real);
  text_put_bytes(writer, text, plain_number(text));
}

#endif
