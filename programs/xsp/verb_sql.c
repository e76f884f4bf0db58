// SPDX-License-Identifier: Apache-2.0
// xsp sql: one reading SQL statement over a file. JSON is streamed row by row; the other forms are laid out as a table.
#include "base/hex.h"
#include "base/json_write.h"
#include "base/vector.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "table/builder.h"

#include <string.h>

#define FLUSH_BYTES ((size_t)1 << 16)

// ---- JSON ------------------------------------------------------------------------------------------------------------
struct json_rows {
  struct arena arena; // the names
  const char **names;
  struct buf out;
  struct json_writer json;
};

static const char **copy_names(struct arena *arena, const char *const *names, size_t count)
{
  const char **copies = arena_alloc_array(arena, count + 1, sizeof *copies);
  for (size_t i = 0; i < count; i++)
    copies[i] = arena_copy(arena, names[i], strlen(names[i]));
  return copies;
}

static size_t occurrences(const char *const *names, size_t count, const char *name)
{
  size_t found = 0;
  for (size_t i = 0; i < count; i++)
    found += strcmp(names[i], name) == 0;
  return found;
}

// A key is once in an object: further columns of one name are name:1, name:2, as SQLite has them in a subquery.
static enum status json_columns(void *context, const char *const *names, size_t count, struct error *err)
{
  struct json_rows *rows = context;
  rows->names = copy_names(&rows->arena, names, count);
  for (size_t i = 0; i < count; i++) {
    const char *name = rows->names[i];
    size_t number = occurrences(names, i, name);
    for (; occurrences(rows->names, i, rows->names[i]) > 0; number++)
      rows->names[i] = arena_format(&rows->arena, "%s:%zu", name, number);
  }
  return STATUS_OK;
}

static char *blob_text(struct arena *arena, const struct store_cell *cell)
{
  char *text = arena_alloc(arena, 2 * cell->length + 1);
  hex_encode(text, cell->text, cell->length);
  return text;
}

static void json_blob(struct json_writer *json, const struct store_cell *cell)
{
  struct arena arena SCOPED(arena_done) = {0}; // of this cell only: rows are streamed
  json_string(json, blob_text(&arena, cell));
}

static enum status json_row(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct json_rows *rows = context;
  struct json_writer *json = &rows->json;
  json_object(json);
  for (size_t i = 0; i < count; i++) {
    json_key(json, rows->names[i]);
    switch (cells[i].type) {
    case STORE_INT:
      json_int(json, cells[i].integer);
      break;
    case STORE_DOUBLE:
      json_double(json, cells[i].real);
      break;
    case STORE_TEXT:
      json_string_n(json, cells[i].text, cells[i].length);
      break;
    case STORE_BLOB:
      json_blob(json, &cells[i]);
      break;
    default:
      json_null(json);
    }
  }
  json_object_end(json);
  return rows->out.length < FLUSH_BYTES ? STATUS_OK : output_buf(&rows->out, err);
}

static enum status print_json(struct store *store, const char *sql, struct headway_watcher watcher, struct error *err)
{
  struct json_rows rows = {0};
  json_start(&rows.json, &rows.out);
  json_array(&rows.json);
  const struct store_query_sink sink = {.context = &rows, .columns = json_columns, .row = json_row, .watcher = watcher};
  enum status status = store_query(store, sql, &sink, err);
  if (status == STATUS_OK) {
    json_array_end(&rows.json);
    buf_text(&rows.out, "\n");
    status = output_buf(&rows.out, err);
  }
  buf_done(&rows.out);
  arena_done(&rows.arena);
  return status;
}

// ---- a table ---------------------------------------------------------------------------------------------------------
struct table_rows {
  struct arena arena;
  struct table_column *columns;
  size_t column_count;
  VECTOR(struct table_cell) cells;
  size_t row_count;
};

static enum status add_columns(void *context, const char *const *names, size_t count, struct error *err)
{
  struct table_rows *rows = context;
  const char **copies = copy_names(&rows->arena, names, count);
  rows->columns = arena_alloc_array(&rows->arena, count + 1, sizeof *rows->columns);
  for (size_t i = 0; i < count; i++)
    rows->columns[i] = (struct table_column){.key = copies[i], .unit = "", .label = copies[i]};
  rows->column_count = count;
  return STATUS_OK;
}

// Texts of SQL may hold NUL bytes, tables' texts cannot: they become U+FFFD.
static const char *text_without_nul(struct arena *arena, const struct store_cell *cell)
{
  struct buf text SCOPED(buf_done) = {0};
  for (size_t i = 0; i < cell->length; i++)
    buf_put(&text, cell->text[i] != 0 ? &cell->text[i] : "\xef\xbf\xbd", cell->text[i] != 0 ? 1 : 3);
  return arena_copy(arena, text.data != NULL ? text.data : "", text.length);
}

static struct table_cell cell_of(struct arena *arena, const struct store_cell *from)
{
  switch (from->type) {
  case STORE_INT:
    return cell_int(from->integer);
  case STORE_DOUBLE:
    return (struct table_cell){CELL_REAL, {.real = from->real}};
  case STORE_TEXT:
    return (struct table_cell){CELL_TEXT, {.text = text_without_nul(arena, from)}};
  case STORE_BLOB:
    return (struct table_cell){CELL_TEXT, {.text = blob_text(arena, from)}};
  default:
    return (struct table_cell){0};
  }
}

static enum status add_row(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct table_rows *rows = context;
  for (size_t i = 0; i < count; i++)
    *vector_add(&rows->cells) = cell_of(&rows->arena, &cells[i]);
  rows->row_count++;
  return STATUS_OK;
}

static enum status print_table(struct store *store, const char *sql, struct headway_watcher watcher,
                               enum report_format format, struct error *err)
{
  struct table_rows rows = {0};
  const struct store_query_sink sink = {.context = &rows, .columns = add_columns, .row = add_row, .watcher = watcher};
  enum status status = store_query(store, sql, &sink, err);
  if (status == STATUS_OK) {
    const struct table table = {.columns = rows.columns,
                                .column_count = rows.column_count,
                                .rows = rows.cells.items,
                                .row_count = rows.row_count};
    status = output_tables(&table, 1, format, false, err);
  }
  vector_done(&rows.cells);
  arena_done(&rows.arena);
  return status;
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  enum report_format format;
  XSP_TRY(verb_reader_format(invocation, &format, err));
  struct store *store = NULL;
  XSP_TRY(verb_reader_open(invocation->arguments[0], &store, err));
  const char *sql = invocation->arguments[1];
  enum status status = STATUS_OK;
  if (strcasestr(sql, "context_metric") != NULL) // computed from all spans: only where it is asked for
    status = correlate_context_metrics(store, err);
  struct output_steps steps = {.path = invocation->arguments[0], .units = "rows"};
  const struct headway_watcher watcher = {output_headway_step, &steps};
  if (status == STATUS_OK)
    status =
        format == REPORT_JSON ? print_json(store, sql, watcher, err) : print_table(store, sql, watcher, format, err);
  output_headway_end(&steps.headway);
  store_close(store);
  return status;
}

static const struct verb_example examples[] = {
    {"xsp sql out.xsp \"select level, count(*) from span group by 1\"", "how many spans there are at each level"},
    {"xsp sql out.xsp \"select t.value, sum(s.self_ns)/1e6 ms from span s join tag t using (run_id, span_id) where "
     "t.key = 'layer_type' group by 1 order by 2 desc\"",
     "own time by layer type, over all runs"},
    {0},
};

const struct verb verb_sql = {
    .name = "sql",
    .summary = "ask a file in SQL",
    .synopsis = "FILE \"select ...\" [OPTION...]",
    .description = "Runs one SQL statement that reads (SQLite's dialect) and prints its rows. Nothing is ever written, "
                   "attached or loaded.\n\n"
                   "  experiment(experiment_id, name, workload, framework, framework_version,\n"
                   "             command, created_ns, system_id, xsp_version)\n"
                   "  system(system_id, key, value)\n"
                   "  workload(experiment_id, key, value)\n"
                   "  evaluation(experiment_id, key, value)\n"
                   "  output(experiment_id, item, file, type, shape, data)\n"
                   "  run(run_id, experiment_id, levels, batch_size, dropped_count, epoch, layer,\n"
                   "      misused_count, own_pct)\n"
                   "  observation(run_id, observation, span_id, start_ns, duration_ns, warmup)\n"
                   "  track(run_id, track_id, name, host, process_id, thread_id, device_id, stream_id,\n"
                   "        clock, rank, local_rank, world_size)\n"
                   "  span(run_id, span_id, trace_id, parent_id, model_id, layer_id, level, kind, category,\n"
                   "       tracer, track_id, name, start_ns, end_ns, duration_ns, self_ns, correlation_id,\n"
                   "       basis, depth, is_open, observation, recorded_parent_id, forward_id, context_id)\n"
                   "  tag(run_id, span_id, key, value)\n"
                   "  log(run_id, span_id, time_ns, message)\n"
                   "  sample(run_id, time_ns, track_id, span_id, context_id, kind, duration_ns)\n"
                   "  counter(run_id, counter_id, name, source, process_id, thread_id, device_id, is_total)\n"
                   "  counter_value(run_id, counter_id, time_ns, value)\n"
                   "  frame(frame_id, kind, name, file, line, module, address)\n"
                   "  context(context_id, parent_id, frame_id)\n"
                   "  context_metric(run_id, context_id, metric, count, sum, min, max, mean, variance,\n"
                   "                 exclusive_sum)\n"
                   "  trace(run_id, trace_id, text)\n"
                   "  note(run_id, key, value)",
    .least_arguments = 2,
    .most_arguments = 2,
    .is_reader = true,
    .examples = examples,
    .see_also = "analyze, export, info",
    .run = run,
};
