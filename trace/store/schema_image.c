// SPDX-License-Identifier: Apache-2.0
// The bytes of a file with all tables and no rows, as SQLite makes them; see schema_image in schema.h. Called by write.c.
//
//      page 1: header (100 bytes), a leaf with a row for each object of the schema; a page for each object: an empty leaf
//
// Nothing here asks whether the rows have room: schema_image_test.c does, once for all files.
// Only SQLite reads a file: what is written here is a few lines of its format that never changes (sqlite.org/fileformat.html).
#include "base/memory.h"
#include "store/schema.h"
#include "store/sqlite_api.h"

#include <string.h>

#define HEADER_BYTES 100
#define LEAF_BYTES 8 // of a leaf's own header
#define LEAF_OF_INDEX 0x0a
#define LEAF_OF_TABLE 0x0d
#define TYPE_OF_BYTE 1 // how a record names the type of a value: an integer of one byte
#define TYPE_OF_TEXT(length) (2 * (length) + 13)

static void put_16(uint8_t *to, size_t value)
{
  to[0] = (uint8_t)(value >> 8);
  to[1] = (uint8_t)value;
}

static void put_32(uint8_t *to, uint32_t value)
{
  put_16(to, value >> 16);
  put_16(to + 2, value & 0xffff);
}

static uint8_t *put_number(uint8_t *to, size_t value) // less than 2¹⁴
{
  if (value >= 0x80)
    *to++ = (uint8_t)(0x80 | value >> 7);
  *to++ = value & 0x7f;
  return to;
}

static uint8_t *put_text(uint8_t *to, const char *text)
{
  return (uint8_t *)mempcpy(to, text, strlen(text));
}

static void put_header(uint8_t *to)
{
  memcpy(to, "SQLite format 3", 16);
  put_16(to + 16, SCHEMA_PAGE_BYTES);
  to[18] = to[19] = 1; // written and read with a rollback journal
  to[21] = 64;         // shares of a page for a row, as all files have them
  to[22] = to[23] = 32;
  put_32(to + 24, 1); // changes so far
  put_32(to + 28, 1 + SCHEMA_OBJECTS);
  put_32(to + 40, 1); // changes of the schema
  put_32(to + 44, 4); // format of the schema
  put_32(to + 56, 1); // UTF-8
  put_32(to + 60, STORE_FORMAT_VERSION);
  put_32(to + 68, SCHEMA_APPLICATION_ID);
  put_32(to + 92, 1); // the changes by which the number of pages is right
  put_32(to + 96, (uint32_t)sqlite3_libversion_number());
}

static void put_leaf(uint8_t *to, bool is_index, size_t rows, size_t rows_begin)
{
  to[0] = is_index ? LEAF_OF_INDEX : LEAF_OF_TABLE;
  put_16(to + 3, rows);
  put_16(to + 5, rows_begin);
}

// type, name, tbl_name, rootpage, sql: first the types of all, then the values.
static size_t make_record(const struct schema_object *object, uint8_t page, uint8_t ret_record[SCHEMA_ROW_BYTES])
{
  const char *kind = strcmp(object->name, object->table) == 0 ? "table" : "index";
  uint8_t *at = ret_record + 1;
  at = put_number(at, TYPE_OF_TEXT(strlen(kind)));
  at = put_number(at, TYPE_OF_TEXT(strlen(object->name)));
  at = put_number(at, TYPE_OF_TEXT(strlen(object->table)));
  *at++ = TYPE_OF_BYTE;
  at = put_number(at, object->sql != NULL ? TYPE_OF_TEXT(strlen(object->sql)) : 0);
  ret_record[0] = (uint8_t)(at - ret_record);
  at = put_text(put_text(put_text(at, kind), object->name), object->table);
  *at++ = page;
  at = put_text(at, object->sql != NULL ? object->sql : "");
  return (size_t)(at - ret_record);
}

void *schema_image(size_t *ret_size)
{
  uint8_t *image = memory_new(1 + SCHEMA_OBJECTS, SCHEMA_PAGE_BYTES), *row_places = image + HEADER_BYTES + LEAF_BYTES;
  size_t begin = SCHEMA_PAGE_BYTES; // of the rows: they fill the page from its end
  put_header(image);
  for (size_t i = 0; i < SCHEMA_OBJECTS; i++) {
    uint8_t head[4], record[SCHEMA_ROW_BYTES];
    const size_t size = make_record(&schema_objects[i], (uint8_t)(i + 2), record);
    const size_t head_size = (size_t)(put_number(put_number(head, size), i + 1) - head);
    begin -= head_size + size;
    memcpy(mempcpy(image + begin, head, head_size), record, size);
    put_16(row_places + 2 * i, begin);
    put_leaf(image + (i + 1) * SCHEMA_PAGE_BYTES, schema_objects[i].is_keyed, 0, SCHEMA_PAGE_BYTES);
  }
  put_leaf(image + HEADER_BYTES, false, SCHEMA_OBJECTS, begin);
  *ret_size = (size_t)(1 + SCHEMA_OBJECTS) * SCHEMA_PAGE_BYTES;
  return image;
}
