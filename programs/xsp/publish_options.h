// SPDX-License-Identifier: Apache-2.0
// The options of --publish, which export, run and profile share, and what they do.
#ifndef XSP_PROGRAMS_XSP_PUBLISH_OPTIONS_H
#define XSP_PROGRAMS_XSP_PUBLISH_OPTIONS_H

#include "programs/xsp/verb.h"
#include "publish/publish.h"

// `what` is a string literal: what is sent, and when.
#define OPTIONS_PUBLISH(what)                                                                                          \
  {"publish",                                                                                                          \
   0,                                                                                                                  \
   "URL",                                                                                                              \
   NULL,                                                                                                               \
   false,                                                                                                              \
   what " to this receiver of OTLP/HTTP: http(s)://HOST[:PORT], to which /v1/traces is added, or a URL with a path. "  \
        "env: OTEL_EXPORTER_OTLP_ENDPOINT with OTEL_EXPORTER_OTLP_HEADERS. Spans that the server does not take now "   \
        "wait in the spool; the next --publish to the same URL sends them first."},                                    \
      {"publish-token-file",                                                                                           \
       0,                                                                                                              \
       "FILE",                                                                                                         \
       NULL,                                                                                                           \
       false,                                                                                                          \
       "With --publish: send the token in FILE as Authorization: Bearer."},                                            \
      {"publish-timeout",                                                                                              \
       0,                                                                                                              \
       "SECONDS",                                                                                                      \
       "10",                                                                                                           \
       false,                                                                                                          \
       "With --publish: leave the rest in the spool after so long without an accepted request."},                      \
  {                                                                                                                    \
    "spool", 0, "FOLDER", NULL, 0,                                                                                     \
        "With --publish: where spans wait on disk. Default: xsp/publish in XDG_STATE_HOME, else in ~/.local/state."    \
  }

// Checks the options without connecting. *ret_publisher is NULL where --publish is not given. The caller ends with
// publish_close, also after an error.
enum status publish_options(const struct invocation *invocation, struct publisher **ret_publisher,
                            struct error *err) MUST_CHECK;
// The options alone, without checks.
enum status publish_options_read(const struct invocation *invocation, struct publish_options *ret_options,
                                 struct error *err) MUST_CHECK;
// Sends the spans of `store` (NULL: none) after those that wait already, and prints how many. A signal that ends xsp
// leaves in the spool what is not sent. *ret_result is valid even after an error.
enum status publish_options_now(struct publisher *publisher, struct store *store, bool is_json,
                                struct publish_result *ret_result, struct error *err) MUST_CHECK;
// The same after a measurement, whose file is complete: an error is printed and changes no exit status. Ctrl-C ends xsp
// from here on. Either may be NULL: then nothing is done.
void publish_options_after(struct publisher *publisher, struct store *store);
// The same with what `fill` puts into the sink, where *before was sent already; both are counted.
void publish_options_rest(struct publisher *publisher, publish_fill *fill, void *context,
                          const struct publish_result *before);

#endif
