// SPDX-License-Identifier: Apache-2.0
// Ingest of xsp serve: a client encodes and sends requests of 512 spans, one after the other, each acknowledged once it is in
// the journal; files are made of them meanwhile. The floor is a server with the same HTTP library and the same client, in the
// same rounds, which reads a request and discards it. Wall time: client and server share the machine.
//
// serve PORT ROUNDS: the client alone, for bench/collector.py: requests that were encoded before to that server of OTLP/HTTP.
#include "serve/serve.h"
#include "base/clock.h"
#include "base/folder.h"
#include "bench/serve_parts.h"

#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define ROUNDS 7
#define REQUESTS 600 // a round: 300,000 spans

// ---- the client ------------------------------------------------------------------------------------------------------
static void send_request(int file, const struct buf *message)
{
  char head[256], reply[1024];
  int head_length = snprintf(head, sizeof head,
                             "POST /v1/traces HTTP/1.1\r\nHost: localhost\r\n"
                             "Content-Type: application/x-protobuf\r\nContent-Length: %zu\r\n\r\n",
                             message->length);
  struct iovec parts[] = {{head, (size_t)head_length}, {message->data, message->length}};
  size_t length = 0;
  for (int part = 0; part < 2;) {
    ssize_t sent = writev(file, parts + part, 2 - part);
    if (sent < 0)
      exit(3);
    for (; part < 2 && (size_t)sent >= parts[part].iov_len; part++)
      sent -= (ssize_t)parts[part].iov_len;
    if (part < 2) {
      parts[part].iov_base = (char *)parts[part].iov_base + sent;
      parts[part].iov_len -= (size_t)sent;
    }
  }
  while (memmem(reply, length, "\r\n\r\n", 4) == NULL) {
    ssize_t count = read(file, reply + length, sizeof reply - length);
    if (count <= 0)
      exit(3);
    length += (size_t)count;
  }
  if (memcmp(reply, "HTTP/1.1 200 ", 13) != 0) {
    fprintf(stderr, "bench: %.*s\n", (int)length, reply);
    exit(3);
  }
}

// ns a span. `is_ready`: the requests are encoded before, and the time is that of sending alone.
static double run_round(int file, bool is_ready)
{
  static struct buf requests[REQUESTS]; // used again: allocated once
  uint64_t start_ns = clock_now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < REQUESTS && is_ready; i++)
    write_request(&requests[i]);
  if (is_ready)
    start_ns = clock_now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < REQUESTS; i++) {
    struct buf *request = &requests[is_ready ? i : 0];
    if (!is_ready)
      write_request(request);
    send_request(file, request);
  }
  return (double)(clock_now_ns(CLOCK_MONOTONIC) - start_ns) / REQUESTS / SPANS;
}

// ---- servers, each in a process of its own ---------------------------------------------------------------------------
static void on_message(const char *format, ...)
{
  fprintf(stderr, "bench: %s\n", format);
}

static const char *folder;
static bool is_synced;

static uint16_t start_serve(void)
{
  struct error err = {0};
  struct serve *serve = NULL;
  const struct serve_options options = {.listen = "127.0.0.1:0",
                                        .folder = folder,
                                        .limit_body_bytes = (uint64_t)64 << 20,
                                        .limit_upload_bytes = (uint64_t)1 << 30,
                                        .limit_analyses = 2,
                                        .live_spans = 30000,
                                        .limit_connections = 16,
                                        .timeout_s = 600,
                                        .sync = is_synced,
                                        .file_bytes = (uint64_t)48 << 20,
                                        .quiet_s = 60,
                                        .message = on_message};
  check(serve_start(&options, &serve, &err), &err);
  return serve_port(serve);
}

// ---- measuring -------------------------------------------------------------------------------------------------------
static void measure(const char *name, bool with_sync, bool is_ready, const char *target)
{
  char place[] = "/tmp/xsp-bench-serve-XXXXXX";
  double values[ROUNDS], floors[ROUNDS];
  uint16_t ports[2];
  folder = mkdtemp(place);
  is_synced = with_sync;
  const pid_t children[] = {start(start_floor, &ports[0]), start(start_serve, &ports[1])};
  const int files[] = {connect_to(ports[0]), connect_to(ports[1])};
  for (int i = 0; i < ROUNDS; i++) {
    floors[i] = run_round(files[0], is_ready);
    values[i] = run_round(files[1], is_ready);
  }
  for (int i = 0; i < 2; i++) {
    close(files[i]);
    kill(children[i], SIGKILL);
    waitpid(children[i], NULL, 0);
  }
  folder_remove_flat(place);
  double value = median(values, ROUNDS), floor = median(floors, ROUNDS);
  printf("{\"bench\":\"serve/ingest\",\"case\":\"512 spans a request, %s\",\"value\":%.1f,\"unit\":\"ns/span\","
         "\"floor\":%.1f,\"ratio\":%.3f,\"target\":%s,\"peers\":{}}\n",
         name, value, floor, value / floor, target);
  fflush(stdout);
}

int main(int count, char **arguments)
{
  signal(SIGPIPE, SIG_IGN);
  if (count == 3) {
    int file = connect_to((uint16_t)atoi(arguments[1]));
    last_id = (uint64_t)getpid() << 32; // other ids than those of an earlier client
    for (int i = 0; i < atoi(arguments[2]); i++)
      printf("%.1f\n", run_round(file, true));
    return 0;
  }
  measure("survives kill -9", false, false, "1.67"); // 0.6 of the floor's rate
  measure("survives kill -9, encoded before", false, true, "null");
  measure("on the disk", true, false, "null");
  return 0;
}
