// SPDX-License-Identifier: Apache-2.0
// One call of import: files one by one, each recognised by its content, read by its importer, poured into the store.
// Called by programs. Knows no format but by its importer's descriptor; what it cannot take it tries to name.
#include "importers/import.h"

#include "base/buf.h"
#include "base/debug.h"
#include "importers/sink.h"

#include <inttypes.h>
#include <string.h>

#define FORMATS_ADVICE "a format of xsp help import"

static enum status named_importer(const char *name, const struct importer **ret_importer, struct error *err)
{
  for (size_t i = 0; importers[i] != NULL; i++)
    if (strcmp(importers[i]->name, name) == 0) {
      *ret_importer = importers[i];
      return STATUS_OK;
    }
  return error_set(err, STATUS_USE, "cannot import", "--from", FORMATS_ADVICE, "there is no format \"%s\"", name);
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

const char *import_recognise(const char *path)
{
  struct input input = {0};
  const struct importer *importer = NULL;
  enum status status = input_open(path, IMPORT_LIMIT_DEFAULT, &input, NULL);
  if (status == STATUS_OK)
    status = recognise(&input, &importer, NULL);
  input_close(&input);
  return status == STATUS_OK ? importer->name : NULL;
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
  struct buf text = {0};
  put_account(&files[0], &text);
  enum status status = error_set(err, STATUS_INPUT, "cannot import", files[0].path, "another --format, or another file",
                                 "no span in %s: %s", count == 1 ? "it" : "any of the files", text.data);
  buf_done(&text);
  return status;
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

// ---- files -----------------------------------------------------------------------------------------------------------
static enum status import_file(struct sink *sink, struct store *store, const char *path,
                               const struct importer *importer, const struct import_options *options,
                               const struct import_given *given, struct import_file *ret_file, struct error *err)
{
  struct input input = {0};
  struct import import = {.input = &input, .options = options, .given = given, .importer = importer};
  XSP_TRY(input_open(path, options->limit_bytes == 0 ? IMPORT_LIMIT_DEFAULT : options->limit_bytes, &input, err));
  input.cancel = options->cancel;
  enum status status = importer != NULL ? STATUS_OK : recognise(&input, &import.importer, err);
  if (status == STATUS_OK) {
    DEBUG(importers, "%s: read as %s", path, import.importer->name);
    sink_begin(sink, &import, path);
  }
  if (status == STATUS_OK && options->threads != 1)
    input_read_ahead(&input);
  if (status == STATUS_OK)
    status = import.importer->read(&import, err);
  if (status == STATUS_OK)
    status = sink_end(sink, ret_file, err);
  if (status == STATUS_OK)
    status = keep_account(store, ret_file, err);
  input_close(&input);
  return status;
}

enum status import_files(const char *const *paths, size_t count, const struct import_options *options,
                         struct store *store, struct arena *arena, struct import_file **ret_files, struct error *err)
{
  static const struct import_options defaults = {0};
  static const struct import_given nothing = {0};
  if (options == NULL)
    options = &defaults;
  const struct importer *importer = NULL;
  if (options->format != NULL)
    XSP_TRY(named_importer(options->format, &importer, err));
  if (count == 0)
    return error_set(err, STATUS_USE, "cannot import", NULL, NULL, "no files are given");
  struct import_file *files = arena_alloc_array(arena, count, sizeof *files);
  struct sink *sink = sink_create(store, options->threads, arena);
  enum status status = STATUS_OK;
  for (size_t i = 0; i < count && status == STATUS_OK; i++)
    status = import_file(sink, store, paths[i], importer, options,
                         options->given != NULL ? &options->given[i] : &nothing, &files[i], err);
  if (status == STATUS_OK)
    status = require_spans(files, count, err);
  if (status == STATUS_OK)
    status = sink_finish(sink, err);
  sink_free(sink);
  *ret_files = files;
  return status;
}
