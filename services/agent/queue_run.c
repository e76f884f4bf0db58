// SPDX-License-Identifier: Apache-2.0
// Threads that run evaluations and profiles, each as a process. Called by queue.c. A process is waited for without the lock,
// and reaped under it, so that its number is valid wherever a signal is sent.
#include "agent/queue_private.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/debug.h"
#include "base/folder.h"
#include "base/input_file.h"
#include "base/scoped.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 500
#define GRACE_NS UINT64_C(5000000000) // from SIGTERM, after which xsp keeps what it has, to SIGKILL

void queue_end_process(struct queue_job *job)
{
  if (job->process <= 0 || job->kill_ns != 0)
    return;
  job->kill_ns = clock_now_ns(CLOCK_MONOTONIC) + GRACE_NS;
  kill(job->process, SIGTERM);
}

// ---- what it prints --------------------------------------------------------------------------------------------------
// The last line that xsp wrote to stderr.
static void last_line(const struct queue *queue, const char *id, char *line, size_t size)
{
  char path[PATH_MAX];
  struct stat facts;
  line[0] = 0;
  job_folder_path(&queue->folder, id, QUEUE_MESSAGES, path);
  int file SCOPED(scoped_close) = regular_file_open(AT_FDCWD, path, O_RDONLY, &facts);
  if (file < 0)
    return;
  child_last_line_of(file, line, size);
}

void queue_progress(const struct queue *queue, struct job_view *job)
{
  if (job->state == JOB_RUNNING)
    last_line(queue, job->id, job->line, sizeof job->line);
}

// ---- a process -------------------------------------------------------------------------------------------------------
// xsp itself, in the folder, which it gets new: its table and messages are files there. Without the registry's password, which is no
// business of models.
static enum status start_in(const char *folder, const char *const *arguments, struct child *ret_child,
                            struct error *err)
{
  static const char *const names[] = {QUEUE_TABLE, QUEUE_MESSAGES}, *const variables[] = {"ETCDCTL_USER", NULL};
  int place = mkdir(folder, 0700) == 0 ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, files[2] = {-1, -1};
  for (size_t i = 0; i < 2 && place >= 0; i++)
    files[i] = openat(place, names[i], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const struct child_command command = {.arguments = arguments,
                                        .program = "/proc/self/exe",
                                        .variables = variables,
                                        .folder = place,
                                        .input = CHILD_NULL,
                                        .output = files[0],
                                        .errors = files[1],
                                        .death_signal = SIGKILL,
                                        .has_group = true};
  errno = place < 0 || files[0] < 0 || files[1] < 0 ? errno : child_start(&command, ret_child);
  enum status status = STATUS_OK;
  if (errno != 0)
    status = error_set_errno(err, STATUS_SYSTEM, "cannot start xsp", folder, "TMPDIR=FOLDER with more room");
  const int opened[] = {place, files[0], files[1]};
  for (size_t i = 0; i < 3; i++)
    if (opened[i] >= 0)
      close(opened[i]);
  return status;
}

static enum status start(const struct queue *queue, const struct queue_job *job, struct child *ret_child,
                         struct error *err)
{
  const struct queue_options *options = &queue->options;
  struct arena arena SCOPED(arena_done) = {0};
  const char *const *arguments = NULL;
  char folder[PATH_MAX];
  job_folder_path(&queue->folder, job->id, NULL, folder);
  folder_remove_tree(folder); // of a start before
  XSP_TRY(options->command(options->context, job->of->name, job->request, &arena, &arguments, err));
  return start_in(folder, arguments, ret_child, err);
}

// Until it has ended; it is not reaped yet.
static void wait_for(struct queue *queue, struct queue_job *job, struct child *child)
{
  const uint64_t limit_ns = queue->options.limit_s * UINT64_C(1000000000), begun_ns = clock_now_ns(CLOCK_MONOTONIC);
  while (child_wait(child, LOOK_MS, NULL) != CHILD_ENDED) {
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
static void conclude(const struct queue *queue, struct queue_job *job, int how)
{
  if (job->is_cancelled) {
    job->state = JOB_CANCELLED;
  } else if (WIFEXITED(how) && WEXITSTATUS(how) == 0) {
    job->state = JOB_DONE;
  } else if (job->is_overdue) {
    job->state = JOB_FAILED;
    snprintf(job->line, sizeof job->line,
             "cannot measure: it ran longer than %u s, the agent's limit (--time-limit), and was ended; "
             "try: fewer inputs or runs",
             queue->options.limit_s);
  } else if (job->kill_ns != 0) {
    job->state = JOB_QUEUED;
    job->starts--;
  } else {
    job->state = JOB_FAILED;
    if (WIFSIGNALED(how))
      snprintf(job->line, sizeof job->line, "xsp ended by signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
    else
      last_line(queue, job->id, job->line, sizeof job->line);
  }
}

static void run(struct queue *queue, struct queue_job *job)
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
    conclude(queue, job, child_end(&child, 0));
    job->process = 0;
  } else {
    job->state = JOB_FAILED;
    error_line(&err, line, sizeof line);
    struct slice last = child_last_line(slice_of(line));
    snprintf(job->line, sizeof job->line, "%.*s", (int)last.length, last.data);
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
  SCOPED_LOCK(&queue->lock);
  while (!queue->is_ending) {
    struct queue_job *job = queue_begin(queue);
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
  return NULL;
}
