// SPDX-License-Identifier: Apache-2.0
// Takes over what other profilers recorded: files in, spans, tags and tracks in a store out. Front door of
// importers/. What is a kernel, a layer, a model in each source: docs/importers.md.
#ifndef XSP_IMPORTERS_IMPORT_H
#define XSP_IMPORTERS_IMPORT_H

#include "base/arena.h"
#include "base/error.h"
#include "store/store.h"

#include <signal.h>

#define IMPORT_LIMIT_DEFAULT ((uint64_t)4 << 30) // bytes of one file after decompression

// What the caller says of one file's runs, and the file may not contradict. All 0: nothing.
struct import_given {
  int64_t batch_size;      // 0: as the file says
  struct level_set levels; // mask 0: as the file says, else those of its spans
  unsigned warmups;        // so many first observations of each run are warm-ups
};
struct import_options {
  const char *format;      // importer's name; NULL: by content
  const char *layer;       // run.layer to store: "outermost", "innermost", "module"; NULL: the importer's own choice
  const char *model_range; // shell glob (fnmatch) over the names of ranges: matches are model spans and steps; NULL
  uint64_t limit_bytes;    // 0: IMPORT_LIMIT_DEFAULT
  unsigned threads;        // 1: everything on the caller's thread; 0: as many as pay (2)
  const struct import_given *given;    // one for each file; NULL: nothing is given
  const volatile sig_atomic_t *cancel; // not 0: stop soon, with STATUS_SYSTEM "it was interrupted"; NULL: never
  // NULL, or called while a regular file is read: how much of it, as it lies there. On one thread at a time, not always the
  // caller's; nothing else prints until the import ends.
  void (*progress)(void *context, const char *path, uint64_t done_bytes, uint64_t size_bytes);
  void *progress_context;
};
struct import_count {
  const char *reason; // "negative duration"
  uint64_t count;
};
struct import_file { // what became of one file
  const char *path, *format;
  const char *version;                // of the format, as the file says; NULL: it does not
  uint64_t events;                    // all that the file holds: events, rows, spans
  uint64_t kept;                      // of those that became spans
  const struct import_count *skipped; // by reason; events == kept + their sum
  size_t skipped_count;
  const char *const
      *notes; // one sentence each, for people: "705 kernels have no launch record (the trace begins later)"
  size_t note_count;
  const int64_t *run_ids; // usually one
  size_t run_count;
};

// Reads the files one by one into `store` (open for writing, nothing in it yet), as one experiment: one run a file
// (OTLP files bring their own runs and experiments). Does not correlate, does not finish the store.
// STATUS_INPUT with file, offset and reason where a file is broken; what is then in the store is to be discarded.
// Results live in `arena`. Threads: called from one; with threads != 1 others read and write the store meanwhile, which are
// gone on return.
enum status import_files(const char *const *paths, size_t count, const struct import_options *options,
                         struct store *store, struct arena *arena, struct import_file **ret_files,
                         struct error *err) MUST_CHECK;

// Adds one file of one run to a run that is in `store` already, such as a profile that a framework wrote in a traced process.
// Times are Unix times; call paths and facts about systems are not taken. On an error the store is to be discarded.
struct import_place {
  int64_t run_id;
  int64_t span_base, track_base; // behind all ids of the run: what the file numbers from 1 is numbered from there
  uint32_t level_mask;           // spans of other levels are left out
  const char *tracer;            // of the spans
};
enum status import_into(const char *path, const struct import_options *options, struct store *store,
                        const struct import_place *place, struct arena *arena, struct import_file *ret_file,
                        struct error *err) MUST_CHECK;

// The name of the importer that takes the file by its content; NULL: none does, or it cannot be read.
const char *import_recognise(const char *path);

// Marks the warm-ups of the files' runs, tags and observations, after correlate_store. STATUS_USE where no observation of
// a run would be left.
enum status import_mark_warmups(struct store *store, const struct import_file *files, size_t count,
                                const struct import_options *options, struct error *err) MUST_CHECK;

// STATUS_USE, with the nearest name as advice, where there is no format of this name. NULL is one: by content.
enum status import_format_check(const char *name, struct error *err) MUST_CHECK;
// The names of the formats, in the order of help, and what each is; NULL after the last.
const char *import_format_at(size_t index, const char **ret_summary);

#endif
