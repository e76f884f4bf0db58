// SPDX-License-Identifier: Apache-2.0
// Writes data sets in one file; see data_writer.h. Called by xsp data.
#include "data/data_writer.h"

#include "base/file_place.h"
#include "base/interner.h"
#include "base/memory.h"
#include "base/path_text.h"
#include "base/vector.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

static const char what[] = "cannot write the data set";

struct data_writer {
  const char *path; // borrowed
  bool may_replace;
  FILE *file;
  uint64_t offset; // of the next item
  VECTOR(struct data_file_entry) entries;
  struct buf texts;
  struct interner labels;
  VECTOR(uint32_t) label_places; // in the texts, by the label's id
};

static char unfinished[PATH_MAX]; // "": none

static enum status failed(const struct data_writer *writer, struct error *err)
{
  return error_set_errno(err, STATUS_SYSTEM, what, writer->path, "another place with room for it");
}

void data_writer_unfinished_remove(void)
{
  if (unfinished[0] != 0)
    unlink(unfinished);
}

enum status data_writer_open(const char *path, bool may_replace, struct data_writer **ret_writer, struct error *err)
{
  struct data_writer *writer = *ret_writer = memory_new(1, sizeof *writer);
  *writer = (struct data_writer){.path = path, .may_replace = may_replace, .offset = sizeof(struct data_file_head)};
  buf_init(&writer->texts, DATA_FILE_TEXT_BYTES_MOST);
  XSP_TRY(file_place_check(path, may_replace, err));
  int file = file_place_begin(path, unfinished);
  if (file < 0) {
    unfinished[0] = 0;
    return failed(writer, err);
  }
  writer->file = fdopen(file, "w");
  if (writer->file == NULL)
    memory_exhausted();
  const struct data_file_head head = {0};
  return fwrite(&head, sizeof head, 1, writer->file) == 1 ? STATUS_OK : failed(writer, err);
}

static uint32_t add_text(struct data_writer *writer, const char *text)
{
  uint32_t place = (uint32_t)writer->texts.length;
  buf_put(&writer->texts, text, strlen(text) + 1);
  return place;
}

static uint32_t add_label(struct data_writer *writer, const char *label)
{
  if (label == NULL)
    return DATA_FILE_NO_LABEL;
  uint32_t id = interner_at(&writer->labels, label, strlen(label));
  if (id == writer->label_places.count)
    *vector_add(&writer->label_places) = add_text(writer, label);
  return writer->label_places.items[id];
}

enum status data_writer_add(struct data_writer *writer, const char *name, const char *label, const void *bytes,
                            size_t size, struct error *err)
{
  if (writer->entries.count == DATA_ITEMS_MOST || size > DATA_ITEM_BYTES_MOST)
    return error_set(err, STATUS_INPUT, what, name, NULL, "more than %d items, or one of more than 256 MiB",
                     DATA_ITEMS_MOST);
  if (!path_is_inner(name))
    return error_set(err, STATUS_INPUT, what, name, "a path below a folder", "it cannot be an item's name");
  *vector_add(&writer->entries) = (struct data_file_entry){.offset = writer->offset,
                                                           .size = size,
                                                           .crc32 = (uint32_t)crc32_z(0, bytes, size),
                                                           .name = add_text(writer, name),
                                                           .label = add_label(writer, label)};
  if (writer->texts.failed)
    return error_set(err, STATUS_INPUT, what, writer->path, "several files", "names and labels have more than 1 GiB");
  writer->offset += size;
  return size == 0 || fwrite(bytes, 1, size, writer->file) == size ? STATUS_OK : failed(writer, err);
}

static bool write_index(struct data_writer *writer)
{
  size_t entry_bytes = writer->entries.count * sizeof *writer->entries.items;
  struct data_file_head head = {.magic = DATA_FILE_MAGIC,
                                .version = DATA_FILE_VERSION,
                                .count = writer->entries.count,
                                .index_offset = writer->offset,
                                .text_bytes = writer->texts.length};
  if (entry_bytes > 0) { // there are texts, too
    uLong crc = crc32_z(0, (unsigned char *)writer->entries.items, entry_bytes);
    head.index_crc32 = (uint32_t)crc32_z(crc, (unsigned char *)writer->texts.data, writer->texts.length);
    fwrite(writer->entries.items, 1, entry_bytes, writer->file);
    fwrite(writer->texts.data, 1, writer->texts.length, writer->file);
  }
  head.head_crc32 = data_file_head_crc32(&head);
  return fseeko(writer->file, 0, SEEK_SET) == 0 && fwrite(&head, sizeof head, 1, writer->file) == 1 &&
         fflush(writer->file) == 0 && ferror(writer->file) == 0 && fsync(fileno(writer->file)) == 0;
}

enum status data_writer_finish(struct data_writer *writer, struct error *err)
{
  if (!write_index(writer))
    return failed(writer, err);
  if (file_place(unfinished, writer->path, writer->may_replace) != 0)
    return error_set_errno(err, errno == EEXIST ? STATUS_USE : STATUS_SYSTEM, what, writer->path,
                           "--force, or another name");
  unfinished[0] = 0;
  return STATUS_OK;
}

void data_writer_close(struct data_writer *writer)
{
  if (writer == NULL)
    return;
  if (writer->file != NULL)
    fclose(writer->file);
  data_writer_unfinished_remove();
  unfinished[0] = 0;
  vector_done(&writer->entries);
  vector_done(&writer->label_places);
  interner_done(&writer->labels);
  buf_done(&writer->texts);
  free(writer);
}
