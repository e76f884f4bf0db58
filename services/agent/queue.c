// SPDX-License-Identifier: Apache-2.0
// A list of jobs in the order they came, each of which is on disk, too. Called by start.c and evaluation_routes.c. Records are written
// under the lock: a list that is ahead of the disk would lose what it has acknowledged.
#include "agent/queue.h"

#include "agent/queue_private.h"
#include "base/debug.h"
#include "base/hex.h"
#include "base/input_file.h"
#include "base/memory.h"
#include "base/scoped.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

// ---- jobs --------------------------------------------------------------------------------------------------------------
static enum status queue_keep(struct queue *queue, const struct queue_job *job, struct error *err)
{
  const struct job_record record = {
      .number = job->number,
      .user = job->of->name,
      .state = job->is_cancelled ? JOB_CANCELLED : job->state,
      .starts = job->starts,
      .error = job->state == JOB_FAILED ? job->line : NULL,
      .request = job->request,
  };
  return job_folder_write(&queue->folder, job->id, &record, err);
}

void queue_note(struct queue *queue, const struct queue_job *job)
{
  struct error err = {0};
  char line[1200];
  if (queue_keep(queue, job, &err) == STATUS_OK)
    return;
  error_line(&err, line, sizeof line);
  queue->options.message("%s; a restart will not know that evaluation %s is %s", line, job->id,
                         job_state_names[job->state]);
}

static void free_job(struct queue_job *job)
{
  free(job->request);
  free(job);
}

// Locked. Takes it from the list and from the disk.
static void drop(struct queue *queue, struct queue_job *job)
{
  struct queue_job **place = &queue->first;
  while (*place != job)
    place = &(*place)->next;
  *place = job->next;
  job_folder_remove(&queue->folder, job->id);
  free_job(job);
}

void queue_drop_oldest(struct queue *queue, const struct queue_user *user)
{
  size_t finished = 0;
  for (struct queue_job *job = queue->first; job != NULL; job = job->next)
    finished += job_is_over(job) && job->of == user;
  for (struct queue_job *job = queue->first, *next; job != NULL && finished > QUEUE_FINISHED_MOST; job = next) {
    next = job->next;
    if (job_is_over(job) && job->of == user) {
      drop(queue, job);
      finished--;
    }
  }
}

// Locked.
static struct queue_job *find(struct queue *queue, const char *id)
{
  struct queue_job *job = queue->first;
  while (job != NULL && strcmp(job->id, id) != 0)
    job = job->next;
  return job;
}

// Locked. Where its number has it.
static void insert(struct queue *queue, struct queue_job *job)
{
  struct queue_job **place = &queue->first;
  while (*place != NULL && (*place)->number <= job->number)
    place = &(*place)->next;
  job->next = *place;
  *place = job;
  queue->number = job->number > queue->number ? job->number : queue->number;
}

// ---- the queue ---------------------------------------------------------------------------------------------------------
// One that ran when its agent was killed waits again, but not for ever: maybe the agent ended because of it.
static void take_over(struct queue *queue, const char *id, const struct job_record *record)
{
  struct queue_job *job = memory_new(1, sizeof *job);
  snprintf(job->id, sizeof job->id, "%s", id);
  job->of = queue_user_of(queue, record->user);
  snprintf(job->line, sizeof job->line, "%s", record->error != NULL ? record->error : "");
  job->request = memory_text(record->request);
  job->number = record->number;
  job->starts = record->starts;
  job->state = record->state;
  if (job->state == JOB_RUNNING) {
    job->state = job->starts < QUEUE_STARTS_MOST ? JOB_QUEUED : JOB_FAILED;
    if (job->state == JOB_FAILED)
      snprintf(
          job->line, sizeof job->line,
          "cannot measure: the agent ended while it ran, %u times; try: the same without the agent, on its machine",
          QUEUE_STARTS_MOST);
    queue_note(queue, job);
  }
  DEBUG(agent, "evaluation %s of before: %s", job->id, job_state_names[job->state]);
  insert(queue, job);
}

static enum status read_folder(struct queue *queue, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  const char *const *ids = NULL;
  XSP_TRY(job_folder_list(&queue->folder, &arena, &ids, err));
  for (; *ids != NULL; ids++) {
    struct job_record record;
    struct error problem = {0};
    char line[1200];
    if (job_folder_read(&queue->folder, *ids, &arena, &record, &problem) == STATUS_OK) {
      take_over(queue, *ids, &record);
      continue;
    }
    error_line(&problem, line, sizeof line);
    queue->options.message("%s; the evaluation is left out", line);
  }
  return STATUS_OK;
}

enum status queue_start(const struct queue_options *options, struct queue **ret_queue, struct error *err)
{
  struct queue *queue = *ret_queue = memory_new(1, sizeof *queue);
  queue->options = *options;
  pthread_mutex_init(&queue->lock, NULL);
  pthread_cond_init(&queue->work, NULL);
  XSP_TRY(job_folder_open(options->folder, &queue->folder, err));
  XSP_TRY(read_folder(queue, err));
  queue_order(queue);
  while (queue->worker_count < options->workers && queue->worker_count < QUEUE_WORKERS_MOST) {
    if (pthread_create(&queue->workers[queue->worker_count], NULL, queue_work, queue) != 0)
      return error_set(err, STATUS_SYSTEM, "cannot run evaluations", NULL, NULL, "no thread can be started");
    queue->worker_count++;
  }
  return STATUS_OK;
}

void queue_stop(struct queue *queue)
{
  if (queue == NULL)
    return;
  pthread_mutex_lock(&queue->lock);
  queue->is_ending = true;
  for (struct queue_job *job = queue->first; job != NULL; job = job->next)
    queue_end_process(job);
  pthread_cond_broadcast(&queue->work);
  pthread_mutex_unlock(&queue->lock);
  for (unsigned i = 0; i < queue->worker_count; i++)
    pthread_join(queue->workers[i], NULL);
  for (struct queue_job *job = queue->first, *next; job != NULL; job = next) {
    next = job->next;
    free_job(job);
  }
  for (struct queue_user *user = queue->users, *next; user != NULL; user = next) {
    next = user->next;
    free(user);
  }
  job_folder_close(&queue->folder);
  pthread_cond_destroy(&queue->work);
  pthread_mutex_destroy(&queue->lock);
  free(queue);
}

// Locked.
static void view(const struct queue_job *job, struct job_view *ret_job)
{
  *ret_job = (struct job_view){.state = job->state, .place = job->place};
  memcpy(ret_job->id, job->id, sizeof ret_job->id);
  memcpy(ret_job->user, job->of->name, sizeof ret_job->user);
  memcpy(ret_job->line, job->line, sizeof ret_job->line);
}

// Locked.
static enum queue_result add(struct queue *queue, struct queue_job *job, struct error *err)
{
  if (job->of->waiting >= queue->options.waiting_most_each)
    return QUEUE_FULL_FOR_USER;
  if (queue->waiting >= queue->options.waiting_most || queue->is_ending || find(queue, job->id) != NULL)
    return QUEUE_FULL;
  job->number = queue->number + 1;
  if (queue_keep(queue, job, err) != STATUS_OK)
    return QUEUE_NOT_KEPT;
  insert(queue, job);
  queue_order(queue);
  pthread_cond_signal(&queue->work);
  return QUEUE_ADDED;
}

enum queue_result queue_add(struct queue *queue, const char *user, const char *request, struct job_view *ret_job,
                            struct error *err)
{
  uint8_t number[QUEUE_ID_DIGITS / 2];
  struct queue_job *job = memory_new(1, sizeof *job);
  if (getrandom(number, sizeof number, 0) != (ssize_t)sizeof number)
    memset(number, 0, sizeof number);
  hex_encode(job->id, number, sizeof number);
  job->request = memory_text(request);
  pthread_mutex_lock(&queue->lock);
  job->of = queue_user_of(queue, user != NULL ? user : "");
  enum queue_result result = add(queue, job, err);
  if (result == QUEUE_ADDED)
    view(job, ret_job);
  pthread_mutex_unlock(&queue->lock);
  if (result == QUEUE_ADDED)
    queue->options.changed(queue->options.context);
  else
    free_job(job);
  return result;
}

bool queue_find(struct queue *queue, const char *id, struct job_view *ret_job)
{
  pthread_mutex_lock(&queue->lock);
  const struct queue_job *job = find(queue, id);
  if (job != NULL)
    view(job, ret_job);
  pthread_mutex_unlock(&queue->lock);
  if (job != NULL)
    queue_progress(queue, ret_job);
  return job != NULL;
}

void queue_list(struct queue *queue, struct arena *arena, struct job_view **ret_jobs, size_t *ret_count)
{
  size_t count = 0;
  pthread_mutex_lock(&queue->lock);
  for (const struct queue_job *job = queue->first; job != NULL; job = job->next)
    count++;
  *ret_jobs = arena_alloc_array(arena, count + 1, sizeof **ret_jobs);
  *ret_count = 0;
  for (const struct queue_job *job = queue->first; job != NULL; job = job->next)
    view(job, &(*ret_jobs)[(*ret_count)++]);
  pthread_mutex_unlock(&queue->lock);
  for (size_t i = 0; i < count; i++)
    queue_progress(queue, &(*ret_jobs)[i]);
}

// Locked. The record has it before the process has ended: if the agent is killed in between, it does not begin again.
static void cancel(struct queue *queue, struct queue_job *job)
{
  job->is_cancelled = true;
  if (job->state == JOB_QUEUED)
    job->state = JOB_CANCELLED;
  queue_end_process(job);
  queue_note(queue, job);
  queue_order(queue);
  queue_drop_oldest(queue, job->of); // maybe this one
}

bool queue_remove(struct queue *queue, const char *id)
{
  pthread_mutex_lock(&queue->lock);
  struct queue_job *job = find(queue, id);
  if (job != NULL && job_is_over(job))
    drop(queue, job);
  else if (job != NULL)
    cancel(queue, job);
  pthread_mutex_unlock(&queue->lock);
  if (job != NULL)
    queue->options.changed(queue->options.context);
  return job != NULL;
}

int queue_open(struct queue *queue, const char *id, const char *name, uint64_t *ret_bytes)
{
  char path[PATH_MAX];
  struct stat facts;
  SCOPED_LOCK(&queue->lock);
  job_folder_path(&queue->folder, id, name, path);
  int file = find(queue, id) != NULL ? regular_file_open(AT_FDCWD, path, O_RDONLY, &facts) : -1;
  *ret_bytes = file >= 0 ? (uint64_t)facts.st_size : 0;
  return file;
}

size_t queue_busy(struct queue *queue)
{
  size_t busy = 0;
  SCOPED_LOCK(&queue->lock);
  for (const struct queue_job *job = queue->first; job != NULL; job = job->next)
    busy += !job_is_over(job);
  return busy;
}
