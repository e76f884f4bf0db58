// SPDX-License-Identifier: Apache-2.0
// Fills stores with what other profilers recorded. Called by verb_import.c and reader.c.
#include "programs/xsp/verb_import/import_store.h"

#include "correlate/correlate.h"
#include "programs/xsp/output.h"

#include <inttypes.h>
#include <unistd.h>

// ---- interruption ----------------------------------------------------------------------------------------------------
static volatile sig_atomic_t interrupted_by; // the signal; 0: none

// A read that begins just after the signal came would wait for ever: it is interrupted again until it is noticed.
static void on_signal(int signal)
{
  if (signal != SIGALRM)
    interrupted_by = signal;
  if (interrupted_by != 0)
    alarm(1);
}

// No SA_RESTART: a read of a pipe ends.
void import_store_catch_signals(void)
{
  const struct sigaction again = {.sa_handler = on_signal};
  sigaction(SIGALRM, &again, NULL);
  output_catch_signals(on_signal);
}

// Its handler is reset: the parent sees that a signal ended xsp.
void import_store_leave_interrupted(void)
{
  if (interrupted_by != 0)
    raise(interrupted_by);
}

static void show_progress(void *context, const char *path, uint64_t done_bytes, uint64_t size_bytes)
{
  output_headway(context, path, done_bytes, size_bytes);
}

// ---- importing -------------------------------------------------------------------------------------------------------
enum status import_store_fill(const char *const *paths, size_t count, struct import_options *options,
                              struct store *store, struct arena *arena, struct import_report *ret_report,
                              struct error *err)
{
  struct import_file *files = NULL;
  struct headway headway = {0};
  options->cancel = &interrupted_by;
  options->progress = show_progress;
  options->progress_context = &headway;
  enum status status = import_files(paths, count, options, store, arena, &files, err);
  options->progress = NULL;
  output_headway_end(&headway);
  XSP_TRY(status);
  ret_report->files = files;
  ret_report->file_count = count;
  XSP_TRY(options->threads == 1 ? correlate_store_alone(store, err) : correlate_store(store, err));
  XSP_TRY(import_mark_warmups(store, files, count, options, err));
  if (interrupted_by != 0)
    return error_set(err, STATUS_SYSTEM, "cannot import", paths[0], "it again", "it was interrupted");
  XSP_TRY(correlate_account(store, &ret_report->account, err));
  return store_commit(store, err); // what is left for store_finish hardly fails
}

static enum status open_as(const char *path, const char *shown, bool is_announced, struct store **ret_store,
                           struct error *err)
{
  struct arena arena = {0};
  struct import_options options = {0};
  struct import_report report = {0};
  struct store *store = NULL;
  import_store_catch_signals();
  enum status status = store_create_temporary(shown, &store, err);
  if (status == STATUS_OK)
    status = import_store_fill(&path, 1, &options, store, &arena, &report, err);
  if (status == STATUS_OK)
    status = store_finish(store, err);
  if (status != STATUS_OK)
    store_discard(store);
  else if (is_announced)
    output_note("xsp: %s: %s, imported into a temporary file: %" PRIu64 " events, %" PRIu64
                " kept; xsp import %s -o OUT.xsp keeps it",
                path, report.files[0].format, report.files[0].events, report.files[0].kept, path);
  arena_done(&arena);
  output_catch_signals(output_remove_unfinished);
  import_store_leave_interrupted();
  *ret_store = status == STATUS_OK ? store : NULL;
  return status;
}

enum status import_store_open(const char *path, struct store **ret_store, struct error *err)
{
  return open_as(path, path, true, ret_store, err);
}

enum status import_store_open_as(const char *path, const char *shown, struct store **ret_store, struct error *err)
{
  return open_as(path, shown, false, ret_store, err);
}
