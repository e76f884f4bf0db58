// SPDX-License-Identifier: Apache-2.0
// Columns, escapes and cuts of UTF-8 text for terminals. Used by the text outputs of this room and by programs. Pure:
// does not depend on the locale.
#include "report/display.h"

#include "base/utf8.h"

#include <string.h>

#define LIST_BYTES 160

size_t display_decode(const char *text, size_t length, uint32_t *ret_code_point)
{
  const unsigned char *bytes = (const unsigned char *)text;
  size_t size = utf8_sequence(bytes, length);
  if (size == 0)
    return 0;
  uint32_t code_point = size == 1 ? bytes[0] : bytes[0] & (0xffu >> (size + 1));
  for (size_t i = 1; i < size; i++)
    code_point = code_point << 6 | (bytes[i] & 0x3fu);
  *ret_code_point = code_point;
  return size;
}

struct range {
  uint32_t first, last;
};

static bool in_ranges(uint32_t code_point, const struct range *ranges, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (code_point >= ranges[i].first && code_point <= ranges[i].last)
      return true;
  return false;
}
#define IN_RANGES(code_point, ranges) in_ranges(code_point, ranges, sizeof(ranges) / sizeof((ranges)[0]))

// Controls, separators and marks that are invisible or turn the direction of writing.
static bool is_unprintable(uint32_t code_point)
{
  static const struct range ranges[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
                                        {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
                                        {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff}};
  return IN_RANGES(code_point, ranges);
}

static size_t columns_of(uint32_t code_point)
{
  static const struct range combining[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},
                                           {0x64b, 0x65f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
                                           {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
  static const struct range wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},  {0xac00, 0xd7a3},
                                      {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6},
                                      {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
  if (code_point < 0x300)
    return 1;
  return IN_RANGES(code_point, combining) ? 0 : IN_RANGES(code_point, wide) ? 2 : 1;
}

void display_escape(struct buf *out, const char *text, size_t length)
{
  for (size_t i = 0; i < length;) {
    uint32_t code_point = 0;
    size_t size = display_decode(text + i, length - i, &code_point);
    if (size == 0) {
      buf_format(out, "\\x%02x", (unsigned char)text[i]);
      i++;
      continue;
    }
    if (code_point == '\n')
      buf_text(out, "\\n");
    else if (code_point == '\t')
      buf_text(out, "\\t");
    else if (is_unprintable(code_point))
      buf_format(out, code_point < 0x80 ? "\\x%02x" : "\\u{%x}", code_point);
    else
      buf_put(out, text + i, size);
    i += size;
  }
}

// Bytes of the character at `text`, or of a malformed byte, which takes a column.
static size_t next_character(const char *text, size_t length, size_t *ret_columns)
{
  uint32_t code_point = 0;
  size_t size = display_decode(text, length, &code_point);
  *ret_columns = size == 0 ? 1 : columns_of(code_point);
  return size == 0 ? 1 : size;
}

// Bytes of the longest beginning that takes at most `columns`; *ret_used: how many it takes.
static size_t head_bytes(const char *text, size_t length, size_t columns, size_t *ret_used)
{
  size_t i = 0, wanted;
  *ret_used = 0;
  while (i < length) {
    size_t size = next_character(text + i, length - i, &wanted);
    if (*ret_used + wanted > columns)
      break;
    *ret_used += wanted;
    i += size;
  }
  return i;
}

size_t display_columns(const char *text, size_t length)
{
  size_t columns;
  (void)head_bytes(text, length, SIZE_MAX, &columns);
  return columns;
}

void display_cut(struct buf *out, const char *text, size_t length, size_t columns)
{
  size_t all = display_columns(text, length);
  if (all <= columns) {
    buf_put(out, text, length);
    return;
  }
  size_t kept = columns - 1; // one column is the ellipsis; names differ at their ends, so these get the larger half
  size_t tail_columns = kept - kept / 2, used;
  size_t head = head_bytes(text, length, kept / 2, &used);
  size_t tail = head_bytes(text, length, all - tail_columns, &used);
  while (tail < length && display_columns(text + tail, length - tail) > tail_columns)
    tail += next_character(text + tail, length - tail, &used);
  buf_put(out, text, head);
  buf_text(out, "…");
  buf_put(out, text + tail, length - tail);
}

void display_wrap(struct buf *out, const char *text, size_t column, size_t indent, size_t width)
{
  struct buf escaped SCOPED(buf_done) = {0};
  display_escape(&escaped, text, strlen(text)); // text that is escaped stays as it is
  const char *word = escaped.length > 0 ? escaped.data : "";
  for (bool is_first = true; *word != 0; is_first = false) {
    size_t length = strcspn(word, " "), columns = display_columns(word, length);
    bool is_break = !is_first && width != 0 && column + 1 + columns > width;
    if (is_break)
      buf_format(out, "\n%*s", (int)indent, "");
    else if (!is_first)
      buf_text(out, " ");
    column = (is_break ? indent : column + !is_first) + columns;
    buf_put(out, word, length);
    word += length + strspn(word + length, " ");
  }
  buf_text(out, "\n");
}

void display_list(struct buf *out, const char *text)
{
  size_t shown = 0, left = 0;
  for (const char *item = text; item != NULL;) {
    const char *end = strstr(item, ", ");
    if (item - text < LIST_BYTES)
      shown = end != NULL ? (size_t)(end - text) : strlen(text);
    else
      left++;
    item = end != NULL ? end + 2 : NULL;
  }
  buf_put(out, text, shown);
  if (left > 0)
    buf_format(out, " and %zu more", left);
}
