// SPDX-License-Identifier: Apache-2.0
// Names of outputs and of programs in traces. Called by verb_run.c before anything runs, and by execute.c.
#include "launch/file_name.h"

#include "base/buf.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status wrong(const char *pattern, const char *advice, struct error *err, const char *why)
{
  return error_set(err, STATUS_USE, "cannot make a file name", pattern, advice, "%s", why);
}

// `*at` is after "%q".
static enum status put_variable(const char *pattern, const char **at, struct buf *name, struct error *err)
{
  char variable[256];
  size_t length = **at == '{' ? strcspn(*at, "}") : 0;
  if (length < 2 || (*at)[length] != '}' || length >= sizeof variable)
    return wrong(pattern, "%q{NAME}, as in %q{RANK}", err, "%q without a name in braces");
  memcpy(variable, *at + 1, length - 1);
  variable[length - 1] = '\0';
  const char *value = getenv(variable);
  if (value == NULL)
    return error_set(err, STATUS_USE, "cannot make a file name", pattern, "%p, or a variable that is set",
                     "the environment has no %s", variable);
  buf_text(name, value);
  *at += length + 1;
  return STATUS_OK;
}

static enum status put_host(const char *pattern, struct buf *name, struct error *err)
{
  char host[256];
  if (gethostname(host, sizeof host - 1) != 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot make a file name", pattern, NULL);
  host[sizeof host - 1] = '\0';
  buf_text(name, host);
  return STATUS_OK;
}

static enum status expand(const char *pattern, struct buf *name, struct error *err)
{
  for (const char *at = pattern; *at != '\0';) {
    size_t plain = strcspn(at, "%");
    buf_put(name, at, plain);
    at += plain;
    if (*at == '\0')
      break;
    at += 2;
    switch (at[-1]) {
    case 'h':
      XSP_TRY(put_host(pattern, name, err));
      break;
    case 'p':
      buf_format(name, "%ld", (long)getpid());
      break;
    case 'q':
      XSP_TRY(put_variable(pattern, &at, name, err));
      break;
    case '%':
      buf_put(name, "%", 1);
      break;
    default:
      return wrong(pattern, "%h, %p, %q{NAME}, or %% for a percent sign", err, "an unknown character after '%'");
    }
  }
  if (name->length == 0)
    return wrong(pattern, "-o FILE.xsp", err, "the output's name is empty");
  return STATUS_OK;
}

enum status file_name_expand(const char *pattern, struct arena *arena, const char **ret_name, struct error *err)
{
  struct buf name SCOPED(buf_done);
  buf_init(&name, PATH_MAX);
  XSP_TRY(expand(pattern, &name, err));
  if (name.failed)
    XSP_TRY(wrong(pattern, "a shorter one", err, "the name is too long"));
  *ret_name = arena_copy(arena, name.data, name.length);
  return STATUS_OK;
}

// The script that an interpreter is given, as in "python3 train.py": the first plain argument where it is a readable file
// with an ending. NULL: none.
static const char *file_name_script(char *const *command)
{
  for (char *const *word = command + 1; *word != NULL; word++) {
    if ((*word)[0] == '-')
      continue;
    const char *base = basename(*word), *dot = strrchr(base, '.');
    struct stat status;
    bool is_script = dot != NULL && dot != base && isalpha((unsigned char)dot[1]) && stat(*word, &status) == 0 &&
                     S_ISREG(status.st_mode);
    return is_script ? *word : NULL;
  }
  return NULL;
}

void file_name_program(char *const *command, char *name, size_t size)
{
  const char *script = file_name_script(command);
  snprintf(name, size, "%s%s%s", basename(command[0]), script != NULL ? " " : "",
           script != NULL ? basename(script) : "");
}

static bool is_interpreter(const char *command)
{
  static const char *const names[] = {"python", "pypy", "perl", "ruby",  "node",    "bash",
                                      "sh",     "dash", "zsh",  "julia", "Rscript", "lua"};
  const char *base = basename(command);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t length = strlen(names[i]);
    if (strncmp(base, names[i], length) == 0 && strspn(base + length, "0123456789.") == strlen(base + length))
      return true;
  }
  return false;
}

const char *file_name_default(char *const *command, struct arena *arena)
{
  const char *script = is_interpreter(command[0]) ? file_name_script(command) : NULL;
  const char *path = script != NULL ? script : command[0];
  const char *base = basename(path), *dot = strrchr(base, '.');
  size_t length = script != NULL && dot != NULL && dot > base ? (size_t)(dot - base) : strlen(base);
  return length == 0 ? arena_format(arena, "run.xsp") : arena_format(arena, "%.*s.xsp", (int)length, base);
}
