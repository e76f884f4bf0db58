// SPDX-License-Identifier: Apache-2.0
// Finds the functions of libcurl and sets it up. Called by rooms that speak HTTP as clients.
#include "http/curl.h"

#include "base/library.h"
#include "base/memory.h"

#include <stddef.h>
#include <stdlib.h>

static enum status find_functions(const char *what, struct curl_functions *functions, struct error *err)
{
  static const char *const sonames[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
  static const struct library_names names = {"curl", sonames, NULL, "apt-get install libcurl4"};
  struct library library;
  XSP_TRY(library_open(&names, NULL, &library, err));
  static const struct library_function wanted[] = {
#define X(name) {"curl_" #name, offsetof(struct curl_functions, name), false},
      CURL_FUNCTIONS(X)
#undef X
  };
  return library_functions(&library, what, "a libcurl", names.advice, wanted, sizeof wanted / sizeof *wanted, functions,
                           err);
}

enum status curl_open(const char *what, const char *certificate, struct curl *curl, struct error *err)
{
  *curl = (struct curl){0};
  XSP_TRY(find_functions(what, &curl->call, err));
  CURL *handle = curl->handle = curl->call.easy_init();
  if (handle == NULL)
    return error_set(err, STATUS_SYSTEM, what, "libcurl", NULL, "it cannot be started");
  const char *file = certificate != NULL ? certificate : getenv("SSL_CERT_FILE");
  curl->call.easy_setopt(handle, CURLOPT_ERRORBUFFER, curl->problem);
  curl->call.easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  // libcurl before 7.85 does not know it; URLs are checked.
  curl->call.easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl->call.easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, CURL_CONNECT_S);
  curl->call.easy_setopt(handle, CURLOPT_USERAGENT, "xsp/" XSP_VERSION);
  if (file != NULL && file[0] != 0)
    curl->call.easy_setopt(handle, CURLOPT_CAINFO, file);
  return STATUS_OK;
}

void curl_close(struct curl *curl, struct curl_slist *headers)
{
  if (curl->handle == NULL)
    return;
  curl->call.easy_cleanup(curl->handle);
  curl->call.slist_free_all(headers);
}

void curl_add_header(const struct curl *curl, struct curl_slist **headers, const char *text)
{
  struct curl_slist *longer = curl->call.slist_append(*headers, text);
  if (longer == NULL)
    memory_exhausted();
  *headers = longer;
}

const char *curl_problem(const struct curl *curl, CURLcode result)
{
  return curl->problem[0] != 0 ? curl->problem : curl->call.easy_strerror(result);
}

bool curl_is_lost(CURLcode result)
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
