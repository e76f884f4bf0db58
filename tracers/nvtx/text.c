// SPDX-License-Identifier: Apache-2.0
// Wide texts as UTF-8; see text.h. Called for wide messages and for payloads.
#include "tracers/nvtx/text.h"

#include <string.h>

#define REPLACEMENT 0xfffdu

static uint32_t unit_at(const char *wide, size_t index, unsigned unit_bytes)
{
  uint32_t unit = 0;
  if (unit_bytes == 2) {
    uint16_t half;
    memcpy(&half, wide + index * 2, sizeof half);
    unit = half;
  } else {
    memcpy(&unit, wide + index * 4, sizeof unit);
  }
  return unit;
}

// Bytes written; 0: no room.
static size_t put(uint32_t character, char *utf8, size_t room)
{
  if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
    character = REPLACEMENT;
  size_t bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
  if (bytes > room)
    return 0;
  static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = bytes; i-- > 1; character >>= 6)
    utf8[i] = (char)(0x80 | (character & 0x3f));
  utf8[0] = (char)(lead[bytes] | character);
  return bytes;
}

size_t text_to_utf8(const void *wide, size_t units, unsigned unit_bytes, char *utf8, size_t size)
{
  size_t length = 0;
  for (size_t i = 0; i < units; i++) {
    uint32_t character = unit_at(wide, i, unit_bytes);
    if (character == 0)
      break;
    if (unit_bytes == 2 && character >= 0xd800 && character < 0xdc00 && i + 1 < units) {
      uint32_t low = unit_at(wide, i + 1, 2);
      if (low >= 0xdc00 && low < 0xe000) {
        character = 0x10000 + ((character - 0xd800) << 10) + (low - 0xdc00);
        i++;
      }
    }
    size_t bytes = put(character, utf8 + length, size - 1 - length);
    if (bytes == 0)
      break;
    length += bytes;
  }
  utf8[length] = '\0';
  return length;
}

const char *text_of_wide(const wchar_t *wide, char utf8[TEXT_WIDE_MOST])
{
  if (wide == NULL)
    return NULL;
  text_to_utf8(wide, SIZE_MAX, sizeof *wide, utf8, TEXT_WIDE_MOST);
  return utf8;
}
