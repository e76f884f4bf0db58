// SPDX-License-Identifier: Apache-2.0
// Between SQLite's planner and a scan. Equalities that are pushed down are exact (SQLite does not check them again), so
// they follow its comparison rules to the letter: affinity of the column, NULL equals nothing, BINARY collation only.
// Ranges only prune; SQLite checks every row of them again.
#include "store/table.h"

#include <math.h>
#include <string.h>

#define PLAN_KEY 1         // the first argument is the key
#define PLAN_ORDER_SHIFT 8 // three terms of 7 bits: SQL column + 1, then 1 for descending

// ---- planning --------------------------------------------------------------------------------------------------------
struct plan {
  sqlite3_index_info *info;
  const struct table_kind *kind;
  char arguments[2 * SCAN_FILTERS + 3]; // pairs: 'A' + SQL column, operator
  int argument_count;
  int key; // constraint, -1: none
  int key_column;
  bool has_run;
  double selectivity;
};

static bool can_equal(const struct plan *plan, int i)
{
  const struct sqlite3_index_constraint *constraint = &plan->info->aConstraint[i];
  if (!constraint->usable || constraint->op != SQLITE_INDEX_CONSTRAINT_EQ || constraint->iColumn < 0)
    return false;
  enum render render = plan->kind->columns[constraint->iColumn].render;
  return render != RENDER_OWN &&
         (!table_is_text(render) || strcmp(sqlite3_vtab_collation(plan->info, i), "BINARY") == 0);
}

static void find_key(struct plan *plan)
{
  bool is_unique = false;
  plan->key = -1;
  for (int i = 0; i < plan->info->nConstraint && !is_unique; i++) {
    if (!can_equal(plan, i) || !plan->kind->columns[plan->info->aConstraint[i].iColumn].is_key)
      continue;
    is_unique = plan->info->aConstraint[i].iColumn == (int)plan->kind->unique;
    if (plan->key < 0 || is_unique)
      plan->key = i;
  }
  plan->key_column = plan->key < 0 ? -1 : plan->info->aConstraint[plan->key].iColumn;
}

static void use(struct plan *plan, int i, char operator, bool is_exact)
{
  plan->arguments[2 * plan->argument_count] = (char)('A' + plan->info->aConstraint[i].iColumn);
  plan->arguments[2 * plan->argument_count + 1] = operator;
  plan->argument_count++;
  plan->info->aConstraintUsage[i].argvIndex = plan->argument_count;
  plan->info->aConstraintUsage[i].omit = is_exact;
}

static char range_operator(int operator)
{
  switch (operator) {
  case SQLITE_INDEX_CONSTRAINT_GT:
    return '>';
  case SQLITE_INDEX_CONSTRAINT_GE:
    return 'g';
  case SQLITE_INDEX_CONSTRAINT_LT:
    return '<';
  case SQLITE_INDEX_CONSTRAINT_LE:
    return 'l';
  default:
    return 0;
  }
}

static void use_constraints(struct plan *plan)
{
  if (plan->key >= 0)
    use(plan, plan->key, '=', true);
  for (int i = 0; i < plan->info->nConstraint && plan->argument_count < (int)SCAN_FILTERS; i++) {
    const struct sqlite3_index_constraint *constraint = &plan->info->aConstraint[i];
    if (i == plan->key || !constraint->usable || constraint->iColumn < 0)
      continue;
    const struct store_table_column *column = &plan->kind->columns[constraint->iColumn];
    if (can_equal(plan, i)) {
      use(plan, i, '=', true);
      plan->has_run |= column->render == RENDER_RUN;
      plan->selectivity *= column->render == RENDER_NAME ? 0.02 : column->render == RENDER_RUN ? 1 : 0.25;
    } else if (column->is_range && range_operator(constraint->op) != 0) {
      use(plan, i, range_operator(constraint->op), false);
      plan->selectivity *= 0.5;
    }
  }
}

static bool can_order(const struct store_table_column *column)
{
  return column->render == RENDER_RUN || table_is_text(column->render);
}

// ORDER BY, GROUP BY and DISTINCT by texts with few values: a counting sort of rows, cheaper than SQLite's sort of
// records. The terms as a number, 0: no.
static int plan_order(const struct plan *plan, uint64_t rows, uint64_t parts)
{
  const sqlite3_index_info *info = plan->info;
  if (info->nOrderBy < 1 || info->nOrderBy > (int)SCAN_ORDERS || plan->key >= 0 || rows > SCAN_ORDER_ROWS_MAXIMUM ||
      parts > SCAN_ORDER_PARTS_MAXIMUM)
    return 0;
  int order = 0;
  for (int i = 0; i < info->nOrderBy; i++) {
    int column = info->aOrderBy[i].iColumn;
    if (column < 0 || !can_order(&plan->kind->columns[column]))
      return 0;
    order |= (2 * (column + 1) + (info->aOrderBy[i].desc != 0)) << (PLAN_ORDER_SHIFT + 7 * i);
  }
  return order;
}

int store_table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
  struct store_table *table = (struct store_table *)base;
  struct error err = {0};
  // SQLite keeps its schema while it plans: reading fails here if a file that is being recorded has got a table since. For a
  // plan, what was read before will do.
  enum status status = table->reader->is_loaded ? STATUS_OK : reader_refresh(table->reader, &err);
  if (status != STATUS_OK)
    return store_table_failed(base, status, &err);
  uint64_t rows = 0;
  uint64_t parts = 0;
  for (size_t i = 0; i < table->reader->run_count; i++) {
    rows += table->reader->runs[i].series[table->kind->series].row_count;
    parts += table->reader->runs[i].series[table->kind->series].part_count;
  }
  struct plan plan = {.info = info, .kind = table->kind, .selectivity = 1};
  find_key(&plan);
  use_constraints(&plan);
  double runs = plan.has_run || table->reader->run_count == 0 ? 1 : (double)table->reader->run_count;
  double run_rows = (double)rows / (table->reader->run_count == 0 ? 1 : (double)table->reader->run_count) * runs;
  if (plan.key >= 0 && plan.key_column == (int)table->kind->unique) {
    info->estimatedRows = (sqlite3_int64)runs;
    info->estimatedCost = 2 * runs;
    info->idxFlags = plan.has_run ? SQLITE_INDEX_SCAN_UNIQUE : 0;
  } else if (plan.key >= 0) {
    double found = run_rows < 16 ? run_rows : 16;
    info->estimatedRows = (sqlite3_int64)(found * plan.selectivity) + 1;
    info->estimatedCost = 2 * runs + found;
  } else {
    info->estimatedRows = (sqlite3_int64)(run_rows * plan.selectivity) + 1;
    info->estimatedCost = 10 + run_rows;
  }
  int order = plan_order(&plan, rows, parts);
  info->orderByConsumed = order != 0;
  info->idxNum = (plan.key >= 0 ? PLAN_KEY : 0) | order;
  info->idxStr = sqlite3_mprintf("%.*s", 2 * plan.argument_count, plan.arguments);
  info->needToFreeIdxStr = 1;
  return info->idxStr == NULL ? SQLITE_NOMEM : SQLITE_OK;
}

// ---- constraints as filters ------------------------------------------------------------------------------------------
// The integer that equals `value` in a column of integer affinity. False: none does.
static bool integer_of(sqlite3_value *value, int64_t *ret_integer)
{
  switch (sqlite3_value_numeric_type(value)) {
  case SQLITE_INTEGER:
    *ret_integer = sqlite3_value_int64(value);
    return true;
  case SQLITE_FLOAT: {
    double real = sqlite3_value_double(value);
    if (!(real >= -9223372036854775808.0 && real < 9223372036854775808.0) || real != floor(real))
      return false;
    *ret_integer = (int64_t)real;
    return true;
  }
  default:
    return false;
  }
}

// The stored number whose text equals `value` in a column of text affinity. False: none does.
static bool text_of(const struct reader *reader, enum render render, sqlite3_value *value, int64_t *ret_stored)
{
  int type = sqlite3_value_type(value);
  if (type == SQLITE_NULL || type == SQLITE_BLOB)
    return false;
  const char *text = (const char *)sqlite3_value_text(value);
  size_t length = (size_t)sqlite3_value_bytes(value);
  unsigned number = 0;
  bool is_found = text != NULL &&
                  (store_table_names[render].from_name != NULL
                       ? store_table_names[render].from_name(text, length, &number)
                       : (length > 0 || render == RENDER_NAME) && strings_find(reader->strings, text, length, &number));
  *ret_stored = number;
  return is_found;
}

static void add_filter(struct scan *scan, unsigned column, int64_t least, int64_t most)
{
  if (scan->filter_count < SCAN_FILTERS)
    scan->filters[scan->filter_count++] = (struct scan_filter){column, least, most};
}

static void add_equality(struct scan *scan, const struct store_table_column *column, bool is_key, sqlite3_value *value)
{
  int64_t stored = 0;
  bool can_match = table_is_text(column->render)
                       ? text_of(scan->reader, column->render, value, &stored)
                       : sqlite3_value_type(value) != SQLITE_NULL && integer_of(value, &stored);
  if (!can_match || (column->render == RENDER_ID && stored == 0) ||
      (column->render == RENDER_OBSERVATION && stored == -1)) {
    scan->is_empty = true;
  } else if (is_key) {
    scan->by_key = true;
    scan->key_column = column->column;
    scan->key = stored;
  } else if (column->render == RENDER_RUN) {
    scan->least_run = scan->least_run > stored ? scan->least_run : stored;
    scan->most_run = scan->most_run < stored ? scan->most_run : stored;
  } else {
    add_filter(scan, column->column, stored, stored);
  }
}

static void add_range(struct scan *scan, const struct store_table_column *column, char operator, sqlite3_value * value)
{
  if (sqlite3_value_type(value) == SQLITE_NULL) {
    scan->is_empty = true;
    return;
  }
  if (sqlite3_value_type(value) != SQLITE_INTEGER)
    return; // SQLite filters
  int64_t bound = sqlite3_value_int64(value);
  if (operator== '>' || operator== 'g')
    add_filter(scan, column->column, bound, INT64_MAX);
  else
    add_filter(scan, column->column, INT64_MIN, bound);
}

int store_table_filter(sqlite3_vtab_cursor *base, int number, const char *text, int count, sqlite3_value **values)
{
  struct table_cursor *cursor = (struct table_cursor *)base;
  struct store_table *table = (struct store_table *)base->pVtab;
  struct scan *scan = &cursor->scan;
  scan->least_run = INT64_MIN;
  scan->most_run = INT64_MAX;
  scan->filter_count = 0;
  scan->is_empty = scan->by_key = false;
  scan->order_count = 0;
  for (int i = 0; i < count; i++) {
    const struct store_table_column *column = &table->kind->columns[text[2 * i] - 'A'];
    if (text[2 * i + 1] == '=')
      add_equality(scan, column, i == 0 && (number & PLAN_KEY) != 0, values[i]);
    else
      add_range(scan, column, text[2 * i + 1], values[i]);
  }
  for (unsigned i = 0; i < SCAN_ORDERS; i++) {
    unsigned term = (unsigned)number >> (PLAN_ORDER_SHIFT + 7 * i) & 127;
    if (term == 0)
      break;
    const struct store_table_column *column = &table->kind->columns[term / 2 - 1];
    scan->orders[scan->order_count++] = (struct scan_order_term){
        column->render == RENDER_RUN ? SCAN_ORDER_RUN : (uint8_t)column->column, term % 2 != 0};
  }
  struct error err = {0};
  enum status status = scan_start(scan, &err);
  const struct scan **outermost = &table->reader->outermost;
  if (scan->by_key) // also of a cursor that walked before, as for each term of an OR
    *outermost = *outermost == scan ? NULL : *outermost;
  else if (*outermost == NULL || (*outermost)->at_end)
    *outermost = scan;
  return status == STATUS_OK ? SQLITE_OK : store_table_failed(base->pVtab, status, &err);
}
