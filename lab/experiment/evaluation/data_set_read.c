// SPDX-License-Identifier: Apache-2.0
// Reads labelled inputs; see data_set.h. Folders and tables are of others: links to folders are not followed, sizes are bounded.
// Called by the verb evaluate.
#include "experiment/evaluation/data_set.h"

#include "base/input_file.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "experiment/evaluation/coco.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define LINE_BYTES_MOST 65536

static const char what[] = "cannot read the data set";

struct reading {
  struct arena *arena;
  const char *path;
  VECTOR(struct data_item) items;
  size_t left_out;
  struct error *err;
};

static enum status add_item(struct reading *reading, const char *path, const char *label,
                            const struct data_file_item *part)
{
  if (reading->items.count == DATA_ITEMS_MOST)
    return error_set(reading->err, STATUS_INPUT, what, reading->path, NULL, "it has more than %d items",
                     DATA_ITEMS_MOST);
  *vector_add(&reading->items) = (struct data_item){path, label, DATA_NO_CLASS, part, 0, 0};
  return STATUS_OK;
}

// ---- folders ---------------------------------------------------------------------------------------------------------
static bool is_picture(const char *name)
{
  const char *dot = strrchr(name, '.');
  return dot != NULL && (strcasecmp(dot, ".png") == 0 || strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
}

static int is_visible(const struct dirent *entry)
{
  return entry->d_name[0] != '.';
}

static enum status read_folder(struct reading *reading, const char *folder, const char *label);

static enum status read_entry(struct reading *reading, const char *folder, const char *name, const char *label)
{
  struct stat facts;
  const char *path = arena_format(reading->arena, "%s/%s", folder, name);
  bool is_class = label == NULL && lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
  if (is_class)
    return read_folder(reading, path, strrchr(path, '/') + 1);
  if (is_picture(name))
    return add_item(reading, path, label, NULL);
  reading->left_out++;
  return STATUS_OK;
}

static enum status read_folder(struct reading *reading, const char *folder, const char *label)
{
  struct dirent **entries = NULL;
  int count = scandir(folder, &entries, is_visible, alphasort);
  enum status status = STATUS_OK;
  if (count < 0)
    return error_set_errno(reading->err, STATUS_INPUT, what, folder, "a folder that can be read");
  for (int i = 0; i < count; i++) {
    if (status == STATUS_OK)
      status = read_entry(reading, folder, entries[i]->d_name, label);
    free(entries[i]);
  }
  free(entries);
  return status;
}

// ---- tables ----------------------------------------------------------------------------------------------------------
// Cuts the next field of *rest, with its quotes taken off. NULL: a quote does not end.
static char *cut_field(char **rest)
{
  char *text = *rest;
  if (text[0] != '"') {
    strsep(rest, ",");
    return text;
  }
  char *to = text;
  for (const char *from = text + 1; *from != 0; from++) {
    if (*from == '"' && *++from != '"') {
      *rest = *from == ',' ? text + (from - text) + 1 : NULL;
      *to = 0;
      return *from == ',' || *from == 0 ? text : NULL;
    }
    *to++ = *from;
  }
  return NULL;
}

static enum status read_line(struct reading *reading, char *line, size_t number, const char *folder)
{
  char place[600], *rest = line, *file = cut_field(&rest), *label = rest != NULL ? cut_field(&rest) : NULL;
  snprintf(place, sizeof place, "%.500s:%zu", reading->path, number);
  if (file == NULL || rest != NULL || file[0] == 0)
    return error_set(reading->err, STATUS_INPUT, what, place, "FILE,LABEL", "the line is not a file and its label");
  if (number == 1 && strcasecmp(file, "file") == 0)
    return STATUS_OK;
  const char *path = file[0] == '/' ? arena_copy(reading->arena, file, strlen(file))
                                    : arena_format(reading->arena, "%s%s", folder, file);
  bool has_label = label != NULL && label[0] != 0;
  return add_item(reading, path, has_label ? arena_copy(reading->arena, label, strlen(label)) : NULL, NULL);
}

static enum status read_table(struct reading *reading)
{
  FILE *file SCOPED(scoped_fclose) = NULL;
  char *line SCOPED(scoped_free) = memory_new(LINE_BYTES_MOST, 1);
  const char *slash = strrchr(reading->path, '/');
  const char *folder =
      arena_copy(reading->arena, reading->path, slash != NULL ? (size_t)(slash + 1 - reading->path) : 0);
  XSP_TRY(input_file_stream(reading->path, INPUT_FILE_REGULAR, what, &file, reading->err));
  data_set_skip_mark(file);
  for (size_t number = 1; fgets(line, LINE_BYTES_MOST, file) != NULL; number++) {
    size_t length = strcspn(line, "\r\n");
    if (line[length] == 0 && length + 1 == LINE_BYTES_MOST)
      return error_set(reading->err, STATUS_INPUT, what, reading->path, NULL, "line %zu is longer than %d bytes",
                       number, LINE_BYTES_MOST - 1);
    line[length] = 0;
    if (length > 0)
      XSP_TRY(read_line(reading, line, number, folder));
  }
  return STATUS_OK;
}

// ---- one file --------------------------------------------------------------------------------------------------------
static enum status read_data_file(struct reading *reading)
{
  struct data_file file;
  XSP_TRY(data_file_open(reading->path, reading->arena, &file, reading->err));
  data_file_close(&file);
  for (size_t i = 0; i < file.count; i++)
    XSP_TRY(add_item(reading, reading->path, file.items[i].label, &file.items[i]));
  return STATUS_OK;
}

// ---- all -------------------------------------------------------------------------------------------------------------
static void list_labels(struct arena *arena, struct data_set *set)
{
  set->labels = arena_alloc_array(arena, set->count + 1, sizeof *set->labels);
  size_t count = 0;
  for (size_t i = 0; i < set->count; i++)
    if (set->items[i].label != NULL)
      set->labels[count++] = set->items[i].label;
  qsort(set->labels, count, sizeof *set->labels, sorted_compare_text);
  for (size_t i = 0; i < count; i++)
    if (set->label_count == 0 || strcmp(set->labels[set->label_count - 1], set->labels[i]) != 0)
      set->labels[set->label_count++] = set->labels[i];
}

static bool is_json(const char *path)
{
  const char *dot = strrchr(path, '.');
  return dot != NULL && strcasecmp(dot, ".json") == 0;
}

const char *data_label_path(const struct data_set *set, const struct data_item *item, struct arena *arena)
{
  struct stat facts;
  if (item->label == NULL || item->label[0] == '/')
    return item->label;
  if (stat(set->place, &facts) == 0 && S_ISDIR(facts.st_mode))
    return arena_format(arena, "%s/%s", set->place, item->label);
  const char *slash = strrchr(set->place, '/');
  return arena_format(arena, "%.*s%s", slash != NULL ? (int)(slash + 1 - set->place) : 0, set->place, item->label);
}

void data_set_leave_out(struct data_set *set, size_t item)
{
  size_t kept = 0;
  memmove(&set->items[item], &set->items[item + 1], (--set->count - item) * sizeof *set->items);
  for (size_t i = 0; i < set->box_count; i++) {
    struct data_box box = set->boxes[i];
    if (box.item == item)
      continue;
    box.item -= box.item > item;
    set->boxes[kept++] = box;
  }
  set->box_count = kept;
  set->unreadable++;
}

struct runner_picture data_item_picture(const struct data_item *item)
{
  struct runner_picture picture = {.path = item->path};
  if (item->part != NULL) {
    picture.name = item->part->name;
    picture.offset = item->part->offset;
    picture.size = item->part->size;
    picture.crc32 = item->part->crc32;
  }
  return picture;
}

static void reading_done(struct reading *reading)
{
  vector_done(&reading->items);
}

enum status data_set_read(const char *path, bool with_masks, struct arena *arena, struct data_set *ret_set,
                          struct error *err)
{
  struct stat facts;
  struct reading reading SCOPED(reading_done) = {.arena = arena, .path = path, .err = err};
  *ret_set = (struct data_set){.path = path, .place = path};
  if (stat(path, &facts) != 0)
    return error_set_errno(err, STATUS_INPUT, what, path, "a folder, a .csv, .json or .xspd file");
  if (!S_ISDIR(facts.st_mode) && is_json(path))
    return coco_read(path, with_masks, arena, ret_set, err);
  XSP_TRY(S_ISDIR(facts.st_mode)       ? read_folder(&reading, path, NULL)
          : data_file_recognizes(path) ? read_data_file(&reading)
                                       : read_table(&reading));
  if (reading.items.count == 0)
    return error_set(err, STATUS_INPUT, what, path, "FOLDER/LABEL/*.png, or a .csv file", "there are no pictures");
  ret_set->count = reading.items.count;
  ret_set->items = arena_alloc_array(arena, reading.items.count, sizeof *ret_set->items);
  memcpy(ret_set->items, reading.items.items, reading.items.count * sizeof *ret_set->items);
  ret_set->left_out = reading.left_out;
  list_labels(arena, ret_set);
  return STATUS_OK;
}
