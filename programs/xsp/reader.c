// SPDX-License-Identifier: Apache-2.0
// What the reading verbs share: the output format, and opening files and folders of them.
#include "programs/xsp/reader.h"

#include "correlate/correlate.h"
#include "programs/xsp/output.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ENDING ".xsp"
#define UNFINISHED ".xsp.partial"

enum status reader_format(const struct invocation *invocation, enum report_format *ret_format, struct error *err)
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

enum status reader_open(const char *path, struct store **ret_store, struct error *err)
{
  struct store *store = NULL;
  struct stat facts;
  if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode))
    return error_set(err, STATUS_INPUT, "cannot open trace", path,
                     "a file in it; only T8 to T11 of xsp analyze take folders", "it is a directory");
  XSP_TRY(store_open(path, &store, err));
  enum status status = correlate_ensure(store, err);
  if (status != STATUS_OK) {
    store_close(store);
    return status;
  }
  *ret_store = store;
  return STATUS_OK;
}

// ---- many files ------------------------------------------------------------------------------------------------------
static bool ends_with(const char *name, const char *ending)
{
  size_t length = strlen(name), of_ending = strlen(ending);
  return length > of_ending && strcmp(name + length - of_ending, ending) == 0;
}

static int is_wanted(const struct dirent *entry)
{
  return entry->d_name[0] != '.' && (ends_with(entry->d_name, ENDING) || ends_with(entry->d_name, UNFINISHED));
}

static int compare_names(const struct dirent **left, const struct dirent **right)
{
  return strcmp((*left)->d_name, (*right)->d_name); // not by the locale: the same everywhere
}

static void reserve(struct reader_files *files, size_t more)
{
  struct store **stores = arena_alloc_array(&files->arena, files->count + more + 1, sizeof *stores);
  const char **left_out = arena_alloc_array(&files->arena, files->left_out_count + more + 1, sizeof *left_out);
  for (size_t i = 0; i < files->count; i++)
    stores[i] = files->stores[i];
  for (size_t i = 0; i < files->left_out_count; i++)
    left_out[i] = files->left_out[i];
  files->stores = stores;
  files->left_out = left_out;
}

static void leave_out(struct reader_files *files, const char *path, const char *why)
{
  files->left_out[files->left_out_count++] = arena_format(&files->arena, "%s: %s", path, why);
}

// A broken file is reported as its error; `*first` is the first one, for when nothing is left.
static enum status open_or_leave_out(struct reader_files *files, const char *path, struct error *first,
                                     struct error *err)
{
  struct error why = {0};
  enum status status = reader_open(path, &files->stores[files->count], &why);
  if (status == STATUS_OK) {
    files->count++;
    return STATUS_OK;
  }
  if (status != STATUS_INPUT) { // the environment's fault
    if (err != NULL)
      *err = why;
    return status;
  }
  if (first->status == STATUS_OK)
    *first = why;
  files->has_broken = true;
  output_error(&why);
  leave_out(files, path, why.why);
  return STATUS_OK;
}

static enum status open_folder(struct reader_files *files, const char *path, struct error *first, struct error *err)
{
  struct dirent **entries = NULL;
  int count = scandir(path, &entries, is_wanted, compare_names);
  if (count < 0)
    return error_set_errno(err, STATUS_INPUT, "cannot read the folder", path, "xsp analyze T8 FOLDER");
  size_t files_in_it = 0;
  enum status status = STATUS_OK;
  reserve(files, (size_t)count);
  for (int i = 0; i < count; i++) {
    const char *name = entries[i]->d_name;
    const char *file = arena_format(&files->arena, "%s%s%s", path, ends_with(path, "/") ? "" : "/", name);
    if (status == STATUS_OK && ends_with(name, UNFINISHED)) {
      output_message("xsp: %s: left out: it is not finished; xsp recover, or the program that writes it, finishes it",
                     file);
      leave_out(files, file, "it is not finished");
    } else if (status == STATUS_OK) {
      files_in_it++;
      status = open_or_leave_out(files, file, first, err);
    }
    free(entries[i]);
  }
  free(entries);
  if (status == STATUS_OK && files_in_it == 0)
    return error_set(err, STATUS_INPUT, "cannot analyze the folder", path, "xsp profile MODEL -o FOLDER/NAME.xsp",
                     "there is no .xsp file in it");
  return status;
}

enum status reader_files_open(const char *const *paths, size_t path_count, bool are_many,
                              struct reader_files *ret_files, struct error *err)
{
  struct error first = {0};
  *ret_files = (struct reader_files){0};
  reserve(ret_files, path_count);
  for (size_t i = 0; i < path_count; i++) {
    struct stat facts;
    if (!are_many) {
      XSP_TRY(reader_open(paths[i], &ret_files->stores[ret_files->count], err));
      ret_files->count++;
    } else if (stat(paths[i], &facts) == 0 && S_ISDIR(facts.st_mode)) {
      XSP_TRY(open_folder(ret_files, paths[i], &first, err));
      reserve(ret_files, path_count - i);
    } else {
      XSP_TRY(open_or_leave_out(ret_files, paths[i], &first, err));
    }
  }
  if (ret_files->count > 0)
    return STATUS_OK;
  if (ret_files->left_out_count == 1 && err != NULL) { // reported already
    *err = (struct error){.status = STATUS_INPUT};
    return STATUS_INPUT;
  }
  return error_set(err, STATUS_INPUT, "cannot analyze", path_count == 1 ? paths[0] : NULL, first.advice,
                   "none of the %zu files can be read", ret_files->left_out_count);
}

void reader_files_close(struct reader_files *files)
{
  for (size_t i = 0; files->stores != NULL && i < files->count; i++)
    store_close(files->stores[i]);
  arena_done(&files->arena);
}
