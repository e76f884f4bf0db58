// SPDX-License-Identifier: Apache-2.0
// xsp merge: one file of several that have parts of the same traces. What they hold goes into one journal (trace/otlp/journal.h), as spans
// that were received, whose importer joins runs that call each other.
#include "base/buf.h"
#include "otlp/journal.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb.h"
#include "programs/xsp/verb_import/import_store.h"
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct journal_file {
  const char *folder, *path; // in TMPDIR, ours alone
  FILE *file;
  struct output_steps steps; // of the input that is read, in spans
  uint64_t spans, all_spans;
};

static enum status cannot_write(const struct journal_file *journal, struct error *err)
{
  return error_set(err, STATUS_SYSTEM, "cannot merge", journal->path, "TMPDIR=FOLDER with more room", "%s",
                   strerror(errno));
}

static enum status put(void *context, struct buf *request, size_t span_count, struct error *err)
{
  struct journal_file *journal = context;
  const struct slice body = {request->data, request->length};
  if (request->failed)
    return error_set(err, STATUS_MEMORY, "cannot merge", journal->path, NULL, "a part of a run is too large");
  journal->spans += span_count;
  output_headway_step(&journal->steps, journal->spans, journal->all_spans);
  const struct otlp_journal_head head = otlp_journal_head_of(OTLP_PROTOBUF, body);
  return fwrite(&head, sizeof head, 1, journal->file) == 1 && fwrite(body.data, body.length, 1, journal->file) == 1
             ? STATUS_OK
             : cannot_write(journal, err);
}

static enum status open_journal(struct journal_file *journal, struct arena *arena, struct error *err)
{
  const char *folder = getenv("TMPDIR");
  char *own = arena_format(arena, "%s/xsp-merge-XXXXXX", folder != NULL && folder[0] == '/' ? folder : "/tmp");
  journal->folder = mkdtemp(own);
  journal->path = arena_format(arena, "%s/merged", own);
  journal->file = journal->folder != NULL ? fopen(journal->path, "wbx") : NULL;
  if (journal->file == NULL || fwrite(OTLP_JOURNAL_MAGIC, OTLP_JOURNAL_MAGIC_BYTES, 1, journal->file) != 1)
    return cannot_write(journal, err);
  return STATUS_OK;
}

static void close_journal(const struct journal_file *journal)
{
  if (journal->file != NULL)
    fclose(journal->file);
  if (journal->path != NULL)
    unlink(journal->path);
  if (journal->folder != NULL)
    rmdir(journal->folder);
}

// Neither call paths nor samples of threads can be written as spans of OTLP.
static enum status name_losses(struct store *store, const char *path, struct error *err)
{
  struct store_call_paths paths;
  struct store_run *runs;
  size_t run_count, sample_count = 0;
  struct arena arena SCOPED(arena_done) = {0};
  XSP_TRY(store_call_paths(store, &arena, &paths, err));
  if (paths.context_count > 0)
    output_message("xsp: %s: its call paths are not in the merged file", path);
  XSP_TRY(store_runs(store, &arena, &runs, &run_count, err));
  for (size_t i = 0; i < run_count && sample_count == 0; i++)
    XSP_TRY(store_count_samples(store, runs[i].run_id, &sample_count, err));
  if (sample_count > 0)
    output_message("xsp: %s: its samples of threads are not in the merged file", path);
  return STATUS_OK;
}

static enum status count_span(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  *(uint64_t *)context = (uint64_t)cells[0].integer;
  return STATUS_OK;
}

static enum status add_file(struct journal_file *journal, const char *path, struct error *err)
{
  const struct report_otlp_sink sink = {put, journal};
  struct store *store = NULL;
  const struct store_query_sink count = {.context = &journal->all_spans, .row = count_span};
  XSP_TRY(verb_reader_open(path, &store, err));
  journal->steps = (struct output_steps){.path = path, .units = "spans"};
  journal->spans = 0;
  enum status status = store_query(store, "select count(*) from span", &count, err);
  if (status == STATUS_OK)
    status = report_otlp_requests(store, false, &sink, err);
  output_headway_end(&journal->steps.headway);
  if (status == STATUS_OK)
    status = name_losses(store, path, err);
  store_close(store);
  return status;
}

static enum status fill(struct store *store, const struct invocation *invocation, struct journal_file *journal,
                        struct arena *arena, struct error *err)
{
  struct import_options options = {.format = "otlp-journal", .limit_bytes = UINT64_MAX};
  struct import_report report = {.output = invocation_value(invocation, "output")};
  XSP_TRY(open_journal(journal, arena, err));
  for (size_t i = 0; i < invocation->argument_count; i++)
    XSP_TRY(add_file(journal, invocation->arguments[i], err));
  if (fflush(journal->file) != 0)
    return cannot_write(journal, err);
  XSP_TRY(import_store_fill(&journal->path, 1, &options, store, arena, &report, err));
  struct import_file merged = report.files[0];
  merged.path = report.output; // the journal's name and format are of no use to people
  merged.format = "merged";
  report.files = &merged;
  return import_print(&report, invocation_has(invocation, "json"), err);
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  const char *path = invocation_value(invocation, "output");
  struct store *store = NULL;
  struct arena arena = {0};
  struct journal_file journal = {0};
  if (path == NULL)
    return error_set(err, STATUS_USE, "wrong use", "merge", "-o OUT.xsp", "the output's name is missing");
  XSP_TRY(invocation_refuse_input(invocation, path, err));
  import_store_catch_signals();
  XSP_TRY(store_create(path, invocation_has(invocation, "force"), &store, err));
  store_warn_of_leftover(store, output_message);
  enum status status = fill(store, invocation, &journal, &arena, err);
  close_journal(&journal);
  status = store_end(store, status, err);
  arena_done(&arena);
  if (status != STATUS_OK) {
    import_store_leave_interrupted();
    return status;
  }
  output_note("xsp: wrote %s", path);
  output_next(path);
  return STATUS_OK;
}

static const struct option_description options[] = {
    {"output", 'o', "OUT.xsp", NULL, 0, "The file to write. It appears when it is complete."},
    OPTION_FORCE,
    {"json", 0, NULL, NULL, 0, "Print the account as JSON."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp merge traces/*.xsp -o all.xsp", "what xsp serve received, also where a trace is in several files"},
    {"xsp merge traces/spans-*.xsp detector.xsp -o all.xsp", "with the file of a run on this machine"},
    {0},
};

const struct verb verb_merge = {
    .name = "merge",
    .summary = "make one file of parts of the same traces",
    .synopsis = "FILE... -o OUT.xsp [OPTION...]",
    .description =
        "Joins runs that call each other: where a span of one names a span of the other as its parent, both become one "
        "run with one hierarchy. So an application and the models that it called in other processes and on other "
        "machines are one trace. A span that is in several files is kept once. Runs that no other calls stay as they "
        "are.\n\n"
        "Clocks of machines are compared by the calls between them. A difference that no call explains is taken off "
        "the callee's times, and printed with its uncertainty. FILE is an .xsp file, or what xsp import reads.",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .options = options,
    .examples = examples,
    .see_also = "serve, import, report",
    .run = run,
};
