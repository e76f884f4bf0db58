// SPDX-License-Identifier: Apache-2.0
// Drains a capture session's rings into a store. Runs in xsp, never in the traced process. One thread per handle.
#ifndef XSP_COLLECT_COLLECT_H
#define XSP_COLLECT_COLLECT_H

#include "base/error.h"
#include "base/headway.h"
#include "store/store.h"

#include <stdbool.h>

struct collect_session;

struct collect_options {
  const char *directory; // NULL: a new folder under /dev/shm, or under TMPDIR where that is too small
  uint32_t level_mask;   // what may be switched on; XSP_LEVEL_MASK bits
  uint32_t
      ring_records; // what rings begin with, of flight recorders what they grow to; 0: as trace/format/session.h says
  uint64_t memory_limit;    // bytes of all rings; 0: what session_memory_limit finds
  bool flight_recorder;     // rings overwrite; nothing is drained until the end
  int64_t quiet_ns;         // a ring that is nearly empty for so long returns storage; 0: a minute
  bool is_bounded;          // the folder is a file system in memory of its own: programs fill that only. Needs root
  uint32_t patient_records; // smaller rings grow, rather than have a drain commit by itself; 0: none
};
// Creates the session folder. The child joins it by XSP_SESSION=collect_directory().
enum status collect_create(const struct collect_options *options, struct collect_session **ret_session,
                           struct error *err) MUST_CHECK;
// Opens the session folder that a dead collector left, or that a program made by itself (XSP_SESSION without xsp).
// Refuses folders that are none, that are another user's or writable by others, that another collector drains, and whose
// clock cannot be known any more.
enum status collect_adopt(const char *directory, struct collect_session **ret_session, struct error *err) MUST_CHECK;
const char *collect_directory(const struct collect_session *session);

struct collect_counts { // totals since the session began
  uint64_t spans, records, dropped, lost, overwritten, misused, torn, open;
  int64_t clock_step_ns; // largest step of CLOCK_REALTIME against CLOCK_MONOTONIC seen
  uint64_t own_ns;       // CPU time this thread spent draining
  uint64_t orphans;      // facts whose span never came
  uint64_t malformed;    // records that made no sense
  uint64_t samples;      // of threads
  uint64_t repeated;     // spans that the dead collector's file had already (collect_set_known)
};
// One store per handle: its strings are cached.
//
// Appends all that is complete in all rings to run `run_id` of `store` (tracks are added as they appear). Takes a
// calibration. Safe while the traced processes run.
//
// Space in a ring is given back to its writer only by a commit, so that a collector killed at any instant loses nothing:
// call collect_commit from time to time. A drain (not the final one) that finds a ring half full of uncommitted records
// commits by itself.
enum status collect_drain(struct collect_session *session, struct store *store, int64_t run_id,
                          struct error *err) MUST_CHECK;
// As collect_drain, for a session whose processes are gone (or that is being left): also takes what was committed after
// an incomplete slot, and adds open spans with STORE_SPAN_OPEN.
enum status collect_drain_final(struct collect_session *session, struct store *store, int64_t run_id,
                                struct error *err) MUST_CHECK;
// Called during the next final drain.
void collect_set_watcher(struct collect_session *session, struct headway_watcher watcher);
// store_commit, then gives the space of what was drained back to the rings.
enum status collect_commit(struct collect_session *session, struct store *store, struct error *err) MUST_CHECK;
void collect_counts(const struct collect_session *session, struct collect_counts *ret_counts);
void collect_set_levels(struct collect_session *session, uint32_t level_mask); // of all tracers, from now on
// Messages of the tracers in the session's processes (xsp_host.say), newline-separated; in `arena`.
const char *collect_messages(const struct collect_session *session, struct arena *arena);

// A span that no process of the session published: the program as its launcher saw it. It lies on the track of thread
// `process_id` of process `process_id`, where its level, name and category are as given; ids do not collide with drained
// ones. `*ret_span_id` may be NULL. Before the final drain or after it.
struct collect_outside_span {
  int64_t process_id;
  int64_t start_ns, end_ns; // Unix epoch
  uint8_t level;
  const char *name, *category, *tracer;
};
enum status collect_add_span(struct collect_session *session, struct store *store, int64_t run_id,
                             const struct collect_outside_span *span, int64_t *ret_span_id,
                             struct error *err) MUST_CHECK;

// For a program that is about to start: the header traceparent (XSP_TRACEPARENT_SIZE) by which other tracers in it make their
// spans children of the span that collect_add_span adds next.
void collect_traceparent(struct collect_session *session, char *ret_header);

// ---- for a collector that looks on
struct collect_process { // a process image of the session: of one process there is another after each exec
  int64_t process_id;
  int64_t start_ns; // Unix epoch
  bool has_ended;   // it left through exit; false says nothing
};
// The next that a drain has seen, in the order of joining; `*cursor` begins with 0; false after the last.
bool collect_process(const struct collect_session *session, size_t *cursor, struct collect_process *ret_process);
// Records in all rings that wait for a drain, and whether a ring is half full of them. Costs a look at each ring. Rings that
// were nearly empty for `quiet_ns` return storage after it.
uint64_t collect_waiting(struct collect_session *session, bool *ret_is_half_full);
// Sleeps until a writer has much to collect, collect_wake is called (also before, since the last sleep), or `most_ns` are over.
void collect_sleep(struct collect_session *session, int64_t most_ns);
void collect_wake(struct collect_session *session); // any thread

// ---- for recovery
struct collect_found { // a session of the caller, or what is left of one
  const char *path;
  int64_t modified_s; // of its file "session", Unix time
  bool is_in_use;     // a collector drains it
  bool is_left_over;  // its session is gone, other files are not
};
// In /dev/shm, TMPDIR and /tmp, where collect_create makes them. In `arena`.
void collect_find(struct arena *arena, struct collect_found **ret_found, size_t *ret_count);
// What an earlier collector drained this session into. In `arena`.
struct collect_origin {
  const char *path;       // of the file; what was committed may still lie in PATH.partial. NULL: there was none
  int64_t run_id;         // of the last drain
  const int64_t *run_ids; // all runs of that file that hold spans of this session
  size_t run_count;
};
struct collect_origin collect_origin(const struct collect_session *session, struct arena *arena);
uint32_t collect_levels(const struct collect_session *session); // what could be switched on; XSP_LEVEL_MASK bits
// The session's first process, for a person: its command ("" where none came) and when it began (Unix ns). In `arena`.
struct collect_workload {
  const char *command;
  int64_t created_ns;
};
struct collect_workload collect_workload(const struct collect_session *session, struct arena *arena);
const char *collect_trace(const struct collect_session *session); // the session's W3C trace id, 32 hex digits
// Span ids that are stored already, ascending: drained again they are left out and counted. Borrowed until the close.
void collect_set_known(struct collect_session *session, const int64_t *span_ids, size_t count);
// What has no ids, as spans that were folded (store_set_fold), and samples: how far the rings were in the file's last commit. May
// be called for each of the session's runs. After the adoption, before the first drain.
void collect_set_drained(struct collect_session *session, const struct store_drained *rows, size_t count);
// Whether an adopted session holds nothing of an earlier time: it was kept, or nobody has joined it.
bool collect_is_empty(const struct collect_session *session);
bool collect_overwrites(const struct collect_session *session);  // it is a flight recorder
bool collect_has_process(const struct collect_session *session); // that joined, and lives
// No other process has the session, not even one that was only forked. False: look for them.
bool collect_is_alone(const struct collect_session *session);
// The session's processes run on, all that was drained is stored for good, and the levels are off: xsp run --pid may adopt it again. It is
// no leftover for recovery. The next collect_create removes it when its processes have ended.
void collect_keep(struct collect_session *session);
// Closes; removes the folder where `remove`. NULL is fine.
void collect_close(struct collect_session *session, bool remove);

#endif
