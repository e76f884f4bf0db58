// SPDX-License-Identifier: Apache-2.0
// Scanners over JSON text; see json_scan.h. Made for hostile bytes: nothing is read after the window's padding, nesting
// is a bit a level.
#include "base/json_scan.h"

#include "base/hex.h"
#include "base/json_block.h"
#include "base/json_text.h"
#include "base/utf8.h"

#include <string.h>

#define NONFINITE_MORE 6 // bytes after "nan", at most

const char *json_scan_fail(struct json_scan *scan, const char *at, const char *problem)
{
  scan->at = at;
  scan->problem = problem;
  return NULL;
}

const char *json_scan_short(struct json_scan *scan, const char *at, const char *problem)
{
  return json_scan_fail(scan, at, at >= scan->end && !scan->is_last ? NULL : problem);
}

const char *json_scan_space(const char *at)
{
  while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
    at++;
  return at;
}

// At a backslash; returns the position after the escape.
static const char *scan_escape(struct json_scan *scan, const char *at)
{
  if (scan->end - at < 2)
    return json_scan_short(scan, scan->end, "a string does not end");
  if (at[1] == 'u') {
    for (int i = 2; i < 6; i++) {
      if (at + i >= scan->end)
        return json_scan_short(scan, scan->end, "a string does not end");
      if (hex_digit(at[i]) < 0)
        return json_scan_fail(scan, at, "a bad escape in a string");
    }
    return at + 6;
  }
  if (at[1] == 0 || strchr("\"\\/bfnrt", at[1]) == NULL)
    return json_scan_fail(scan, at, "a bad escape in a string");
  return at + 2;
}

// From the first byte that makes the string more than plain ASCII to its closing quote.
static const char *scan_rich_string(struct json_scan *scan, const char *at)
{
  for (;;) {
    uint32_t stops = block_quotes_and_backslashes(at);
    if (stops == 0) {
      at += BLOCK_BYTES;
      if (at >= scan->end)
        return json_scan_short(scan, scan->end, "a string does not end");
      continue;
    }
    at += block_first(stops);
    if (*at == '"')
      return at;
    if ((at = scan_escape(scan, at)) == NULL)
      return NULL;
  }
}

const char *json_scan_long_string(struct json_scan *scan, const char *at, struct json_string *ret_string)
{
  const char *start = at;
  ret_string->at = start;
  ret_string->is_plain = true;
  for (;;) { // a block at a time: after `end` there are zeros, which stop nothing
    uint32_t stops = block_string_stops(at);
    if (stops != 0) {
      at += block_first(stops);
      break;
    }
    at += BLOCK_BYTES;
    if (at >= scan->end)
      return json_scan_short(scan, scan->end, "a string does not end");
  }
  if (*at != '"') {
    ret_string->is_plain = false;
    if ((at = scan_rich_string(scan, at)) == NULL)
      return NULL;
  }
  ret_string->length = (size_t)(at - start);
  return at + 1;
}

static bool is_digit(char byte)
{
  return byte >= '0' && byte <= '9';
}

// By its first letters. NULL: none begins so.
static const char *nonfinite_word(const char *at)
{
  return *at == 'N' ? "NaN" : *at == 'I' ? "Infinity" : *at == 'i' ? "inf" : *at == 'n' && at[1] == 'a' ? "nan" : NULL;
}

// What Microsoft's printf adds to "nan": "(ind)", "(snan)". The length, 0 where there is none.
static size_t nonfinite_more(const char *at)
{
  return strncmp(at, "(ind)", 5) == 0 ? 5 : strncmp(at, "(snan)", 6) == 0 ? NONFINITE_MORE : 0;
}

// The rest of a word of which a part stands at `at`.
static const char *scan_letters(struct json_scan *scan, const char *at, const char *word)
{
  size_t length = strlen(word);
  size_t left = (size_t)(scan->end - at);
  if (length == 0 || memcmp(at, word, length < left ? length : left) != 0)
    return json_scan_short(scan, at, "a value was expected");
  if (left < length)
    return json_scan_short(scan, scan->end, "a value was expected");
  return at + length;
}

static const char *scan_nonfinite(struct json_scan *scan, const char *at) // at such a word, after its sign
{
  bool is_c = *at == 'n';
  scan->nonfinite_count++;
  if ((at = scan_letters(scan, at, nonfinite_word(at))) == NULL || !is_c)
    return at;
  if (scan->end - at < NONFINITE_MORE && !scan->is_last) // it may go on
    return json_scan_fail(scan, at, NULL);
  return at + nonfinite_more(at);
}

// Numbers of any length, and those at the window's end.
const char *json_scan_long_number(struct json_scan *scan, const char *at)
{
  if (*at == '-')
    at++;
  if (scan->takes_nonfinite && nonfinite_word(at) != NULL)
    return scan_nonfinite(scan, at);
  bool may_be_nan = scan->takes_nonfinite && *at == 'n' && at + 1 >= scan->end;
  if (!is_digit(*at))
    return json_scan_short(scan, may_be_nan ? scan->end : at, "a digit was expected");
  if (*at == '0')
    at++;
  else
    while (is_digit(*at))
      at++;
  if (*at == '.') {
    at++;
    if (!is_digit(*at))
      return json_scan_short(scan, at, "a digit was expected after the decimal point");
    while (is_digit(*at))
      at++;
  }
  if (*at == 'e' || *at == 'E') {
    at++;
    if (*at == '+' || *at == '-')
      at++;
    if (!is_digit(*at))
      return json_scan_short(scan, at, "a digit was expected in the exponent");
    while (is_digit(*at))
      at++;
  }
  if (at >= scan->end && !scan->is_last) // it may go on
    return json_scan_fail(scan, at, NULL);
  return at;
}

static const char *scan_word(struct json_scan *scan, const char *at)
{
  if (scan->takes_nonfinite && nonfinite_word(at) != NULL)
    return scan_nonfinite(scan, at);
  return scan_letters(scan, at, *at == 't' ? "true" : *at == 'f' ? "false" : *at == 'n' ? "null" : "");
}

// Which of the containers around a position are objects: a bit each, the innermost lowest. Full words go to `outer`.
struct nesting {
  uint64_t bits;
  unsigned depth;
  uint64_t outer[JSON_SCAN_DEPTH / 64];
};

static void enter(struct nesting *nesting, bool object)
{
  if (nesting->depth % 64 == 0 && nesting->depth > 0)
    nesting->outer[nesting->depth / 64 - 1] = nesting->bits;
  nesting->bits = nesting->bits << 1 | object;
  nesting->depth++;
}

static void leave(struct nesting *nesting)
{
  nesting->bits >>= 1;
  nesting->depth--;
  if (nesting->depth % 64 == 0 && nesting->depth > 0)
    nesting->bits = nesting->outer[nesting->depth / 64 - 1];
}

const char *json_scan_key(struct json_scan *scan, const char *at, struct json_string *ret_key)
{
  if (*at != '"')
    return json_scan_short(scan, at, "a key in quotes was expected");
  if ((at = json_scan_string(scan, at + 1, ret_key)) == NULL)
    return NULL;
  at = json_skip_space(at);
  if (*at != ':')
    return json_scan_short(scan, at, "':' was expected after a key");
  return json_skip_space(at + 1);
}

// After a value, or after what opens a container (`opened`): out of what ends here, to the next value. Depth 0 is the end.
static const char *next_value(struct json_scan *scan, struct nesting *nesting, const char *at, bool opened,
                              bool *is_plain)
{
  while (nesting->depth > 0) {
    bool object = (nesting->bits & 1) != 0;
    at = json_skip_space(at);
    if (*at == (object ? '}' : ']')) {
      leave(nesting);
      at++;
      opened = false;
      continue;
    }
    if (!opened) {
      if (*at != ',')
        return json_scan_short(scan, at, object ? "',' or '}' was expected" : "',' or ']' was expected");
      at = json_skip_space(at + 1);
    }
    if (!object)
      return at;
    struct json_string key;
    at = json_scan_key(scan, at, &key);
    *is_plain &= at == NULL || key.is_plain;
    return at;
  }
  return at;
}

const char *json_scan_value(struct json_scan *scan, const char *at, unsigned depth, bool *ret_is_plain)
{
  struct nesting nesting;
  struct json_string string;
  nesting.bits = 0;
  nesting.depth = 0;
  *ret_is_plain = true;
  do {
    bool opened = false;
    if (*at == '"') {
      at = json_scan_string(scan, at + 1, &string);
      if (at != NULL)
        *ret_is_plain &= string.is_plain;
    } else if (*at == '{' || *at == '[') {
      if (nesting.depth + depth >= JSON_SCAN_DEPTH)
        return json_scan_fail(scan, at, "it is nested deeper than 512");
      opened = true;
      enter(&nesting, *at++ == '{');
    } else {
      at = *at == '-' || is_digit(*at) ? json_scan_number(scan, at) : scan_word(scan, at);
    }
    if (at == NULL || (at = next_value(scan, &nesting, at, opened, ret_is_plain)) == NULL)
      return NULL;
  } while (nesting.depth > 0);
  return at;
}

// Copies well-formed UTF-8, replaces the rest byte by byte; escapes are resolved where `escapes` is true.
static size_t copy_text(const char *at, size_t length, char *to, bool escapes)
{
  const char *end = at + length;
  char *start = to;
  while (at < end) {
    if (*at == '\\' && escapes) {
      at = json_unescape(at, end, &to); // checked before
      continue;
    }
    size_t bytes = utf8_sequence((const unsigned char *)at, (size_t)(end - at));
    if (bytes == 0) {
      json_put_replacement(&to);
      at++;
      continue;
    }
    memcpy(to, at, bytes);
    to += bytes;
    at += bytes;
  }
  return (size_t)(to - start);
}

size_t json_decode(const char *text, size_t length, char *to)
{
  return copy_text(text, length, to, true);
}

size_t json_repair_utf8(const char *text, size_t length, char *to)
{
  return copy_text(text, length, to, false);
}

size_t json_null_nonfinite(const char *text, size_t length, char *to)
{
  const char *at = text, *end = text + length;
  const char *start = to;
  while (at < end) {
    const char *from = at;
    if (*at == '"') {
      for (at++; *at != '"'; at++)
        at += *at == '\\';
      at++;
    } else if (nonfinite_word(at + (*at == '-')) != NULL) {
      at += *at == '-';
      bool is_c = *at == 'n';
      at += strlen(nonfinite_word(at));
      at += is_c ? nonfinite_more(at) : 0;
      memcpy(to, "null", 4);
      to += 4;
      continue;
    } else {
      at++;
    }
    memcpy(to, from, (size_t)(at - from));
    to += at - from;
  }
  return (size_t)(to - start);
}
