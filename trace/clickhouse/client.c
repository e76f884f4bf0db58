// SPDX-License-Identifier: Apache-2.0
// POSTs queries. The server holds a reply back until the query is through (wait_end_of_query), so that one that fails late is an
// error, not a reply that ends early. Called by fetch.c.
#include "clickhouse/client.h"

#include "base/memory.h"
#include "base/slice.h"
#include "clickhouse/reply.h"
#include "http/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REPLY_BYTES_MOST ((uint64_t)4 << 30)

static const char what[] = "cannot ask the database";

struct client {
  struct http *http;
  const struct clickhouse_address *address;
  struct buf url;
  struct http_answer answer; // to the last query
};

// Joins are of many kernels with fewer layers; the engine's own choice splits both sides, which takes twice as long.
static void set_url(struct client *client, const char *settings)
{
  buf_clear(&client->url);
  buf_format(&client->url, "%s?wait_end_of_query=1%s", client->address->url, settings);
}

void clickhouse_client_drop_settings(struct client *client)
{
  set_url(client, "");
}

enum status clickhouse_client_open(const struct clickhouse_address *address, struct client **ret_client,
                                   struct error *err)
{
  const char *const names[] = {"X-ClickHouse-User", "X-ClickHouse-Key"}, *const values[] = {address->user,
                                                                                            address->password};
  struct buf texts[2] = {0};
  const char *headers[2];
  struct http_options options = {.what = what, .headers = headers};
  for (size_t i = 0; i < 2; i++)
    if (values[i] != NULL) {
      buf_format(&texts[i], "%s: %s", names[i], values[i]);
      headers[options.header_count++] = texts[i].data;
    }
  struct client *client = *ret_client = memory_new(1, sizeof *client);
  client->address = address;
  enum status status = http_open(&options, &client->http, err);
  for (size_t i = 0; i < 2; i++)
    buf_done(&texts[i]);
  if (status == STATUS_OK) {
    set_url(client, "&join_algorithm=hash");
  } else {
    free(client);
    *ret_client = NULL;
  }
  return status;
}

void clickhouse_client_close(struct client *client)
{
  if (client == NULL)
    return;
  http_close(client->http);
  buf_done(&client->url);
  buf_done(&client->answer.body);
  free(client);
}

static struct slice refusal_of(const struct client *client)
{
  const struct http_answer *answer = &client->answer;
  return answer->code == 200 ? (struct slice){0} : (struct slice){answer->body.data, answer->body.length};
}

static enum status refused(struct client *client, struct error *err)
{
  char why[REPLY_PROBLEM_SIZE];
  long code = client->answer.code;
  clickhouse_reply_problem(refusal_of(client), why);
  const char *advice = code == 401 || code == 403 ? "CLICKHOUSE_USER and CLICKHOUSE_PASSWORD"
                                                  : "?table=NAME, of OpenTelemetry's exporter";
  return error_set(err, STATUS_INPUT, "the database refuses the query", client->address->given, advice,
                   "HTTP status %ld%s%s", code, why[0] != 0 ? ": " : "", why);
}

bool clickhouse_client_refusal_has(const struct client *client, const char *text)
{
  return slice_contains(refusal_of(client), text);
}

enum status clickhouse_client_query(struct client *client, const char *sql, struct buf *reply, int fd,
                                    int64_t *ret_bytes, struct error *err)
{
  const char *given = client->address->given;
  struct http_answer *answer = &client->answer;
  const struct http_request request = {.method = "POST",
                                       .url = client->url.data,
                                       .body = sql,
                                       .length = strlen(sql),
                                       .form = HTTP_TEXT,
                                       .timeout_ms = HTTP_WAIT,
                                       .most = reply != NULL ? reply->maximum : REPLY_BYTES_MOST,
                                       .file = reply != NULL ? 0 : fd};
  http_send(client->http, &request, answer);
  *ret_bytes = (int64_t)answer->bytes;
  if (answer->write_error != 0) {
    errno = answer->write_error;
    return error_set_errno(err, STATUS_SYSTEM, "cannot keep the reply", given, "TMPDIR=FOLDER with more room");
  }
  if (answer->is_too_long)
    return error_set(err, STATUS_INPUT, what, given, "fewer spans: ?experiment=NAME&from=TIME&to=TIME",
                     "the reply is too long");
  if (answer->code == 0)
    return error_set(err, STATUS_SYSTEM, what, given, "the server's HTTP port: 8123, with TLS 8443", "%s",
                     answer->problem);
  if (answer->code != 200)
    return refused(client, err);
  if (reply != NULL)
    buf_put(reply, answer->body.data, answer->body.length);
  return STATUS_OK;
}
