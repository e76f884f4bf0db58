// SPDX-License-Identifier: Apache-2.0
// The journals of one folder: what was acknowledged and is not yet in a finished file. One is open and grows; it is closed when it is
// large or has been quiet, and the keeper (keeper.h) makes a file of it.
//
//   DIR/NAME.journal   requests in the order of their replies (trace/otlp/journal.h)
//   DIR/NAME.xsp       what was made of them; replaced while the journal grows
//
// All functions may be called from any thread, but journal_next and journal_done, which are the keeper's.
#ifndef XSP_SERVE_JOURNAL_H
#define XSP_SERVE_JOURNAL_H

#include "base/error.h"
#include "otlp/journal.h"

#include <stdbool.h>
#include <stdint.h>

#define JOURNAL_NAME_SIZE 64
#define JOURNAL_WAITING_MOST 11u    // closed journals that are not stored yet: with more, requests are refused
#define JOURNAL_RESOURCES_MOST 900u // of one journal: a file has at most 1,000 experiments

struct journal_options {
  const char *folder;
  uint64_t file_bytes; // a journal of so many is closed
  uint64_t quiet_ns;   // so is one that has not grown for so long
  uint64_t refresh_ns; // its file is made again once it has not grown for so long; while it grows, in 10 times that
  bool sync;           // requests are on the disk before their reply, not only with the kernel
  uint64_t seed;       // of the hashes of resources (request_check.h)
};

struct journal;

// Opens the folder's journals, or makes the folder. The newest journal is continued: a client that repeats a request
// because its reply was lost then repeats it in the same file, which takes each span once. STATUS_SYSTEM: the folder cannot
// be used, or another server uses it.
enum status journal_open(const struct journal_options *options, struct journal **ret_journal,
                         struct error *err) MUST_CHECK;

enum journal_result {
  JOURNAL_DONE,
  JOURNAL_BUSY,
  JOURNAL_FAILED
}; // BUSY: storing is behind; FAILED: the disk is full or broken
// Returns DONE once the request survives the end of this process (with `sync`: of the machine). Else nothing of it is kept, or
// all of it where only its sync failed. `resources`: hashes of the request's, which bound the file's runs.
enum journal_result journal_append(struct journal *journal, enum otlp_encoding encoding, struct slice body,
                                   const uint64_t *resources, size_t resource_count, struct error *err) MUST_CHECK;

// Calls `fn` with the number of journals that may still be closed before requests are refused, at once and whenever it changes. `fn`
// must not call the journal. NULL: nobody, and no call is in progress after that.
void journal_watch(struct journal *journal, void (*fn)(void *context, unsigned left), void *context);

struct journal_work {
  char name[JOURNAL_NAME_SIZE]; // "spans-20261123-224512-123"
  uint64_t bytes;               // what the journal holds now, at least
  bool is_closed;               // it grows no more: once it is stored it is removed
  bool is_stored;               // the file has these bytes already
};
// Waits for work. False: journal_end was called, and nothing is left.
bool journal_next(struct journal *journal, struct journal_work *ret_work);
// The work's journal is stored up to work->bytes (OK), cannot ever be stored (STATUS_INPUT: it is set aside), or could not be now:
// it comes again. After journal_end it does not.
void journal_done(struct journal *journal, const struct journal_work *work, enum status status);

void journal_end(struct journal *journal); // closes the open journal; no more requests come
void journal_free(struct journal *journal);

#endif
