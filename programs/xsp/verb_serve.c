// SPDX-License-Identifier: Apache-2.0
// xsp serve: starts the server of serve/, says where it listens, and stops it at the first signal.
#include "base/json_write.h"
#include "base/slice.h"
#include "programs/xsp/output.h"
#include "programs/xsp/serving.h"
#include "programs/xsp/verb.h"
#include "serve/serve.h"

#include <signal.h>

// ---- options ---------------------------------------------------------------------------------------------------------
static enum status wrong_retention(const char *text, struct error *err)
{
  return option_refused("retention", text, "--retention 7d,100G", "an age ends in s, m, h or d, a size in K, M, G or T",
                        err);
}

// "7d", "100G" or both.
static enum status read_retention(const struct invocation *invocation, struct serve_options *options, struct error *err)
{
  static const struct {
    char letter;
    bool is_age;
    uint64_t factor;
  } units[] = {{'s', true, 1},
               {'m', true, 60},
               {'h', true, 3600},
               {'d', true, 86400},
               {'K', false, (uint64_t)1 << 10},
               {'M', false, (uint64_t)1 << 20},
               {'G', false, (uint64_t)1 << 30},
               {'T', false, (uint64_t)1 << 40}};
  const char *text = invocation_value(invocation, "retention");
  struct slice rest = slice_of(text), part;
  while (text != NULL && slice_cut(&rest, ',', &part)) {
    int64_t number = 0;
    size_t unit = 0, count = sizeof units / sizeof units[0];
    while (unit < count && (part.length == 0 || part.data[part.length - 1] != units[unit].letter))
      unit++;
    if (unit == count || !slice_int64((struct slice){part.data, part.length - 1}, &number) || number < 1 ||
        number > 1000000)
      return wrong_retention(text, err);
    uint64_t *place = units[unit].is_age ? &options->retention_s : &options->retention_bytes;
    if (*place != 0)
      return wrong_retention(text, err);
    *place = (uint64_t)number * units[unit].factor;
  }
  return STATUS_OK;
}

struct texts { // of files that options name
  struct buf token, certificate, key;
};

static enum status read_options(const struct invocation *invocation, struct serve_options *options, struct texts *texts,
                                struct error *err)
{
  options->listen = invocation_value(invocation, "listen");
  options->folder = invocation_value(invocation, "dir");
  options->library = invocation_library(invocation, "microhttpd");
  options->sync = invocation_has(invocation, "sync");
  options->message = output_message;
  XSP_TRY(invocation_bytes(invocation, "limit-body", 1, SERVE_BODY_BYTES_MOST, &options->limit_body_bytes, err));
  XSP_TRY(invocation_bytes(invocation, "limit-upload", 1, (uint64_t)1 << 40, &options->limit_upload_bytes, err));
  XSP_TRY(invocation_unsigned(invocation, "limit-analyses", 1, 1000, &options->limit_analyses, err));
  XSP_TRY(read_retention(invocation, options, err));
  XSP_TRY(invocation_unsigned(invocation, "limit-connections", 1, 100000, &options->limit_connections, err));
  XSP_TRY(invocation_unsigned(invocation, "timeout", 1, 86400, &options->timeout_s, err));
  XSP_TRY(invocation_bytes(invocation, "file-bytes", 1, (uint64_t)1 << 30, &options->file_bytes, err));
  XSP_TRY(invocation_unsigned(invocation, "file-quiet", 1, 86400, &options->quiet_s, err));
  XSP_TRY(invocation_bytes(invocation, "page-bytes", 0, (uint64_t)1 << 50, &options->page_bytes, err));
  XSP_TRY(invocation_bytes(invocation, "live-spans", 1, 10000000, &options->live_spans, err));
  XSP_TRY(serving_token(invocation, &texts->token, &options->token, err));
  return serving_tls(invocation, &texts->certificate, &texts->key, &options->certificate, &options->key, err);
}

// ---- running ---------------------------------------------------------------------------------------------------------
static enum status print_address(const struct serve *serve, const struct invocation *invocation, struct error *err)
{
  struct buf text = {0};
  struct json_writer json;
  if (invocation_has(invocation, "json")) {
    json_start(&json, &text);
    json_object(&json);
    json_member_string(&json, "url", serve_url(serve));
    json_member_int(&json, "port", serve_port(serve));
    json_member_string(&json, "dir", invocation_value(invocation, "dir"));
    json_object_end(&json);
  } else {
    buf_text(&text, serve_url(serve));
  }
  buf_text(&text, "\n");
  XSP_TRY(output_buf(&text, err));
  return output_finish(err); // now: a script waits for it
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  struct serve_options options = {0};
  struct texts texts = {0};
  struct serve *serve = NULL;
  sigset_t signals;
  serving_block_signals(&signals);
  enum status status = read_options(invocation, &options, &texts, err);
  if (status == STATUS_OK)
    status = serve_start(&options, &serve, err);
  enum status printed = status == STATUS_OK ? print_address(serve, invocation, err) : STATUS_OK;
  bool goes_on = status == STATUS_OK && (printed == STATUS_OK || output_reader_left());
  serving_wait(&signals, goes_on);
  if (serve != NULL) {
    struct error stop_error = {0};
    status = serve_stop(serve, &stop_error);
    if (status != STATUS_OK)
      *err = stop_error;
  }
  buf_done(&texts.token);
  buf_done(&texts.certificate);
  buf_done(&texts.key);
  return status != STATUS_OK || goes_on ? status : printed;
}

static const struct option_description options[] = {
    {"listen", 0, "HOST:PORT", "127.0.0.1:4318", 0,
     "Where to receive. Port 0 takes a free one. Elsewhere than on this machine's own addresses (127.0.0.0/8, ::1) "
     "--token-file is required."},
    {"dir", 0, "DIR", "xsp-traces", 0, "The folder for files. It is made if it is missing."},
    {"token-file", 0, "FILE", NULL, 0,
     "Refuse requests without the header \"Authorization: Bearer TOKEN\", where TOKEN is the text of this file. A "
     "browser asks for it as a password, with any name."},
    OPTIONS_SERVING_TLS,
    {"sync", 0, NULL, NULL, 0,
     "Write each request to the disk before it is acknowledged; requests at the same time share a write. Without it an "
     "acknowledged request survives the end of xsp, but not a loss of power."},
    {"file-bytes", 0, "N", "48M", 0,
     "End a file when so many bytes were received for it; K, M and G multiply by 1024. Storing a file takes about as "
     "much memory."},
    {"file-quiet", 0, "SECONDS", "60", 0, "End a file when nothing was received for so long."},
    {"retention", 0, "AGE,BYTES", NULL, 0,
     "Remove the oldest complete files that the server made or received: those older than AGE (7d, 12h, 30m, 60s), and "
     "while all of them have more than BYTES (100G). One of the two or both."},
    {"live-spans", 0, "N", "30000", 0,
     "Show about the N newest spans on the live page. More make it slower to follow: it is as far behind as their "
     "analyses take."},
    {"page-bytes", 0, "N", "4G", 0,
     "Keep at most N bytes of what pages are made of, in DIR/.pages; the oldest are removed. Spans of large runs take "
     "about 60 bytes each there. 0: they are made when a page is asked for, and one file's are kept."},
    {"limit-body", 0, "N", "64M", 0, "Refuse requests of more than N bytes, also after decompression. At most 100M."},
    {"limit-upload", 0, "N", "1G", 0, "Refuse files of more than N bytes."},
    {"limit-analyses", 0, "N", "2", 0,
     "Make at most N analyses, pages and searches at a time. Others wait a few seconds, then they are refused for the "
     "moment."},
    {"limit-connections", 0, "N", "1024", 0,
     "Take at most N connections at a time. Another one takes the place of one that sends nothing, or else sends "
     "most."},
    {"timeout", 0, "SECONDS", "60", 0,
     "Close a connection that takes longer to send a request, or sends none for so long; the first head has 10 seconds "
     "at most."},
    {"library", 0, "NAME=PATH", NULL, OPTION_REPEATABLE,
     "With NAME microhttpd: take this libmicrohttpd; also by the environment variable XSP_LIBRARY_MICROHTTPD."},
    {"json", 0, NULL, NULL, 0, "Print url, port and folder as JSON."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp serve --dir traces", "any OpenTelemetry SDK of this machine can send to it as it is"},
    {"xsp serve --listen 0.0.0.0:4318 --token-file token --tls-cert cert.pem --tls-key key.pem", "other machines, too"},
    {"xsp serve --dir traces --retention 7d,100G", "a week of traces, and not more than 100 GiB"},
    {"xsp serve --listen 127.0.0.1:0 --json", "a free port, printed as JSON"},
    {0},
};

const struct verb verb_serve = {
    .name = "serve",
    .summary = "receive spans of OpenTelemetry and keep them as files",
    .synopsis = "[--listen HOST:PORT] [--dir DIR] [OPTION...]",
    .description =
        "Takes spans by OTLP/HTTP (POST /v1/traces, protobuf or JSON, plain, gzip or zstd), from any program with an "
        "OpenTelemetry SDK or from a Collector, and keeps them in DIR/spans-*.xsp, which every reading verb opens "
        "while the server runs. It prints its address and stops at Ctrl-C or SIGTERM, with status 0.\n\n"
        "A request is acknowledged once it is in DIR/spans-*.journal. What is acknowledged survives the end of xsp, "
        "however it ends: the next xsp serve with this DIR stores it, each span once. A file is made again after a "
        "second without spans, and every ten seconds while they come.\n\n"
        "A browser shows the files at the same address. /api/v1/ has them for programs: upload, download, analyses, "
        "search (docs/serve.md).\n\n"
        "Without a token only requests from this machine are taken, and none that a web page of another site sends.",
    .least_arguments = 0,
    .most_arguments = 0,
    .options = options,
    .examples = examples,
    .see_also = "import, info, analyze",
    .run = run,
};
