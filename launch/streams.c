// SPDX-License-Identifier: Apache-2.0
// Swaps xsp's own descriptors 0, 1 and 2 during a repetition, because the program inherits them. One thread. Called by
// experiment/program_experiment.c; writes nothing itself.
#include "launch/streams.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAST_BYTES 2000

void streams_begin(struct streams *streams)
{
  *streams = (struct streams){.saved = {-1, -1, -1}, .errors = -1, .input = {.copy = -1, .original = -1}};
  struct stat facts;
  if (fstat(STDIN_FILENO, &facts) != 0)
    return;
  streams->input_is_file = S_ISREG(facts.st_mode);
  streams->input_is_lost = S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode);
  streams->input_at = streams->input_is_file ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
  if (S_ISFIFO(facts.st_mode))
    stdin_copy_begin(&streams->input);
}

void streams_first_ended(struct streams *streams)
{
  stdin_copy_end(&streams->input);
  int input = stdin_copy_open(&streams->input);
  if (input < 0)
    return;
  close(input);
  streams->input_is_lost = false;
}

// A descriptor of its own on the same bytes: reading it moves nobody else's place.
static int open_input(const struct streams *streams)
{
  int input = streams->input_is_file ? open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC) : stdin_copy_open(&streams->input);
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
  int input = open_input(streams);
  int output = open("/dev/null", O_WRONLY | O_CLOEXEC);
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
  enum status status = STATUS_OK;
  if (!is_open) {
    status = error_set_errno(err, STATUS_SYSTEM, "cannot repeat the program", NULL, NULL);
    streams_restore(streams);
  }
  if (input >= 0)
    close(input);
  if (output >= 0)
    close(output);
  return status;
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
  stdin_copy_end(&streams->input);
  stdin_copy_done(&streams->input);
}
