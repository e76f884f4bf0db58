// SPDX-License-Identifier: Apache-2.0
// Runs the user's own findings and adds their rows. A query's columns, and the keys of the objects that a program prints, are keys
// of findings; further numbers go into `numbers`. Called by verb_analyze.c.
#include "programs/xsp/verb_analyze/findings_own.h"

#include "base/input_file.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/slice.h"
#include "base/vector.h"
#include "programs/xsp/verb_analyze/findings_program.h"
#include "table/builder.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUERY_BYTES_MOST ((size_t)1 << 20)
#define ROWS_MOST 10000 // of one file
#define SPANS_MOST 16

struct own {
  const char *path, *id; // of the file that runs; id: its name without .sql or .py
  unsigned timeout_s;
  struct table *tables; // of the file's experiments, all with the same columns
  size_t table_count;
  struct store_run *runs; // of the file
  size_t run_count;
  struct arena *arena;
  VECTOR(struct table_cell) cells; // of new rows
  VECTOR(size_t) of_table;         // of each new row
  size_t rows;                     // of this file
  const char *const *names;        // of a query's columns
  struct buf numbers;              // of the row
  struct json_writer json;         // of these
};

// ---- a row -----------------------------------------------------------------------------------------------------------
static size_t column_of(const struct own *own, const char *key)
{
  size_t column = 0;
  while (column < own->tables->column_count && strcmp(own->tables->columns[column].key, key) != 0)
    column++;
  return column;
}

static struct table_cell *cell_at(const struct own *own, const char *key)
{
  size_t count = own->tables->column_count, column = column_of(own, key);
  return column < count ? &own->cells.items[own->cells.count - count + column] : NULL;
}

static bool is_number(const char *key)
{
  return text_is_one_of(key, "context_id", "line", "time_ms", "share_pct", "saving_ms", "saving_pct", "run_id");
}

static void start_row(struct own *own)
{
  size_t count = own->tables->column_count;
  vector_reserve(&own->cells, count);
  memset(&own->cells.items[own->cells.count], 0, count * sizeof *own->cells.items);
  own->cells.count += count;
  own->rows++;
  buf_clear(&own->numbers);
  json_start(&own->json, &own->numbers);
  json_object(&own->json);
}

static void put_number(struct own *own, const char *key, const struct table_cell *value)
{
  if (value->type == CELL_INT)
    json_member_int(&own->json, key, value->value.integer);
  else if (value->type == CELL_REAL)
    json_member_double(&own->json, key, value->value.real);
}

// A value of the wrong type is as one that is missing.
static void put(struct own *own, const char *key, struct table_cell value)
{
  struct table_cell *cell = cell_at(own, key);
  bool has_number = value.type == CELL_INT || value.type == CELL_REAL;
  if (cell == NULL)
    put_number(own, key, &value);
  else if (strcmp(key, "spans") == 0 && value.type == CELL_INT)
    *cell = cell_json(arena_format(own->arena, "[%lld]", (long long)value.value.integer));
  else if (!text_is_one_of(key, "spans", "numbers") && (is_number(key) ? has_number : value.type == CELL_TEXT))
    *cell = value;
}

static void put_default(const struct own *own, const char *key, struct table_cell value)
{
  struct table_cell *cell = cell_at(own, key);
  if (cell->type == CELL_NULL)
    *cell = value;
}

static int64_t experiment_of(const struct own *own, int64_t run_id)
{
  for (size_t i = 0; i < own->run_count; i++)
    if (own->runs[i].run_id == run_id)
      return own->runs[i].experiment_id;
  return 0;
}

// The table of the experiment that the row is about: it names a run, or there is one experiment. NULL: unknown.
static struct table *table_of_row(const struct own *own)
{
  const struct table_cell *run = cell_at(own, "run_id");
  if (run->type != CELL_INT)
    return own->table_count == 1 ? own->tables : NULL;
  int64_t experiment = experiment_of(own, run->value.integer);
  for (size_t i = 0; i < own->table_count; i++)
    if (own->tables[i].run_count > 0 && experiment_of(own, own->tables[i].run_ids[0]) == experiment)
      return &own->tables[i];
  return NULL;
}

static double latency_of(const struct table *table)
{
  for (size_t i = 0; table != NULL && i < table->summary_count; i++)
    if (strcmp(table->summary[i].key, "latency_ms") == 0)
      return cell_double(&table->summary[i].value);
  return NAN;
}

// No more can be gained than there is: the latency of an observation, or all of which `time_ms` is the share `share_pct`.
static void bound_saving(struct own *own, const struct table *table)
{
  const struct table_cell *basis = cell_at(own, "basis");
  struct table_cell *saving = cell_at(own, "saving_ms"), *pct = cell_at(own, "saving_pct");
  bool is_of_all = basis->type == CELL_TEXT && strcmp(basis->value.text, "all") == 0;
  double whole_ms = is_of_all ? cell_double(cell_at(own, "time_ms")) / cell_double(cell_at(own, "share_pct")) * 100
                              : latency_of(table);
  if (cell_double(saving) > whole_ms)
    *saving = cell_real(whole_ms);
  put_default(own, "saving_pct", cell_real(cell_double(saving) / whole_ms * 100));
  if (cell_double(pct) > 100)
    *pct = cell_real(100);
}

static enum status end_row(struct own *own, struct error *err)
{
  struct table *table = table_of_row(own);
  json_object_end(&own->json);
  put_default(own, "id", cell_text(own->id));
  put_default(own, "rule", cell_text(own->id));
  put_default(own, "title", cell_text(own->id));
  bound_saving(own, table);
  double pct = cell_double(cell_at(own, "saving_pct"));
  put_default(own, "severity", cell_text(analyze_severity(isnan(pct) ? cell_double(cell_at(own, "share_pct")) : pct)));
  put_default(own, "spans", cell_json("[]"));
  *cell_at(own, "numbers") = cell_json(arena_copy(own->arena, own->numbers.data, own->numbers.length));
  *vector_add(&own->of_table) = table != NULL ? (size_t)(table - own->tables) : 0;
  if (own->rows > ROWS_MOST)
    return error_set(err, STATUS_USE, "cannot take findings", own->path, "a limit in it", "more than %d", ROWS_MOST);
  return STATUS_OK;
}

// ---- queries ---------------------------------------------------------------------------------------------------------
static enum status take_names(void *context, const char *const *names, size_t count, struct error *err)
{
  struct own *own = context;
  const char **kept = arena_alloc_array(own->arena, count + 1, sizeof *kept);
  for (size_t i = 0; i < count; i++)
    kept[i] = arena_copy(own->arena, names[i], strlen(names[i]));
  own->names = kept;
  return STATUS_OK;
}

static enum status take_row(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct own *own = context;
  start_row(own);
  for (size_t i = 0; i < count; i++)
    put(own, own->names[i],
        cells[i].type == STORE_INT      ? cell_int(cells[i].integer)
        : cells[i].type == STORE_DOUBLE ? cell_real(cells[i].real)
        : cells[i].type == STORE_TEXT   ? cell_text(arena_copy(own->arena, cells[i].text, strlen(cells[i].text)))
                                        : (struct table_cell){0});
  return end_row(own, err);
}

static enum status run_query(struct own *own, int file, struct store *store, struct error *err)
{
  const struct store_query_sink sink = {
      .context = own, .columns = take_names, .row = take_row, .timeout_s = own->timeout_s};
  char *text SCOPED(scoped_free) = memory_new(QUERY_BYTES_MOST + 1, 1);
  ssize_t length = read(file, text, QUERY_BYTES_MOST + 1);
  enum status status;
  if (length < 0)
    status = error_set_errno(err, STATUS_INPUT, "cannot read the query", own->path, NULL);
  else if ((size_t)length > QUERY_BYTES_MOST)
    status = error_set(err, STATUS_INPUT, "cannot read the query", own->path, NULL, "it has more than 1 MiB");
  else {
    text[length] = 0;
    status = store_query(store, text, &sink, err);
    if (status != STATUS_OK && err != NULL)
      error_prefix(err, arena_format(own->arena, "%s: ", own->path));
  }
  return status;
}

// ---- programs --------------------------------------------------------------------------------------------------------
static struct table_cell scalar(const struct own *own, const struct json_reader *reader)
{
  int64_t integer;
  if (reader->event == JSON_STRING)
    return cell_text(arena_copy(own->arena, reader->text, strlen(reader->text)));
  if (reader->event != JSON_NUMBER)
    return (struct table_cell){0};
  return json_int64(reader, &integer) ? cell_int(integer) : cell_real(strtod(reader->text, NULL));
}

static void take_spans(struct own *own, struct json_reader *reader)
{
  struct buf text SCOPED(buf_done) = {0};
  struct json_writer json;
  int64_t id;
  json_start(&json, &text);
  json_array(&json);
  for (size_t count = 0; json_next(reader) != JSON_ARRAY_END && reader->event != JSON_ERROR;)
    if (reader->event == JSON_OBJECT || reader->event == JSON_ARRAY)
      (void)json_skip(reader);
    else if (reader->event == JSON_NUMBER && json_int64(reader, &id) && count++ < SPANS_MOST)
      json_int(&json, id);
  json_array_end(&json);
  *cell_at(own, "spans") = cell_json(arena_copy(own->arena, text.data, text.length));
}

// The reader is after JSON_OBJECT. `key`: NULL for the finding itself, else the object is its `numbers`.
static void take_object(struct own *own, struct json_reader *reader, bool is_numbers)
{
  while (json_next(reader) == JSON_KEY) {
    const char *key = arena_copy(own->arena, reader->text, strlen(reader->text));
    enum json_event event = json_next(reader);
    struct table_cell value = scalar(own, reader);
    if (is_numbers && event != JSON_OBJECT && event != JSON_ARRAY)
      put_number(own, key, &value);
    else if (!is_numbers && event == JSON_OBJECT && strcmp(key, "numbers") == 0)
      take_object(own, reader, true);
    else if (!is_numbers && event == JSON_ARRAY && strcmp(key, "spans") == 0)
      take_spans(own, reader);
    else if (event == JSON_OBJECT || event == JSON_ARRAY)
      (void)json_skip(reader);
    else
      put(own, key, value);
  }
}

static enum status take_output(struct own *own, const struct child_text *text, struct error *err)
{
  struct json_reader reader;
  enum status status = STATUS_OK;
  json_read_start(&reader, text->bytes != NULL ? text->bytes : "", text->length);
  bool is_list = json_next(&reader) == JSON_ARRAY;
  while (is_list && status == STATUS_OK && json_next(&reader) == JSON_OBJECT) {
    start_row(own);
    take_object(own, &reader, false);
    status = end_row(own, err);
  }
  bool is_whole = is_list && reader.event == JSON_ARRAY_END && json_next(&reader) == JSON_END;
  json_read_done(&reader);
  if (status == STATUS_OK && !is_whole)
    return error_set(err, STATUS_INPUT, "cannot take findings", own->path, NULL,
                     "python3 -m xsp.findings printed something else than a JSON array of objects");
  return status;
}

static enum status run_program(struct own *own, struct store *store, struct error *err)
{
  struct child_text text;
  enum status status = findings_program_run(own->path, store_path(store), own->timeout_s, &text, err);
  if (status == STATUS_OK)
    status = take_output(own, &text, err);
  free(text.bytes);
  return status;
}

// ---- the folder ------------------------------------------------------------------------------------------------------
static int is_wanted(const struct dirent *entry)
{
  return entry->d_name[0] != '.' && (text_ends_with(entry->d_name, ".sql") || text_ends_with(entry->d_name, ".py"));
}

static int compare_names(const struct dirent **left, const struct dirent **right)
{
  return strcmp((*left)->d_name, (*right)->d_name);
}

static enum status run_file(struct own *own, const char *name, struct store *store, struct error *err)
{
  struct stat facts;
  int file SCOPED(scoped_close) = -1;
  XSP_TRY(input_file_open(own->path, INPUT_FILE_REGULAR, "cannot run the finding", &file, &facts, err));
  own->rows = 0;
  own->id = arena_copy(own->arena, name, (size_t)(strrchr(name, '.') - name));
  return text_ends_with(name, ".sql") ? run_query(own, file, store, err) : run_program(own, store, err);
}

static bool is_asked(const struct findings_folder *folder, const char *file)
{
  for (size_t i = 0; i < folder->only_count; i++)
    if (text_begins_with(file, folder->only[i]) && strrchr(file, '.') == file + strlen(folder->only[i]))
      return true;
  return folder->only_count == 0;
}

static enum status run_folder(struct own *own, const struct findings_folder *folder, struct store *store,
                              struct error *err)
{
  struct dirent **entries = NULL;
  int count = scandir(folder->path, &entries, is_wanted, compare_names);
  if (count < 0)
    return error_set_errno(err, STATUS_INPUT, "cannot read the folder of findings", folder->path, "--findings DIR");
  enum status status = STATUS_OK;
  for (int i = 0; i < count; i++) {
    own->path = arena_format(own->arena, "%s/%s", folder->path, entries[i]->d_name);
    if (status == STATUS_OK && is_asked(folder, entries[i]->d_name))
      status = run_file(own, entries[i]->d_name, store, err);
    free(entries[i]);
  }
  free(entries);
  return status;
}

// The rows that are about the table's experiment, and their number in its summary.
static void add_rows(const struct own *own, size_t index)
{
  struct table *table = &own->tables[index];
  size_t width = table->column_count, old = table->row_count;
  struct table_cell *rows = arena_alloc_array(own->arena, (old + own->of_table.count) * width + 1, sizeof *rows);
  struct table_entry *summary = arena_alloc_array(own->arena, table->summary_count + 1, sizeof *summary);
  if (old > 0)
    memcpy(rows, table->rows, old * width * sizeof *rows);
  for (size_t i = 0; i < own->of_table.count; i++)
    if (own->of_table.items[i] == index)
      memcpy(rows + table->row_count++ * width, own->cells.items + i * width, width * sizeof *rows);
  table->rows = rows;
  for (size_t i = 0; i < table->summary_count; i++) {
    summary[i] = table->summary[i];
    if (strcmp(summary[i].key, "findings") == 0)
      summary[i].value = cell_int((int64_t)table->row_count);
  }
  table->summary = summary;
  (void)table_sort(table, "share_pct", own->arena);
  (void)table_sort(table, "saving_ms", own->arena);
}

bool findings_own_has(const char *folder, const char *name)
{
  static const char *const endings[] = {"sql", "py"};
  char path[PATH_MAX];
  struct stat facts;
  for (size_t i = 0; i < 2 && name[0] != '.' && strchr(name, '/') == NULL; i++) {
    int length = snprintf(path, sizeof path, "%s/%s.%s", folder, name, endings[i]);
    if (length > 0 && (size_t)length < sizeof path && stat(path, &facts) == 0 && S_ISREG(facts.st_mode))
      return true;
  }
  return false;
}

enum status findings_own_add(const struct findings_folder *folder, struct store *store, struct table *tables,
                             size_t table_count, struct arena *arena, struct error *err)
{
  struct own own = {.tables = tables, .table_count = table_count, .arena = arena, .timeout_s = folder->timeout_s};
  enum status status = store_runs(store, arena, &own.runs, &own.run_count, err);
  if (status == STATUS_OK)
    status = run_folder(&own, folder, store, err);
  for (size_t i = 0; i < table_count && status == STATUS_OK; i++)
    add_rows(&own, i);
  vector_done(&own.cells);
  vector_done(&own.of_table);
  buf_done(&own.numbers);
  return status;
}
