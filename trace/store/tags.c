// SPDX-License-Identifier: Apache-2.0
// Typed reading of tags into the caller's arena, all of them or those of some keys, one part at a time.
#include "base/memory.h"
#include "store/handle.h"
#include "store/problem.h"

#include <stdlib.h>
#include <string.h>

// One part's columns, past the cache: a run may have many times as many tags as the cache holds.
struct tag_rows {
  int64_t span_id[STORE_CHUNK_ROWS], value[STORE_CHUNK_ROWS];
  uint32_t key[STORE_CHUNK_ROWS];
  uint8_t type[STORE_CHUNK_ROWS];
};
struct tag_reading {
  struct store *store;
  const struct reader_series *series;
  const uint32_t *keys; // those that are wanted; NULL: all
  size_t key_count;
  uint32_t least, most;      // of keys
  bool *is_wanted;           // by key - least; in scratch
  uint64_t first, end;       // only parts with some of these rows
  int64_t least_id, most_id; // of spans
  struct tag_rows *rows;     // owned
  struct arena scratch;
};

static bool is_wanted(const struct tag_reading *reading, uint32_t key)
{
  return reading->keys == NULL ||
         (key >= reading->least && key <= reading->most && reading->is_wanted[key - reading->least]);
}

static enum status read_keys(struct tag_reading *reading, const struct reader_part *part, struct error *err)
{
  return reader_part_column(&reading->store->reader, reading->series, part, TAG_KEY, reading->rows->key, err);
}

// How many wanted tags a part has, or, of some spans, at most. Leaves its keys in reading->rows where it has wanted ones.
static enum status count_part(struct tag_reading *reading, const struct reader_part *part, size_t *ret_count,
                              struct error *err)
{
  const struct reader_slot *slot = &part->slot[TAG_KEY], *ids = &part->slot[TAG_SPAN_ID];
  *ret_count = 0;
  if (part->first_row >= reading->end || part->first_row + part->row_count <= reading->first ||
      ids->minimum > reading->most_id || ids->maximum < reading->least_id)
    return STATUS_OK;
  *ret_count = reading->keys == NULL ? part->row_count : 0;
  if (reading->keys != NULL && (slot->minimum > reading->most || slot->maximum < reading->least))
    return STATUS_OK;
  XSP_TRY(read_keys(reading, part, err));
  for (uint32_t i = 0; i < part->row_count && reading->keys != NULL; i++)
    *ret_count += is_wanted(reading, reading->rows->key[i]);
  return STATUS_OK;
}

// After count_part or read_keys.
static enum status fill_tags(struct tag_reading *reading, const struct reader_part *part, struct store_tag *tags,
                             size_t *ret_count, struct error *err)
{
  const struct store_tag *first = tags;
  struct reader *reader = &reading->store->reader;
  struct tag_rows *rows = reading->rows;
  XSP_TRY(reader_part_column(reader, reading->series, part, TAG_SPAN_ID, rows->span_id, err));
  XSP_TRY(reader_part_column(reader, reading->series, part, TAG_TYPE, rows->type, err));
  XSP_TRY(reader_part_column(reader, reading->series, part, TAG_VALUE, rows->value, err));
  for (uint32_t i = 0; i < part->row_count; i++) {
    if (!is_wanted(reading, rows->key[i]) || rows->span_id[i] < reading->least_id ||
        rows->span_id[i] > reading->most_id)
      continue;
    struct store_tag *tag = tags++;
    *tag = (struct store_tag){.span_id = rows->span_id[i], .key = rows->key[i], .type = rows->type[i]};
    memcpy(&tag->value, &rows->value[i], sizeof rows->value[i]);
    if (tag->type != STORE_TEXT)
      continue;
    tag->value.string = rows->value[i] < 0 || rows->value[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)rows->value[i];
    if (tag->value.string != 0 && tag->value.string >= strings_count(reader->strings))
      return problem_broken(err, reader->path, "a tag refers to string %u, which does not exist", tag->value.string);
  }
  *ret_count = (size_t)(tags - first);
  return STATUS_OK;
}

// Parts without wanted tags are read once.
static enum status read_tags(struct tag_reading *reading, struct arena *arena, struct store_tag **ret_tags,
                             size_t *ret_count, struct error *err)
{
  const struct reader_series *series = reading->series;
  size_t count = 0, *counts = arena_alloc_array(&reading->scratch, series->recorded_count + 1, sizeof *counts);
  for (size_t i = 0; i < series->recorded_count; i++) {
    XSP_TRY(count_part(reading, &series->parts[i], &counts[i], err));
    count += counts[i];
  }
  XSP_TRY(reader_check_memory(&reading->store->reader, series, TAG_VALUE, count, sizeof(struct store_tag), err));
  struct store_tag *tags = *ret_tags = arena_alloc_array(arena, count, sizeof *tags);
  for (size_t i = 0; i < series->recorded_count; i++) {
    if (counts[i] == 0)
      continue;
    XSP_TRY(read_keys(reading, &series->parts[i], err));
    XSP_TRY(fill_tags(reading, &series->parts[i], tags, &counts[i], err));
    tags += counts[i];
  }
  *ret_count = (size_t)(tags - *ret_tags);
  return STATUS_OK;
}

static enum status walk_tags(struct tag_reading *reading, store_visit_tags *visit, void *context, struct error *err)
{
  const struct reader_series *series = reading->series;
  struct store_tag *tags = arena_alloc_array(&reading->scratch, reader_largest_part(series), sizeof *tags);
  for (size_t i = 0; i < series->recorded_count; i++) {
    size_t count;
    XSP_TRY(count_part(reading, &series->parts[i], &count, err));
    if (count == 0)
      continue;
    XSP_TRY(fill_tags(reading, &series->parts[i], tags, &count, err));
    XSP_TRY(visit(context, tags, count, err));
  }
  return STATUS_OK;
}

// False: the run has no tags.
static bool start(struct tag_reading *reading, struct store *store, const struct run_chunks *run)
{
  if (run == NULL || run->series[SERIES_TAG].part_count == 0)
    return false;
  reading->store = store;
  reading->series = &run->series[SERIES_TAG];
  reading->rows = memory_resize(NULL, 1, sizeof *reading->rows);
  if (reading->keys != NULL)
    reading->is_wanted =
        arena_alloc_array(&reading->scratch, (size_t)(reading->most - reading->least) + 1, sizeof(bool));
  for (size_t i = 0; i < reading->key_count; i++)
    if (reading->keys[i] != 0)
      reading->is_wanted[reading->keys[i] - reading->least] = true;
  return true;
}

static enum status load_tags_of(struct store *store, const struct run_chunks *run, struct tag_reading *reading,
                                struct arena *arena, struct store_tag **ret_tags, size_t *ret_count, struct error *err)
{
  *ret_tags = NULL;
  *ret_count = 0;
  bool has = start(reading, store, run);
  enum status status = has ? read_tags(reading, arena, ret_tags, ret_count, err) : STATUS_OK;
  if (status != STATUS_OK)
    *ret_count = 0;
  free(reading->rows);
  arena_done(&reading->scratch);
  return status;
}

static enum status load_tags(struct store *store, int64_t run_id, struct tag_reading *reading, struct arena *arena,
                             struct store_tag **ret_tags, size_t *ret_count, struct error *err)
{
  struct run_chunks *run;
  *ret_tags = NULL;
  *ret_count = 0;
  XSP_TRY(store_find_run(store, run_id, &run, err));
  return load_tags_of(store, run, reading, arena, ret_tags, ret_count, err);
}

enum status store_load_tags(struct store *store, int64_t run_id, struct arena *arena, struct store_tag **ret_tags,
                            size_t *ret_count, struct error *err)
{
  return store_load_tags_from(store, run_id, 0, SIZE_MAX, arena, ret_tags, ret_count, err);
}

enum status store_load_tags_from(struct store *store, int64_t run_id, size_t first, size_t end, struct arena *arena,
                                 struct store_tag **ret_tags, size_t *ret_count, struct error *err)
{
  struct tag_reading some = {.first = first, .end = end, .least_id = INT64_MIN, .most_id = INT64_MAX};
  return load_tags(store, run_id, &some, arena, ret_tags, ret_count, err);
}

enum status store_load_tags_between(struct store *store, int64_t run_id, int64_t least_id, int64_t most_id,
                                    struct arena *arena, struct store_tag **ret_tags, size_t *ret_count,
                                    struct error *err)
{
  struct tag_reading some = {.end = UINT64_MAX, .least_id = least_id, .most_id = most_id};
  return load_tags_of(store, reader_run(&store->reader, run_id), &some, arena, ret_tags, ret_count, err);
}

static struct tag_reading reading_of(const uint32_t *keys, size_t key_count)
{
  struct tag_reading some = {.keys = keys,
                             .key_count = key_count,
                             .least = UINT32_MAX,
                             .end = UINT64_MAX,
                             .least_id = INT64_MIN,
                             .most_id = INT64_MAX};
  for (size_t i = 0; i < key_count; i++)
    if (keys[i] != 0) {
      some.least = keys[i] < some.least ? keys[i] : some.least;
      some.most = keys[i] > some.most ? keys[i] : some.most;
    }
  return some;
}

enum status store_load_tags_of(struct store *store, int64_t run_id, const uint32_t *keys, size_t key_count,
                               struct arena *arena, struct store_tag **ret_tags, size_t *ret_count, struct error *err)
{
  struct tag_reading some = reading_of(keys, key_count);
  *ret_tags = NULL;
  *ret_count = 0;
  return some.most == 0 ? STATUS_OK : load_tags(store, run_id, &some, arena, ret_tags, ret_count, err);
}

enum status store_walk_tags_of(struct store *store, int64_t run_id, const uint32_t *keys, size_t key_count,
                               store_visit_tags *visit, void *context, struct error *err)
{
  struct tag_reading some = reading_of(keys, key_count);
  struct run_chunks *run;
  if (some.most == 0)
    return STATUS_OK;
  XSP_TRY(store_find_run(store, run_id, &run, err));
  enum status status = start(&some, store, run) ? walk_tags(&some, visit, context, err) : STATUS_OK;
  free(some.rows);
  arena_done(&some.scratch);
  return status;
}
