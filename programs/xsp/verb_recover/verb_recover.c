// SPDX-License-Identifier: Apache-2.0
// xsp recover: joins what a killed xsp had committed with what is still in the rings of its capture sessions.
#include "base/memory.h"
#include "correlate/correlate.h"
#include "programs/xsp/output.h"
#include "programs/xsp/verb.h"
#include "programs/xsp/verb_recover/recover_list.h"
#include "programs/xsp/verb_recover/recover_print.h"
#include "store/copy.h"
#include "store/leftovers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Whether `path` is the file that is being written: OUT.partial, from which an older file of that name was moved away.
static bool is_new_file(struct recovery *recovery, const char *path)
{
  struct stat ours, theirs;
  return stat(arena_format(&recovery->arena, "%s.partial", store_path(recovery->to)), &ours) == 0 &&
         stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

// Takes `path` as the file of the dead collector, if it really is this session's.
static enum status try_source(struct recovery *recovery, struct recovered *recovered, const char *path, bool *ret_taken,
                              struct error *err)
{
  struct store *store = NULL;
  bool has = false, has_left_out = false;
  if (store_open_unfinished(path, &store, &has_left_out, NULL) != STATUS_OK)
    return STATUS_OK;
  if (store_has_trace(store, recovered->origin.run_ids[0], collect_trace(recovered->session), &has, NULL) !=
          STATUS_OK ||
      !has) {
    store_close(store);
    return STATUS_OK;
  }
  if (recovery->from && strcmp(recovery->source, path) != 0) {
    store_close(store);
    return error_set(err, STATUS_USE, "cannot recover into one file", recovered->directory,
                     "one call of xsp recover for each", "its xsp wrote %s, that of another session %s", path,
                     recovery->source);
  }
  store_close(recovery->from);
  recovery->from = store;
  recovery->has_left_out = has_left_out;
  snprintf(recovery->source, sizeof recovery->source, "%s", path);
  *ret_taken = true;
  return STATUS_OK;
}

// Looks for the dead collector's file: unfinished ones by their names, then the finished one. Called when the new file has
// been made: by then an unfinished one of the same name was set aside.
static enum status find_source(struct recovery *recovery, struct recovered *recovered, struct error *err)
{
  const char *path = recovered->origin.path, *slash = strrchr(path, '/'); // it is absolute
  char *folder = arena_copy(&recovery->arena, path, slash == path ? 1 : (size_t)(slash - path));
  struct leftover *leftovers = NULL;
  size_t count = 0;
  bool is_taken = false;
  if (leftovers_find(folder, slash + 1, &recovery->arena, &leftovers, &count, NULL) != STATUS_OK)
    count = 0; // the folder is gone
  for (size_t i = 0; i < count && !is_taken; i++)
    if (!is_new_file(recovery, leftovers[i].path))
      XSP_TRY(try_source(recovery, recovered, leftovers[i].path, &is_taken, err));
  if (!is_taken)
    XSP_TRY(try_source(recovery, recovered, path, &is_taken, err));
  if (!is_taken)
    recovered->origin = (struct collect_origin){NULL, 0, NULL, 0};
  return STATUS_OK;
}

static enum status adopt(struct recovery *recovery, const char *directory, struct error *err)
{
  struct recovered *recovered = &recovery->sessions[recovery->session_count];
  recovered->directory = directory;
  XSP_TRY(collect_adopt(directory, &recovered->session, err));
  recovery->session_count++;
  recovered->origin = collect_origin(recovered->session, &recovery->arena);
  return STATUS_OK;
}

static enum status add_experiment(struct recovery *recovery, struct error *err)
{
  struct collect_workload workload = collect_workload(recovery->sessions[0].session, &recovery->arena);
  const char *name = basename(arena_copy(&recovery->arena, workload.command, strcspn(workload.command, " ")));
  const struct store_experiment row = {.experiment_id = 1,
                                       .name = *name ? name : "recovered",
                                       .command = workload.command[0] ? workload.command : NULL,
                                       .created_ns = workload.created_ns,
                                       .xsp_version = XSP_VERSION};
  return store_add_experiment(recovery->to, &row, err);
}

static enum status load_runs(struct recovery *recovery, struct store_run **ret_runs, size_t *ret_count,
                             struct error *err)
{
  XSP_TRY(store_commit(recovery->to, err));
  return store_runs(recovery->to, &recovery->arena, ret_runs, ret_count, err);
}

// Copies what was committed, or makes the file's first experiment.
static enum status begin_file(struct recovery *recovery, struct error *err)
{
  if (!recovery->from)
    return add_experiment(recovery, err);
  struct output_steps steps = {.path = recovery->source, .units = "spans"};
  enum status status =
      store_copy(recovery->from, recovery->to, (struct headway_watcher){output_headway_step, &steps}, err);
  output_headway_end(&steps.headway);
  XSP_TRY(status);
  struct store_run *runs = NULL;
  size_t count = 0;
  XSP_TRY(load_runs(recovery, &runs, &count, err));
  for (size_t i = 0; i < count; i++) {
    struct store_spans spans = {0};
    XSP_TRY(store_load_spans(recovery->to, runs[i].run_id, STORE_BIT(STORE_LEVEL), &recovery->arena, &spans, err));
    recovery->copied += spans.count;
    if (runs[i].run_id > recovery->last_run_id)
      recovery->last_run_id = runs[i].run_id;
  }
  return count || !recovery->session_count ? STATUS_OK : add_experiment(recovery, err);
}

// A file of `xsp run --aggregate` stays one.
static enum status resume_fold(struct recovery *recovery, struct recovered *recovered, struct error *err)
{
  struct store_drained *rows;
  size_t count;
  if (!store_is_folded(recovery->from))
    return STATUS_OK;
  XSP_TRY(store_drained(recovery->from, &recovery->arena, &rows, &count, err));
  collect_set_drained(recovered->session, rows, count);
  if (recovery->fold == NULL)
    recovery->fold = correlate_fold_begin(recovery->to);
  return correlate_fold_resume(recovery->fold, recovered->origin.run_id, err);
}

static enum status leave_out_samples(struct recovery *recovery, struct recovered *recovered, struct error *err)
{
  for (size_t i = 0; i < recovered->origin.run_count; i++) {
    struct store_drained *rows;
    size_t count;
    XSP_TRY(store_sampled(recovery->from, recovered->origin.run_ids[i], &recovery->arena, &rows, &count, err));
    collect_set_drained(recovered->session, rows, count);
  }
  return STATUS_OK;
}

static enum status drain(struct recovery *recovery, struct recovered *recovered, struct error *err)
{
  struct collect_origin *origin = &recovered->origin;
  if (origin->path) {
    int64_t *ids = NULL;
    size_t count = 0;
    XSP_TRY(store_span_ids(recovery->from, origin->run_ids, origin->run_count, &recovery->arena, &ids, &count, err));
    collect_set_known(recovered->session, ids, count);
    XSP_TRY(resume_fold(recovery, recovered, err));
    XSP_TRY(leave_out_samples(recovery, recovered, err));
  }
  recovered->run_id = origin->path ? origin->run_id : ++recovery->last_run_id;
  if (!recovery->keeps)
    collect_set_levels(recovered->session, 0); // of a program that runs on
  struct output_steps steps = {.path = recovered->directory, .units = "records"};
  collect_set_watcher(recovered->session, (struct headway_watcher){output_headway_step, &steps});
  enum status status = collect_drain_final(recovered->session, recovery->to, recovered->run_id, err);
  output_headway_end(&steps.headway);
  collect_counts(recovered->session, &recovered->counts);
  return status;
}

// The run's row: what was lost is added; a run that has none yet gets one, with the levels that it holds.
static enum status describe_run(struct recovery *recovery, const struct recovered *recovered, struct error *err)
{
  struct store_run *runs = NULL, row = {.run_id = recovered->run_id,
                                        .experiment_id = 1,
                                        .levels.mask = collect_levels(recovered->session),
                                        .epoch_is_unix = true,
                                        .own_pct = NAN};
  size_t count = 0;
  XSP_TRY(load_runs(recovery, &runs, &count, err));
  size_t at = 0;
  while (at < count && runs[at].run_id != row.run_id)
    at++;
  if (at < count) {
    row = runs[at];
  } else {
    struct store_spans spans = {0};
    XSP_TRY(store_load_spans(recovery->to, row.run_id, STORE_BIT(STORE_LEVEL), &recovery->arena, &spans, err));
    uint32_t present = 0;
    for (size_t i = 0; i < spans.count; i++)
      present |= XSP_LEVEL_MASK(spans.level[i]);
    if (present)
      row.levels.mask = present;
  }
  const struct collect_counts *counts = &recovered->counts;
  row.dropped_count += (int64_t)(counts->dropped + counts->lost + counts->overwritten + counts->torn);
  row.misused_count += (int64_t)counts->misused;
  return store_add_run(recovery->to, &row, err);
}

static enum status open_file(struct recovery *recovery, const char *path, struct error *err)
{
  snprintf(recovery->source, sizeof recovery->source, "%s", path);
  return store_open_unfinished(path, &recovery->from, &recovery->has_left_out, err);
}

// FILE was OUT.partial, and was set aside. Opened again, since SQLite finds a file's journal by its name: the new file's is there.
static enum status follow_file(struct recovery *recovery, struct error *err)
{
  if (recovery->from == NULL || store_leftover(recovery->to) == NULL || !is_new_file(recovery, recovery->source))
    return STATUS_OK;
  store_close(recovery->from);
  recovery->from = NULL;
  return open_file(recovery, store_leftover(recovery->to), err);
}

static enum status write_file(struct recovery *recovery, struct error *err)
{
  XSP_TRY(follow_file(recovery, err));
  for (size_t i = 0; i < recovery->session_count; i++)
    if (recovery->sessions[i].origin.path)
      XSP_TRY(find_source(recovery, &recovery->sessions[i], err));
  XSP_TRY(begin_file(recovery, err));
  if (recovery->aggregates && recovery->fold == NULL)
    recovery->fold = correlate_fold_begin(recovery->to);
  for (size_t i = 0; i < recovery->session_count; i++) {
    XSP_TRY(drain(recovery, &recovery->sessions[i], err));
    XSP_TRY(describe_run(recovery, &recovery->sessions[i], err));
  }
  XSP_TRY(store_commit(recovery->to, err));
  XSP_TRY(correlate_store(recovery->to, err));
  if (recovery->fold != NULL)
    XSP_TRY(correlate_context_metrics(recovery->to, err));
  return store_finish(recovery->to, err);
}

static bool is_file(const char *path)
{
  struct stat facts;
  return stat(path, &facts) == 0 && !S_ISDIR(facts.st_mode);
}

static enum status recover(struct recovery *recovery, const struct invocation *invocation, struct error *err)
{
  if (invocation->argument_count == 0)
    return invocation_has(invocation, "output")
               ? error_set(err, STATUS_USE, "wrong use", "recover", "xsp recover, which lists what there is",
                           "the session or file is missing")
               : recover_list(invocation_has(invocation, "json"), err);
  if (invocation->argument_count > SESSIONS_MAXIMUM)
    return error_set(err, STATUS_USE, "wrong use", "recover", NULL, "more than %d sessions at once", SESSIONS_MAXIMUM);
  recovery->keeps = invocation_has(invocation, "keep");
  recovery->aggregates = invocation_has(invocation, "aggregate");
  output_catch_signals(output_remove_unfinished); // the file or the rings stay, so that nothing is lost
  if (invocation->argument_count == 1 && is_file(invocation->arguments[0])) {
    XSP_TRY(open_file(recovery, invocation->arguments[0], err));
  } else {
    for (size_t i = 0; i < invocation->argument_count; i++)
      XSP_TRY(adopt(recovery, invocation->arguments[i], err));
  }
  const char *path = invocation_value(invocation, "output");
  if (!path && recovery->session_count)
    path = recovery->sessions[0].origin.path;
  if (!path)
    return error_set(err, STATUS_USE, "wrong use", "recover", "-o OUT.xsp", "the output's name is missing");
  XSP_TRY(invocation_refuse_input(invocation, path, err));
  XSP_TRY(store_create(path, invocation_has(invocation, "force"), &recovery->to, err));
  enum status status = write_file(recovery, err);
  correlate_fold_end(recovery->fold);
  recovery->fold = NULL;
  if (status != STATUS_OK) {
    store_discard(recovery->to); // the rings still hold what they held
    recovery->to = NULL;
    return status;
  }
  if (store_leftover(recovery->to) != NULL && strcmp(store_leftover(recovery->to), recovery->source) != 0)
    store_warn_of_leftover(recovery->to, output_message);
  recover_report(recovery, path);
  output_next(path);
  return invocation_has(invocation, "json") ? recover_print_json(recovery, path, err) : STATUS_OK;
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  struct recovery *recovery SCOPED(scoped_free) = memory_new(1, sizeof *recovery);
  enum status status = recover(recovery, invocation, err);
  bool remove = status == STATUS_OK && !recovery->keeps;
  for (size_t i = 0; i < recovery->session_count; i++) {
    struct collect_session *session = recovery->sessions[i].session;
    bool goes_on = remove && collect_has_process(session);
    if (goes_on) // without a collector; xsp run --pid may record it again
      collect_keep(session);
    collect_close(session, remove && !goes_on);
  }
  store_close(recovery->from);
  store_close(recovery->to);
  arena_done(&recovery->arena);
  return status;
}

static const struct option_description options[] = {
    {"output", 'o', "OUT.xsp", NULL, 0,
     "The file to write. Default: the file that the session's killed xsp was to write."},
    OPTION_FORCE,
    {"aggregate", 0, NULL, NULL, 0, "Keep the calling context tree instead of spans, as xsp run --aggregate does."},
    {"keep", 0, NULL, NULL, 0,
     "Leave the session folder as it is. Without it the folder is removed once OUT is complete."},
    {"json", 0, NULL, NULL, 0, "Print the account, or the list, as JSON."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp recover /dev/shm/xsp-1000-0123456789abcdef -o out.xsp", "what a killed xsp left in memory"},
    {"xsp recover", "lists what there is to recover"},
    {"xsp recover out.xsp.partial~2 -o out.xsp", "the second unfinished file that was set aside"},
    {"xsp recover session -o out.xsp", "what a program recorded by itself, run with XSP_SESSION=session"},
    {0},
};

const struct verb verb_recover = {
    .name = "recover",
    .summary = "make a file of what a killed xsp, or a program without xsp, left",
    .synopsis = "[DIR...|FILE] [-o OUT.xsp] [OPTION...]",
    .description = "Takes over capture sessions whose xsp was killed, or that a program recorded without one "
                   "(XSP_SESSION=DIR). What the killed xsp had committed to its .partial file is joined with what is "
                   "still in the rings, each span once. Spans that never finished are kept and marked as open.\n\n"
                   "A session folder is in /dev/shm (xsp-UID-NUMBER), or in TMPDIR where there was too little room. "
                   "Several folders of one xsp are recovered together, in one call. A folder of another user, or "
                   "one that others can write to, is refused.\n\n"
                   "FILE is what a killed xsp left: NAME.xsp.partial, or NAME.xsp.partial~, ~2, ... where a later "
                   "run set it aside. It becomes OUT without what was not committed, and stays as it is. Reading verbs "
                   "do the same by themselves, but refuse such a file where other users can write to its folder.\n\n"
                   "Without arguments, sessions of yours and unfinished files in this folder are listed; also folders "
                   "that a killed xsp left in TMPDIR, from which nothing can be recovered.",
    .least_arguments = 0,
    .most_arguments = SIZE_MAX,
    .options = options,
    .examples = examples,
    .see_also = "info, profile",
    .run = run,
};
