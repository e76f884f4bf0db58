// SPDX-License-Identifier: Apache-2.0
// xsp data info and extract: what is in a data set in one file. info reads every byte, and compares all checksums.
#include "base/file_place.h"
#include "base/interner.h"
#include "data/data.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb_data/data.h"
#include "table/builder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- info ------------------------------------------------------------------------------------------------------------
struct counts {
  int64_t items, bytes;
};
struct summary {
  struct counts all, labelled;
  struct interner labels;
  VECTOR(struct counts) of_label;
};

static void count_item(struct counts *counts, const struct data_file_item *item)
{
  counts->items++;
  counts->bytes += (int64_t)item->size;
}

static enum status summarize(const struct data_file *file, struct summary *summary, struct error *err)
{
  struct buf bytes SCOPED(buf_done);
  buf_init(&bytes, DATA_ITEM_BYTES_MOST);
  for (size_t i = 0; i < file->count; i++) {
    const struct data_file_item *item = &file->items[i];
    XSP_TRY(data_file_read(file->file, file->path, item, &bytes, err));
    count_item(&summary->all, item);
    if (item->label == NULL)
      continue;
    count_item(&summary->labelled, item);
    uint32_t id = interner_at(&summary->labels, item->label, strlen(item->label));
    if (id == summary->of_label.count)
      (void)vector_add(&summary->of_label);
    count_item(&summary->of_label.items[id], item);
  }
  return STATUS_OK;
}

static void data_set_table(const struct data_file *file, const struct summary *summary, const char *sha256,
                           struct arena *arena, struct table *ret_table)
{
  struct table_builder table;
  table_start(&table, arena);
  table_row(&table);
  table_put(&table, "items", cell_int(summary->all.items));
  table_put(&table, "labelled", cell_int(summary->labelled.items));
  table_put(&table, "labels", cell_int((int64_t)summary->of_label.count));
  table_put(&table, "data_bytes", cell_int(summary->all.bytes));
  table_put(&table, "file_bytes", cell_int((int64_t)file->size));
  table_put(&table, "sha256", cell_text(sha256));
  *ret_table = (struct table){.id = "data_set", .title = file->path};
  table_answer(&table, ret_table);
}

static void labels_table(const struct summary *summary, struct arena *arena, struct table *ret_table)
{
  struct table_builder table;
  table_start(&table, arena);
  for (size_t i = 0; i < summary->of_label.count; i++) {
    table_row(&table);
    table_put(&table, "label", cell_text(interner_text(&summary->labels, (uint32_t)i).data));
    table_put(&table, "items", cell_int(summary->of_label.items[i].items));
    table_put(&table, "data_bytes", cell_int(summary->of_label.items[i].bytes));
  }
  *ret_table = (struct table){.id = "labels", .title = "items of each label"};
  table_answer(&table, ret_table);
}

static void items_table(const struct data_file *file, struct arena *arena, struct table *ret_table)
{
  struct table_builder table;
  table_start(&table, arena);
  for (size_t i = 0; i < file->count; i++) {
    table_row(&table);
    table_put(&table, "name", cell_text(file->items[i].name));
    table_put(&table, "label", cell_text(file->items[i].label));
    table_put(&table, "bytes", cell_int((int64_t)file->items[i].size));
  }
  *ret_table = (struct table){.id = "items", .title = "items"};
  table_answer(&table, ret_table);
}

static enum status print_info(const struct data_call *call, const struct data_file *file, const struct summary *summary,
                              const char *sha256, struct arena *arena, struct error *err)
{
  struct table tables[3];
  size_t count = 0;
  data_set_table(file, summary, sha256, arena, &tables[count++]);
  if (summary->of_label.count > 0)
    labels_table(summary, arena, &tables[count++]);
  if (invocation_has(call->invocation, "list") && file->count > 0)
    items_table(file, arena, &tables[count++]);
  return output_tables(tables, count, call->format, true, err);
}

enum status data_info(const struct data_call *call, struct arena *arena, struct error *err)
{
  struct data_file file;
  struct summary summary = {0};
  char sha256[CHECKSUM_TEXT_SIZE];
  XSP_TRY(data_file_open(call->arguments[0], arena, &file, err));
  enum status status = summarize(&file, &summary, err);
  if (status == STATUS_OK)
    status = checksum_of_file(file.path, sha256, err);
  if (status == STATUS_OK)
    status = print_info(call, &file, &summary, sha256, arena, err);
  data_file_close(&file);
  interner_done(&summary.labels);
  vector_done(&summary.of_label);
  return status;
}

// ---- extract ---------------------------------------------------------------------------------------------------------
static enum status cannot_write(const char *path, struct error *err)
{
  return error_set_errno(err, errno == EEXIST ? STATUS_USE : STATUS_SYSTEM, "cannot write", path,
                         "--force, or another -o");
}

// The folders of `path`, and a new file next to it.
static enum status write_file(const char *path, bool may_replace, const struct buf *bytes, struct error *err)
{
  char folder[PATH_MAX];
  for (size_t length = 1; path[length + strcspn(path + length, "/")] != 0; length++) {
    length += strcspn(path + length, "/");
    snprintf(folder, sizeof folder, "%.*s", (int)length, path);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
      return cannot_write(folder, err);
  }
  return file_place_whole(path, bytes->data, bytes->length, may_replace) ? STATUS_OK : cannot_write(path, err);
}

static enum status extract(const struct data_call *call, const struct data_file *file,
                           const struct data_file_item *item, struct arena *arena, struct error *err)
{
  const char *folder = invocation_value(call->invocation, "output");
  struct buf bytes SCOPED(buf_done);
  buf_init(&bytes, DATA_ITEM_BYTES_MOST);
  XSP_TRY(data_file_read(file->file, file->path, item, &bytes, err));
  if (folder != NULL && strcmp(folder, "-") == 0)
    return output_buf(&bytes, err);
  return write_file(arena_format(arena, "%s/%s", folder != NULL ? folder : ".", item->name),
                    invocation_has(call->invocation, "force"), &bytes, err);
}

static enum status extract_named(const struct data_call *call, const struct data_file *file, const char *name,
                                 struct arena *arena, struct error *err)
{
  for (size_t i = 0; i < file->count; i++)
    if (strcmp(file->items[i].name, name) == 0)
      return extract(call, file, &file->items[i], arena, err);
  return error_set(err, STATUS_INPUT, "cannot extract", file->path, "a name that `xsp data info --list` prints",
                   "it has no item %s", name);
}

enum status data_info_extract(const struct data_call *call, struct arena *arena, struct error *err)
{
  struct data_file file;
  XSP_TRY(data_file_open(call->arguments[0], arena, &file, err));
  enum status status = STATUS_OK;
  for (size_t i = 0; call->count == 1 && i < file.count && status == STATUS_OK; i++)
    status = extract(call, &file, &file.items[i], arena, err);
  for (size_t i = 1; i < call->count && status == STATUS_OK; i++)
    status = extract_named(call, &file, call->arguments[i], arena, err);
  data_file_close(&file);
  return status;
}
