// SPDX-License-Identifier: Apache-2.0
// The files of a model; see model_files.h. Damaged models are for the framework to judge: a model that cannot be
// followed is its one named file.
#include "manifests/model_files.h"

#include "base/mapped.h"
#include "base/vector.h"

#include "frameworks/onnxruntime/onnx_external.h"

#include <fts.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAXIMUM 65536

struct finding {
  struct arena *arena;
  const char *folder;
  VECTOR(const char *) names;
  bool has_too_many;
};

static void add(struct finding *finding, const char *name, size_t length)
{
  finding->has_too_many = finding->has_too_many || finding->names.count == FILES_MAXIMUM;
  if (finding->has_too_many)
    return;
  *vector_add(&finding->names) = arena_copy(finding->arena, name, length);
}

// ---- what belongs to a file ------------------------------------------------------------------------------------------

static void add_visited(void *context, const char *name, size_t length)
{
  add(context, name, length);
}

static void add_external_data(struct finding *finding, const char *path)
{
  struct mapped file;
  if (!mapped_open(path, &file))
    return;
  onnx_external_files(file.bytes, file.size, add_visited, finding);
  mapped_close(&file);
}

// The latest epoch's parameters, which is what frameworks/mxnet/predictor.c opens, and the shapes of inputs.
static void add_mxnet(struct finding *finding, const char *path, size_t prefix_length)
{
  static const char digits[] = "-[0-9][0-9][0-9][0-9].params";
  char pattern[PATH_MAX + sizeof digits];
  size_t used = 0;
  for (size_t i = 0; i < prefix_length && used + 2 < PATH_MAX; i++) {
    if (strchr("*?[\\", path[i]) != NULL)
      pattern[used++] = '\\';
    pattern[used++] = path[i];
  }
  memcpy(pattern + used, digits, sizeof digits);
  glob_t found = {0};
  if (glob(pattern, 0, NULL, &found) == 0) {
    const char *last = basename(found.gl_pathv[found.gl_pathc - 1]);
    add(finding, last, strlen(last));
  }
  globfree(&found);
  const char *base = basename(path);
  char *signature =
      arena_format(finding->arena, "%.*s-signature.json", (int)(prefix_length - (size_t)(base - path)), base);
  if (signature != NULL)
    add(finding, signature, strlen(signature));
}

static bool ends_with(const char *path, const char *ending)
{
  size_t length = strlen(path), ending_length = strlen(ending);
  return length > ending_length && strcmp(path + length - ending_length, ending) == 0;
}

static void add_belonging(struct finding *finding, const char *path)
{
  const char *base = basename(path);
  static const char symbol[] = "-symbol.json";
  if (ends_with(path, ".onnx")) {
    add_external_data(finding, path);
  } else if (ends_with(path, symbol)) {
    add_mxnet(finding, path, strlen(path) - strlen(symbol));
  } else if (ends_with(path, ".xml")) {
    char *weights = arena_format(finding->arena, "%.*s.bin", (int)(strlen(base) - strlen(".xml")), base);
    if (weights != NULL)
      add(finding, weights, strlen(weights));
  }
}

// ---- a folder --------------------------------------------------------------------------------------------------------

// Links to files are followed (stores of models consist of them), links to folders are not.
static enum status add_folder(struct finding *finding, const char *path, struct error *err)
{
  char *const roots[] = {arena_copy(finding->arena, path, strlen(path)), NULL};
  FTS *walk = roots[0] != NULL ? fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL) : NULL;
  if (walk == NULL)
    return error_set_errno(err, STATUS_INPUT, "cannot read the model", path, "another path");
  size_t root_length = strlen(roots[0]);
  FTSENT *entry;
  while ((entry = fts_read(walk)) != NULL) {
    const char *name = entry->fts_path + root_length + strspn(entry->fts_path + root_length, "/");
    if (entry->fts_info == FTS_F || entry->fts_info == FTS_SL)
      add(finding, name, strlen(name));
  }
  fts_close(walk);
  return STATUS_OK;
}

// ---- all together ----------------------------------------------------------------------------------------------------

static int by_name(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool size_of(const char *folder, const char *name, int64_t *ret_bytes)
{
  char path[PATH_MAX];
  struct stat status;
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path || stat(path, &status) != 0 ||
      !S_ISREG(status.st_mode))
    return false;
  *ret_bytes = (int64_t)status.st_size;
  return true;
}

// Sorts, removes duplicates and missing files.
static enum status settle(struct finding *finding, struct model_files *files, struct error *err)
{
  files->folder = finding->folder;
  files->names = arena_alloc_array(finding->arena, finding->names.count + 1, sizeof *files->names);
  if (finding->has_too_many)
    return error_set(err, STATUS_INPUT, "cannot read the model", finding->folder, "another path",
                     "not a model's folder: more than %d files", FILES_MAXIMUM);
  if (finding->names.count > 0)
    qsort(finding->names.items, finding->names.count, sizeof *finding->names.items, by_name);
  for (size_t i = 0; i < finding->names.count; i++) {
    int64_t bytes = 0;
    if ((i > 0 && strcmp(finding->names.items[i - 1], finding->names.items[i]) == 0) ||
        !size_of(finding->folder, finding->names.items[i], &bytes))
      continue;
    files->names[files->count++] = finding->names.items[i];
    files->bytes += bytes;
  }
  return STATUS_OK;
}

enum status model_files_find(const char *path, struct arena *arena, struct model_files *ret_files, struct error *err)
{
  *ret_files = (struct model_files){0};
  struct finding finding = {.arena = arena, .folder = path};
  struct stat about;
  if (stat(path, &about) != 0)
    return error_set_errno(err, STATUS_INPUT, "cannot read the model", path, "another path");
  if (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode)) // a pipe would be waited for
    return error_set(err, STATUS_INPUT, "cannot read the model", path, "another path", "neither a file nor a folder");
  enum status status = STATUS_OK;
  const char *base = basename(path);
  if (!S_ISDIR(about.st_mode))
    finding.folder = base == path ? "." : arena_copy(arena, path, (size_t)(base - path));
  if (S_ISDIR(about.st_mode) || strcmp(base, "saved_model.pb") == 0) { // the file may be named in the folder's place
    status = add_folder(&finding, finding.folder, err);
  } else {
    add(&finding, base, strlen(base));
    add_belonging(&finding, path);
  }
  if (status == STATUS_OK)
    status = settle(&finding, ret_files, err);
  vector_done(&finding.names);
  return status;
}

static enum status checksum_of(const struct model_files *files, const char *name, char hex[CHECKSUM_TEXT_SIZE],
                               struct error *err)
{
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", files->folder, name);
  struct checksum *checksum = checksum_start();
  enum status status = checksum_add_file(checksum, path, err);
  checksum_finish(checksum, hex);
  return status;
}

enum status model_files_checksum(const struct model_files *files, char hex[CHECKSUM_TEXT_SIZE], struct error *err)
{
  if (files->count == 1)
    return checksum_of(files, files->names[0], hex, err);
  struct checksum *list = checksum_start();
  enum status status = STATUS_OK;
  for (size_t i = 0; i < files->count && status == STATUS_OK; i++) {
    char each[CHECKSUM_TEXT_SIZE];
    status = checksum_of(files, files->names[i], each, err);
    checksum_add(list, each, strlen(each));
    checksum_add(list, "  ", 2);
    checksum_add(list, files->names[i], strlen(files->names[i]));
    checksum_add(list, "\n", 1);
  }
  checksum_finish(list, hex);
  return status;
}
