// SPDX-License-Identifier: Apache-2.0
// What many connections cost xsp serve: its peak of memory while 1,000 connections send requests of 512 spans, each its next one
// once the last one was answered. The floor is a server with the same HTTP library, which reads a request and discards it.
//
// serve_connections PORT CONNECTIONS SECONDS [ignore]: the client alone, against that server. It waits as Retry-After says;
// with `ignore` it does not. Prints spans a second, refusals, and the longest wait for a reply.
#include "base/clock.h"
#include "base/folder.h"
#include "bench/serve_parts.h"
#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#define CONNECTIONS 1000
#define SECONDS 10
#define MIB_MOST 143.0 // 150 MB
#define SECOND_NS UINT64_C(1000000000)

// ---- the client ------------------------------------------------------------------------------------------------------
struct client { // a connection
  int file;
  struct buf message;
  size_t sent, received;
  uint64_t began_ns;
  uint64_t due_ns; // it waits until then; 0: it does not
  char reply[512];
};
struct load {
  uint16_t port;
  int poll, count;
  bool ignores;
  struct client *clients;
  uint64_t end_ns, accepted, refused, closed, longest_ns;
};

static void open_client(struct load *load, struct client *client)
{
  client->file = connect_to(load->port);
  fcntl(client->file, F_SETFL, O_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = client};
  epoll_ctl(load->poll, EPOLL_CTL_ADD, client->file, &event);
}

// The next request: a head and a body with new ids.
static void begin(struct client *client)
{
  static struct buf body;
  write_request(&body);
  buf_clear(&client->message);
  buf_format(&client->message,
             "POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
             "Content-Length: %zu\r\n\r\n",
             body.length);
  buf_put(&client->message, body.data, body.length);
  client->sent = client->received = 0;
  client->began_ns = clock_now_ns(CLOCK_MONOTONIC);
  client->due_ns = 0;
}

static void lose(struct load *load, struct client *client)
{
  load->closed++;
  close(client->file);
  open_client(load, client);
  client->due_ns = load->ignores ? 0 : clock_now_ns(CLOCK_MONOTONIC) + SECOND_NS;
  client->sent = client->received = 0;
}

// A whole reply has come.
static void finish(struct load *load, struct client *client)
{
  uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC), took_ns = now_ns - client->began_ns;
  bool is_accepted = memcmp(client->reply, "HTTP/1.1 200 ", 13) == 0;
  load->accepted += is_accepted;
  load->refused += !is_accepted;
  load->longest_ns = took_ns > load->longest_ns ? took_ns : load->longest_ns;
  bool is_closed = strcasestr(client->reply, "connection: close") != NULL;
  if (is_accepted || load->ignores)
    begin(client);
  else
    client->due_ns = now_ns + SECOND_NS;
  if (is_closed)
    lose(load, client);
}

static void go_on(struct load *load, struct client *client)
{
  while (client->due_ns == 0 && client->sent < client->message.length) {
    ssize_t sent = write(client->file, client->message.data + client->sent, client->message.length - client->sent);
    if (sent < 0 && errno != EAGAIN)
      lose(load, client);
    if (sent < 0)
      break;
    client->sent += (size_t)sent;
  }
  ssize_t count = read(client->file, client->reply + client->received, sizeof client->reply - 1 - client->received);
  if (count == 0 || (count < 0 && errno != EAGAIN))
    lose(load, client);
  if (count <= 0)
    return;
  client->received += (size_t)count;
  client->reply[client->received] = 0;
  const char *end = strstr(client->reply, "\r\n\r\n"), *length = strcasestr(client->reply, "content-length: ");
  if (end != NULL && client->received >= (size_t)(end + 4 - client->reply) + strtoul(length + 16, NULL, 10)) {
    finish(load, client);
    go_on(load, client);
  }
}

static void run_load(struct load *load, unsigned seconds)
{
  struct epoll_event events[64];
  load->poll = epoll_create1(0);
  load->clients = calloc((size_t)load->count, sizeof *load->clients);
  load->end_ns = clock_now_ns(CLOCK_MONOTONIC) + seconds * SECOND_NS;
  for (int i = 0; i < load->count; i++) {
    begin(&load->clients[i]);
    open_client(load, &load->clients[i]);
  }
  for (uint64_t looked_ns = 0, now_ns; (now_ns = clock_now_ns(CLOCK_MONOTONIC)) < load->end_ns;) {
    int count = epoll_wait(load->poll, events, 64, 100);
    for (int i = 0; i < count; i++)
      go_on(load, events[i].data.ptr);
    for (int i = 0; i < load->count && now_ns - looked_ns > SECOND_NS / 20; i++)
      if (load->clients[i].due_ns != 0 && load->clients[i].due_ns < now_ns) {
        begin(&load->clients[i]);
        go_on(load, &load->clients[i]);
      }
    looked_ns = now_ns - looked_ns > SECOND_NS / 20 ? now_ns : looked_ns;
  }
  for (int i = 0; i < load->count; i++) {
    close(load->clients[i].file);
    buf_done(&load->clients[i].message);
  }
  close(load->poll);
  free(load->clients);
}

// ---- measuring -------------------------------------------------------------------------------------------------------
static const char *folder;

static void on_message(const char *format, ...)
{
  fprintf(stderr, "bench: %s\n", format);
}

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
                                        .limit_connections = CONNECTIONS + 24,
                                        .timeout_s = 600,
                                        .file_bytes = (uint64_t)48 << 20,
                                        .quiet_s = 60,
                                        .message = on_message};
  check(serve_start(&options, &serve, &err), &err);
  return serve_port(serve);
}

static double peak_mib(pid_t child)
{
  char path[64], line[256];
  unsigned long kib = 0;
  snprintf(path, sizeof path, "/proc/%d/status", (int)child);
  FILE *file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    sscanf(line, "VmHWM: %lu", &kib);
  if (file != NULL)
    fclose(file);
  return (double)kib / 1024;
}

static double measure(uint16_t (*server)(void))
{
  struct load load = {.count = CONNECTIONS};
  pid_t child = start(server, &load.port);
  run_load(&load, SECONDS);
  double mib = peak_mib(child);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return mib;
}

int main(int count, char **arguments)
{
  signal(SIGPIPE, SIG_IGN);
  if (count >= 4) {
    struct load load = {.port = (uint16_t)atoi(arguments[1]), .count = atoi(arguments[2]), .ignores = count > 4};
    unsigned seconds = (unsigned)atoi(arguments[3]);
    last_id = (uint64_t)getpid() << 32;
    run_load(&load, seconds);
    printf("%.0f spans/s, %lu refused, %lu closed, at most %.3f s for a reply\n",
           (double)load.accepted * SPANS / seconds, load.refused, load.closed, (double)load.longest_ns / 1e9);
    return 0;
  }
  char place[] = "/tmp/xsp-bench-serve-XXXXXX";
  folder = mkdtemp(place);
  double floor = measure(start_floor), value = measure(start_serve);
  folder_remove_flat(place);
  printf("{\"bench\":\"serve/memory\",\"case\":\"peak, %d connections, 512 spans a request\",\"value\":%.1f,"
         "\"unit\":\"MiB\",\"floor\":%.1f,\"ratio\":%.3f,\"target\":%.3f,\"peers\":{}}\n",
         CONNECTIONS, value, floor, value / floor, MIB_MOST / floor);
  return 0;
}
