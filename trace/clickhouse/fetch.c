// SPDX-License-Identifier: Apache-2.0
// Asks a database for the spans that a question needs. Called by programs/.
#include "clickhouse/address.h"
#include "clickhouse/clickhouse.h"
#include "clickhouse/client.h"
#include "clickhouse/sql.h"

#include <string.h>
#include <unistd.h>

#define RUNS_BYTES_MOST ((size_t)16 << 20)

struct fetch {
  struct clickhouse_address *address;
  struct client *client;
  enum trace_detail detail;
  const char *layer_mode;
  struct reply_runs runs;
  struct reply_runs whole; // runs that come back as they are
  struct reply_runs loose; // runs with kernels that are in no observation by their parents
  int fd;
  struct clickhouse_report *report;
};

// Metrics belong to single kernels, and those of one run are joined with another run's latencies.
static bool has_metrics(const struct fetch *fetch)
{
  for (size_t i = 0; i < fetch->runs.runs.count; i++)
    if (fetch->runs.runs.items[i].has_metrics)
      return true;
  return false;
}

// Parents of other programs' spans are found after the import. A run without observations is one, from its first span to its last.
// The import takes the first of spans with the same id.
static bool is_whole(const struct reply_run *run)
{
  return run->foreign > 0 || run->observations == 0 || run->is_repeated;
}

static enum status ask_for_runs(struct fetch *fetch, const struct buf *sql, struct reply_runs *ret_runs,
                                struct error *err)
{
  struct buf reply SCOPED(buf_done);
  int64_t bytes;
  buf_init(&reply, RUNS_BYTES_MOST);
  XSP_TRY(clickhouse_client_query(fetch->client, sql->data, &reply, -1, &bytes, err));
  if (!clickhouse_reply_read_runs((struct slice){reply.data, reply.length}, ret_runs))
    return error_set(err, STATUS_INPUT, "cannot read the reply", fetch->address->given,
                     "the HTTP port of ClickHouse, 8123", "it is not a list of runs");
  return STATUS_OK;
}

static enum status find_columns(struct fetch *fetch, struct error *err)
{
  struct buf sql SCOPED(buf_done) = {0}, reply SCOPED(buf_done);
  int64_t bytes;
  buf_init(&reply, RUNS_BYTES_MOST);
  sql_columns(fetch->address, &sql);
  struct error first = {0};
  enum status status = clickhouse_client_query(fetch->client, sql.data, &reply, -1, &bytes, &first);
  if (status == STATUS_INPUT && clickhouse_client_refusal_has(fetch->client, "READONLY")) {
    clickhouse_client_drop_settings(fetch->client);
    status = clickhouse_client_query(fetch->client, sql.data, &reply, -1, &bytes, err);
  } else if (status != STATUS_OK && err != NULL) {
    *err = first;
  }
  fetch->address->has_columns = sql_has_columns((struct slice){reply.data, reply.length});
  return status;
}

static enum status list_runs(struct fetch *fetch, struct error *err)
{
  struct buf sql = {0};
  sql_runs(fetch->address, fetch->detail > TRACE_LAYERS, &sql);
  enum status status = ask_for_runs(fetch, &sql, &fetch->runs, err);
  buf_done(&sql);
  if (status == STATUS_OK && fetch->runs.runs.count == 0)
    return error_set(err, STATUS_INPUT, "cannot analyze", fetch->address->given,
                     "?table=NAME&experiment=NAME, from and to",
                     "the table has no such spans; a time to live drops those whose times do not count from 1970");
  bool are_whole = trace_detail_adds_kernels_up(fetch->detail) && has_metrics(fetch);
  for (size_t i = 0; i < fetch->runs.runs.count; i++) {
    const struct reply_run *run = &fetch->runs.runs.items[i];
    fetch->report->spans += run->spans;
    if (are_whole || is_whole(run))
      *vector_add(&fetch->whole.runs) = *run;
  }
  fetch->report->runs = (int64_t)fetch->runs.runs.count;
  return status;
}

// Kernels are added up by parents. Loose ones, which are in an observation by their time alone, come back one by one; what devices do
// cannot be added up with them, so that their runs come back in full.
static enum status find_loose(struct fetch *fetch, const struct sql_question *question, struct error *err)
{
  struct buf sql = {0};
  sql_runs_with_loose_kernels(question, &sql);
  enum status status = ask_for_runs(fetch, &sql, &fetch->loose, err);
  buf_done(&sql);
  if (status != STATUS_OK || !trace_detail_has_devices(fetch->detail))
    return status;
  for (size_t i = 0; i < fetch->loose.runs.count; i++)
    *vector_add(&fetch->whole.runs) = fetch->loose.runs.items[i];
  clickhouse_reply_runs_done(&fetch->loose);
  return STATUS_OK;
}

static enum status append(struct fetch *fetch, struct buf *sql, struct error *err)
{
  int64_t bytes = 0;
  enum status status = clickhouse_client_query(fetch->client, sql->data, NULL, fetch->fd, &bytes, err);
  fetch->report->bytes += bytes;
  buf_clear(sql);
  return status;
}

// *ret_is_done false: some kernel is loose, and nothing came back.
static enum status add_up(struct fetch *fetch, const struct sql_question *question, bool *ret_is_done,
                          struct error *err)
{
  struct buf sql = {0};
  struct error refused = {0};
  sql_kernels(question, true, &sql);
  enum status status = append(fetch, &sql, &refused);
  buf_done(&sql);
  *ret_is_done = status == STATUS_OK;
  if (status == STATUS_OK || clickhouse_client_refusal_has(fetch->client, SQL_LOOSE))
    return STATUS_OK;
  if (err != NULL)
    *err = refused;
  return status;
}

// Spans before what is added up to them: runs are numbered in the order in which they come.
static enum status ask_for_spans(struct fetch *fetch, const struct sql_question *question, struct error *err)
{
  struct buf sql SCOPED(buf_done) = {0};
  sql_spans(question, &sql);
  return append(fetch, &sql, err);
}

static enum status start_again(struct fetch *fetch, struct error *err)
{
  fetch->report->bytes = 0;
  if (ftruncate(fetch->fd, 0) == 0 && lseek(fetch->fd, 0, SEEK_SET) == 0)
    return STATUS_OK;
  return error_set_errno(err, STATUS_SYSTEM, "cannot keep the reply", fetch->address->given, "another TMPDIR");
}

static enum status ask_for_all(struct fetch *fetch, const struct sql_question *question, struct error *err)
{
  struct buf sql SCOPED(buf_done) = {0};
  bool is_done = false, adds_up = trace_detail_adds_kernels_up(fetch->detail);
  bool has_parts = fetch->whole.runs.count < fetch->runs.runs.count && fetch->detail > TRACE_LAYERS;
  if (has_parts && adds_up && !trace_detail_has_devices(fetch->detail)) {
    XSP_TRY(ask_for_spans(fetch, question, err));
    XSP_TRY(add_up(fetch, question, &is_done, err));
    if (is_done)
      return STATUS_OK;
    XSP_TRY(start_again(fetch, err));
  }
  if (has_parts)
    XSP_TRY(find_loose(fetch, question, err));
  XSP_TRY(ask_for_spans(fetch, question, err));
  if (!adds_up || fetch->whole.runs.count == fetch->runs.runs.count)
    return STATUS_OK;
  sql_kernels(question, false, &sql);
  return append(fetch, &sql, err);
}

// Runs whose parents cannot be followed come back in full from now on.
static enum status find_deep(struct fetch *fetch, const struct sql_question *question, struct error *err)
{
  struct buf sql = {0};
  struct reply_runs deep SCOPED(clickhouse_reply_runs_done) = {0};
  sql_runs_that_are_deep(question, &sql);
  enum status status = ask_for_runs(fetch, &sql, &deep, err);
  buf_done(&sql);
  for (size_t i = 0; i < deep.runs.count; i++)
    *vector_add(&fetch->whole.runs) = deep.runs.items[i];
  clickhouse_reply_runs_done(&fetch->loose);
  return status;
}

static enum status ask(struct fetch *fetch, struct error *err)
{
  const struct sql_question question = {fetch->address, fetch->detail, fetch->layer_mode,
                                        &fetch->runs,   &fetch->whole, &fetch->loose};
  struct error refused = {0};
  XSP_TRY(find_columns(fetch, err));
  XSP_TRY(list_runs(fetch, err));
  enum status status = ask_for_all(fetch, &question, &refused);
  if (status != STATUS_OK && clickhouse_client_refusal_has(fetch->client, SQL_DEEP)) {
    XSP_TRY(find_deep(fetch, &question, err));
    XSP_TRY(start_again(fetch, err));
    return ask_for_all(fetch, &question, err);
  }
  if (status != STATUS_OK && err != NULL)
    *err = refused;
  return status;
}

enum status clickhouse_fetch(const char *given, enum trace_detail detail, const char *layer_mode, int fd,
                             struct clickhouse_report *ret_report, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct clickhouse_address address;
  struct fetch fetch = {
      .address = &address, .detail = detail, .layer_mode = layer_mode, .fd = fd, .report = ret_report};
  *ret_report = (struct clickhouse_report){0};
  enum status status = clickhouse_address_read(given, &arena, &address, err);
  if (status == STATUS_OK)
    status = clickhouse_client_open(&address, &fetch.client, err);
  if (status == STATUS_OK)
    status = ask(&fetch, err);
  clickhouse_client_close(fetch.client);
  clickhouse_reply_runs_done(&fetch.runs);
  clickhouse_reply_runs_done(&fetch.whole);
  clickhouse_reply_runs_done(&fetch.loose);
  return status;
}
