// SPDX-License-Identifier: Apache-2.0
// How far texts are apart: Levenshtein's distance of code points, a row at a time.
#include "base/utf8.h"
#include "experiment/evaluation/accuracy/accuracy.h"

struct characters {
  const unsigned char *bytes;
  size_t *starts, count; // starts has one more: the end
};

static struct characters split(const char *text)
{
  size_t length = strlen(text);
  struct characters split = {(const unsigned char *)text, memory_new(length + 1, sizeof(size_t)), 0};
  for (size_t at = 0; at < length;) {
    size_t bytes = utf8_sequence(split.bytes + at, length - at);
    at += bytes > 0 ? bytes : 1;
    split.starts[++split.count] = at;
  }
  return split;
}

static bool are_equal(const struct characters *a, size_t i, const struct characters *b, size_t k)
{
  size_t length = a->starts[i + 1] - a->starts[i];
  return length == b->starts[k + 1] - b->starts[k] &&
         memcmp(a->bytes + a->starts[i], b->bytes + b->starts[k], length) == 0;
}

size_t edit_distance(const char *text, const char *other)
{
  struct characters a = split(text), b = split(other);
  size_t *row SCOPED(scoped_free) = memory_new(b.count + 1, sizeof *row);
  for (size_t k = 0; k <= b.count; k++)
    row[k] = k;
  for (size_t i = 0; i < a.count; i++) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t k = 0; k < b.count; k++) {
      size_t replaced = diagonal + !are_equal(&a, i, &b, k), shorter = (row[k] < row[k + 1] ? row[k] : row[k + 1]) + 1;
      diagonal = row[k + 1];
      row[k + 1] = replaced < shorter ? replaced : shorter;
    }
  }
  size_t distance = row[b.count];
  free(a.starts);
  free(b.starts);
  return distance;
}
