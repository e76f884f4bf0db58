// SPDX-License-Identifier: Apache-2.0
// The handle on a session folder: made, adopted, calibrated, counted, closed. Called by the verbs that capture and by
// `xsp recover`. The folder's making and finding is in folder.c, its rings are in rings.c.
#include "base/clock.h"
#include "base/debug.h"
#include "base/folder.h"
#include "base/hex.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/sorted.h"
#include "collect/guard.h"
#include "collect/place.h"
#include "collect/state.h"
#include "format/session_clock.h"
#include "format/switches.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUIET_NS INT64_C(60000000000)    // bursts that are closer together keep their rings
#define CALIBRATION_INTERVAL_NS 50000000 // between two readings kept in the file, which has room for 112

SORTED_BY(by_ticks, struct session_calibration, RISING(ticks))

// Takes over readings that were written since the last look, whoever wrote them. Each slot is read like a seqlock.
static void read_calibrations(struct collect_session *session)
{
  struct session_calibration fresh[SESSION_CALIBRATIONS];
  size_t count = 0;
  uint64_t newest = session->calibrations_read;
  for (size_t i = 0; i < SESSION_CALIBRATIONS; i++) {
    const struct session_calibration *slot = &session->head->calibration[i];
    uint64_t sequence = __atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE);
    if (sequence <= session->calibrations_read)
      continue;
    struct session_calibration copy = {.ticks = __atomic_load_n(&slot->ticks, __ATOMIC_ACQUIRE),
                                       .realtime_ns = __atomic_load_n(&slot->realtime_ns, __ATOMIC_ACQUIRE),
                                       .monotonic_ns = __atomic_load_n(&slot->monotonic_ns, __ATOMIC_ACQUIRE),
                                       .sequence = sequence};
    if (__atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE) != sequence)
      continue;
    newest = sequence > newest ? sequence : newest;
    fresh[count++] = copy;
  }
  session->calibrations_read = newest;
  qsort(fresh, count, sizeof *fresh, by_ticks);
  for (size_t i = 0; i < count; i++)
    (void)clock_map_add(&session->clock, &fresh[i]);
}

void collect_session_calibrate(struct collect_session *session, bool write_always)
{
  read_calibrations(session);
  if (session->foreign_boot)
    return;
  struct session_calibration reading = session_clock_read(session->tick_clock);
  bool is_due = write_always || reading.monotonic_ns - session->calibration_written_ns >= CALIBRATION_INTERVAL_NS;
  if (!clock_map_add(&session->clock, &reading) || !is_due)
    return;
  session_clock_write(session->head, &reading);
  session->calibration_written_ns = reading.monotonic_ns;
}

static struct collect_session *session_new(void)
{
  struct collect_session *session = memory_new(1, sizeof *session);
  session->quiet_ns = QUIET_NS;
  session->folder = session->lock = session->names.catalog_file = session->origin_file = session->tracks.file = -1;
  session->arrivals_file = -1;
  if (gethostname(session->tracks.host, sizeof session->tracks.host - 1) != 0)
    session->tracks.host[0] = '\0';
  return session;
}

// What both ways of getting a session end with.
static void session_begin(struct collect_session *session)
{
  session->control = (void *)((char *)session->head + SESSION_CONTROL_OFFSET);
  session->switches = (void *)((char *)session->head + SESSION_SWITCHES_OFFSET);
  session->names.control = session->control;
  session->tick_clock =
      session->head->tick_clock == SESSION_TICKS_MONOTONIC ? SESSION_TICKS_MONOTONIC : SESSION_TICKS_TSC;
  session->flight_recorder = session->head->flags & SESSION_FLIGHT_RECORDER;
  *hex_encode(session->trace_text, session->head->trace_id, sizeof session->head->trace_id) = '\0';
  clock_map_start(&session->clock, session->tick_clock);
  (void)names_refresh(&session->names);
  struct stat facts;
  tracks_open(&session->tracks, session->folder);
  // Where it cannot be kept (-1), recovery needs the file's name as an argument.
  session->origin_file = collect_place_file(session->folder, "collector", O_RDWR | O_CREAT, &facts);
}

enum status collect_create(const struct collect_options *options, struct collect_session **ret_session,
                           struct error *err)
{
  struct collect_session *session = session_new();
  *ret_session = NULL;
  find_remove_ended();
  enum status status = collect_folder_create(session, options, err);
  if (status != STATUS_OK) {
    collect_close(session, false); // collect_folder_create took back what it made
    return status;
  }
  session_begin(session);
  collect_session_calibrate(session, true);
  session->patient_records = options->patient_records;
  if (options->quiet_ns > 0)
    session->quiet_ns = options->quiet_ns;
  *ret_session = session;
  DEBUG(collect, "session %s, level mask %#x", collect_directory(session), options->level_mask);
  return STATUS_OK;
}

bool collect_is_empty(const struct collect_session *session)
{
  struct session_arrival arrival;
  size_t cursor = 0;
  return session->was_kept || (__atomic_load_n(&session->head->next_process, __ATOMIC_ACQUIRE) <= 1 &&
                               !arrivals_next(session, &cursor, &arrival));
}

bool collect_overwrites(const struct collect_session *session)
{
  return session->flight_recorder;
}

bool collect_has_process(const struct collect_session *session)
{
  return collect_find_has_process(session->directory);
}

bool collect_is_alone(const struct collect_session *session)
{
  return collect_place_is_alone(session->lock);
}

void collect_keep(struct collect_session *session)
{
  if (!session->has_failed)
    collect_session_give_back(session);
  session->head->kept_in = proc_namespace();
  __atomic_or_fetch(&session->head->flags, SESSION_KEPT, __ATOMIC_RELAXED);
}

enum status collect_adopt(const char *directory, struct collect_session **ret_session, struct error *err)
{
  struct collect_session *session = session_new();
  *ret_session = NULL;
  enum status status = collect_folder_open(session, directory, err);
  if (status == STATUS_OK) {
    session_begin(session);
    collect_session_calibrate(session, true);
    if (!clock_map_usable(&session->clock))
      status = error_set(err, STATUS_INPUT, "cannot adopt the capture session", directory, NULL,
                         session->foreign_boot
                             ? "it holds fewer than two clock readings and was made before this machine's last start"
                             : "its clock readings contradict each other");
  }
  if (status != STATUS_OK) {
    collect_close(session, false);
    return status;
  }
  collect_session_find_files(session, true);
  *ret_session = session;
  return STATUS_OK;
}

const char *collect_directory(const struct collect_session *session)
{
  return session->directory;
}

uint32_t collect_levels(const struct collect_session *session)
{
  return session->head->levels & XSP_LEVEL_MASK_ALL;
}

void collect_counts(const struct collect_session *session, struct collect_counts *ret_counts)
{
  struct collect_counts counts = session->counts;
  counts.lost += __atomic_load_n(&session->head->lost, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < session->processes.count; i++) {
    const struct process_head *process = collect_session_process(session, i);
    if (!process)
      continue;
    counts.lost += __atomic_load_n(&process->lost, __ATOMIC_RELAXED);
    counts.misused += __atomic_load_n(&process->misused, __ATOMIC_RELAXED);
  }
  for (uint32_t i = 0; i < session->rings.count; i++) {
    const struct ring_file *ring = &session->rings.items[i];
    if (ring->state == FILE_MAPPED)
      ring_read_counts_add(ring, &counts);
  }
  counts.clock_step_ns = session->clock.step_ns;
  *ret_counts = counts;
}

void collect_set_levels(struct collect_session *session, uint32_t level_mask)
{
  level_mask &= session->head->levels;
  switches_note(session->switches, SESSION_TRACERS, level_mask, (int64_t)clock_now_ns(CLOCK_REALTIME));
  for (uint32_t i = 0; i < SESSION_TRACERS; i++)
    __atomic_store_n(&session->control->levels[i], level_mask, __ATOMIC_RELAXED);
}

const char *collect_messages(const struct collect_session *session, struct arena *arena)
{
  const char *text = session->broken_files ? arena_format(arena, "%s\n", session->problem) : "";
  for (uint32_t i = 0; i < session->processes.count; i++) {
    const struct process_head *process = collect_session_process(session, i);
    if (!process)
      continue;
    char message[sizeof process->message + 1];
    memcpy(message, process->message, sizeof process->message);
    message[sizeof process->message] = '\0';
    if (message[0])
      text = arena_format(arena, "%s%s%s", text, message, message[strlen(message) - 1] == '\n' ? "" : "\n");
  }
  return text;
}

// Folded spans have no ids by which a successor would know them again.
static enum status put_drained(struct collect_session *session, struct store *store, struct error *err)
{
  VECTOR(struct store_drained) rows SCOPED(vector_end) = {0};
  for (uint32_t i = 0; i < session->rings.count; i++)
    if (session->rings.items[i].state == FILE_MAPPED)
      *vector_add(&rows) = (struct store_drained){i, (int64_t)session->rings.items[i].position};
  return store_is_folding(store) ? store_put_drained(store, rows.items, rows.count, err)
                                 : store_put_sampled(store, session->run_id, rows.items, rows.count, err);
}

enum status collect_commit(struct collect_session *session, struct store *store, struct error *err)
{
  if (store_is_folding(store) || session->counts.samples > 0)
    XSP_TRY(put_drained(session, store, err));
  XSP_TRY(store_commit(store, err));
  store_unfinished_keep(store);
  if (!session->has_failed)
    collect_session_give_back(session);
  return STATUS_OK;
}

void collect_session_write_origin(struct collect_session *session)
{
  bool is_new = true;
  for (size_t i = 0; i < session->origin_runs.count && is_new; i++)
    is_new = session->origin_runs.items[i] != session->run_id;
  if (is_new)
    *vector_add(&session->origin_runs) = session->run_id;
  collect_folder_write_origin(session->origin_file, is_new ? store_path(session->store) : NULL, session->run_id);
}

struct collect_workload collect_workload(const struct collect_session *session, struct arena *arena)
{
  struct collect_workload workload = {"", session->clock.count ? session->clock.knots[0].realtime_ns : 0};
  for (uint32_t i = 0; i < session->processes.count; i++) {
    const struct process_head *process = collect_session_process(session, i);
    if (!process)
      continue;
    char command[sizeof process->command];
    memcpy(command, process->command, sizeof command);
    workload.command = arena_copy(arena, command, strnlen(command, sizeof command));
    if (process->start_realtime_ns > 0)
      workload.created_ns = process->start_realtime_ns;
    break;
  }
  struct session_arrival arrival;
  size_t cursor = 0;
  if (arrivals_next(session, &cursor, &arrival) &&
      (workload.command[0] == '\0' || arrival.start_realtime_ns < workload.created_ns))
    workload = (struct collect_workload){arena_copy(arena, arrival.command, strlen(arrival.command)),
                                         arrival.start_realtime_ns};
  return workload;
}

const char *collect_trace(const struct collect_session *session)
{
  return session->trace_text;
}

void collect_set_known(struct collect_session *session, const int64_t *span_ids, size_t count)
{
  session->known = span_ids;
  session->known_count = count;
}

void collect_set_watcher(struct collect_session *session, struct headway_watcher watcher)
{
  session->watcher = watcher;
}

void collect_set_drained(struct collect_session *session, const struct store_drained *rows, size_t count)
{
  collect_session_find_files(session, false);
  for (size_t i = 0; i < count; i++) {
    if (rows[i].ring < 0 || (uint64_t)rows[i].ring >= session->rings.count || rows[i].position < 0)
      continue;
    struct ring_file *ring = &session->rings.items[rows[i].ring];
    uint64_t head = ring->state == FILE_MAPPED ? __atomic_load_n(&ring->view.head->producer.head, __ATOMIC_ACQUIRE) : 0;
    uint64_t position = (uint64_t)rows[i].position < head ? (uint64_t)rows[i].position : head;
    if (ring->state == FILE_MAPPED && position > ring->replay_end)
      ring->replay_end = position;
  }
}

void collect_close(struct collect_session *session, bool remove)
{
  if (!session)
    return;
  collect_session_close_files(session);
  if (session->head)
    collect_guard_unmap(session->head, SESSION_FILE_SIZE);
  if (session->names.catalog.bytes)
    collect_guard_unmap(session->names.catalog.bytes, session->names.catalog_window);
  if (session->names.catalog_file >= 0)
    close(session->names.catalog_file);
  if (remove && session->folder >= 0) {
    collect_place_remove(session->folder, session->directory);
    if (session->is_own) // what programs left in it
      folder_remove_tree(session->directory);
  } else if (session->folder >= 0)
    close(session->folder);
  if (session->lock >= 0)
    close(session->lock);
  if (session->origin_file >= 0)
    close(session->origin_file);
  if (session->arrivals_file >= 0)
    close(session->arrivals_file);
  vector_done(&session->origin_runs);
  names_done(&session->names);
  tracks_done(&session->tracks);
  clock_map_done(&session->clock);
  free(session);
}
