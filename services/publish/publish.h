// SPDX-License-Identifier: Apache-2.0
// Front door: sends spans to a receiver of OTLP/HTTP. What is to be sent waits on disk first (the spool), so it survives
// the end of the process. Never in a traced process; one thread. Nothing is sent unless publish_send is called.
#ifndef XSP_PUBLISH_PUBLISH_H
#define XSP_PUBLISH_PUBLISH_H

#include "report/report.h"

struct publish_options {
  const char *address;    // "http(s)://HOST[:PORT][/PATH]", or "env": the variables of OpenTelemetry's SDKs
  const char *token_file; // its content is sent as "Authorization: Bearer"; NULL: none
  const char *spool;      // folder; NULL: xsp/publish in the caller's state folder
  unsigned patience_s;    // give up after so long without an accepted request
  void (*message)(const char *format, ...) __attribute__((format(printf, 1, 2))); // for waits and partial success
};

struct publish_result {
  uint64_t request_count, span_count; // accepted; the spans without those that were rejected
  uint64_t rejected_count;            // spans of accepted requests that the server did not take
  uint64_t refused_count;             // spans of refused requests; they are not sent again
  uint64_t waiting_count;             // spans that are still in the spool
};

struct publisher;
// Checks the address, credentials, spool and libcurl, without connecting. The caller closes.
enum status publish_open(const struct publish_options *options, struct publisher **ret_publisher,
                         struct error *err) MUST_CHECK;
const char *publish_url(const struct publisher *publisher); // as requests have it
// Adds all spans of a store to the spool: after STATUS_OK a publisher of this address sends them, this or a later one.
enum status publish_add(struct publisher *publisher, struct store *store, bool is_json, struct error *err) MUST_CHECK;
// The same with what `fill` puts into the sink.
typedef enum status publish_fill(void *context, const struct report_otlp_sink *sink, struct error *err);
enum status publish_add_from(struct publisher *publisher, bool is_json, publish_fill *fill, void *context,
                             struct error *err) MUST_CHECK;
// Sends what waits for this address, in order. An error does not lose what waits; *ret_result is valid even then.
enum status publish_send(struct publisher *publisher, struct publish_result *ret_result, struct error *err) MUST_CHECK;
void publish_close(struct publisher *publisher); // NULL: nothing

#endif
