// SPDX-License-Identifier: Apache-2.0
// ClickHouse's HTTP interface over the engine as a library: GET /ping, and POST / with a query, whose part before the first line's
// end may be in ?query=. `clickhouse-front LIBCHDB FOLDER` prints its port; it ends when its standard input does.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// No header ships with the library.
#define FUNCTIONS(X)                                                                                                   \
  X(void **, chdb_connect, (int count, char **arguments))                                                              \
  X(void, chdb_close_conn, (void **connection))                                                                        \
  X(void *, chdb_query_n,                                                                                              \
    (void *connection, const char *query, size_t length, const char *format, size_t format_length))                    \
  X(char *, chdb_result_buffer, (void *result))                                                                        \
  X(size_t, chdb_result_length, (void *result))                                                                        \
  X(const char *, chdb_result_error, (void *result))                                                                   \
  X(void, chdb_destroy_query_result, (void *result))

#define X(type, name, arguments) static type(*name) arguments;
FUNCTIONS(X)
#undef X
static void **connection;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // one query at a time

struct request {
  char *body;
  size_t length, capacity;
};

static bool take(struct request *request, const char *bytes, size_t length)
{
  if (request->length + length > request->capacity) {
    request->capacity = (request->length + length) * 2;
    request->body = realloc(request->body, request->capacity);
  }
  if (request->body != NULL)
    memcpy(request->body + request->length, bytes, length);
  request->length += length;
  return request->body != NULL;
}

static struct MHD_Response *copy_of(const char *text, size_t length)
{
  return MHD_create_response_from_buffer(length, (void *)text, MHD_RESPMEM_MUST_COPY);
}

static struct MHD_Response *run_query(const char *query, size_t length, unsigned *ret_code)
{
  static const char format[] = "TabSeparated";
  pthread_mutex_lock(&lock);
  void *result = chdb_query_n(*connection, query, length, format, strlen(format));
  pthread_mutex_unlock(&lock);
  const char *error = chdb_result_error(result);
  bool is_error = error != NULL && error[0] != 0;
  *ret_code = is_error ? MHD_HTTP_INTERNAL_SERVER_ERROR : MHD_HTTP_OK;
  struct MHD_Response *response =
      is_error ? copy_of(error, strlen(error)) : copy_of(chdb_result_buffer(result), chdb_result_length(result));
  chdb_destroy_query_result(result);
  return response;
}

// The server's settings of a query, for this and all later ones.
static enum MHD_Result set(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
  char query[256];
  unsigned code;
  if (value == NULL || strcmp(name, "query") == 0 || strcmp(name, "wait_end_of_query") == 0)
    return MHD_YES;
  int length = snprintf(query, sizeof query, "SET %.60s = '%.60s'", name, value);
  MHD_destroy_response(run_query(query, (size_t)length, &code));
  return MHD_YES;
}

static struct MHD_Response *answer(struct MHD_Connection *client, const char *url, struct request *request,
                                   unsigned *ret_code)
{
  *ret_code = MHD_HTTP_OK;
  if (strcmp(url, "/ping") == 0)
    return copy_of("Ok.\n", 4);
  struct request whole = {0};
  MHD_get_connection_values(client, MHD_GET_ARGUMENT_KIND, set, NULL);
  const char *query = MHD_lookup_connection_value(client, MHD_GET_ARGUMENT_KIND, "query");
  if (query != NULL && (!take(&whole, query, strlen(query)) || !take(&whole, "\n", 1)))
    return NULL;
  if (request->length > 0 && !take(&whole, request->body, request->length))
    return NULL;
  struct MHD_Response *response = run_query(whole.body != NULL ? whole.body : "", whole.length, ret_code);
  free(whole.body);
  return response;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *client, const char *url, const char *method,
                              const char *version, const char *data, size_t *data_length, void **state)
{
  struct request *request = *state;
  unsigned code;
  if (request == NULL) {
    *state = calloc(1, sizeof *request);
    return *state != NULL ? MHD_YES : MHD_NO;
  }
  if (*data_length > 0) {
    bool is_taken = take(request, data, *data_length);
    *data_length = 0;
    return is_taken ? MHD_YES : MHD_NO;
  }
  struct MHD_Response *response = answer(client, url, request, &code);
  if (response == NULL)
    return MHD_NO;
  enum MHD_Result result = MHD_queue_response(client, code, response);
  MHD_destroy_response(response);
  return result;
}

static void forget(void *context, struct MHD_Connection *client, void **state, enum MHD_RequestTerminationCode why)
{
  struct request *request = *state;
  if (request != NULL)
    free(request->body);
  free(request);
  *state = NULL;
}

static bool load(const char *path)
{
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return false;
#define X(type, name, arguments) *(void **)&name = dlsym(library, #name);
  FUNCTIONS(X)
#undef X
#define X(type, name, arguments) &&name != NULL
  return true FUNCTIONS(X);
#undef X
}

int main(int count, char **arguments)
{
  if (count != 3 || !load(arguments[1])) {
    fprintf(stderr, "clickhouse-front: %s\n", count == 3 ? dlerror() : "LIBCHDB FOLDER");
    return 2;
  }
  char path[4096];
  snprintf(path, sizeof path, "--path=%s", arguments[2]);
  char *options[] = {"chdb", path};
  connection = chdb_connect(2, options);
  const struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct MHD_Daemon *daemon =
      connection == NULL
          ? NULL
          : MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, handle, NULL, MHD_OPTION_SOCK_ADDR, &address,
                             MHD_OPTION_NOTIFY_COMPLETED, forget, NULL, MHD_OPTION_END);
  if (daemon == NULL)
    return 1;
  printf("%u\n", (unsigned)MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  MHD_stop_daemon(daemon);
  chdb_close_conn(connection);
  return 0;
}
