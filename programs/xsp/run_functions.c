// SPDX-License-Identifier: Apache-2.0
// xsp's side of --functions: the list is read with the code that the traced process uses, so that both agree on it, and
// what each process said of it is put together. Called by `xsp run`.
#include "programs/xsp/run_functions.h"

#include "tracers/functions/list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
  char *text; // the rules borrow from it
  struct function_rule *rules;
  uint32_t count;
};

static void list_done(struct list *list)
{
  free(list->text);
  free(list->rules);
  *list = (struct list){0};
}

static enum status read_text(const char *path, struct list *list, size_t *ret_length, struct error *err)
{
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return error_set_errno(err, STATUS_INPUT, "cannot read the list of functions", path, NULL);
  *ret_length = fread(list->text, 1, FUNCTIONS_LIST_BYTES_MOST + 1, file);
  bool failed = ferror(file) != 0;
  int error = errno;
  fclose(file);
  errno = error;
  if (failed)
    return error_set_errno(err, STATUS_INPUT, "cannot read the list of functions", path, NULL);
  if (*ret_length > FUNCTIONS_LIST_BYTES_MOST)
    return error_set(err, STATUS_INPUT, "cannot use the list of functions", path, NULL, "it is longer than %u KiB",
                     FUNCTIONS_LIST_BYTES_MOST >> 10);
  return STATUS_OK;
}

static enum status list_read(const char *path, struct list *list, struct error *err)
{
  *list = (struct list){malloc(FUNCTIONS_LIST_BYTES_MOST + 2), calloc(FUNCTIONS_RULES_MOST, sizeof *list->rules), 0};
  if (list->text == NULL || list->rules == NULL)
    return error_set(err, STATUS_MEMORY, "cannot read the list of functions", path, NULL, "out of memory");
  size_t length = 0;
  XSP_TRY(read_text(path, list, &length, err));
  struct functions_fault fault = {0};
  if (functions_list_parse(list->text, length, list->rules, &list->count, &fault))
    return STATUS_OK;
  char where[512];
  snprintf(where, sizeof where, "%.480s:%u", path, fault.line);
  return error_set(err, STATUS_INPUT, "cannot use the list of functions", where, "see docs/functions.md", "%s%s%s%s",
                   fault.word[0] != 0 ? "'" : "", fault.word, fault.word[0] != 0 ? "': " : "", fault.what);
}

static bool same_text(const char *a, const char *b)
{
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static enum status refuse_twice(const char *path, const struct list *list, struct error *err)
{
  for (uint32_t i = 0; i < list->count; i++)
    for (uint32_t j = 0; j < i; j++)
      if (same_text(list->rules[i].name, list->rules[j].name) &&
          same_text(list->rules[i].library, list->rules[j].library)) {
        char where[512];
        snprintf(where, sizeof where, "%.480s:%u", path, list->rules[i].line);
        return error_set(err, STATUS_INPUT, "cannot use the list of functions", where, "remove one",
                         "'%s' is in line %u already", list->rules[i].name, list->rules[j].line);
      }
  if (list->count == 0)
    return error_set(err, STATUS_INPUT, "cannot use the list of functions", path, "name functions, one a line",
                     "it names none");
  return STATUS_OK;
}

enum status functions_file_check(const char *path, struct error *err)
{
  struct list list;
  enum status status = list_read(path, &list, err);
  if (status == STATUS_OK)
    status = refuse_twice(path, &list, err);
  list_done(&list);
  return status;
}

// ---- what was not found ----------------------------------------------------------------------------------------------
// The tracer's lines are "functions: found …[; not found: NAME, NAME…]", one a process; see stop() in functions.c.
#define FOUND_LINE "functions: found "
#define NOT_FOUND "; not found: "

// Whether the line, of `length` bytes, says that the process lacked `name`. A cut list lacks what it does not show.
static bool line_lacks(const char *text, size_t length, const char *name)
{
  const char *end = text + length;
  const char *names = memmem(text, length, NOT_FOUND, strlen(NOT_FOUND));
  if (names == NULL)
    return false;
  for (const char *at = names + strlen(NOT_FOUND); at < end;) {
    const char *stop = memmem(at, (size_t)(end - at), ", ", 2);
    if (stop == NULL)
      stop = end;
    if ((size_t)(stop - at) == strlen(name) && memcmp(at, name, strlen(name)) == 0)
      return true;
    at = stop + 2;
  }
  return end - names >= 3 && memcmp(end - 3, "…", 3) == 0;
}

static bool is_missing(const char *messages, const char *name)
{
  bool was_said = false;
  for (size_t length; *messages != '\0'; messages += length + (messages[length] == '\n')) {
    length = strcspn(messages, "\n");
    if (strncmp(messages, FOUND_LINE, strlen(FOUND_LINE)) != 0)
      continue;
    was_said = true;
    if (!line_lacks(messages, length, name))
      return false;
  }
  return was_said;
}

size_t functions_missing(const char *path, const char *messages, char *line, size_t size)
{
  struct list list;
  size_t length = 0;
  line[0] = '\0';
  if (list_read(path, &list, NULL) == STATUS_OK)
    for (uint32_t i = 0; i < list.count; i++) {
      if (!is_missing(messages, list.rules[i].name))
        continue;
      const char *before = length == 0 ? "not found in any process: " : ", ";
      if (length + strlen(before) + strlen(list.rules[i].name) + 8 >= size) {
        if (length + 6 < size)
          length += (size_t)snprintf(line + length, size - length, ", …");
        break;
      }
      length += (size_t)snprintf(line + length, size - length, "%s%s", before, list.rules[i].name);
    }
  list_done(&list);
  return length;
}
