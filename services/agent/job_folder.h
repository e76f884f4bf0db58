// SPDX-License-Identifier: Apache-2.0
// The folder in which an agent keeps its queue. One agent at a time uses it. Called by queue.c, under its lock.
//
//   FOLDER/.xsp-agent.lock
//   FOLDER/ID.evaluation   the record (job_record.h); replaced as a whole, so that it is always one
//   FOLDER/ID/             what xsp wrote
#ifndef XSP_AGENT_JOB_FOLDER_H
#define XSP_AGENT_JOB_FOLDER_H

#include "agent/job_record.h"
#include "base/error.h"

#include <limits.h>

#define JOB_ID_DIGITS 32u

struct job_folder {
  const char *path; // borrowed
  int file, lock;   // descriptors
};
#define JOB_FOLDER_CLOSED ((struct job_folder){.file = -1, .lock = -1})

// Makes it, and those above it. STATUS_SYSTEM: it cannot be used, or another agent uses it. The caller closes, also after an error.
enum status job_folder_open(const char *path, struct job_folder *ret_folder, struct error *err) MUST_CHECK;
void job_folder_close(struct job_folder *folder);

// The ids of all records, in `arena`; ends with NULL. What killed agents left half made or half removed is removed.
enum status job_folder_list(const struct job_folder *folder, struct arena *arena, const char *const **ret_ids,
                            struct error *err) MUST_CHECK;
// STATUS_INPUT: it is damaged.
enum status job_folder_read(const struct job_folder *folder, const char *id, struct arena *arena,
                            struct job_record *ret_record, struct error *err) MUST_CHECK;
// On the disk when it returns STATUS_OK; else the record is what it was.
enum status job_folder_write(const struct job_folder *folder, const char *id, const struct job_record *record,
                             struct error *err) MUST_CHECK;
void job_folder_remove(const struct job_folder *folder, const char *id); // the record and what xsp wrote
// FOLDER/ID, or with `name` a file in it.
void job_folder_path(const struct job_folder *folder, const char *id, const char *name, char path[PATH_MAX]);

#endif
