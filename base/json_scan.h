// SPDX-License-Identifier: Apache-2.0
// The grammar of JSON over a window that may end anywhere: scanners that take a position and return the one after what
// they read. Inside this room only. No recursion, no allocation, no state but where and why one stopped.
//
// RFC 8259, but raw control bytes are let through inside strings (ONNX Runtime writes names unescaped).
#ifndef XSP_BASE_JSON_SCAN_H
#define XSP_BASE_JSON_SCAN_H

#include "base/json_block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_SCAN_DEPTH 512 // deeper nesting is refused

// A scanner that returns NULL has stopped at `at`: with `problem` NULL because the window ends there and more may come.
struct json_scan {
  const char *end; // *end is 0, and INPUT_PADDING bytes from there on may be read
  bool is_last;    // the file ends at `end`: what is missing there never comes
  const char *at;
  const char *problem; // static text: what was expected
  // NaN, Infinity and -Infinity, as Python's json writes them; nan, inf and -inf, as C prints them; nan(ind) and
  // nan(snan), as Microsoft's C does.
  bool takes_nonfinite;
  uint64_t nonfinite_count; // of those that were read, again where a value is read again
};

struct json_string { // without its quotes, as in the file
  const char *at;
  size_t length;
  bool is_plain; // ASCII without a backslash: the same decoded
};

// `at` must lie in [window, end]. Each skips what it is about and returns the position after it.
const char *json_scan_space(const char *at); // never NULL
// After the opening quote; json_scan_number at '-' or a digit. The inline ones leave what is rare to the others.
const char *json_scan_long_string(struct json_scan *scan, const char *at, struct json_string *ret_string);
const char *json_scan_long_number(struct json_scan *scan, const char *at);
static inline const char *json_scan_string(struct json_scan *scan, const char *at, struct json_string *ret_string);
static inline const char *json_scan_number(struct json_scan *scan, const char *at);
// A key, its colon, and the space around them: the position of the value.
const char *json_scan_key(struct json_scan *scan, const char *at, struct json_string *ret_key);
// Any value with all that is in it; `depth` containers are open around it. *ret_is_plain: no byte beyond ASCII in it.
const char *json_scan_value(struct json_scan *scan, const char *at, unsigned depth, bool *ret_is_plain);
const char *json_scan_fail(struct json_scan *scan, const char *at, const char *problem); // NULL
// At `at` something is missing that may come yet: as json_scan_fail where it is the file's end.
const char *json_scan_short(struct json_scan *scan, const char *at, const char *problem);

// Decodes a string that is not plain into `to` (room for 3 * length bytes); returns the bytes written. U+FFFD stands for
// invalid UTF-8 and lone surrogates. The string's escapes have been checked by json_scan_string.
size_t json_decode(const char *text, size_t length, char *to);
// U+FFFD for invalid UTF-8, all else unchanged. Room as above.
size_t json_repair_utf8(const char *text, size_t length, char *to);
// A value that was read with takes_nonfinite, null in place of each such word. Room for 2 * length bytes.
size_t json_null_nonfinite(const char *text, size_t length, char *to);

static inline const char *json_skip_space(const char *at) // json_scan_space, quick where there is none
{
  return (unsigned char)*at > ' ' ? at : json_scan_space(at);
}

static inline const char *json_scan_string(struct json_scan *scan, const char *at, struct json_string *ret_string)
{
  uint32_t stops = block_string_stops(at);
  unsigned length = block_first(stops | (uint32_t)1 << BLOCK_BYTES);
  if (at[length] != '"' || length == BLOCK_BYTES)
    return json_scan_long_string(scan, at, ret_string);
  *ret_string = (struct json_string){at, length, true};
  return at + length + 1;
}

// Up to 15 digits with their point; what goes beyond, has a sign or an exponent, or may go on after the window is long.
// *ret_digits: how many digits the number is where it is nothing else (at most 16), else 0.
static inline const char *json_scan_digits(struct json_scan *scan, const char *at, unsigned *ret_digits)
{
  uint32_t digits = block_digits(at);
  uint32_t others = ~digits & (BLOCK_ALL << 1 | 1);
  unsigned length = block_first(others);
  bool is_odd = (digits & 1) == 0 || (*at == '0' && (digits & 2) != 0);
  *ret_digits = length;
  if (at[length] == '.') {
    others &= others - 1;
    is_odd |= (others & (uint32_t)1 << (length + 1)) != 0;
    length = block_first(others | (uint32_t)1 << BLOCK_BYTES);
    *ret_digits = 0;
  }
  char next = at[length];
  if (next != ',' && (length == BLOCK_BYTES || (next | 0x20) == 'e' || next == 0))
    is_odd = true;
  if (!is_odd)
    return at + length;
  *ret_digits = 0;
  return json_scan_long_number(scan, at);
}

static inline const char *json_scan_number(struct json_scan *scan, const char *at)
{
  unsigned ignored;
  return json_scan_digits(scan, at, &ignored);
}

#endif
