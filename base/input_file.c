// SPDX-License-Identifier: Apache-2.0
// Opens input files; see input_file.h. O_NONBLOCK keeps the open itself from waiting, fstat decides, so that nothing can
// be exchanged between the two.
#include "base/input_file.h"

#include "base/scoped.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

static enum status check_kind(int file, const char *path, enum input_file_kind kind, const char *what,
                              struct stat *ret_facts, struct error *err)
{
  if (fstat(file, ret_facts) != 0)
    return error_set_errno(err, STATUS_INPUT, what, path, NULL);
  mode_t mode = ret_facts->st_mode;
  if (S_ISREG(mode) || (S_ISFIFO(mode) && kind == INPUT_FILE_OR_PIPE))
    return STATUS_OK;
  if (S_ISDIR(mode))
    return error_set(err, STATUS_INPUT, what, path, "one of the files in it", "it is a directory");
  return error_set(err, STATUS_INPUT, what, path, "saving it to a file first", "it is a %s, not a file",
                   S_ISFIFO(mode) ? "pipe" : "device");
}

// Reads of the descriptor wait from now on. Linux reports the end of a pipe to poll only once a writer was there.
static enum status wait_for_writer(int pipe, const char *path, const char *what, struct error *err)
{
  struct pollfd waited = {.fd = pipe, .events = POLLIN};
  if (fcntl(pipe, F_SETFL, O_RDONLY) == 0 && poll(&waited, 1, -1) >= 0)
    return STATUS_OK;
  if (errno == EINTR)
    return error_set(err, STATUS_SYSTEM, what, path, "it again", "it was interrupted");
  return error_set_errno(err, STATUS_INPUT, what, path, NULL);
}

enum status input_file_open(const char *path, enum input_file_kind kind, const char *what, int *ret_file,
                            struct stat *ret_facts, struct error *err)
{
  *ret_file = -1;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return error_set_errno(err, STATUS_INPUT, what, path, NULL);
  enum status status = check_kind(file, path, kind, what, ret_facts, err);
  if (status == STATUS_OK && S_ISFIFO(ret_facts->st_mode))
    status = wait_for_writer(file, path, what, err);
  if (status == STATUS_OK)
    *ret_file = file;
  else
    close(file);
  return status;
}

int regular_file_open(int folder, const char *name, int flags, struct stat *ret_facts)
{
  int file = openat(folder, name, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0600);
  if (file < 0)
    return -1;
  if (fstat(file, ret_facts) == 0 && S_ISREG(ret_facts->st_mode))
    return file;
  close(file);
  errno = EINVAL;
  return -1;
}

enum status input_file_stream(const char *path, enum input_file_kind kind, const char *what, FILE **ret_stream,
                              struct error *err)
{
  int file;
  struct stat facts;
  XSP_TRY(input_file_open(path, kind, what, &file, &facts, err));
  *ret_stream = fdopen(file, "r");
  if (*ret_stream != NULL)
    return STATUS_OK;
  close(file);
  return error_set(err, STATUS_MEMORY, what, path, NULL, "out of memory");
}

enum status input_file_read(const char *path, const char *what, struct buf *bytes, struct error *err)
{
  FILE *file SCOPED(scoped_fclose) = NULL;
  char part[65536];
  XSP_TRY(input_file_stream(path, INPUT_FILE_REGULAR, what, &file, err));
  for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0 && !bytes->failed;)
    buf_put(bytes, part, got);
  if (ferror(file) != 0)
    return error_set_errno(err, STATUS_INPUT, what, path, "another path");
  return !bytes->failed ? STATUS_OK
                        : error_set(err, STATUS_INPUT, what, path, NULL, "it has more than %zu bytes", bytes->maximum);
}
