// SPDX-License-Identifier: Apache-2.0
// Keeps the time of each connection. Called by request.c and serve.c. shutdown() of a socket that another thread reads ends that
// read; the thread then closes it as if the client had gone.
#include "http/connections.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdlib.h>
#include <sys/socket.h>

static struct timespec time_of(uint64_t time_ns)
{
  return (struct timespec){(time_t)(time_ns / 1000000000u), (long)(time_ns % 1000000000u)};
}

// Looks a few times per timeout, so that a connection lives at most a quarter longer.
static void *watch(void *context)
{
  struct connections *connections = context;
  pthread_mutex_lock(&connections->lock);
  while (!connections->is_ending) {
    uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
    for (struct connection *one = connections->first; one != NULL; one = one->next)
      if (one->since_ns != 0 && now_ns - one->since_ns > connections->timeout_ns)
        shutdown(one->socket, SHUT_RDWR);
    struct timespec next = time_of(now_ns + connections->timeout_ns / 4);
    pthread_cond_timedwait(&connections->changed, &connections->lock, &next);
  }
  pthread_mutex_unlock(&connections->lock);
  return NULL;
}

enum status connections_start(struct connections *connections, unsigned timeout_s, struct error *err)
{
  pthread_condattr_t attributes;
  *connections = (struct connections){.timeout_ns = timeout_s * UINT64_C(1000000000)};
  pthread_mutex_init(&connections->lock, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&connections->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  if (pthread_create(&connections->thread, NULL, watch, connections) == 0)
    return STATUS_OK;
  connections->timeout_ns = 0;
  return error_set(err, STATUS_SYSTEM, "cannot serve", NULL, NULL, "no thread can be started");
}

void connections_done(struct connections *connections)
{
  if (connections->timeout_ns == 0)
    return;
  pthread_mutex_lock(&connections->lock);
  connections->is_ending = true;
  pthread_cond_broadcast(&connections->changed);
  pthread_mutex_unlock(&connections->lock);
  pthread_join(connections->thread, NULL);
  pthread_cond_destroy(&connections->changed);
  pthread_mutex_destroy(&connections->lock);
}

struct connection *connections_add(struct connections *connections, int socket)
{
  struct connection *connection = memory_new(1, sizeof *connection);
  *connection = (struct connection){.socket = socket, .since_ns = clock_now_ns(CLOCK_MONOTONIC)};
  pthread_mutex_lock(&connections->lock);
  connection->next = connections->first;
  if (connection->next != NULL)
    connection->next->previous = connection;
  connections->first = connection;
  pthread_mutex_unlock(&connections->lock);
  return connection;
}

// Locked.
static void set_request(struct connections *connections, struct connection *connection, bool has_request)
{
  connections->request_count += has_request;
  connections->request_count -= connection->has_request;
  connection->has_request = has_request;
  if (connections->request_count == 0)
    pthread_cond_broadcast(&connections->changed);
}

void connections_remove(struct connections *connections, struct connection *connection)
{
  pthread_mutex_lock(&connections->lock);
  set_request(connections, connection, false);
  if (connection->previous != NULL)
    connection->previous->next = connection->next;
  else
    connections->first = connection->next;
  if (connection->next != NULL)
    connection->next->previous = connection->previous;
  pthread_mutex_unlock(&connections->lock);
  free(connection);
}

void connections_begin(struct connections *connections, struct connection *connection)
{
  pthread_mutex_lock(&connections->lock);
  connection->since_ns = clock_now_ns(CLOCK_MONOTONIC); // the body has a time of its own
  set_request(connections, connection, true);
  pthread_mutex_unlock(&connections->lock);
}

void connections_serve(struct connections *connections, struct connection *connection)
{
  pthread_mutex_lock(&connections->lock);
  connection->since_ns = 0;
  pthread_mutex_unlock(&connections->lock);
}

void connections_finish(struct connections *connections, struct connection *connection)
{
  pthread_mutex_lock(&connections->lock);
  connection->since_ns = clock_now_ns(CLOCK_MONOTONIC);
  set_request(connections, connection, false);
  pthread_mutex_unlock(&connections->lock);
}

void connections_wait(struct connections *connections, uint64_t most_ns)
{
  struct timespec end = time_of(clock_now_ns(CLOCK_MONOTONIC) + most_ns);
  int failure = 0;
  pthread_mutex_lock(&connections->lock);
  while (connections->request_count > 0 && failure == 0)
    failure = pthread_cond_timedwait(&connections->changed, &connections->lock, &end);
  pthread_mutex_unlock(&connections->lock);
}
