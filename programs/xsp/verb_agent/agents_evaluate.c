// SPDX-License-Identifier: Apache-2.0
// xsp evaluate and xsp profile on agents; see agents.h. The agents' tables become one, with a column for the agent.
#include "agent/dispatch.h"
#include "base/slice.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/serving.h"
#include "programs/xsp/verb_agent/agents.h"
#include "table/builder.h"

#include <stdlib.h>
#include <string.h>

// ---- what is asked -----------------------------------------------------------------------------------------------------
static bool is_handed_on(const char *option)
{
  for (size_t i = 0; i < SUBMISSION_OPTIONS; i++)
    if (strcmp(submission_options[i].name, option) == 0)
      return true;
  return false;
}

static bool is_profile(const struct invocation *invocation)
{
  return strcmp(invocation->verb->name, "profile") == 0;
}

// An option without effect would be a wrong measurement.
static enum status check_use(const struct invocation *invocation, struct error *err)
{
  static const char *const own[] = {"registry", "on",    "any",    "all",  "token-file", "data", "output",
                                    "force",    "quiet", "format", "json", "raw",        NULL};
  for (size_t i = 0; i < invocation->option_count; i++) {
    const char *name = invocation->options[i].description->name;
    if (!text_is_in(name, own) && !is_handed_on(name))
      return option_refused(name, NULL, "one of the two", "with --registry it has no effect on agents", err);
  }
  if (!is_profile(invocation) && invocation_value(invocation, "data") == NULL)
    return error_set(err, STATUS_USE, "wrong use", "--data", "--data NAME", "there are no inputs");
  if (invocation->argument_count > SUBMISSION_MODELS_MOST)
    return error_set(err, STATUS_USE, "wrong use", "evaluate", NULL, "there are too many models");
  if (invocation_has(invocation, "all") && invocation_has(invocation, "any"))
    return error_set(err, STATUS_USE, "wrong use", "--all", "one of the two", "--any is given, too");
  return STATUS_OK;
}

// All values of an option, with commas between them.
static const char *joined(const struct invocation *invocation, const char *name, struct arena *arena)
{
  const char *text = invocation_value_at(invocation, name, 0), *value;
  for (size_t i = 1; (value = invocation_value_at(invocation, name, i)) != NULL; i++)
    text = arena_format(arena, "%s,%s", text, value);
  return text;
}

static enum status fill_option(const struct invocation *invocation, const struct submission_option *option,
                               struct arena *arena, const char **ret_value, struct error *err)
{
  int64_t integer;
  double number;
  *ret_value = option->kind == SUBMISSION_FLAG    ? "true"
               : submission_is_list(option->kind) ? joined(invocation, option->name, arena)
                                                  : invocation_value(invocation, option->name);
  bool are_several = option->kind == SUBMISSION_INTEGERS && is_profile(invocation);
  if (are_several && !submission_are_integers(*ret_value))
    return error_set(err, STATUS_USE, "wrong use", option->name, "1,2,4", "'%s' is not whole numbers", *ret_value);
  if (option->kind == SUBMISSION_INTEGER || (option->kind == SUBMISSION_INTEGERS && !are_several))
    return invocation_int64(invocation, option->name, 0, INT64_MAX, &integer, err);
  return option->kind == SUBMISSION_NUMBER ? invocation_double(invocation, option->name, 0, 1e9, &number, err)
                                           : STATUS_OK;
}

static enum status fill_submission(const struct invocation *invocation, struct arena *arena,
                                   struct submission *submission, struct error *err)
{
  submission->is_profile = is_profile(invocation);
  submission->data = submission->is_profile ? NULL : invocation_value(invocation, "data");
  submission->model_count = invocation->argument_count;
  for (size_t i = 0; i < invocation->argument_count; i++)
    submission->models[i] = invocation->arguments[i];
  for (size_t i = 0; i < SUBMISSION_OPTIONS; i++)
    if (invocation_has(invocation, submission_options[i].name))
      XSP_TRY(fill_option(invocation, &submission_options[i], arena, &submission->values[i], err));
  return STATUS_OK;
}

static enum status fill(const struct invocation *invocation, struct arena *arena, struct buf *token,
                        struct dispatch_options *options, struct error *err)
{
  const char *secret;
  XSP_TRY(check_use(invocation, err));
  XSP_TRY(serving_token(invocation, token, &secret, err));
  *options = (struct dispatch_options){.registry = invocation_value(invocation, "registry"),
                                       .constraints = invocation_value(invocation, "on"),
                                       .on_all = invocation_has(invocation, "all"),
                                       .output_path = invocation_value(invocation, "output"),
                                       .force = invocation_has(invocation, "force"),
                                       .progress = invocation_has(invocation, "quiet") ? NULL : output_progress,
                                       .message = output_message};
  if (secret != NULL)
    options->authorization = arena_format(arena, "Authorization: Bearer %s", secret);
  if (options->output_path == NULL)
    options->output_path =
        arena_format(arena, "%.*s.xsp", (int)strcspn(invocation->arguments[0], "<>=!~ /"), invocation->arguments[0]);
  return fill_submission(invocation, arena, &options->submission, err);
}

// ---- what is printed ---------------------------------------------------------------------------------------------------
// All agents' tables of one place, with the first one's columns.
static void join(const struct dispatch *dispatch, size_t place, struct arena *arena, struct table *ret_table)
{
  const struct table *first = &dispatch->parts[0].answer->tables[place];
  size_t columns = first->column_count + 1, rows = 0;
  *ret_table = *first;
  for (size_t i = 0; i < dispatch->count; i++)
    rows += place < dispatch->parts[i].answer->table_count ? dispatch->parts[i].answer->tables[place].row_count : 0;
  struct table_column *names = arena_alloc_array(arena, columns, sizeof *names);
  struct table_cell *cells = arena_alloc_array(arena, rows * columns + 1, sizeof *cells), *cell = cells;
  names[0] = table_column_of("agent", NULL, arena);
  memcpy(names + 1, first->columns, first->column_count * sizeof *names);
  for (size_t i = 0; i < dispatch->count; i++) {
    const struct dispatched *part = &dispatch->parts[i];
    const struct table *table = &part->answer->tables[place];
    for (size_t row = 0; place < part->answer->table_count && row < table->row_count; row++) {
      *cell++ = (struct table_cell){.type = CELL_TEXT, .value.text = part->agent};
      for (size_t column = 1; column < columns; column++)
        *cell++ = *table_cell_at(table, row, names[column].key);
    }
    for (size_t n = 0; i > 0 && place < part->answer->table_count && n < table->note_count; n++)
      table_append_note(ret_table, arena_format(arena, "%s: %s", part->agent, table->notes[n]), arena);
  }
  ret_table->columns = names;
  ret_table->column_count = columns;
  ret_table->rows = cells;
  ret_table->row_count = rows;
}

static enum status print(const struct dispatch *dispatch, bool with_items, enum report_format format,
                         struct arena *arena, struct error *err)
{
  size_t count = dispatch->parts[0].answer->table_count;
  struct table *tables = arena_alloc_array(arena, count + 1, sizeof *tables);
  for (size_t i = 0; i < count; i++)
    join(dispatch, i, arena, &tables[i]);
  for (size_t i = 0; count > 0 && i < dispatch->note_count; i++)
    table_append_note(&tables[0], dispatch->notes[i], arena);
  return output_tables(tables, count, format, with_items, err);
}

static enum status check_no_options(const struct invocation *invocation, struct error *err)
{
  static const char *const others[] = {"on", "any", "all", "token-file"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (invocation_has(invocation, others[i]))
      return error_set(err, STATUS_USE, "wrong use", others[i], "--registry URL",
                       "it acts on --registry, which is missing");
  return STATUS_OK;
}

static enum status measure(const struct invocation *invocation, enum report_format format,
                           const volatile sig_atomic_t *interrupted, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct buf token SCOPED(buf_done) = {0};
  struct dispatch_options options;
  struct dispatch dispatch = {0};
  struct error print_error = {0};
  enum status status = fill(invocation, &arena, &token, &options, err);
  if (status == STATUS_OK) {
    options.interrupted = interrupted;
    status = dispatch_run(&options, &arena, &dispatch, err);
  }
  enum status printed = STATUS_OK;
  if (dispatch.count > 0) // those that are complete, also where another one failed
    printed = print(&dispatch, invocation_has(invocation, "items"), format, &arena, &print_error);
  for (size_t i = 0; !invocation_has(invocation, "quiet") && i < dispatch.count; i++)
    output_next(dispatch.parts[i].output_path);
  if (status == STATUS_OK && printed != STATUS_OK)
    *err = print_error;
  return status != STATUS_OK ? status : printed;
}

enum status agents_measure_or(const struct invocation *invocation,
                              enum status (*here)(const struct invocation *invocation, enum report_format format,
                                                  struct error *err),
                              struct error *err)
{
  enum report_format format;
  XSP_TRY(verb_reader_format(invocation, &format, err));
  if (!invocation_has(invocation, "registry")) {
    XSP_TRY(check_no_options(invocation, err));
    return here(invocation, format, err);
  }
  output_watch_interruptions();
  return output_end_interrupted(measure(invocation, format, output_interruptions(), err), err);
}
