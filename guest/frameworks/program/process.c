// SPDX-License-Identifier: Apache-2.0
// Starts, asks and ends a predictor program; see process.h. The program is a group of its own, gets no signal
// meant for the runner, and is killed when the runner ends, however that ends: itself by the kernel, what it started by a
// process that does nothing but wait for that.
#include "frameworks/program/process.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/slice.h"

#include "frameworks/common/layer_publish.h"
#include "frameworks/program/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_EVERY_MS 500 // at whether the program still runs, while an answer is awaited
#define END_WAIT_MS 2000
#define READ_BYTES 65536
#define ADVICE_WHAT "see docs/predictor_protocol.md"

extern char **environ;

// ---- start -----------------------------------------------------------------------------------------------------------

static enum status find_command(const struct program_command *command, char real[PATH_MAX], const char *arguments[3],
                                struct error *err)
{
  const char *path = command->path;
  if (command->interpreter != NULL) {
    arguments[0] = command->interpreter;
    arguments[1] = command->script;
    arguments[2] = NULL;
    return STATUS_OK;
  }
  struct stat info;
  if (realpath(path, real) == NULL || stat(real, &info) != 0)
    return error_set_errno(err, STATUS_INPUT, "cannot start the predictor program", path, "another path");
  if (!S_ISREG(info.st_mode))
    return error_set(err, STATUS_INPUT, "cannot start the predictor program", path, "the path of a program",
                     "not a file");
  if (access(real, X_OK) == 0) {
    arguments[0] = real;
    arguments[1] = NULL;
  } else if (text_ends_with(path, ".py")) {
    arguments[0] = "python3";
    arguments[1] = real;
    arguments[2] = NULL;
  } else {
    return error_set(err, STATUS_INPUT, "cannot start the predictor program", path, "chmod +x",
                     "it is neither executable nor named *.py");
  }
  return STATUS_OK;
}

// Is `entry` of a variable that one of the list sets? Both are "NAME=value".
static bool is_set_by(const char *const *list, const char *entry)
{
  size_t length = strcspn(entry, "=") + 1;
  while (*list != NULL && strncmp(*list, entry, length) != 0)
    list++;
  return *list != NULL;
}

// The runner's own environment with the descriptors. Without the session, unless the program is its guest.
static char **make_environment(const struct program_command *command, char texts[3][48])
{
  static const char *const no_guest[] = {"XSP_SESSION=", "XSP_TRACERS=", NULL};
  const char *const *guest = command->guest_variables;
  size_t count = 0, guest_count = 0, kept = 0;
  while (environ[count] != NULL)
    count++;
  while (guest != NULL && guest[guest_count] != NULL)
    guest_count++;
  char **list = memory_new(count + guest_count + 4, sizeof *list);
  for (size_t i = 0; i < count; i++)
    if (!is_set_by(guest != NULL ? guest : no_guest, environ[i]) && strncmp(environ[i], "XSP_PREDICTOR_", 14) != 0)
      list[kept++] = environ[i];
  for (size_t i = 0; i < guest_count; i++)
    list[kept++] = (char *)(uintptr_t)guest[i];
  for (size_t i = 0; i < 3; i++)
    list[kept++] = texts[i];
  return list;
}

__attribute__((noreturn)) static void child_main(const char *const *arguments, char **environment,
                                                 const struct program *program, int socket_fd, int report_fd,
                                                 pid_t parent)
{
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) // it ended before prctl took effect
    _exit(127);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  fcntl(socket_fd, F_SETFD, 0);
  fcntl(program->inputs, F_SETFD, 0);
  fcntl(program->outputs, F_SETFD, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  execvpe(arguments[0], (char *const *)(uintptr_t)arguments, environment);
  int number = errno;
  (void)!write(report_fd, &number, sizeof number);
  _exit(127);
}

// In the program's group: sleeps until the last end of the pipe closes, which only the runner has. It holds nothing else
// open, so that no reader waits for it.
__attribute__((noreturn)) static void guard_main(pid_t group, int end_fd)
{
  char byte;
  if (setpgid(0, group) != 0)
    _exit(0);
  dup2(end_fd, 0);
  close_range(1, ~0u, 0);
  while (read(0, &byte, 1) < 0 && errno == EINTR)
    ;
  kill(0, SIGKILL);
  _exit(0);
}

// Without one the program itself still ends with the runner.
static void start_guard(struct program *program)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return;
  program->guarded = ends[1];
  program->guard = fork();
  if (program->guard == 0)
    guard_main(program->process, ends[0]);
  close(ends[0]);
  if (program->guard < 0)
    program->guard = 0;
  else
    setpgid(program->guard, program->process); // both do it: the order is unknown
}

// Waits until the program runs, or reports why it does not.
static enum status check_started(const struct program_command *command, const char *started, int report_fd,
                                 struct error *err)
{
  int number = 0;
  ssize_t got;
  while ((got = read(report_fd, &number, sizeof number)) < 0 && errno == EINTR)
    ;
  if (got != sizeof number)
    return STATUS_OK;
  errno = number;
  const char *where = strcmp(started, "python3") == 0 ? "python3, in PATH"
                      : command->interpreter != NULL  ? command->interpreter
                                                      : command->path;
  return error_set_errno(err, STATUS_INPUT, "cannot start the predictor program", where,
                         "run it by hand: what it needs (its first line's interpreter?) may be missing");
}

static off_t talk_size(void)
{
  struct stat info;
  return fstat(STDERR_FILENO, &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : -1;
}

enum status program_start(const struct program_command *command, struct program *ret_program, struct error *err)
{
  const char *what = "cannot start the predictor program", *path = command->path;
  *ret_program = (struct program){
      .path = path, .socket = -1, .inputs = -1, .outputs = -1, .guarded = -1, .talk_start = talk_size()};
  buf_init(&ret_program->line, PROGRAM_LINE_MOST + READ_BYTES);
  char real[PATH_MAX];
  const char *arguments[3];
  XSP_TRY(find_command(command, real, arguments, err));
  int pair[2], report[2];
  if ((ret_program->inputs = memfd_create("xsp-inputs", MFD_CLOEXEC)) < 0 ||
      (ret_program->outputs = memfd_create("xsp-outputs", MFD_CLOEXEC)) < 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return error_set_errno(err, STATUS_SYSTEM, what, path, NULL);
  ret_program->socket = pair[0];
  char texts[3][48];
  snprintf(texts[0], sizeof texts[0], "XSP_PREDICTOR_FD=%d", pair[1]);
  snprintf(texts[1], sizeof texts[1], "XSP_PREDICTOR_INPUTS_FD=%d", ret_program->inputs);
  snprintf(texts[2], sizeof texts[2], "XSP_PREDICTOR_OUTPUTS_FD=%d", ret_program->outputs);
  char **environment = make_environment(command, texts);
  if (pipe2(report, O_CLOEXEC) != 0) {
    free(environment);
    close(pair[1]);
    return error_set_errno(err, STATUS_SYSTEM, what, path, NULL);
  }
  pid_t parent = getpid(), process = fork();
  if (process == 0)
    child_main(arguments, environment, ret_program, pair[1], report[1], parent);
  enum status status = STATUS_OK;
  if (process < 0)
    status = error_set_errno(err, STATUS_SYSTEM, what, path, NULL);
  else
    ret_program->process = process;
  free(environment);
  close(pair[1]);
  close(report[1]);
  if (status == STATUS_OK)
    setpgid(process, process);
  if (status == STATUS_OK)
    start_guard(ret_program);
  if (status == STATUS_OK)
    status = check_started(command, arguments[0], report[0], err);
  close(report[0]);
  return status;
}

// ---- its end ---------------------------------------------------------------------------------------------------------

static bool has_ended(const struct program *program)
{
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)program->process, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

// Waits a little for it to end by itself, kills it else. Its wait status.
static int reap(struct program *program, bool *ret_was_killed)
{
  int how = 0;
  *ret_was_killed = false;
  for (uint64_t deadline = clock_now_ns(CLOCK_MONOTONIC) + (uint64_t)END_WAIT_MS * 1000000; !has_ended(program);) {
    if (clock_now_ns(CLOCK_MONOTONIC) >= deadline) {
      kill(program->process, SIGKILL);
      *ret_was_killed = true;
    }
    poll(NULL, 0, 1);
  }
  kill(-program->process, SIGKILL); // what it started; the group's number is taken as long as we have not waited
  while (waitpid(program->process, &how, 0) < 0 && errno == EINTR)
    ;
  program->process = 0;
  if (program->guard > 0) {
    kill(program->guard, SIGKILL);
    while (waitpid(program->guard, NULL, 0) < 0 && errno == EINTR)
      ;
  }
  program->guard = 0;
  return how;
}

// The last line that it wrote: of a Python traceback that is the error. Empty where stderr is not a file.
static void last_line(const struct program *program, char *text, size_t size)
{
  text[0] = 0;
  off_t end = talk_size();
  if (program->talk_start < 0 || end <= program->talk_start)
    return;
  off_t from = end - program->talk_start > (off_t)size - 1 ? end - (off_t)size + 1 : program->talk_start;
  ssize_t got = pread(STDERR_FILENO, text, size - 1, from);
  text[got > 0 ? got : 0] = 0;
  while (got > 0 && (text[got - 1] == '\n' || text[got - 1] == ' '))
    text[--got] = 0;
  const char *line = strrchr(text, '\n');
  if (line != NULL)
    memmove(text, line + 1, strlen(line + 1) + 1);
}

static enum status explain_end(struct program *program, const char *message, struct error *err)
{
  bool was_killed = false;
  int how = reap(program, &was_killed);
  char line[320];
  last_line(program, line, sizeof line);
  const char *separator = line[0] != 0 ? "; it last wrote: " : "";
  const char *what = "the predictor program ended";
  if (was_killed)
    return error_set(err, STATUS_INPUT, "the predictor program closed its socket", program->path, ADVICE_WHAT,
                     "%s: no answer, and it went on; it was killed%s%s", message, separator, line);
  if (WIFSIGNALED(how))
    return error_set(err, STATUS_INPUT, what, program->path, NULL, "%s: no answer, signal %d (%s)%s%s", message,
                     WTERMSIG(how), strsignal(WTERMSIG(how)), separator, line);
  return error_set(err, STATUS_INPUT, what, program->path, ADVICE_WHAT, "%s: no answer, exit status %d%s%s", message,
                   WEXITSTATUS(how), separator, line);
}

void program_end(struct program *program)
{
  static const char request[] = "{\"request\":\"close\"}\n";
  bool was_killed;
  if (program->socket >= 0) {
    if (program->process > 0)
      (void)!send(program->socket, request, sizeof request - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(program->socket, SHUT_WR);
  }
  if (program->process > 0)
    reap(program, &was_killed);
  if (program->socket >= 0)
    close(program->socket);
  if (program->inputs >= 0)
    close(program->inputs);
  if (program->outputs >= 0)
    close(program->outputs);
  if (program->guarded >= 0)
    close(program->guarded);
  buf_done(&program->line);
  *program = (struct program){.socket = -1, .inputs = -1, .outputs = -1, .guarded = -1};
}

// ---- a request and its answer ----------------------------------------------------------------------------------------

static enum status send_all(struct program *program, const char *message, const struct buf *request, struct error *err)
{
  for (size_t done = 0; done < request->length;) {
    ssize_t more = send(program->socket, request->data + done, request->length - done, MSG_NOSIGNAL);
    if (more < 0 && errno == EINTR)
      continue;
    if (more <= 0)
      return explain_end(program, message, err);
    done += (size_t)more;
  }
  return STATUS_OK;
}

static enum status too_much(const struct program *program, const char *message, const char *why, struct error *err)
{
  return error_set(err, STATUS_INPUT, "the predictor program's answer is wrong", program->path, ADVICE_WHAT, "%s: %s",
                   message, why);
}

// Waits until there is something to read; false: the program has ended, and nothing is left.
static bool wait_readable(const struct program *program)
{
  for (;;) {
    struct pollfd wait = {.fd = program->socket, .events = POLLIN};
    bool ended = has_ended(program); // before looking, so that what it wrote last is seen
    int ready = poll(&wait, 1, ended ? 0 : LOOK_EVERY_MS);
    if (ready > 0)
      return true;
    if (ready == 0 && ended)
      return false;
  }
}

static enum status receive_line(struct program *program, const char *message, struct error *err)
{
  struct buf *line = &program->line;
  buf_clear(line);
  for (;;) {
    (void)buf_reserve(line, READ_BYTES); // its maximum is larger by that
    if (!wait_readable(program))
      return explain_end(program, message, err);
    ssize_t more = recv(program->socket, line->data + line->length, READ_BYTES, 0);
    if (more < 0 && errno == EINTR)
      continue;
    if (more <= 0)
      return explain_end(program, message, err);
    const char *end = memchr(line->data + line->length, '\n', (size_t)more);
    line->length += (size_t)more;
    if (end != NULL && end + 1 != line->data + line->length)
      return too_much(program, message, "it goes on after the end of its line", err);
    if (line->length > PROGRAM_LINE_MOST)
      return too_much(program, message, "its line is longer than 16 MiB", err);
    if (end != NULL)
      return STATUS_OK;
  }
}

enum status program_ask(struct program *program, const char *message, const struct buf *request, struct error *err)
{
  if (request->failed)
    return error_set(err, STATUS_INPUT, "cannot ask the predictor program", program->path, "a model with fewer inputs",
                     "the request is too long");
  if (program->process == 0)
    return error_set(err, STATUS_INPUT, "cannot ask the predictor program", program->path, NULL, "it has ended");
  XSP_TRY(send_all(program, message, request, err));
  return receive_line(program, message, err);
}
