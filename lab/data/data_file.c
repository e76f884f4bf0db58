// SPDX-License-Identifier: Apache-2.0
// Reads data sets in one file; see data_file.h. Called by what evaluates, by xsp data and by the runner. Fuzzed: fuzz/data_file_fuzz.c.
#include "data/data_file.h"

#include "base/input_file.h"
#include "base/path_text.h"
#include "base/scoped.h"
#include "base/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

static const char what[] = "cannot read the data set";

static enum status wrong(const char *path, struct error *err, const char *why)
{
  return error_set(err, STATUS_INPUT, what, path, "a copy that is whole, or `xsp data make`", "%s", why);
}

static enum status cannot_read(const char *path, struct error *err)
{
  return errno != 0 ? error_set_errno(err, STATUS_INPUT, what, path, "another copy")
                    : wrong(path, err, "it was cut off while it was read");
}

uint32_t data_file_head_crc32(const struct data_file_head *head)
{
  return (uint32_t)crc32_z(0, (const unsigned char *)&head->count,
                           sizeof *head - offsetof(struct data_file_head, count));
}

bool data_file_recognizes(const char *path)
{
  int file SCOPED(scoped_close) = -1;
  struct stat facts;
  char magic[sizeof DATA_FILE_MAGIC - 1];
  return input_file_open(path, INPUT_FILE_REGULAR, what, &file, &facts, NULL) == STATUS_OK &&
         transfer_read_at(file, magic, sizeof magic, 0) == sizeof magic &&
         memcmp(magic, DATA_FILE_MAGIC, sizeof magic) == 0;
}

// ---- the index -------------------------------------------------------------------------------------------------------
static enum status read_head(const struct data_file *file, struct data_file_head *head, struct error *err)
{
  if (file->size < sizeof *head)
    return wrong(file->path, err, "it is not an .xspd file");
  if (transfer_read_at(file->file, head, sizeof *head, 0) != sizeof *head)
    return cannot_read(file->path, err);
  if (memcmp(head->magic, DATA_FILE_MAGIC, sizeof head->magic) != 0)
    return wrong(file->path, err, "it is not an .xspd file");
  if (head->version != DATA_FILE_VERSION)
    return error_set(err, STATUS_INPUT, what, file->path, "a newer xsp", "it has version %" PRIu32 " of the format",
                     head->version);
  if (head->head_crc32 != data_file_head_crc32(head))
    return wrong(file->path, err, "its head is damaged");
  if (head->count > DATA_ITEMS_MOST || head->text_bytes > DATA_FILE_TEXT_BYTES_MOST)
    return error_set(err, STATUS_INPUT, what, file->path, "several files", "it has more than %d items, or longer texts",
                     DATA_ITEMS_MOST);
  uint64_t index_bytes = head->count * sizeof(struct data_file_entry) + head->text_bytes; // both are bounded
  if (head->index_offset < sizeof *head || index_bytes > file->size || head->index_offset != file->size - index_bytes)
    return wrong(file->path, err, "it is cut off, or longer than its index says");
  return STATUS_OK;
}

// NULL: good. `end`: of the item before.
static const char *check_entry(const struct data_file_entry *entry, const struct data_file_head *head,
                               const char *texts, uint64_t end)
{
  if (entry->offset < end || entry->offset > head->index_offset || entry->size > head->index_offset - entry->offset)
    return "an item overlaps another one, or lies outside of the file's items";
  if (entry->size > DATA_ITEM_BYTES_MOST)
    return "an item has more than 256 MiB";
  if (entry->name >= head->text_bytes || (entry->label != DATA_FILE_NO_LABEL && entry->label >= head->text_bytes))
    return "an item's name or label is missing";
  return path_is_inner(texts + entry->name) ? NULL : "an item's name leads out of its folder";
}

static enum status take_entries(struct data_file *file, const struct data_file_head *head,
                                const struct data_file_entry *entries, const char *texts, struct error *err)
{
  uint64_t end = sizeof *head;
  if (head->text_bytes > 0 && texts[head->text_bytes - 1] != 0)
    return wrong(file->path, err, "its texts do not end");
  for (size_t i = 0; i < file->count; i++) {
    const struct data_file_entry *entry = &entries[i];
    const char *why = check_entry(entry, head, texts, end);
    if (why != NULL)
      return error_set(err, STATUS_INPUT, what, file->path, "a copy that is whole, or `xsp data make`", "item %zu: %s",
                       i, why);
    end = entry->offset + entry->size;
    const char *label = entry->label != DATA_FILE_NO_LABEL ? texts + entry->label : NULL;
    file->items[i] = (struct data_file_item){texts + entry->name, label, entry->offset, entry->size, entry->crc32};
  }
  return STATUS_OK;
}

static enum status read_index(struct data_file *file, struct arena *arena, struct error *err)
{
  struct data_file_head head;
  XSP_TRY(read_head(file, &head, err));
  uint64_t entry_bytes = head.count * sizeof(struct data_file_entry);
  char *index = arena_alloc(arena, entry_bytes + head.text_bytes + 1);
  if (transfer_read_at(file->file, index, entry_bytes + head.text_bytes, head.index_offset) !=
      entry_bytes + head.text_bytes)
    return cannot_read(file->path, err);
  if (crc32_z(0, (unsigned char *)index, entry_bytes + head.text_bytes) != head.index_crc32)
    return wrong(file->path, err, "its index is damaged");
  file->count = (size_t)head.count;
  file->items = arena_alloc_array(arena, file->count + 1, sizeof *file->items);
  return take_entries(file, &head, (const struct data_file_entry *)index, index + entry_bytes, err);
}

enum status data_file_open(const char *path, struct arena *arena, struct data_file *ret_file, struct error *err)
{
  struct stat facts;
  *ret_file = (struct data_file){.path = path, .file = -1};
  XSP_TRY(input_file_open(path, INPUT_FILE_REGULAR, what, &ret_file->file, &facts, err));
  ret_file->size = (uint64_t)facts.st_size;
  enum status status = read_index(ret_file, arena, err);
  if (status != STATUS_OK)
    data_file_close(ret_file);
  return status;
}

void data_file_close(struct data_file *file)
{
  if (file->file >= 0)
    close(file->file);
  file->file = -1;
}

// ---- an item ---------------------------------------------------------------------------------------------------------
enum status data_file_read(int file, const char *path, const struct data_file_item *item, struct buf *bytes,
                           struct error *err)
{
  char place[sizeof err->where];
  buf_clear(bytes);
  snprintf(place, sizeof place, "%s: %s", path, item->name);
  if (item->size > DATA_ITEM_BYTES_MOST || !buf_reserve(bytes, (size_t)item->size))
    return wrong(place, err, "an item has more than 256 MiB");
  if (transfer_read_at(file, bytes->data, item->size, item->offset) != item->size)
    return cannot_read(place, err);
  bytes->length = (size_t)item->size;
  if (crc32_z(0, (const unsigned char *)bytes->data, bytes->length) == item->crc32)
    return STATUS_OK;
  return wrong(place, err, "its bytes are damaged: they have another CRC-32");
}
