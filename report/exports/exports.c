// SPDX-License-Identifier: Apache-2.0
// Front door of the exports: the table of formats, and the only place that creates, renames and removes output files.
#include "report/exports/exports.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct report_export *const report_exports[] = {
    &report_export_perfetto,   &report_export_chrome, &report_export_otlp,
    &report_export_otlp_proto, &report_export_sqlite, &report_export_csv,
    &report_export_speedscope, &report_export_folded, NULL,
};

static enum status find_export(const char *name, const struct report_export **ret_export, struct error *err)
{
  for (size_t i = 0; report_exports[i] != NULL; i++)
    if (strcmp(report_exports[i]->name, name) == 0) {
      *ret_export = report_exports[i];
      return STATUS_OK;
    }
  char advice[160] = "";
  for (size_t i = 0; report_exports[i] != NULL; i++) {
    size_t used = strlen(advice);
    const char *separator = i == 0 ? "" : report_exports[i + 1] == NULL ? " or " : ", ";
    snprintf(advice + used, sizeof advice - used, "%s%s", separator, report_exports[i]->name);
  }
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
  if (!force)
    return error_set(err, STATUS_USE, "cannot write", path, "another name, or --force to replace it",
                     "it exists already");
  return STATUS_OK;
}

// Renames; without `force` an output that appeared meanwhile is kept.
static enum status move_into_place(const char *beside, const char *path, bool force, struct error *err)
{
  int result = renameat2(AT_FDCWD, beside, AT_FDCWD, path, force ? 0 : RENAME_NOREPLACE);
  if (result != 0 && errno == EINVAL) // the file system does not support RENAME_NOREPLACE
    result = rename(beside, path);
  if (result != 0)
    return error_set_errno(err, errno == EEXIST ? STATUS_USE : STATUS_SYSTEM, "cannot write", path, NULL);
  return STATUS_OK;
}

// Writes an output next to its place.
struct writer {
  enum status (*write)(const struct writer *writer, const char *path, struct error *err);
  const struct report_page_file *files; // its input
  size_t file_count;
  const struct report_export *export;
  const struct report_page_options *page;
};

static enum status write_export(const struct writer *writer, const char *path, struct error *err)
{
  return writer->export->write(writer->files[0].store, path, err);
}

static enum status write_page(const struct writer *writer, const char *path, struct error *err)
{
  return report_page(writer->files, writer->file_count, writer->page, path, err);
}

static char unfinished[PATH_MAX];
static volatile sig_atomic_t has_unfinished;

void report_unfinished_remove(void)
{
  if (has_unfinished)
    unlink(unfinished);
}

static enum status write_in_place(const struct writer *writer, const char *path, bool force, struct error *err)
{
  for (size_t i = 0; i < writer->file_count; i++)
    XSP_TRY(check_place(writer->files[i].store, path, force, err));
  char *beside = unfinished;
  int length = snprintf(beside, sizeof unfinished, "%s.%ld.partial", path, (long)getpid());
  if (length < 0 || (size_t)length >= sizeof unfinished)
    return error_set(err, STATUS_USE, "cannot write", path, NULL, "the name is too long");
  has_unfinished = true;
  enum status status = writer->write(writer, beside, err);
  if (status == STATUS_OK)
    status = move_into_place(beside, path, force, err);
  if (status != STATUS_OK) {
    unlink(beside);
    if (err != NULL && strcmp(err->where, beside) == 0)
      snprintf(err->where, sizeof err->where, "%s", path); // the name that the user gave
  }
  has_unfinished = false;
  return status;
}

enum status report_export_file(struct store *store, const char *format, const char *path, bool force, struct error *err)
{
  const struct report_page_file file = {store, NULL};
  struct writer writer = {.write = write_export, .files = &file, .file_count = 1};
  XSP_TRY(find_export(format, &writer.export, err));
  return write_in_place(&writer, path, force, err);
}

enum status report_page_write(const struct report_page_file *files, size_t count,
                              const struct report_page_options *options, const char *path, bool force,
                              struct error *err)
{
  const struct writer writer = {.write = write_page, .files = files, .file_count = count, .page = options};
  return write_in_place(&writer, path, force, err);
}
