// SPDX-License-Identifier: Apache-2.0
// What capture's files share. Private to libxsp.so; collect never sees it (they meet in trace/format/session.h).
//
// Rules of this room: no exit, abort, stdout or lock anywhere; no allocation in anything a started span can reach after
// its thread's first one; errno is the caller's. Lock-free by compare-and-swap: a signal handler may interrupt anything.
#ifndef XSP_CAPTURE_CAPTURE_H
#define XSP_CAPTURE_CAPTURE_H

#include "format/attach.h"
#include "format/session.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <xsp/span.h>

#if defined(__x86_64__)
#include <xsp/inline_x86_64.h>
#elif defined(__aarch64__)
#include <xsp/inline_aarch64.h>
#else // no inline fast path
static inline uint64_t xsp_inline_add_v1(uint64_t *word, uint64_t addend)
{
  return __atomic_fetch_add(word, addend, __ATOMIC_RELAXED);
}
#endif

// Arrived: in the session of an `xsp run`, without files of its own; the first use of it joins (arrive.c).
enum capture_state { CAPTURE_NONE = 0, CAPTURE_BUSY, CAPTURE_ATTACHED, CAPTURE_ARRIVED };

// The process's place in its session. Written by the attaching thread before `state` becomes CAPTURE_ATTACHED (release,
// read by acquire); after that only where a comment says so. All mappings live as long as the process.
struct capture {
  uint32_t state; // atomic, enum capture_state
  uint32_t asked; // atomic: the environment was looked at
  pid_t pid;      // of this image; changed by the fork handler
  uint32_t ticks; // atomic, enum session_tick_clock; 0: not decided
  char *arrived;  // atomic: the session file's mapping, by which others find the process in the session; NULL: none
  struct session_head *session;
  struct session_control *control;
  struct session_switches *switches;
  struct catalog_head *catalog;
  uint64_t catalog_window;           // bytes of the catalog that are mapped
  struct process_head *process;      // atomic; NULL until somebody needs it (after a fork)
  const struct process_head *parent; // after a fork: whose tracks are still in use
  uint32_t parent_tracks;
  uint64_t calibrated_ns; // atomic: monotonic time of the last calibration
  char directory[ATTACH_DIRECTORY_BYTES];
};
extern struct capture capture;

extern struct attach_block capture_attach_block; // what others may write into

// One per thread, beside the public xsp_thread_v1.
struct capture_thread {
  struct ring_head *ring;            // NULL: none (yet)
  uint32_t slot;                     // of the ring in the process's table
  uint32_t name;                     // string id given by xsp_thread_name before there was a ring
  uint32_t attempts;                 // spans lost since the last try to get a ring
  uint64_t retry_at;                 // drops after which the ring tries again to grow
  uint32_t emitted_site, emitted_id; // the last xsp_span_emit
  uint32_t remote_id;                // span that xsp_traceparent_in gave a remote parent; 0: none
  uint8_t remote_trace[16];
  struct span_counters *counters; // NULL: none
};
extern __thread struct capture_thread capture_thread __attribute__((tls_model("initial-exec")));

static inline bool capture_attached(void)
{
  return __atomic_load_n(&capture.state, __ATOMIC_ACQUIRE) == CAPTURE_ATTACHED;
}

// ---- clock.c
uint64_t clock_ticks(void);
void clock_calibrate(void);        // appends a triple to the session
void clock_calibrate_if_due(void); // at most ten times a second

// ---- file.c: files of the session folder, by name; no descriptor is kept, because programs close what they do not know
void capture_file_path(char path[PATH_MAX], const char *name);
void capture_file_path_number(char path[PATH_MAX], const char *name, uint32_t number);
// The number of a file that could not be had, for the next try: readers look for each number's file. It stays taken where
// somebody took a later one meanwhile.
void capture_file_number_return(uint32_t *next, uint32_t number);
// To read and write; < 0 and errno on failure. For the caller to close at once.
int capture_file_open(const char *path, int more_flags);
// Creates and maps. The first `bytes` have storage and are touched; where `address_bytes` is more, so much is mapped and
// gets its storage from capture_file_back. NULL and errno on failure, and then no file is left.
void *capture_file_create(const char *path, size_t bytes, size_t address_bytes);
uint64_t capture_file_address_share(void); // what one file may take where the program's addresses or files are limited
void *capture_file_map(const char *path, size_t bytes);    // existing file, at least `bytes` long; NULL and errno
int capture_file_extend(const char *path, uint64_t bytes); // storage for the first `bytes`; 0 or a negated errno
// Makes the addresses of `bytes` from byte `from` on (multiples of the page's size) of a sparse file readable and writable, or
// neither. 0 or a negated errno.
int capture_file_use(void *memory, uint64_t from, uint64_t bytes, bool is_used);
// Storage for so many of the sparse file "name number", which is mapped at `memory` and may be used there. 0 or a negated
// errno. No descriptor, little stack: the thread may be in a signal handler, the program may have forbidden itself other
// calls.
int capture_file_back(const char *name, uint32_t number, void *memory, uint64_t from, uint64_t bytes);
// The opposite. Not from locked memory, nor from file systems that cannot.
int capture_file_return(void *memory, uint64_t from, uint64_t bytes);

// No signal handler runs on this thread in between: one that forks would leave a child to go on with half the work on its
// parent's files, and a storm of signals would interrupt posix_fallocate for ever. Nor is the thread cancelled: open is a
// cancellation point, a span is none.
struct signals_held {
  sigset_t mask;
  int cancel_state;
};
void signals_hold(struct signals_held *ret_before);
void signals_release(const struct signals_held *before);

// ---- session.c
void session_attach_if_asked(void); // by the environment, looked at once, by xsp run --pid, or having arrived
int session_set_directory(const char *directory, bool may_make); // 0 or a negated errno
// The process's block has the folder's name: xsp run --pid finds it there, and sites seen without a session come back.
void session_note_directory(void);
void session_join_arrived(void); // of a process that has arrived: joins, or waits for the thread that does

// ---- process_file.c
void session_rank_from_environment(void); // when the process starts
void session_rank_of_process(struct session_rank *ret_rank);
struct process_head *session_process(void); // makes the process file at its first use; NULL where none can be had
void session_count_lost(uint64_t records);
void session_count_misused(void);

// Attached, after a process that has arrived was made to join. For what a program or tracer may ask before its first site.
static inline bool session_is_in(void)
{
  if (!capture_attached() && __atomic_load_n(&capture.arrived, __ATOMIC_RELAXED) != NULL)
    session_join_arrived();
  return capture_attached();
}

// ---- arrive.c
// Whether the process has arrived in the session, and needs nothing more before it records. Called before main.
bool arrive(const char *directory, int argument_count, char **arguments);

// ---- catalog.c: everything interned; 0 where the session is full
bool catalog_create(const char *path);
bool catalog_open(const char *path);
void *catalog_entry(uint32_t id, enum catalog_type type); // NULL: no such entry
// Of an entry that this process interned: complete, and entries never change.
static inline const void *catalog_at(uint32_t id)
{
  return (const char *)capture.catalog + (uint64_t)id * 8;
}
uint32_t catalog_string(const char *text, size_t length);
uint32_t catalog_text(const char *text); // NULL and "": 0
uint32_t catalog_site(uint32_t level, uint32_t tracer, uint32_t name, uint32_t category, uint32_t variant);
bool catalog_site_tag(uint32_t site, uint32_t key, enum value_type type, uint64_t value);
uint32_t catalog_frame(const struct catalog_frame *frame); // without its entry
uint32_t catalog_path(uint32_t caller, uint32_t frame, uint32_t depth);
uint32_t catalog_track(uint32_t name, uint32_t clock, int64_t device_id, int64_t stream_id, uint32_t thread_id);

// ---- ring.c
struct xsp_ring_v1;
void ring_prepare(void);                     // once per image
bool ring_acquire(void);                     // gives the calling thread a ring; false: counted as lost by the caller
void ring_start_clean(void);                 // in the child of a fork
bool ring_room(uint32_t records);            // room for so many in the thread's ring, after growing it where that helps
void ring_lost(uint64_t records);            // counted as dropped in the thread's ring, without one in the process
struct ring_head *ring_own(void);            // of the calling thread; NULL: none. Its memory stays, whoever forks
struct xsp_ring_v1 *ring_own_producer(void); // of the calling thread; NULL: no ring
// Writes one record into the calling thread's ring, which has room.
void ring_put(uint64_t start, uint64_t duration, uint64_t site_id, uint32_t type_kind_track);
// Finds an open span of this thread: its place in the list, RING_OPEN_SPANS where it is open but not listed, -1: not.
int ring_find_open(uint64_t start, uint64_t site_id);
void ring_remove_open(int place); // what ring_find_open gave

// ---- ring_create.c: the process's table of rings, for ring.c
#define RINGS_MOST 16384u
struct ring_slot {
  struct ring_head *ring; // atomic; NULL: being filled
  size_t bytes;           // mapped
};
extern struct ring_slot ring_slots[RINGS_MOST];
extern uint32_t ring_count; // atomic
// A ring of the thread `tid` and its slot. NULL: no memory, no room in the table, or the session's memory is used up.
struct ring_head *ring_create(const struct process_head *process, uint32_t tid, uint32_t *ret_slot);
// Of the session's memory; false: there is not so much left. What rings grow by leaves some for rings of later threads.
bool ring_spend(uint64_t bytes, bool leave_some);

// ---- ring_grow.c
// Room for `records` in the calling thread's ring: what the collector gave back, or more memory. Sets the ring's limit.
bool ring_make_room(struct ring_head *ring, uint32_t records);
bool ring_is_complete(struct ring_head *ring); // no record is half-written. The owner's

// ---- counting.c: of the calling thread; what starts and finishes is a span that is open
bool counting_is_wanted(void); // then no span takes the inline path
void counting_open(void);      // with signals held; nothing where none are wanted, or they are open
void counting_close(void);
void counting_start_clean(void); // in the child of a fork
void counting_start(uint32_t depth, uint32_t id);
void counting_finish(uint32_t id); // writes tags

// ---- annotate.c
// One record about a span of this thread; a handle that is not one is counted.
void annotate(const struct xsp_span *span, uint32_t type, uint64_t start, uint32_t site);

// ---- native_name.c
uint32_t native_name(uint32_t frame_id, const struct catalog_frame *frame); // its string; 0: its module exports none

// ---- site.c
uint32_t site_id(struct xsp_site *site); // after registering it where that has not happened; 0: it has none
bool site_known(struct xsp_site *site);  // registered in a session
bool site_has_id(struct xsp_site *site); // else what is lost is counted
bool site_usable(struct xsp_site *site); // registered, switched on and known by id; else what is lost is counted

// ---- tracers.c
bool tracers_are_awaited(const char *list); // all of them: others load them, none is to be loaded now
void tracers_load(const char *list);
void tracers_stop(void);

#endif
