// SPDX-License-Identifier: Apache-2.0
// libcurl, opened at run time, also for clients that need more of it than net/http/client.h has. It is not linked: few verbs
// need it and the dozens of libraries it brings, and the system's own has the system's certificates, also for a relocated xsp.
#ifndef XSP_HTTP_CURL_H
#define XSP_HTTP_CURL_H

#include "base/error.h"

#include <curl/curl.h>
#include <stdbool.h>

#if LIBCURL_VERSION_NUM < 0x075500 // of the headers; which libcurl is there shows at run time
#define CURLOPT_PROTOCOLS_STR ((CURLoption)(CURLOPTTYPE_OBJECTPOINT + 318))
#define CURLOPT_REDIR_PROTOCOLS_STR ((CURLoption)(CURLOPTTYPE_OBJECTPOINT + 319))
#endif

#define CURL_CONNECT_S 30L
#define CURL_FUNCTIONS(X)                                                                                              \
  X(easy_init)                                                                                                         \
  X(easy_setopt) X(easy_perform) X(easy_getinfo) X(easy_cleanup) X(easy_strerror) X(slist_append) X(slist_free_all)

struct curl_functions {
#define X(name) __typeof__(curl_##name) *name;
  CURL_FUNCTIONS(X)
#undef X
};

struct curl {
  struct curl_functions call;
  CURL *handle;                  // NULL: not open
  char problem[CURL_ERROR_SIZE]; // of the last transfer; "": libcurl said nothing
};
// What all clients of xsp ask of libcurl: HTTP only, no signals, xsp's name, errors in `problem`. Requests trust the authorities
// in the file `certificate`, else in that of SSL_CERT_FILE, as curl's own program, else the system's. `ret_curl` stays where it
// is. Errors: STATUS_SYSTEM where there is no libcurl; the message begins with `what`, such as "cannot publish".
enum status curl_open(const char *what, const char *certificate, struct curl *ret_curl, struct error *err) MUST_CHECK;
void curl_close(struct curl *curl, struct curl_slist *headers); // also where opening failed; headers may be NULL
void curl_add_header(const struct curl *curl, struct curl_slist **headers,
                     const char *text); // ends where memory is out
// The reason why a transfer failed, until the next one.
const char *curl_problem(const struct curl *curl, CURLcode result);
// Whether the same request may succeed later: the server is down or went away. Not where a certificate is wrong.
bool curl_is_lost(CURLcode result);

#endif
