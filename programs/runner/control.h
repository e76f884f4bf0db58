// SPDX-License-Identifier: Apache-2.0
// The runner's end of the control socket (trace/format/protocol.h).
#ifndef XSP_PROGRAMS_RUNNER_CONTROL_H
#define XSP_PROGRAMS_RUNNER_CONTROL_H

#include "base/error.h"
#include "format/protocol.h"

#include <stdbool.h>
#include <stddef.h>

bool control_send(int fd, const char *const *fields, size_t count); // false: the socket is closed
// The same, later: adds the line to `lines`, which is sent and emptied when it is long, and by control_flush. A socket that is closed shows
// at the next control_read.
void control_add(struct buf *lines, int fd, const char *const *fields, size_t count);
void control_flush(struct buf *lines, int fd);
void control_send_error(int fd, const struct error *err);
void control_send_unreadable(int fd, size_t item, const struct error *err);

struct control_reader {
  int fd;
  char bytes[PROTOCOL_LINE_MAXIMUM];
  size_t length, taken;
};
// The next line without its end, valid until the next call. NULL: the socket closed, or the line is too long.
char *control_read(struct control_reader *reader);

#endif
