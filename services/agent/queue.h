// SPDX-License-Identifier: Apache-2.0
// Evaluations of an agent: each waits for its turn (users take turns), then runs as a process of xsp with a folder of its own. So the agent
// loads no framework, and a crash is one failed evaluation. They are kept on disk, so that the next agent goes on with them. Any thread.
#ifndef XSP_AGENT_QUEUE_H
#define XSP_AGENT_QUEUE_H

#include "agent/job_folder.h"
#include "base/message.h"

#include <stddef.h>

#define QUEUE_ID_DIGITS JOB_ID_DIGITS
#define QUEUE_FINISHED_MOST 100u // of a user, results that are kept; the oldest are removed
#define QUEUE_STARTS_MOST 3u     // of an evaluation that ran whenever its agent was killed
#define QUEUE_USER_BYTES 65u     // of guard_is_name, and a zero

#define QUEUE_OUTPUT "evaluation.xsp" // in the folder of a job, as is:
#define QUEUE_TABLE "table.json"      // what xsp prints
#define QUEUE_MESSAGES "messages"     // its stderr

struct job_view { // of a moment
  char id[QUEUE_ID_DIGITS + 1];
  char user[QUEUE_USER_BYTES]; // who gave it; "": the owner
  enum job_state state;
  size_t place;    // in the queue, from 1, if nobody else adds one; 0: does not wait
  char line[1024]; // of its stderr: the newest one, which shows its progress or what failed
};

struct queue_options {
  const char *folder;                       // job_folder.h
  unsigned workers;                         // evaluations at a time
  unsigned waiting_most, waiting_most_each; // that wait: of all, of a user
  unsigned limit_s;                         // one that runs longer is ended and has failed; 0: none
  // The command for a request, when it begins; in `arena`, ends with NULL. An error fails the evaluation.
  enum status (*command)(void *context, const char *user, const char *request, struct arena *arena,
                         const char *const **ret_arguments, struct error *err);
  void (*changed)(void *context); // after each change of how many are busy
  void *context;
  message_fn message;
};

struct queue;
// Goes on with what an earlier agent left in the folder. The caller stops it, also after an error.
enum status queue_start(const struct queue_options *options, struct queue **ret_queue, struct error *err) MUST_CHECK;
void queue_stop(struct queue *queue); // ends what runs; the next queue_start begins it again. NULL: nothing

enum queue_result { QUEUE_ADDED, QUEUE_FULL, QUEUE_FULL_FOR_USER, QUEUE_NOT_KEPT };
// `request`: a body of POST /evaluations; copied. `user`: NULL is the owner. NOT_KEPT: the disk is full or broken.
enum queue_result queue_add(struct queue *queue, const char *user, const char *request, struct job_view *ret_job,
                            struct error *err);
bool queue_find(struct queue *queue, const char *id, struct job_view *ret_job); // false: there is none
// All of them, the oldest first, in `arena`.
void queue_list(struct queue *queue, struct arena *arena, struct job_view **ret_jobs, size_t *ret_count);
// Ends it; of one that has ended removes what is kept. False: there is none.
bool queue_remove(struct queue *queue, const char *id);
// For reading a file of the job's folder. -1: there is no such job or file.
int queue_open(struct queue *queue, const char *id, const char *name, uint64_t *ret_bytes);
size_t queue_busy(struct queue *queue); // run or wait

#endif
