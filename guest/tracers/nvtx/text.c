// SPDX-License-Identifier: Apache-2.0
// Wide texts as UTF-8; see text.h. Called for wide messages and for payloads.
#include "tracers/nvtx/text.h"

#include "base/utf8.h"
#include "tracers/annotations/value.h"

#include <string.h>

#define REPLACEMENT 0xfffdu

static uint32_t unit_at(const void *wide, size_t index, unsigned unit_bytes)
{
  return (uint32_t)annotation_value_integer((const char *)wide + index * unit_bytes, unit_bytes, false);
}

size_t nvtx_text_to_utf8(const void *wide, size_t units, unsigned unit_bytes, char *utf8, size_t size)
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
    if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
      character = REPLACEMENT;
    char bytes[4];
    size_t count = utf8_encode(character, bytes);
    if (count > size - 1 - length)
      break;
    memcpy(utf8 + length, bytes, count);
    length += count;
  }
  utf8[length] = '\0';
  return length;
}

const char *nvtx_text_of_wide(const wchar_t *wide, char utf8[TEXT_WIDE_MOST])
{
  if (wide == NULL)
    return NULL;
  nvtx_text_to_utf8(wide, SIZE_MAX, sizeof *wide, utf8, TEXT_WIDE_MOST);
  return utf8;
}
