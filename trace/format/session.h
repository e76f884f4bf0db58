// SPDX-License-Identifier: Apache-2.0
// The bytes that capture (in a traced process) and collect (in xsp) share: a session folder of memory-mapped files.
//
//   DIR/session      one page group: identity, control (levels on and off), counters, calibration
//   DIR/catalog      strings, sites, site tags, tracks, frames, call paths: append-only, addressed by offset/8, shared by
//                    all processes
//   DIR/arrivals     an entry for each process image that found the session and had nothing to record yet
//   DIR/process-N    one per process image that records: who it is, what it dropped
//   DIR/ring-N       one per thread at a time: producer state, open spans, records
//   DIR/tracer-PID   of a tracer in that process, for a moment: what its framework writes about itself. Of nobody else's
//   DIR/tracer-PID.xplane.pb  what JAX's profiler recorded in that process; read when the program has ended
//
// What is used of a file has storage first (a full /dev/shm must not become SIGBUS). All integers are little-endian,
// naturally aligned. A reader trusts nothing: every offset and count is checked against the file's size.
#ifndef XSP_FORMAT_SESSION_H
#define XSP_FORMAT_SESSION_H

#include "format/level.h"

#include <stdint.h>

#define SESSION_VERSION 6u
#define SESSION_MAGIC UINT64_C(0x314e534553505358) // "XSPSESN1"
#define CATALOG_MAGIC UINT64_C(0x31544c4143505358) // "XSPCALT1"
#define PROCESS_MAGIC UINT64_C(0x31434f5250505358) // "XSPPROC1"
#define RING_MAGIC UINT64_C(0x31474e4952505358)    // "XSPRING1"

#define SESSION_TRACERS 64u          // tracers a session knows by name; slot 0 is "app"
#define SESSION_CALIBRATIONS 112u    // ring of triples; the first is never overwritten
#define SESSION_CONTROL_OFFSET 4096u // page-aligned: processes map this page over their own switches

// One reading of three clocks, as close together as possible (the tick halfway between two reads around the others).
struct session_calibration {
  uint64_t ticks;
  int64_t realtime_ns;
  int64_t monotonic_ns;
  uint64_t sequence; // 1-based; written last (release). 0: slot not written.
};

enum session_tick_clock { SESSION_TICKS_TSC = 1, SESSION_TICKS_MONOTONIC = 2 };
enum session_flag {
  SESSION_FLIGHT_RECORDER = 1, // rings overwrite the oldest instead of dropping the newest
  SESSION_KEPT = 2,            // all is drained, nothing is recorded: kept for the next xsp run --pid
};

struct session_head { // offset 0 of DIR/session
  uint64_t magic;
  uint32_t version;
  uint32_t head_size;    // sizeof this struct, for readers of later versions
  uint32_t tick_clock;   // enum session_tick_clock
  uint32_t flags;        // enum session_flag
  uint32_t ring_records; // a power of two: what a ring begins with; of a flight recorder, what it grows to
  uint32_t levels;       // mask: what may be switched on at all
  uint8_t boot_id[16];   // ticks are comparable within one boot
  uint8_t trace_id[16];  // W3C trace id of the session
  uint8_t parent_id[8];  // W3C parent (TRACEPARENT of the launcher); zero: none
  uint32_t next_process; // atomic counters: numbers of the next files
  uint32_t next_ring;
  uint32_t collector_pid; // 0: nobody drains
  // A writer with much to collect wakes the collector: clears `waits`, raises `wakes`, which the collector sleeps on (futex).
  uint32_t waits;             // atomic
  uint32_t wakes;             // atomic
  uint32_t outside_spans;     // ids given to spans of the launcher
  uint64_t memory_limit;      // bytes of all rings together; beyond it records are dropped and counted
  uint64_t memory;            // atomic: bytes of all rings that are there
  uint64_t lost;              // atomic: records lost where no ring could be had (memory full)
  uint64_t calibration_count; // atomic: triples ever written
  struct session_calibration
      calibration[SESSION_CALIBRATIONS]; // slot = sequence-1 while it fits, then 1 + (sequence-2) % (N-1)
  uint64_t span_base;                    // random: see session_public_id
  uint64_t program_span;                 // W3C id of the span that the launcher will publish for the program; 0: none
  uint64_t kept_in; // SESSION_KEPT: whose processes were looked through (proc_namespace); 0: unknown
};

// Ids of spans count up from 1 in each session. Outside a session's files they have the session's base added, so that they are
// unique among all spans of a trace, whichever sessions it has.
static inline uint64_t session_span_base(uint64_t random)
{
  return random >> 2 | 1;
}
static inline uint64_t session_public_id(uint64_t span_base, uint64_t span_id)
{
  return (span_base + span_id) & INT64_MAX;
}

struct session_tracer {
  char name[32];    // claimed by CAS on `claimed`, NUL-terminated; slot 0 is "app"
  uint32_t claimed; // 0 free, 1 being written, 2 valid
  uint32_t reserved;
};

struct session_control { // offset SESSION_CONTROL_OFFSET: one page, mapped alone by processes
  // What is on now, per tracer: the words that xsp_site.levels points at. The creator of the session sets all of them,
  // claimed or not; a tracer that claims a slot takes the word as it finds it.
  uint32_t levels[SESSION_TRACERS];
  struct session_tracer tracer[SESSION_TRACERS];
};

#define SESSION_SWITCHES 256u // the last ones
#define SESSION_SWITCHES_OFFSET 8192u
struct session_switch {
  int64_t realtime_ns; // CLOCK_REALTIME
  uint32_t tracer;     // slot; SESSION_TRACERS: all
  uint32_t levels;
  uint64_t sequence; // 1-based; written last (release). 0: being written
};
struct session_switches { // offset SESSION_SWITCHES_OFFSET; trace/format/switches.h
  uint64_t count;         // atomic
  struct session_switch switched[SESSION_SWITCHES];
};
#define SESSION_FILE_SIZE (SESSION_SWITCHES_OFFSET + 8192u)

// ---- catalog ---------------------------------------------------------------------------------------------------------
struct catalog_head {
  uint64_t magic;
  uint32_t version;
  uint32_t head_size;
  uint64_t used;      // atomic: bytes handed out, this head included
  uint64_t allocated; // atomic: bytes backed by posix_fallocate
};
#define CATALOG_MAXIMUM_BYTES (UINT64_C(1) << 30)

enum catalog_type { CATALOG_STRING = 1, CATALOG_SITE, CATALOG_SITE_TAG, CATALOG_TRACK, CATALOG_FRAME, CATALOG_PATH };

// An entry lies at offset id*8. `size` is written last (release); 0: not complete.
struct catalog_entry {
  uint32_t size; // whole entry in bytes, a multiple of 8
  uint32_t type;
};
struct catalog_string {
  struct catalog_entry entry;
  uint32_t length; // without the NUL that follows
  uint32_t hash;
  char text[];
};
struct catalog_site {
  struct catalog_entry entry;
  uint32_t level;
  uint32_t tracer; // slot in session_control
  uint32_t name;   // catalog ids of strings; 0: none
  uint32_t category;
  uint32_t variant;   // of xsp_site_create_variant; part of the identity, as the four before it
  uint32_t first_tag; // atomic: head of the list of site tags
  uint32_t path;      // atomic: catalog id of its spans' call path; 0: none
  uint32_t reserved;
};
enum value_type { VALUE_INT = 1, VALUE_DOUBLE, VALUE_STRING }; // string: catalog id
struct catalog_site_tag {
  struct catalog_entry entry;
  uint32_t next; // catalog id of the next tag of the site; 0: last
  uint32_t key;
  uint32_t value_type;
  uint32_t reserved;
  uint64_t value; // int64, double's bits, or catalog id
};
struct catalog_track {
  struct catalog_entry entry;
  uint32_t name;
  uint32_t clock; // 0: wall time; else the foreign clock's name
  int64_t device_id;
  int64_t stream_id;
  uint32_t thread_id; // the spans are on this thread's track; 0: the track is its own
  uint32_t reserved;
};
struct catalog_frame {
  struct catalog_entry entry;
  uint32_t kind; // enum xsp_frame_kind
  uint32_t line; // 0: unknown
  uint32_t name; // catalog ids of strings; 0: unknown
  uint32_t file;
  uint32_t module;
  uint32_t reserved;
  uint64_t address; // 0: unknown
};
#define CATALOG_JOINED_FRAMES_MOST 256u
struct catalog_path { // a frame and the path of its caller, which is an earlier entry
  struct catalog_entry entry;
  uint32_t caller; // catalog id of a path; 0: the frame is the outermost
  uint32_t frame;  // or of another path, of at most CATALOG_JOINED_FRAMES_MOST frames: all of these, outermost first
  uint32_t depth;  // frames of the path, at most XSP_CALL_PATH_FRAMES
  uint32_t reserved;
};

// ---- arrivals --------------------------------------------------------------------------------------------------------
#define ARRIVAL_MAGIC 0x56525241u // "ARRV"
// Most processes of a build or a shell script never record anything. They append this, in one write, and make no files. Its
// size divides the page's: a process that is killed in its write leaves all of it or nothing.
struct session_arrival {
  uint32_t magic;
  uint32_t pid;
  uint32_t parent_pid;
  uint32_t reserved;
  int64_t start_realtime_ns;
  char name[16];     // of its first thread
  char command[256]; // as in process_head
  uint8_t reserved_bytes[216];
};

// ---- process ---------------------------------------------------------------------------------------------------------
#define PROCESS_TRACKS 4096u
struct session_rank {  // of a process in a job of several; changes while it is read, and is right afterwards
  uint32_t world_size; // atomic, written last; 0: it is of no job, as far as is known
  uint32_t rank;
  int32_t local_rank; // -1: unknown
};
struct process_head { // DIR/process-N
  uint64_t magic;
  uint32_t version;
  uint32_t head_size;
  uint32_t number; // N
  uint32_t pid;
  uint32_t parent_pid;
  uint32_t track_count; // atomic; tracks made by xsp_track_create, 1-based in records
  int64_t start_realtime_ns;
  uint64_t lost;    // atomic: records of threads that got no ring
  uint64_t misused; // atomic: finishes that matched no open span, intervals that end before they start
  uint32_t ended;   // 1: left through exit
  struct session_rank rank;
  char command[256];              // argv[0] and what fits, NUL-terminated
  char message[1024];             // messages of tracers (xsp_host.say), newline-separated
  uint32_t track[PROCESS_TRACKS]; // catalog ids
};

// ---- ring ------------------------------------------------------------------------------------------------------------
#define RING_OPEN_SPANS 64u // deeper nesting is recorded but not listed as open
#define RING_MARGIN 64u     // slots kept free for signal handlers that interrupt a writer
#define RING_RECORDS_LEAST (UINT32_C(1) << 7)
#define RING_RECORDS_MOST (UINT32_C(1) << 25)     // 1 GiB
#define RING_RECORDS_RECORDER (UINT32_C(1) << 16) // of a flight recorder, unless another number is asked for
#define RING_SIZES 32u                            // remembered; from the least to the most there are 19
#define RING_HEAD_SIZE 4096u                      // records start here
#define RING_OWNER_COLLECTOR UINT32_MAX           // of a ring that a collector makes smaller; no thread's id

enum record_type {
  RECORD_SPAN = 1, // finished span; start, duration, site, id; kind/clock/track
  RECORD_TAG_INT,  // start = value, site = key (string id), id = the span's
  RECORD_TAG_DOUBLE,
  RECORD_TAG_STRING,    // start = string id of the value
  RECORD_LOG,           // start = ticks, site = string id of the message
  RECORD_CORRELATION,   // start = correlation id; `kind` for the span
  RECORD_PARENT,        // start = ring << 32 | id of the parent
  RECORD_TRACE,         // W3C: start, duration = 16 bytes of trace id, for the span `id`
  RECORD_REMOTE_PARENT, // start = W3C parent id (8 bytes, big-endian as on the wire)
  RECORD_THREAD,      // from here on the ring belongs to thread `start` of process number `duration`; site = name or 0
  RECORD_THREAD_NAME, // site = string id
  RECORD_OPEN,        // a span that its thread left open when it ended: start, site, id as in RECORD_SPAN; no duration
  RECORD_PATH,        // start = catalog id of the call path of the span `id`
  RECORD_SAMPLE, // the thread was at call path `site` (catalog id; 0: unknown), within its open span `id` (0: none), at the
                 // time `start`, for `duration` ns of its time; kind_clock is an enum sample_kind
};

// 32 bytes. `commit` is written last (release) and is the slot's position + 1, cut to 32 bits: a reader that finds the
// position it expects has a complete record, whether the writer still runs or was killed.
struct record {
  uint64_t start;    // ticks, or as the type says
  uint64_t duration; // ticks (ns for a foreign or other clock)
  uint32_t site;
  uint32_t id;
  uint8_t type;       // enum record_type
  uint8_t kind_clock; // enum xsp_kind | enum xsp_clock << 4
  uint16_t track;     // 0: the ring's thread
  uint32_t commit;
};

struct open_span { // valid where start != 0
  uint64_t start;
  uint32_t site;
  uint32_t id;
};

// Producer's lines. Written by the owning thread (and its signal handlers) only; read by the collector.
struct ring_producer {
  uint64_t head;    // slots handed out so far (may run ahead of the last committed by interrupted writers)
  uint64_t limit;   // where the owner looks for room again; a flight recorder of full size: ~0
  uint32_t depth;   // open spans. Taken together with next_id in one 64-bit add, so that a signal handler between the
  uint32_t next_id; // two cannot be given the same place; id of the next span started. Ids wrap after 2^32 spans.
  uint64_t dropped; // records dropped because the ring was full
  uint64_t mask;    // ring_records - 1, for the owner alone
  uint64_t reserved[3];
  struct open_span open[RING_OPEN_SPANS];
};

// A full ring that may have more memory doubles, in place: slots are added after the present ones. One that stays nearly
// empty becomes smaller. Positions from `first` on lie in `records` slots, a power of two; those before `end` in as many as
// the entry before has; none lies between. No record that waits for the collector changes its slot.
struct ring_size {
  uint64_t end, first, records;
};

// The file is sparse and as large as the ring may grow. Its owner maps all of it, once, and gives storage to the slots
// piece by piece.
struct ring_head { // DIR/ring-N, offset 0
  uint64_t magic;
  uint32_t version;
  uint32_t head_size;
  uint32_t number;    // N
  uint32_t process;   // number of the process file of the present owner
  uint32_t owner_tid; // atomic; 0: free to be taken over by another thread of the same process
  uint32_t reserved_owner;
  uint64_t reserved[3];
  // consumer's line
  uint64_t tail __attribute__((aligned(64))); // slots consumed for good; written by the collector after it committed
  uint64_t overwritten;                       // flight recorder: records lost to overwriting, counted by the collector
  uint64_t stored;     // >= tail: up to here everything is in the collector's file; between: facts of unfinished spans
  uint64_t highest_id; // highest span id before `stored`, with the rounds that ids made in the upper half
  uint64_t stored_thread; // owner of the ring at `stored`
  uint32_t stored_process;
  uint32_t reserved_consumer;
  struct ring_producer producer __attribute__((aligned(64)));
  // owner's, at its limit
  uint64_t complete;     // all records before this position are
  uint32_t backed;       // slots with storage; the session's memory counts the next power of two
  uint32_t most_records; // slots for which there are addresses
  uint32_t size_count;   // atomic; raised when its entry is there
  // Atomic: the slots that the collector asks the owner to keep, a power of two. 0: done, or refused by growing.
  uint32_t keep_records;
  uint32_t usable; // slots that the owner's process may touch; those without storage it does not
  uint32_t reserved_owners;
  struct ring_size size[RING_SIZES]; // the last ones; the n-th is in place n % RING_SIZES
};

static inline uint64_t ring_bytes(uint64_t records)
{
  return RING_HEAD_SIZE + records * sizeof(struct record);
}

// What a ring takes of the session's memory.
static inline uint64_t ring_counted_bytes(uint64_t backed)
{
  uint64_t records = RING_RECORDS_LEAST;
  while (records < backed)
    records *= 2;
  return ring_bytes(records);
}

// The owner's, with all records before `end` complete. The head is to be `first` next.
static inline void ring_set_size(struct ring_head *ring, uint64_t end, uint64_t first, uint64_t records)
{
  ring->size[ring->size_count % RING_SIZES] = (struct ring_size){end, first, records};
  __atomic_store_n(&ring->size_count, ring->size_count + 1, __ATOMIC_RELEASE); // partner: ring_seek of collect
  ring->producer.mask = records - 1;
}

_Static_assert(sizeof(struct record) == 32, "records are 32 bytes");
_Static_assert(sizeof(struct open_span) == 16, "open spans are 16 bytes");
_Static_assert(sizeof(struct ring_head) <= RING_HEAD_SIZE, "ring head fits its page");
_Static_assert(sizeof(struct session_head) <= SESSION_CONTROL_OFFSET, "session head fits its page");
_Static_assert(sizeof(struct session_control) <= 4096u, "control fits one page");
_Static_assert(SESSION_SWITCHES_OFFSET + sizeof(struct session_switches) <= SESSION_FILE_SIZE, "switches fit");

#endif
