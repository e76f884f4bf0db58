// SPDX-License-Identifier: Apache-2.0
// Typed reading of tags into the caller's arena, all of them or those of some keys, one part at a time.
#include "base/memory.h"
#include "store/problem.h"
#include "store/store_private.h"

#include <stdlib.h>
#include <string.h>

// Which tags are wanted: all, or those of some keys.
struct tag_filter {
  const uint32_t *keys; // NULL: all
  size_t key_count;
  uint32_t least, most; // of keys
};

static bool is_wanted(const struct tag_filter *filter, uint32_t key)
{
  if (filter->keys == NULL)
    return true;
  for (size_t i = 0; i < filter->key_count; i++)
    if (filter->keys[i] == key && key != 0)
      return true;
  return false;
}

static bool may_have(const struct tag_filter *filter, const struct part *part)
{
  return filter->keys == NULL ||
         (part->slot[TAG_KEY].minimum <= filter->most && part->slot[TAG_KEY].maximum >= filter->least);
}

static enum status check_tag(struct store *store, const struct store_tag *tag, struct error *err)
{
  if (tag->type != STORE_TEXT || tag->value.string < strings_count(store->reader.strings) || tag->value.string == 0)
    return STATUS_OK;
  return problem_broken(err, store->path, "a tag refers to string %u, which does not exist", tag->value.string);
}

// One part's columns, past the cache: a run may have many times as many tags as the cache holds.
struct tag_rows {
  int64_t span_id[STORE_CHUNK_ROWS], value[STORE_CHUNK_ROWS];
  uint32_t key[STORE_CHUNK_ROWS];
  uint8_t type[STORE_CHUNK_ROWS];
};
struct tag_reading {
  struct store *store;
  const struct series *series;
  struct tag_filter filter;
  struct tag_rows *rows;
};

// Leaves the part's keys in reading->rows where it has wanted ones.
static enum status count_part(struct tag_reading *reading, const struct part *part, size_t *ret_count,
                              struct error *err)
{
  *ret_count = reading->filter.keys == NULL ? part->row_count : 0;
  if (!may_have(&reading->filter, part))
    return STATUS_OK;
  const uint32_t *keys = reading->rows->key;
  XSP_TRY(reader_part_column(&reading->store->reader, reading->series, part, TAG_KEY, reading->rows->key, err));
  for (uint32_t i = 0; i < part->row_count && reading->filter.keys != NULL; i++)
    *ret_count += is_wanted(&reading->filter, keys[i]);
  return STATUS_OK;
}

// Behind count_part, as many as it counted.
static enum status fill_tags(struct tag_reading *reading, const struct part *part, struct store_tag *tags,
                             struct error *err)
{
  struct reader *reader = &reading->store->reader;
  struct tag_rows *rows = reading->rows;
  XSP_TRY(reader_part_column(reader, reading->series, part, TAG_SPAN_ID, rows->span_id, err));
  XSP_TRY(reader_part_column(reader, reading->series, part, TAG_TYPE, rows->type, err));
  XSP_TRY(reader_part_column(reader, reading->series, part, TAG_VALUE, rows->value, err));
  for (uint32_t i = 0; i < part->row_count; i++) {
    if (!is_wanted(&reading->filter, rows->key[i]))
      continue;
    struct store_tag *tag = tags++;
    *tag = (struct store_tag){.span_id = rows->span_id[i], .key = rows->key[i], .type = rows->type[i]};
    if (tag->type == STORE_TEXT)
      tag->value.string = rows->value[i] < 0 || rows->value[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)rows->value[i];
    else
      memcpy(&tag->value, &rows->value[i], sizeof rows->value[i]);
    XSP_TRY(check_tag(reading->store, tag, err));
  }
  return STATUS_OK;
}

static enum status read_tags(struct tag_reading *reading, struct arena *arena, struct store_tag **ret_tags,
                             size_t *ret_count, struct error *err)
{
  const struct series *series = reading->series;
  size_t count = 0;
  size_t more;
  for (size_t i = 0; i < series->part_count; i++) {
    more = series->parts[i].row_count;
    if (reading->filter.keys != NULL)
      XSP_TRY(count_part(reading, &series->parts[i], &more, err));
    count += more;
  }
  XSP_TRY(reader_check_memory(&reading->store->reader, series, TAG_VALUE, count, sizeof(struct store_tag), err));
  struct store_tag *tags = arena_alloc_array(arena, count, sizeof *tags);
  *ret_tags = tags;
  *ret_count = count;
  for (size_t i = 0; i < series->part_count; i++) {
    XSP_TRY(count_part(reading, &series->parts[i], &more, err));
    if (more > 0)
      XSP_TRY(fill_tags(reading, &series->parts[i], tags, err));
    tags += more;
  }
  return STATUS_OK;
}

static enum status load_tags(struct store *store, int64_t run_id, const struct tag_filter *filter, struct arena *arena,
                             struct store_tag **ret_tags, size_t *ret_count, struct error *err)
{
  struct series *series;
  bool has_derived;
  XSP_TRY(store_find_series(store, run_id, SERIES_TAG, &series, &has_derived, err));
  if (series == NULL)
    return STATUS_OK;
  struct tag_reading reading = {store, series, *filter, memory_new(1, sizeof *reading.rows)};
  struct store_tag *tags = NULL;
  size_t count = 0;
  enum status status = read_tags(&reading, arena, &tags, &count, err);
  free(reading.rows);
  if (status == STATUS_OK) {
    *ret_tags = tags;
    *ret_count = count;
  }
  return status;
}

enum status store_load_tags(struct store *store, int64_t run_id, struct arena *arena, struct store_tag **ret_tags,
                            size_t *ret_count, struct error *err)
{
  const struct tag_filter all = {0};
  *ret_tags = NULL;
  *ret_count = 0;
  return load_tags(store, run_id, &all, arena, ret_tags, ret_count, err);
}

enum status store_load_tags_of(struct store *store, int64_t run_id, const uint32_t *keys, size_t key_count,
                               struct arena *arena, struct store_tag **ret_tags, size_t *ret_count, struct error *err)
{
  struct tag_filter filter = {keys, key_count, UINT32_MAX, 0};
  *ret_tags = NULL;
  *ret_count = 0;
  for (size_t i = 0; i < key_count; i++)
    if (keys[i] != 0) {
      filter.least = keys[i] < filter.least ? keys[i] : filter.least;
      filter.most = keys[i] > filter.most ? keys[i] : filter.most;
    }
  if (filter.most == 0)
    return STATUS_OK;
  return load_tags(store, run_id, &filter, arena, ret_tags, ret_count, err);
}
