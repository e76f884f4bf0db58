// SPDX-License-Identifier: Apache-2.0
// Whose turn it is. Called by queue.c and queue_run.c, locked. Users with waiting evaluations take turns, whoever was served least
// recently first; within a user, what came first is first. So a user with many evaluations delays another one by one at a time.
#include "agent/queue_private.h"
#include "base/memory.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <stdio.h>

struct queue_user *queue_user_of(struct queue *queue, const char *name)
{
  struct queue_user **place = &queue->users;
  while (*place != NULL && strcmp((*place)->name, name) != 0)
    place = &(*place)->next;
  if (*place == NULL) {
    *place = memory_new(1, sizeof **place);
    snprintf((*place)->name, sizeof(*place)->name, "%s", name);
  }
  return *place;
}

// Each round has one evaluation of each user who has another one. Within a round the order stays: who begins one is served last.
// `oldest` decides among those who were never served.
SORTED_BY(by_turn, struct queue_job *const,
          ORDER((*a)->round, (*b)->round) ?: ORDER((*a)->of->served, (*b)->of->served)
                                          ?: ORDER((*a)->of->oldest, (*b)->of->oldest))

void queue_order(struct queue *queue)
{
  VECTOR(struct queue_job *) waiting SCOPED(vector_end) = {0};
  for (struct queue_user *user = queue->users; user != NULL; user = user->next)
    user->waiting = 0;
  for (struct queue_job *job = queue->first; job != NULL; job = job->next) {
    job->place = 0;
    if (job->state != JOB_QUEUED)
      continue;
    job->round = job->of->waiting++;
    if (job->round == 0)
      job->of->oldest = job->number;
    *vector_add(&waiting) = job;
  }
  vector_sort(&waiting, by_turn);
  for (size_t i = 0; i < waiting.count; i++)
    waiting.items[i]->place = i + 1;
  queue->waiting = waiting.count;
}

struct queue_job *queue_begin(struct queue *queue)
{
  struct queue_job *job = queue->first;
  while (job != NULL && job->place != 1)
    job = job->next;
  if (job == NULL)
    return NULL;
  job->state = JOB_RUNNING;
  job->starts++;
  job->of->served = ++queue->served;
  queue_order(queue);
  return job;
}
