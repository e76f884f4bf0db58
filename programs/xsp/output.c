// SPDX-License-Identifier: Apache-2.0
// Checked writes to stdout, messages to stderr. Called by the verbs and, last, by main. Never exits.
#include "programs/xsp/output.h"

#include "report/display.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_BYTES_MAXIMUM ((size_t)1 << 16) // longer messages are dropped

#define PROGRESS_EVERY_S 5 // unless stderr is a terminal

static bool reader_left;

static enum status output_failed(struct error *err)
{
  if (errno == EPIPE) {
    reader_left = true;
    return STATUS_SYSTEM;
  }
  return error_set_errno(err, STATUS_SYSTEM, "cannot write the output", "stdout", "another place with room for it");
}

enum status output_write(const void *bytes, size_t length, struct error *err)
{
  if (reader_left)
    return STATUS_SYSTEM;
  if (length > 0 && fwrite(bytes, 1, length, stdout) != length)
    return output_failed(err);
  return STATUS_OK;
}

enum status output_buf(const struct buf *buf, struct error *err)
{
  if (buf->failed)
    return error_set(err, STATUS_MEMORY, "cannot hold the output", NULL, "asking for less, with --top or a limit",
                     "out of memory, or more than %zu bytes", buf->maximum);
  XSP_TRY(output_write(buf->data, buf->length, err));
  return output_finish(err); // so that later messages come after it where both go to one place
}

enum status output_finish(struct error *err)
{
  if (reader_left)
    return STATUS_SYSTEM;
  if (fflush(stdout) != 0)
    return output_failed(err);
  return STATUS_OK;
}

bool output_reader_left(void)
{
  return reader_left;
}

void output_message(const char *format, ...)
{
  struct buf line, escaped;
  buf_init(&line, MESSAGE_BYTES_MAXIMUM);
  buf_init(&escaped, MESSAGE_BYTES_MAXIMUM);
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length > 0 && buf_reserve(&line, (size_t)length)) {
    vsnprintf(line.data, (size_t)length + 1, format, again);
    display_escape(&escaped, line.data, (size_t)length);
    buf_text(&escaped, "\n");
  }
  va_end(again);
  if (!escaped.failed && escaped.length > 0)
    fwrite(escaped.data, 1, escaped.length, stderr);
  buf_done(&line);
  buf_done(&escaped);
}

// What may be tried where the place that failed knows nothing better: an error never ends without a next step.
static const char *common_advice(enum status status)
{
  switch (status) {
  case STATUS_NO:
    return "`xsp info FILE`, which lists what a file has";
  case STATUS_USE:
    return "`xsp help`";
  case STATUS_INPUT:
    return "another file, or the same one made anew";
  case STATUS_MEMORY:
    return "again with more memory free";
  default:
    return "`xsp check`, which lists what this machine has";
  }
}

void output_error(const struct error *err)
{
  struct error whole = *err;
  if (whole.advice[0] == 0)
    snprintf(whole.advice, sizeof whole.advice, "%s", common_advice(err->status));
  char line[4 * sizeof whole]; // an escape is four characters
  size_t length = error_line(&whole, line, sizeof line - 1);
  line[length++] = '\n';
  fwrite(line, 1, length, stderr);
}

void output_progress(const char *text, bool is_last)
{
  static struct timespec shown;
  bool is_terminal = isatty(STDERR_FILENO) == 1;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (!is_terminal && (text == NULL || (now.tv_sec - shown.tv_sec < PROGRESS_EVERY_S && !is_last)))
    return;
  shown = now;
  fprintf(stderr, "%s%s%s", is_terminal ? "\r\033[K" : "", text != NULL ? text : "",
          text == NULL || (is_terminal && !is_last) ? "" : "\n");
}

unsigned output_width(void)
{
  const char *columns = getenv("COLUMNS");
  if (columns != NULL && columns[0] != 0) {
    char *end = NULL;
    unsigned long value = strtoul(columns, &end, 10);
    if (*end == 0 && value > 0 && value < 10000)
      return (unsigned)value;
  }
  struct winsize size;
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 0;
}
