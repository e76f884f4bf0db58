// SPDX-License-Identifier: Apache-2.0
// Reads one line of the program's source. Called by F29 and the first sentence. The name comes from a trace: only a regular file *.py is
// read, only where the trace was recorded on this machine, and only if the request allows it, which a server's never does.
#include "analyze/findings/source_line.h"

#include "base/input_file.h"

#include <string.h>

#define FILE_BYTES_MOST ((size_t)512 << 10)

static bool is_python(const char *path)
{
  size_t length = strlen(path);
  return path[0] == '/' && length > 3 && strcmp(path + length - 3, ".py") == 0;
}

static struct slice line_of(struct slice text, int64_t line)
{
  const char *end = text.data + text.length, *at = text.data;
  for (; line > 1 && at != NULL; line--) {
    at = memchr(at, '\n', (size_t)(end - at));
    at = at != NULL ? at + 1 : NULL;
  }
  if (at == NULL || line != 1)
    return (struct slice){text.data, 0};
  const char *newline = memchr(at, '\n', (size_t)(end - at));
  return (struct slice){at, (size_t)((newline != NULL ? newline : end) - at)};
}

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

static struct slice without_blanks(struct slice text)
{
  for (; text.length > 0 && is_blank(text.data[0]); text.length--)
    text.data++;
  while (text.length > 0 && is_blank(text.data[text.length - 1]))
    text.length--;
  return text;
}

static int64_t changed_ns(const struct stat *facts)
{
  return (int64_t)facts->st_mtim.tv_sec * 1000000000 + facts->st_mtim.tv_nsec;
}

const char *findings_source_line(struct findings *findings, const char *file, int64_t line)
{
  const struct question *question = findings->question;
  const struct store_experiment *experiment = question->view->experiment;
  struct buf text SCOPED(buf_done) = {0};
  struct error err;
  struct stat facts;
  bool is_here;
  buf_init(&text, FILE_BYTES_MOST);
  if (!question->request->reads_source || file == NULL || !is_python(file) || stat(file, &facts) != 0 ||
      changed_ns(&facts) > experiment->created_ns ||
      analyze_is_here(question->view->store, experiment->system_id, question->scratch, &is_here, &err) != STATUS_OK ||
      !is_here || input_file_read(file, "cannot read the source", &text, NULL) != STATUS_OK || text.length == 0)
    return NULL;
  struct slice found = without_blanks(line_of((struct slice){text.data, text.length}, line));
  return found.length > 0 ? findings_name(findings, arena_copy(question->arena, found.data, found.length)) : NULL;
}
