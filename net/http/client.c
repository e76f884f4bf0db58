// SPDX-License-Identifier: Apache-2.0
// libcurl behind one function. Called by publish/, agent/ and clickhouse/.
#include "http/client.h"

#include "base/memory.h"
#include "base/slice.h"
#include "base/transfer.h"
#include "http/curl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_BYTES_MOST ((size_t)4 << 20)
#define STALLED_S 30L

#define FORMS 4 // enum http_form

struct http {
  struct curl curl;
  struct curl_slist *headers[FORMS];
  // of the request
  int file, write_error;
  uint64_t bytes, most;
  struct buf *body;
};

// Less than was offered ends the transfer.
static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
  struct http *http = context;
  long code = 0;
  size *= count;
  http->curl.call.easy_getinfo(http->curl.handle, CURLINFO_RESPONSE_CODE, &code);
  bool is_for_file = http->file > 0 && code == 200;
  http->bytes += size;
  if (http->bytes > (is_for_file || http->file == 0 ? http->most : ANSWER_BYTES_MOST))
    return 0;
  bool is_taken = is_for_file ? transfer_write(http->file, bytes, size) : buf_put(http->body, bytes, size);
  if (!is_taken && is_for_file)
    http->write_error = errno;
  return is_taken ? size : 0;
}

static void set_up(struct http *http, const struct http_options *options)
{
  static const char *const types[FORMS] = {[HTTP_JSON] = "Content-Type: application/json",
                                           [HTTP_PROTOBUF_PACKED] = "Content-Type: application/x-protobuf",
                                           [HTTP_JSON_PACKED] = "Content-Type: application/json",
                                           [HTTP_TEXT] = "Content-Type: text/plain"};
  const struct curl *curl = &http->curl;
  for (int form = 0; form < FORMS; form++) {
    curl_add_header(curl, &http->headers[form], types[form]);
    if (form == HTTP_PROTOBUF_PACKED || form == HTTP_JSON_PACKED)
      curl_add_header(curl, &http->headers[form], "Content-Encoding: gzip");
    curl_add_header(curl, &http->headers[form], "Expect:"); // no pause before large requests
    for (size_t i = 0; i < options->header_count; i++)
      curl_add_header(curl, &http->headers[form], options->headers[i]);
  }
  curl->call.easy_setopt(curl->handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl->call.easy_setopt(curl->handle, CURLOPT_WRITEFUNCTION, take_body);
  curl->call.easy_setopt(curl->handle, CURLOPT_WRITEDATA, http);
}

enum status http_open(const struct http_options *options, struct http **ret_http, struct error *err)
{
  struct http *http = *ret_http = memory_new(1, sizeof *http);
  enum status status = curl_open(options->what, options->certificate, &http->curl, err);
  if (status == STATUS_OK) {
    set_up(http, options);
  } else {
    free(http);
    *ret_http = NULL;
  }
  return status;
}

void http_close(struct http *http)
{
  if (http == NULL)
    return;
  for (int form = 1; form < FORMS; form++)
    http->curl.call.slist_free_all(http->headers[form]);
  curl_close(&http->curl, http->headers[0]);
  free(http);
}

// The method and what is sent by it.
static void prepare(struct http *http, const struct http_request *request)
{
  const struct curl_functions *curl = &http->curl.call;
  CURL *handle = http->curl.handle;
  bool has_body = text_is_one_of(request->method, "POST", "PUT");
  curl->easy_setopt(handle, CURLOPT_URL, request->url);
  curl->easy_setopt(handle, CURLOPT_HTTPHEADER, http->headers[request->form]);
  curl->easy_setopt(handle, has_body ? CURLOPT_POST : CURLOPT_HTTPGET, 1L);
  curl->easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request->method);
  if (has_body) {
    curl->easy_setopt(handle, CURLOPT_POSTFIELDS, request->length > 0 ? request->body : ""); // at NULL it reads stdin
    curl->easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->length);
  }
  curl->easy_setopt(handle, CURLOPT_TIMEOUT_MS, request->timeout_ms == HTTP_WAIT ? 0L : (long)request->timeout_ms);
  curl->easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, request->timeout_ms == 0 ? 1L : 0L);
  curl->easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, request->timeout_ms == 0 ? STALLED_S : 0L);
}

void http_send(struct http *http, const struct http_request *request, struct http_answer *answer)
{
  const struct curl_functions *curl = &http->curl.call;
  CURL *handle = http->curl.handle;
  curl_off_t retry_after_s = 0;
  char *type = NULL, *location = NULL;
  buf_done(&answer->body);
  *answer = (struct http_answer){0};
  http->body = &answer->body;
  http->file = request->file;
  http->bytes = 0;
  http->write_error = 0;
  http->most = request->most > 0 ? request->most : ANSWER_BYTES_MOST;
  http->curl.problem[0] = 0;
  prepare(http, request);
  CURLcode result = curl->easy_perform(handle);
  if (result != CURLE_OK) {
    answer->is_lost = curl_is_lost(result);
    answer->write_error = http->write_error;
    answer->is_too_long = http->bytes > http->most;
    if (answer->is_too_long)
      snprintf(http->curl.problem, sizeof http->curl.problem, "the answer is longer than %" PRIu64 " MiB",
               http->most >> 20);
    answer->problem = curl_problem(&http->curl, result);
    return;
  }
  curl->easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer->code);
  answer->bytes = answer->code == 200 ? http->bytes : 0;
  curl->easy_getinfo(handle, CURLINFO_CONTENT_TYPE, &type);
  curl->easy_getinfo(handle, CURLINFO_REDIRECT_URL, &location);
  curl->easy_getinfo(handle, CURLINFO_RETRY_AFTER, &retry_after_s);
  answer->type = type;
  answer->location = location;
  answer->retry_after_s = retry_after_s;
}
