// SPDX-License-Identifier: Apache-2.0
// One call of import: files one by one, each recognised by its content, read by its importer, poured into the store.
// Called by programs. Knows no format but by its importer's descriptor; what it cannot take it tries to name.
#include "importers/import.h"

#include "base/buf.h"
#include "base/debug.h"
#include "base/nearest.h"
#include "importers/sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FORMATS_ADVICE "a format of xsp help import"

static enum status named_importer(const char *name, const struct importer **ret_importer, struct error *err)
{
  struct nearest nearest;
  nearest_start(&nearest, name);
  for (size_t i = 0; importers[i] != NULL; i++) {
    *ret_importer = importers[i];
    if (strcmp(importers[i]->name, name) == 0)
      return STATUS_OK;
    nearest_offer(&nearest, importers[i]->name);
  }
  char advice[96];
  nearest_advice(&nearest, "--from ", FORMATS_ADVICE, advice, sizeof advice);
  return error_set(err, STATUS_USE, "cannot import", "--from", advice, "there is no format \"%s\"", name);
}

enum status import_format_check(const char *name, struct error *err)
{
  const struct importer *importer;
  return name != NULL ? named_importer(name, &importer, err) : STATUS_OK;
}

// The importer that claims the file with most certainty.
static enum status recognise(const struct input *input, const struct importer **ret_importer, struct error *err)
{
  struct slice head = input_head(input);
  bool is_all = input->is_last && head.data + head.length == input->end;
  int best = 0;
  *ret_importer = NULL;
  for (size_t i = 0; importers[i] != NULL; i++) {
    int claim = importers[i]->recognize(head, is_all);
    if (claim > best) {
      best = claim;
      *ret_importer = importers[i];
    }
  }
  if (*ret_importer != NULL)
    return STATUS_OK;
  const struct foreign_format *foreign = foreign_recognise(input->path, head, is_all);
  bool has_advice = foreign != NULL && foreign->advice != NULL;
  return error_set(err, STATUS_INPUT, "cannot import", input->path,
                   has_advice ? foreign->advice : "--from, with " FORMATS_ADVICE, "%s",
                   foreign != NULL ? foreign->what : "its format is not known");
}

static const struct importer *recognise_path(const char *path)
{
  struct input input SCOPED(input_close) = {0};
  const struct importer *importer = NULL;
  enum status status = input_open(path, IMPORT_LIMIT_DEFAULT, &input, NULL);
  if (status == STATUS_OK)
    status = recognise(&input, &importer, NULL);
  return status == STATUS_OK ? importer : NULL;
}

const char *import_recognise(const char *path)
{
  const struct importer *importer = recognise_path(path);
  return importer != NULL ? importer->name : NULL;
}

// ---- the account -----------------------------------------------------------------------------------------------------
// "kineto 1; 12 events, 10 kept, skipped: 2 metadata"
static void put_account(const struct import_file *file, struct buf *out)
{
  buf_format(out, "%s%s%s; %" PRIu64 " events, %" PRIu64 " kept", file->format, file->version != NULL ? " " : "",
             file->version != NULL ? file->version : "", file->events, file->kept);
  for (size_t i = 0; i < file->skipped_count; i++)
    buf_format(out, "%s%" PRIu64 " %s", i == 0 ? ", skipped: " : ", ", file->skipped[i].count, file->skipped[i].reason);
}

// An empty output would hide that the input was not what its reader expected.
static enum status require_spans(const struct import_file *files, size_t count, struct error *err)
{
  for (size_t i = 0; i < count; i++)
    if (files[i].kept > 0)
      return STATUS_OK;
  struct buf text SCOPED(buf_done) = {0};
  put_account(&files[0], &text);
  return error_set(err, STATUS_INPUT, "cannot import", files[0].path, "another --from, or another file",
                   "no span in %s: %s", count == 1 ? "it" : "any of the files", text.data);
}

// Whoever gets the .xsp file later can read where a run comes from and what is not in it: table note, key "import".
static enum status keep_account(struct store *store, const struct import_file *file, struct error *err)
{
  int64_t run_id = file->run_count == 1 ? file->run_ids[0] : 0;
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  buf_format(&text, "%s: ", basename(file->path));
  put_account(file, &text);
  enum status status = store_add_note(store, run_id, "import", text.data, err);
  buf_done(&text);
  for (size_t i = 0; i < file->note_count && status == STATUS_OK; i++)
    status = store_add_note(store, run_id, "import", file->notes[i], err);
  return status;
}

// ---- files that describe others --------------------------------------------------------------------------------------
static bool is_regular(const char *path)
{
  struct stat facts;
  return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

struct plan {                      // of one file of the call
  const struct importer *importer; // by its content, where that was looked at; NULL: look while reading
  struct import_description *description;
};

static enum status no_trace(const char *path, const struct importer *importer, struct error *err)
{
  char advice[128];
  snprintf(advice, sizeof advice, "xsp import TRACE %s: the %s file first", basename(path), importer->describes);
  return error_set(err, STATUS_INPUT, "cannot import", path, advice,
                   "it describes a trace (%s), and has no times itself", importer->describes);
}

// Files of several are looked at before any is read: the first description of a format belongs to the first file of it, and so
// on. Pipes can be read once only, so they are no part of this.
static enum status plan_files(const char *const *paths, size_t count, struct plan *plans, struct arena *arena,
                              struct error *err)
{
  for (size_t i = 0; i < count; i++)
    plans[i] = (struct plan){.importer = is_regular(paths[i]) ? recognise_path(paths[i]) : NULL};
  for (size_t i = 0; i < count; i++) {
    const struct importer *importer = plans[i].importer;
    if (importer == NULL || importer->describes == NULL)
      continue;
    size_t trace = 0;
    while (trace < count && (plans[trace].importer == NULL || plans[trace].description != NULL ||
                             strcmp(plans[trace].importer->name, importer->describes) != 0))
      trace++;
    if (trace == count)
      return no_trace(paths[i], importer, err);
    plans[trace].description = arena_alloc(arena, sizeof *plans[trace].description);
    *plans[trace].description = (struct import_description){.path = paths[i]};
  }
  return STATUS_OK;
}

// A description makes no run: its account is what of it the trace had.
static struct import_file account_of(const struct import_description *description, const struct importer *importer,
                                     struct arena *arena)
{
  struct import_count *skipped = arena_alloc(arena, sizeof *skipped);
  *skipped = (struct import_count){"not in the trace", description->events - description->kept};
  return (struct import_file){.path = description->path,
                              .format = importer->name,
                              .events = description->events,
                              .kept = description->kept,
                              .skipped = skipped,
                              .skipped_count = skipped->count > 0};
}

// ---- files -----------------------------------------------------------------------------------------------------------
struct call {
  const struct import_options *options;
  const struct importer *importer; // --from; NULL: by content
  struct sink *sink;
  struct store *store;
};

static enum status import_file(const struct call *call, const char *path, const struct plan *plan,
                               const struct import_given *given, struct import_file *ret_file, struct error *err)
{
  struct input input SCOPED(input_close) = {0};
  struct import import = {.input = &input,
                          .options = call->options,
                          .given = given,
                          .importer = call->importer,
                          .description = plan->description};
  XSP_TRY(import_open_input(path, call->options, &input, err));
  if (import.importer == NULL)
    XSP_TRY(recognise(&input, &import.importer, err));
  if (import.importer->describes != NULL)
    return no_trace(path, import.importer, err);
  DEBUG(importers, "%s: read as %s", path, import.importer->name);
  sink_begin(call->sink, &import, path);
  if (call->options->threads != 1)
    input_read_ahead(&input);
  XSP_TRY(import.importer->read(&import, err));
  XSP_TRY(sink_end(call->sink, ret_file, err));
  return keep_account(call->store, ret_file, err);
}

static enum status import_each(const struct call *call, const char *const *paths, size_t count,
                               struct import_file *files, struct arena *arena, struct error *err)
{
  static const struct import_given nothing = {0};
  struct plan *plans = arena_alloc_array(arena, count, sizeof *plans);
  memset(plans, 0, count * sizeof *plans);
  if (count > 1)
    XSP_TRY(plan_files(paths, count, plans, arena, err));
  for (size_t i = 0; i < count; i++)
    if (plans[i].importer == NULL || plans[i].importer->describes == NULL)
      XSP_TRY(import_file(call, paths[i], &plans[i], call->options->given != NULL ? &call->options->given[i] : &nothing,
                          &files[i], err));
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < count && plans[i].description != NULL; j++)
      if (paths[j] == plans[i].description->path) {
        files[j] = account_of(plans[i].description, plans[j].importer, arena);
        XSP_TRY(keep_account(call->store, &files[j], err));
      }
  return STATUS_OK;
}

enum status import_files(const char *const *paths, size_t count, const struct import_options *options,
                         struct store *store, struct arena *arena, struct import_file **ret_files, struct error *err)
{
  static const struct import_options defaults = {0};
  struct call call = {.options = options != NULL ? options : &defaults, .store = store};
  if (call.options->format != NULL)
    XSP_TRY(named_importer(call.options->format, &call.importer, err));
  if (count == 0)
    return error_set(err, STATUS_USE, "cannot import", NULL, NULL, "no files are given");
  struct import_file *files = arena_alloc_array(arena, count, sizeof *files);
  call.sink = sink_create(store, call.options->threads, NULL, arena);
  enum status status = import_each(&call, paths, count, files, arena, err);
  if (status == STATUS_OK)
    status = require_spans(files, count, err);
  if (status == STATUS_OK)
    status = sink_finish(call.sink, err);
  sink_free(call.sink);
  *ret_files = files;
  return status;
}

enum status import_into(const char *path, const struct import_options *options, struct store *store,
                        const struct import_place *place, struct arena *arena, struct import_file *ret_file,
                        struct error *err)
{
  static const struct import_given nothing = {0};
  const struct plan plan = {NULL, NULL};
  struct call call = {.options = options, .store = store};
  if (options->format != NULL)
    XSP_TRY(named_importer(options->format, &call.importer, err));
  call.sink = sink_create(store, options->threads, place, arena);
  enum status status = import_file(&call, path, &plan, &nothing, ret_file, err);
  sink_free(call.sink);
  return status;
}
