// SPDX-License-Identifier: Apache-2.0
// What the files of the folder hold: experiments and runs, read once for each state of a file. Any thread.
#ifndef XSP_SERVE_API_CATALOGUE_H
#define XSP_SERVE_API_CATALOGUE_H

#include "base/arena.h"
#include "serve/kept.h"

struct catalogue_experiment { // texts may be NULL: unknown
  int64_t experiment_id, created_ns;
  const char *name, *workload, *framework, *framework_version, *xsp_version;
};
struct catalogue_run {
  int64_t run_id, batch_size, dropped, spans;    // batch_size 0: unknown
  int64_t first_start_ns, last_start_ns;         // of its spans; both 0 without spans
  const struct catalogue_experiment *experiment; // never NULL
  const char *levels;                            // "M/L/K"
  bool is_unix;                                  // times are since the Unix epoch
};
struct catalogue_file {
  struct kept_file file;
  struct catalogue_experiment *experiments; // at most 1,000
  struct catalogue_run *runs;               // at most 10,000
  size_t experiment_count, run_count;
  const char *problem; // why it cannot be read; NULL: it can
  struct arena arena;
  unsigned owners; // atomic: lists that have it
};
struct catalogue_list {
  VECTOR(struct catalogue_file *) files; // the newest first; they do not change
};

struct catalogue {
  pthread_mutex_t lock;
  struct catalogue_list known;
};

// Reads a file into *into, which is {0}. STATUS_INPUT: it is not a trace. catalogue_file_done must follow, whatever the status.
enum status catalogue_read(const char *path, struct catalogue_file *into, struct error *err) MUST_CHECK;
void catalogue_file_done(struct catalogue_file *file);

void catalogue_init(struct catalogue *catalogue);
void catalogue_done(struct catalogue *catalogue);
// Looks which files are new or changed, and reads them. `path`: of the folder. catalogue_release must follow.
enum status catalogue_take(struct catalogue *catalogue, int folder, const char *path, struct catalogue_list *ret_list,
                           struct error *err) MUST_CHECK;
void catalogue_release(struct catalogue_list *list);

#endif
