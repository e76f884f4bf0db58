// SPDX-License-Identifier: Apache-2.0
// A list of jobs in the order they came, and threads that run them. Called by agent.c and evaluation_routes.c. All but what a job's
// thread itself does is under one lock; a process is waited for without it, and reaped under it, so that its number is valid
// wherever a signal is sent.
#include "agent/queue.h"

#include "agent/child.h"
#include "base/clock.h"
#include "base/debug.h"
#include "base/folder.h"
#include "base/hex.h"
#include "base/input_file.h"
#include "base/memory.h"
#include "base/slice.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_NS UINT64_C(5000000000) // from SIGTERM, after which xsp keeps what it has, to SIGKILL
#define WORKERS_MOST 64u

const char *const job_state_names[] = {"queued", "running", "done", "failed", "cancelled"};

struct job {
  char id[QUEUE_ID_DIGITS + 1];
  char user[QUEUE_USER_BYTES];
  char **arguments; // owned; NULL once it has begun
  enum job_state state;
  bool is_unwanted;                              // cancelled, or the agent ends
  pid_t process;                                 // 0: none
  uint64_t kill_ns;                              // when it gets SIGKILL; 0: nobody ended it
  char line[sizeof((struct job_view *)0)->line]; // of one that has failed
  struct job *next;
};
struct queue {
  const char *folder;
  void (*changed)(void *context);
  void *context;
  pthread_mutex_t lock;
  pthread_cond_t work;
  struct job *first; // locked, as what follows
  bool is_ending;
  pthread_t workers[WORKERS_MOST];
  unsigned worker_count;
};

static void path_of(const struct queue *queue, const char *id, const char *name, char *path, size_t size)
{
  snprintf(path, size, "%s/%s%s%s", queue->folder, id, name[0] != 0 ? "/" : "", name);
}

// ---- jobs --------------------------------------------------------------------------------------------------------------
static void free_arguments(struct job *job)
{
  for (size_t i = 0; job->arguments != NULL && job->arguments[i] != NULL; i++)
    free(job->arguments[i]);
  free(job->arguments);
  job->arguments = NULL;
}

static bool is_over(const struct job *job)
{
  return job->state > JOB_RUNNING;
}

// Locked. Takes it from the list and from the disk.
static void drop(struct queue *queue, struct job *job)
{
  char path[4200];
  struct job **place = &queue->first;
  while (*place != job)
    place = &(*place)->next;
  *place = job->next;
  path_of(queue, job->id, "", path, sizeof path);
  folder_remove_tree(path);
  free_arguments(job);
  free(job);
}

static bool is_of(const struct job *job, const char *user)
{
  return strcmp(job->user, user) == 0;
}

// Locked.
static void drop_oldest(struct queue *queue, const char *user)
{
  size_t finished = 0;
  for (struct job *job = queue->first; job != NULL; job = job->next)
    finished += is_over(job) && is_of(job, user);
  for (struct job *job = queue->first, *next; job != NULL && finished > QUEUE_FINISHED_MOST; job = next) {
    next = job->next;
    if (is_over(job) && is_of(job, user)) {
      drop(queue, job);
      finished--;
    }
  }
}

static struct job *find(struct queue *queue, const char *id)
{
  struct job *job = queue->first;
  while (job != NULL && strcmp(job->id, id) != 0)
    job = job->next;
  return job;
}

// Locked.
static void end(struct job *job)
{
  job->is_unwanted = true;
  if (job->state == JOB_QUEUED)
    job->state = JOB_CANCELLED;
  if (job->process > 0 && job->kill_ns == 0) {
    job->kill_ns = clock_now_ns(CLOCK_MONOTONIC) + GRACE_NS;
    kill(job->process, SIGTERM);
  }
}

// ---- a process ---------------------------------------------------------------------------------------------------------
// The last line that xsp wrote to stderr.
static void last_line(const char *path, char *line, size_t size)
{
  char text[8192];
  struct stat facts;
  int file = regular_file_open(AT_FDCWD, path, O_RDONLY, &facts);
  ssize_t count = 0;
  if (file >= 0) {
    off_t from = facts.st_size > (off_t)sizeof text ? facts.st_size - (off_t)sizeof text : 0;
    count = pread(file, text, sizeof text, from);
    close(file);
  }
  struct slice rest = slice_trim((struct slice){text, count > 0 ? (size_t)count : 0}), part, last = {"", 0};
  while (slice_cut(&rest, '\n', &part))
    last = part;
  if (slice_starts_with(last, "xsp: "))
    last = slice_after(last, strlen("xsp: "));
  snprintf(line, size, "%.*s", (int)last.length, last.data);
}

// Until it has ended; it is not reaped yet.
static void wait_for(struct queue *queue, struct job *job, const struct child *child)
{
  while (!child_has_ended(child)) {
    pthread_mutex_lock(&queue->lock);
    if (job->kill_ns != 0 && clock_now_ns(CLOCK_MONOTONIC) > job->kill_ns)
      kill(-job->process, SIGKILL);
    pthread_mutex_unlock(&queue->lock);
  }
}

// Locked.
static void conclude(const struct queue *queue, struct job *job, int how)
{
  char path[4200];
  path_of(queue, job->id, QUEUE_MESSAGES, path, sizeof path);
  job->state = job->is_unwanted ? JOB_CANCELLED : WIFEXITED(how) && WEXITSTATUS(how) == 0 ? JOB_DONE : JOB_FAILED;
  if (job->state != JOB_FAILED)
    return;
  if (WIFSIGNALED(how))
    snprintf(job->line, sizeof job->line, "xsp evaluate ended by signal %d (%s)", WTERMSIG(how),
             strsignal(WTERMSIG(how)));
  else
    last_line(path, job->line, sizeof job->line);
}

static void run(struct queue *queue, struct job *job)
{
  char folder[4200], user[QUEUE_USER_BYTES];
  struct child child = {.process = 0};
  struct error err = {0};
  path_of(queue, job->id, "", folder, sizeof folder);
  enum status status = child_start(job->arguments, folder, QUEUE_TABLE, QUEUE_MESSAGES, &child, &err);
  pthread_mutex_lock(&queue->lock);
  free_arguments(job);
  if (status == STATUS_OK) {
    job->process = child.process;
    if (job->is_unwanted)
      end(job);
    pthread_mutex_unlock(&queue->lock);
    wait_for(queue, job, &child);
    pthread_mutex_lock(&queue->lock);
    kill(-job->process, SIGKILL); // what it may have left
    conclude(queue, job, child_reap(&child));
    job->process = 0;
  } else {
    job->state = JOB_FAILED;
    error_line(&err, job->line, sizeof job->line);
  }
  DEBUG(agent, "evaluation %s: %s", job->id, job_state_names[job->state]);
  memcpy(user, job->user, sizeof user);
  drop_oldest(queue, user); // maybe this one
  pthread_mutex_unlock(&queue->lock);
}

static void *work(void *context)
{
  struct queue *queue = context;
  pthread_mutex_lock(&queue->lock);
  while (!queue->is_ending) {
    struct job *job = queue->first;
    while (job != NULL && job->state != JOB_QUEUED)
      job = job->next;
    if (job == NULL) {
      pthread_cond_wait(&queue->work, &queue->lock);
      continue;
    }
    job->state = JOB_RUNNING;
    pthread_mutex_unlock(&queue->lock);
    run(queue, job);
    queue->changed(queue->context);
    pthread_mutex_lock(&queue->lock);
  }
  pthread_mutex_unlock(&queue->lock);
  return NULL;
}

// ---- the queue ---------------------------------------------------------------------------------------------------------
enum status queue_start(const char *folder, unsigned workers, void (*changed)(void *context), void *context,
                        struct queue **ret_queue, struct error *err)
{
  struct queue *queue = *ret_queue = memory_new(1, sizeof *queue);
  *queue = (struct queue){.folder = folder, .changed = changed, .context = context};
  pthread_mutex_init(&queue->lock, NULL);
  pthread_cond_init(&queue->work, NULL);
  while (queue->worker_count < workers && queue->worker_count < WORKERS_MOST) {
    if (pthread_create(&queue->workers[queue->worker_count], NULL, work, queue) != 0)
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
  for (struct job *job = queue->first; job != NULL; job = job->next)
    end(job);
  pthread_cond_broadcast(&queue->work);
  pthread_mutex_unlock(&queue->lock);
  for (unsigned i = 0; i < queue->worker_count; i++)
    pthread_join(queue->workers[i], NULL);
  while (queue->first != NULL)
    drop(queue, queue->first);
  pthread_cond_destroy(&queue->work);
  pthread_mutex_destroy(&queue->lock);
  free(queue);
}

static char **copy_arguments(const char *const *arguments, const char *output)
{
  size_t count = 0;
  while (arguments[count] != NULL)
    count++;
  char **copies = memory_new(count + 6, sizeof *copies);
  copies[0] = memory_text("xsp");
  copies[1] = memory_text("evaluate");
  for (size_t i = 0; i < count; i++)
    copies[2 + i] = memory_text(arguments[i]);
  copies[2 + count] = memory_text("--json");
  copies[3 + count] = memory_text("--output");
  copies[4 + count] = memory_text(output);
  return copies;
}

// Locked.
static void view(const struct queue *queue, const struct job *job, struct job_view *ret_job)
{
  *ret_job = (struct job_view){.state = job->state};
  memcpy(ret_job->id, job->id, sizeof ret_job->id);
  memcpy(ret_job->user, job->user, sizeof ret_job->user);
  memcpy(ret_job->line, job->line, sizeof ret_job->line);
  for (const struct job *one = queue->first; job->state == JOB_QUEUED && one != NULL; one = one->next) {
    ret_job->place += one->state == JOB_QUEUED;
    if (one == job)
      break;
  }
}

bool queue_add(struct queue *queue, const char *user, const char *const *arguments, struct job_view *ret_job)
{
  uint8_t number[QUEUE_ID_DIGITS / 2];
  struct job *job = memory_new(1, sizeof *job), **last = &queue->first;
  size_t waiting = 0;
  if (getrandom(number, sizeof number, 0) != (ssize_t)sizeof number)
    memset(number, 0, sizeof number);
  hex_encode(job->id, number, sizeof number);
  snprintf(job->user, sizeof job->user, "%s", user != NULL ? user : "");
  pthread_mutex_lock(&queue->lock);
  for (; *last != NULL; last = &(*last)->next)
    waiting += (*last)->state == JOB_QUEUED && is_of(*last, job->user);
  bool is_added = waiting < QUEUE_WAITING_MOST && !queue->is_ending && find(queue, job->id) == NULL;
  if (is_added) {
    *last = job;
    job->arguments = copy_arguments(arguments, QUEUE_OUTPUT);
    view(queue, job, ret_job);
    pthread_cond_signal(&queue->work);
  }
  pthread_mutex_unlock(&queue->lock);
  if (is_added)
    queue->changed(queue->context);
  else
    free(job);
  return is_added;
}

// Unlocked: the file may grow meanwhile.
static void read_progress(const struct queue *queue, struct job_view *job)
{
  char path[4200];
  if (job->state != JOB_RUNNING)
    return;
  path_of(queue, job->id, QUEUE_MESSAGES, path, sizeof path);
  last_line(path, job->line, sizeof job->line);
}

bool queue_find(struct queue *queue, const char *id, struct job_view *ret_job)
{
  pthread_mutex_lock(&queue->lock);
  const struct job *job = find(queue, id);
  if (job != NULL)
    view(queue, job, ret_job);
  pthread_mutex_unlock(&queue->lock);
  if (job != NULL)
    read_progress(queue, ret_job);
  return job != NULL;
}

void queue_list(struct queue *queue, struct arena *arena, struct job_view **ret_jobs, size_t *ret_count)
{
  size_t count = 0;
  pthread_mutex_lock(&queue->lock);
  for (const struct job *job = queue->first; job != NULL; job = job->next)
    count++;
  *ret_jobs = arena_alloc_array(arena, count + 1, sizeof **ret_jobs);
  *ret_count = 0;
  for (const struct job *job = queue->first; job != NULL; job = job->next)
    view(queue, job, &(*ret_jobs)[(*ret_count)++]);
  pthread_mutex_unlock(&queue->lock);
  for (size_t i = 0; i < count; i++)
    read_progress(queue, &(*ret_jobs)[i]);
}

bool queue_remove(struct queue *queue, const char *id)
{
  pthread_mutex_lock(&queue->lock);
  struct job *job = find(queue, id);
  if (job != NULL && is_over(job))
    drop(queue, job);
  else if (job != NULL) {
    char user[QUEUE_USER_BYTES];
    memcpy(user, job->user, sizeof user);
    end(job);
    drop_oldest(queue, user); // maybe this one
  }
  pthread_mutex_unlock(&queue->lock);
  if (job != NULL)
    queue->changed(queue->context);
  return job != NULL;
}

int queue_open(struct queue *queue, const char *id, const char *name, uint64_t *ret_bytes)
{
  char path[4200];
  struct stat facts;
  pthread_mutex_lock(&queue->lock);
  path_of(queue, id, name, path, sizeof path);
  int file = find(queue, id) != NULL ? regular_file_open(AT_FDCWD, path, O_RDONLY, &facts) : -1;
  pthread_mutex_unlock(&queue->lock);
  *ret_bytes = file >= 0 ? (uint64_t)facts.st_size : 0;
  return file;
}

size_t queue_busy(struct queue *queue)
{
  size_t busy = 0;
  pthread_mutex_lock(&queue->lock);
  for (const struct job *job = queue->first; job != NULL; job = job->next)
    busy += !is_over(job);
  pthread_mutex_unlock(&queue->lock);
  return busy;
}
