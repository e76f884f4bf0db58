// SPDX-License-Identifier: Apache-2.0
// Reads the rings: each once, in order, up to the clock reading taken first, so that the work of one drain is bounded by
// the rings' size. Called by the capturing verbs between observations, or from time to time. Rows are made in rows.c.
#include "base/clock.h"
#include "base/debug.h"
#include "collect/rows.h"
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>

#define TELL_EVERY 65536u                     // records: a few milliseconds
#define FUTURE_TICKS_MOST (UINT64_C(1) << 33) // a record further ahead of the clock than seconds is no record in time

// ---- rings ----------------------------------------------------------------------------------------------------------

// Is the record later than the clock reading that this drain converts by? Then it waits for the next drain, so that
// every time is converted between two readings, for good.
static bool is_later(const struct record *record, uint64_t horizon)
{
  uint64_t ticks;
  if (record->type == RECORD_SPAN && record->kind_clock >> 4 == XSP_CLOCK_TICKS)
    ticks = record->start + record->duration;
  else if (record->type == RECORD_LOG || record->type == RECORD_OPEN || record->type == RECORD_SAMPLE)
    ticks = record->start;
  else
    return false;
  return ticks > horizon && ticks - horizon < FUTURE_TICKS_MOST;
}

static void decode(struct drain *drain, struct ring_file *ring, const struct record *record,
                   const struct ring_output *output)
{
  const struct ring_output quiet = {.context = drain,
                                    .thread_name = rows_thread_name}; // what a predecessor stored already
  bool is_replay = ring->position < ring->replay_end;
  uint64_t taken = (drain->session->counts.records += !is_replay) - drain->first_record;
  if (!is_replay && drain->waiting > 0 && taken % TELL_EVERY == 0)
    headway_tell(&drain->session->watcher, taken, drain->waiting);
  ring_decode(&ring->decoder, record, ring->position, is_replay ? &quiet : output);
}

static void end_replay(struct ring_file *ring)
{
  if (ring->owner_known || ring->position < ring->replay_end)
    return;
  ring->owner_known = true;
  if (ring->replay_end == 0)
    return; // never drained before
  ring->decoder.thread = ring->view.head->stored_thread;
  ring->decoder.process = ring->view.head->stored_process;
}

// Up to where the slots were handed out. After it they may lack storage.
static uint64_t head_of(struct ring_file *ring)
{
  ring->view.until = 0; // the ring may have another size meanwhile
  return __atomic_load_n(&ring->view.head->producer.head, __ATOMIC_ACQUIRE);
}

// Goes to the next position, where the ring changed its size on the way. False: it is not before `head`.
static bool has_next(struct ring_file *ring, uint64_t head)
{
  if (ring->position < head && ring->position >= ring->view.until)
    ring->position = ring_seek(&ring->view, ring->position);
  return ring->position < head;
}

// Up to the first slot that is not complete.
static void drain_ring(struct drain *drain, struct ring_file *ring, const struct ring_output *output, bool is_final)
{
  uint64_t horizon = is_final ? UINT64_MAX : clock_map_horizon(&drain->session->clock);
  uint64_t head = head_of(ring);
  struct record record;
  for (uint32_t i = 0; i < ring->view.record_count && has_next(ring, head) && !rows_failed(drain); i++) {
    end_replay(ring);
    enum ring_read_slot slot = ring_read(&ring->view, ring->position, &record);
    if (slot == RING_SLOT_OVERWRITTEN) { // a hostile writer, or a limit that was not kept: the rest is still good
      drain->session->counts.overwritten++;
    } else if (slot == RING_SLOT_EMPTY || is_later(&record, horizon)) {
      break;
    } else {
      decode(drain, ring, &record, output);
    }
    ring->position++;
  }
  end_replay(ring);
}

// Behind incomplete slots too, up to all that was handed out. The writers are gone, or are being left.
static void drain_rest(struct drain *drain, struct ring_file *ring, const struct ring_output *output)
{
  struct ring_head *head = ring->view.head;
  uint64_t first = head_of(ring), count = ring->view.record_count;
  if (drain->session->flight_recorder && first > ring->position + count) {
    drain->session->counts.overwritten += first - count - ring->position;
    ring->position = ring_seek(&ring->view, first - count);
  }
  struct record record;
  for (uint64_t i = 0; i < count && has_next(ring, first) && !rows_failed(drain); i++, ring->position++) {
    end_replay(ring);
    enum ring_read_slot slot = ring_read(&ring->view, ring->position, &record);
    // A flight recorder that still writes: a slot handed out again may hold half of a new record under the old mark.
    if (drain->session->flight_recorder &&
        __atomic_load_n(&head->producer.head, __ATOMIC_ACQUIRE) > ring->position + count)
      slot = RING_SLOT_OVERWRITTEN;
    if (slot == RING_SLOT_RECORD)
      decode(drain, ring, &record, output);
    else if (slot == RING_SLOT_OVERWRITTEN)
      drain->session->counts.overwritten++;
    else {
      drain->session->counts.torn++;
      ring->is_torn = true;
    }
  }
  end_replay(ring);
  for (uint32_t i = 0; i < RING_OPEN_SPANS && !rows_failed(drain); i++) {
    const struct open_span *place = &head->producer.open[i];
    struct open_span open = {.start = __atomic_load_n(&place->start, __ATOMIC_ACQUIRE)};
    open.site = place->site;
    open.id = place->id;
    ring_decode_open(&ring->decoder, &open, output);
  }
}

// A flight recorder's oldest retained slots may lie before the RECORD_THREAD that named their owner. Where no later one
// changes it, the present owner is theirs too.
static void guess_owner(struct ring_file *ring)
{
  const struct ring_head *head = ring->view.head;
  uint64_t first = __atomic_load_n(&head->producer.head, __ATOMIC_ACQUIRE), count = ring->view.record_count;
  if (first <= count)
    return;
  struct record record;
  struct ring_view view = ring->view;
  for (uint64_t position = ring_seek(&view, first - count); position < first; position++)
    if (ring_read(&view, position, &record) == RING_SLOT_RECORD && record.type == RECORD_THREAD)
      return;
  ring->decoder.thread = __atomic_load_n(&head->owner_tid, __ATOMIC_RELAXED);
}

// ---- the front door ---------------------------------------------------------------------------------------------------

static bool is_half_full(const struct collect_session *session)
{
  for (uint32_t i = 0; i < session->rings.count; i++) {
    const struct ring_file *ring = &session->rings.items[i];
    if (ring->state == FILE_MAPPED && ring->view.record_count >= session->patient_records &&
        ring->position - ring->resume > ring->view.record_count / 2)
      return true;
  }
  return false;
}

// How many records the rings hold at most, without those that are replayed.
static uint64_t waiting_records(struct collect_session *session)
{
  uint64_t sum = 0;
  for (uint32_t i = 0; i < session->rings.count; i++) {
    struct ring_file *ring = &session->rings.items[i];
    uint64_t head = ring->state == FILE_MAPPED ? head_of(ring) : 0;
    uint64_t first = ring->position > ring->replay_end ? ring->position : ring->replay_end;
    if (head > first)
      sum += head - first < ring->view.record_count ? head - first : ring->view.record_count;
  }
  return sum;
}

static void drain_rings(struct drain *drain, const struct ring_output *output, bool is_final)
{
  struct collect_session *session = drain->session;
  if (session->flight_recorder && !is_final)
    return;
  for (uint32_t i = 0; i < session->rings.count && !rows_failed(drain); i++) {
    struct ring_file *ring = &session->rings.items[i];
    if (ring->state != FILE_MAPPED)
      continue;
    if (session->flight_recorder)
      guess_owner(ring);
    else
      drain_ring(drain, ring, output, is_final);
    if (is_final)
      drain_rest(drain, ring, output);
  }
}

static enum status run_drain(struct collect_session *session, struct store *store, int64_t run_id, bool is_final,
                             struct error *err)
{
  uint64_t begin = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
  struct drain *drain = rows_new(session, store, run_id, err);
  const struct ring_output output = {drain, rows_span, rows_fact, rows_thread_name, rows_sample};
  collect_session_find_files(session, is_final);
  collect_session_calibrate(session, is_final);
  (void)names_refresh(&session->names);
  rows_begin(drain);
  if (is_final && session->watcher.step != NULL) {
    drain->first_record = session->counts.records;
    drain->waiting = waiting_records(session);
  }
  drain_rings(drain, &output, is_final);
  rows_ranks(drain);
  rows_flush(drain);
  if (drain->waiting > 0)
    headway_tell(&session->watcher, drain->waiting, drain->waiting);
  if (is_final)
    session->watcher = (struct headway_watcher){0};
  collect_session_note_faults(session);
  enum status status = drain->status;
  free(drain);
  if (status != STATUS_OK)
    session->has_failed = true;
  else if (!is_final && is_half_full(session)) // nobody waits for space at the end
    status = collect_commit(session, store, err);
  session->counts.own_ns += clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
  return status;
}

enum status collect_drain(struct collect_session *session, struct store *store, int64_t run_id, struct error *err)
{
  return run_drain(session, store, run_id, false, err);
}

static bool find_name(void *symbols, struct store_frame *frame)
{
  struct symbol found;
  if (frame->module == NULL || !symbols_find(symbols, frame->module, (uint64_t)frame->address, &found))
    return false;
  frame->name = found.name;
  frame->file = found.file;
  frame->line = found.line;
  return true;
}

enum status collect_drain_final(struct collect_session *session, struct store *store, int64_t run_id, struct error *err)
{
  DEBUG(collect, "last drain of %s into run %lld, %zu rings", collect_directory(session), (long long)run_id,
        session->rings.count);
  XSP_TRY(run_drain(session, store, run_id, true, err));
  struct symbols *symbols = symbols_open();
  enum status status = store_name_frames(store, find_name, symbols, err);
  symbols_close(symbols);
  return status;
}
