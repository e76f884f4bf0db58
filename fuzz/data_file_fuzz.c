// SPDX-License-Identifier: Apache-2.0
// Fuzzes data sets in one file. Checksums are put right, so that what is behind them is reached: an accepted item lies in the file,
// and none overlaps the one before.
#include "base/path_text.h"
#include "data/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_right(uint8_t *bytes, size_t size)
{
  struct data_file_head head;
  memcpy(&head, bytes, sizeof head);
  memcpy(head.magic, DATA_FILE_MAGIC, sizeof head.magic);
  head.version = DATA_FILE_VERSION;
  if (head.index_offset >= sizeof head && head.index_offset <= size)
    head.index_crc32 = (uint32_t)crc32_z(0, bytes + head.index_offset, size - head.index_offset);
  head.head_crc32 = data_file_head_crc32(&head);
  memcpy(bytes, &head, sizeof head);
}

static void check(const struct data_file *file)
{
  struct buf bytes = {0};
  uint64_t end = sizeof(struct data_file_head);
  for (size_t i = 0; i < file->count; i++) {
    const struct data_file_item *item = &file->items[i];
    if (item->offset < end || item->size > file->size - item->offset || !path_is_inner(item->name))
      abort();
    if (item->label != NULL && strlen(item->label) >= file->size)
      abort();
    end = item->offset + item->size;
    if (data_file_read(file->file, file->path, item, &bytes, NULL) == STATUS_OK && bytes.length != item->size)
      abort();
  }
  buf_done(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char path[64];
  struct arena arena = {0};
  struct data_file file;
  struct error err = {0};
  uint8_t *bytes = malloc(size + 1);
  if (bytes == NULL)
    return 0;
  if (size > 0)
    memcpy(bytes, data, size);
  if (size >= sizeof(struct data_file_head))
    put_right(bytes, size);
  int memory = memfd_create("xsp-fuzz", MFD_CLOEXEC);
  if (memory < 0 || write(memory, bytes, size) != (ssize_t)size)
    abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
  enum status status = data_file_open(path, &arena, &file, &err);
  if (status == STATUS_OK)
    check(&file);
  else if (status != STATUS_INPUT || err.why[0] == 0)
    abort();
  data_file_close(&file);
  close(memory);
  free(bytes);
  arena_done(&arena);
  return 0;
}
