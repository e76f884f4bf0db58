// SPDX-License-Identifier: Apache-2.0
// The thread that turns journals into .xsp files: each time the whole journal, by the importer, into a file that replaces the one
// before. So a file depends on its journal alone: whenever the process dies, the next one makes the same file again.
#include "serve/keeper.h"

#include "base/debug.h"
#include "base/memory.h"
#include "correlate/correlate.h"
#include "importers/import.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct keeper {
  struct journal *journal;
  const char *folder;
  message_fn message;
  pthread_t thread;
  bool has_failed;    // the last time: it was reported
  enum status status; // of the last closed journal that was not stored
  struct error error;
  char unstored[JOURNAL_NAME_SIZE]; // its name
};

static enum status fill(struct store *store, const char *path, struct arena *arena, struct error *err)
{
  const struct import_options options = {.format = "otlp-journal", .limit_bytes = UINT64_MAX, .threads = 1};
  struct import_file *files = NULL;
  XSP_TRY(import_files(&path, 1, &options, store, arena, &files, err));
  return correlate_store(store, err);
}

static enum status make_file(const char *folder, const char *name, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store *store = NULL;
  const char *path = arena_format(&arena, "%s/%s.journal", folder, name);
  const char *output = arena_format(&arena, "%s/%s.xsp", folder, name);
  enum status status = store_create(output, true, &store, err);
  if (status == STATUS_OK)
    status = fill(store, path, &arena, err);
  status = store_end(store, status, err);
  return status;
}

static void report(struct keeper *keeper, const struct journal_work *work, enum status status, const struct error *err)
{
  char line[2048];
  bool was_failing = keeper->has_failed, is_refused = status == STATUS_INPUT && work->is_closed;
  keeper->has_failed = status != STATUS_OK && !is_refused;
  if (status == STATUS_OK && was_failing)
    keeper->message("xsp: %s/%s.xsp: stored again", keeper->folder, work->name);
  if (status == STATUS_OK || (was_failing && !is_refused))
    return;
  error_line(err, line, sizeof line);
  keeper->message("%s; received spans stay in %s/%s.journal%s", line, keeper->folder, work->name,
                  is_refused ? ".refused" : "");
}

static void *run(void *context)
{
  struct keeper *keeper = context;
  struct journal_work work;
  while (journal_next(keeper->journal, &work)) {
    struct error error = {0};
    enum status status = work.is_stored ? STATUS_OK : make_file(keeper->folder, work.name, &error);
    DEBUG(serve, "%s.xsp from %s journal: status %d", work.name, work.is_closed ? "a closed" : "an open", status);
    report(keeper, &work, status, &error);
    if (status != STATUS_OK && status != STATUS_INPUT && work.is_closed) {
      keeper->status = status;
      keeper->error = error;
      memcpy(keeper->unstored, work.name, sizeof work.name);
    } else if (strcmp(keeper->unstored, work.name) == 0) {
      keeper->status = STATUS_OK;
    }
    journal_done(keeper->journal, &work, status);
  }
  return NULL;
}

enum status keeper_start(struct journal *journal, const char *folder, message_fn message, struct keeper **ret_keeper,
                         struct error *err)
{
  struct keeper *keeper = memory_new(1, sizeof *keeper);
  *keeper = (struct keeper){.journal = journal, .folder = folder, .message = message};
  *ret_keeper = keeper;
  if (pthread_create(&keeper->thread, NULL, run, keeper) == 0)
    return STATUS_OK;
  free(keeper);
  *ret_keeper = NULL;
  return error_set(err, STATUS_SYSTEM, "cannot serve", NULL, NULL, "no thread can be started");
}

enum status keeper_stop(struct keeper *keeper, struct error *err)
{
  if (keeper == NULL)
    return STATUS_OK;
  pthread_join(keeper->thread, NULL);
  enum status status = keeper->status;
  if (status != STATUS_OK && err != NULL)
    *err = keeper->error;
  free(keeper);
  return status;
}
