// SPDX-License-Identifier: Apache-2.0
// Threads that run evaluations, each as a process. Called by queue.c. A process is waited for without the lock, and reaped under it, so
// that its number is valid wherever a signal is sent.
#include "agent/child.h"
#include "agent/queue_private.h"
#include "base/clock.h"
#include "base/debug.h"
#include "base/folder.h"
#include "base/input_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_NS UINT64_C(5000000000) // from SIGTERM, after which xsp keeps what it has, to SIGKILL

void queue_end_process(struct job *job)
{
  if (job->process <= 0 || job->kill_ns != 0)
    return;
  job->kill_ns = clock_now_ns(CLOCK_MONOTONIC) + GRACE_NS;
  kill(job->process, SIGTERM);
}

// ---- what it prints --------------------------------------------------------------------------------------------------
static void put_line(struct slice text, char *line, size_t size)
{
  static const char mark[] = "xsp: ";
  if (slice_starts_with(text, mark))
    text = slice_after(text, sizeof mark - 1);
  snprintf(line, size, "%.*s", (int)text.length, text.data);
}

// The last line that xsp wrote to stderr.
static void last_line(const struct queue *queue, const char *id, char *line, size_t size)
{
  char text[8192], path[PATH_MAX];
  struct stat facts;
  job_folder_path(&queue->folder, id, QUEUE_MESSAGES, path);
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
  put_line(last, line, size);
}

void queue_progress(const struct queue *queue, struct job_view *job)
{
  if (job->state == JOB_RUNNING)
    last_line(queue, job->id, job->line, sizeof job->line);
}

// ---- a process -------------------------------------------------------------------------------------------------------
static enum status start(const struct queue *queue, const struct job *job, struct child *ret_child, struct error *err)
{
  const struct queue_options *options = &queue->options;
  struct arena arena = {0};
  const char *const *arguments = NULL;
  char folder[PATH_MAX];
  job_folder_path(&queue->folder, job->id, NULL, folder);
  folder_remove_tree(folder); // of a start before
  enum status status = options->command(options->context, job->of->name, job->request, &arena, &arguments, err);
  if (status == STATUS_OK)
    status = child_start((char *const *)arguments, folder, QUEUE_TABLE, QUEUE_MESSAGES, ret_child, err);
  arena_done(&arena);
  return status;
}

// Until it has ended; it is not reaped yet.
static void wait_for(struct queue *queue, struct job *job, const struct child *child)
{
  const uint64_t limit_ns = queue->options.limit_s * UINT64_C(1000000000), begun_ns = clock_now_ns(CLOCK_MONOTONIC);
  while (!child_has_ended(child)) {
    pthread_mutex_lock(&queue->lock);
    if (limit_ns > 0 && job->kill_ns == 0 && clock_now_ns(CLOCK_MONOTONIC) - begun_ns > limit_ns) {
      job->is_overdue = true;
      queue_end_process(job);
    }
    if (job->kill_ns != 0 && clock_now_ns(CLOCK_MONOTONIC) > job->kill_ns)
      kill(-job->process, SIGKILL);
    pthread_mutex_unlock(&queue->lock);
  }
}

// Locked. One that the agent's own end has ended waits again, as if it had not begun.
static void conclude(const struct queue *queue, struct job *job, int how)
{
  if (job->is_cancelled) {
    job->state = JOB_CANCELLED;
  } else if (WIFEXITED(how) && WEXITSTATUS(how) == 0) {
    job->state = JOB_DONE;
  } else if (job->is_overdue) {
    job->state = JOB_FAILED;
    snprintf(
        job->line, sizeof job->line,
        "cannot evaluate: it ran longer than %u s, the agent's limit (--time-limit), and was ended; try: fewer inputs",
        queue->options.limit_s);
  } else if (job->kill_ns != 0) {
    job->state = JOB_QUEUED;
    job->starts--;
  } else {
    job->state = JOB_FAILED;
    if (WIFSIGNALED(how))
      snprintf(job->line, sizeof job->line, "xsp evaluate ended by signal %d (%s)", WTERMSIG(how),
               strsignal(WTERMSIG(how)));
    else
      last_line(queue, job->id, job->line, sizeof job->line);
  }
}

static void run(struct queue *queue, struct job *job)
{
  char line[sizeof job->line];
  struct child child = {.process = 0};
  struct error err = {0};
  enum status status = start(queue, job, &child, &err);
  pthread_mutex_lock(&queue->lock);
  if (status == STATUS_OK) {
    job->process = child.process;
    if (job->is_cancelled || queue->is_ending)
      queue_end_process(job);
    pthread_mutex_unlock(&queue->lock);
    wait_for(queue, job, &child);
    pthread_mutex_lock(&queue->lock);
    kill(-job->process, SIGKILL); // what it may have left
    conclude(queue, job, child_reap(&child));
    job->process = 0;
  } else {
    job->state = JOB_FAILED;
    error_line(&err, line, sizeof line);
    put_line(slice_of(line), job->line, sizeof job->line);
  }
  DEBUG(agent, "evaluation %s: %s", job->id, job_state_names[job->state]);
  queue_note(queue, job);
  queue_order(queue);                // it may wait again
  queue_drop_oldest(queue, job->of); // maybe this one
  pthread_mutex_unlock(&queue->lock);
}

void *queue_work(void *context)
{
  struct queue *queue = context;
  pthread_mutex_lock(&queue->lock);
  while (!queue->is_ending) {
    struct job *job = queue_begin(queue);
    if (job == NULL) {
      pthread_cond_wait(&queue->work, &queue->lock);
      continue;
    }
    queue_note(queue, job);
    pthread_mutex_unlock(&queue->lock);
    run(queue, job);
    queue->options.changed(queue->options.context);
    pthread_mutex_lock(&queue->lock);
  }
  pthread_mutex_unlock(&queue->lock);
  return NULL;
}
