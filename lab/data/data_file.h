// SPDX-License-Identifier: Apache-2.0
// A data set in one file (.xspd): many small inputs, each with a name and maybe a label, and an index of them. docs/data.md has the
// format. Files may be hostile: all of the index is checked before any of it is used.
//
// Bytes are read by pread, not through a memory map: a mapped file that is cut off would end the process by SIGBUS, and one that
// changes would change under the decoder after its checksum was compared. The page cache is shared all the same.
#ifndef XSP_DATA_DATA_FILE_H
#define XSP_DATA_DATA_FILE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define DATA_ITEMS_MOST 10000000
#define DATA_ITEM_BYTES_MOST ((uint64_t)256 << 20)

struct data_file_item {
  const char *name;  // a relative path, below any folder; "3/0001.png"
  const char *label; // NULL: none
  uint64_t offset, size;
  uint32_t crc32; // of its bytes, zlib's
};
struct data_file {
  const char *path;
  int file; // descriptor; -1: closed
  struct data_file_item *items;
  size_t count;
  uint64_t size; // of the file
};

// By its first bytes. False also where it cannot be read.
bool data_file_recognizes(const char *path);
// Reads and checks the index into `arena`. The caller ends with data_file_close. STATUS_INPUT: unreadable, cut off, damaged or
// hostile.
enum status data_file_open(const char *path, struct arena *arena, struct data_file *ret_file,
                           struct error *err) MUST_CHECK;
void data_file_close(struct data_file *file); // items stay
// Replaces the content of `bytes` by the item's, compared with its checksum. Any thread. `file` and `path`: of an open file, which
// may have been cut or changed since. STATUS_INPUT: the bytes are not there, or are others.
enum status data_file_read(int file, const char *path, const struct data_file_item *item, struct buf *bytes,
                           struct error *err) MUST_CHECK;

// ---- layout; all integers are little-endian
//
//   head    64 bytes
//   items   their bytes, one after the other
//   index   an entry of 32 bytes for each item, in the order of offsets
//   texts   names and labels, each with a zero byte; to the end of the file
#define DATA_FILE_MAGIC "\x89XSPD\r\n\x1a"
#define DATA_FILE_VERSION 1
#define DATA_FILE_NO_LABEL UINT32_MAX
#define DATA_FILE_TEXT_BYTES_MOST ((uint64_t)1 << 30)

struct data_file_head {
  char magic[8];
  uint32_t version;
  uint32_t head_crc32; // of the bytes from `count` to the head's end
  uint64_t count;
  uint64_t index_offset;
  uint64_t text_bytes;
  uint32_t index_crc32; // of index and texts
  uint32_t zeros[5];
};
struct data_file_entry {
  uint64_t offset, size;
  uint32_t crc32;
  uint32_t name, label; // where they begin in the texts; DATA_FILE_NO_LABEL
  uint32_t zero;
};
_Static_assert(sizeof(struct data_file_head) == 64 && sizeof(struct data_file_entry) == 32, "the file's layout");
uint32_t data_file_head_crc32(const struct data_file_head *head);

#endif
