// SPDX-License-Identifier: Apache-2.0
// Finds the files that processes add to a session folder, maps them, gives ring space back after a commit. Called by
// session.c and drain.c. Files come from other processes: a broken one is counted and named, never fatal.
#include "base/scoped.h"
#include "collect/guard.h"
#include "collect/place.h"
#include "collect/state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAP_TRIES 8

static void report_broken(struct collect_session *session, const char *kind, uint32_t number, const char *problem)
{
  if (session->broken_files++ == 0)
    snprintf(session->problem, sizeof session->problem, "%s-%u: %s", kind, number, problem);
}

static void file_name(const char *kind, uint32_t number, char name[32])
{
  snprintf(name, 32, "%s-%u", kind, number);
}

// What is used of a ring's file, which is as large as the ring may grow.
static size_t ring_file_bytes(int file, size_t size)
{
  struct ring_head head;
  bool has_head = pread(file, &head, sizeof head, 0) == (ssize_t)sizeof head;
  size_t used = ring_bytes(has_head ? ring_read_slots(&head) : 0);
  return used < size ? used : size;
}

// Maps a file of the session; of a ring's what is used. NULL with errno; ENOENT: not there yet.
static void *map_file(const struct collect_session *session, const char *name, bool is_ring, size_t *ret_size)
{
  struct stat status;
  int file SCOPED(scoped_close) = collect_place_file(session->folder, name, is_ring ? O_RDWR : O_RDONLY, &status);
  if (file < 0)
    return NULL;
  void *bytes = MAP_FAILED;
  *ret_size = is_ring ? ring_file_bytes(file, (size_t)status.st_size) : (size_t)status.st_size;
  errno = ENOENT; // just created, still empty
  if (*ret_size > 0)
    bytes = collect_guard_map(*ret_size, PROT_READ | (is_ring ? PROT_WRITE : 0), MAP_SHARED, file);
  return bytes == MAP_FAILED ? NULL : bytes;
}

static void map_process(struct collect_session *session, uint32_t number)
{
  struct process_file *process = &session->processes.items[number];
  char name[32];
  file_name("process", number, name);
  size_t size = 0;
  struct process_head *head = map_file(session, name, false, &size);
  if (!head && errno == ENOENT)
    return;
  const char *problem = NULL;
  if (!head)
    problem = "cannot be mapped";
  else if (size < sizeof *head)
    problem = "the file is cut short";
  else if (__atomic_load_n(&head->magic, __ATOMIC_ACQUIRE) == 0) {
    collect_guard_unmap(head, size); // being made
    return;
  } else if (head->magic != PROCESS_MAGIC || head->version != SESSION_VERSION || head->number != number)
    problem = "the file is none of ours";
  if (problem) {
    if (head)
      collect_guard_unmap(head, size);
    process->state = FILE_BROKEN;
    report_broken(session, "process", number, problem);
    return;
  }
  process->head = head;
  process->size = size;
  process->state = FILE_MAPPED;
}

// Where reading begins: what a dead collector left, else the start. The words in the ring's head are checked for sense.
static void start_reading(struct collect_session *session, struct ring_file *ring, uint32_t number)
{
  const struct ring_head *head = ring->view.head;
  uint64_t tail = __atomic_load_n(&head->tail, __ATOMIC_ACQUIRE),
           stored = __atomic_load_n(&head->stored, __ATOMIC_ACQUIRE);
  uint64_t first = __atomic_load_n(&head->producer.head, __ATOMIC_ACQUIRE);
  if (stored > first)
    stored = first;
  if (tail > stored || stored - tail > 2 * (uint64_t)ring->view.record_count) // 2: a growth may leave a gap
    tail = stored;
  ring_decode_start(&ring->decoder, number, head->process, __atomic_load_n(&head->owner_tid, __ATOMIC_RELAXED));
  ring->decoder.highest = head->highest_id;
  if (session->flight_recorder && first > ring->view.record_count)
    ring->decoder.thread = 0; // who owned the oldest retained slots is not known until a RECORD_THREAD says so
  ring->position = ring->resume = tail;
  ring->replay_end = stored;
  ring->owner_known = false;
}

static void unmap_ring(struct ring_file *ring)
{
  collect_guard_unmap(ring->bytes, ring->size);
  ring->bytes = NULL;
}

// Maps a ring and checks it. NULL: fine. A ring that was being made, or that grew, between the look at its size and the
// check is looked at again.
static const char *map_ring_file(const struct collect_session *session, uint32_t number, struct ring_file *ret_ring)
{
  char name[32];
  const char *problem = NULL;
  file_name("ring", number, name);
  for (int tries = 0; tries < MAP_TRIES; tries++) {
    ret_ring->bytes = map_file(session, name, true, &ret_ring->size);
    if (!ret_ring->bytes)
      return "cannot be mapped";
    problem = ring_read_check(ret_ring->bytes, ret_ring->size, number, &ret_ring->view);
    if (!problem)
      return NULL;
    bool is_unmade = ret_ring->size < sizeof(uint64_t) || *(const uint64_t *)ret_ring->bytes == 0;
    unmap_ring(ret_ring);
    if (is_unmade) {
      errno = ENOENT;
      return problem;
    }
  }
  errno = EINVAL;
  return problem;
}

static void map_ring(struct collect_session *session, uint32_t number)
{
  struct ring_file *ring = &session->rings.items[number];
  const char *problem = map_ring_file(session, number, ring);
  if (!problem) {
    ring->state = FILE_MAPPED;
    start_reading(session, ring, number);
  } else if (errno != ENOENT) { // not there yet, or its maker was killed in between: nothing is in it
    ring->state = FILE_BROKEN;
    report_broken(session, "ring", number, problem);
  }
}

// A ring of another size than it was mapped with: those slots, and more, or the first of them.
static void remap_resized(struct collect_session *session, struct ring_file *ring, uint32_t number)
{
  struct ring_file resized = {0};
  if (ring_read_slots(ring->view.head) == ring->view.record_count)
    return;
  const char *problem = map_ring_file(session, number, &resized);
  if (problem) {
    report_broken(session, "ring", number, problem);
    return;
  }
  unmap_ring(ring);
  ring->bytes = resized.bytes;
  ring->size = resized.size;
  ring->view = resized.view;
}

void collect_session_find_files(struct collect_session *session, bool is_final)
{
  uint32_t processes = __atomic_load_n(&session->head->next_process, __ATOMIC_ACQUIRE);
  uint32_t rings = __atomic_load_n(&session->head->next_ring, __ATOMIC_ACQUIRE);
  processes = processes < FILES_MAXIMUM ? processes : FILES_MAXIMUM;
  rings = rings < FILES_MAXIMUM ? rings : FILES_MAXIMUM;
  while (session->processes.count < processes)
    (void)vector_add(&session->processes);
  while (session->rings.count < rings)
    (void)vector_add(&session->rings);
  // Each drain goes on where the last one stopped: numbers whose files never come (their makers were killed, or had no
  // room) must not keep later ones from being found.
  uint32_t tries = 0;
  for (uint32_t i = 0, first = session->process_cursor; i < processes && (is_final || tries < FILES_TRIES_PER_DRAIN);
       i++) {
    uint32_t number = (first + i) % processes;
    if (session->processes.items[number].state != FILE_ABSENT)
      continue;
    tries++;
    session->process_cursor = number + 1;
    map_process(session, number);
  }
  tries = 0;
  for (uint32_t i = 0, first = session->ring_cursor; i < rings; i++) {
    uint32_t number = (first + i) % rings;
    struct ring_file *ring = &session->rings.items[number];
    if (ring->state == FILE_ABSENT && (is_final || tries < FILES_TRIES_PER_DRAIN)) {
      tries++;
      session->ring_cursor = number + 1;
      map_ring(session, number);
    } else if (ring->state == FILE_MAPPED) {
      remap_resized(session, ring, number);
    }
  }
}

void collect_session_note_faults(struct collect_session *session)
{
  if (collect_guard_faults() == session->faults_seen)
    return;
  session->faults_seen = collect_guard_faults();
  if (session->broken_files++ == 0)
    snprintf(session->problem, sizeof session->problem, "a file of the session was cut short while it was read");
}

const struct process_head *collect_session_process(const struct collect_session *session, uint32_t number)
{
  if (number >= session->processes.count || session->processes.items[number].state != FILE_MAPPED)
    return NULL;
  return session->processes.items[number].head;
}

// A process that left through exit and is gone takes its rings with it once they are read: a program that starts a
// thousand children must not fill /dev/shm.
static bool is_over(const struct collect_session *session, const struct ring_file *ring)
{
  const struct process_head *process = collect_session_process(session, ring->view.head->process);
  return process && __atomic_load_n(&process->ended, __ATOMIC_ACQUIRE) == 1 && process->pid != 0 &&
         process->pid <= INT32_MAX && kill((pid_t)process->pid, 0) != 0 && errno == ESRCH &&
         __atomic_load_n(&ring->view.head->producer.head, __ATOMIC_ACQUIRE) == ring->position;
}

void ring_read_counts_add(const struct ring_file *ring, struct collect_counts *counts)
{
  counts->dropped += __atomic_load_n(&ring->view.head->producer.dropped, __ATOMIC_RELAXED);
  counts->misused += ring->decoder.repeated;
  counts->open += ring->decoder.open;
  counts->orphans += ring->decoder.orphans;
  counts->malformed += ring->decoder.malformed;
}

static void retire(struct collect_session *session, struct ring_file *ring, uint32_t number)
{
  const struct ring_producer *producer = &ring->view.head->producer;
  for (uint32_t i = 0; i < RING_OPEN_SPANS; i++)
    if (__atomic_load_n(&producer->open[i].start, __ATOMIC_RELAXED) != 0)
      return; // to be reported by the final drain
  ring_read_counts_add(ring, &session->counts);
  session->counts.orphans += ring->decoder.facts.count;
  char name[32];
  file_name("ring", number, name);
  (void)unlinkat(session->folder, name, 0);
  uint32_t backed = __atomic_load_n(&ring->view.head->backed, __ATOMIC_RELAXED);
  __atomic_sub_fetch(&session->head->memory, ring_counted_bytes(backed), __ATOMIC_RELAXED);
  unmap_ring(ring);
  ring_decode_done(&ring->decoder);
  ring->state = FILE_RETIRED;
}

// The order matters to a successor: `stored` first, so that it is never before `tail`. With `tail` the writer has the room.
static void give_back(struct collect_session *session, struct ring_file *ring)
{
  struct ring_head *head = ring->view.head;
  uint32_t count = ring->view.record_count;
  uint64_t resume = ring_decode_resume(&ring->decoder, ring->position);
  if (ring->position - resume > count / 4)
    resume = ring->position - count / 4; // facts of a span that runs very long: kept here, lost if we are killed
  if (ring->is_torn)
    resume = ring->resume; // a writer that is only interrupted goes on: until then the ring must keep its slots
  __atomic_store_n(&head->stored, ring->position, __ATOMIC_RELEASE);
  head->highest_id = ring->decoder.highest;
  head->stored_thread = ring->decoder.thread;
  head->stored_process = ring->decoder.process;
  ring->resume = resume;
  __atomic_store_n(&head->tail, resume, __ATOMIC_RELEASE);
}

void collect_session_give_back(struct collect_session *session)
{
  for (uint32_t i = 0; i < session->rings.count; i++) {
    struct ring_file *ring = &session->rings.items[i];
    if (ring->state != FILE_MAPPED || ring->position < ring->replay_end)
      continue;
    if (ring->position != ring->view.head->stored || ring->resume != ring->position)
      give_back(session, ring);
    if (is_over(session, ring))
      retire(session, ring, i);
  }
}

void collect_session_close_files(struct collect_session *session)
{
  for (uint32_t i = 0; i < session->rings.count; i++)
    if (session->rings.items[i].state == FILE_MAPPED) {
      unmap_ring(&session->rings.items[i]);
      ring_decode_done(&session->rings.items[i].decoder);
    }
  for (uint32_t i = 0; i < session->processes.count; i++)
    if (session->processes.items[i].state == FILE_MAPPED)
      collect_guard_unmap(session->processes.items[i].head, session->processes.items[i].size);
  vector_done(&session->rings);
  vector_done(&session->processes);
}
