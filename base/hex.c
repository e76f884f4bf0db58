// SPDX-License-Identifier: Apache-2.0
// Hex digits; see hex.h.
#include "base/hex.h"

#include <stdint.h>

int hex_digit(char digit)
{
  if (digit >= '0' && digit <= '9')
    return digit - '0';
  if (digit >= 'a' && digit <= 'f')
    return digit - 'a' + 10;
  return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

char *hex_encode(char *text, const void *bytes, size_t count)
{
  static const char digits[] = "0123456789abcdef";
  for (const uint8_t *byte = bytes; count > 0; byte++, count--) {
    *text++ = digits[*byte >> 4];
    *text++ = digits[*byte & 15];
  }
  return text;
}

bool hex_decode(const char *text, void *bytes, size_t count)
{
  for (uint8_t *byte = bytes; count > 0; byte++, count--) {
    int high = hex_digit(*text++);
    int low = high < 0 ? -1 : hex_digit(*text++);
    if (low < 0)
      return false;
    *byte = (uint8_t)(high << 4 | low);
  }
  return true;
}
