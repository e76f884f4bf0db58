// SPDX-License-Identifier: Apache-2.0
// Names of a model's classes, and which class a label of a data set is. Called by the verb evaluate.
#include "experiment/evaluation/data_set.h"

#include "base/input_file.h"
#include "base/memory.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABELS_MOST 1000000
#define LINE_BYTES_MOST 65536

void data_set_skip_mark(FILE *file)
{
  char mark[3];
  if (fread(mark, 1, sizeof mark, file) != sizeof mark || memcmp(mark, "\xef\xbb\xbf", sizeof mark) != 0)
    rewind(file);
}

enum status data_labels_read(const char *path, struct arena *arena, const char ***ret_labels, size_t *ret_count,
                             struct error *err)
{
  static const char what[] = "cannot read the labels";
  FILE *file SCOPED(scoped_fclose) = NULL;
  VECTOR(const char *) labels SCOPED(vector_end) = {0};
  char *line SCOPED(scoped_free) = memory_new(LINE_BYTES_MOST, 1);
  *ret_count = 0;
  XSP_TRY(input_file_stream(path, INPUT_FILE_REGULAR, what, &file, err));
  data_set_skip_mark(file);
  while (fgets(line, LINE_BYTES_MOST, file) != NULL) {
    size_t length = strcspn(line, "\r\n");
    if (labels.count == LABELS_MOST || (line[length] == 0 && length + 1 == LINE_BYTES_MOST))
      return error_set(err, STATUS_INPUT, what, path, "a line for each class",
                       "it has more than %d lines, or one of more than %d bytes", LABELS_MOST, LINE_BYTES_MOST - 1);
    *vector_add(&labels) = arena_copy(arena, line, length);
  }
  if (ferror(file) != 0)
    return error_set_errno(err, STATUS_INPUT, what, path, "another file");
  if (labels.count == 0)
    return error_set(err, STATUS_INPUT, what, path, "a line for each class", "it is empty");
  *ret_count = labels.count;
  *ret_labels = arena_alloc_array(arena, labels.count + 1, sizeof **ret_labels);
  memcpy(*ret_labels, labels.items, labels.count * sizeof *labels.items);
  return STATUS_OK;
}

// ---- which class a label is ------------------------------------------------------------------------------------------
static size_t place_in_order(const struct data_set *set, const char *label)
{
  return PARTITION_POINT(i, 0, set->label_count, strcmp(set->labels[i], label) < 0);
}

size_t data_set_labels_among(const struct data_set *set, size_t count)
{
  bool *is_there SCOPED(scoped_free) = memory_new(set->label_count + 1, sizeof *is_there);
  size_t found = 0;
  for (size_t i = 0; i < count && i < set->count; i++)
    if (set->items[i].label != NULL)
      is_there[place_in_order(set, set->items[i].label)] = true;
  for (size_t i = 0; i < set->label_count; i++)
    found += is_there[i];
  return found;
}

// Of a line "n01440764 tench, Tinca tinca" also its first word; but "tiger" is not "tiger cat" where there is a line "tiger".
static size_t place_by_name(const char *label, const char *const *labels, size_t count)
{
  size_t length = strlen(label), place = DATA_NO_CLASS;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(labels[i], label) == 0)
      return i;
    if (place == DATA_NO_CLASS && strncmp(labels[i], label, length) == 0 && labels[i][length] == ' ')
      place = i;
  }
  return place;
}

static size_t place_by_number(const char *label)
{
  char *end = NULL;
  bool is_number = label[0] >= '0' && label[0] <= '9' && strlen(label) < 10;
  size_t number = is_number ? strtoul(label, &end, 10) : 0;
  return is_number && *end == 0 ? number : DATA_NO_CLASS;
}

enum data_resolution data_set_resolve(struct data_set *set, const char *const *labels, size_t label_count)
{
  size_t *places SCOPED(scoped_free) = memory_new(set->label_count + 1, sizeof *places);
  size_t known = 0, numbers = 0;
  for (size_t i = 0; i < set->label_count; i++) {
    places[i] = place_by_name(set->labels[i], labels, label_count);
    known += places[i] != DATA_NO_CLASS;
    numbers += place_by_number(set->labels[i]) != DATA_NO_CLASS;
  }
  enum data_resolution how = set->label_count == 0         ? DATA_UNLABELLED
                             : known > 0                   ? DATA_BY_NAME
                             : numbers == set->label_count ? DATA_BY_NUMBER
                                                           : DATA_BY_ORDER;
  for (size_t i = 0; i < set->label_count && how != DATA_BY_NAME; i++)
    places[i] = how == DATA_BY_NUMBER ? place_by_number(set->labels[i]) : i;
  for (size_t i = 0; i < set->count; i++)
    set->items[i].place =
        set->items[i].label != NULL ? places[place_in_order(set, set->items[i].label)] : DATA_NO_CLASS;
  for (size_t i = 0; i < set->category_count; i++) {
    struct data_category *category = &set->categories[i];
    category->place = labels != NULL     ? place_by_name(category->name, labels, label_count)
                      : category->id < 0 ? DATA_NO_CLASS
                                         : (size_t)category->id;
  }
  return how;
}
