// SPDX-License-Identifier: Apache-2.0
// What journal.c (appending, the order of work) and journal_folder.c (names and files) share.
#ifndef XSP_SERVE_JOURNAL_PRIVATE_H
#define XSP_SERVE_JOURNAL_PRIVATE_H

#include "base/map.h"
#include "base/vector.h"
#include "serve/journal.h"

#include <pthread.h>

struct journal_name {
  char text[JOURNAL_NAME_SIZE];
};

// `lock` guards all but `options`, `folder` and `folder_lock`, which never change.
struct journal {
  struct journal_options options;
  int folder, folder_lock; // descriptors
  pthread_mutex_t lock;
  pthread_cond_t changed; // anything that journal_next or a sync waits for; by CLOCK_MONOTONIC

  // ---- the open journal
  int file; // -1: none is open; the next request makes one
  struct journal_name name;
  uint64_t size;              // bytes that were acknowledged, or are being synced
  uint64_t synced;            // of them
  uint64_t number;            // of journals opened: which one a position belongs to
  uint64_t unsynced_number;   // of the last journal that could not be synced
  bool is_syncing;            // a thread syncs `file` without the lock: it stays open
  uint64_t grown_ns;          // when it grew last
  struct map resources;       // hashes of those it has
  uint64_t stored, stored_ns; // bytes of it that its file has; when that was made, or tried
  uint64_t tried;             // bytes of it that need no other try: stored, or refused by the importer
  uint64_t store_ns;          // how long that took

  VECTOR(struct journal_name) closed; // oldest first
  bool first_is_stored;               // the file of closed[0] has all of it
  uint64_t retry_ns;                  // after a failure: not before
  bool is_ending;

  void (*watch)(void *context, unsigned left); // NULL: none
  void *watch_context;
};

// ---- journal_folder.c: no locking
enum status journal_folder_open(struct journal *journal, struct error *err) MUST_CHECK;
// Makes a new journal and opens it. False, with errno: it cannot be.
bool journal_folder_add(struct journal *journal);
void journal_folder_remove(const struct journal *journal, const char *name);    // NAME.journal
void journal_folder_set_aside(const struct journal *journal, const char *name); // as NAME.journal.refused

#endif
