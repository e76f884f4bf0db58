// SPDX-License-Identifier: Apache-2.0
// POSTs queries by libcurl. The server holds a reply back until the query is through (wait_end_of_query), so that one that fails
// late is an error, not a reply that ends early. Called by fetch.c.
#include "clickhouse/client.h"

#include "base/curl.h"
#include "base/memory.h"
#include "base/slice.h"
#include "clickhouse/reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBLEM_BYTES_MOST ((size_t)16 << 10)
#define REPLY_BYTES_MOST ((int64_t)4 << 30)

struct client {
  struct curl_functions curl;
  CURL *handle;
  struct curl_slist *headers;
  const struct clickhouse_address *address;
  char problem[CURL_ERROR_SIZE];
  // of the query
  struct buf refusal; // the body where the status is not 200
  struct buf *reply;
  int fd, error_number;
  int64_t bytes;
};

static void add_header(struct client *client, const char *name, const char *value)
{
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  buf_format(&text, "%s: %s", name, value);
  struct curl_slist *longer = client->curl.slist_append(client->headers, text.data);
  buf_done(&text);
  if (longer == NULL)
    memory_exhausted();
  client->headers = longer;
}

static bool put_into_file(struct client *client, const char *bytes, size_t length)
{
  while (length > 0) {
    ssize_t written = write(client->fd, bytes, length);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0) {
      client->error_number = errno;
      return false;
    }
    bytes += written;
    length -= (size_t)written;
  }
  return true;
}

// Fewer bytes than were offered end the transfer.
static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
  struct client *client = context;
  size_t length = size * count;
  long code = 0;
  client->curl.easy_getinfo(client->handle, CURLINFO_RESPONSE_CODE, &code);
  if (code != 200) {
    buf_put(&client->refusal, bytes, length); // its beginning says why
    return length;
  }
  client->bytes += (int64_t)length;
  if (client->bytes > REPLY_BYTES_MOST)
    return 0;
  bool is_taken = client->reply != NULL ? buf_put(client->reply, bytes, length) : put_into_file(client, bytes, length);
  return is_taken ? length : 0;
}

// Joins are of many kernels with fewer layers; the engine's own choice splits both sides, which takes twice as long.
static void set_url(struct client *client, const char *settings)
{
  struct buf url;
  buf_init(&url, BUF_MAXIMUM_DEFAULT);
  buf_format(&url, "%s?wait_end_of_query=1%s", client->address->url, settings);
  client->curl.easy_setopt(client->handle, CURLOPT_URL, url.data);
  buf_done(&url);
}

void client_drop_settings(struct client *client)
{
  set_url(client, "");
}

static void set_up(struct client *client)
{
  struct curl_functions *curl = &client->curl;
  CURL *handle = client->handle;
  add_header(client, "Content-Type", "text/plain");
  add_header(client, "Expect", ""); // no pause before large requests
  if (client->address->user != NULL)
    add_header(client, "X-ClickHouse-User", client->address->user);
  if (client->address->password != NULL)
    add_header(client, "X-ClickHouse-Key", client->address->password);
  curl->easy_setopt(handle, CURLOPT_ERRORBUFFER, client->problem);
  curl->easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl->easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl->easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl->easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, 30L);
  curl->easy_setopt(handle, CURLOPT_USERAGENT, "xsp/" XSP_VERSION);
  curl->easy_setopt(handle, CURLOPT_POST, 1L);
  curl->easy_setopt(handle, CURLOPT_HTTPHEADER, client->headers);
  curl->easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
  curl->easy_setopt(handle, CURLOPT_WRITEDATA, client);
  curl_trust(curl, handle, NULL);
}

enum status client_open(const struct clickhouse_address *address, struct client **ret_client, struct error *err)
{
  struct client *client = memory_new(1, sizeof *client);
  *ret_client = client;
  client->address = address;
  enum status status = curl_open("cannot ask the database", &client->curl, err);
  if (status == STATUS_OK && (client->handle = client->curl.easy_init()) == NULL)
    status = error_set(err, STATUS_SYSTEM, "cannot ask the database", "libcurl", NULL, "it cannot be started");
  if (status == STATUS_OK) {
    set_up(client);
    set_url(client, "&join_algorithm=hash");
  } else {
    free(client);
    *ret_client = NULL;
  }
  return status;
}

void client_close(struct client *client)
{
  if (client == NULL)
    return;
  client->curl.easy_cleanup(client->handle);
  client->curl.slist_free_all(client->headers);
  buf_done(&client->refusal);
  free(client);
}

static enum status refused(struct client *client, long code, struct error *err)
{
  char why[REPLY_PROBLEM_SIZE];
  reply_problem((struct slice){client->refusal.data, client->refusal.length}, why);
  const char *advice = code == 401 || code == 403 ? "CLICKHOUSE_USER and CLICKHOUSE_PASSWORD"
                                                  : "?table=NAME, of OpenTelemetry's exporter";
  return error_set(err, STATUS_INPUT, "the database refuses the query", client->address->given, advice,
                   "HTTP status %ld%s%s", code, why[0] != 0 ? ": " : "", why);
}

bool client_refusal_has(const struct client *client, const char *text)
{
  return slice_contains((struct slice){client->refusal.data, client->refusal.length}, text);
}

enum status client_query(struct client *client, const char *sql, struct buf *reply, int fd, int64_t *ret_bytes,
                         struct error *err)
{
  static const char what[] = "cannot ask the database";
  const char *given = client->address->given;
  struct curl_functions *curl = &client->curl;
  long code = 0;
  buf_done(&client->refusal);
  buf_init(&client->refusal, PROBLEM_BYTES_MOST);
  client->reply = reply;
  client->fd = fd;
  client->bytes = client->error_number = 0;
  client->problem[0] = 0;
  curl->easy_setopt(client->handle, CURLOPT_POSTFIELDS, sql);
  curl->easy_setopt(client->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(sql));
  CURLcode result = curl->easy_perform(client->handle);
  *ret_bytes = client->bytes;
  if (client->error_number != 0) {
    errno = client->error_number;
    return error_set_errno(err, STATUS_SYSTEM, "cannot keep the reply", given, "TMPDIR=FOLDER with more room");
  }
  if (client->bytes > REPLY_BYTES_MOST || (reply != NULL && reply->failed))
    return error_set(err, STATUS_INPUT, what, given, "fewer spans: ?experiment=NAME&from=TIME&to=TIME",
                     "the reply is too long");
  if (result != CURLE_OK)
    return error_set(err, STATUS_SYSTEM, what, given, "the server's HTTP port: 8123, with TLS 8443", "%s",
                     client->problem[0] != 0 ? client->problem : curl->easy_strerror(result));
  curl->easy_getinfo(client->handle, CURLINFO_RESPONSE_CODE, &code);
  return code == 200 ? STATUS_OK : refused(client, code, err);
}
