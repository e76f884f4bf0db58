// SPDX-License-Identifier: Apache-2.0
// Starts, asks and ends a predictor program; see process.h. The program is a group of its own, gets no signal
// meant for the runner, and is killed when the runner ends, however that ends: itself by the kernel, what it started by a
// process that does nothing but wait for that.
#include "frameworks/program/process.h"

#include "base/memory.h"
#include "base/slice.h"

#include "base/transfer.h"
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_EVERY_MS 500 // at whether the program still runs, while an answer is awaited
#define END_WAIT_MS 2000
#define READ_BYTES 65536
#define TALK_BYTES 4096
#define ADVICE_WHAT "see docs/predictor_protocol.md"

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

// Changes of the environment: the descriptors. Without the session, unless the program is its guest. The caller frees the list.
static const char **make_variables(const struct program_command *command, char texts[3][48])
{
  static const char *const no_guest[] = {"XSP_SESSION", "XSP_TRACERS", NULL};
  const char *const *more = command->guest_variables != NULL ? command->guest_variables : no_guest;
  size_t count = 0;
  while (more[count] != NULL)
    count++;
  const char **list = memory_new(count + 4, sizeof *list);
  for (size_t i = 0; i < 3; i++)
    list[i] = texts[i];
  memcpy(list + 3, more, count * sizeof *list);
  return list;
}

struct guard {
  pid_t group;
  int end;
};

// In the program's group: sleeps until the last end of the pipe closes, which only the runner has. It holds nothing else
// open, so that no reader waits for it.
static void guard_main(const void *context)
{
  const struct guard *guard = context;
  char byte;
  if (setpgid(0, guard->group) != 0)
    return;
  dup2(guard->end, 0);
  close_range(1, ~0u, 0);
  (void)TEMP_FAILURE_RETRY(read(0, &byte, 1));
  kill(0, SIGKILL);
}

// Without one the program itself still ends with the runner.
static void start_guard(struct program *program)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return;
  program->guarded = ends[1];
  const struct guard guard = {program->child.process, ends[0]};
  if (child_start(&(struct child_command){.function = guard_main, .context = &guard}, &program->guard) == 0)
    setpgid(program->guard.process, guard.group); // both do it: the order is unknown
  close(ends[0]);
}

static enum status cannot_start(const struct program_command *command, const char *started, int number,
                                struct error *err)
{
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
  int pair[2];
  if ((ret_program->inputs = memfd_create("xsp-inputs", MFD_CLOEXEC)) < 0 ||
      (ret_program->outputs = memfd_create("xsp-outputs", MFD_CLOEXEC)) < 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return error_set_errno(err, STATUS_SYSTEM, what, path, NULL);
  ret_program->socket = pair[0];
  char texts[3][48];
  snprintf(texts[0], sizeof texts[0], "XSP_PREDICTOR_FD=%d", pair[1]);
  snprintf(texts[1], sizeof texts[1], "XSP_PREDICTOR_INPUTS_FD=%d", ret_program->inputs);
  snprintf(texts[2], sizeof texts[2], "XSP_PREDICTOR_OUTPUTS_FD=%d", ret_program->outputs);
  const char **variables = make_variables(command, texts);
  const struct child_command start = {.arguments = arguments,
                                      .variables = variables,
                                      .output = STDERR_FILENO,
                                      .kept = {pair[1], ret_program->inputs, ret_program->outputs},
                                      .death_signal = SIGKILL,
                                      .has_group = true};
  int failure = child_start(&start, &ret_program->child);
  free(variables);
  close(pair[1]);
  if (failure != 0)
    return cannot_start(command, arguments[0], failure, err);
  start_guard(ret_program);
  return STATUS_OK;
}

// ---- its end ---------------------------------------------------------------------------------------------------------

// Waits a little for it to end by itself, kills it else. Its wait status.
static int reap(struct program *program, bool *ret_was_killed)
{
  *ret_was_killed = child_wait(&program->child, END_WAIT_MS, NULL) == CHILD_LATE;
  int how = child_end(&program->child, 0);
  if (program->guard.process > 0) // of the same group
    (void)child_end(&program->guard, 0);
  return how;
}

// The last line that it wrote: of a Python traceback that is the error. Empty where stderr is not a file.
static void last_line(const struct program *program, char *text, size_t size)
{
  char bytes[TALK_BYTES];
  off_t end = talk_size();
  text[0] = 0;
  if (program->talk_start < 0 || end <= program->talk_start)
    return;
  off_t from = end - program->talk_start > (off_t)sizeof bytes ? end - (off_t)sizeof bytes : program->talk_start;
  ssize_t got = pread(STDERR_FILENO, bytes, sizeof bytes, from);
  struct slice line = child_last_line((struct slice){bytes, got > 0 ? (size_t)got : 0});
  snprintf(text, size, "%.*s", (int)line.length, line.data);
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
    if (program->child.process > 0)
      (void)!send(program->socket, request, sizeof request - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(program->socket, SHUT_WR);
  }
  if (program->child.process > 0)
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
    bool ended = child_has_ended(&program->child); // before looking, so that what it wrote last is seen
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
    ssize_t more = TEMP_FAILURE_RETRY(recv(program->socket, line->data + line->length, READ_BYTES, 0));
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
  if (program->child.process == 0)
    return error_set(err, STATUS_INPUT, "cannot ask the predictor program", program->path, NULL, "it has ended");
  if (!transfer_send(program->socket, request->data, request->length))
    return explain_end(program, message, err);
  return receive_line(program, message, err);
}
