// SPDX-License-Identifier: Apache-2.0
// Lines of XSP_DEBUG, each by one write, and stops of XSP_STOP. Started by main of xsp.
#include "base/debug.h"

#include "base/slice.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 2048

static const char *const names[] = {
#define DEBUG_NAME(room) #room,
    DEBUG_ROOMS(DEBUG_NAME)
#undef DEBUG_NAME
};
unsigned debug_mask;
static int debug_file = -1;
static const char *stops; // XSP_STOP

static unsigned mask_of(struct slice name)
{
  if (slice_is(name, "all"))
    return (1u << DEBUG_ROOM_COUNT) - 1;
  for (unsigned room = 0; room < DEBUG_ROOM_COUNT; room++)
    if (slice_is(name, names[room]))
      return 1u << room;
  return 0;
}

void debug_start(void)
{
  stops = getenv("XSP_STOP");
  struct slice list = slice_of(getenv("XSP_DEBUG")), name;
  unsigned mask = 0;
  while (slice_cut(&list, ',', &name)) {
    unsigned wanted = mask_of(name);
    if (wanted == 0 && name.length > 0)
      fprintf(stderr, "xsp: XSP_DEBUG: no room prints as '%.*s'\n", (int)name.length, name.data);
    mask |= wanted;
  }
  if (mask != 0)
    debug_file = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (debug_file >= 0)
    debug_mask = mask;
}

void debug_stop(const char *point)
{
  struct slice list = slice_of(stops), name;
  while (slice_cut(&list, ',', &name))
    if (slice_is(name, point))
      raise(SIGSTOP);
}

void debug_print(enum debug_room room, const char *format, ...)
{
  char line[LINE_BYTES];
  int reason = errno;
  size_t length = (size_t)snprintf(line, sizeof line, "xsp %s: ", names[room]), room_left = sizeof line - length - 1;
  va_list arguments;
  va_start(arguments, format);
  int wanted = vsnprintf(line + length, room_left, format, arguments);
  va_end(arguments);
  length += wanted < 0 ? 0 : (size_t)wanted < room_left ? (size_t)wanted : room_left - 1;
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
      line[i] = '?';
  line[length++] = '\n';
  (void)!write(debug_file, line, length);
  errno = reason;
}
