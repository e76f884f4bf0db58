// SPDX-License-Identifier: Apache-2.0
// The columns of the tables `span`, `tag` and `sample` of SQL, and those whose values are not stored as they are shown.
#include "store/problem.h"
#include "store/table.h"

#include <string.h>

enum {
  SQL_RUN_ID,
  SQL_SPAN_ID,
  SQL_TRACE_ID,
  SQL_PARENT_ID,
  SQL_MODEL_ID,
  SQL_LAYER_ID,
  SQL_LEVEL,
  SQL_KIND,
  SQL_CATEGORY,
  SQL_TRACER,
  SQL_TRACK_ID,
  SQL_NAME,
  SQL_START_NS,
  SQL_END_NS,
  SQL_DURATION_NS,
  SQL_SELF_NS,
  SQL_CORRELATION_ID,
  SQL_BASIS,
  SQL_DEPTH,
  SQL_IS_OPEN,
  SQL_OBSERVATION,
  SQL_RECORDED_PARENT_ID,
  SQL_FORWARD_ID,
  SQL_CONTEXT_ID,
  SQL_COLUMNS,
};

// Never finished: what depends on the end is not known. Parts without flags skip the look.
static enum status is_open(struct scan *scan, bool *ret_is_open, struct error *err)
{
  *ret_is_open = false;
  if (scan->part->slot[STORE_FLAGS].maximum == 0)
    return STATUS_OK;
  XSP_TRY(scan_need(scan, STORE_FLAGS, err));
  *ret_is_open = (scan_value(scan, STORE_FLAGS) & STORE_SPAN_OPEN) != 0;
  return STATUS_OK;
}

static enum status put_span_value(struct scan *scan, int column, sqlite3_context *context, struct error *err)
{
  bool has_no_end = false;
  XSP_TRY(is_open(scan, &has_no_end, err));
  if (column == SQL_IS_OPEN) {
    sqlite3_result_int(context, has_no_end);
    return STATUS_OK;
  }
  if (has_no_end)
    return STATUS_OK;
  unsigned stored = column == SQL_SELF_NS ? STORE_SELF_NS : STORE_DURATION_NS;
  XSP_TRY(scan_need(scan, stored, err));
  int64_t value = scan_value(scan, stored);
  if (column == SQL_END_NS) {
    XSP_TRY(scan_need(scan, STORE_START_NS, err));
    if (__builtin_add_overflow(scan_value(scan, STORE_START_NS), value, &value))
      value = value < 0 ? INT64_MAX : INT64_MIN; // the sum wrapped the other way
  }
  sqlite3_result_int64(context, value);
  return STATUS_OK;
}

static enum status put_tag_value(struct scan *scan, int column, sqlite3_context *context, struct error *err)
{
  XSP_TRY(scan_need(scan, TAG_TYPE, err));
  XSP_TRY(scan_need(scan, TAG_VALUE, err));
  int64_t value = scan_value(scan, TAG_VALUE);
  int64_t type = scan_value(scan, TAG_TYPE);
  if (type == STORE_INT) {
    sqlite3_result_int64(context, value);
  } else if (type == STORE_DOUBLE) {
    double real;
    memcpy(&real, &value, sizeof real);
    sqlite3_result_double(context, real);
  } else if (value == 0 || (value > 0 && value < strings_count(scan->reader->strings))) {
    store_table_put_text(context, scan->reader, RENDER_NAME, (uint32_t)value);
  } else {
    return problem_broken(err, scan->reader->path, "a tag refers to string %lld, which does not exist",
                          (long long)value);
  }
  return STATUS_OK;
}

// ---- the tables -----------------------------------------------------------------------------------------------------
// The contract's columns in its order, then ours.
static const struct store_table_column span_columns[SQL_COLUMNS] = {
    [SQL_RUN_ID] = {"run_id", "INTEGER", 0, RENDER_RUN, false, false},
    [SQL_SPAN_ID] = {"span_id", "INTEGER", STORE_SPAN_ID, RENDER_ID, true, true},
    [SQL_TRACE_ID] = {"trace_id", "INTEGER", STORE_TRACE_ID, RENDER_ID, false, false},
    [SQL_PARENT_ID] = {"parent_id", "INTEGER", STORE_PARENT_ID, RENDER_ID, true, true},
    [SQL_MODEL_ID] = {"model_id", "INTEGER", STORE_MODEL_ID, RENDER_ID, true, true},
    [SQL_LAYER_ID] = {"layer_id", "INTEGER", STORE_LAYER_ID, RENDER_ID, true, true},
    [SQL_LEVEL] = {"level", "TEXT", STORE_LEVEL, RENDER_LEVEL, false, false},
    [SQL_KIND] = {"kind", "TEXT", STORE_KIND, RENDER_KIND, false, false},
    [SQL_CATEGORY] = {"category", "TEXT", STORE_CATEGORY, RENDER_STRING, false, false},
    [SQL_TRACER] = {"tracer", "TEXT", STORE_TRACER, RENDER_STRING, false, false},
    [SQL_TRACK_ID] = {"track_id", "INTEGER", STORE_TRACK_ID, RENDER_ID, false, true},
    [SQL_NAME] = {"name", "TEXT", STORE_NAME, RENDER_NAME, false, false},
    [SQL_START_NS] = {"start_ns", "INTEGER", STORE_START_NS, RENDER_INTEGER, false, true},
    [SQL_END_NS] = {"end_ns", "INTEGER", 0, RENDER_OWN, false, false},
    [SQL_DURATION_NS] = {"duration_ns", "INTEGER", STORE_DURATION_NS, RENDER_OWN, false, true},
    [SQL_SELF_NS] = {"self_ns", "INTEGER", STORE_SELF_NS, RENDER_OWN, false, true},
    [SQL_CORRELATION_ID] = {"correlation_id", "INTEGER", STORE_CORRELATION_ID, RENDER_ID, true, true},
    [SQL_BASIS] = {"basis", "TEXT", STORE_BASIS, RENDER_BASIS, false, false},
    [SQL_DEPTH] = {"depth", "INTEGER", STORE_DEPTH, RENDER_INTEGER, false, true},
    [SQL_IS_OPEN] = {"is_open", "INTEGER", STORE_FLAGS, RENDER_OWN, false, false},
    [SQL_OBSERVATION] = {"observation", "INTEGER", STORE_OBSERVATION, RENDER_OBSERVATION, false, true},
    [SQL_RECORDED_PARENT_ID] = {"recorded_parent_id", "INTEGER", STORE_RECORDED_PARENT_ID, RENDER_ID, true, true},
    [SQL_FORWARD_ID] = {"forward_id", "INTEGER", STORE_FORWARD_ID, RENDER_ID, true, true},
    [SQL_CONTEXT_ID] = {"context_id", "INTEGER", STORE_CONTEXT_ID, RENDER_ID, false, true},
};
static const struct store_table_column tag_columns[] = {
    {"run_id", "INTEGER", 0, RENDER_RUN, false, false},
    {"span_id", "INTEGER", TAG_SPAN_ID, RENDER_ID, true, true},
    {"key", "TEXT", TAG_KEY, RENDER_NAME, false, false},
    {"value", "", TAG_VALUE, RENDER_OWN, false, false},
};
#define TAG_SQL_COLUMNS (sizeof tag_columns / sizeof tag_columns[0])
static const struct store_table_column sample_columns[] = {
    {"run_id", "INTEGER", 0, RENDER_RUN, false, false},
    {"time_ns", "INTEGER", SAMPLE_TIME_NS, RENDER_INTEGER, false, true},
    {"track_id", "INTEGER", SAMPLE_TRACK_ID, RENDER_ID, false, true},
    {"span_id", "INTEGER", SAMPLE_SPAN_ID, RENDER_ID, true, true},
    {"context_id", "INTEGER", SAMPLE_CONTEXT_ID, RENDER_ID, false, true},
    {"kind", "TEXT", SAMPLE_KIND, RENDER_SAMPLE_KIND, false, false},
    {"duration_ns", "INTEGER", SAMPLE_DURATION_NS, RENDER_INTEGER, false, true},
};
#define SAMPLE_SQL_COLUMNS (sizeof sample_columns / sizeof sample_columns[0])

const struct table_kind store_table_kinds[TABLE_KINDS] = {
    {"span", SERIES_SPAN, span_columns, SQL_COLUMNS, SQL_SPAN_ID, put_span_value},
    {"tag", SERIES_TAG, tag_columns, TAG_SQL_COLUMNS, TAG_SQL_COLUMNS, put_tag_value},
    {"sample", SERIES_SAMPLE, sample_columns, SAMPLE_SQL_COLUMNS, SAMPLE_SQL_COLUMNS, NULL},
};
