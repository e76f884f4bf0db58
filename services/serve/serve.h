// SPDX-License-Identifier: Apache-2.0
// The tracing server: receives spans by OTLP/HTTP and keeps them as files in a folder. Front door of serve/; see
// docs/internals/serve.md. Users' page: docs/serve.md.
#ifndef XSP_SERVE_SERVE_H
#define XSP_SERVE_SERVE_H

#include "base/error.h"
#include "base/message.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

#define SERVE_BODY_BYTES_MOST ((uint64_t)100 << 20)

struct serve_options {
  const char *listen;            // "127.0.0.1:4318", "[::1]:0", "localhost:4318"
  const char *folder;            // made if it is missing; its parent is not
  const char *token;             // clients have to send it; NULL: none, for loopback only
  const char *certificate, *key; // PEM texts of both; NULL: no TLS
  uint64_t limit_body_bytes;     // of a body, before and after decompression
  uint64_t limit_upload_bytes;   // of a file
  unsigned limit_connections;
  unsigned limit_analyses; // answers that take long or much memory, at a time
  unsigned timeout_s;      // for a request to arrive, and for a connection without one
  bool sync; // a reply means: on the disk. Else: with the kernel, which survives all but a crash of the machine
  uint64_t file_bytes;
  unsigned quiet_s;                      // a file ends after so long without spans
  uint64_t retention_s, retention_bytes; // older files, and the oldest beyond so many bytes, are removed; 0: none
  uint64_t page_bytes;                   // of what pages of files are made of; 0: it is not made before it is asked for
  uint64_t live_spans;                   // newest ones, that the live page is about
  const char *library;                   // of libmicrohttpd; NULL: to be looked for
  message_fn message;                    // what goes wrong later; any thread
};

struct serve;

// Listens and receives, on threads of its own. They block the signals that the caller blocks. STATUS_USE: an address elsewhere than
// on loopback without a token. Texts of *options must live as long as the server.
enum status serve_start(const struct serve_options *options, struct serve **ret_serve, struct error *err) MUST_CHECK;
const char *serve_url(const struct serve *serve); // "http://127.0.0.1:4318": with the port that was really taken
uint16_t serve_port(const struct serve *serve);
// Answers the requests that have begun, stores all that was received, frees. STATUS_SYSTEM: journals stay in the folder.
enum status serve_stop(struct serve *serve, struct error *err) MUST_CHECK;

#endif
