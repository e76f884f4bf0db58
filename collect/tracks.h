// SPDX-License-Identifier: Apache-2.0
// Track numbers: one for each thread of each process image, one for each track that a process made. A number is the same
// in all runs of a session; a run's row is written when the first span of the run lies on the track. DIR/tracks keeps
// the numbers, so that a collector that adopts the session goes on with them.
#ifndef XSP_COLLECT_TRACKS_H
#define XSP_COLLECT_TRACKS_H

#include "collect/names.h"

struct track_entry {
  uint64_t thread;  // of a thread's track
  uint32_t process; // number of the process file
  uint32_t number;  // of a made track, 1-based; 0: the thread itself
  uint32_t name;    // catalog string id; 0: none yet
  int64_t run_id;   // the run that has its row; 0: none
  bool is_foreign;  // has a clock of its own
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
};

// The entry for a thread (number 0) or a made track.
struct track_entry *tracks_find(struct tracks *tracks, uint32_t process, uint64_t thread, uint32_t number);
void tracks_open(struct tracks *tracks, const char *directory); // takes over what an earlier collector saved
void tracks_save(const struct tracks *tracks, const struct track_entry *entry);
static inline uint32_t tracks_id(const struct tracks *tracks, const struct track_entry *entry)
{
  return (uint32_t)(entry - tracks->entries.items) + 1;
}
// Writes the track's row for the run.
enum status tracks_publish(struct tracks *tracks, struct track_entry *entry, const struct track_process *process,
                           struct names *names, int64_t run_id, struct error *err) MUST_CHECK;
void tracks_done(struct tracks *tracks);

#endif
