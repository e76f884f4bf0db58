// SPDX-License-Identifier: Apache-2.0
// Asks a database for the spans that a question needs. Called by programs/.
#include "clickhouse/address.h"
#include "clickhouse/clickhouse.h"
#include "clickhouse/client.h"
#include "clickhouse/sql.h"

#include <string.h>

#define RUNS_BYTES_MOST ((size_t)16 << 20)

struct fetch {
  struct clickhouse_address *address;
  struct client *client;
  enum trace_detail detail;
  const char *layer_mode;
  struct reply_runs runs;
  struct reply_runs whole; // runs that come back as they are
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
static bool is_whole(const struct reply_run *run)
{
  return run->foreign > 0 || run->observations == 0;
}

static enum status ask_for_runs(struct fetch *fetch, const struct buf *sql, struct reply_runs *ret_runs,
                                struct error *err)
{
  struct buf reply;
  int64_t bytes;
  buf_init(&reply, RUNS_BYTES_MOST);
  enum status status = client_query(fetch->client, sql->data, &reply, -1, &bytes, err);
  if (status == STATUS_OK && !reply_read_runs((struct slice){reply.data, reply.length}, ret_runs))
    status = error_set(err, STATUS_INPUT, "cannot read the reply", fetch->address->given,
                       "the HTTP port of ClickHouse, 8123", "it is not a list of runs");
  buf_done(&reply);
  return status;
}

static enum status find_columns(struct fetch *fetch, struct error *err)
{
  struct buf sql = {0}, reply;
  int64_t bytes;
  buf_init(&reply, RUNS_BYTES_MOST);
  sql_columns(fetch->address, &sql);
  enum status status = client_query(fetch->client, sql.data, &reply, -1, &bytes, err);
  fetch->address->has_columns = sql_has_columns((struct slice){reply.data, reply.length});
  buf_done(&sql);
  buf_done(&reply);
  return status;
}

static enum status list_runs(struct fetch *fetch, struct error *err)
{
  struct buf sql = {0};
  sql_runs(fetch->address, &sql);
  enum status status = ask_for_runs(fetch, &sql, &fetch->runs, err);
  buf_done(&sql);
  if (status == STATUS_OK && fetch->runs.runs.count == 0)
    return error_set(err, STATUS_INPUT, "cannot analyze", fetch->address->given,
                     "?table=NAME&experiment=NAME, from and to", "the table has no such spans");
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

// What devices do in an observation is added up by parents: not where kernels are in it by their time alone.
static enum status leave_out_loose(struct fetch *fetch, const struct sql_question *question, struct error *err)
{
  struct buf sql = {0};
  struct reply_runs loose;
  sql_runs_with_loose_kernels(question, &sql);
  enum status status = ask_for_runs(fetch, &sql, &loose, err);
  buf_done(&sql);
  if (status != STATUS_OK)
    return status;
  for (size_t i = 0; i < loose.runs.count; i++)
    *vector_add(&fetch->whole.runs) = loose.runs.items[i];
  reply_runs_done(&loose);
  return STATUS_OK;
}

static enum status append(struct fetch *fetch, struct buf *sql, struct error *err)
{
  int64_t bytes = 0;
  enum status status = client_query(fetch->client, sql->data, NULL, fetch->fd, &bytes, err);
  fetch->report->bytes += bytes;
  buf_clear(sql);
  return status;
}

static enum status ask(struct fetch *fetch, struct error *err)
{
  struct buf sql = {0};
  const struct sql_question question = {fetch->address, fetch->detail, fetch->layer_mode, &fetch->runs, &fetch->whole};
  XSP_TRY(find_columns(fetch, err));
  XSP_TRY(list_runs(fetch, err));
  if (trace_detail_has_devices(fetch->detail) && fetch->whole.runs.count < fetch->runs.runs.count)
    XSP_TRY(leave_out_loose(fetch, &question, err));
  sql_spans(&question, &sql);
  enum status status = append(fetch, &sql, err);
  if (status == STATUS_OK && trace_detail_adds_kernels_up(fetch->detail) &&
      fetch->whole.runs.count < fetch->runs.runs.count) {
    sql_kernels(&question, &sql);
    status = append(fetch, &sql, err);
  }
  buf_done(&sql);
  return status;
}

enum status clickhouse_fetch(const char *given, enum trace_detail detail, const char *layer_mode, int fd,
                             struct clickhouse_report *ret_report, struct error *err)
{
  struct arena arena = {0};
  struct clickhouse_address address;
  struct fetch fetch = {
      .address = &address, .detail = detail, .layer_mode = layer_mode, .fd = fd, .report = ret_report};
  *ret_report = (struct clickhouse_report){0};
  enum status status = clickhouse_address_read(given, &arena, &address, err);
  if (status == STATUS_OK)
    status = client_open(&address, &fetch.client, err);
  if (status == STATUS_OK)
    status = ask(&fetch, err);
  client_close(fetch.client);
  reply_runs_done(&fetch.runs);
  reply_runs_done(&fetch.whole);
  arena_done(&arena);
  return status;
}
