// SPDX-License-Identifier: Apache-2.0
// What session.c (the folder), rings.c (files that appear in it) and drain.c (records into the store) share. Private.
#ifndef XSP_COLLECT_STATE_H
#define XSP_COLLECT_STATE_H

#include "collect/clock_map.h"
#include "collect/collect.h"
#include "collect/names.h"
#include "collect/ring_decode.h"
#include "collect/ring_read.h"

#include <limits.h>

// ---- tracks.c: track numbers, one for each thread of each process image, one for each track that a process made. A number
// is the same in all runs of a session; a run's row is written when the first span of the run lies on the track. DIR/tracks
// keeps the numbers, so that a collector that adopts the session goes on with them.
struct track_entry {
  uint64_t thread;          // of a thread's track
  uint32_t process;         // number of the process file
  uint32_t number;          // of a made track, 1-based; 0: the thread itself
  uint32_t name;            // catalog string id; 0: none yet
  int64_t run_id;           // the run that has its row; 0: none
  bool is_foreign;          // has a clock of its own
  struct session_rank rank; // in that row
};
struct tracks {
  struct map places; // (thread, process and number) to place in `entries`
  VECTOR(struct track_entry) entries;
  char host[65];
  int file; // DIR/tracks; -1: none
};
struct track_saved { // in DIR/tracks; the place in the file is the number
  uint64_t thread;
  uint32_t process, number, name, reserved;
};
#define TRACKS_SAVED_MAXIMUM (UINT32_C(1) << 20)

struct track_process { // what a track's row says about its process
  uint32_t pid;        // 0: unknown
  const char *command;
  uint32_t catalog_id; // of the made track asked for; 0: none
  struct session_rank rank;
};

// The entry for a thread (number 0) or a made track.
struct track_entry *tracks_find(struct tracks *tracks, uint32_t process, uint64_t thread, uint32_t number);
void tracks_open(struct tracks *tracks, int folder); // takes over what an earlier collector saved
void tracks_save(const struct tracks *tracks, const struct track_entry *entry);
static inline uint32_t tracks_id(const struct tracks *tracks, const struct track_entry *entry)
{
  return (uint32_t)(entry - tracks->entries.items) + 1;
}
// Writes the track's row for the run.
enum status tracks_publish(struct tracks *tracks, struct track_entry *entry, const struct track_process *process,
                           struct names *names, int64_t run_id, struct error *err) MUST_CHECK;
void tracks_done(struct tracks *tracks);

// ---- the session
#define FILES_MAXIMUM (UINT32_C(1) << 20) // rings, and processes, of one session
#define FILES_TRIES_PER_DRAIN 256u        // opens of files that are not there yet

enum file_state { FILE_ABSENT, FILE_MAPPED, FILE_BROKEN, FILE_RETIRED };

struct ring_file {
  enum file_state state;
  bool owner_known; // the decoder's owner at replay_end was set
  bool is_torn;     // what was read has incomplete records
  bool is_asked;    // to return storage
  void *bytes;      // mapped read-write
  size_t size;
  struct ring_view view;
  struct ring_decoder decoder;
  uint64_t position;      // next slot to read
  uint64_t resume;        // first slot that a successor has to read again (facts that wait)
  uint64_t replay_end;    // before it: stored already by a predecessor, only the decoder's state follows
  uint64_t most_waiting;  // records, since `quiet_since_ns`
  int64_t quiet_since_ns; // monotonic; 0: not looked at yet
};

struct process_file {
  enum file_state state;
  const struct process_head *head; // mapped read-only
  size_t size;
};

struct collect_session {
  char directory[PATH_MAX - 64];
  int folder; // descriptor of the directory (place.h)
  int lock;   // descriptor of DIR/session, flock'ed while this collector lives
  struct session_head *head;
  struct session_control *control;   // in the same mapping
  struct session_switches *switches; // likewise
  enum session_tick_clock tick_clock;
  bool flight_recorder;
  int64_t quiet_ns;
  uint32_t patient_records;
  bool foreign_boot; // made before this machine's last start: its ticks cannot be read here
  bool has_failed;   // a drain could not store what it read: nothing is given back any more
  struct clock_map clock;
  uint64_t calibrations_read;
  int64_t calibration_written_ns; // monotonic
  struct names names;
  struct tracks tracks;
  VECTOR(struct ring_file) rings;        // by number
  VECTOR(struct process_file) processes; // by number
  struct collect_counts counts;          // what is counted here and not in the files, and of rings that are gone
  uint32_t seen_processes, seen_rings;   // numbers given out when collect_waiting last looked for files
  uint32_t looks;                        // of collect_waiting
  uint32_t wakes_seen;                  // at the end of the last collect_sleep: a wake since then ends the next at once
  uint32_t process_cursor, ring_cursor; // where the search for files that are not there yet goes on
  uint64_t faults_seen;                 // of guard.h
  uint64_t broken_files;
  char problem[256];           // the first broken file and why
  char trace_text[33];         // W3C trace id of the session
  int64_t run_id;              // of the last drain
  struct store *store;         // of the last drain; borrowed, compared only
  uint32_t run_trace;          // the session's trace id in that run
  bool is_own;                 // the folder is new and of a name of ours: nobody else's files are in it
  bool was_kept;               // adopted after collect_keep
  int arrivals_file;           // DIR/arrivals; -1: none
  int origin_file;             // DIR/collector; -1: none
  VECTOR(int64_t) origin_runs; // runs of `store` that are named in it
  const int64_t *known;        // span ids that a dead collector's file has already, ascending; borrowed
  size_t known_count;
  struct headway_watcher watcher; // of final drains
};

// rings.c
void collect_session_find_files(struct collect_session *session, bool is_final);
const struct process_head *collect_session_process(const struct collect_session *session,
                                                   uint32_t number); // NULL: unknown
void collect_session_give_back(struct collect_session *session);     // after a commit: what was read is safe
void collect_session_note_faults(struct collect_session *session);   // files that were cut short while they were read
void ring_read_counts_add(const struct ring_file *ring, struct collect_counts *counts);
void collect_session_close_files(struct collect_session *session);
// arrivals.c: read when they are asked for, not while the program runs
void arrivals_open(struct collect_session *session, bool is_new);
// The entries from `cursor` on, 0 at first; false: there is no further one. Texts end with NUL.
bool arrivals_next(const struct collect_session *session, size_t *cursor, struct session_arrival *ret_arrival);
// The last image of the process. False: there is none.
bool arrivals_find(const struct collect_session *session, uint64_t pid, struct session_arrival *ret_arrival);
// quiet.c
// `position`: the ring's head.
void collect_session_look_for_quiet(struct collect_session *session, uint32_t number, uint64_t position,
                                    int64_t now_ns);
// folder.c
// Both fill directory, folder, lock, head, and the file and mapping of names. On failure collect_folder_create leaves no
// folder behind; the handle is to be closed in any case.
enum status collect_folder_create(struct collect_session *session, const struct collect_options *options,
                                  struct error *err) MUST_CHECK;
enum status collect_folder_open(struct collect_session *session, const char *directory, struct error *err) MUST_CHECK;
// `store_path` NULL: the run is in the file already, only the present run changes.
void collect_folder_write_origin(int file, const char *store_path, int64_t run_id);
// find.c
bool collect_find_has_process(const char *directory); // that has the session mapped, other than this one
void find_remove_ended(void); // sessions that were kept (collect_keep), and whose processes have ended
// session.c
void collect_session_calibrate(struct collect_session *session, bool write_always);
void collect_session_write_origin(struct collect_session *session);

#endif
