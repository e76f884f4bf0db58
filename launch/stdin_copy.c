// SPDX-License-Identifier: Apache-2.0
// A process that copies a pipe. It passes bytes on as they come, so that a dialogue through the pipe works as without
// it. Called by streams.c.
#include "launch/stdin_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COPY_MOST (256 << 20) // bytes; it is memory
#define BLOCK_BYTES 65536

static bool write_all(int file, const char *bytes, ssize_t length)
{
  while (length > 0) {
    ssize_t written = write(file, bytes, (size_t)length);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    bytes += written;
    length -= written;
  }
  return true;
}

// Into the copy first: it holds at least what the program has seen. A copy that would get too large is marked by its size.
static void pump(int from, int to, int copy)
{
  static char block[BLOCK_BYTES];
  off_t copied = 0;
  for (;;) {
    ssize_t got = read(from, block, sizeof block);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return;
    copied += got;
    if (copied <= COPY_MOST)
      (void)write_all(copy, block, got);
    else
      (void)ftruncate(copy, COPY_MOST + 1);
    if (!write_all(to, block, got))
      return; // the program reads no more
  }
}

static void become_pump(pid_t parent, int from, int to, int copy)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_NAME, "xsp-input");
  close(STDOUT_FILENO);
  if (getppid() == parent)
    pump(from, to, copy);
  _exit(0);
}

void stdin_copy_begin(struct stdin_copy *ret_input)
{
  int pipes[2] = {-1, -1};
  *ret_input = (struct stdin_copy){.copy = memfd_create("xsp-stdin", MFD_CLOEXEC),
                                   .original = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)};
  fflush(NULL); // what is buffered would be written twice
  pid_t parent = getpid();
  if (ret_input->copy >= 0 && ret_input->original >= 0 && pipe2(pipes, O_CLOEXEC) == 0)
    ret_input->pump = fork();
  if (ret_input->pump == 0 && getpid() != parent) {
    close(pipes[0]); // else it would never see that the program is gone
    close(STDIN_FILENO);
    become_pump(parent, ret_input->original, pipes[1], ret_input->copy);
  }
  bool is_pumped = ret_input->pump > 0 && dup2(pipes[0], STDIN_FILENO) == STDIN_FILENO;
  for (int i = 0; i < 2; i++)
    if (pipes[i] >= 0)
      close(pipes[i]);
  if (!is_pumped) {
    stdin_copy_end(ret_input);
    stdin_copy_done(ret_input);
  }
}

void stdin_copy_end(struct stdin_copy *input)
{
  if (input->pump > 0) {
    kill(input->pump, SIGKILL);
    while (waitpid(input->pump, NULL, 0) < 0 && errno == EINTR)
      continue;
  }
  input->pump = 0;
  if (input->original >= 0) {
    dup2(input->original, STDIN_FILENO);
    close(input->original);
  }
  input->original = -1;
}

int stdin_copy_open(const struct stdin_copy *input)
{
  char path[64];
  struct stat facts;
  if (input->copy < 0 || fstat(input->copy, &facts) != 0 || facts.st_size > COPY_MOST)
    return -1;
  snprintf(path, sizeof path, "/proc/self/fd/%d", input->copy);
  return open(path, O_RDONLY | O_CLOEXEC);
}

void stdin_copy_done(struct stdin_copy *input)
{
  if (input->copy >= 0)
    close(input->copy);
  input->copy = -1;
}
