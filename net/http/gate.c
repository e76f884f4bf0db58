// SPDX-License-Identifier: Apache-2.0
// Turns of requests. Called by request.c on threads of connections, which wait here, and by connections.c.
#include "http/gate.h"

#include "base/clock.h"
#include "base/condition.h"
#include "base/scoped.h"

#include <time.h>

#define LARGE_SPARE_BYTES ((uint64_t)16 << 20) // next to one body of the largest size
#define REQUEST_COST ((uint64_t)4 << 10)       // of a request without a body, in bytes

void gate_init(struct gate *gate, uint64_t body_bytes_most)
{
  *gate = (struct gate){.lanes = {[GATE_SMALL] = {.most = GATE_SMALL_LANE_BYTES},
                                  [GATE_LARGE] = {.most = body_bytes_most + LARGE_SPARE_BYTES}},
                        .open = GATE_LANES};
  pthread_mutex_init(&gate->lock, NULL);
}

void gate_done(struct gate *gate)
{
  pthread_mutex_destroy(&gate->lock);
}

// ---- lists: locked ---------------------------------------------------------------------------------------------------
static void list_add(struct gate_list *list, struct gate_turn *turn)
{
  turn->previous = list->last;
  turn->next = NULL;
  *(list->last != NULL ? &list->last->next : &list->first) = turn;
  list->last = turn;
  list->count++;
}

static void list_remove(struct gate_list *list, struct gate_turn *turn)
{
  *(turn->previous != NULL ? &turn->previous->next : &list->first) = turn->next;
  *(turn->next != NULL ? &turn->next->previous : &list->last) = turn->previous;
  list->count--;
}

// ---- the order: locked -----------------------------------------------------------------------------------------------
static uint64_t later(uint64_t one, uint64_t other)
{
  return one > other ? one : other;
}

static bool is_before(const struct gate_lane *lane, const struct gate_turn *one, const struct gate_turn *other)
{
  enum gate_lane_name name = one->lane;
  uint64_t peers[] = {later(one->peer->finish[name], lane->virtual), later(other->peer->finish[name], lane->virtual)};
  if (peers[0] != peers[1])
    return peers[0] < peers[1];
  uint64_t owns[] = {later(one->own->finish[name], one->peer->virtual[name]),
                     later(other->own->finish[name], other->peer->virtual[name])};
  return owns[0] != owns[1] ? owns[0] < owns[1] : one->order < other->order;
}

static struct gate_turn *find_next(const struct gate *gate, const struct gate_lane *lane)
{
  struct gate_turn *best = NULL;
  for (struct gate_turn *turn = lane->waiting.first; turn != NULL; turn = turn->next) {
    bool may_enter = !turn->is_stored || turn->lane < gate->open;
    if (may_enter && (best == NULL || is_before(lane, turn, best)))
      best = turn;
  }
  return best;
}

static void count_bytes(struct gate_lane *lane, uint64_t bytes)
{
  lane->used += bytes;
  lane->peak = later(lane->peak, lane->used);
}

static void let_in(struct gate_lane *lane, struct gate_turn *turn, uint64_t now_ns)
{
  struct gate_share *peer = turn->peer, *own = turn->own;
  uint64_t cost = turn->bytes + REQUEST_COST;
  list_remove(&lane->waiting, turn);
  lane->virtual = later(peer->finish[turn->lane], lane->virtual);
  peer->finish[turn->lane] = lane->virtual + cost;
  peer->virtual[turn->lane] = later(own->finish[turn->lane], peer->virtual[turn->lane]);
  own->finish[turn->lane] = peer->virtual[turn->lane] + cost;
  count_bytes(lane, turn->bytes);
  turn->state = GATE_FRESH;
  turn->began_ns = now_ns;
  list_add(&lane->fresh, turn);
  pthread_cond_signal(&turn->changed);
}

static void lapse(struct gate_lane *lane, uint64_t now_ns)
{
  struct gate_turn *turn;
  while ((turn = lane->fresh.first) != NULL && now_ns - turn->began_ns >= GATE_FRESH_NS) {
    list_remove(&lane->fresh, turn);
    lane->used -= turn->bytes - turn->received;
    turn->bytes = turn->received;
    turn->state = GATE_LAPSED;
  }
}

// Lets in all that fit, in order.
static void admit(struct gate *gate, enum gate_lane_name name)
{
  struct gate_lane *lane = &gate->lanes[name];
  struct gate_turn *turn;
  if (lane->waiting.count == 0)
    return;
  uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
  lapse(lane, now_ns);
  while ((turn = find_next(gate, lane)) != NULL && lane->fresh.count < GATE_AT_ONCE &&
         lane->used + turn->bytes <= lane->most)
    let_in(lane, turn, now_ns);
  if (turn != NULL && turn != lane->next)
    pthread_cond_signal(&turn->changed); // it looks when the oldest promise lapses
  lane->next = turn;
}

// ---- waiting: locked -------------------------------------------------------------------------------------------------
// False: until_ns is over.
static bool wait_until(struct gate *gate, struct gate_turn *turn, uint64_t until_ns)
{
  (void)condition_wait(&turn->changed, &gate->lock, until_ns);
  return clock_now_ns(CLOCK_MONOTONIC) < until_ns;
}

static void hold(struct gate *gate, struct gate_turn *turn, uint64_t until_ns)
{
  turn->state = GATE_HELD;
  list_add(&gate->held, turn);
  while (!turn->is_dropped && !gate->is_ending && wait_until(gate, turn, until_ns))
    ;
  list_remove(&gate->held, turn);
}

static void wait_for_turn(struct gate *gate, struct gate_turn *turn, uint64_t until_ns)
{
  struct gate_lane *lane = &gate->lanes[turn->lane];
  turn->state = GATE_WAITING;
  turn->order = gate->order++;
  list_add(&lane->waiting, turn);
  admit(gate, turn->lane);
  while (turn->state == GATE_WAITING && !turn->is_dropped && !gate->is_ending) {
    uint64_t look_ns = until_ns;
    if (lane->next == turn && lane->fresh.first != NULL && lane->fresh.first->began_ns + GATE_FRESH_NS < until_ns)
      look_ns = lane->fresh.first->began_ns + GATE_FRESH_NS;
    bool is_over = !wait_until(gate, turn, look_ns);
    if (turn->state == GATE_WAITING && is_over && look_ns == until_ns)
      break;
    if (turn->state == GATE_WAITING && is_over)
      admit(gate, turn->lane);
  }
  if (turn->state != GATE_WAITING)
    return;
  list_remove(&lane->waiting, turn);
  lane->next = lane->next == turn ? NULL : lane->next;
  turn->state = GATE_OUT;
  admit(gate, turn->lane); // a smaller one may fit
}

static void start(struct gate_turn *turn, const struct gate_request *request)
{
  *turn = (struct gate_turn){.peer = request->peer, .own = request->own, .is_stored = request->is_stored};
  turn->bytes = request->has_length ? request->bytes : GATE_STEP_BYTES;
  turn->lane = request->has_length && request->bytes <= GATE_SMALL_BYTES ? GATE_SMALL : GATE_LARGE;
  condition_init(&turn->changed);
}

enum gate_result gate_enter(struct gate *gate, struct gate_turn *turn, const struct gate_request *request)
{
  uint64_t from_ns = later(clock_now_ns(CLOCK_MONOTONIC), request->not_before_ns);
  pthread_mutex_lock(&gate->lock);
  start(turn, request);
  if (from_ns == request->not_before_ns)
    hold(gate, turn, from_ns);
  if (!turn->is_dropped && !gate->is_ending)
    wait_for_turn(gate, turn, from_ns + request->most_ns);
  bool is_in = turn->state == GATE_FRESH || turn->state == GATE_LAPSED;
  enum gate_result result = is_in ? GATE_ENTERED : turn->is_dropped || gate->is_ending ? GATE_GONE : GATE_LATE;
  turn->state = is_in ? turn->state : GATE_OUT;
  pthread_mutex_unlock(&gate->lock);
  pthread_cond_destroy(&turn->changed);
  return result;
}

// ---- inside ----------------------------------------------------------------------------------------------------------
bool gate_grow(struct gate *gate, struct gate_turn *turn, uint64_t bytes)
{
  SCOPED_LOCK(&gate->lock);
  struct gate_lane *lane = &gate->lanes[turn->lane];
  uint64_t received = turn->received + bytes;
  uint64_t more = received > turn->bytes ? received - turn->bytes : 0; // the promise lapsed, or there was none
  bool fits = lane->used + more <= lane->most;
  if (fits) {
    count_bytes(lane, more);
    turn->bytes += more;
    turn->received = received;
  }
  return fits;
}

void gate_leave(struct gate *gate, struct gate_turn *turn)
{
  SCOPED_LOCK(&gate->lock);
  if (turn->state == GATE_FRESH)
    list_remove(&gate->lanes[turn->lane].fresh, turn);
  if (turn->state == GATE_FRESH || turn->state == GATE_LAPSED) {
    gate->lanes[turn->lane].used -= turn->bytes;
    turn->state = GATE_OUT;
    admit(gate, turn->lane);
  }
}

// ---- from outside ----------------------------------------------------------------------------------------------------
bool gate_drop(struct gate *gate, struct gate_turn *turn)
{
  SCOPED_LOCK(&gate->lock);
  bool waits = turn->state == GATE_HELD || turn->state == GATE_WAITING;
  turn->is_dropped |= waits;
  if (waits)
    pthread_cond_signal(&turn->changed);
  return waits;
}

void gate_open(struct gate *gate, unsigned lanes)
{
  SCOPED_LOCK(&gate->lock);
  gate->open = lanes;
  admit(gate, GATE_SMALL);
  admit(gate, GATE_LARGE);
}

static void wake(const struct gate_list *list)
{
  for (struct gate_turn *turn = list->first; turn != NULL; turn = turn->next)
    pthread_cond_signal(&turn->changed);
}

void gate_end(struct gate *gate)
{
  SCOPED_LOCK(&gate->lock);
  gate->is_ending = true;
  wake(&gate->held);
  for (unsigned i = 0; i < GATE_LANES; i++)
    wake(&gate->lanes[i].waiting);
}

struct gate_figures gate_figures(struct gate *gate)
{
  struct gate_figures figures = {0};
  SCOPED_LOCK(&gate->lock);
  for (unsigned i = 0; i < GATE_LANES; i++) {
    const struct gate_lane *lane = &gate->lanes[i];
    figures.bytes += lane->used;
    figures.bytes_peak += lane->peak;
    figures.bytes_most += lane->most;
    figures.working += lane->fresh.count;
    figures.waiting += lane->waiting.count;
  }
  figures.held = gate->held.count;
  return figures;
}
