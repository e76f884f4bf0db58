// SPDX-License-Identifier: Apache-2.0
// One more execution of a program, its launches one after the other, to find parents that parallel launches left
// ambiguous. Called by program_experiment.c; trace/correlate/resolve.c compares the executions.
#include "experiment/program_experiment_private.h"

#include "correlate/correlate.h"
#include "launch/launch.h"

#include <math.h>

// A file for the serialised execution, next to the output, with one run. It is discarded.
static enum status create_scratch(const char *output_path, uint32_t level_mask, struct store **ret_scratch,
                                  struct store_run *ret_run, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  const char *path = arena_format(&arena, "%s.serialized", output_path);
  const struct store_experiment experiment = {.experiment_id = 1, .xsp_version = XSP_VERSION};
  *ret_run = (struct store_run){.run_id = 1,
                                .experiment_id = 1,
                                .levels = {.mask = level_mask, .serial = true},
                                .epoch_is_unix = true,
                                .own_pct = NAN};
  *ret_scratch = NULL;
  XSP_TRY(store_create(path, true, ret_scratch, err));
  XSP_TRY(store_add_experiment(*ret_scratch, &experiment, err));
  return store_add_run(*ret_scratch, ret_run, err);
}

static enum status run_serialized(const struct program_parts *parts, struct store *scratch, struct store_run *run,
                                  struct launch_result *ret_ran, struct error *err)
{
  struct launch_options options = parts->options->run;
  options.levels = run->levels;
  parts->result->executions++;
  XSP_TRY(streams_redirect(parts->streams, err));
  enum status status = launch_execute(&options, scratch, run, ret_ran, err);
  streams_restore(parts->streams);
  parts->result->was_interrupted |= status == STATUS_OK && ret_ran->was_interrupted;
  return status;
}

// The serialised execution is in no statistic and in no file: only the parents that it showed are.
static enum status resolve_by(const struct program_parts *parts, struct resolution *resolution, struct buf *text,
                              struct error *err)
{
  struct store *scratch;
  struct store_run run;
  struct launch_result ran = {0};
  enum status status = create_scratch(parts->options->output_path, resolution->level_mask, &scratch, &run, err);
  if (parts->options->message != NULL)
    parts->options->message("xsp: %zu parents are ambiguous: one more execution, its launches one after the other",
                            resolution->before);
  if (status == STATUS_OK)
    status = run_serialized(parts, scratch, &run, &ran, err);
  bool has_failed = status == STATUS_OK && (ran.was_interrupted || launch_exit_status(ran.wait_status) != 0);
  if (status == STATUS_OK && !has_failed)
    status = resolve_join(parts->store, scratch, resolution, err);
  store_discard(scratch);
  if (status != STATUS_OK)
    return status;
  if (has_failed)
    buf_format(text, "%zu ambiguous parents stay: the execution with launches one after the other ended with status %d",
               resolution->before, launch_exit_status(ran.wait_status));
  else
    resolve_explain(resolution, text);
  return has_failed ? STATUS_OK : correlate_store(parts->store, err);
}

enum status program_resolve(const struct program_parts *parts, struct error *err)
{
  struct resolution resolution;
  struct buf text;
  XSP_TRY(resolve_count(parts->store, &resolution, err));
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  enum status status = STATUS_OK;
  if (resolution.before > 0)
    status = resolve_by(parts, &resolution, &text, err);
  else
    resolve_explain(&resolution, &text);
  if (status == STATUS_OK)
    status = store_add_note(parts->store, 0, "resolve", text.data, err);
  if (status == STATUS_OK && text.data != NULL && parts->options->message != NULL)
    parts->options->message("xsp: %s", text.data);
  buf_done(&text);
  parts->result->ambiguous_before = resolution.before;
  parts->result->ambiguous_after = resolution.after;
  return status;
}
