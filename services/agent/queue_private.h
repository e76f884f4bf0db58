// SPDX-License-Identifier: Apache-2.0
// What queue.c (the list), queue_order.c (whose turn it is) and queue_run.c (threads and processes) share. All is under queue->lock
// but `options`, `folder`, a user's name, and of a job `id`, `of` and `request`, which never change; a job that runs stays in the list.
#ifndef XSP_AGENT_QUEUE_PRIVATE_H
#define XSP_AGENT_QUEUE_PRIVATE_H

#include "agent/queue.h"

#include <pthread.h>
#include <sys/types.h>

#define QUEUE_WORKERS_MOST 64u

struct queue_user {
  char name[QUEUE_USER_BYTES]; // "": the owner
  uint64_t served;             // queue->served when one of theirs began; 0: none has
  // of queue_order
  size_t waiting;
  uint64_t oldest; // number of the one that came first, of those that wait
  struct queue_user *next;
};

struct queue_job {
  char id[QUEUE_ID_DIGITS + 1];
  struct queue_user *of;
  char *request; // owned
  uint64_t number, starts;
  enum job_state state;
  size_t place, round;                           // of queue_order; 0: does not wait
  bool is_cancelled;                             // by its user
  bool is_overdue;                               // ended by options.limit_s
  pid_t process;                                 // 0: none
  uint64_t kill_ns;                              // when it gets SIGKILL; 0: nobody ended it
  char line[sizeof((struct job_view *)0)->line]; // of one that has failed
  struct queue_job *next;
};

struct queue {
  struct queue_options options;
  struct job_folder folder;
  pthread_mutex_t lock;
  pthread_cond_t work;
  struct queue_job *first;  // in the order of their numbers
  uint64_t number;          // the last one that was given
  struct queue_user *users; // all that ever gave one: of the agent's list, and those of before
  uint64_t served;          // how many have begun
  size_t waiting;           // of queue_order
  bool is_ending;
  pthread_t workers[QUEUE_WORKERS_MOST];
  unsigned worker_count;
};

// ---- queue.c, locked
static inline bool job_is_over(const struct queue_job *job)
{
  return job->state > JOB_RUNNING;
}
void queue_note(struct queue *queue, const struct queue_job *job); // the same; a failure is reported
void queue_drop_oldest(struct queue *queue, const struct queue_user *user);

// ---- queue_order.c, locked
struct queue_user *queue_user_of(struct queue *queue, const char *name); // made if there is none
// After each change of what waits: sets places, and how many wait.
void queue_order(struct queue *queue);
struct queue_job *queue_begin(struct queue *queue); // the next one, which is JOB_RUNNING now; NULL: none waits

// ---- queue_run.c
void *queue_work(void *queue);                                        // a worker's thread
void queue_end_process(struct queue_job *job);                        // locked; it has five seconds
void queue_progress(const struct queue *queue, struct job_view *job); // not locked: its file may grow

#endif
