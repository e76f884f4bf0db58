// SPDX-License-Identifier: Apache-2.0
// Walks the tables of a TFLite flatbuffer that LiteRT walks when it opens one; see graph.h. Bounded: every offset is
// checked before it is followed, tables lie at most four deep, and the work is limited by a count of objects.
#include "frameworks/litert/graph.h"

#include "base/mapped.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define OBJECTS_MOST 20000000u // more than any model has; offsets of a hostile one may all lead to one place

enum kind { END, BYTES, WORDS, TABLES }; // of vectors; a text is BYTES, a single table is not looked into

struct field {
  unsigned number;
  enum kind kind;
  const char *name;
  const struct field *table; // TABLES: the fields of its members
};

// The schema, as far as it matters.
static const struct field operator_code[] = {{1, BYTES, "custom code", NULL}, {0, END, NULL, NULL}};
static const struct field tensor[] = {
    {0, WORDS, "shape", NULL}, {3, BYTES, "name", NULL}, {7, WORDS, "shape signature", NULL}, {0, END, NULL, NULL}};
static const struct field operation[] = {
    {1, WORDS, "inputs", NULL}, {2, WORDS, "outputs", NULL}, {5, BYTES, "options", NULL}, {0, END, NULL, NULL}};
static const struct field graph[] = {{0, TABLES, "tensor", tensor}, {1, WORDS, "inputs", NULL},
                                     {2, WORDS, "outputs", NULL},   {3, TABLES, "operator", operation},
                                     {4, BYTES, "name", NULL},      {0, END, NULL, NULL}};
static const struct field buffer[] = {{0, BYTES, "data", NULL}, {0, END, NULL, NULL}};
static const struct field map[] = {{0, BYTES, "name", NULL}, {0, END, NULL, NULL}};
static const struct field signature[] = {
    {0, TABLES, "input", map}, {1, TABLES, "output", map}, {2, BYTES, "key", NULL}, {0, END, NULL, NULL}};
static const struct field model[] = {{1, TABLES, "operator code", operator_code},
                                     {2, TABLES, "graph", graph},
                                     {3, BYTES, "description", NULL},
                                     {4, TABLES, "buffer", buffer},
                                     {7, TABLES, "signature", signature},
                                     {0, END, NULL, NULL}};

struct walk {
  const unsigned char *bytes;
  size_t size;
  uint32_t objects;
  char *place;
  size_t place_size;
};

static bool is_inside(const struct walk *walk, size_t at, size_t length)
{
  return at <= walk->size && length <= walk->size - at;
}

static uint32_t word_at(const struct walk *walk, size_t at)
{
  uint32_t word;
  memcpy(&word, walk->bytes + at, sizeof word);
  return word;
}

static unsigned half_at(const struct walk *walk, size_t at)
{
  uint16_t half;
  memcpy(&half, walk->bytes + at, sizeof half);
  return half;
}

static bool cut(struct walk *walk, const char *what, size_t at)
{
  snprintf(walk->place, walk->place_size, "%s at byte %zu is after its end", what, at);
  return false;
}

static bool check_table(struct walk *walk, size_t at, const char *name, const struct field *fields);

// A vector at `at`: its count and as many members.
static bool check_vector(struct walk *walk, size_t at, const struct field *field)
{
  static const size_t sizes[] = {[BYTES] = 1, [WORDS] = 4, [TABLES] = 4};
  if (!is_inside(walk, at, 4))
    return cut(walk, field->name, at);
  size_t count = word_at(walk, at), first = at + 4;
  if (!is_inside(walk, first, count * sizes[field->kind]))
    return cut(walk, field->name, at);
  for (size_t i = 0; i < count && field->kind == TABLES; i++) {
    size_t place = first + i * 4;
    if (!check_table(walk, place + word_at(walk, place), field->name, field->table))
      return false;
  }
  return true;
}

static bool check_table(struct walk *walk, size_t at, const char *name, const struct field *fields)
{
  if (++walk->objects > OBJECTS_MOST) {
    snprintf(walk->place, walk->place_size, "it has more than %u parts", OBJECTS_MOST);
    return false;
  }
  if (!is_inside(walk, at, 4))
    return cut(walk, name, at);
  int64_t table = (int64_t)at - (int32_t)word_at(walk, at); // the table of the fields' offsets
  if (table < 0 || !is_inside(walk, (size_t)table, 4))
    return cut(walk, name, at);
  unsigned length = half_at(walk, (size_t)table);
  if (!is_inside(walk, (size_t)table, length) || !is_inside(walk, at, half_at(walk, (size_t)table + 2)))
    return cut(walk, name, at);
  for (const struct field *field = fields; field->kind != END; field++) {
    unsigned slot = 4 + 2 * field->number;
    unsigned offset = slot + 2 <= length ? half_at(walk, (size_t)table + slot) : 0;
    if (offset == 0)
      continue;
    if (!is_inside(walk, at + offset, 4))
      return cut(walk, field->name, at + offset);
    if (!check_vector(walk, at + offset + word_at(walk, at + offset), field))
      return false;
  }
  return true;
}

bool litert_file_is_cut(const unsigned char *bytes, size_t size, char *place, size_t place_size)
{
  place[0] = 0;
  if (size < 8 || memcmp(bytes + 4, "TFL3", 4) != 0)
    return false;
  struct walk walk = {bytes, size, 0, place, place_size};
  return !check_table(&walk, word_at(&walk, 0), "model", model);
}

bool litert_file_damage(const char *path, char *place, size_t place_size)
{
  place[0] = 0;
  struct mapped file;
  if (!mapped_open(path, &file))
    return false;
  bool is_cut = litert_file_is_cut(file.bytes, file.size, place, place_size);
  mapped_close(&file);
  return is_cut;
}
