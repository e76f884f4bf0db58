// SPDX-License-Identifier: Apache-2.0
// Evaluations of an agent: each waits for its turn, then runs as a process `xsp evaluate` with a folder of its own. So the agent
// loads no framework, and a crash is one failed evaluation. Any thread.
#ifndef XSP_AGENT_QUEUE_H
#define XSP_AGENT_QUEUE_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_ID_DIGITS 32u
#define QUEUE_WAITING_MOST 64u   // of a user
#define QUEUE_FINISHED_MOST 100u // of a user, results that are kept; the oldest are removed
#define QUEUE_USER_BYTES 65u     // of guard_is_name, and a zero

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_DONE, JOB_FAILED, JOB_CANCELLED };
extern const char *const job_state_names[]; // "queued" …
#define QUEUE_OUTPUT "evaluation.xsp"       // in the folder of a job, as is:
#define QUEUE_TABLE "table.json"            // what xsp evaluate prints
#define QUEUE_MESSAGES "messages"           // its stderr

struct job_view { // of a moment
  char id[QUEUE_ID_DIGITS + 1];
  char user[QUEUE_USER_BYTES]; // who gave it; "": the owner
  enum job_state state;
  size_t place;    // in the queue, from 1; 0: does not wait
  char line[1024]; // of its stderr: the newest one, which shows its progress or what failed
};

struct queue;
// `folder` must exist and lives longer; `changed` is called after each change of how many are busy.
enum status queue_start(const char *folder, unsigned workers, void (*changed)(void *context), void *context,
                        struct queue **ret_queue, struct error *err) MUST_CHECK;
void queue_stop(struct queue *queue); // ends what runs; NULL: nothing

// `arguments`: of xsp evaluate, without those for its output; ends with NULL; copied. `user`: NULL is the owner. False: too many wait.
bool queue_add(struct queue *queue, const char *user, const char *const *arguments, struct job_view *ret_job);
bool queue_find(struct queue *queue, const char *id, struct job_view *ret_job); // false: there is none
// All of them, the oldest first, in `arena`.
void queue_list(struct queue *queue, struct arena *arena, struct job_view **ret_jobs, size_t *ret_count);
// Ends it; of one that has ended removes what is kept. False: there is none.
bool queue_remove(struct queue *queue, const char *id);
// For reading a file of the job's folder. -1: there is no such job or file.
int queue_open(struct queue *queue, const char *id, const char *name, uint64_t *ret_bytes);
size_t queue_busy(struct queue *queue); // run or wait

#endif
