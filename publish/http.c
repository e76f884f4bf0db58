// SPDX-License-Identifier: Apache-2.0
// libcurl behind two functions. Called by publish.c, control.c and stream.c.
#include "publish/http.h"

#include "base/curl.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES_MOST ((size_t)4 << 20) // as OTLP recommends

#define FORMS 3 // enum http_form

struct http {
  struct curl_functions curl;
  CURL *handle;
  struct curl_slist *headers[FORMS];
  char problem[CURL_ERROR_SIZE];
};

static void add_header(struct http *http, int form, const char *text)
{
  struct curl_slist *longer = http->curl.slist_append(http->headers[form], text);
  if (longer == NULL)
    memory_exhausted();
  http->headers[form] = longer;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
  struct buf *body = context;
  return buf_put(body, bytes, size * count) ? size * count : 0; // less than was offered ends the transfer
}

static void set_up(struct http *http, const struct address *address)
{
  struct curl_functions *curl = &http->curl;
  CURL *handle = http->handle;
  for (int form = 0; form < FORMS; form++) {
    bool is_protobuf = form == HTTP_PROTOBUF_PACKED;
    add_header(http, form, is_protobuf ? "Content-Type: application/x-protobuf" : "Content-Type: application/json");
    if (form != HTTP_JSON)
      add_header(http, form, "Content-Encoding: gzip");
    add_header(http, form, "Expect:"); // no pause before large requests
    for (size_t i = 0; i < address->headers.count; i++)
      add_header(http, form, address->headers.items[i]);
  }
  curl->easy_setopt(handle, CURLOPT_ERRORBUFFER, http->problem);
  curl->easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl->easy_setopt(handle, CURLOPT_URL, address->url);
  curl->easy_setopt(handle, CURLOPT_PROTOCOLS_STR,
                    "http,https"); // libcurl before 7.85 does not know it; the URL is checked
  curl->easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl->easy_setopt(handle, CURLOPT_USERAGENT, "xsp/" XSP_VERSION);
  curl->easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
  if (address->certificate != NULL)
    curl->easy_setopt(handle, CURLOPT_CAINFO, address->certificate);
}

enum status http_open(const struct address *address, struct http **ret_http, struct error *err)
{
  struct http *http = *ret_http = memory_new(1, sizeof *http);
  enum status status = curl_open("cannot publish", &http->curl, err);
  if (status == STATUS_OK && (http->handle = http->curl.easy_init()) == NULL)
    status = error_set(err, STATUS_SYSTEM, "cannot publish", "libcurl", NULL, "it cannot be started");
  if (status == STATUS_OK) {
    set_up(http, address);
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
  http->curl.easy_cleanup(http->handle);
  for (int form = 0; form < FORMS; form++)
    http->curl.slist_free_all(http->headers[form]);
  free(http);
}

// May the same request succeed later? A server that is down or goes away, but not a certificate that is wrong.
static bool is_lost(CURLcode result)
{
  static const CURLcode lost[] = {CURLE_COULDNT_RESOLVE_PROXY,
                                  CURLE_COULDNT_RESOLVE_HOST,
                                  CURLE_COULDNT_CONNECT,
                                  CURLE_OPERATION_TIMEDOUT,
                                  CURLE_GOT_NOTHING,
                                  CURLE_SEND_ERROR,
                                  CURLE_RECV_ERROR,
                                  CURLE_PARTIAL_FILE,
                                  CURLE_SSL_CONNECT_ERROR,
                                  CURLE_HTTP2,
                                  CURLE_HTTP2_STREAM};
  for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
    if (result == lost[i])
      return true;
  return false;
}

static void perform(struct http *http, int64_t timeout_ms, struct http_answer *answer)
{
  struct curl_functions *curl = &http->curl;
  CURL *handle = http->handle;
  curl_off_t retry_after_s = 0;
  char *type = NULL, *location = NULL;
  buf_done(&answer->body);
  *answer = (struct http_answer){0};
  buf_init(&answer->body, ANSWER_BYTES_MOST);
  http->problem[0] = 0;
  curl->easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
  curl->easy_setopt(handle, CURLOPT_WRITEDATA, &answer->body);
  CURLcode result = curl->easy_perform(handle);
  if (result != CURLE_OK) {
    answer->is_lost = is_lost(result);
    answer->problem = answer->body.failed     ? "the answer is longer than 4 MiB"
                      : http->problem[0] != 0 ? http->problem
                                              : curl->easy_strerror(result);
    return;
  }
  curl->easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer->code);
  curl->easy_getinfo(handle, CURLINFO_CONTENT_TYPE, &type);
  curl->easy_getinfo(handle, CURLINFO_REDIRECT_URL, &location);
  curl->easy_getinfo(handle, CURLINFO_RETRY_AFTER, &retry_after_s);
  answer->type = type;
  answer->location = location;
  answer->retry_after_s = retry_after_s;
}

void http_post(struct http *http, const char *body, size_t length, enum http_form form, int64_t timeout_ms,
               struct http_answer *answer)
{
  struct curl_functions *curl = &http->curl;
  curl->easy_setopt(http->handle, CURLOPT_POST, 1L);
  curl->easy_setopt(http->handle, CURLOPT_HTTPHEADER, http->headers[form]);
  curl->easy_setopt(http->handle, CURLOPT_POSTFIELDS, body);
  curl->easy_setopt(http->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
  perform(http, timeout_ms, answer);
}

void http_get(struct http *http, int64_t timeout_ms, struct http_answer *answer)
{
  http->curl.easy_setopt(http->handle, CURLOPT_HTTPGET, 1L);
  http->curl.easy_setopt(http->handle, CURLOPT_HTTPHEADER, http->headers[HTTP_JSON]);
  perform(http, timeout_ms, answer);
}
