// SPDX-License-Identifier: Apache-2.0
// Reads and writes of whole blocks; see transfer.h.
#include "base/transfer.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum way { READ, READ_AT, WRITE, WRITE_AT, SEND };

static ssize_t move_once(enum way way, int file, char *bytes, size_t length, off_t offset)
{
  switch (way) {
  case READ:
    return read(file, bytes, length);
  case READ_AT:
    return pread(file, bytes, length, offset);
  case WRITE:
    return write(file, bytes, length);
  case WRITE_AT:
    return pwrite(file, bytes, length, offset);
  default:
    return send(file, bytes, length, MSG_NOSIGNAL);
  }
}

// The bytes that were moved. Where a call moved none, errno is 0.
static size_t move_all(enum way way, int file, void *bytes, size_t length, uint64_t offset)
{
  size_t done = 0;
  for (ssize_t moved = 1; moved > 0 && done < length;) {
    moved = TEMP_FAILURE_RETRY(move_once(way, file, (char *)bytes + done, length - done, (off_t)(offset + done)));
    done += moved > 0 ? (size_t)moved : 0;
    errno = moved == 0 ? 0 : errno;
  }
  return done;
}

static bool put_all(enum way way, int file, const void *bytes, size_t length, uint64_t offset)
{
  if (move_all(way, file, (void *)bytes, length, offset) == length)
    return true;
  errno = errno == 0 ? EIO : errno;
  return false;
}

size_t transfer_read(int file, void *bytes, size_t length)
{
  return move_all(READ, file, bytes, length, 0);
}

size_t transfer_read_at(int file, void *bytes, size_t length, uint64_t offset)
{
  return move_all(READ_AT, file, bytes, length, offset);
}

bool transfer_write(int file, const void *bytes, size_t length)
{
  return put_all(WRITE, file, bytes, length, 0);
}

bool transfer_write_at(int file, const void *bytes, size_t length, uint64_t offset)
{
  return put_all(WRITE_AT, file, bytes, length, offset);
}

bool transfer_send(int socket, const void *bytes, size_t length)
{
  return put_all(SEND, socket, bytes, length, 0);
}
