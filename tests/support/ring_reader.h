// SPDX-License-Identifier: Apache-2.0
// Tests only: reads a session folder as trace/format/session.h describes it, sharing no code with capture or collect.
#ifndef XSP_TESTS_SUPPORT_RING_READER_H
#define XSP_TESTS_SUPPORT_RING_READER_H

#include "format/session.h"

#include <stdbool.h>
#include <stddef.h>

struct read_record { // one committed record and where it came from
  struct record record;
  uint32_t ring;
  uint32_t process; // of the thread that wrote it
  uint32_t tid;
  uint64_t position;
};
struct read_open {
  struct open_span span;
  uint32_t ring;
};
struct session_read {
  struct read_record *records;
  size_t count, capacity;
  struct read_open *open; // open spans whose records are not there
  size_t open_count, open_capacity;
  uint64_t dropped, lost, misused;
  uint64_t incomplete; // positions handed out but never committed
  uint32_t rings, processes, ended;
  char *catalog;
  size_t catalog_size;
  struct session_head head;
  struct session_control control;
  struct process_head process[64]; // by number, those below 64
};

// Slots of the ring when it wrote the position; the position, or the first after a gap that a growth left.
uint64_t slots_at(const struct ring_head *ring, uint64_t position);
uint64_t not_skipped(const struct ring_head *ring, uint64_t position);
// Fails the test (message on stderr, false) if the folder violates the format.
bool session_read(const char *directory, struct session_read *ret_read);
void session_read_done(struct session_read *read);
const char *read_text(const struct session_read *read, uint32_t string_id);         // NULL: no such string
const struct catalog_site *read_site(const struct session_read *read, uint32_t id); // NULL: no such site
size_t count_spans(const struct session_read *read, const char *name);              // finished spans of that name
const struct read_record *find_span(const struct session_read *read, const char *name);
// The first record of `type` about the span.
const struct read_record *find_about(const struct session_read *read, const struct read_record *span, unsigned type);
bool ids_are_unique(const struct session_read *read);
void remove_folder(const char *directory);

#endif
