// SPDX-License-Identifier: Apache-2.0
// Writes and opens files of parts (parts.h). Called by page.c and run.c; opened by a server, through report.h.
#include "report/page/parts.h"
#include "base/input_file.h"
#include "base/scoped.h"
#include "base/sorted.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// The head of a level. Then rows, and the arrays in the order of `arrays`.
struct level_head {
  uint64_t count, row_count;
  int64_t first_ns, below_ns;
  uint64_t has_merged, has_contexts;
};
struct array { // of a level
  void **values;
  size_t width;
  bool is_there;
};
#define ARRAYS 10
static void list_arrays(struct page_spans *spans, const struct level_head *head, struct array arrays[ARRAYS])
{
  const struct array all[ARRAYS] = {{(void **)&spans->start_ns, 8, true},
                                    {(void **)&spans->duration_ns, 8, true},
                                    {(void **)&spans->id, 8, true},
                                    {(void **)&spans->busy_ns, 8, head->has_merged},
                                    {(void **)&spans->name, 4, true},
                                    {(void **)&spans->parent, 4, true},
                                    {(void **)&spans->launch, 4, true},
                                    {(void **)&spans->context, 4, head->has_contexts},
                                    {(void **)&spans->merged, 4, head->has_merged},
                                    {(void **)&spans->attributes, 1, true}};
  memcpy(arrays, all, sizeof all);
}

// ---- writing -----------------------------------------------------------------------------------------------------------
static size_t padding(size_t length)
{
  return -length % PARTS_ALIGNMENT;
}

size_t parts_begin(struct buf *out, const char *id)
{
  struct parts_record record = {.length = 0};
  size_t place = out->length;
  snprintf(record.id, sizeof record.id, "%s", id);
  buf_put(out, &record, sizeof record);
  return place;
}

void parts_end(struct buf *out, size_t place)
{
  static const char zeros[PARTS_ALIGNMENT];
  if (out->failed)
    return;
  uint64_t length = out->length - place - sizeof(struct parts_record);
  memcpy(out->data + place + offsetof(struct parts_record, length), &length, sizeof length);
  buf_put(out, zeros, padding(length));
}

void parts_put_level(struct export_file *file, size_t run, unsigned level, const struct page_spans *spans,
                     const struct page_rows *rows, int64_t first_ns, int64_t below_ns)
{
  static const char zeros[PARTS_ALIGNMENT];
  struct page_spans written = *spans;
  struct array arrays[ARRAYS];
  struct parts_record record = {.is_level = true};
  const struct level_head head = {spans->count, rows->row_count,       first_ns,
                                  below_ns,     spans->merged != NULL, spans->context != NULL};
  list_arrays(&written, &head, arrays);
  size_t row_bytes = rows->row_count * sizeof *rows->rows;
  record.length = sizeof head + row_bytes;
  for (size_t i = 0; i < ARRAYS; i++)
    record.length += arrays[i].is_there ? spans->count * arrays[i].width : 0;
  snprintf(record.id, sizeof record.id, "%zu-level-%u", run, level);
  export_file_put_bytes(file, &record, sizeof record);
  export_file_put_bytes(file, &head, sizeof head);
  export_file_put_bytes(file, rows->rows, row_bytes);
  for (size_t i = 0; i < ARRAYS; i++)
    if (arrays[i].is_there)
      export_file_put_bytes(file, *arrays[i].values, spans->count * arrays[i].width);
  export_file_put_bytes(file, zeros, padding(record.length));
}

// ---- reading -----------------------------------------------------------------------------------------------------------
static bool rows_fit(const struct page_rows *rows, size_t count)
{
  size_t next = 0;
  for (size_t i = 0; i < rows->row_count; i++) {
    if (rows->rows[i].first != next || rows->rows[i].count > count - next)
      return false;
    next += rows->rows[i].count;
  }
  return next == count;
}

static bool read_level(char *bytes, size_t length, struct parts_level *level)
{
  struct level_head head;
  struct array arrays[ARRAYS];
  if (length < sizeof head)
    return false;
  memcpy(&head, bytes, sizeof head);
  size_t at = sizeof head;
  if (head.row_count > (length - at) / sizeof(struct page_row) || head.count >= UINT32_MAX)
    return false;
  level->rows = (struct page_rows){
      .rows = (struct page_row *)(void *)(bytes + at), .row_count = head.row_count, .span_count = head.count};
  at += head.row_count * sizeof(struct page_row);
  list_arrays(&level->spans, &head, arrays);
  for (size_t i = 0; i < ARRAYS; i++) {
    if (!arrays[i].is_there)
      continue;
    if (head.count > (length - at) / arrays[i].width)
      return false;
    *arrays[i].values = bytes + at;
    at += head.count * arrays[i].width;
  }
  level->spans.count = head.count;
  level->first_ns = head.first_ns;
  level->below_ns = head.below_ns;
  return at == length && rows_fit(&level->rows, head.count);
}

static bool add_level(struct report_parts *parts, const struct parts_record *record)
{
  size_t run;
  unsigned level;
  if (sscanf(record->id, "%zu-level-%u", &run, &level) != 2 || level >= PARTS_LEVELS_MOST)
    return false;
  if (level == 0)
    vector_add(&parts->runs)->run = run;
  struct parts_run *last = parts->runs.count > 0 ? &parts->runs.items[parts->runs.count - 1] : NULL;
  if (last == NULL || last->run != run || last->level_count != level)
    return false;
  struct parts_level *added = &last->levels[last->level_count++];
  return read_level((char *)(uintptr_t)(record + 1), record->length, added) &&
         added->rows.row_count == last->levels[0].rows.row_count;
}

SORTED_BY(compare_ids, struct parts_record *const, strcmp((*a)->id, (*b)->id))

static bool read_records(struct report_parts *parts)
{
  size_t at = sizeof PARTS_MAGIC - 1;
  if (parts->size < at || memcmp(parts->bytes, PARTS_MAGIC, at) != 0)
    return false;
  while (at < parts->size) {
    if (parts->size - at < sizeof(struct parts_record))
      return false;
    const struct parts_record *record = (const void *)(parts->bytes + at);
    at += sizeof *record;
    if (record->length > parts->size - at || memchr(record->id, 0, sizeof record->id) == NULL ||
        (record->is_level && !add_level(parts, record)))
      return false;
    if (!record->is_level)
      *vector_add(&parts->packed) = record;
    at += record->length + padding(record->length);
  }
  vector_sort(&parts->packed, compare_ids);
  return at == parts->size;
}

enum status report_parts_open(const char *path, struct report_parts **ret_parts, struct error *err)
{
  struct stat facts;
  int file SCOPED(scoped_close) = -1;
  *ret_parts = NULL;
  XSP_TRY(input_file_open(path, INPUT_FILE_REGULAR, "cannot read", &file, &facts, err));
  size_t size = (size_t)facts.st_size;
  void *bytes = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0) : NULL;
  if (bytes == MAP_FAILED)
    return error_set_errno(err, STATUS_SYSTEM, "cannot read", path, NULL);
  struct report_parts *parts = memory_new(1, sizeof *parts);
  parts->bytes = bytes;
  parts->size = size;
  if (!read_records(parts)) {
    report_parts_close(parts);
    return error_set(err, STATUS_INPUT, "cannot read", path, "removing it: it is made again",
                     "it is not a complete file of a page's parts");
  }
  *ret_parts = parts;
  return STATUS_OK;
}

void report_parts_close(struct report_parts *parts)
{
  if (parts == NULL)
    return;
  munmap(parts->bytes, parts->size);
  vector_done(&parts->packed);
  vector_done(&parts->runs);
  free(parts);
}

bool report_parts_get(const struct report_parts *parts, const char *id, struct slice *ret_bytes)
{
  size_t at = PARTITION_POINT(i, 0, parts->packed.count, strcmp(parts->packed.items[i]->id, id) < 0);
  const struct parts_record *record = at < parts->packed.count ? parts->packed.items[at] : NULL;
  if (record == NULL || strcmp(record->id, id) != 0)
    return false;
  *ret_bytes = (struct slice){(const char *)(record + 1), record->length};
  return true;
}

const struct parts_run *parts_run_of(const struct report_parts *parts, size_t run)
{
  for (size_t i = 0; i < parts->runs.count; i++)
    if (parts->runs.items[i].run == run)
      return &parts->runs.items[i];
  return NULL;
}
