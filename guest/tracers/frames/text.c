// SPDX-License-Identifier: Apache-2.0
// Texts of Python as UTF-8, read from memory without the interpreter. Called for names and files of new frames.
#include "tracers/frames/interpreter.h"

static size_t encode(uint32_t character, char utf8[4])
{
  if (character >= 0xd800 && character < 0xe000) // a byte of a file's name that is not UTF-8
    character = 0xfffd;
  if (character < 0x80) {
    utf8[0] = (char)character;
    return 1;
  }
  size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
  static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = length - 1; i > 0; i--, character >>= 6)
    utf8[i] = (char)(0x80 | (character & 0x3f));
  utf8[0] = (char)(first[length] | character);
  return length;
}

static uint32_t character_at(const char *data, uint32_t kind, size_t at)
{
  uint32_t character = 0;
  __builtin_memcpy(&character, data + at * kind, kind);
  return character;
}

bool frame_text_read(const struct text_layout *layout, const object *text, char *utf8, size_t size)
{
  uint32_t state;
  __builtin_memcpy(&state, (const char *)text + layout->state, sizeof state);
  state >>= layout->kind_shift;
  uint32_t kind = state & 7;
  bool is_compact = state & 8, is_ascii = state & 16;
  if (!is_compact || (kind != 1 && kind != 2 && kind != 4))
    return false;
  size_t length = (size_t)(uintptr_t)word_at(text, layout->length), used = 0;
  const char *data = (const char *)text + (is_ascii ? layout->ascii_header : layout->unicode_header);
  for (size_t at = 0; at < length; at++) {
    char bytes[4];
    size_t count = encode(character_at(data, kind, at), bytes);
    if (used + count >= size)
      break;
    __builtin_memcpy(utf8 + used, bytes, count);
    used += count;
  }
  utf8[used] = '\0';
  return true;
}
