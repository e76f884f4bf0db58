// SPDX-License-Identifier: Apache-2.0
// Rows of the plain tables: one list of columns serves to insert a struct of store.h and to read it into an arena.
// Called by whoever writes a file, and by every stage after the store.
#include "base/vector.h"
#include "store/handle.h"
#include "store/problem.h"

#include <limits.h>
#include <math.h>
#include <string.h>

// How a column's value is in the struct.
enum field_type {
  FIELD_INT,         // int64_t
  FIELD_INT_OR_0,    // less than 1 is NULL, and 0 when read
  FIELD_INT_OR_NONE, // STORE_NONE is NULL
  FIELD_REAL,        // NaN is NULL
  FIELD_TEXT,        // may be NULL
  FIELD_NAME,        // NULL is read as ""
  FIELD_SLICE,
  FIELD_BLOB, // a slice
  FIELD_BOOL,
  FIELD_LEVELS, // struct level_set as text
  FIELD_EPOCH,  // a bool as "unix" or "trace"
  FIELD_FRAME,  // enum xsp_frame_kind as text
  FIELD_VALUE,  // number or text of struct store_system_value
};
struct field {
  enum field_type type;
  const char *column;
  size_t offset;
};

#define AT(kind, member) #member, offsetof(struct store_##kind, member)
static const struct field experiment_fields[] = {
    {FIELD_INT, AT(experiment, experiment_id)},      {FIELD_TEXT, AT(experiment, name)},
    {FIELD_TEXT, AT(experiment, workload)},          {FIELD_TEXT, AT(experiment, framework)},
    {FIELD_TEXT, AT(experiment, framework_version)}, {FIELD_TEXT, AT(experiment, command)},
    {FIELD_INT, AT(experiment, created_ns)},         {FIELD_INT_OR_0, AT(experiment, system_id)},
    {FIELD_TEXT, AT(experiment, xsp_version)},
};
static const struct field value_fields[] = {{FIELD_NAME, AT(system_value, key)}, {FIELD_VALUE, "value", 0}};
static const struct field output_fields[] = {
    {FIELD_INT, AT(output, item)},   {FIELD_TEXT, AT(output, file)}, {FIELD_TEXT, AT(output, type)},
    {FIELD_TEXT, AT(output, shape)}, {FIELD_BLOB, AT(output, data)},
};
static const struct field run_fields[] = {
    {FIELD_INT, AT(run, run_id)},        {FIELD_INT, AT(run, experiment_id)},
    {FIELD_LEVELS, AT(run, levels)},     {FIELD_INT_OR_0, AT(run, batch_size)},
    {FIELD_INT, AT(run, dropped_count)}, {FIELD_EPOCH, "epoch", offsetof(struct store_run, epoch_is_unix)},
    {FIELD_TEXT, AT(run, layer)},        {FIELD_INT, AT(run, misused_count)},
    {FIELD_REAL, AT(run, own_pct)},
};
static const struct field track_fields[] = {
    {FIELD_INT, AT(track, run_id)},
    {FIELD_INT, AT(track, track_id)},
    {FIELD_TEXT, AT(track, name)},
    {FIELD_TEXT, AT(track, host)},
    {FIELD_INT_OR_NONE, AT(track, process_id)},
    {FIELD_INT_OR_NONE, AT(track, thread_id)},
    {FIELD_INT_OR_NONE, AT(track, device_id)},
    {FIELD_INT_OR_NONE, AT(track, stream_id)},
    {FIELD_TEXT, AT(track, clock)},
    {FIELD_INT_OR_NONE, "rank", offsetof(struct store_track, rank.rank)},
    {FIELD_INT_OR_NONE, "local_rank", offsetof(struct store_track, rank.local_rank)},
    {FIELD_INT_OR_NONE, "world_size", offsetof(struct store_track, rank.world_size)}};
static const struct field observation_fields[] = {
    {FIELD_INT, AT(observation, observation)}, {FIELD_INT_OR_0, AT(observation, span_id)},
    {FIELD_INT, AT(observation, start_ns)},    {FIELD_INT, AT(observation, duration_ns)},
    {FIELD_BOOL, AT(observation, warmup)},
};
static const struct field note_fields[] = {
    {FIELD_INT, AT(note, run_id)}, {FIELD_NAME, AT(note, key)}, {FIELD_TEXT, AT(note, value)}};
static const struct field log_fields[] = {
    {FIELD_INT_OR_0, AT(log, span_id)}, {FIELD_INT, AT(log, time_ns)}, {FIELD_SLICE, AT(log, message)}};
static const struct field frame_fields[] = {
    {FIELD_INT, AT(frame, frame_id)},     {FIELD_FRAME, AT(frame, kind)},    {FIELD_TEXT, AT(frame, name)},
    {FIELD_TEXT, AT(frame, file)},        {FIELD_INT_OR_0, AT(frame, line)}, {FIELD_TEXT, AT(frame, module)},
    {FIELD_INT_OR_0, AT(frame, address)},
};
static const struct field context_fields[] = {
    {FIELD_INT, AT(context, context_id)}, {FIELD_INT_OR_0, AT(context, parent_id)}, {FIELD_INT, AT(context, frame_id)}};
static const struct field metric_fields[] = {
    {FIELD_INT, AT(context_metric, run_id)},
    {FIELD_INT, AT(context_metric, context_id)},
    {FIELD_TEXT, AT(context_metric, metric)},
    {FIELD_INT, AT(context_metric, count)},
    {FIELD_INT, AT(context_metric, sum)},
    {FIELD_INT, "min", offsetof(struct store_context_metric, minimum)},
    {FIELD_INT, "max", offsetof(struct store_context_metric, maximum)},
    {FIELD_REAL, AT(context_metric, mean)},
    {FIELD_REAL, AT(context_metric, variance)},
    {FIELD_INT, AT(context_metric, exclusive_sum)},
};
static const struct field sample_fields[] = {
    {FIELD_INT, AT(context_sample, run_id)},
    {FIELD_INT, AT(context_sample, context_id)},
    {FIELD_NAME, AT(context_sample, metric)},
    {FIELD_INT, AT(context_sample, count)},
    {FIELD_INT, AT(context_sample, sum)},
    {FIELD_INT, "min", offsetof(struct store_context_sample, minimum)},
    {FIELD_INT, "max", offsetof(struct store_context_sample, maximum)},
    {FIELD_INT, AT(context_sample, squares_high)},
    {FIELD_INT, AT(context_sample, squares_low)},
};
static const struct field drained_fields[] = {{FIELD_INT, AT(drained, ring)}, {FIELD_INT, AT(drained, position)}};
static const struct field counter_fields[] = {
    {FIELD_INT, AT(counter, counter_id)},        {FIELD_NAME, AT(counter, name)},
    {FIELD_TEXT, AT(counter, source)},           {FIELD_INT_OR_NONE, AT(counter, process_id)},
    {FIELD_INT_OR_NONE, AT(counter, thread_id)}, {FIELD_INT_OR_NONE, AT(counter, device_id)},
    {FIELD_BOOL, AT(counter, is_total)}};
static const struct field counter_value_fields[] = {{FIELD_INT, AT(counter_value, counter_id)},
                                                    {FIELD_INT, AT(counter_value, time_ns)},
                                                    {FIELD_REAL, AT(counter_value, value)}};
static const struct field trace_fields[] = {{FIELD_INT, AT(trace, trace_id)}, {FIELD_NAME, AT(trace, text)}};

#define FIELDS(fields) fields, sizeof(fields) / sizeof(fields)[0]
static const struct row_kind {
  const char *table;
  const char *key; // a column that the struct does not have
  const struct field *fields;
  size_t field_count, row_bytes;
  const char *selected; // which rows, of ?1, in which order
} kinds[ROWS_COUNT] = {
    [ROWS_EXPERIMENT] = {"experiment", NULL, FIELDS(experiment_fields), sizeof(struct store_experiment),
                         "1 ORDER BY experiment_id"},
    [ROWS_SYSTEM] = {"system", "system_id", FIELDS(value_fields), sizeof(struct store_system_value),
                     "system_id = ?1 ORDER BY key"},
    [ROWS_WORKLOAD] = {"workload", "experiment_id", FIELDS(value_fields), sizeof(struct store_system_value),
                       "experiment_id = ?1 ORDER BY key"},
    [ROWS_EVALUATION] = {"evaluation", "experiment_id", FIELDS(value_fields), sizeof(struct store_system_value),
                         "experiment_id = ?1 ORDER BY key"},
    [ROWS_OUTPUT] = {"output", "experiment_id", FIELDS(output_fields), sizeof(struct store_output),
                     "experiment_id = ?1 AND item >= ?2 ORDER BY item LIMIT ?3"},
    [ROWS_RUN] = {"run", NULL, FIELDS(run_fields), sizeof(struct store_run), "1 ORDER BY run_id"},
    [ROWS_TRACK] = {"track", NULL, FIELDS(track_fields), sizeof(struct store_track), "run_id = ?1 ORDER BY track_id"},
    [ROWS_OBSERVATION] = {"observation", "run_id", FIELDS(observation_fields), sizeof(struct store_observation),
                          "run_id = ?1 ORDER BY observation"},
    [ROWS_NOTE] = {"note", NULL, FIELDS(note_fields), sizeof(struct store_note), "run_id IN (0, ?1) ORDER BY rowid"},
    [ROWS_NOTE_OF_ALL] = {"note", NULL, FIELDS(note_fields), sizeof(struct store_note), "1 ORDER BY rowid"},
    [ROWS_LOG] = {"log", "run_id", FIELDS(log_fields), sizeof(struct store_log),
                  "run_id = ?1 ORDER BY coalesce(span_id, 0), rowid"},
    [ROWS_LOG_FROM] = {"log", "run_id", FIELDS(log_fields), sizeof(struct store_log),
                       "run_id = ?1 AND rowid > ?2 AND rowid <= ?3 ORDER BY coalesce(span_id, 0), rowid"},
    [ROWS_TRACE] = {"trace", "run_id", FIELDS(trace_fields), sizeof(struct store_trace),
                    "run_id = ?1 ORDER BY trace_id"},
    [ROWS_FRAME] = {"frame", NULL, FIELDS(frame_fields), sizeof(struct store_frame), "1 ORDER BY frame_id"},
    [ROWS_CONTEXT_METRIC] = {"context_metric", NULL, FIELDS(metric_fields), sizeof(struct store_context_metric), NULL},
    [ROWS_CONTEXT_SAMPLE] = {"context_sample", NULL, FIELDS(sample_fields), sizeof(struct store_context_sample),
                             "run_id = ?1 ORDER BY context_id, metric"},
    [ROWS_DRAINED] = {"drained", NULL, FIELDS(drained_fields), sizeof(struct store_drained), "1 ORDER BY ring"},
    [ROWS_SAMPLED] = {"sampled", "run_id", FIELDS(drained_fields), sizeof(struct store_drained),
                      "run_id = ?1 ORDER BY ring"},
    [ROWS_COUNTER] = {"counter", "run_id", FIELDS(counter_fields), sizeof(struct store_counter),
                      "run_id = ?1 ORDER BY counter_id"},
    [ROWS_COUNTER_VALUE] = {"counter_value", "run_id", FIELDS(counter_value_fields), sizeof(struct store_counter_value),
                            "run_id = ?1 ORDER BY counter_id, time_ns"},
    [ROWS_CONTEXT] = {"context", NULL, FIELDS(context_fields), sizeof(struct store_context), "1 ORDER BY context_id"},
};

// "INSERT OR REPLACE INTO table(key, a, b) VALUES(?, ?, ?), …" of so many rows, or, of none, "SELECT a, b FROM table WHERE …".
static sqlite3_stmt *prepare(sqlite3 *db, const struct row_kind *kind, unsigned rows)
{
  sqlite3_stmt *statement = NULL;
  sqlite3_str *sql = sqlite3_str_new(db);
  bool is_insert = rows > 0, has_key = is_insert && kind->key != NULL;
  if (is_insert)
    sqlite3_str_appendf(sql, "INSERT OR REPLACE INTO %s(%s", kind->table, has_key ? kind->key : "");
  for (size_t i = 0; i < kind->field_count; i++)
    sqlite3_str_appendf(sql, "%s%s", i > 0 || has_key ? ", " : is_insert ? "" : "SELECT ", kind->fields[i].column);
  for (unsigned i = 0; i < rows; i++)
    sqlite3_str_appendf(sql, "%s(?%.*s)", i > 0 ? ", " : ") VALUES", 3 * (int)(kind->field_count - !has_key),
                        ", ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?");
  if (!is_insert)
    sqlite3_str_appendf(sql, " FROM %s WHERE %s", kind->table, kind->selected);
  char *text = sqlite3_str_finish(sql);
  if (text == NULL)
    memory_exhausted();
  sqlite3_prepare_v3(db, text, -1, is_insert ? SQLITE_PREPARE_PERSISTENT : 0, &statement, NULL);
  sqlite3_free(text);
  return statement;
}

// ---- into the file ---------------------------------------------------------------------------------------------------
static void bind_text(sqlite3_stmt *statement, int at, const char *text) // NULL binds NULL
{
  sqlite3_bind_text(statement, at, text, -1, SQLITE_TRANSIENT);
}

static void bind_unless(sqlite3_stmt *statement, int at, int64_t value, bool is_null)
{
  if (is_null)
    sqlite3_bind_null(statement, at);
  else
    sqlite3_bind_int64(statement, at, value);
}

static void bind_value(sqlite3_stmt *statement, int at, const struct store_system_value *value)
{
  if (!value->is_number)
    bind_text(statement, at, value->text);
  else if (value->number == floor(value->number) && fabs(value->number) < 9e15)
    sqlite3_bind_int64(statement, at, (int64_t)value->number);
  else
    sqlite3_bind_double(statement, at, value->number);
}

static void bind_field(sqlite3_stmt *statement, int at, enum field_type type, const void *member)
{
  char levels[LEVEL_SET_TEXT_SIZE];
  const struct slice *slice = member;
  switch (type) {
  case FIELD_INT:
    sqlite3_bind_int64(statement, at, *(const int64_t *)member);
    break;
  case FIELD_INT_OR_0:
    bind_unless(statement, at, *(const int64_t *)member, *(const int64_t *)member < 1);
    break;
  case FIELD_INT_OR_NONE:
    bind_unless(statement, at, *(const int64_t *)member, *(const int64_t *)member == STORE_NONE);
    break;
  case FIELD_REAL:
    sqlite3_bind_double(statement, at, *(const double *)member); // NaN binds NULL
    break;
  case FIELD_TEXT:
  case FIELD_NAME:
    bind_text(statement, at, *(const char *const *)member);
    break;
  case FIELD_SLICE:
    sqlite3_bind_text64(statement, at, slice->data, slice->length, SQLITE_TRANSIENT, SQLITE_UTF8);
    break;
  case FIELD_BLOB:
    sqlite3_bind_blob64(statement, at, slice->data, slice->length, SQLITE_TRANSIENT);
    break;
  case FIELD_BOOL:
    sqlite3_bind_int(statement, at, *(const bool *)member);
    break;
  case FIELD_LEVELS:
    level_set_format(*(const struct level_set *)member, levels);
    bind_text(statement, at, levels);
    break;
  case FIELD_EPOCH:
    bind_text(statement, at, *(const bool *)member ? "unix" : "trace");
    break;
  case FIELD_FRAME:
    bind_text(statement, at, frame_kind_name(*(const unsigned *)member));
    break;
  case FIELD_VALUE:
    bind_value(statement, at, member);
    break;
  }
}

#define ROWS_A_STATEMENT 16 // where there are so many

enum status store_rows_insert(struct store *store, enum row_table table, int64_t key, const void *rows, size_t count,
                              struct error *err)
{
  const struct row_kind *kind = &kinds[table];
  for (const char *row = rows; count > 0;) {
    unsigned together = count >= ROWS_A_STATEMENT ? ROWS_A_STATEMENT : 1;
    sqlite3_stmt **statement = &store->row_statements[table][together > 1];
    if (*statement == NULL && (*statement = prepare(store->db, kind, together)) == NULL)
      return writer_failed(store, err);
    count -= together;
    for (int at = 1; together > 0; together--, row += kind->row_bytes) {
      if (kind->key != NULL)
        sqlite3_bind_int64(*statement, at++, key);
      for (size_t i = 0; i < kind->field_count; i++)
        bind_field(*statement, at++, kind->fields[i].type, row + kind->fields[i].offset);
    }
    XSP_TRY(writer_step(store, *statement, err));
  }
  return STATUS_OK;
}

// ---- out of the file -------------------------------------------------------------------------------------------------
static struct slice copy_at(sqlite3_stmt *row, int column, struct arena *arena) // NULL is ""
{
  const char *text = (const char *)sqlite3_column_text(row, column);
  size_t length = text == NULL ? 0 : (size_t)sqlite3_column_bytes(row, column);
  return (struct slice){arena_copy(arena, text, length), length};
}

static struct slice copy_blob(sqlite3_stmt *row, int column, struct arena *arena)
{
  const char *bytes = sqlite3_column_blob(row, column);
  size_t length = bytes == NULL ? 0 : (size_t)sqlite3_column_bytes(row, column);
  return (struct slice){arena_copy(arena, bytes, length), length};
}

static void read_value(sqlite3_stmt *row, int column, struct arena *arena, struct store_system_value *value)
{
  int type = sqlite3_column_type(row, column);
  value->is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
  if (value->is_number)
    value->number = sqlite3_column_double(row, column);
  else if (type != SQLITE_NULL)
    value->text = copy_at(row, column, arena).data;
}

// Into a zeroed struct.
static void read_field(sqlite3_stmt *row, int column, enum field_type type, struct arena *arena, void *member)
{
  bool is_null = sqlite3_column_type(row, column) == SQLITE_NULL;
  struct slice text;
  int64_t number;
  switch (type) {
  case FIELD_INT:
    *(int64_t *)member = sqlite3_column_int64(row, column);
    break;
  case FIELD_INT_OR_0:
    number = sqlite3_column_int64(row, column);
    *(int64_t *)member = number > 0 ? number : 0;
    break;
  case FIELD_INT_OR_NONE:
    *(int64_t *)member = is_null ? STORE_NONE : sqlite3_column_int64(row, column);
    break;
  case FIELD_REAL:
    *(double *)member = is_null ? (double)NAN : sqlite3_column_double(row, column);
    break;
  case FIELD_TEXT:
    *(const char **)member = is_null ? NULL : copy_at(row, column, arena).data;
    break;
  case FIELD_NAME:
    *(const char **)member = copy_at(row, column, arena).data;
    break;
  case FIELD_SLICE:
    *(struct slice *)member = copy_at(row, column, arena);
    break;
  case FIELD_BLOB:
    *(struct slice *)member = copy_blob(row, column, arena);
    break;
  case FIELD_BOOL:
    *(bool *)member = sqlite3_column_int64(row, column) != 0;
    break;
  case FIELD_LEVELS:
    text = copy_at(row, column, arena);
    (void)level_set_parse(text.data, text.length, member); // of an unknown text: no levels
    break;
  case FIELD_EPOCH:
    *(bool *)member = slice_is(copy_at(row, column, arena), "unix");
    break;
  case FIELD_FRAME:
    text = copy_at(row, column, arena);
    if (!frame_kind_from_name(text.data, text.length, member))
      *(unsigned *)member = UINT_MAX;
    break;
  case FIELD_VALUE:
    read_value(row, column, arena, member);
    break;
  }
}

enum status store_rows_list(struct store *store, enum row_table table, int64_t key, struct arena *arena,
                            void *ret_array, size_t *ret_count, struct error *err)
{
  return store_rows_list_from(store, table, key, 0, 0, arena, ret_array, ret_count, err);
}

enum status store_rows_last_log(struct store *store, size_t *ret_place, struct error *err)
{
  sqlite3_stmt *statement = NULL;
  sqlite3_prepare_v2(store->db, "SELECT max(rowid) FROM log", -1, &statement, NULL);
  bool is_read = sqlite3_step(statement) == SQLITE_ROW;
  *ret_place = is_read ? (size_t)sqlite3_column_int64(statement, 0) : 0;
  sqlite3_finalize(statement);
  return is_read ? STATUS_OK : problem_sqlite(err, "cannot read trace", store->path, store->db);
}

enum status store_rows_list_from(struct store *store, enum row_table table, int64_t key, size_t first, size_t end,
                                 struct arena *arena, void *ret_array, size_t *ret_count, struct error *err)
{
  const struct row_kind *kind = &kinds[table];
  sqlite3_stmt *statement = prepare(store->db, kind, 0);
  if (statement == NULL)
    return problem_sqlite(err, "cannot read trace", store->path, store->db);
  sqlite3_bind_int64(statement, 1, key); // these fail where no row is left out
  sqlite3_bind_int64(statement, 2, (int64_t)first);
  sqlite3_bind_int64(statement, 3, (int64_t)end);
  char *rows = NULL;
  size_t count = 0, capacity = 0;
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    rows = vector_room(rows, count, &capacity, 1, kind->row_bytes);
    char *row = memset(rows + count++ * kind->row_bytes, 0, kind->row_bytes);
    for (size_t i = 0; i < kind->field_count; i++)
      read_field(statement, (int)i, kind->fields[i].type, arena, row + kind->fields[i].offset);
  }
  enum status status =
      code == SQLITE_DONE ? STATUS_OK : problem_sqlite(err, "cannot read trace", store->path, store->db);
  sqlite3_finalize(statement);
  char *array = arena_alloc_array(arena, count + 1, kind->row_bytes);
  if (count > 0)
    memcpy(array, rows, count * kind->row_bytes);
  free(rows);
  memcpy(ret_array, &array, sizeof array);
  *ret_count = count;
  return status;
}
