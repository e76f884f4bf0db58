// SPDX-License-Identifier: Apache-2.0
// Errors as one line. Used by every room; allocates nothing.
#include "base/error.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void copy_text(char *to, size_t size, const char *from)
{
  snprintf(to, size, "%s", from != NULL ? from : "");
}

enum status error_set(struct error *err, enum status status, const char *what, const char *where, const char *advice,
                      const char *why_format, ...)
{
  if (err == NULL)
    return status;
  err->status = status;
  copy_text(err->what, sizeof err->what, what);
  copy_text(err->where, sizeof err->where, where);
  copy_text(err->advice, sizeof err->advice, advice);
  va_list args;
  va_start(args, why_format);
  vsnprintf(err->why, sizeof err->why, why_format, args);
  va_end(args);
  return status;
}

enum status error_set_errno(struct error *err, enum status status, const char *what, const char *where,
                            const char *advice)
{
  int number = errno;
  if (number == ENOMEM)
    status = STATUS_MEMORY;
  else if (number == EMFILE || number == ENFILE)
    status = STATUS_SYSTEM;
  return error_set(err, status, what, where, advice, "%s", strerror(number));
}

void error_prefix(struct error *err, const char *prefix)
{
  const size_t room = sizeof err->what - 1, length = strnlen(prefix, room);
  if (err == NULL)
    return;
  memmove(err->what + length, err->what, room - length);
  memcpy(err->what, prefix, length);
  err->what[room] = '\0';
}

struct line {
  char *text;
  size_t size;
  size_t used;
};

static void line_put(struct line *line, const char *text, size_t length)
{
  if (line->used + length >= line->size)
    return;
  memcpy(line->text + line->used, text, length);
  line->used += length;
}

static void line_escaped(struct line *line, const char *text)
{
  const unsigned char *byte = (const unsigned char *)text;
  while (*byte != 0) {
    size_t length = utf8_sequence(byte, strnlen((const char *)byte, 4));
    if (length == 0 || *byte < 0x20 || *byte == 0x7f) {
      char escape[8];
      int written = snprintf(escape, sizeof escape, *byte == '\n' ? "\\n" : "\\x%02x", *byte);
      line_put(line, escape, (size_t)written);
      byte++;
    } else {
      line_put(line, (const char *)byte, length);
      byte += length;
    }
  }
}

size_t error_line(const struct error *err, char *text, size_t size)
{
  struct line line = {text, size, 0};
  line_put(&line, "xsp: ", 5);
  line_escaped(&line, err->what);
  const char *parts[] = {err->where, err->why};
  for (size_t i = 0; i < 2; i++)
    if (parts[i][0] != 0) {
      line_put(&line, ": ", 2);
      line_escaped(&line, parts[i]);
    }
  if (err->advice[0] != 0) {
    line_put(&line, "; try: ", 7);
    line_escaped(&line, err->advice);
  }
  if (size > 0)
    text[line.used] = 0;
  return line.used;
}

int status_exit_code(enum status status)
{
  static const int codes[] = {
#define X(name, code, meaning) code,
      STATUS_LIST(X)
#undef X
  };
  return codes[status];
}
