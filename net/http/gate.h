// SPDX-License-Identifier: Apache-2.0
// Lets requests with a body in memory in, one after the other: bounds the bytes of all bodies and the requests at work, and shares
// both fairly. A request that does not fit waits before its body is read, so that its client cannot send more either.
//
// Two lanes, so that a small request never waits for large ones. In each, the peer that got least is next, and of its
// connections the one that got least: who sends much, or on many connections, waits for itself (start-time fair queueing).
//
// An admitted request has the bytes that it announced. When it takes longer than GATE_FRESH_NS while others wait, its promise
// lapses: it counts with what it sent so far. So a client that announces much and sends nothing takes room for a moment only.
// Any thread.
#ifndef XSP_HTTP_GATE_H
#define XSP_HTTP_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum gate_lane_name { GATE_SMALL, GATE_LARGE, GATE_LANES };

#define GATE_SMALL_BYTES ((uint64_t)16 << 10) // a body of at most so many is in the small lane
#define GATE_SMALL_LANE_BYTES ((uint64_t)4 << 20)
#define GATE_AT_ONCE 64u // fresh requests of a lane
#define GATE_FRESH_NS UINT64_C(100000000)
#define GATE_STEP_BYTES ((uint64_t)64 << 10) // of a body without a length: what it is let in with

// What a peer or a connection got, in the lane's virtual time. Starts as {0}.
struct gate_share {
  uint64_t finish[GATE_LANES];  // when its next request is due
  uint64_t virtual[GATE_LANES]; // of a peer: the time among its connections
};

enum gate_state { GATE_OUT, GATE_HELD, GATE_WAITING, GATE_FRESH, GATE_LAPSED };
struct gate_turn { // of one request. Starts as {0}
  enum gate_state state;
  bool is_dropped, is_stored;
  enum gate_lane_name lane;
  uint64_t bytes;    // that it announced; LAPSED: that count
  uint64_t received; // of them
  uint64_t order, began_ns;
  struct gate_share *peer, *own;
  pthread_cond_t changed;
  struct gate_turn *previous, *next; // HELD, WAITING: of those; FRESH: of the lane's fresh, oldest first
};

struct gate_list {
  struct gate_turn *first, *last;
  unsigned count;
};
struct gate_lane {
  uint64_t most, used, peak; // bytes
  uint64_t virtual;
  struct gate_list waiting, fresh;
  struct gate_turn *next; // of the waiting: the one that does not fit yet
};
struct gate {
  pthread_mutex_t lock; // guards all that follows, and turns and shares
  struct gate_lane lanes[GATE_LANES];
  uint64_t order;
  struct gate_list held;
  unsigned open;  // lanes that requests with is_stored may enter: the first ones
  bool is_ending; // nobody waits
};

void gate_init(struct gate *gate, uint64_t body_bytes_most); // of one body
void gate_done(struct gate *gate);

struct gate_request {
  uint64_t bytes;          // announced
  bool has_length;         // else `bytes` is not known
  bool is_stored;          // gate_open concerns it
  uint64_t not_before_ns;  // the client was asked to wait until then; CLOCK_MONOTONIC. 0: it was not
  uint64_t most_ns;        // how long it waits, from then on
  struct gate_share *peer; // live as long as the turn
  struct gate_share *own;
};
enum gate_result { GATE_ENTERED, GATE_LATE, GATE_GONE }; // GONE: the gate ends, or the turn was dropped
// Waits for a turn. ENTERED: gate_leave must follow.
enum gate_result gate_enter(struct gate *gate, struct gate_turn *turn, const struct gate_request *request);
// More bytes have come. False: there is no room for them.
bool gate_grow(struct gate *gate, struct gate_turn *turn, uint64_t bytes);
void gate_leave(struct gate *gate, struct gate_turn *turn); // also of a turn that never entered: nothing
// True: it waited, and does not any more.
bool gate_drop(struct gate *gate, struct gate_turn *turn);
// Lanes that requests with is_stored may enter: GATE_LANES at first; GATE_LARGE: small ones only; 0: none.
void gate_open(struct gate *gate, unsigned lanes);
void gate_end(struct gate *gate);

struct gate_figures {
  uint64_t bytes, bytes_peak, bytes_most; // of bodies
  unsigned working, waiting, held;        // requests
};
struct gate_figures gate_figures(struct gate *gate);

#endif
