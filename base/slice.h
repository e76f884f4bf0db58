// SPDX-License-Identifier: Apache-2.0
// A text with its length, owned by somebody else. Need not end in a NUL; allocates nothing.
#ifndef XSP_BASE_SLICE_H
#define XSP_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
  const char *data; // may be NULL where length is 0
  size_t length;
};

static inline struct slice slice_of(const char *text) // NULL: an empty slice
{
  return (struct slice){text, text == NULL ? 0 : strlen(text)};
}

static inline bool slice_equal(struct slice a, struct slice b)
{
  return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

// Byte by byte, the shorter of two that begin alike first.
static inline int slice_compare(struct slice a, struct slice b)
{
  size_t shorter = a.length < b.length ? a.length : b.length;
  int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;
  return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static inline bool slice_is(struct slice slice, const char *text)
{
  return slice_equal(slice, slice_of(text));
}

static inline bool slice_starts_with(struct slice slice, const char *prefix)
{
  size_t length = strlen(prefix);
  return slice.length >= length && (length == 0 || memcmp(slice.data, prefix, length) == 0);
}

// Without its first `count` bytes, which it has.
static inline struct slice slice_after(struct slice slice, size_t count)
{
  return (struct slice){slice.data + count, slice.length - count};
}

static inline bool slice_ends_with(struct slice slice, const char *suffix)
{
  size_t length = strlen(suffix);
  return slice.length >= length && slice_is(slice_after(slice, slice.length - length), suffix);
}

static inline bool slice_contains(struct slice slice, const char *text)
{
  return slice.length > 0 && memmem(slice.data, slice.length, text, strlen(text)) != NULL;
}

// A whole decimal number and nothing else. False, and *ret_number as it was: not one, or beyond int64.
static inline bool slice_int64(struct slice slice, int64_t *ret_number)
{
  size_t at = slice.length > 1 && slice.data[0] == '-';
  bool is_negative = at == 1;
  int64_t number = 0; // negative, since that range is the larger one
  if (slice.length == 0)
    return false;
  for (; at < slice.length; at++)
    if (slice.data[at] < '0' || slice.data[at] > '9' || __builtin_mul_overflow(number, 10, &number) ||
        __builtin_sub_overflow(number, slice.data[at] - '0', &number))
      return false;
  if (!is_negative && __builtin_sub_overflow(0, number, &number))
    return false;
  *ret_number = number;
  return true;
}

// Cuts *rest at the first `byte`: *ret_part is what was before it, *rest what is after it. Without `byte`, *ret_part is
// all of it. False once nothing is left; an empty text has one part, "a," has two.
static inline bool slice_cut(struct slice *rest, char byte, struct slice *ret_part)
{
  *ret_part = *rest;
  if (rest->data == NULL)
    return false;
  const char *end = memchr(rest->data, byte, rest->length);
  if (end == NULL) {
    *rest = (struct slice){NULL, 0};
    return true;
  }
  ret_part->length = (size_t)(end - rest->data);
  rest->length -= ret_part->length + 1;
  rest->data = end + 1;
  return true;
}

// Without spaces, tabs and line ends at both ends.
static inline struct slice slice_trim(struct slice slice)
{
  while (slice.length > 0 && memchr(" \t\r\n", slice.data[0], 4) != NULL)
    slice = (struct slice){slice.data + 1, slice.length - 1};
  while (slice.length > 0 && memchr(" \t\r\n", slice.data[slice.length - 1], 4) != NULL)
    slice.length--;
  return slice;
}

static inline bool texts_equal(const char *a, const char *b) // NULL equals NULL alone
{
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static inline int texts_compare(const char *a, const char *b) // NULL is as ""
{
  return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static inline bool text_begins_with(const char *text, const char *beginning)
{
  return strncmp(text, beginning, strlen(beginning)) == 0;
}

static inline bool text_ends_with(const char *text, const char *end)
{
  size_t length = strlen(text), end_length = strlen(end);
  return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

// Is it one of the words of a list such as "host|device"?
static inline bool text_is_listed(const char *text, const char *list, char separator)
{
  struct slice rest = slice_of(list), word;
  while (slice_cut(&rest, separator, &word))
    if (slice_is(word, text))
      return true;
  return false;
}

// text_is_one_of(text, "a", "b"): is it equal to one of these?
#define text_is_one_of(text, ...) text_is_in(text, (const char *const[]){__VA_ARGS__, NULL})
static inline bool text_is_in(const char *text, const char *const *texts) // ends with NULL
{
  while (*texts != NULL && strcmp(text, *texts) != 0)
    texts++;
  return *texts != NULL;
}

#endif
