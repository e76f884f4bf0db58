// SPDX-License-Identifier: Apache-2.0
// Constraints of history and publish, and the records of their inputs.
#include "programs/xsp/verb_history/history_inputs.h"

#include "base/memory.h"

static enum status read_time(const struct invocation *invocation, const char *name, bool is_end, int64_t *ret_ns,
                             struct error *err)
{
  const char *text = invocation_value(invocation, name);
  if (text == NULL || history_parse_time(text, is_end, ret_ns))
    return STATUS_OK;
  return option_refused(name, text, "2026-11-26, or 2026-11-26T10:00", "not a date", err);
}

enum status history_inputs_open(const struct invocation *invocation, size_t first, struct history_inputs *ret_inputs,
                                struct error *err)
{
  struct history_selection *selection = &ret_inputs->selection;
  *ret_inputs = (struct history_inputs){
      .selection = {.model = invocation_value(invocation, "model"),
                    .version = invocation_value(invocation, "model-version"),
                    .framework = invocation_value(invocation, "framework"),
                    .system = invocation_value(invocation, "system"),
                    .data = invocation_value(invocation, "data")},
      .paths = invocation->arguments + first,
      .count = invocation->argument_count - first,
  };
  XSP_TRY(read_time(invocation, "since", false, &selection->since_ns, err));
  XSP_TRY(read_time(invocation, "until", true, &selection->until_ns, err));
  XSP_TRY(invocation_int64(invocation, "top", 0, INT64_MAX, &ret_inputs->limit, err));
  return history_selection_check(selection, err);
}

struct reading {
  struct history *history;
  bool in_depth;
  reader_visit *visit;
  void *context;
};

static enum status read_store(void *context, struct store *store, struct error *err)
{
  struct reading *reading = context;
  XSP_TRY(history_read(reading->history, store, reading->in_depth, err));
  return reading->visit != NULL ? reading->visit(reading->context, store, err) : STATUS_OK;
}

static enum status read_database(const char *address, const struct history_selection *selection,
                                 struct history *history, struct error *err)
{
  struct history_database *database = NULL;
  enum status status = history_database_open(address, false, &database, err);
  if (status == STATUS_OK)
    status = history_database_read(database, selection, history, err);
  history_database_close(database);
  return status;
}

enum status history_inputs_read(struct history_inputs *inputs, struct history *history, reader_visit *visit,
                                void *context, struct error *err)
{
  struct reading reading = {history, inputs->in_depth, visit, context};
  const char **files = memory_new(inputs->count, sizeof *files);
  size_t count = 0;
  enum status status = STATUS_OK;
  for (size_t i = 0; status == STATUS_OK && i < inputs->count; i++)
    if (history_is_address(inputs->paths[i]))
      status = read_database(inputs->paths[i], &inputs->selection, history, err);
    else
      files[count++] = inputs->paths[i];
  if (status == STATUS_OK && count > 0)
    status = verb_reader_files_visit(files, count, read_store, &reading, &inputs->files, err);
  free(files);
  XSP_TRY(status);
  bool is_empty = history->records.count == 0;
  history_select(history, &inputs->selection);
  if (history->records.count > 0)
    return STATUS_OK;
  return error_set(err, STATUS_NO, "no evaluation", inputs->count == 1 ? inputs->paths[0] : NULL,
                   is_empty ? "xsp evaluate, or xsp profile" : "other constraints",
                   is_empty ? "no experiment has a model's latency" : "none matches the constraints");
}

void history_inputs_close(struct history_inputs *inputs)
{
  verb_reader_files_close(&inputs->files);
}
