// SPDX-License-Identifier: Apache-2.0
// Catches stderr in a file in memory; see stderr_capture.h. Nothing here may fail: without a file the lines go where they went.
#include "frameworks/common/stderr_capture.h"

#include "base/transfer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CAUGHT_MOST 65536 // of the end of what was written

void framework_stderr_capture_start(struct stderr_capture *capture)
{
  *capture = (struct stderr_capture){.file = memfd_create("xsp-stderr", MFD_CLOEXEC), .real = -1};
  if (capture->file < 0)
    return;
  fflush(stderr);
  capture->real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (capture->real >= 0 && dup2(capture->file, STDERR_FILENO) >= 0)
    return;
  if (capture->real >= 0)
    close(capture->real);
  close(capture->file);
  *capture = (struct stderr_capture){-1, -1};
}

void framework_stderr_capture_line(const char *caught, const char *prefix, char *text, size_t size)
{
  size_t used = 0;
  text[0] = 0;
  for (const char *line = caught; *line != 0 && used + 1 < size;) {
    size_t length = strcspn(line, "\n");
    const char *at = line, *end = line + length;
    line += length + (line[length] == '\n');
    if (strncmp(at, prefix, strlen(prefix)) != 0)
      continue;
    at += strlen(prefix);
    const char *bracket = at < end && *at == '[' ? memchr(at, ']', (size_t)(end - at)) : NULL;
    if (bracket != NULL)
      at = bracket + 1;
    while (at < end && *at == ' ')
      at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '.'))
      end--;
    if (end > at)
      used += (size_t)snprintf(text + used, size - used, "%s%.*s", used > 0 ? "; " : "", (int)(end - at), at);
  }
}

void framework_stderr_capture_end(struct stderr_capture *capture, const char *prefix, char *text, size_t size)
{
  text[0] = 0;
  if (capture->file < 0)
    return;
  fflush(stderr);
  dup2(capture->real, STDERR_FILENO);
  static char caught[CAUGHT_MOST + 1];
  off_t end = lseek(capture->file, 0, SEEK_END);
  off_t from = end > CAUGHT_MOST ? end - CAUGHT_MOST : 0;
  ssize_t length = pread(capture->file, caught, CAUGHT_MOST, from);
  if (length > 0) {
    (void)transfer_write(STDERR_FILENO, caught, (size_t)length);
    caught[length] = 0;
    framework_stderr_capture_line(caught, prefix, text, size);
  }
  close(capture->real);
  close(capture->file);
  *capture = (struct stderr_capture){-1, -1};
}
