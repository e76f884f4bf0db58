// SPDX-License-Identifier: Apache-2.0
// What the collector knows of a session besides its rings: spans that its launcher adds, the processes that joined, how much
// waits in the rings. Called by the verbs that start programs.
#include "base/clock.h"
#include "collect/rows.h"
#include "format/traceparent.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define LOOKS_PER_SEARCH 8u
#define OUTSIDE_RING 0u // rings are numbered from 1: ids of this one are the collector's own

// ---- a span of the launcher -------------------------------------------------------------------------------------------

// The thread's track: the one that spans of this run lie on already, else of the last image that joined, else one of no
// process file (number 0). `arrival`: the last image without one, all zero where there is none.
static struct track_entry *main_track(struct collect_session *session, int64_t run_id, uint64_t pid,
                                      const struct session_arrival *arrival)
{
  struct tracks *tracks = &session->tracks;
  for (uint32_t i = 0; i < tracks->entries.count; i++) {
    struct track_entry *entry = &tracks->entries.items[i];
    const struct process_head *head = collect_session_process(session, entry->process);
    if (entry->run_id == run_id && entry->number == 0 && entry->thread == pid && head && head->pid == pid)
      return entry;
  }
  uint32_t process = 0;
  for (uint32_t i = 0; i < session->processes.count; i++) {
    const struct process_head *head = collect_session_process(session, i);
    if (head && head->pid == pid && head->start_realtime_ns >= arrival->start_realtime_ns)
      process = i;
  }
  return tracks_find(tracks, process, pid, 0);
}

static enum status publish(struct collect_session *session, struct track_entry *entry, int64_t run_id,
                           const struct collect_outside_span *span, const struct session_arrival *arrival,
                           struct error *err)
{
  if (entry->run_id == run_id)
    return STATUS_OK;
  char command[257] = "";
  struct track_process process = rows_describe(session, entry->process, entry->number, command);
  process.pid = (uint32_t)span->process_id;
  process.command = command[0] ? command : arrival->name[0] ? arrival->name : span->name;
  return tracks_publish(&session->tracks, entry, &process, &session->names, run_id, err);
}

static uint32_t string(struct store *store, const char *text)
{
  return text ? store_string(store, text, strlen(text)) : 0;
}

static enum status add_span(struct drain *drain, const struct collect_outside_span *span, int64_t *ret_span_id)
{
  struct collect_session *session = drain->session;
  rows_begin(drain);
  if (rows_failed(drain))
    return drain->status;
  struct session_arrival arrival = {0};
  (void)arrivals_find(session, (uint64_t)span->process_id, &arrival);
  struct track_entry *entry = main_track(session, drain->run_id, (uint64_t)span->process_id, &arrival);
  XSP_TRY(publish(session, entry, drain->run_id, span, &arrival, drain->err));
  uint64_t number = __atomic_add_fetch(&session->head->outside_spans, 1, __ATOMIC_RELAXED);
  // On the line of the session's first clock reading, like every other time: spans of the program lie inside.
  int64_t start_ns = clock_map_realtime(&session->clock, span->start_ns);
  int64_t end_ns = clock_map_realtime(&session->clock, span->end_ns);
  struct store_span row = {.span_id = ring_decode_span_id(OUTSIDE_RING, number),
                           .start_ns = start_ns,
                           .duration_ns = end_ns > start_ns ? end_ns - start_ns : 0,
                           .trace_id = session->run_trace,
                           .track_id = tracks_id(&session->tracks, entry),
                           .name = string(drain->store, span->name),
                           .category = string(drain->store, span->category),
                           .tracer = string(drain->store, span->tracer),
                           .level = span->level};
  XSP_TRY(store_add_spans(drain->store, drain->run_id, &row, 1, drain->err));
  if (ret_span_id)
    *ret_span_id = row.span_id;
  return STATUS_OK;
}

enum status collect_add_span(struct collect_session *session, struct store *store, int64_t run_id,
                             const struct collect_outside_span *span, int64_t *ret_span_id, struct error *err)
{
  struct drain *drain SCOPED(scoped_free) = rows_new(session, store, run_id, err);
  collect_session_find_files(session, false);
  return add_span(drain, span, ret_span_id);
}

void collect_traceparent(struct collect_session *session, char *ret_header)
{
  uint8_t parent[8];
  struct session_head *head = session->head;
  uint64_t number = __atomic_load_n(&head->outside_spans, __ATOMIC_RELAXED) + 1;
  uint64_t id = session_public_id(head->span_base, (uint64_t)ring_decode_span_id(OUTSIDE_RING, number));
  __atomic_store_n(&head->program_span, id, __ATOMIC_RELAXED); // partner: xsp_traceparent_out
  for (size_t i = 0; i < sizeof parent; i++)
    parent[i] = (uint8_t)(id >> (56 - 8 * i));
  traceparent_write(ret_header, head->trace_id, parent);
}

// ---- processes ----------------------------------------------------------------------------------------------------------

bool collect_process(const struct collect_session *session, size_t *cursor, struct collect_process *ret_process)
{
  while (*cursor < session->processes.count) {
    const struct process_head *head = collect_session_process(session, (uint32_t)(*cursor)++);
    if (!head)
      continue;
    *ret_process = (struct collect_process){.process_id = head->pid,
                                            .start_ns = head->start_realtime_ns,
                                            .has_ended = __atomic_load_n(&head->ended, __ATOMIC_ACQUIRE) != 0};
    return true;
  }
  struct session_arrival arrival;
  size_t place = *cursor - session->processes.count;
  bool is_there = arrivals_next(session, &place, &arrival);
  *cursor = session->processes.count + place;
  if (is_there)
    *ret_process = (struct collect_process){.process_id = arrival.pid, .start_ns = arrival.start_realtime_ns};
  return is_there;
}

// ---- how much -----------------------------------------------------------------------------------------------------------

// Files are looked for where numbers were given out, and now and then, because a number comes before its file.
static void find_new_files(struct collect_session *session)
{
  uint32_t processes = __atomic_load_n(&session->head->next_process, __ATOMIC_RELAXED);
  uint32_t rings = __atomic_load_n(&session->head->next_ring, __ATOMIC_RELAXED);
  bool has_new = processes != session->seen_processes || rings != session->seen_rings;
  session->seen_processes = processes;
  session->seen_rings = rings;
  if (has_new || session->looks++ % LOOKS_PER_SEARCH == 0)
    collect_session_find_files(session, false);
}

uint64_t collect_waiting(struct collect_session *session, bool *ret_is_half_full)
{
  uint64_t waiting = 0;
  int64_t now_ns = (int64_t)clock_now_ns(CLOCK_MONOTONIC);
  *ret_is_half_full = false;
  find_new_files(session);
  for (uint32_t i = 0; i < session->rings.count; i++) {
    const struct ring_file *ring = &session->rings.items[i];
    if (ring->state != FILE_MAPPED)
      continue;
    uint64_t head = __atomic_load_n(&ring->view.head->producer.head, __ATOMIC_ACQUIRE);
    collect_session_look_for_quiet(session, i, head, now_ns);
    uint64_t own = head > ring->position ? head - ring->position : 0;
    waiting += own;
    *ret_is_half_full |= own >= ring->view.record_count / 2;
  }
  collect_session_note_faults(session);
  return waiting;
}

// ---- sleeping -----------------------------------------------------------------------------------------------------------

void collect_sleep(struct collect_session *session, int64_t most_ns)
{
  const struct timespec most = {most_ns / SECOND_NS, most_ns % SECOND_NS};
  // Partner: the writer's exchange of `waits`. Who comes between the two stores finds nobody to wake: then the time ends it.
  __atomic_store_n(&session->head->waits, 1, __ATOMIC_RELEASE);
  (void)syscall(SYS_futex, &session->head->wakes, FUTEX_WAIT, session->wakes_seen, &most, NULL, 0);
  __atomic_store_n(&session->head->waits, 0, __ATOMIC_RELEASE);
  session->wakes_seen = __atomic_load_n(&session->head->wakes, __ATOMIC_ACQUIRE);
}

void collect_wake(struct collect_session *session)
{
  __atomic_add_fetch(&session->head->wakes, 1, __ATOMIC_RELEASE);
  (void)syscall(SYS_futex, &session->head->wakes, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
