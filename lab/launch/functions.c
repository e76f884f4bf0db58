// SPDX-License-Identifier: Apache-2.0
// xsp's side of --functions: parses the list with the traced process's own code, and joins the processes' messages
// about it. Called by `xsp run`.
#include "launch/functions.h"

#include "base/buf.h"
#include "base/input_file.h"
#include "base/slice.h"
#include "base/vector.h"
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
  FILE *file SCOPED(scoped_fclose) = NULL;
  XSP_TRY(input_file_stream(path, INPUT_FILE_REGULAR, "cannot read the list of functions", &file, err));
  *ret_length = fread(list->text, 1, FUNCTIONS_LIST_BYTES_MOST + 1, file);
  if (ferror(file) != 0)
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

static enum status refuse_twice(const char *path, const struct list *list, struct error *err)
{
  for (uint32_t i = 0; i < list->count; i++)
    for (uint32_t j = 0; j < i; j++)
      if (texts_equal(list->rules[i].name, list->rules[j].name) &&
          texts_equal(list->rules[i].library, list->rules[j].library)) {
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
  struct list list SCOPED(list_done);
  XSP_TRY(list_read(path, &list, err));
  return refuse_twice(path, &list, err);
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

// ---- what was not found ----------------------------------------------------------------------------------------------
// The tracer's lines are "functions: found …[; not found: NAME, NAME…]", one a process; see stop() in functions.c.
#define FOUND_LINE "functions: found "
#define NOT_FOUND "; not found: "
#define LINE_MOST 1024

// Whether the process that reported `line` lacked `name`. A cut list lacks all that it does not show.
static bool line_lacks(struct slice line, const char *name)
{
  const char *names = memmem(line.data, line.length, NOT_FOUND, strlen(NOT_FOUND));
  if (names == NULL)
    return false;
  names += strlen(NOT_FOUND);
  struct slice rest = {names, (size_t)(line.data + line.length - names)}, part;
  while (slice_cut(&rest, ',', &part)) {
    part = slice_trim(part);
    if (slice_is(part, name) || slice_is(part, "…"))
      return true;
  }
  return false;
}

// "functions: 3 processes looked for 4; not found in any: a, b", about the processes' lines `found`.
static void describe(const struct list *list, const struct slice *found, size_t count, struct buf *text)
{
  const char *before = "; not found in any: ";
  size_t start = text->length;
  buf_format(text, "functions: %zu processes looked for %u", count, list->count);
  for (uint32_t i = 0; i < list->count; i++) {
    const struct function_rule *rule = &list->rules[i];
    char name[1024]; // as the tracer writes it
    snprintf(name, sizeof name, "%s%s%s", rule->library != NULL ? rule->library : "", rule->library != NULL ? ":" : "",
             rule->name);
    bool is_missing = true;
    for (size_t k = 0; k < count && is_missing; k++)
      is_missing = line_lacks(found[k], name);
    if (!is_missing)
      continue;
    if (text->length - start + strlen(name) > LINE_MOST) {
      buf_text(text, ", …");
      return;
    }
    buf_format(text, "%s%s", before, name);
    before = ", ";
  }
}

const char *functions_file_put_together(const char *path, const char *messages, struct arena *arena)
{
  VECTOR(struct slice) found SCOPED(vector_end) = {0};
  struct slice rest = slice_of(messages), line;
  struct buf text SCOPED(buf_done) = {0};
  while (slice_cut(&rest, '\n', &line))
    if (slice_starts_with(line, FOUND_LINE))
      *vector_add(&found) = line;
    else if (line.length > 0)
      buf_format(&text, "%.*s\n", (int)line.length, line.data);
  struct list list SCOPED(list_done) = {0};
  if (found.count > 1 && list_read(path, &list, NULL) == STATUS_OK) {
    describe(&list, found.items, found.count, &text);
    messages = arena_copy(arena, text.data, text.length);
  }
  return messages;
}
