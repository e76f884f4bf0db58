// SPDX-License-Identifier: Apache-2.0
// Starts the program, waits for it, and handles signals meanwhile. Called by execute.c.
//
// Signals. The terminal and `kill -PGID` send to the whole process group, so the program has them already; what is sent to
// xsp's own number has to be sent on. Which it was cannot be seen from a signal, so there is a *sentinel*: a child in the
// same group that blocks everything and does nothing. A signal that is pending there too was sent to the group.
#include "launch/process.h"

#include "base/clock.h"
#include "base/proc.h"
#include "base/transfer.h"
#include "launch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define GROUP_WAIT_NS 2000000 // the kernel sends to one process of a group after the other
#define WATCH_EVERY_NS 50000000

extern char **environ;

static struct {
  bool is_known;
  sigset_t mask;
  struct sigaction action[NSIG];
  struct rlimit limit[RLIM_NLIMITS];
} given; // what xsp was started with

// Meant for the program; xsp's own file, rings and descriptors take what the hard limit allows.
static const int raised_limits[] = {RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_DATA};

static const int watched_signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM,
                                      SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGWINCH};

static void watched_set(sigset_t *ret_set)
{
  sigemptyset(ret_set);
  for (size_t i = 0; i < sizeof watched_signals / sizeof *watched_signals; i++)
    sigaddset(ret_set, watched_signals[i]);
  for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
    sigaddset(ret_set, number);
}

static int64_t now_ns(clockid_t clock)
{
  return (int64_t)clock_now_ns(clock);
}

static void sleep_ns(int64_t duration_ns)
{
  struct timespec time = {duration_ns / SECOND_NS, duration_ns % SECOND_NS};
  (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

void process_prepare(void)
{
  if (given.is_known)
    return;
  sigprocmask(SIG_SETMASK, NULL, &given.mask);
  for (int number = 1; number < NSIG; number++)
    if (sigaction(number, NULL, &given.action[number]) != 0)
      given.action[number].sa_handler = SIG_DFL;
  for (size_t i = 0; i < sizeof raised_limits / sizeof *raised_limits; i++) {
    struct rlimit *limit = &given.limit[raised_limits[i]];
    if (getrlimit((__rlimit_resource_t)raised_limits[i], limit) != 0)
      *limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    const struct rlimit raised = {limit->rlim_max, limit->rlim_max};
    (void)setrlimit((__rlimit_resource_t)raised_limits[i], &raised);
  }
  signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error, no end
  given.is_known = true;
}

// ---- helpers in xsp's process group ----------------------------------------------------------------------------------------
// A child that dies with xsp and blocks all signals. Its process is 0 where it cannot be started.
static void start_helper(void (*function)(const void *), const void *context, struct child *ret_helper)
{
  const struct child_command command = {
      .function = function, .context = context, .death_signal = SIGKILL, .is_bare = true};
  (void)child_start(&command, ret_helper);
}

static void become_helper(void)
{
  prctl(PR_SET_NAME, "xsp-signals");
  if (close_range(0, ~0u, 0) != 0) // Linux < 5.9
    for (int file = 0; file < 1024; file++)
      close(file);
}

static void be_sentinel(const void *context)
{
  become_helper();
  for (;;)
    pause();
}

static bool is_stopped(pid_t process)
{
  char state = proc_state(process, NULL);
  return state == 'T' || state == 't';
}

// Continues a stopped xsp when the program was continued by somebody who does not know of xsp.
static void be_watcher(const void *context)
{
  const pid_t program = *(const pid_t *)context, parent = getppid();
  become_helper();
  for (struct watch watch = {0};;) {
    sleep_ns(WATCH_EVERY_NS);
    uint64_t stop = proc_stop(parent);
    bool is_program_stopped = is_stopped(program);
    if (watch_look(&watch, stop == proc_stop(parent) ? stop : 0, is_program_stopped))
      kill(parent, SIGCONT);
  }
}

// ---- starting ------------------------------------------------------------------------------------------------------------
struct start_note { // from the child, just before it becomes the program; error: it could not
  int64_t start_ns;
  int error;
};

struct start {
  char *const *command, *const *environment;
  int notes;
};

static void become(const void *context)
{
  const struct start *start = context;
  for (int number = 1; number < NSIG; number++) // others have no handler that an exec would keep
    if (given.action[number].sa_handler == SIG_IGN || given.action[number].sa_handler == SIG_DFL)
      (void)sigaction(number, &given.action[number], NULL);
  for (size_t i = 0; i < sizeof raised_limits / sizeof *raised_limits; i++)
    (void)setrlimit((__rlimit_resource_t)raised_limits[i], &given.limit[raised_limits[i]]);
  environ = (char **)start->environment;
  struct start_note note = {now_ns(CLOCK_REALTIME), 0};
  ssize_t written = write(start->notes, &note, sizeof note);
  sigprocmask(SIG_SETMASK, &given.mask, NULL);
  if (written == (ssize_t)sizeof note)
    execvp(start->command[0], start->command);
  note.error = errno;
  written = write(start->notes, &note, sizeof note);
}

static bool read_note(int notes, struct start_note *ret_note)
{
  return transfer_read(notes, ret_note, sizeof *ret_note) == sizeof *ret_note;
}

static enum status cannot_start(const char *command, int error, struct error *err)
{
  struct stat file;
  bool is_path = strchr(command, '/') != NULL, is_there = is_path && stat(command, &file) == 0;
  const char *advice = NULL;
  if (error == ENOENT && is_there)
    advice = "the interpreter or loader that the file asks for: it is not on this machine";
  else if (error == ENOENT)
    advice = is_path ? "another path" : "its path, or a look at PATH";
  else if (error == EACCES)
    advice =
        is_there && S_ISDIR(file.st_mode) ? "a program: this is a folder" : "chmod +x, or the interpreter before it";
  errno = error;
  return error_set_errno(err, STATUS_SYSTEM, "cannot start the program", command[0] == 0 ? "''" : command, advice);
}

enum status process_start(char *const *command, char *const *environment, struct process *ret_process,
                          bool *ret_cannot_exec, struct error *err)
{
  sigset_t watched;
  int notes[2];
  *ret_process = (struct process){0};
  *ret_cannot_exec = false;
  process_prepare();
  watched_set(&watched);
  sigprocmask(SIG_BLOCK, &watched, NULL);
  for (size_t i = 0; i < sizeof watched_signals / sizeof *watched_signals; i++)
    signal(watched_signals[i], SIG_DFL); // one that is ignored would never be seen, and children never be waited for
  if (pipe2(notes, O_CLOEXEC) != 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot start the program", command[0], NULL);
  start_helper(be_sentinel, NULL, &ret_process->sentinel);
  const struct start start = {command, environment, notes[1]};
  struct child *program = &ret_process->program;
  int failure = child_start(&(struct child_command){.function = become, .context = &start, .is_bare = true}, program);
  close(notes[1]);
  struct start_note note = {0};
  bool was_begun = failure == 0 && read_note(notes[0], &note);
  ret_process->process = program->process;
  ret_process->start_ns = note.start_ns;
  bool has_failed = was_begun && read_note(notes[0], &note);
  close(notes[0]);
  if (was_begun && !has_failed)
    return STATUS_OK;
  (void)child_end(program, 0);
  (void)child_end(&ret_process->sentinel, 0);
  *ret_cannot_exec = has_failed;
  return cannot_start(command[0], has_failed ? note.error : failure != 0 ? failure : EIO, err);
}

// ---- while it runs -------------------------------------------------------------------------------------------------------------

// Stops as the program stopped, so that the shell that waits for xsp sees it; goes on when it is continued.
static void stop_too(struct process *process, int number)
{
  siginfo_t since = {0};
  if (waitid(P_PID, (id_t)process->process, &since, WCONTINUED | WEXITED | WNOHANG | WNOWAIT) == 0 && since.si_pid != 0)
    return; // it was continued, or has ended
  struct child watcher;
  start_helper(be_watcher, &process->process, &watcher);
  process->watcher = watcher.process; // SIGCONT that it sent may be taken after its end
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  kill(getpid(), number);
  sigprocmask(SIG_UNBLOCK, &one, NULL); // here; an orphaned group is not stopped by the terminal's signals
  sigset_t watched;
  watched_set(&watched);
  sigprocmask(SIG_BLOCK, &watched, NULL);
  (void)child_end(&watcher, 0);
}

static void look_at_program(struct process *process)
{
  int how = 0;
  for (;;) {
    if (TEMP_FAILURE_RETRY(waitpid(process->process, &how, WNOHANG | WUNTRACED | WCONTINUED)) != process->process)
      return;
    if (WIFSTOPPED(how)) {
      stop_too(process, WSTOPSIG(how));
    } else if (!WIFCONTINUED(how)) {
      process->end_ns = now_ns(CLOCK_REALTIME);
      process->wait_status = how;
      process->has_ended = true;
      process->program.process = 0; // it was waited for
      return;
    }
  }
}

static uint64_t bit(int number)
{
  return UINT64_C(1) << (number - 1);
}

// A signal stays pending in the sentinel, so the next question needs a new one. Signals that the old one alone has, and that
// wait in xsp, were sent to the group, too. Not stops and SIGCONT: each takes the other away.
static void replace_sentinel(struct process *process)
{
  const uint64_t job_control = bit(SIGCONT) | bit(SIGSTOP) | bit(SIGTSTP) | bit(SIGTTIN) | bit(SIGTTOU);
  struct child old = process->sentinel;
  start_helper(be_sentinel, NULL, &process->sentinel);
  uint64_t before = proc_pending(old.process), since = proc_pending(process->sentinel.process);
  process->for_group |= before & ~since & proc_pending(getpid()) & ~job_control;
  (void)child_end(&old, 0);
}

// Did the whole group get it?
static bool was_for_group(struct process *process, const siginfo_t *info)
{
  const uint64_t wanted = bit(info->si_signo);
  if (process->for_group & wanted) {
    process->for_group &= ~wanted;
    return true;
  }
  const pid_t sentinel = process->sentinel.process;
  if (sentinel == 0)
    return info->si_signo != SIGTERM && info->si_signo != SIGHUP; // better once too few than twice
  bool is_pending = proc_pending(sentinel) & wanted;
  if (!is_pending) {
    sleep_ns(GROUP_WAIT_NS);
    is_pending = proc_pending(sentinel) & wanted;
  }
  if (is_pending)
    replace_sentinel(process);
  // From the kernel to xsp alone: an alarm set before its exec, and a terminal's hang-up where xsp leads the session.
  bool is_ours = info->si_signo == SIGALRM || info->si_signo == SIGHUP || info->si_signo == SIGCONT;
  return is_pending || (info->si_code == SI_KERNEL && !is_ours);
}

// A stop by the terminal that came after a SIGCONT, which would have taken it away.
static bool is_stop_pending(void)
{
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGTSTP) == 1 || sigismember(&pending, SIGTTIN) == 1 ||
         sigismember(&pending, SIGTTOU) == 1;
}

static void handle(struct process *process, const siginfo_t *info)
{
  int number = info->si_signo;
  bool is_end = number == SIGINT || number == SIGQUIT || number == SIGTERM || number == SIGHUP;
  process->was_interrupted |= is_end && given.action[number].sa_handler != SIG_IGN; // nohup
  bool is_from_watcher = number == SIGCONT && process->watcher > 0 && info->si_pid == process->watcher;
  if (is_from_watcher || was_for_group(process, info))
    return;
  if (number == SIGCONT && (!is_stopped(process->process) || is_stop_pending())) // in this order: a stop comes to both
    return;
  if (info->si_code == SI_QUEUE)
    (void)sigqueue(process->process, number, info->si_value);
  else
    (void)kill(process->process, number); // not reaped yet, so the number is still its own
}

void process_wait(struct process *process, int64_t timeout_ns)
{
  sigset_t watched;
  watched_set(&watched);
  int64_t deadline_ns = now_ns(CLOCK_MONOTONIC) + timeout_ns;
  while (!process->has_ended) { // a SIGCHLD that came before is pending
    int64_t left_ns = deadline_ns - now_ns(CLOCK_MONOTONIC);
    if (left_ns <= 0)
      return;
    const struct timespec timeout = {left_ns / SECOND_NS, left_ns % SECOND_NS};
    siginfo_t info = {0};
    int number = sigtimedwait(&watched, &info, &timeout);
    if (number > 0 && number != SIGCHLD)
      handle(process, &info);
    look_at_program(process); // at each: SIGCHLD comes last of all that are pending, and others may never end
  }
}

bool process_is_asked_to_end(struct process *process)
{
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGQUIT);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGHUP);
  const struct timespec at_once = {0, 0};
  bool is_asked = sigtimedwait(&ends, NULL, &at_once) > 0;
  process->was_interrupted |= is_asked;
  return is_asked;
}

void process_done(struct process *process)
{
  (void)child_end(&process->sentinel, 0);
  (void)child_end(&process->program, 0);
}
