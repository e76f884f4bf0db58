// SPDX-License-Identifier: Apache-2.0
// Escapes in JSON strings; see json_text.h. Reads nothing from `end` on.
#include "base/json_text.h"

#include "base/hex.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define REPLACEMENT 0xfffdu

void json_put_replacement(char **to)
{
  *to += utf8_encode(REPLACEMENT, *to);
}

// The code unit of the escape \uXXXX at `at`; -1: not one.
static int32_t code_unit(const char *at, const char *end)
{
  uint8_t bytes[2];
  if (end - at < 6 || at[0] != '\\' || at[1] != 'u' || !hex_decode(at + 2, bytes, sizeof bytes))
    return -1;
  return bytes[0] << 8 | bytes[1];
}

const char *json_unescape(const char *at, const char *end, char **to)
{
  static const char letters[] = "\"\\/bfnrt";
  static const char meanings[] = "\"\\/\b\f\n\r\t";
  if (end - at < 2)
    return NULL;
  const char *letter = at[1] != 0 ? strchr(letters, at[1]) : NULL;
  if (letter != NULL) {
    *(*to)++ = meanings[letter - letters];
    return at + 2;
  }
  int32_t unit = code_unit(at, end);
  if (unit < 0)
    return NULL;
  at += 6;
  uint32_t code = (uint32_t)unit;
  if (unit >= 0xd800 && unit <= 0xdfff) { // a high surrogate takes a low one with it
    int32_t low = unit < 0xdc00 ? code_unit(at, end) : -1;
    bool is_pair = low >= 0xdc00 && low <= 0xdfff;
    code = is_pair ? 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)low - 0xdc00) : REPLACEMENT;
    at += is_pair ? 6 : 0;
  }
  *to += utf8_encode(code, *to);
  return at;
}
