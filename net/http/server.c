// SPDX-License-Identifier: Apache-2.0
// Opens the address, starts and stops libmicrohttpd. Called by serve/ and agent/.
#include "http/server.h"

#include "base/debug.h"
#include "base/memory.h"
#include "http/server_private.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTION_BYTES ((size_t)20 << 10) // of memory: head (some 18 KiB), part of a body that is handed over at once
#define THREAD_BYTES ((size_t)512 << 10)    // of stack
#define GRACE_NS UINT64_C(10000000000)      // for requests in progress when the server stops
#define FILES_BESIDES 64u
#define TLS_VERSIONS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" // RFC 8996; as GnuTLS writes it
#define CONNECTIONS_LEAST 16u
#define CLOSING_MOST 1024u // connections whose place another one has, until their threads end

// ---- called by the library -------------------------------------------------------------------------------------------
__attribute__((format(printf, 2, 0))) static void on_log(void *context, const char *format, va_list values)
{
  struct http_server *server = context;
  char text[sizeof server->problem];
  vsnprintf(text, sizeof text, format, values);
  text[strcspn(text, "\n")] = 0;
  DEBUG(http, "libmicrohttpd: %s", text);
  // Why it does not start; later messages are about clients' mistakes, on other threads.
  if (pthread_equal(server->starter, pthread_self()) && server->problem[0] == 0)
    memcpy(server->problem, text, sizeof text);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
  struct http_server *server = context;
  static const int on = 1;
  unsigned stalled_ms = server->options.timeout_s * 1000;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    int socket = server->http.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    const struct sockaddr *address =
        server->http.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &stalled_ms, sizeof stalled_ms); // who takes no more of a reply
    *state = connections_add(&server->connections, socket, address);
  } else if (*state != NULL) {
    connections_remove(&server->connections, *state);
    *state = NULL;
  }
}

// ---- starting --------------------------------------------------------------------------------------------------------
// A descriptor for each connection: raises the limit, else there are fewer places.
static enum status allow_files(struct http_server *server, struct error *err)
{
  struct rlimit limit;
  rlim_t wanted = server->options.limit_connections + CLOSING_MOST + FILES_BESIDES;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
    return STATUS_OK;
  limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur == wanted)
    return STATUS_OK;
  if (limit.rlim_cur < FILES_BESIDES + CONNECTIONS_LEAST)
    return error_set(err, STATUS_SYSTEM, "cannot serve", "ulimit -n", "a higher limit: ulimit -n 2048",
                     "this process may open only %u files, and needs %u", (unsigned)limit.rlim_cur,
                     FILES_BESIDES + CONNECTIONS_LEAST);
  rlim_t places = (limit.rlim_cur - FILES_BESIDES) / 2; // the other half: closing
  if (places < server->options.limit_connections)
    server->options.limit_connections = (unsigned)places;
  return STATUS_OK;
}

static enum status start_daemon(struct http_server *server, struct error *err)
{
  const struct http_server_options *options = &server->options;
  struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)options->key},
                                 {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)options->certificate},
                                 {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)TLS_VERSIONS},
                                 {MHD_OPTION_END, 0, NULL}};
  unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC |
                   MHD_USE_ERROR_LOG | (options->key != NULL ? MHD_USE_TLS : 0);
  if (options->key != NULL && server->http.MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
    return error_set(err, STATUS_SYSTEM, "cannot serve", "--tls-key", "Debian's libmicrohttpd12",
                     "this libmicrohttpd has no TLS");
  server->listening = fcntl(server->address.socket, F_DUPFD_CLOEXEC, 0); // its own: it may close it when it fails
  if (server->listening < 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot serve", server->address.text, NULL);
  // The options' order is theirs: the logger must be the first one.
  struct MHD_Daemon *daemon = server->http.MHD_start_daemon(
      flags, 0, NULL, NULL, request_take, server, MHD_OPTION_EXTERNAL_LOGGER, on_log, server, MHD_OPTION_LISTEN_SOCKET,
      server->listening, MHD_OPTION_URI_LOG_CALLBACK, request_begin, server, MHD_OPTION_NOTIFY_COMPLETED, request_end,
      server, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_CONNECTION_LIMIT,
      options->limit_connections + CLOSING_MOST, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
      MHD_OPTION_CONNECTION_MEMORY_INCREMENT, CONNECTION_BYTES, MHD_OPTION_THREAD_STACK_SIZE, THREAD_BYTES,
      MHD_OPTION_ARRAY, options->key != NULL ? tls : tls + 3, MHD_OPTION_END);
  if (daemon == NULL)
    return error_set(err, options->key != NULL ? STATUS_INPUT : STATUS_SYSTEM, "cannot serve", server->address.text,
                     options->key != NULL ? "a certificate and its key as PEM" : NULL, "%s",
                     server->problem[0] != 0 ? server->problem : "libmicrohttpd does not start");
  server->daemon = daemon;
  return STATUS_OK;
}

enum status http_server_open(const struct http_server_options *options, struct http_server **ret_server,
                             struct error *err)
{
  struct http_server *server = *ret_server = memory_new(1, sizeof *server);
  *server = (struct http_server){.options = *options, .address = {.socket = -1}, .starter = pthread_self()};
  gate_init(&server->gate, options->limit_body_bytes);
  XSP_TRY(allow_files(server, err));
  XSP_TRY(microhttpd_open(options->library, &server->http, err));
  XSP_TRY(http_address_listen(options->listen, options->token == NULL, &server->address, err));
  snprintf(server->url, sizeof server->url, "%s://%s", options->key != NULL ? "https" : "http", server->address.text);
  return STATUS_OK;
}

enum status http_server_start(struct http_server *server, struct error *err)
{
  server->starter = pthread_self();
  const struct connections_options connections = {
      .gate = &server->gate, .most = server->options.limit_connections, .timeout_s = server->options.timeout_s};
  XSP_TRY(connections_start(&server->connections, &connections, err));
  return start_daemon(server, err);
}

const char *http_server_url(const struct http_server *server)
{
  return server->url;
}

uint16_t http_server_port(const struct http_server *server)
{
  return server->address.port;
}

void http_server_set_room(struct http_server *server, enum http_room room)
{
  static const unsigned lanes[] = {
      [HTTP_ROOM_NONE] = 0, [HTTP_ROOM_LITTLE] = GATE_LARGE, [HTTP_ROOM_MUCH] = GATE_LANES};
  gate_open(&server->gate, lanes[room]);
}

struct http_server_figures http_server_figures(struct http_server *server)
{
  struct gate_figures gate = gate_figures(&server->gate);
  return (struct http_server_figures){.connections = connections_count(&server->connections),
                                      .requests_working = gate.working,
                                      .requests_waiting = gate.waiting,
                                      .requests_held = gate.held,
                                      .body_bytes = gate.bytes,
                                      .body_bytes_peak = gate.bytes_peak,
                                      .body_bytes_most = gate.bytes_most};
}

// ---- stopping --------------------------------------------------------------------------------------------------------
void http_server_stop(struct http_server *server)
{
  if (server == NULL)
    return;
  if (server->daemon != NULL) {
    (void)server->http.MHD_quiesce_daemon(server->daemon); // takes no more connections
    __atomic_store_n(&server->is_stopping, true, __ATOMIC_RELAXED);
    gate_end(&server->gate);
    connections_wait(&server->connections, GRACE_NS);
    server->http.MHD_stop_daemon(server->daemon); // closes connections, and waits for their threads
    close(server->listening);                     // ours since MHD_quiesce_daemon
  }
  if (server->address.socket >= 0)
    close(server->address.socket);
  connections_done(&server->connections);
  gate_done(&server->gate);
  free(server);
}
