// SPDX-License-Identifier: Apache-2.0
// What the reading verbs share: the output format, files and folders of them, answers of analyses.
#include "programs/xsp/reader.h"

#include "base/slice.h"
#include "clickhouse/clickhouse.h"
#include "correlate/correlate.h"
#include "programs/xsp/database_store.h"
#include "programs/xsp/output.h"
#include "programs/xsp/verb_import/import_store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define UNFINISHED ".xsp.partial"

static enum status named_format(const struct invocation *invocation, enum report_format *ret_format, struct error *err)
{
  const char *name = invocation_value(invocation, "format");
  if (!report_format_from_name(name, ret_format)) {
    char where[96];
    snprintf(where, sizeof where, "--format=%s", name);
    return error_set(err, STATUS_USE, "wrong use", where, "text, markdown, csv or json", "no such format");
  }
  if (!invocation_has(invocation, "json"))
    return STATUS_OK;
  if (invocation_has(invocation, "format") && *ret_format != REPORT_JSON)
    return error_set(err, STATUS_USE, "wrong use", "--json", "one of the two", "it contradicts --format=%s", name);
  *ret_format = REPORT_JSON;
  return STATUS_OK;
}

enum status verb_reader_format(const struct invocation *invocation, enum report_format *ret_format, struct error *err)
{
  XSP_TRY(named_format(invocation, ret_format, err));
  if (!invocation_has(invocation, "raw"))
    return STATUS_OK;
  if (*ret_format != REPORT_CSV)
    return error_set(err, STATUS_USE, "wrong use", "--raw", "--format csv --raw", "the other formats change no text");
  *ret_format = REPORT_CSV_RAW;
  return STATUS_OK;
}

// Another profiler's file. What an importer does not take is an .xsp file that cannot be opened.
static bool is_foreign(const struct stat *facts, const char *path)
{
  return S_ISREG(facts->st_mode) && import_recognise(path) != NULL;
}

static enum status open_detailed(const char *path, const struct reader_detail *detail, struct store **ret_store,
                                 struct error *err)
{
  struct store *store = NULL;
  struct stat facts = {0};
  if (clickhouse_is_address(path))
    return database_store_open(path, detail != NULL ? detail->detail : TRACE_EVERYTHING,
                               detail != NULL ? detail->layer_mode : NULL, ret_store, err);
  if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode))
    return error_set(err, STATUS_INPUT, "cannot open trace", path,
                     "a file in it; folders are for T8 to T11 of xsp analyze, and for xsp compare, history and publish",
                     "it is a directory");
  output_catch_signals(output_remove_unfinished);
  enum status status = store_open(path, &store, err);
  if (status == STATUS_INPUT && is_foreign(&facts, path))
    return import_store_open(path, ret_store, err);
  if (status == STATUS_OK)
    status = correlate_ensure(store, err);
  if (status != STATUS_OK) {
    store_close(store);
    return status;
  }
  *ret_store = store;
  return STATUS_OK;
}

enum status verb_reader_open(const char *path, struct store **ret_store, struct error *err)
{
  return open_detailed(path, NULL, ret_store, err);
}

// ---- many files ------------------------------------------------------------------------------------------------------
static int is_wanted(const struct dirent *entry)
{
  return entry->d_name[0] != '.' &&
         (text_ends_with(entry->d_name, ".xsp") || text_ends_with(entry->d_name, UNFINISHED));
}

static int compare_names(const struct dirent **left, const struct dirent **right)
{
  return strcmp((*left)->d_name, (*right)->d_name); // not by the locale: the same everywhere
}

static void leave_out(struct reader_files *files, const char *path, const char *why)
{
  *vector_add(&files->left_out) = arena_format(&files->arena, "%s: %s", path, why);
}

// Counted twice it would be a second measurement.
static bool is_given_again(struct reader_files *files, const char *path)
{
  struct stat facts;
  if (stat(path, &facts) != 0)
    return false; // a database, or the error comes when it is opened
  for (size_t i = 0; i < files->seen.count; i++)
    if (files->seen.items[i].device == facts.st_dev && files->seen.items[i].inode == facts.st_ino)
      return true;
  *vector_add(&files->seen) = (struct reader_file){facts.st_dev, facts.st_ino};
  return false;
}

static enum status open_or_leave_out(struct reader_files *files, const char *path, const struct reader_detail *detail,
                                     struct error *err)
{
  struct store *store = NULL;
  struct error why = {0};
  if (is_given_again(files, path)) {
    output_message("xsp: %s: left out: it was given before", path);
    leave_out(files, path, "it was given before");
    return STATUS_OK;
  }
  enum status status = open_detailed(path, detail, &store, &why);
  if (status == STATUS_OK && files->visit != NULL) {
    status = files->visit(files->context, store, &why);
    store_close(store);
  } else if (status == STATUS_OK) {
    *vector_add(&files->stores) = store;
  }
  files->count += status == STATUS_OK;
  if (status != STATUS_OK && status != STATUS_INPUT) // the environment's fault
    *err = why;
  if (status != STATUS_INPUT)
    return status;
  if (files->broken.status == STATUS_OK)
    files->broken = why;
  output_error(&why);
  leave_out(files, path, why.why);
  return STATUS_OK;
}

static enum status open_folder(struct reader_files *files, const char *path, struct error *err)
{
  struct dirent **entries = NULL;
  int count = scandir(path, &entries, is_wanted, compare_names);
  if (count < 0)
    return error_set_errno(err, STATUS_INPUT, "cannot read the folder", path, "xsp analyze T8 FOLDER");
  bool has_files = false;
  struct output_steps steps = {0};
  enum status status = STATUS_OK;
  for (int i = 0; i < count; i++) {
    const char *name = entries[i]->d_name;
    steps.path = name;
    output_headway_step(&steps, (uint64_t)i, (uint64_t)count);
    const char *file = arena_format(&files->arena, "%s%s%s", path, text_ends_with(path, "/") ? "" : "/", name);
    if (status == STATUS_OK && text_ends_with(name, UNFINISHED)) {
      output_message("xsp: %s: left out: it is not finished; xsp recover, or the program that writes it, finishes it",
                     file);
      leave_out(files, file, "it is not finished");
    } else if (status == STATUS_OK) {
      has_files = true;
      status = open_or_leave_out(files, file, NULL, err);
    }
    free(entries[i]);
  }
  output_headway_end(&steps.headway);
  free(entries);
  if (status == STATUS_OK && !has_files)
    return error_set(err, STATUS_INPUT, "cannot analyze the folder", path, "xsp profile MODEL -o FOLDER/NAME.xsp",
                     "there is no .xsp file in it");
  return status;
}

static enum status open_files(const char *const *paths, size_t path_count, bool are_many,
                              const struct reader_detail *detail, struct reader_files *ret_files, struct error *err)
{
  struct output_steps steps = {0};
  for (size_t i = 0; i < path_count; i++) {
    struct stat facts;
    struct store *store = NULL;
    steps.path = paths[i];
    output_headway_step(&steps, i, path_count);
    if (!are_many) {
      XSP_TRY(open_detailed(paths[i], detail, &store, err));
      *vector_add(&ret_files->stores) = store;
      ret_files->count++;
    } else if (stat(paths[i], &facts) == 0 && S_ISDIR(facts.st_mode)) {
      XSP_TRY(open_folder(ret_files, paths[i], err));
    } else {
      XSP_TRY(open_or_leave_out(ret_files, paths[i], detail, err));
    }
  }
  output_headway_end(&steps.headway);
  if (ret_files->count > 0)
    return STATUS_OK;
  if (ret_files->left_out.count == 1)
    return STATUS_INPUT; // reported already
  return error_set(err, STATUS_INPUT, "cannot analyze", path_count == 1 ? paths[0] : NULL, ret_files->broken.advice,
                   "none of the %zu files can be read", ret_files->left_out.count);
}

enum status verb_reader_files_open(const char *const *paths, size_t path_count, bool are_many,
                                   const struct reader_detail *detail, struct reader_files *ret_files,
                                   struct error *err)
{
  *ret_files = (struct reader_files){0};
  return open_files(paths, path_count, are_many, detail, ret_files, err);
}

enum status verb_reader_files_visit(const char *const *paths, size_t path_count, reader_visit *visit, void *context,
                                    struct reader_files *ret_files, struct error *err)
{
  *ret_files = (struct reader_files){.visit = visit, .context = context};
  return open_files(paths, path_count, true, NULL, ret_files, err);
}

void verb_reader_files_close(struct reader_files *files)
{
  for (size_t i = 0; i < files->stores.count; i++)
    store_close(files->stores.items[i]);
  vector_done(&files->stores);
  vector_done(&files->left_out);
  vector_done(&files->seen);
  arena_done(&files->arena);
}

// ---- answers ---------------------------------------------------------------------------------------------------------
enum status answers_add(struct answers *answers, const char *id, struct store *const *stores, size_t store_count,
                        const struct analyze_request *request, struct error *err)
{
  struct table *tables = NULL;
  size_t count = 0;
  struct analyze_request asked = *request;
  asked.cache = answers->cache;
  XSP_TRY(analyze_run(id, stores, store_count, &asked, &answers->arena, &tables, &count, err));
  for (size_t i = 0; i < count; i++)
    *vector_add(&answers->tables) = tables[i];
  return STATUS_OK;
}

enum status answers_add_top(struct answers *answers, const char *id, struct store *store, const char *sort, int64_t top,
                            struct error *err)
{
  struct analyze_request request;
  struct error why = {0};
  analyze_request_init(&request);
  request.sort = sort;
  request.top = top;
  enum status status = answers_add(answers, id, &store, 1, &request, &why);
  if (status == STATUS_OK || status == STATUS_NO)
    return STATUS_OK;
  *err = why;
  return status;
}

enum status answers_put_causes(struct answers *answers, struct store *store, struct buf *out, struct error *err)
{
  struct analyze_request request;
  struct cause *causes;
  size_t count;
  analyze_request_init(&request);
  request.cache = answers->cache;
  request.reads_source = true;
  XSP_TRY(analyze_causes(&store, 1, &request, &answers->arena, &causes, &count, err));
  report_causes(causes, count, out);
  return STATUS_OK;
}

void answers_done(struct answers *answers)
{
  vector_done(&answers->tables);
  arena_done(&answers->arena);
}
