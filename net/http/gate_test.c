// SPDX-License-Identifier: Apache-2.0
#include "http/gate.h"

#include "base/clock.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND_NS UINT64_C(1000000000)
#define LONG_NS (600 * SECOND_NS) // never over in a test that passes
#define BODY_BYTES ((uint64_t)64 << 20)
#define LARGE_BYTES (GATE_SMALL_BYTES + 1)
#define CLIENTS 8u

struct client {
  struct gate *gate;
  struct gate_request request;
  struct gate_turn turn;
  enum gate_result result;
  pthread_t thread;
};

static void *enter(void *context)
{
  struct client *client = context;
  client->result = gate_enter(client->gate, &client->turn, &client->request);
  return NULL;
}

static struct client client_of(struct gate *gate, struct gate_share *peer, struct gate_share *own, uint64_t bytes)
{
  return (struct client){
      .gate = gate,
      .request = {.bytes = bytes, .has_length = true, .is_stored = true, .most_ns = LONG_NS, .peer = peer, .own = own},
  };
}

static bool are_there(struct gate *gate, unsigned waiting, unsigned held)
{
  struct gate_figures figures = gate_figures(gate);
  return figures.waiting == waiting && figures.held == held;
}

static void wait_for(struct gate *gate, unsigned waiting, unsigned held)
{
  while (!are_there(gate, waiting, held))
    sched_yield();
}

static enum gate_result take(struct client *client)
{
  client->result = gate_enter(client->gate, &client->turn, &client->request);
  return client->result;
}

// ---- order -----------------------------------------------------------------------------------------------------------
// A crowd of one peer waits, then one of another peer: the second one is next. Then the crowd's connections in turn.
static void test_peers_in_turn(void **state)
{
  static struct gate gate;
  static struct gate_share peers[2], owns[CLIENTS];
  static struct client clients[CLIENTS], first;
  uint64_t began_ns = 0;
  (void)state;
  gate_init(&gate, BODY_BYTES);
  first = client_of(&gate, &peers[0], &owns[0], LARGE_BYTES);
  assert_int_equal(take(&first), GATE_ENTERED); // its peer and its connection got more than the others
  gate_leave(&gate, &first.turn);
  gate_open(&gate, GATE_LARGE);
  for (unsigned i = 0; i < CLIENTS; i++) {
    clients[i] = client_of(&gate, &peers[i == CLIENTS - 1], &owns[i], BODY_BYTES);
    pthread_create(&clients[i].thread, NULL, enter, &clients[i]);
    wait_for(&gate, i + 1, 0);
  }
  gate_open(&gate, GATE_LANES);
  static const unsigned wanted[CLIENTS] = {7, 1, 2, 3, 4, 5, 6, 0};
  for (unsigned i = 0; i < CLIENTS; i++) { // two have too many bytes together
    pthread_join(clients[wanted[i]].thread, NULL);
    assert_true(clients[wanted[i]].turn.began_ns >= began_ns);
    began_ns = clients[wanted[i]].turn.began_ns;
    gate_leave(&gate, &clients[wanted[i]].turn);
  }
  assert_int_equal(gate_figures(&gate).bytes, 0);
  gate_done(&gate);
}

// ---- bounds ----------------------------------------------------------------------------------------------------------
static void test_small_ones_pass_large_ones(void **state)
{
  static struct gate gate;
  static struct gate_share peer, owns[3];
  static struct client large, waiting, small;
  (void)state;
  gate_init(&gate, BODY_BYTES);
  large = client_of(&gate, &peer, &owns[0], BODY_BYTES);
  assert_int_equal(take(&large), GATE_ENTERED);
  assert_true(gate_grow(&gate, &large.turn, BODY_BYTES));
  waiting = client_of(&gate, &peer, &owns[1], BODY_BYTES);
  pthread_create(&waiting.thread, NULL, enter, &waiting);
  wait_for(&gate, 1, 0);
  small = client_of(&gate, &peer, &owns[2], GATE_SMALL_BYTES);
  assert_int_equal(take(&small), GATE_ENTERED);
  gate_open(&gate, GATE_LARGE);
  gate_leave(&gate, &small.turn);
  assert_int_equal(take(&small), GATE_ENTERED);
  gate_leave(&gate, &small.turn);
  gate_open(&gate, 0);
  small.request.most_ns = 1;
  assert_int_equal(take(&small), GATE_LATE);
  small.request.is_stored = false; // what is not stored does not wait for room
  assert_int_equal(take(&small), GATE_ENTERED);
  gate_open(&gate, GATE_LANES);
  gate_leave(&gate, &small.turn);
  gate_leave(&gate, &large.turn);
  pthread_join(waiting.thread, NULL);
  assert_int_equal(waiting.result, GATE_ENTERED);
  assert_true(gate_figures(&gate).bytes_peak <= gate_figures(&gate).bytes_most);
  gate_leave(&gate, &waiting.turn);
  gate_done(&gate);
}

// Clients that announce all the room and send nothing: the next one is let in once their promise lapses. Then they have no room.
static void test_promises_lapse(void **state)
{
  static struct gate gate;
  static struct gate_share peer, owns[3];
  static struct client slow, quick, late;
  (void)state;
  gate_init(&gate, BODY_BYTES);
  slow = client_of(&gate, &peer, &owns[0], BODY_BYTES);
  assert_int_equal(take(&slow), GATE_ENTERED);
  assert_true(gate_grow(&gate, &slow.turn, 1000));
  quick = client_of(&gate, &peer, &owns[1], BODY_BYTES);
  assert_int_equal(take(&quick), GATE_ENTERED);
  assert_true(gate_grow(&gate, &quick.turn, BODY_BYTES));
  assert_int_equal(gate_figures(&gate).bytes, BODY_BYTES + 1000);
  assert_true(gate_grow(&gate, &slow.turn, 1 << 20)); // as far as there is room
  assert_false(gate_grow(&gate, &slow.turn, BODY_BYTES - 1000 - (1 << 20)));
  late = client_of(&gate, &peer, &owns[2], BODY_BYTES);
  late.request.most_ns = 1;
  assert_int_equal(take(&late), GATE_LATE);
  gate_leave(&gate, &late.turn); // nothing
  gate_leave(&gate, &quick.turn);
  gate_leave(&gate, &slow.turn);
  assert_int_equal(gate_figures(&gate).bytes, 0);
  gate_done(&gate);
}

static void test_without_a_length(void **state)
{
  static struct gate gate;
  static struct gate_share peer, own;
  static struct client client;
  (void)state;
  gate_init(&gate, BODY_BYTES);
  client = client_of(&gate, &peer, &own, 0);
  client.request.has_length = false;
  assert_int_equal(take(&client), GATE_ENTERED);
  for (uint64_t bytes = 0; bytes < BODY_BYTES; bytes += 1 << 20)
    assert_true(gate_grow(&gate, &client.turn, 1 << 20));
  assert_false(gate_grow(&gate, &client.turn, BODY_BYTES));
  assert_int_equal(gate_figures(&gate).bytes, BODY_BYTES);
  gate_leave(&gate, &client.turn);
  gate_done(&gate);
}

// ---- giving up -------------------------------------------------------------------------------------------------------
static void test_held_dropped_ended(void **state)
{
  static struct gate gate;
  static struct gate_share peer, owns[3];
  static struct client clients[3];
  (void)state;
  gate_init(&gate, BODY_BYTES);
  gate_open(&gate, GATE_LARGE);
  for (unsigned i = 0; i < 3; i++) {
    clients[i] = client_of(&gate, &peer, &owns[i], LARGE_BYTES);
    clients[i].request.not_before_ns = i > 0 ? clock_now_ns(CLOCK_MONOTONIC) + LONG_NS : 0;
    pthread_create(&clients[i].thread, NULL, enter, &clients[i]);
  }
  wait_for(&gate, 1, 2);
  assert_true(gate_drop(&gate, &clients[1].turn));
  pthread_join(clients[1].thread, NULL);
  assert_int_equal(clients[1].result, GATE_GONE);
  assert_true(are_there(&gate, 1, 1));
  assert_false(gate_drop(&gate, &clients[1].turn));
  gate_end(&gate);
  for (unsigned i = 0; i < 3; i += 2) {
    pthread_join(clients[i].thread, NULL);
    assert_int_equal(clients[i].result, GATE_GONE);
  }
  assert_true(are_there(&gate, 0, 0));
  gate_done(&gate);
}

// Who was asked to wait does, and is let in then.
static void test_held_until(void **state)
{
  static struct gate gate;
  static struct gate_share peer, own;
  static struct client client;
  uint64_t until_ns = clock_now_ns(CLOCK_MONOTONIC) + SECOND_NS / 100;
  (void)state;
  gate_init(&gate, BODY_BYTES);
  client = client_of(&gate, &peer, &own, 1);
  client.request.not_before_ns = until_ns;
  assert_int_equal(take(&client), GATE_ENTERED);
  assert_true(clock_now_ns(CLOCK_MONOTONIC) >= until_ns);
  gate_leave(&gate, &client.turn);
  gate_done(&gate);
}

// Many threads: never more bytes or requests than may be, and all get in.
static void *enter_often(void *context)
{
  struct client *client = context;
  for (unsigned i = 0; i < 200; i++) {
    if (take(client) != GATE_ENTERED || !gate_grow(client->gate, &client->turn, client->request.bytes))
      return client;
    gate_leave(client->gate, &client->turn);
  }
  return NULL;
}

static void test_many_threads(void **state)
{
  static struct gate gate;
  static struct gate_share peers[2], owns[CLIENTS];
  static struct client clients[CLIENTS];
  (void)state;
  gate_init(&gate, LARGE_BYTES);
  for (unsigned i = 0; i < CLIENTS; i++) {
    clients[i] = client_of(&gate, &peers[i % 2], &owns[i], i % 4 == 0 ? 100 : LARGE_BYTES);
    pthread_create(&clients[i].thread, NULL, enter_often, &clients[i]);
  }
  for (unsigned i = 0; i < CLIENTS; i++) {
    void *failed;
    pthread_join(clients[i].thread, &failed);
    assert_null(failed);
  }
  struct gate_figures figures = gate_figures(&gate);
  assert_true(figures.bytes == 0 && figures.bytes_peak <= figures.bytes_most);
  gate_done(&gate);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_peers_in_turn),      cmocka_unit_test(test_small_ones_pass_large_ones),
      cmocka_unit_test(test_promises_lapse),     cmocka_unit_test(test_without_a_length),
      cmocka_unit_test(test_held_dropped_ended), cmocka_unit_test(test_held_until),
      cmocka_unit_test(test_many_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
