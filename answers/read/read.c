// SPDX-License-Identifier: Apache-2.0
// <xsp/read.h> over store, correlate, analyze and report. A guest in somebody's process: it never ends it, prints or changes
// signals. Exhausted memory leaves the call by longjmp (base/memory.h), so no function here holds what must be undone.
#include "base/memory.h"
#include "read/columns.h"

#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SAME(status, public_status) _Static_assert((int)(status) == (int)(public_status), "enum xsp_read_status")
SAME(STATUS_OK, XSP_READ_OK);
SAME(STATUS_NO, XSP_READ_NO);
SAME(STATUS_USE, XSP_READ_USE);
SAME(STATUS_INPUT, XSP_READ_INPUT);
SAME(STATUS_SYSTEM, XSP_READ_SYSTEM);
SAME(STATUS_MEMORY, XSP_READ_MEMORY);

struct xsp_read_file {
  struct store *store;
  bool is_lost; // a call left it half-way: only to be forgotten
};

// ---- calls -----------------------------------------------------------------------------------------------------------
struct call {
  struct xsp_read_file *file;
  const char *text; // path, SQL, or id
  const char *const *options;
  int64_t run_id;
  struct xsp_read_table *table;
  char *json;
  enum status (*run)(struct call *call, struct error *err);
};
static __thread jmp_buf *way_out; // NULL: the thread is in no call
static __thread char message[sizeof(struct error)];

static void escape(void)
{
  if (way_out != NULL)
    longjmp(*way_out, 1);
}

static void install_escape(void)
{
  memory_set_escape(escape);
}

static enum status run_call(struct call *call, struct error *err)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  jmp_buf here;
  pthread_once(&once, install_escape);
  if (call->file->is_lost)
    return error_set(err, STATUS_USE, "cannot read trace", NULL, "opening it again",
                     "memory was exhausted in an earlier call");
  if (setjmp(here) != 0) {
    way_out = NULL;
    call->file->is_lost = true;
    return error_set(err, STATUS_MEMORY, "out of memory", NULL, "a smaller question, or more memory",
                     "reading a trace");
  }
  way_out = &here;
  enum status status = call->run(call, err);
  way_out = NULL;
  return status;
}

static int finish_call(struct call *call)
{
  struct error err = {0};
  enum status status = run_call(call, &err);
  message[0] = '\0';
  if (status != STATUS_OK) {
    char line[sizeof message];
    error_line(&err, line, sizeof line);
    strcpy(message, strncmp(line, "xsp: ", 5) == 0 ? line + 5 : line);
  }
  return (int)status;
}

uint32_t xsp_read_version(void)
{
  return XSP_READ_VERSION;
}

const char *xsp_read_error(void)
{
  return message;
}

// ---- files -----------------------------------------------------------------------------------------------------------
static enum status open_file(struct call *call, struct error *err)
{
  struct store *store = NULL;
  XSP_TRY(store_open(call->text, &store, err));
  call->file->store = store;
  return correlate_ensure(store, err);
}

void xsp_read_close(struct xsp_read_file *file)
{
  if (file != NULL && !file->is_lost) // else SQLite may be in the middle of a statement
    store_close(file->store);
  free(file);
}

int xsp_read_open(const char *path, struct xsp_read_file **ret_file)
{
  struct xsp_read_file *file = calloc(1, sizeof *file);
  struct call call = {.file = file, .text = path, .run = open_file};
  *ret_file = NULL;
  if (file == NULL)
    return XSP_READ_MEMORY;
  int status = finish_call(&call);
  if (status == XSP_READ_OK)
    *ret_file = file;
  else
    xsp_read_close(file);
  return status;
}

// ---- tables ----------------------------------------------------------------------------------------------------------
static enum status query(struct call *call, struct error *err)
{
  struct store *store = call->file->store;
  call->table = memory_new(1, sizeof *call->table);
  if (strcasestr(call->text, "context_metric") != NULL) // computed from all spans: only where it is asked for
    XSP_TRY(correlate_context_metrics(store, err));
  XSP_TRY(columns_query(store, call->text, call->table, err));
  columns_finish(call->table);
  return STATUS_OK;
}

static enum status make_tree(struct call *call, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct table table;
  call->table = memory_new(1, sizeof *call->table);
  XSP_TRY(report_tree(call->file->store, call->run_id, &arena, &table, err));
  columns_of_table(&table, call->table);
  columns_finish(call->table);
  return STATUS_OK;
}

static int finish_table(struct call *call, struct xsp_read_table **ret_table)
{
  int status = finish_call(call);
  *ret_table = status == XSP_READ_OK ? call->table : NULL;
  if (status != XSP_READ_OK && status != XSP_READ_MEMORY)
    xsp_read_free_table(call->table);
  return status;
}

int xsp_read_query(struct xsp_read_file *file, const char *sql, struct xsp_read_table **ret_table)
{
  struct call call = {.file = file, .text = sql, .run = query};
  return finish_table(&call, ret_table);
}

int xsp_read_tree(struct xsp_read_file *file, int64_t run_id, struct xsp_read_table **ret_table)
{
  struct call call = {.file = file, .run_id = run_id, .run = make_tree};
  return finish_table(&call, ret_table);
}

size_t xsp_read_row_count(const struct xsp_read_table *table)
{
  return table->row_count;
}

size_t xsp_read_column_count(const struct xsp_read_table *table)
{
  return table->columns.count;
}

int xsp_read_table_column(const struct xsp_read_table *table, size_t index, struct xsp_read_column *ret_column)
{
  const uint32_t first_size = offsetof(struct xsp_read_column, null_count) + sizeof ret_column->null_count; // for ever
  uint32_t size = ret_column->size < sizeof *ret_column ? ret_column->size : (uint32_t)sizeof *ret_column;
  if (index >= table->columns.count || size < first_size)
    return XSP_READ_USE;
  const struct column *column = &table->columns.items[index];
  const struct xsp_read_column whole = {
      size, column->type, column->name, column->values.items, column->types.items, column->null_count};
  memcpy(ret_column, &whole, size);
  return XSP_READ_OK;
}

size_t xsp_read_texts(const struct xsp_read_table *table, const char **ret_bytes, const int64_t **ret_offsets)
{
  *ret_bytes = table->bytes.items != NULL ? table->bytes.items : "";
  *ret_offsets = table->offsets.items;
  return table->offsets.count - 1;
}

void xsp_read_free_table(struct xsp_read_table *table)
{
  if (table != NULL)
    columns_done(table);
  free(table);
}

// ---- analyses --------------------------------------------------------------------------------------------------------
static enum status answer(struct call *call, struct arena *arena, struct buf *out, struct error *err)
{
  struct analyze_request request;
  struct table *tables = NULL;
  size_t count = 0;
  if (analyze_find(call->text) == NULL)
    return error_set(err, STATUS_USE, "wrong use", call->text, "xsp help analyze", "no such analysis");
  XSP_TRY(analyze_options_read(call->options, arena, &request, err));
  XSP_TRY(analyze_run(call->text, &call->file->store, 1, &request, arena, &tables, &count, err));
  report_tables(tables, count, REPORT_JSON, false, 0, out);
  return STATUS_OK;
}

static enum status analysis(struct call *call, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct buf out SCOPED(buf_done) = {0};
  XSP_TRY(answer(call, &arena, &out, err));
  call->json = memory_text_of(out.data, out.length);
  return STATUS_OK;
}

int xsp_read_analysis(struct xsp_read_file *file, const char *id, const char *const *options, char **ret_json)
{
  struct call call = {.file = file, .text = id, .options = options, .run = analysis};
  int status = finish_call(&call);
  *ret_json = call.json;
  return status;
}

void xsp_read_free_text(char *text)
{
  free(text);
}
