// SPDX-License-Identifier: Apache-2.0
// The files of a model; see model_files.h. Damaged models are for the framework to judge: a model that cannot be
// followed is its one named file.
#include "manifests/model_files.h"

#include "base/sorted.h"
#include "base/vector.h"
#include "frameworks/frameworks.h"

#include <fts.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAXIMUM 65536

struct finding {
  struct arena *arena;
  const char *folder, *weights;
  VECTOR(const char *) names;
  bool has_too_many;
};

static void add(void *context, const char *name, size_t length)
{
  struct finding *finding = context;
  finding->has_too_many = finding->has_too_many || finding->names.count == FILES_MAXIMUM;
  if (finding->has_too_many)
    return;
  *vector_add(&finding->names) = arena_copy(finding->arena, name, length);
}

// ---- a folder --------------------------------------------------------------------------------------------------------

// Links to files are followed (stores of models consist of them), links to folders are not.
static enum status add_folder(struct finding *finding, const char *path, struct error *err)
{
  char *const roots[] = {arena_copy(finding->arena, path, strlen(path)), NULL};
  FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
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

static bool path_of(const struct model_files *files, const char *name, char path[PATH_MAX])
{
  bool is_elsewhere = files->weights != NULL && strcmp(basename(files->weights), name) == 0;
  int length = is_elsewhere ? snprintf(path, PATH_MAX, "%s", files->weights)
                            : snprintf(path, PATH_MAX, "%s/%s", files->folder, name);
  return length < PATH_MAX;
}

static bool size_of(const struct model_files *files, const char *name, int64_t *ret_bytes)
{
  char path[PATH_MAX];
  struct stat status;
  if (!path_of(files, name, path) || stat(path, &status) != 0 || !S_ISREG(status.st_mode))
    return false;
  *ret_bytes = (int64_t)status.st_size;
  return true;
}

// Sorts, removes duplicates and missing files.
static enum status settle(struct finding *finding, struct model_files *files, struct error *err)
{
  files->folder = finding->folder;
  files->weights = finding->weights;
  files->names = arena_alloc_array(finding->arena, finding->names.count + 1, sizeof *files->names);
  if (finding->has_too_many)
    return error_set(err, STATUS_INPUT, "cannot read the model", finding->folder, "another path",
                     "not a model's folder: more than %d files", FILES_MAXIMUM);
  vector_sort(&finding->names, sorted_compare_text);
  for (size_t i = 0; i < finding->names.count; i++) {
    int64_t bytes = 0;
    if ((i > 0 && strcmp(finding->names.items[i - 1], finding->names.items[i]) == 0) ||
        !size_of(files, finding->names.items[i], &bytes))
      continue;
    files->names[files->count++] = finding->names.items[i];
    files->bytes += bytes;
  }
  return STATUS_OK;
}

enum status model_files_find(const char *path, const char *weights, struct arena *arena, struct model_files *ret_files,
                             struct error *err)
{
  *ret_files = (struct model_files){0};
  struct finding finding = {.arena = arena, .folder = path, .weights = weights};
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
    const struct predictor *predictor = predictor_for_file(path);
    if (weights != NULL)
      add(&finding, basename(weights), strlen(basename(weights)));
    else if (predictor != NULL && predictor->visit_files != NULL)
      predictor->visit_files(path, add, &finding); // what belongs to the file
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
  (void)path_of(files, name, path); // as it was found
  return checksum_of_file(path, hex, err);
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
