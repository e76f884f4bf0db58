// SPDX-License-Identifier: Apache-2.0
// Replies of agents; tables as report/ writes them in JSON. Called by remote.c.
#include "agent/answer.h"

#include "base/json_read.h"
#include "table/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MOST 64u
#define NOTES_MOST 256u

struct reading {
  struct arena *arena;
  struct answer *answer;
  bool has_id, has_state;
  // of the table
  struct table_column columns[COLUMNS_MOST];
  struct table_cell *cells;
  size_t column_count, row_count, row_capacity;
  const char **notes;
  size_t note_count;
};

static const char *text_of(const struct reading *reading, const struct json_reader *json)
{
  return json->event == JSON_STRING ? arena_copy(reading->arena, json->text, strlen(json->text)) : NULL;
}

// ---- a table ---------------------------------------------------------------------------------------------------------
static bool take_column_member(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  struct table_column *column = &reading->columns[reading->column_count - 1];
  if (strcmp(key, "key") == 0)
    column->key = text_of(reading, json);
  else if (strcmp(key, "unit") == 0)
    column->unit = text_of(reading, json);
  else if (strcmp(key, "label") == 0)
    column->label = text_of(reading, json);
  return true;
}

static bool take_column(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  if (reading->column_count == COLUMNS_MOST || json->event != JSON_OBJECT)
    return false;
  struct table_column *column = &reading->columns[reading->column_count++];
  *column = (struct table_column){0};
  if (!json_each(json, take_column_member, reading) || column->key == NULL || column->unit == NULL)
    return false;
  if (column->label == NULL) // an agent of an older version
    column->label = table_label(column->key, NULL, reading->arena);
  return true;
}

static bool take_cell(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  struct table_cell *row = &reading->cells[(reading->row_count - 1) * reading->column_count], cell = {0};
  size_t at = 0;
  while (at < reading->column_count && strcmp(reading->columns[at].key, key) != 0)
    at++;
  if (at == reading->column_count)
    return true;
  if (json_int64(json, &cell.value.integer)) {
    cell.type = CELL_INT;
  } else if (json->event == JSON_NUMBER) {
    cell.value.real = strtod(json->text, NULL);
    cell.type = isfinite(cell.value.real) ? CELL_REAL : CELL_NULL;
  } else if (json->event == JSON_STRING) {
    cell = (struct table_cell){.type = CELL_TEXT, .value.text = text_of(reading, json)};
  } else if (json->event == JSON_TRUE || json->event == JSON_FALSE) {
    cell = (struct table_cell){.type = CELL_BOOL, .value.truth = json->event == JSON_TRUE};
  }
  row[at] = cell;
  return true;
}

static bool take_row(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  if (reading->column_count == 0 || json->event != JSON_OBJECT) // columns come first
    return false;
  if (reading->row_count == reading->row_capacity) {
    size_t row_bytes = reading->column_count * sizeof *reading->cells;
    reading->row_capacity = reading->row_capacity == 0 ? 16 : 2 * reading->row_capacity;
    struct table_cell *longer = arena_alloc_array(reading->arena, reading->row_capacity, row_bytes);
    if (reading->row_count > 0)
      memcpy(longer, reading->cells, reading->row_count * row_bytes);
    reading->cells = longer;
  }
  reading->row_count++;
  return json_each(json, take_cell, reading);
}

static bool take_note(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  if (json->event == JSON_STRING && reading->note_count < NOTES_MOST)
    reading->notes[reading->note_count++] = text_of(reading, json);
  return true;
}

static bool take_table_member(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  struct table *table = &reading->answer->tables[reading->answer->table_count - 1];
  if (strcmp(key, "analysis") == 0)
    table->id = text_of(reading, json);
  else if (strcmp(key, "title") == 0)
    table->title = text_of(reading, json);
  else if (strcmp(key, "experiment") == 0)
    table->experiment = text_of(reading, json);
  else if (strcmp(key, "columns") == 0)
    return reading->column_count == 0 && json->event == JSON_ARRAY && json_each(json, take_column, reading);
  else if (strcmp(key, "rows") == 0)
    return json->event == JSON_ARRAY && json_each(json, take_row, reading);
  else if (strcmp(key, "notes") == 0)
    return json->event == JSON_ARRAY && json_each(json, take_note, reading);
  return true;
}

static bool take_table(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  if (reading->answer->table_count == ANSWER_TABLES_MOST || json->event != JSON_OBJECT)
    return false;
  struct table *table = &reading->answer->tables[reading->answer->table_count++];
  *table = (struct table){0};
  reading->column_count = reading->row_count = reading->row_capacity = reading->note_count = 0;
  reading->notes = arena_alloc_array(reading->arena, NOTES_MOST, sizeof *reading->notes);
  if (!json_each(json, take_table_member, reading))
    return false;
  struct table_column *columns = arena_alloc_array(reading->arena, reading->column_count + 1, sizeof *columns);
  memcpy(columns, reading->columns, reading->column_count * sizeof *columns);
  table->columns = columns;
  table->column_count = reading->column_count;
  table->rows = reading->cells;
  table->row_count = reading->row_count;
  table->notes = reading->notes;
  table->note_count = reading->note_count;
  return true;
}

// ---- the answer ------------------------------------------------------------------------------------------------------
static bool take_state(struct reading *reading, const struct json_reader *json)
{
  reading->has_state = json->event == JSON_STRING && job_state_read(json->text, &reading->answer->state);
  return reading->has_state;
}

static bool take_id(struct reading *reading, const struct json_reader *json)
{
  reading->has_id = json->event == JSON_STRING && json->length == QUEUE_ID_DIGITS &&
                    strspn(json->text, "0123456789abcdef") == QUEUE_ID_DIGITS;
  if (reading->has_id)
    memcpy(reading->answer->id, json->text, QUEUE_ID_DIGITS + 1);
  return reading->has_id;
}

static bool take_member(void *context, struct json_reader *json, const char *key)
{
  struct reading *reading = context;
  if (strcmp(key, "id") == 0)
    return take_id(reading, json);
  if (strcmp(key, "state") == 0)
    return take_state(reading, json);
  if (strcmp(key, "progress") == 0)
    reading->answer->progress = text_of(reading, json);
  else if (strcmp(key, "place") == 0)
    (void)json_int64(json, &reading->answer->place);
  else if (strcmp(key, "error") == 0)
    reading->answer->error = text_of(reading, json);
  else if (strcmp(key, "result") == 0 && json->event == JSON_OBJECT)
    return take_table(reading, json, NULL);
  else if (strcmp(key, "result") == 0 && json->event == JSON_ARRAY)
    return json_each(json, take_table, reading);
  return true;
}

bool agent_answer_read(struct slice body, struct arena *arena, struct answer *ret_answer)
{
  struct reading reading = {.arena = arena, .answer = ret_answer};
  *ret_answer = (struct answer){0};
  return json_each_of_text(body.data, body.length, take_member, &reading) && reading.has_id && reading.has_state;
}

// ---- errors ----------------------------------------------------------------------------------------------------------
struct problem {
  char *text;
  size_t size;
};

static bool take_problem(void *context, struct json_reader *json, const char *key)
{
  struct problem *problem = context;
  if (strcmp(key, "error") == 0 && json->event == JSON_OBJECT)
    return json_each(json, take_problem, problem);
  if (strcmp(key, "message") == 0 && json->event == JSON_STRING) {
    size_t length = strnlen(json->text, problem->size - 1);
    memcpy(problem->text, json->text, length);
    problem->text[length] = 0;
  }
  return true;
}

void agent_answer_problem(struct slice body, char *text, size_t size)
{
  text[0] = 0;
  (void)json_each_of_text(body.data, body.length, take_problem, &(struct problem){text, size});
}
