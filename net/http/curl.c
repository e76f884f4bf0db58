// SPDX-License-Identifier: Apache-2.0
// Finds the functions of libcurl. Called by rooms that speak HTTP as clients.
#include "http/curl.h"

#include "base/library.h"

#include <stddef.h>
#include <stdlib.h>

enum status curl_open(const char *what, struct curl_functions *curl, struct error *err)
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
  return library_functions(&library, what, "a libcurl", names.advice, wanted, sizeof wanted / sizeof *wanted, curl,
                           err);
}

void curl_trust(const struct curl_functions *curl, CURL *handle, const char *own)
{
  const char *file = own != NULL ? own : getenv("SSL_CERT_FILE");
  if (file != NULL && file[0] != 0)
    curl->easy_setopt(handle, CURLOPT_CAINFO, file);
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
