// SPDX-License-Identifier: Apache-2.0
// xsp data make and generate: data sets in one file, of folders and tables, or made up.
#include "base/input_file.h"
#include "base/interner.h"
#include "experiment/evaluation/data_set.h"
#include "processing/image.h"
#include "programs/xsp/output.h"
#include "programs/xsp/verb_data/data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SHOW_EVERY 1000 // items

struct making {
  const char *path;
  struct data_writer *writer;
  uint64_t items, bytes;
  struct interner names; // of items
  bool is_quiet;
  struct synthetic how; // of made-up pictures
  int64_t wanted_items;
};
typedef enum status fill_fn(struct making *making, const struct data_call *call, struct arena *arena,
                            struct error *err);

static enum status add(struct making *making, const char *name, const char *label, const struct buf *bytes,
                       struct error *err)
{
  char line[600];
  XSP_TRY(data_writer_add(making->writer, name, label, bytes->data, bytes->length, err));
  (void)interner_at(&making->names, name, strlen(name));
  making->items++;
  making->bytes += bytes->length;
  if (!making->is_quiet && making->items % SHOW_EVERY == 0) {
    snprintf(line, sizeof line, "%.500s: %" PRIu64 " items", making->path, making->items);
    output_progress(line, false);
  }
  return STATUS_OK;
}

static enum status make(struct making *making, const struct data_call *call, fill_fn *fill, struct arena *arena,
                        struct error *err)
{
  making->path = call->arguments[0];
  making->is_quiet = invocation_has(call->invocation, "quiet");
  output_catch_signals(output_remove_unfinished);
  enum status status = data_writer_open(making->path, invocation_has(call->invocation, "force"), &making->writer, err);
  if (status == STATUS_OK)
    status = fill(making, call, arena, err);
  if (status == STATUS_OK)
    status = data_writer_finish(making->writer, err);
  data_writer_close(making->writer);
  output_progress(NULL, true);
  uint64_t same = making->items - interner_count(&making->names);
  interner_done(&making->names);
  if (status == STATUS_OK && same > 0)
    output_message("xsp: %s: %" PRIu64
                   " items have the name of another one, as of sets with the same files: they cannot "
                   "be extracted side by side, and tables do not tell them apart",
                   making->path, same);
  if (status == STATUS_OK)
    output_note("xsp: wrote %s: %" PRIu64 " items, %" PRIu64 " bytes of data", making->path, making->items,
                making->bytes);
  return status;
}

// ---- of folders and tables -------------------------------------------------------------------------------------------
// The folder that names of items begin after: the source, or that of a table.
static struct slice folder_of(const char *source)
{
  struct stat facts;
  const char *slash = strrchr(source, '/');
  if (stat(source, &facts) == 0 && S_ISDIR(facts.st_mode))
    return slice_of(source);
  return (struct slice){source, slash != NULL ? (size_t)(slash - source) : 0};
}

// An item's path below `folder`, without parts that lead elsewhere.
static const char *name_of(const struct data_item *item, struct slice folder, struct arena *arena)
{
  if (item->part != NULL)
    return item->part->name;
  struct slice rest = slice_of(item->path), part;
  if (strncmp(item->path, folder.data, folder.length) == 0)
    rest = slice_after(rest, folder.length);
  char *name = arena_alloc(arena, rest.length + 1), *to = name;
  while (slice_cut(&rest, '/', &part))
    if (part.length > 0 && !slice_is(part, ".") && !slice_is(part, ".."))
      to += sprintf(to, "%s%.*s", to != name ? "/" : "", (int)part.length, part.data);
  return name;
}

static enum status read_item(const struct data_item *item, struct data_file *file, struct arena *arena,
                             struct buf *bytes, struct error *err)
{
  buf_clear(bytes);
  if (item->part == NULL)
    return input_file_read(item->path, "cannot read the picture", bytes, err);
  if (file->file < 0)
    XSP_TRY(data_file_open(item->path, arena, file, err));
  return data_file_read(file->file, item->path, item->part, bytes, err);
}

static enum status add_set(struct making *making, const char *source, struct arena *arena, struct error *err)
{
  struct data_set set;
  struct data_file file = {.file = -1};
  const struct slice folder = folder_of(source);
  struct buf bytes;
  buf_init(&bytes, DATA_ITEM_BYTES_MOST);
  enum status status = data_set_read(source, false, arena, &set, err);
  if (status == STATUS_OK && set.box_count > 0)
    status = error_set(err, STATUS_INPUT, "cannot make the data set", source, "--data with the .json file itself",
                       "an .xspd file has labels, no boxes");
  for (size_t i = 0; status == STATUS_OK && i < set.count; i++) {
    status = read_item(&set.items[i], &file, arena, &bytes, err);
    if (status == STATUS_OK)
      status = add(making, name_of(&set.items[i], folder, arena), set.items[i].label, &bytes, err);
  }
  data_file_close(&file);
  buf_done(&bytes);
  if (status == STATUS_OK && set.left_out > 0)
    output_message("xsp: %s: %zu files are not pictures by their names and were left out", source, set.left_out);
  return status;
}

static enum status fill_from_sets(struct making *making, const struct data_call *call, struct arena *arena,
                                  struct error *err)
{
  for (size_t i = 1; i < call->count; i++)
    XSP_TRY(add_set(making, call->arguments[i], arena, err));
  return STATUS_OK;
}

enum status data_make(const struct data_call *call, struct arena *arena, struct error *err)
{
  struct making making = {0};
  return make(&making, call, fill_from_sets, arena, err);
}

// ---- made up ---------------------------------------------------------------------------------------------------------
static enum status read_synthetic(const struct invocation *invocation, struct synthetic *how, int64_t *ret_items,
                                  struct error *err)
{
  const char *size = invocation_value(invocation, "size"), *encoding = invocation_value(invocation, "encoding");
  int64_t seed = 0;
  char end = 0;
  *how = (struct synthetic){.is_jpeg = strcmp(encoding, "jpeg") == 0};
  if (sscanf(size, "%ux%u%c", &how->height, &how->width, &end) != 2 || !image_size_is_possible(how->width, how->height))
    return error_set(err, STATUS_USE, "wrong use", "--size", "224x224", "%s is not HEIGHTxWIDTH of a picture", size);
  XSP_TRY(invocation_int64(invocation, "count", 1, DATA_ITEMS_MOST, ret_items, err));
  XSP_TRY(invocation_int64(invocation, "seed", 0, INT64_MAX, &seed, err));
  how->seed = (uint64_t)seed;
  return invocation_unsigned(invocation, "classes", 1, 100000, &how->classes, err);
}

static enum status fill_synthetic(struct making *making, const struct data_call *call, struct arena *arena,
                                  struct error *err)
{
  struct buf bytes SCOPED(buf_done) = {0};
  enum status status = STATUS_OK;
  for (int64_t i = 0; i < making->wanted_items && status == STATUS_OK; i++) {
    char label[24], name[64];
    snprintf(label, sizeof label, "%" PRId64, i % making->how.classes);
    snprintf(name, sizeof name, "%s/%07" PRId64 ".%s", label, i, making->how.is_jpeg ? "jpg" : "png");
    if (!synthetic_picture(&making->how, (uint64_t)i, &bytes))
      status =
          error_set(err, STATUS_MEMORY, "cannot make a picture", making->path, "a smaller --size", "out of memory");
    else
      status = add(making, name, label, &bytes, err);
  }
  return status;
}

enum status data_make_generate(const struct data_call *call, struct arena *arena, struct error *err)
{
  struct making making = {0};
  XSP_TRY(read_synthetic(call->invocation, &making.how, &making.wanted_items, err));
  return make(&making, call, fill_synthetic, arena, err);
}
