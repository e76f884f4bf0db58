// SPDX-License-Identifier: Apache-2.0
// See child.h. All that a new process needs is prepared before the fork: behind it there are system calls only, because another
// thread may hold any lock. A pipe that closes with the exec reports why there was none.
#include "base/child.h"

#include "base/clock.h"
#include "base/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART_BYTES 16384
#define PIPE_BYTES_MOST (1u << 20) // what a pipe holds at most, by the kernel's default
#define LAST_BYTES 4096
#define LOOK_MS 20 // where the kernel has no descriptors of processes

extern char **environ;

struct plan { // of a new process
  const struct child_command *command;
  char path[PATH_MAX];
  char **variables; // borrowed, or of malloc
  int streams[3];   // as in the command, but with pipes
  int report;       // an errno is written here
  pid_t parent;
};

// ---- before the fork -------------------------------------------------------------------------------------------------
bool child_find(const char *program, char path[PATH_MAX])
{
  const char *folders = getenv("PATH");
  if (strchr(program, '/') != NULL)
    return snprintf(path, PATH_MAX, "%s", program) < PATH_MAX;
  struct slice rest = slice_of(folders != NULL ? folders : "/bin:/usr/bin"), folder;
  while (slice_cut(&rest, ':', &folder)) {
    struct stat facts;
    int length =
        snprintf(path, PATH_MAX, "%.*s%s%s", (int)folder.length, folder.data, folder.length > 0 ? "/" : "", program);
    if (length < PATH_MAX && access(path, X_OK) == 0 && stat(path, &facts) == 0 && S_ISREG(facts.st_mode))
      return true;
  }
  return false;
}

static bool is_changed(const char *entry, const char *const *changes)
{
  size_t length = strcspn(entry, "=");
  while (*changes != NULL && (strncmp(*changes, entry, length) != 0 || strcspn(*changes, "=") != length))
    changes++;
  return *changes != NULL;
}

// The caller frees the list, whose texts are borrowed. NULL: no memory.
static char **changed_environment(const char *const *changes)
{
  size_t count = 0, change_count = 0, kept = 0;
  while (environ != NULL && environ[count] != NULL)
    count++;
  while (changes[change_count] != NULL)
    change_count++;
  char **list = malloc((count + change_count + 1) * sizeof *list);
  if (list == NULL)
    return NULL;
  for (size_t i = 0; i < count; i++)
    if (!is_changed(environ[i], changes))
      list[kept++] = environ[i];
  for (size_t i = 0; i < change_count; i++)
    if (strchr(changes[i], '=') != NULL)
      list[kept++] = (char *)(uintptr_t)changes[i];
  list[kept] = NULL;
  return list;
}

static void close_one(int *file)
{
  if (*file >= 0)
    close(*file);
  *file = -1;
}

// Both ends are above the standard streams, which may be closed.
static bool make_pipe(int ret_ends[2])
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return false;
  for (int i = 0; i < 2; i++)
    ret_ends[i] = ends[i] > STDERR_FILENO ? ends[i] : fcntl(ends[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  bool is_made = ret_ends[0] >= 0 && ret_ends[1] >= 0;
  for (int i = 0; i < 2; i++) {
    if (ret_ends[i] != ends[i])
      close(ends[i]);
    if (!is_made)
      close_one(&ret_ends[i]);
  }
  return is_made;
}

// ---- the new process -------------------------------------------------------------------------------------------------
static bool place_streams(const int sources[3])
{
  int copies[3] = {-1, -1, -1}; // above all three first: a source may be one of them
  for (int i = 0; i < 3; i++) {
    int source = sources[i] == CHILD_NULL ? open("/dev/null", O_RDWR | O_CLOEXEC) : sources[i];
    if (source == 0)
      continue;
    if (source < 0 || (copies[i] = fcntl(source, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) < 0)
      return false;
  }
  for (int i = 0; i < 3; i++)
    if (copies[i] >= 0 && dup2(copies[i], i) < 0)
      return false;
  return true;
}

// Default actions, except for what is ignored: nohup's SIGHUP stays so. SIGPIPE and SIGXFSZ are ignored by libraries and servers only.
static void reset_signals(void)
{
  sigset_t none;
  for (int number = 1; number < NSIG; number++) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) == 0 &&
        (action.sa_handler != SIG_IGN || number == SIGPIPE || number == SIGXFSZ))
      signal(number, SIG_DFL);
  }
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool prepare(const struct plan *plan)
{
  const struct child_command *command = plan->command;
  if (command->is_bare)
    return true;
  if (!place_streams(plan->streams) || (command->folder > 0 && fchdir(command->folder) != 0))
    return false;
  (void)close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC); // Linux < 5.11 keeps those of careless libraries
  for (size_t i = 0; i < sizeof command->kept / sizeof command->kept[0]; i++)
    if (command->kept[i] > 0)
      fcntl(command->kept[i], F_SETFD, 0);
  if (command->nice != 0)
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + command->nice);
  reset_signals();
  return true;
}

// Ends the forked copy, and never the caller. By the system call: this file is a part of what is loaded into programs, too, where a
// check allows no call of a function that ends the process.
_Noreturn static void end_copy(int status)
{
  for (;;)
    syscall(SYS_exit_group, status);
}

_Noreturn static void become(const struct plan *plan)
{
  const struct child_command *command = plan->command;
  if (command->has_group)
    setpgid(0, 0);
  if (command->death_signal != 0)
    prctl(PR_SET_PDEATHSIG, command->death_signal);
  if (command->death_signal != 0 && getppid() != plan->parent) // it ended before that took effect
    end_copy(127);
  bool is_prepared = prepare(plan);
  if (is_prepared && command->function != NULL) {
    close(plan->report);
    environ = plan->variables;
    command->function(command->context);
    end_copy(0);
  }
  if (is_prepared)
    execve(plan->path, (char *const *)(uintptr_t)command->arguments, plan->variables);
  int number = errno;
  (void)!write(plan->report, &number, sizeof number);
  end_copy(127);
}

// No handler of the caller's runs in the new process.
static pid_t fork_quietly(const struct plan *plan)
{
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t process = fork();
  if (process == 0)
    become(plan);
  int number = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = number;
  return process;
}

// ---- starting --------------------------------------------------------------------------------------------------------
// Makes the pipes that texts are read from: the ends that the program gets are sources of `plan`, and go to `ret_ends`.
static bool make_pipes(const struct child_command *command, struct child *child, struct plan *plan, int ret_ends[2])
{
  struct child_text *const texts[2] = {command->output_text, command->errors_text};
  for (int i = 0; i < 2; i++) {
    int ends[2];
    if (texts[i] == NULL)
      continue;
    if (i == 1 && texts[1] == texts[0]) {
      plan->streams[2] = plan->streams[1];
      continue;
    }
    if (!make_pipe(ends))
      return false;
    child->texts[i] = texts[i];
    child->pipes[i] = ends[0];
    ret_ends[i] = plan->streams[i + 1] = ends[1];
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  return true;
}

static int start_process(struct plan *plan, struct child *child)
{
  int report[2], number = 0;
  if (!make_pipe(report))
    return errno;
  plan->report = report[1];
  child->process = fork_quietly(plan);
  int failure = child->process < 0 ? errno : 0;
  close(report[1]);
  if (child->process > 0)
    child->descriptor = (int)syscall(SYS_pidfd_open, child->process, 0);
  if (failure == 0 && transfer_read(report[0], &number, sizeof number) == sizeof number)
    failure = number;
  close(report[0]);
  return failure;
}

int child_start(const struct child_command *command, struct child *ret_child)
{
  struct plan plan = {.command = command,
                      .variables = environ,
                      .streams = {command->input, command->output, command->errors},
                      .parent = getpid()};
  *ret_child = (struct child){.descriptor = -1, .pipes = {-1, -1}, .has_group = command->has_group};
  if (command->function == NULL &&
      !child_find(command->program != NULL ? command->program : command->arguments[0], plan.path))
    return ENOENT;
  if (command->variables != NULL && (plan.variables = changed_environment(command->variables)) == NULL)
    return ENOMEM;
  int ends[2] = {-1, -1};
  int failure = make_pipes(command, ret_child, &plan, ends) ? start_process(&plan, ret_child) : errno;
  for (int i = 0; i < 2; i++)
    close_one(&ends[i]);
  if (plan.variables != environ)
    free(plan.variables);
  if (failure != 0)
    (void)child_end(ret_child, 0);
  return failure;
}

// ---- waiting ---------------------------------------------------------------------------------------------------------
// Room for `more` bytes and a zero after them.
static bool make_room(struct child_text *text, size_t more)
{
  if (text->length + more > text->most && text->is_tail) {
    size_t kept = text->length < text->most / 2 ? text->length : text->most / 2;
    memmove(text->bytes, text->bytes + text->length - kept, kept);
    text->length = kept;
  }
  if (text->length + more > text->most)
    return false;
  size_t room = PART_BYTES; // of powers of two, so that realloc moves it seldom
  while (room <= text->length + more)
    room *= 2;
  char *bytes = realloc(text->bytes, room);
  if (bytes != NULL)
    text->bytes = bytes;
  return bytes != NULL;
}

// Reads once. Returns how much; 0: there is nothing now. False in *ret_has_room: the stream was closed because of that.
static size_t take(struct child *child, int which, bool *ret_has_room)
{
  char part[PART_BYTES];
  struct child_text *text = child->texts[which];
  size_t most = text->is_tail && text->most / 2 < sizeof part ? text->most / 2 : sizeof part;
  ssize_t got = read(child->pipes[which], part, most);
  *ret_has_room = true;
  if (got <= 0) {
    if (got == 0 || (errno != EINTR && errno != EAGAIN))
      close_one(&child->pipes[which]);
    return 0;
  }
  *ret_has_room = make_room(text, (size_t)got);
  if (!*ret_has_room) {
    close_one(&child->pipes[which]);
    return 0;
  }
  memcpy(text->bytes + text->length, part, (size_t)got);
  text->length += (size_t)got;
  text->bytes[text->length] = 0;
  return (size_t)got;
}

// What is there now; of a program that has ended all that it left, but not all that others go on writing.
static bool take_all(struct child *child, size_t most)
{
  bool has_room = true;
  for (int i = 0; i < 2 && has_room; i++)
    for (size_t taken = 0, got = 1; got > 0 && taken < most && child->pipes[i] >= 0; taken += got)
      got = take(child, i, &has_room);
  return has_room;
}

bool child_has_ended(const struct child *child)
{
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)child->process, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

enum child_event child_wait(struct child *child, int64_t timeout_ms, const struct pollfd *stop)
{
  const uint64_t begun_ns = clock_now_ns(CLOCK_MONOTONIC);
  for (;;) {
    bool has_ended = child_has_ended(child); // before the look at its streams: they have all that it wrote
    int64_t passed_ms = (int64_t)((clock_now_ns(CLOCK_MONOTONIC) - begun_ns) / 1000000);
    int64_t left_ms = timeout_ms < 0 ? -1 : timeout_ms > passed_ms ? timeout_ms - passed_ms : 0;
    if (!take_all(child, has_ended ? PIPE_BYTES_MOST : PART_BYTES))
      return CHILD_FULL;
    if (has_ended)
      return CHILD_ENDED;
    struct pollfd waits[] = {{.fd = child->pipes[0], .events = POLLIN},
                             {.fd = child->pipes[1], .events = POLLIN},
                             {.fd = child->descriptor, .events = POLLIN},
                             stop != NULL ? *stop : (struct pollfd){.fd = -1}};
    if (child->descriptor < 0 && (left_ms < 0 || left_ms > LOOK_MS))
      left_ms = LOOK_MS;
    int ready = poll(waits, 4, left_ms > INT_MAX ? INT_MAX : (int)left_ms);
    if (ready > 0 && waits[3].revents != 0)
      return CHILD_STOP;
    if (ready == 0 && timeout_ms >= 0 && passed_ms >= timeout_ms)
      return CHILD_LATE;
  }
}

int child_end(struct child *child, int64_t grace_ms)
{
  int status = 0;
  pid_t got = 0;
  if (child->process > 0 && grace_ms > 0 && !child_has_ended(child)) {
    kill(child->process, SIGTERM);
    while (child_wait(child, grace_ms, NULL) == CHILD_FULL) // at most twice: a full one is closed
      ;
  }
  close_one(&child->pipes[0]);
  close_one(&child->pipes[1]);
  if (child->process > 0 && (child->has_group || !child_has_ended(child)))
    kill(child->has_group ? -child->process : child->process, SIGKILL);
  while (child->process > 0 && (got = waitpid(child->process, &status, 0)) < 0 && errno == EINTR)
    ;
  close_one(&child->descriptor);
  bool is_known = got == child->process;
  child->process = 0;
  return is_known ? status : -1;
}

// ---- messages --------------------------------------------------------------------------------------------------------
struct slice child_last_line(struct slice text)
{
  static const char own[] = "xsp: ";
  struct slice rest = slice_trim(text), part, last = {"", 0};
  while (slice_cut(&rest, '\n', &part))
    last = part;
  return slice_starts_with(last, own) ? slice_after(last, sizeof own - 1) : last;
}

void child_last_line_of(int file, char *line, size_t size)
{
  char text[LAST_BYTES];
  off_t end = lseek(file, 0, SEEK_END);
  off_t from = end > (off_t)sizeof text ? end - (off_t)sizeof text : 0;
  ssize_t count = pread(file, text, sizeof text, from);
  struct slice last = child_last_line((struct slice){text, count > 0 ? (size_t)count : 0});
  snprintf(line, size, "%.*s", (int)last.length, last.data);
}
