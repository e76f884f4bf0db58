// SPDX-License-Identifier: Apache-2.0
// xsp's side of --functions: parses the list with the traced process's own code, and joins the processes' messages
// about it. Called by `xsp run`.
#include "launch/functions.h"

#include "base/memory.h"
#include "tracers/tracers.h"

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
  *list = (struct list){memory_new(1, FUNCTIONS_LIST_BYTES_MOST + 2),
                        memory_new(FUNCTIONS_RULES_MOST, sizeof *list->rules), 0};
  size_t length = 0;
  XSP_TRY(read_text(path, list, &length, err));
  struct functions_fault fault = {0};
  if (functions_list_parse(list->text, length, list->rules, &list->count, &fault))
    return STATUS_OK;
  char where[512];
  snprintf(where, sizeof where, "%.480s:%u", path, fault.line);
  return error_set(err, STATUS_INPUT, "cannot use the list of functions", where, "see docs/functions.md", "%s%s%s%s",
                   fault.word[0] != 0 ? "'" : "", fault.word, fault.word[0] != 0 ? "' " : "", fault.what);
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

// As the tracer writes a rule: with its library, where it has one.
static void rule_text(const struct function_rule *rule, char *text, size_t size)
{
  snprintf(text, size, "%s%s%s", rule->library != NULL ? rule->library : "", rule->library != NULL ? ":" : "",
           rule->name);
}

// Whether the line, of `length` bytes, reports that the process lacked `name`. A cut list lacks all that it does not show.
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

// The next line about functions that were found, from `at` on; NULL: none.
static const char *next_found(const char *at)
{
  for (size_t length; *at != '\0'; at += length + (at[length] == '\n')) {
    length = strcspn(at, "\n");
    if (strncmp(at, FOUND_LINE, strlen(FOUND_LINE)) == 0)
      return at;
  }
  return NULL;
}

static bool is_missing(const char *messages, const char *name)
{
  for (const char *line = messages; (line = next_found(line)) != NULL; line += strcspn(line, "\n"))
    if (!line_lacks(line, strcspn(line, "\n"), name))
      return false;
  return true;
}

uint32_t functions_file_levels(const char *path)
{
  struct list list;
  uint32_t levels = 0;
  if (list_read(path, &list, NULL) == STATUS_OK)
    for (uint32_t i = 0; i < list.count; i++)
      levels |= UINT32_C(1) << list.rules[i].level;
  list_done(&list);
  return levels;
}

// "functions: of 4, in 3 processes; not found: a, b", cut to `size`.
static void describe(const struct list *list, const char *messages, unsigned processes, char *line, size_t size)
{
  size_t length = (size_t)snprintf(line, size, "functions: %u processes looked for %u", processes, list->count);
  const char *before = "; not found in any: ";
  for (uint32_t i = 0; i < list->count; i++) {
    char name[1024];
    rule_text(&list->rules[i], name, sizeof name);
    if (!is_missing(messages, name))
      continue;
    if (length + strlen(before) + strlen(name) + 8 >= size) {
      if (length + 8 < size)
        snprintf(line + length, size - length, ", …");
      return;
    }
    length += (size_t)snprintf(line + length, size - length, "%s%s", before, name);
    before = ", ";
  }
}

void functions_put_together(const char *path, char *messages)
{
  unsigned processes = 0;
  size_t room = 0;
  for (const char *line = messages; (line = next_found(line)) != NULL; line += strcspn(line, "\n")) {
    room += strcspn(line, "\n") + 1;
    processes++;
  }
  if (processes < 2)
    return;
  char together[1024] = "";
  struct list list;
  if (list_read(path, &list, NULL) == STATUS_OK)
    describe(&list, messages, processes, together, room < sizeof together ? room : sizeof together);
  bool is_read = together[0] != '\0';
  list_done(&list);
  if (!is_read)
    return;
  char *to = messages;
  for (const char *line = messages; *line != '\0';) {
    size_t length = strcspn(line, "\n");
    const char *next = line + length + (line[length] == '\n');
    if (strncmp(line, FOUND_LINE, strlen(FOUND_LINE)) != 0) {
      memmove(to, line, (size_t)(next - line));
      to += next - line;
    }
    line = next;
  }
  size_t length = strlen(together); // shorter than the lines that went: they had room for it and an end each
  if (to > messages && to[-1] != '\n')
    *to++ = '\n';
  memcpy(to, together, length + 1);
}
