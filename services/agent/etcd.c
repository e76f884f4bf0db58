// SPDX-License-Identifier: Apache-2.0
// Requests to etcd's HTTP gateway. Called by registration.c and registry.c.
#include "agent/etcd.h"

#include "agent/record.h"
#include "base/base64.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "http/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WITHIN_MS 5000
#define REPLY_BYTES_MOST ((uint64_t)256 << 20)
static const char what[] = "cannot use the registry";

struct etcd {
  const char *given; // owned
  const char *user;  // "NAME:PASSWORD"; NULL: none
  struct http *http;
  bool is_authenticated;
  struct http_answer answer;
};

// `authorization`: a header of all further requests; NULL: none.
static enum status connect_as(struct etcd *etcd, const char *authorization, struct error *err)
{
  const struct http_options options = {
      .what = what, .headers = &authorization, .header_count = authorization != NULL ? 1 : 0};
  struct http *http;
  XSP_TRY(http_open(&options, &http, err));
  http_close(etcd->http);
  etcd->http = http;
  return STATUS_OK;
}

enum status etcd_open(const char *url, struct etcd **ret_etcd, struct error *err)
{
  struct etcd *etcd = *ret_etcd = memory_new(1, sizeof *etcd);
  size_t length = strlen(url);
  etcd->given = memory_text_of(url, length - (length > 0 && url[length - 1] == '/'));
  if (!agent_url_is_valid(etcd->given))
    return error_set(err, STATUS_USE, "wrong use", "--registry", "--registry http[s]://HOST:2379",
                     "\"%s\" is not the address of an etcd", url);
  etcd->user = getenv("ETCDCTL_USER");
  if (etcd->user != NULL && etcd->user[0] == 0)
    etcd->user = NULL;
  return connect_as(etcd, NULL, err);
}

void etcd_close(struct etcd *etcd)
{
  if (etcd == NULL)
    return;
  http_close(etcd->http);
  buf_done(&etcd->answer.body);
  free((char *)etcd->given);
  free(etcd);
}

// ---- one request -----------------------------------------------------------------------------------------------------
static void put_number(struct json_writer *json, const char *key, int64_t number)
{
  char text[24];
  snprintf(text, sizeof text, "%" PRId64, number);
  json_member_string(json, key, text);
}

static void put_bytes(struct json_writer *json, const char *key, const void *bytes, size_t length)
{
  struct buf text SCOPED(buf_done) = {0};
  base64_put(&text, bytes, length);
  json_member_string(json, key, text.data != NULL ? text.data : "");
}

static struct slice body_of(const struct etcd *etcd)
{
  return (struct slice){etcd->answer.body.data, etcd->answer.body.length};
}

static enum status post(struct etcd *etcd, const char *path, const struct buf *body, struct error *err)
{
  struct buf url = {0};
  char problem[200];
  buf_format(&url, "%s/v3/%s", etcd->given, path);
  const struct http_request request = {.method = "POST",
                                       .url = url.data,
                                       .body = body->data,
                                       .length = body->length,
                                       .timeout_ms = WITHIN_MS,
                                       .most = REPLY_BYTES_MOST};
  http_send(etcd->http, &request, &etcd->answer);
  buf_done(&url);
  if (etcd->answer.code == 200)
    return STATUS_OK;
  if (etcd->answer.code == 0)
    return error_set(err, STATUS_SYSTEM, what, etcd->given, "is etcd 3.4 or newer running there?", "%s",
                     etcd->answer.problem);
  etcd_reply_problem(body_of(etcd), problem, sizeof problem);
  return error_set(err, STATUS_SYSTEM, what, etcd->given,
                   strstr(problem, "user") != NULL || strstr(problem, "auth") != NULL || etcd->answer.code == 403
                       ? "ETCDCTL_USER=NAME:PASSWORD"
                       : "etcd 3.4 or newer",
                   "HTTP status %ld%s%s", etcd->answer.code, problem[0] != 0 ? ": " : "", problem);
}

static enum status malformed(const struct etcd *etcd, struct error *err)
{
  return error_set(err, STATUS_SYSTEM, what, etcd->given, "the address of an etcd 3.4 or newer",
                   "the reply is not etcd's");
}

// etcd's token goes with all further requests.
static enum status authenticate(struct etcd *etcd, struct error *err)
{
  struct buf body = {0}, header = {0};
  struct json_writer json;
  char text[1024];
  struct slice password = slice_of(etcd->user), name;
  etcd->is_authenticated = false;
  slice_cut(&password, ':', &name);
  json_start(&json, &body);
  json_object(&json);
  json_key(&json, "name");
  json_string_n(&json, name.data, name.length);
  json_key(&json, "password");
  json_string_n(&json, password.data != NULL ? password.data : "", password.length);
  json_object_end(&json);
  enum status status = connect_as(etcd, NULL, err); // it refuses even this with an old token
  if (status == STATUS_OK)
    status = post(etcd, "auth/authenticate", &body, err);
  buf_done(&body);
  etcd_reply_problem(body_of(etcd), text, sizeof text);
  if (status != STATUS_OK && etcd->answer.code != 0 && strstr(text, "not enabled") != NULL) {
    etcd->is_authenticated = true; // as etcd's own clients go on, until a request is refused
    return STATUS_OK;
  }
  XSP_TRY(status);
  if (!etcd_reply_token(body_of(etcd), text, sizeof text))
    return malformed(etcd, err);
  buf_format(&header, "Authorization: %s", text);
  status = connect_as(etcd, header.data, err);
  buf_done(&header);
  etcd->is_authenticated = status == STATUS_OK;
  return status;
}

// Frees `body`.
static enum status ask(struct etcd *etcd, const char *path, struct buf *body, struct error *err)
{
  bool is_again = etcd->is_authenticated;
  enum status status = etcd->user != NULL && !is_again ? authenticate(etcd, err) : STATUS_OK;
  if (status == STATUS_OK)
    status = post(etcd, path, body, err);
  long code = etcd->answer.code;
  bool is_refused = status != STATUS_OK && (code == 400 || code == 401 || code == 403);
  if (is_refused && is_again && authenticate(etcd, err) == STATUS_OK)
    status = post(etcd, path, body, err); // the token had ended, or users have changed
  buf_done(body);
  return status;
}

static enum status read_reply(const struct etcd *etcd, struct etcd_reply *ret_reply, struct error *err)
{
  return etcd_reply_read(body_of(etcd), ret_reply) ? STATUS_OK : malformed(etcd, err);
}

// ---- leases ----------------------------------------------------------------------------------------------------------
static void write_lease(struct buf *body, int64_t lease)
{
  struct json_writer json;
  json_start(&json, body);
  json_object(&json);
  put_number(&json, "ID", lease);
  json_object_end(&json);
}

enum status etcd_grant(struct etcd *etcd, unsigned ttl_s, int64_t *ret_lease, struct error *err)
{
  struct buf body = {0};
  struct etcd_reply reply;
  buf_format(&body, "{\"TTL\":\"%u\"}", ttl_s);
  XSP_TRY(ask(etcd, "lease/grant", &body, err));
  XSP_TRY(read_reply(etcd, &reply, err));
  *ret_lease = reply.id;
  return reply.id != 0 ? STATUS_OK : malformed(etcd, err);
}

enum status etcd_keep_alive(struct etcd *etcd, int64_t lease, bool *ret_is_alive, struct error *err)
{
  struct buf body = {0};
  struct etcd_reply reply;
  write_lease(&body, lease);
  XSP_TRY(ask(etcd, "lease/keepalive", &body, err));
  XSP_TRY(read_reply(etcd, &reply, err));
  *ret_is_alive = reply.ttl_s > 0;
  return STATUS_OK;
}

void etcd_revoke(struct etcd *etcd, int64_t lease)
{
  struct buf body = {0};
  write_lease(&body, lease);
  enum status ignored = ask(etcd, "lease/revoke", &body, NULL); // the lease ends by itself
  (void)ignored;
}

// ---- keys ------------------------------------------------------------------------------------------------------------
static void put_put(struct json_writer *json, const char *key, const struct buf *value, int64_t lease)
{
  json_object(json);
  put_bytes(json, "key", key, strlen(key));
  put_bytes(json, "value", value->data, value->length);
  put_number(json, "lease", lease);
  json_object_end(json);
}

enum status etcd_create(struct etcd *etcd, const char *key, const struct buf *value, int64_t lease, bool *ret_is_taken,
                        struct error *err)
{
  struct buf body = {0};
  struct json_writer json;
  struct etcd_reply reply;
  json_start(&json, &body);
  json_object(&json);
  json_member_array(&json, "compare");
  json_object(&json);
  put_bytes(&json, "key", key, strlen(key));
  json_member_string(&json, "target", "CREATE");
  json_member_string(&json, "result", "EQUAL");
  put_number(&json, "create_revision", 0);
  json_object_end(&json);
  json_array_end(&json);
  json_member_array(&json, "success");
  json_object(&json);
  json_key(&json, "request_put");
  put_put(&json, key, value, lease);
  json_object_end(&json);
  json_array_end(&json);
  json_object_end(&json);
  XSP_TRY(ask(etcd, "kv/txn", &body, err));
  XSP_TRY(read_reply(etcd, &reply, err));
  *ret_is_taken = !reply.has_succeeded;
  return STATUS_OK;
}

enum status etcd_put(struct etcd *etcd, const char *key, const struct buf *value, int64_t lease, struct error *err)
{
  struct buf body = {0};
  struct json_writer json;
  json_start(&json, &body);
  put_put(&json, key, value, lease);
  return ask(etcd, "kv/put", &body, err);
}

enum status etcd_list(struct etcd *etcd, const char *prefix, struct arena *arena, struct etcd_entries *ret_entries,
                      struct error *err)
{
  struct buf body = {0};
  struct json_writer json;
  size_t length = strlen(prefix);
  char *end = arena_copy(arena, prefix, length);
  end[length - 1]++; // the first key after all that begin so
  json_start(&json, &body);
  json_object(&json);
  put_bytes(&json, "key", prefix, length);
  put_bytes(&json, "range_end", end, length);
  json_object_end(&json);
  XSP_TRY(ask(etcd, "kv/range", &body, err));
  return etcd_reply_entries(body_of(etcd), arena, ret_entries) ? STATUS_OK : malformed(etcd, err);
}
