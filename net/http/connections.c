// SPDX-License-Identifier: Apache-2.0
// Keeps the time of each connection, and the places. Called by request.c and server.c. shutdown() of a socket that another thread
// reads ends that read; the thread then closes it as if the client had gone. Locks: this one, then the gate's.
#include "http/connections.h"

#include "base/clock.h"
#include "base/condition.h"
#include "base/memory.h"
#include "base/scoped.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define HEAD_WITHIN_NS (10 * SECOND_NS) // TLS's handshake and the head of a connection's first request
#define SLOW_AFTER_NS (2 * SECOND_NS)   // of a first head, or a body

#define WAITING_AFTER_NS (SECOND_NS / 20) // for its turn

// ---- time: locked ----------------------------------------------------------------------------------------------------
static void give_place(struct connections *connections, struct connection *connection)
{
  connections->count -= connection->has_place;
  connection->peer->connections -= connection->has_place;
  connection->has_place = false;
}

static void end(struct connections *connections, struct connection *connection)
{
  give_place(connections, connection);
  if (connection->is_ended)
    return;
  connection->is_ended = true;
  shutdown(connection->socket, SHUT_RDWR);
  if (connection->turn != NULL)
    (void)gate_drop(connections->gate, connection->turn);
}

static bool is_late(const struct connections *connections, const struct connection *connection, uint64_t now_ns)
{
  bool is_new = !connection->was_served && !connection->has_request;
  uint64_t within_ns = is_new ? connections->head_timeout_ns : connections->timeout_ns;
  return connection->since_ns != 0 && now_ns - connection->since_ns > within_ns;
}

// Looks a few times per timeout, so that a connection lives at most a quarter longer.
static void *watch(void *context)
{
  struct connections *connections = context;
  SCOPED_LOCK(&connections->lock);
  while (!connections->is_ending) {
    uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
    for (struct connection *one = connections->first; one != NULL; one = one->next)
      if (is_late(connections, one, now_ns))
        end(connections, one);
    (void)condition_wait(&connections->changed, &connections->lock, now_ns + connections->head_timeout_ns / 4);
  }
  return NULL;
}

enum status connections_start(struct connections *connections, const struct connections_options *options,
                              struct error *err)
{
  *connections =
      (struct connections){.gate = options->gate, .most = options->most, .timeout_ns = options->timeout_s * SECOND_NS};
  connections->head_timeout_ns = connections->timeout_ns < HEAD_WITHIN_NS ? connections->timeout_ns : HEAD_WITHIN_NS;
  pthread_mutex_init(&connections->lock, NULL);
  condition_init(&connections->changed);
  if (pthread_create(&connections->thread, NULL, watch, connections) == 0)
    return STATUS_OK;
  connections->timeout_ns = 0;
  return error_set(err, STATUS_SYSTEM, "cannot serve", NULL, NULL, "no thread can be started");
}

void connections_done(struct connections *connections)
{
  if (connections->timeout_ns == 0)
    return;
  condition_raise(&connections->changed, &connections->lock, &connections->is_ending);
  pthread_join(connections->thread, NULL);
  pthread_cond_destroy(&connections->changed);
  pthread_mutex_destroy(&connections->lock);
}

// ---- peers: locked ---------------------------------------------------------------------------------------------------
static struct peer *take_peer(struct connections *connections, const struct sockaddr *address)
{
  const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
  uint8_t bytes[PEER_BYTES] = {0};
  if (address->sa_family == AF_INET)
    memcpy(bytes, &four->sin_addr, sizeof four->sin_addr);
  else if (address->sa_family == AF_INET6)
    memcpy(bytes, &six->sin6_addr, sizeof bytes);
  struct peer *peer = connections->peers;
  while (peer != NULL && memcmp(peer->address, bytes, sizeof bytes) != 0)
    peer = peer->next;
  if (peer == NULL) {
    peer = memory_new(1, sizeof *peer);
    memcpy(peer->address, bytes, sizeof bytes);
    peer->next = connections->peers;
    if (peer->next != NULL)
      peer->next->previous = peer;
    connections->peers = peer;
  }
  peer->users++;
  peer->connections++;
  return peer;
}

static void give_peer(struct connections *connections, struct peer *peer)
{
  if (--peer->users > 0)
    return;
  *(peer->previous != NULL ? &peer->previous->next : &connections->peers) = peer->next;
  if (peer->next != NULL)
    peer->next->previous = peer->previous;
  free(peer);
}

// ---- places: locked --------------------------------------------------------------------------------------------------
enum rank { UNUSED, SLOW, WAITING, FRESH, USED, NONE }; // whose place is taken first; NONE: it has none

static enum rank rank_of(const struct connection *connection, uint64_t now_ns)
{
  bool is_slow = connection->since_ns != 0 && now_ns - connection->since_ns > SLOW_AFTER_NS;
  if (!connection->has_place)
    return NONE;
  if (connection->turn != NULL)
    return now_ns - connection->turn_ns > WAITING_AFTER_NS ? WAITING : USED;
  if (connection->has_request)
    return is_slow ? SLOW : USED;
  return connection->was_served ? USED : is_slow ? UNUSED : FRESH;
}

// Bytes a second of its life.
static double load_of(const struct connection *connection, uint64_t now_ns)
{
  return (double)__atomic_load_n(&connection->bytes, __ATOMIC_RELAXED) /
         (double)(now_ns - connection->opened_ns + SECOND_NS);
}

// The list begins with the newest one. Of those that are used, the one that sends most: a client that sends little keeps its place.
static struct connection *find_victim(const struct connections *connections)
{
  struct connection *victim = NULL;
  enum rank lowest = NONE;
  uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
  for (struct connection *one = connections->first; one != NULL; one = one->next) {
    enum rank rank = rank_of(one, now_ns);
    unsigned many = one->peer->connections, most = victim != NULL ? victim->peer->connections : 0;
    if (rank == NONE || many < most || (many == most && rank > lowest))
      continue;
    if (many == most && rank == USED && lowest == USED && load_of(one, now_ns) < load_of(victim, now_ns))
      continue;
    victim = one;
    lowest = rank;
  }
  return victim;
}

// One that is at work ends with its reply.
static void take_place(struct connections *connections, struct connection *connection)
{
  if (connection->has_request && rank_of(connection, clock_now_ns(CLOCK_MONOTONIC)) == USED)
    give_place(connections, connection);
  else
    end(connections, connection);
}

struct connection *connections_add(struct connections *connections, int socket, const struct sockaddr *address)
{
  struct connection *connection = memory_new(1, sizeof *connection);
  SCOPED_LOCK(&connections->lock);
  struct connection *victim = connections->count >= connections->most ? find_victim(connections) : NULL;
  *connection = (struct connection){.socket = socket, .has_place = true};
  connection->opened_ns = connection->since_ns = clock_now_ns(CLOCK_MONOTONIC);
  connection->peer = take_peer(connections, address);
  connection->next = connections->first;
  if (connection->next != NULL)
    connection->next->previous = connection;
  connections->first = connection;
  connections->count++;
  if (victim != NULL)
    take_place(connections, victim);
  return connection;
}

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
  SCOPED_LOCK(&connections->lock);
  set_request(connections, connection, false);
  end(connections, connection);
  *(connection->previous != NULL ? &connection->previous->next : &connections->first) = connection->next;
  if (connection->next != NULL)
    connection->next->previous = connection->previous;
  give_peer(connections, connection->peer);
  free(connection);
}

// ---- requests --------------------------------------------------------------------------------------------------------
void connections_begin(struct connections *connections, struct connection *connection)
{
  SCOPED_LOCK(&connections->lock);
  connection->since_ns = clock_now_ns(CLOCK_MONOTONIC); // the body has a time of its own
  set_request(connections, connection, true);
}

void connections_serve(struct connections *connections, struct connection *connection)
{
  SCOPED_LOCK(&connections->lock);
  connection->since_ns = 0;
}

void connections_finish(struct connections *connections, struct connection *connection, bool was_served)
{
  SCOPED_LOCK(&connections->lock);
  connection->since_ns = clock_now_ns(CLOCK_MONOTONIC);
  connection->was_served |= was_served;
  set_request(connections, connection, false);
  if (!connection->has_place)
    end(connections, connection);
}

static void set_turn(struct connections *connections, struct connection *connection, struct gate_turn *turn)
{
  SCOPED_LOCK(&connections->lock);
  connection->turn = turn;
  connection->turn_ns = clock_now_ns(CLOCK_MONOTONIC);
  connection->since_ns = turn != NULL ? 0 : connection->turn_ns;
}

enum gate_result connections_enter(struct connections *connections, struct connection *connection,
                                   struct gate_turn *turn, struct gate_request *request)
{
  request->peer = &connection->peer->share;
  request->own = &connection->share;
  request->not_before_ns = connection->not_before_ns;
  set_turn(connections, connection, turn);
  enum gate_result result = gate_enter(connections->gate, turn, request);
  set_turn(connections, connection, NULL);
  return result;
}

void connections_wait(struct connections *connections, uint64_t most_ns)
{
  uint64_t until_ns = clock_now_ns(CLOCK_MONOTONIC) + most_ns;
  SCOPED_LOCK(&connections->lock);
  while (connections->request_count > 0 && condition_wait(&connections->changed, &connections->lock, until_ns))
    continue;
}

unsigned connections_count(struct connections *connections)
{
  SCOPED_LOCK(&connections->lock);
  return connections->count;
}
