// SPDX-License-Identifier: Apache-2.0
// Front door of the exports: the table of formats, and the only place that creates, renames and removes output files.
#include "report/exports/exports.h"

#include "base/file_place.h"
#include "base/nearest.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct report_export *const report_exports[] = {
    &report_export_perfetto,
    &report_export_chrome,
    &report_export_otlp,
    &report_export_otlp_proto,
    &report_export_sqlite,
    &report_export_csv,
    &report_export_speedscope,
    &report_export_folded,
    &report_export_pprof,
    &report_export_otlp_profiles,
    NULL,
};

enum status report_export_find(const char *name, const struct report_export **ret_export, struct error *err)
{
  struct nearest nearest;
  nearest_start(&nearest, name);
  for (size_t i = 0; report_exports[i] != NULL; i++) {
    *ret_export = report_exports[i];
    if (strcmp(report_exports[i]->name, name) == 0)
      return STATUS_OK;
    nearest_offer(&nearest, report_exports[i]->name);
  }
  char advice[96];
  nearest_advice(&nearest, "", "`xsp help export`, which lists them", advice, sizeof advice);
  return error_set(err, STATUS_USE, "cannot export", name, advice, "no such export format");
}

// The source stays open while the output is renamed over it, so --force alone does not allow that.
static bool is_source(const struct store *store, const struct stat *there)
{
  struct stat source;
  return stat(store_path(store), &source) == 0 && source.st_dev == there->st_dev && source.st_ino == there->st_ino;
}

static enum status check_place(const struct store *store, const char *path, bool force, struct error *err)
{
  struct stat there;
  if (path[0] == 0)
    return error_set(err, STATUS_USE, "cannot write", "-o", "-o OUT", "the output has no name");
  if (lstat(path, &there) != 0)
    return STATUS_OK; // missing or unreachable: opening reports which
  if (!S_ISREG(there.st_mode))
    return error_set(err, STATUS_USE, "cannot write", path, "the name of a file",
                     "it exists and is not a regular file");
  if (is_source(store, &there))
    return error_set(err, STATUS_USE, "cannot write", path, "another name", "it is the trace that is exported");
  return file_place_check(path, force, err);
}

static char unfinished[PATH_MAX];
static volatile sig_atomic_t has_unfinished;

void report_unfinished_remove(void)
{
  if (has_unfinished)
    unlink(unfinished);
}

static bool is_stdout(const char *path)
{
  return strcmp(path, "-") == 0;
}

// Where to write an output: next to its place.
static enum status begin(const struct report_page_file *sources, size_t count, const char *path, bool force,
                         struct error *err)
{
  if (is_stdout(path))
    return STATUS_OK;
  for (size_t i = 0; i < count; i++)
    XSP_TRY(check_place(sources[i].store, path, force, err));
  int length = snprintf(unfinished, sizeof unfinished, "%s.%ld.partial", path, (long)getpid());
  if (length < 0 || (size_t)length >= sizeof unfinished)
    return error_set(err, STATUS_USE, "cannot write", path, NULL, "the name is too long");
  unlink(unfinished); // of a killed process with this number
  has_unfinished = true;
  return STATUS_OK;
}

static const char *place_of(const char *path)
{
  return is_stdout(path) ? path : unfinished;
}

// Renames what was written with `status`; without `force` an output that appeared meanwhile is kept.
static enum status end(enum status status, const char *path, bool force, struct error *err)
{
  if (is_stdout(path))
    return status;
  if (status == STATUS_OK && file_place(unfinished, path, force) != 0)
    status = error_set_errno(err, errno == EEXIST ? STATUS_USE : STATUS_SYSTEM, "cannot write", path, NULL);
  if (status != STATUS_OK) {
    unlink(unfinished);
    if (err != NULL && strcmp(err->where, unfinished) == 0)
      snprintf(err->where, sizeof err->where, "%s", path); // the name that the user gave
  }
  has_unfinished = false;
  return status;
}

enum status report_export_file(struct store *store, const char *format, const char *path,
                               const struct report_export_options *options, struct error *err)
{
  const struct report_page_file source = {store, NULL};
  const struct report_export *export = NULL;
  XSP_TRY(report_export_find(format, &export, err));
  if (is_stdout(path) && export->needs_file != NULL)
    return error_set(err, STATUS_USE, "cannot write to stdout", format, "-o OUT", "%s", export->needs_file);
  if (options->is_raw && !export->has_raw)
    return error_set(err, STATUS_USE, "wrong use", "--raw", "--to csv --raw", "the other formats change no text");
  if (options->metric != NULL && !export->has_metric)
    return error_set(err, STATUS_USE, "wrong use", "--metric", "--to folded", "the other formats have no such choice");
  XSP_TRY(begin(&source, 1, path, options->force, err));
  return end(export->write(store, place_of(path), options, err), path, options->force, err);
}

enum status report_page_write(const struct report_page_file *files, size_t count,
                              const struct report_page_options *options, const char *path, bool force,
                              struct error *err)
{
  XSP_TRY(begin(files, count, path, force, err));
  return end(report_page(files, count, options, place_of(path), err), path, force, err);
}

enum status report_difference_file(const struct compare_answer *answer, const char *path, bool force, struct error *err)
{
  size_t count = 0;
  struct arena arena = {0};
  struct report_page_file *sources =
      arena_alloc_array(&arena, answer->run_counts[0] + answer->run_counts[1], sizeof *sources);
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < answer->run_counts[k]; i++)
      sources[count++].store = answer->runs[k][i].store;
  enum status status = begin(sources, count, path, force, err);
  arena_done(&arena);
  XSP_TRY(status);
  return end(folded_difference_write(answer, place_of(path), err), path, force, err);
}
