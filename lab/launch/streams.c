// SPDX-License-Identifier: Apache-2.0
// Swaps xsp's own descriptors 0, 1 and 2 during a repetition, because the program inherits them. One thread. Called by
// lab/experiment/program_experiment.c; writes nothing itself.
#include "launch/streams.h"

#include "base/scoped.h"
#include "base/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAST_BYTES 2000
#define COPY_MOST (256 << 20) // bytes of stdin; it is memory
#define BLOCK_BYTES 65536

// ---- stdin from a pipe ------------------------------------------------------------------------------------------------
// The first execution reads it through a process, the pump, that passes bytes on as they come, so that a dialogue through
// the pipe works as without it, and keeps a copy of what was taken out of the pipe for later executions.
// Into the copy first: it holds at least what the program has seen. A copy that would get too large is marked by its size.
static void pump(int from, int to, int copy)
{
  static char block[BLOCK_BYTES];
  off_t copied = 0;
  for (;;) {
    ssize_t got = TEMP_FAILURE_RETRY(read(from, block, sizeof block));
    if (got <= 0)
      return;
    copied += got;
    if (copied <= COPY_MOST)
      (void)transfer_write(copy, block, (size_t)got);
    else
      (void)ftruncate(copy, COPY_MOST + 1);
    if (!transfer_write(to, block, (size_t)got))
      return; // the program reads no more
  }
}

struct pumped {
  int from, to, copy, other; // `other`: the program's end of the pipe
};

static void become_pump(const void *context)
{
  const struct pumped *pumped = context;
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_NAME, "xsp-input");
  close(pumped->other); // else it would never see that the program is gone
  close(STDIN_FILENO);
  close(STDOUT_FILENO);
  pump(pumped->from, pumped->to, pumped->copy);
}

// Descriptor 0 is the pipe again.
static void end_pump(struct streams *streams)
{
  if (streams->pump.process > 0)
    (void)child_end(&streams->pump, 0);
  if (streams->pipe >= 0) {
    dup2(streams->pipe, STDIN_FILENO);
    close(streams->pipe);
  }
  streams->pipe = -1;
}

static void drop_copy(struct streams *streams)
{
  if (streams->copy >= 0)
    close(streams->copy);
  streams->copy = -1;
}

// Puts a process between stdin, which is a pipe, and descriptor 0. Where that cannot be done, all stays as it was.
static void start_pump(struct streams *streams)
{
  int pipes[2] = {-1, -1};
  streams->copy = memfd_create("xsp-stdin", MFD_CLOEXEC);
  streams->pipe = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  fflush(NULL); // what is buffered would be written twice
  bool is_pumped = false;
  if (streams->copy >= 0 && streams->pipe >= 0 && pipe2(pipes, O_CLOEXEC) == 0) {
    const struct pumped pumped = {streams->pipe, pipes[1], streams->copy, pipes[0]};
    const struct child_command command = {.function = become_pump, .context = &pumped, .death_signal = SIGKILL};
    is_pumped = child_start(&command, &streams->pump) == 0 && dup2(pipes[0], STDIN_FILENO) == STDIN_FILENO;
  }
  for (int i = 0; i < 2; i++)
    if (pipes[i] >= 0)
      close(pipes[i]);
  if (!is_pumped) {
    end_pump(streams);
    drop_copy(streams);
  }
}

// A descriptor at the beginning of the copy; -1: there is none, or it is not whole.
static int open_copy(const struct streams *streams)
{
  char path[64];
  struct stat facts;
  if (streams->copy < 0 || fstat(streams->copy, &facts) != 0 || facts.st_size > COPY_MOST)
    return -1;
  snprintf(path, sizeof path, "/proc/self/fd/%d", streams->copy);
  return open(path, O_RDONLY | O_CLOEXEC);
}

// ---- all streams --------------------------------------------------------------------------------------------------------

void streams_begin(struct streams *streams)
{
  *streams = STREAMS_NONE;
  struct stat facts;
  if (fstat(STDIN_FILENO, &facts) != 0)
    return;
  streams->input_is_file = S_ISREG(facts.st_mode);
  streams->input_is_lost = S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode);
  streams->input_at = streams->input_is_file ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
  if (S_ISFIFO(facts.st_mode))
    start_pump(streams);
}

void streams_first_ended(struct streams *streams)
{
  end_pump(streams);
  int input = open_copy(streams);
  if (input < 0)
    return;
  close(input);
  streams->input_is_lost = false;
}

// A descriptor of its own on the same bytes: reading it moves nobody else's place.
static int open_input(const struct streams *streams)
{
  int input = streams->input_is_file ? open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC) : open_copy(streams);
  if (input >= 0 && (!streams->input_is_file || lseek(input, streams->input_at, SEEK_SET) >= 0))
    return input;
  if (input >= 0)
    close(input);
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

enum status streams_redirect(struct streams *streams, struct error *err)
{
  if (streams->errors < 0)
    streams->errors = memfd_create("xsp-stderr", MFD_CLOEXEC);
  int input SCOPED(scoped_close) = open_input(streams);
  int output SCOPED(scoped_close) = open("/dev/null", O_WRONLY | O_CLOEXEC);
  bool is_open = input >= 0 && output >= 0 && streams->errors >= 0 && ftruncate(streams->errors, 0) == 0 &&
                 lseek(streams->errors, 0, SEEK_SET) == 0;
  const int wanted[3] = {input, output, streams->errors};
  if (is_open)
    fflush(NULL);
  for (int stream = 0; stream < 3 && is_open; stream++) {
    streams->saved[stream] = fcntl(stream, F_DUPFD_CLOEXEC, 3);
    streams->is_redirected = true;
    is_open = streams->saved[stream] >= 0 && dup2(wanted[stream], stream) == stream;
  }
  if (is_open)
    return STATUS_OK;
  (void)error_set_errno(err, STATUS_SYSTEM, "cannot repeat the program", NULL, NULL);
  streams_restore(streams);
  return STATUS_SYSTEM;
}

void streams_restore(struct streams *streams)
{
  for (int stream = 0; stream < 3 && streams->is_redirected; stream++) {
    if (streams->saved[stream] < 0)
      continue;
    dup2(streams->saved[stream], stream);
    close(streams->saved[stream]);
    streams->saved[stream] = -1;
  }
  streams->is_redirected = false;
}

void streams_last_lines(const struct streams *streams, struct buf *out)
{
  char text[LAST_BYTES];
  off_t end = streams->errors >= 0 ? lseek(streams->errors, 0, SEEK_END) : 0;
  if (end <= 0)
    return;
  off_t start = end > (off_t)sizeof text ? end - (off_t)sizeof text : 0;
  ssize_t length = pread(streams->errors, text, sizeof text, start);
  if (length <= 0)
    return;
  const char *begin = text;
  if (start > 0) { // not from the middle of a line
    const char *line = memchr(text, '\n', (size_t)length);
    begin = line != NULL ? line + 1 : text;
  }
  buf_put(out, begin, (size_t)(text + length - begin));
}

void streams_done(struct streams *streams)
{
  if (streams->errors >= 0)
    close(streams->errors);
  streams->errors = -1;
  end_pump(streams);
  drop_copy(streams);
}
