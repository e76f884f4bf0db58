// SPDX-License-Identifier: Apache-2.0
// Call paths: the writer's tables of frames and contexts, and the checked reading of both. Called by collect and importers,
// and by whoever shows call paths.
#include "base/memory.h"
#include "store/handle.h"
#include "store/problem.h"

#include <stdio.h>
#include <string.h>
#include <xsp/call_path.h>

void store_call_paths_done(struct call_paths *paths)
{
  interner_done(&paths->frames);
  vector_done(&paths->contexts);
  vector_done(&paths->depths);
  map_done(&paths->context_of);
  buf_done(&paths->key);
  *paths = (struct call_paths){0};
}

// ---- into the file ---------------------------------------------------------------------------------------------------
struct frame_numbers {
  int64_t line, address;
  uint32_t kind, reserved;
};

static void put_text(struct buf *key, const char *text)
{
  buf_put(key, text == NULL ? "" : text, text == NULL ? 1 : strlen(text) + 1);
}

uint32_t store_frame_id(struct store *store, const struct store_frame *frame)
{
  if (store->has_failed || frame->kind >= XSP_FRAME_KINDS)
    return 0;
  const struct frame_numbers numbers = {frame->line > 0 ? frame->line : 0, frame->address > 0 ? frame->address : 0,
                                        frame->kind, 0};
  struct buf *key = &store->call_paths.key;
  buf_clear(key);
  buf_put(key, &numbers, sizeof numbers);
  put_text(key, frame->name);
  put_text(key, frame->file);
  put_text(key, frame->module);
  return key->failed ? 0 : interner_at(&store->call_paths.frames, key->data, key->length) + 1;
}

uint32_t store_context_id(struct store *store, uint32_t parent_id, uint32_t frame_id)
{
  struct call_paths *paths = &store->call_paths;
  if (store->has_failed || frame_id == 0 || frame_id > interner_count(&paths->frames) ||
      parent_id > paths->contexts.count)
    return 0;
  uint16_t depth = (uint16_t)(1 + (parent_id == 0 ? 0 : paths->depths.items[parent_id - 1]));
  if (depth > XSP_CALL_PATH_FRAMES)
    return 0;
  bool is_new;
  uint64_t *id = map_at(&paths->context_of, (struct map_key){parent_id, frame_id}, &is_new);
  if (is_new) {
    *id = paths->contexts.count + 1;
    *vector_add(&paths->depths) = depth;
    *vector_add(&paths->contexts) = (struct store_context){(int64_t)*id, parent_id, frame_id};
    store->reader.context_count = (uint32_t)*id;
  }
  return (uint32_t)*id;
}

static const char *next_text(const char **at) // NULL: unknown
{
  const char *text = *at;
  *at += strlen(text) + 1;
  return *text == '\0' ? NULL : text;
}

static struct store_frame frame_at(const struct store *store, uint32_t number) // texts are the interner's
{
  struct slice key = interner_text(&store->call_paths.frames, number);
  struct frame_numbers numbers;
  memcpy(&numbers, key.data, sizeof numbers);
  const char *at = key.data + sizeof numbers;
  struct store_frame frame = {
      .frame_id = (int64_t)number + 1, .kind = numbers.kind, .line = numbers.line, .address = numbers.address};
  frame.name = next_text(&at);
  frame.file = next_text(&at);
  frame.module = next_text(&at);
  return frame;
}

enum status store_call_paths_write(struct store *store, struct error *err)
{
  struct call_paths *paths = &store->call_paths;
  for (; paths->frames_written < interner_count(&paths->frames); paths->frames_written++) {
    struct store_frame frame = frame_at(store, paths->frames_written);
    XSP_TRY(store_rows_insert(store, ROWS_FRAME, 0, &frame, 1, err));
  }
  size_t left = paths->contexts.count - paths->contexts_written;
  if (left == 0)
    return STATUS_OK;
  XSP_TRY(store_rows_insert(store, ROWS_CONTEXT, 0, paths->contexts.items + paths->contexts_written, left, err));
  paths->contexts_written += (uint32_t)left;
  return STATUS_OK;
}

static enum status put_contexts(struct store *store, const struct run_chunks *run, const uint32_t *context_ids,
                                struct error *err)
{
  const struct reader_series *series = &run->series[SERIES_SPAN];
  for (size_t i = 0; i < series->part_count; i++)
    XSP_TRY(pending_write_column(store, run->run_id, SERIES_SPAN, (int64_t)i, STORE_CONTEXT_ID,
                                 context_ids + series->parts[i].first_row, series->parts[i].row_count, err));
  // The part that is still open is written again when rows are added to it.
  struct pending_series *open = &pending_find(store, run->run_id)->series[SERIES_SPAN];
  if (open->row_count > 0)
    memcpy(open->columns[STORE_CONTEXT_ID], context_ids + series->row_count - open->row_count,
           open->row_count * sizeof *context_ids);
  return STATUS_OK;
}

enum status store_put_contexts(struct store *store, int64_t run_id, const uint32_t *context_ids, size_t count,
                               struct error *err)
{
  uint32_t most = 0;
  struct run_chunks *run;
  XSP_TRY(writer_check(store, err));
  XSP_TRY(store_find_run(store, run_id, &run, err));
  for (size_t i = 0; i < count; i++)
    most = context_ids[i] > most ? context_ids[i] : most;
  if (count != (run == NULL ? 0 : run->series[SERIES_SPAN].row_count) || most > store->call_paths.contexts.count)
    return error_set(err, STATUS_USE, "cannot store call paths", store->path, NULL,
                     "%zu of them, up to %u, are not those of the run's spans", count, most);
  if (run == NULL)
    return STATUS_OK;
  enum status status = put_contexts(store, run, context_ids, err);
  reader_invalidate_run(&store->reader, run_id);
  return status;
}

enum status store_name_frames(struct store *store, store_find_name *find, void *context, struct error *err)
{
  struct call_paths *paths = &store->call_paths;
  XSP_TRY(store_call_paths_write(store, err));
  for (; paths->frames_named < paths->frames_written; paths->frames_named++) {
    struct store_frame frame = frame_at(store, paths->frames_named);
    if (frame.kind == XSP_FRAME_NATIVE && frame.name == NULL && find(context, &frame))
      XSP_TRY(store_rows_insert(store, ROWS_FRAME, 0, &frame, 1, err));
  }
  return STATUS_OK;
}

// ---- out of the file -------------------------------------------------------------------------------------------------
static const char *find_bad_frame(const struct store_call_paths *paths)
{
  for (size_t i = 0; i < paths->frame_count; i++) {
    if (paths->frames[i].frame_id != (int64_t)i + 1)
      return "the ids of its frames have gaps";
    if (paths->frames[i].kind >= XSP_FRAME_KINDS)
      return "a frame is of no known kind";
  }
  return NULL;
}

// Callers come first, so that there are no circles and one pass finds all depths.
static const char *find_bad_context(const struct store_call_paths *paths, uint32_t *depths)
{
  for (size_t i = 0; i < paths->context_count; i++) {
    const struct store_context *context = &paths->contexts[i];
    if (context->context_id != (int64_t)i + 1)
      return "the ids of its call paths have gaps";
    if (context->parent_id < 0 || context->parent_id > (int64_t)i)
      return "a call path's caller does not come before it";
    if (context->frame_id < 1 || context->frame_id > (int64_t)paths->frame_count)
      return "a call path refers to a frame that does not exist";
    depths[i] = 1 + (context->parent_id == 0 ? 0 : depths[context->parent_id - 1]);
    if (depths[i] > XSP_CALL_PATH_FRAMES)
      return "a call path has too many frames";
  }
  return NULL;
}

enum status store_call_paths(struct store *store, struct arena *arena, struct store_call_paths *ret_paths,
                             struct error *err)
{
  *ret_paths = (struct store_call_paths){0};
  if (store->is_writing)
    XSP_TRY(store_call_paths_write(store, err));
  XSP_TRY(store_rows_list(store, ROWS_FRAME, 0, arena, &ret_paths->frames, &ret_paths->frame_count, err));
  XSP_TRY(store_rows_list(store, ROWS_CONTEXT, 0, arena, &ret_paths->contexts, &ret_paths->context_count, err));
  const char *why = find_bad_frame(ret_paths);
  if (why == NULL) {
    uint32_t *depths SCOPED(scoped_free) = memory_new(ret_paths->context_count, sizeof *depths);
    why = find_bad_context(ret_paths, depths);
  }
  return why == NULL ? STATUS_OK : problem_broken(err, store->path, "%s", why);
}

// ---- the calling context tree ----------------------------------------------------------------------------------------
bool store_has_table(struct store *store, const char *name)
{
  char sql[64];
  sqlite3_stmt *statement = NULL;
  snprintf(sql, sizeof sql, "SELECT 1 FROM %s", name);
  bool has = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK;
  sqlite3_finalize(statement);
  return has;
}

// Tables that few files have are made with their first rows: an empty one takes a page.
static enum status make_table(struct store *store, const char *name, const char *columns, struct error *err)
{
  char sql[512];
  snprintf(sql, sizeof sql,
           "CREATE %s TABLE IF NOT EXISTS %s(run_id INTEGER, context_id INTEGER, metric TEXT, count INTEGER,"
           " sum INTEGER, min INTEGER, max INTEGER, %s, PRIMARY KEY(run_id, context_id, metric)) WITHOUT ROWID",
           store->is_writing ? "" : "TEMP", name, columns);
  if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
    return problem_sqlite(err, "cannot make a table", store->path, store->db);
  return STATUS_OK;
}

bool store_has_context_metrics(struct store *store)
{
  return store_has_table(store, "context_metric");
}

bool store_is_folded(struct store *store)
{
  return store_has_table(store, "drained");
}

enum status store_put_context_metrics(struct store *store, const struct store_context_metric *rows, size_t count,
                                      struct error *err)
{
  XSP_TRY(make_table(store, "context_metric", "mean REAL, variance REAL, exclusive_sum INTEGER", err));
  return store_rows_insert(store, ROWS_CONTEXT_METRIC, 0, rows, count, err);
}

enum status store_put_context_samples(struct store *store, const struct store_context_sample *rows, size_t count,
                                      struct error *err)
{
  XSP_TRY(writer_check(store, err));
  if (count == 0)
    return STATUS_OK;
  XSP_TRY(make_table(store, "context_sample", "squares_high INTEGER, squares_low INTEGER", err));
  return store_rows_insert(store, ROWS_CONTEXT_SAMPLE, 0, rows, count, err);
}

enum status store_put_drained(struct store *store, const struct store_drained *rows, size_t count, struct error *err)
{
  XSP_TRY(writer_check(store, err));
  XSP_TRY(writer_execute(store, err, "CREATE TABLE IF NOT EXISTS drained(ring INTEGER PRIMARY KEY, position INTEGER)"));
  return store_rows_insert(store, ROWS_DRAINED, 0, rows, count, err);
}

enum status store_drained(struct store *store, struct arena *arena, struct store_drained **ret_rows, size_t *ret_count,
                          struct error *err)
{
  *ret_rows = NULL;
  *ret_count = 0;
  return store_is_folded(store) ? store_rows_list(store, ROWS_DRAINED, 0, arena, ret_rows, ret_count, err) : STATUS_OK;
}

enum status store_put_sampled(struct store *store, int64_t run_id, const struct store_drained *rows, size_t count,
                              struct error *err)
{
  XSP_TRY(writer_check(store, err));
  XSP_TRY(writer_execute(store, err,
                         "CREATE TABLE IF NOT EXISTS sampled(run_id INTEGER, ring INTEGER, position INTEGER,"
                         " PRIMARY KEY(run_id, ring)) WITHOUT ROWID"));
  return store_rows_insert(store, ROWS_SAMPLED, run_id, rows, count, err);
}

enum status store_sampled(struct store *store, int64_t run_id, struct arena *arena, struct store_drained **ret_rows,
                          size_t *ret_count, struct error *err)
{
  *ret_rows = NULL;
  *ret_count = 0;
  return store_has_table(store, "sampled")
             ? store_rows_list(store, ROWS_SAMPLED, run_id, arena, ret_rows, ret_count, err)
             : STATUS_OK;
}

enum status store_context_samples(struct store *store, int64_t run_id, struct arena *arena,
                                  struct store_context_sample **ret_rows, size_t *ret_count, struct error *err)
{
  *ret_rows = NULL;
  *ret_count = 0;
  if (!store_has_table(store, "context_sample"))
    return STATUS_OK;
  XSP_TRY(store_rows_list(store, ROWS_CONTEXT_SAMPLE, run_id, arena, ret_rows, ret_count, err));
  for (size_t i = 0; i < *ret_count; i++) {
    const struct store_context_sample *row = &(*ret_rows)[i];
    if (row->context_id < 1 || row->context_id > store->reader.context_count || row->count < 1)
      return problem_broken(err, store->path, "a sample is of a call path that does not exist, or of no span");
  }
  return STATUS_OK;
}
