// SPDX-License-Identifier: Apache-2.0
// Requests to an agent. Called by dispatch.c.
#include "agent/remote.h"

#include "base/file_place.h"
#include "base/memory.h"
#include "http/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WITHIN_MS 5000
#define TABLE_BYTES_MOST ((uint64_t)80 << 20)
#define FILE_BYTES_MOST ((uint64_t)1 << 40)
static const char what[] = "cannot measure";

struct remote {
  struct buf url;
  size_t base_length; // of the agent's address in `url`
  struct http *http;
  struct http_answer answer;
  char id[QUEUE_ID_DIGITS + 1];
};

enum status remote_open(const char *url, const char *authorization, struct remote **ret_remote, struct error *err)
{
  struct remote *remote = *ret_remote = memory_new(1, sizeof *remote);
  buf_text(&remote->url, url);
  remote->base_length = remote->url.length;
  const struct http_options options = {
      .what = what, .headers = &authorization, .header_count = authorization != NULL ? 1 : 0};
  return http_open(&options, &remote->http, err);
}

void remote_close(struct remote *remote)
{
  if (remote == NULL)
    return;
  http_close(remote->http);
  buf_done(&remote->answer.body);
  buf_done(&remote->url);
  free(remote);
}

// ---- one request -------------------------------------------------------------------------------------------------------
static struct slice body_of(const struct remote *remote)
{
  return (struct slice){remote->answer.body.data, remote->answer.body.length};
}

static enum remote_result result_of(struct remote *remote, struct error *err)
{
  char problem[400];
  char agent[300];
  long code = remote->answer.code;
  snprintf(agent, sizeof agent, "%.*s", (int)remote->base_length, remote->url.data);
  if (code >= 200 && code < 300)
    return REMOTE_OK;
  if (code == 0) {
    error_set(err, STATUS_SYSTEM, what, agent, NULL, "%s", remote->answer.problem);
    return REMOTE_LOST;
  }
  agent_answer_problem(body_of(remote), problem, sizeof problem);
  error_set(err, STATUS_SYSTEM, what, agent, code == 401 ? "--token-file FILE with the agent's token" : NULL, "%s",
            problem[0] != 0 ? problem : "it is not an agent");
  const bool is_known = remote->id[0] != 0;
  if ((code == 401 || code == 403) && !is_known)
    return REMOTE_FORBIDDEN;
  return code == 503 || code == 429 ? REMOTE_BUSY : code == 404 && is_known ? REMOTE_LOST : REMOTE_REFUSED;
}

// The path begins with "/evaluations"; the evaluation's id is added where it is known.
static enum remote_result ask(struct remote *remote, const char *method, const char *end, const struct buf *body,
                              int file, struct error *err)
{
  remote->url.length = remote->base_length;
  buf_format(&remote->url, "/evaluations%s%s%s", remote->id[0] != 0 ? "/" : "", remote->id, end);
  const struct http_request request = {.method = method,
                                       .url = remote->url.data,
                                       .body = body != NULL ? body->data : NULL,
                                       .length = body != NULL ? body->length : 0,
                                       .timeout_ms = file > 0 ? 0 : WITHIN_MS,
                                       .most = file > 0 ? FILE_BYTES_MOST : TABLE_BYTES_MOST,
                                       .file = file};
  http_send(remote->http, &request, &remote->answer);
  return result_of(remote, err);
}

static enum remote_result malformed(const struct remote *remote, struct error *err)
{
  error_set(err, STATUS_SYSTEM, what, NULL, NULL, "%.*s does not answer as an agent does", (int)remote->base_length,
            remote->url.data);
  return REMOTE_REFUSED;
}

enum remote_result remote_submit(struct remote *remote, const struct submission *submission, struct error *err)
{
  struct buf body SCOPED(buf_done) = {0};
  struct json_writer json;
  struct arena arena SCOPED(arena_done) = {0};
  struct answer *answer = arena_alloc(&arena, sizeof *answer);
  json_start(&json, &body);
  submission_write(submission, &json);
  enum remote_result result = ask(remote, "POST", "", &body, 0, err);
  if (result == REMOTE_OK && !agent_answer_read(body_of(remote), &arena, answer))
    result = malformed(remote, err);
  if (result == REMOTE_OK)
    memcpy(remote->id, answer->id, sizeof remote->id);
  return result;
}

enum remote_result remote_look(struct remote *remote, struct arena *arena, struct answer *ret_answer, struct error *err)
{
  enum remote_result result = ask(remote, "GET", "", NULL, 0, err);
  if (result == REMOTE_OK && !agent_answer_read(body_of(remote), arena, ret_answer))
    return malformed(remote, err);
  return result;
}

bool remote_knows_no_more(const struct remote *remote)
{
  return remote->answer.code == 404;
}

enum remote_result remote_fetch(struct remote *remote, const char *path, bool force, struct error *err)
{
  struct buf partial SCOPED(buf_done) = {0};
  buf_format(&partial, "%s.%d.partial", path, (int)getpid());
  unlink(partial.data); // of a process that was killed and had this number
  int file = open(partial.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  enum remote_result result = file >= 0 ? ask(remote, "GET", "/file", NULL, file, err) : REMOTE_REFUSED;
  if (file < 0 || (result == REMOTE_OK && (fsync(file) != 0 || file_place(partial.data, path, force) != 0))) {
    error_set_errno(err, STATUS_SYSTEM, "cannot write", path, errno == EEXIST ? "--force, or another -o" : NULL);
    result = REMOTE_REFUSED;
  }
  if (file >= 0)
    close(file);
  if (result != REMOTE_OK)
    unlink(partial.data);
  return result;
}

void remote_remove(struct remote *remote)
{
  if (remote->id[0] != 0)
    (void)ask(remote, "DELETE", "", NULL, 0, NULL);
}
