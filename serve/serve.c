// SPDX-License-Identifier: Apache-2.0
// Starts and stops the server's parts, in the order in which they need each other: address, journal, keeper, HTTP. Called by the verb.
#include "serve/serve.h"

#include "base/debug.h"
#include "base/hash.h"
#include "base/memory.h"
#include "serve/kept.h"
#include "serve/serve_private.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTION_BYTES ((size_t)128 << 10) // of memory: head, and the part of a body that is handed over at once
#define THREAD_BYTES ((size_t)512 << 10)     // of stack
#define EXPANSIONS_MOST 4u                   // each takes as many bytes as a body may have
#define REFRESH_NS UINT64_C(1000000000)
#define GRACE_NS UINT64_C(10000000000) // for requests in progress when the server stops
#define FILES_BESIDES 64u

// ---- called by the library -------------------------------------------------------------------------------------------
__attribute__((format(printf, 2, 0))) static void on_log(void *context, const char *format, va_list values)
{
  struct serve *serve = context;
  char text[sizeof serve->problem];
  vsnprintf(text, sizeof text, format, values);
  text[strcspn(text, "\n")] = 0;
  DEBUG(serve, "libmicrohttpd: %s", text);
  // Why it does not start; later messages are about clients' mistakes, on other threads.
  if (pthread_equal(serve->starter, pthread_self()) && serve->problem[0] == 0)
    memcpy(serve->problem, text, sizeof text);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
  struct serve *serve = context;
  static const int on = 1;
  unsigned stalled_ms = serve->options.timeout_s * 1000;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    int socket = serve->http.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &stalled_ms, sizeof stalled_ms); // who takes no more of a reply
    *state = connections_add(&serve->connections, socket);
  } else if (*state != NULL) {
    connections_remove(&serve->connections, *state);
    *state = NULL;
  }
}

// ---- starting --------------------------------------------------------------------------------------------------------
// A descriptor for each connection.
static void allow_files(unsigned connections)
{
  struct rlimit limit;
  rlim_t wanted = connections + FILES_BESIDES;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
    return;
  limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static enum status start_http(struct serve *serve, struct error *err)
{
  const struct serve_options *options = &serve->options;
  struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)options->key},
                                 {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)options->certificate},
                                 {MHD_OPTION_END, 0, NULL}};
  unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC |
                   MHD_USE_ERROR_LOG | (options->key != NULL ? MHD_USE_TLS : 0);
  if (options->key != NULL && serve->http.MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
    return error_set(err, STATUS_SYSTEM, "cannot serve", "--tls-key", "Debian's libmicrohttpd12",
                     "this libmicrohttpd has no TLS");
  allow_files(options->limit_connections);
  serve->listening = fcntl(serve->address.socket, F_DUPFD_CLOEXEC, 0); // its own: it may close it when it fails
  if (serve->listening < 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot serve", serve->address.text, NULL);
  // The options' order is theirs: the logger must be the first one.
  struct MHD_Daemon *daemon = serve->http.MHD_start_daemon(
      flags, 0, NULL, NULL, request_take, serve, MHD_OPTION_EXTERNAL_LOGGER, on_log, serve, MHD_OPTION_LISTEN_SOCKET,
      serve->listening, MHD_OPTION_URI_LOG_CALLBACK, request_begin, serve, MHD_OPTION_NOTIFY_COMPLETED, request_end,
      serve, MHD_OPTION_NOTIFY_CONNECTION, on_connection, serve, MHD_OPTION_CONNECTION_LIMIT,
      options->limit_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
      MHD_OPTION_CONNECTION_MEMORY_INCREMENT, CONNECTION_BYTES, MHD_OPTION_THREAD_STACK_SIZE, THREAD_BYTES,
      MHD_OPTION_ARRAY, options->key != NULL ? tls : tls + 2, MHD_OPTION_END);
  if (daemon == NULL)
    return error_set(err, options->key != NULL ? STATUS_INPUT : STATUS_SYSTEM, "cannot serve", serve->address.text,
                     options->key != NULL ? "a certificate and its key as PEM" : NULL, "%s",
                     serve->problem[0] != 0 ? serve->problem : "libmicrohttpd does not start");
  serve->daemon = daemon;
  return STATUS_OK;
}

static enum status start(struct serve *serve, struct error *err)
{
  const struct serve_options *options = &serve->options;
  const struct journal_options journal = {.folder = options->folder,
                                          .file_bytes = options->file_bytes,
                                          .quiet_ns = options->quiet_s * UINT64_C(1000000000),
                                          .refresh_ns = REFRESH_NS,
                                          .sync = options->sync};
  XSP_TRY(microhttpd_open(options->library, &serve->http, err));
  XSP_TRY(address_listen(options->listen, options->token == NULL, &serve->address, err));
  snprintf(serve->url, sizeof serve->url, "%s://%s", options->key != NULL ? "https" : "http", serve->address.text);
  XSP_TRY(journal_open(&journal, &serve->journal, err));
  XSP_TRY(kept_folder_open(options->folder, &serve->folder, err));
  const struct retention_options retention = {.path = options->folder,
                                              .folder = serve->folder,
                                              .age_s = options->retention_s,
                                              .bytes = options->retention_bytes,
                                              .uses = &serve->uses,
                                              .message = options->message};
  XSP_TRY(retention_start(&retention, &serve->retention, err));
  XSP_TRY(page_cache_open(options->folder, serve->folder, options->page_bytes, &serve->pages, err));
  if (options->page_bytes > 0)
    XSP_TRY(prepare_start(serve->pages, options->folder, serve->folder, &serve->prepare, err));
  XSP_TRY(live_start(options->folder, options->live_spans, options->message, &serve->live, err));
  XSP_TRY(keeper_start(serve->journal, options->folder, options->message, &serve->keeper, err));
  XSP_TRY(connections_start(&serve->connections, options->timeout_s, err));
  return start_http(serve, err);
}

enum status serve_start(const struct serve_options *options, struct serve **ret_serve, struct error *err)
{
  struct serve *serve = memory_new(1, sizeof *serve);
  *serve = (struct serve){
      .options = *options, .address = {.socket = -1}, .folder = -1, .seed = hash_new_seed(), .starter = pthread_self()};
  serve->jobs = jobs_new();
  sem_init(&serve->expansions, 0, EXPANSIONS_MOST);
  sem_init(&serve->turns, 0, options->limit_analyses);
  pthread_mutex_init(&serve->uses.lock, NULL);
  catalogue_init(&serve->catalogue);
  enum status status = start(serve, err);
  if (status != STATUS_OK) {
    enum status ignored = serve_stop(serve, NULL); // the first error counts
    (void)ignored;
    serve = NULL;
  }
  *ret_serve = serve;
  return status;
}

const char *serve_url(const struct serve *serve)
{
  return serve->url;
}

uint16_t serve_port(const struct serve *serve)
{
  return serve->address.port;
}

// ---- stopping --------------------------------------------------------------------------------------------------------
enum status serve_stop(struct serve *serve, struct error *err)
{
  live_end(serve->live); // its clients wait for nothing any more
  if (serve->daemon != NULL) {
    (void)serve->http.MHD_quiesce_daemon(serve->daemon); // takes no more connections
    __atomic_store_n(&serve->is_stopping, true, __ATOMIC_RELAXED);
    connections_wait(&serve->connections, GRACE_NS);
    serve->http.MHD_stop_daemon(serve->daemon); // closes connections, and waits for their threads
    close(serve->listening);                    // ours since MHD_quiesce_daemon
  }
  if (serve->address.socket >= 0)
    close(serve->address.socket);
  connections_done(&serve->connections);
  if (serve->journal != NULL)
    journal_end(serve->journal);
  live_free(serve->live);
  enum status status = keeper_stop(serve->keeper, err);
  prepare_stop(serve->prepare);
  page_cache_free(serve->pages);
  journal_free(serve->journal);
  jobs_free(serve->jobs);
  retention_stop(serve->retention);
  catalogue_done(&serve->catalogue);
  vector_done(&serve->uses.names);
  pthread_mutex_destroy(&serve->uses.lock);
  if (serve->folder >= 0)
    close(serve->folder);
  sem_destroy(&serve->turns);
  sem_destroy(&serve->expansions);
  free(serve);
  return status;
}
