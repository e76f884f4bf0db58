// SPDX-License-Identifier: Apache-2.0
// Well-formed UTF-8 by the table of RFC 3629. Pure.
#include "base/utf8.h"

size_t utf8_sequence(const unsigned char *text, size_t left)
{
  if (left == 0)
    return 0;
  unsigned char first = text[0];
  size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length == 0 || length > left)
    return 0;
  for (size_t i = 1; i < length; i++)
    if ((text[i] & 0xc0) != 0x80)
      return 0;
  if ((first == 0xe0 && text[1] < 0xa0) || (first == 0xed && text[1] > 0x9f) || (first == 0xf0 && text[1] < 0x90) ||
      (first == 0xf4 && text[1] > 0x8f))
    return 0;
  return length;
}

bool utf8_is_valid(const char *text, size_t length)
{
  for (size_t at = 0, bytes; at < length; at += bytes)
    if ((bytes = utf8_sequence((const unsigned char *)text + at, length - at)) == 0)
      return false;
  return true;
}

size_t utf8_encode(uint32_t code, char *to)
{
  size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = length - 1; i > 0; i--, code >>= 6)
    to[i] = (char)(0x80 | (code & 0x3f));
  to[0] = (char)(first[length] | code);
  return length;
}
