// SPDX-License-Identifier: Apache-2.0
// libcurl, opened at run time, also for clients that need more of it than net/http/client.h has. It is not linked: few verbs need it and the dozens of libraries it brings, and the system's own
// has the system's certificates, also for a relocated xsp.
#ifndef XSP_HTTP_CURL_H
#define XSP_HTTP_CURL_H

#include "base/error.h"

#include <curl/curl.h>
#include <stdbool.h>

#define CURL_FUNCTIONS(X)                                                                                              \
  X(easy_init)                                                                                                         \
  X(easy_setopt) X(easy_perform) X(easy_getinfo) X(easy_cleanup) X(easy_strerror) X(slist_append) X(slist_free_all)

struct curl_functions {
#define X(name) __typeof__(curl_##name) *name;
  CURL_FUNCTIONS(X)
#undef X
};

// Errors: STATUS_SYSTEM where there is no libcurl; the message begins with `what`, such as "cannot publish".
enum status curl_open(const char *what, struct curl_functions *ret_curl, struct error *err) MUST_CHECK;
// Requests trust the authorities in the file `own`, else in that of SSL_CERT_FILE, as curl's own program, else the system's.
void curl_trust(const struct curl_functions *curl, CURL *handle, const char *own);
// Whether the same request may succeed later: the server is down or went away. Not where a certificate is wrong.
bool curl_is_lost(CURLcode result);

#endif
