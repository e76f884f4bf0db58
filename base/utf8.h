// SPDX-License-Identifier: Apache-2.0
// Well-formed UTF-8, for everything that reads or writes text of unknown origin.
#ifndef XSP_BASE_UTF8_H
#define XSP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Bytes of the well-formed sequence at `text`, of which `left` bytes may be read; 0: malformed (overlong, surrogate, cut,
// beyond U+10FFFF).
size_t utf8_sequence(const unsigned char *text, size_t left);
bool utf8_is_valid(const char *text, size_t length); // well-formed from beginning to end

// Writes a code point up to U+10FFFF; returns its bytes, at most 4.
size_t utf8_encode(uint32_t code, char *to);

// Nearly all texts of traces are. Loads that overlap instead of a loop over the rest.
static inline bool utf8_is_ascii(const char *text, size_t length)
{
  uint64_t seen = 0;
  uint64_t word;
  uint32_t half, other;
  if (length >= 8) {
    const char *last = text + length - 8;
    for (; text < last; text += 8) {
      memcpy(&word, text, 8);
      seen |= word;
    }
    memcpy(&word, last, 8);
    return ((seen | word) & UINT64_C(0x8080808080808080)) == 0;
  }
  if (length >= 4) {
    memcpy(&half, text, 4);
    memcpy(&other, text + length - 4, 4);
    return ((half | other) & UINT32_C(0x80808080)) == 0;
  }
  for (size_t i = 0; i < length; i++)
    seen |= (unsigned char)text[i];
  return seen < 0x80;
}

#endif
