// SPDX-License-Identifier: Apache-2.0
// Lines to and from xsp. Called by main.c.
#include "programs/runner/control.h"

#include "base/transfer.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define LINES_BYTES_MOST ((size_t)1 << 20)

bool control_send(int fd, const char *const *fields, size_t count)
{
  struct buf line SCOPED(buf_done);
  buf_init(&line, PROTOCOL_LINE_MAXIMUM);
  protocol_format(&line, fields, count);
  return !line.failed && transfer_send(fd, line.data, line.length);
}

void control_add(struct buf *lines, int fd, const char *const *fields, size_t count)
{
  protocol_format(lines, fields, count);
  if (lines->length > LINES_BYTES_MOST)
    control_flush(lines, fd);
}

void control_flush(struct buf *lines, int fd)
{
  (void)transfer_send(fd, lines->data, lines->length);
  buf_clear(lines);
}

void control_send_error(int fd, const struct error *err)
{
  char number[16];
  snprintf(number, sizeof number, "%d", (int)err->status);
  const char *fields[] = {"error", number, err->what, err->where, err->why, err->advice};
  control_send(fd, fields, sizeof fields / sizeof fields[0]);
}

void control_send_unreadable(int fd, size_t item, const struct error *err)
{
  char number[24];
  snprintf(number, sizeof number, "%zu", item);
  control_send(fd, (const char *const[]){"unreadable", number, err->what, err->where, err->why, err->advice}, 6);
}

char *control_read(struct control_reader *reader)
{
  memmove(reader->bytes, reader->bytes + reader->taken, reader->length - reader->taken);
  reader->length -= reader->taken;
  reader->taken = 0;
  for (;;) {
    char *end = memchr(reader->bytes, '\n', reader->length);
    if (end != NULL) {
      *end = 0;
      reader->taken = (size_t)(end + 1 - reader->bytes);
      return reader->bytes;
    }
    if (reader->length == sizeof reader->bytes)
      return NULL;
    size_t room = sizeof reader->bytes - reader->length;
    ssize_t more = TEMP_FAILURE_RETRY(recv(reader->fd, reader->bytes + reader->length, room, 0));
    if (more <= 0)
      return NULL;
    reader->length += (size_t)more;
  }
}
