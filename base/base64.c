// SPDX-License-Identifier: Apache-2.0
// Base64; see base64.h.
#include "base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_put(struct buf *out, const void *bytes, size_t length)
{
  const uint8_t *from = bytes;
  if (!buf_reserve(out, (length + 2) / 3 * 4))
    return;
  char *to = out->data + out->length;
  for (size_t i = 0; i < length; i += 3) {
    unsigned three = (unsigned)from[i] << 16 | (i + 1 < length ? (unsigned)from[i + 1] << 8 : 0) |
                     (i + 2 < length ? from[i + 2] : 0u);
    *to++ = digits[three >> 18];
    *to++ = digits[three >> 12 & 63];
    *to++ = i + 1 < length ? digits[three >> 6 & 63] : '=';
    *to++ = i + 2 < length ? digits[three & 63] : '=';
  }
  out->length = (size_t)(to - out->data);
  *to = '\0';
}

static int digit_value(char digit)
{
  const char *found = digit != 0 ? strchr(digits, digit) : NULL;
  return found != NULL ? (int)(found - digits) : -1;
}

int base64_decode(struct slice text, uint8_t *bytes, size_t most)
{
  size_t padding = 0;
  if (text.length % 4 != 0)
    return -1;
  while (padding < 2 && padding < text.length && text.data[text.length - 1 - padding] == '=')
    padding++;
  size_t count = text.length / 4 * 3 - padding;
  if (count > most)
    return -1;
  uint32_t bits = 0;
  for (size_t i = 0, to = 0; i < text.length; i++) {
    int value = i < text.length - padding ? digit_value(text.data[i]) : 0;
    if (value < 0)
      return -1;
    bits = bits << 6 | (unsigned)value;
    for (int shift = 16; i % 4 == 3 && shift >= 0 && to < count; shift -= 8)
      bytes[to++] = (uint8_t)(bits >> shift);
  }
  return (int)count;
}
