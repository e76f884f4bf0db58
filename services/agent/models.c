// SPDX-License-Identifier: Apache-2.0
// Reads, writes and removes manifests of the models folder. Called by start.c and by handlers.
#include "agent/models.h"

#include "agent/constraint.h"
#include "base/interner.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "base/sorted.h"
#include "base/transfer.h"
#include "base/vector.h"
#include "manifests/manifests.h"
#include "manifests/version.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REPORTED_MOST 10000u

struct models {
  const char *folder;
  const struct agent_record *record;
  message_fn message;
  pthread_mutex_t lock;
  // locked
  struct interner reported; // lines that were printed
  struct buf state;         // of the folder when `list` was made of it
  struct arena arena;       // of `list`
  struct agent_model *list;
  size_t count;
};

enum status agent_models_open(const char *folder, const struct agent_record *record, message_fn message,
                              struct models **ret_models, struct error *err)
{
  struct models *models = *ret_models = memory_new(1, sizeof *models);
  *models = (struct models){.folder = folder, .record = record, .message = message};
  pthread_mutex_init(&models->lock, NULL);
  DIR *entries SCOPED(scoped_closedir) = folder != NULL ? opendir(folder) : NULL;
  if (folder != NULL && entries == NULL)
    return error_set_errno(err, STATUS_INPUT, "cannot read the models", folder, "--models FOLDER");
  return STATUS_OK;
}

void agent_models_close(struct models *models)
{
  if (models == NULL)
    return;
  pthread_mutex_destroy(&models->lock);
  interner_done(&models->reported);
  arena_done(&models->arena);
  buf_done(&models->state);
  free(models);
}

// ---- the list --------------------------------------------------------------------------------------------------------
// Locked.
static void report_once(struct models *models, const struct error *err)
{
  char line[1200];
  uint32_t ignored;
  size_t length = error_line(err, line, sizeof line);
  if (interner_count(&models->reported) >= REPORTED_MOST || interner_find(&models->reported, line, length, &ignored))
    return;
  interner_append(&models->reported, line, length);
  models->message("%s; the model is left out", line);
}

static enum status check_framework(const struct models *models, const struct manifest *manifest, struct error *err)
{
  const struct agent_record *record = models->record;
  for (size_t i = 0; i < record->framework_count; i++)
    if (strcmp(record->frameworks[i].name, manifest->framework) == 0 &&
        (manifest->framework_version == NULL ||
         (record->frameworks[i].version != NULL &&
          version_satisfies(record->frameworks[i].version, manifest->framework_version))))
      return STATUS_OK;
  return error_set(err, STATUS_INPUT, "cannot serve the model", manifest->path, "`xsp check`",
                   "this machine has no %s%s%s", manifest->framework, manifest->framework_version != NULL ? " " : "",
                   manifest->framework_version != NULL ? manifest->framework_version : "");
}

struct names {
  VECTOR(const char *) list;
};

static void list_files(const struct models *models, struct arena *arena, struct names *names)
{
  DIR *entries SCOPED(scoped_closedir) = models->folder != NULL ? opendir(models->folder) : NULL;
  for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;)
    if (manifest_recognises(entry->d_name) && entry->d_name[0] != '.' && names->list.count < RECORD_LIST_MOST)
      *vector_add(&names->list) = arena_format(arena, "%s", entry->d_name);
  vector_sort(&names->list, sorted_compare_text);
}

// A text that changes with the files, as far as their names, sizes and times show it.
static void put_state(const struct models *models, const struct names *names, struct buf *out)
{
  for (size_t i = 0; i < names->list.count; i++) {
    struct stat facts = {0};
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", models->folder, names->list.items[i]);
    (void)stat(path, &facts);
    buf_format(out, "%s/%ju %jd %jd.%09ld,", names->list.items[i], (uintmax_t)facts.st_ino, (intmax_t)facts.st_size,
               (intmax_t)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
  }
}

// Locked.
static void read_all(struct models *models, const struct names *names)
{
  struct arena *arena = &models->arena;
  struct manifest manifest;
  arena_done(arena);
  models->list = arena_alloc_array(arena, names->list.count + 1, sizeof *models->list);
  models->count = 0;
  for (size_t i = 0; i < names->list.count; i++) {
    const char *name = names->list.items[i];
    struct error err = {0};
    enum status status = manifest_load(arena_format(arena, "%s/%s", models->folder, name), arena, &manifest, &err);
    if (status == STATUS_OK)
      status = check_framework(models, &manifest, &err);
    if (status == STATUS_OK)
      status = constraints_check_manifest(&manifest, models->record, arena, &err);
    if (status != STATUS_OK) {
      report_once(models, &err);
      continue;
    }
    models->list[models->count++] = (struct agent_model){
        .file = arena_copy(arena, name, (size_t)(strrchr(name, '.') - name)),
        .name = manifest.name,
        .version = manifest.version,
        .task = manifest.task,
        .framework = manifest.framework,
        .framework_version = manifest.framework_version,
        .path = manifest.path,
        .viewers = manifest.viewers,
        .users = manifest.users,
    };
  }
}

static const char *copy(struct arena *arena, const char *text)
{
  return text != NULL ? arena_copy(arena, text, strlen(text)) : NULL;
}

static bool has_name(const char *names, const char *user)
{
  struct slice rest = slice_of(names), name;
  while (slice_cut(&rest, ',', &name))
    if (slice_is(name, user))
      return true;
  return false;
}

static bool may_view(const struct agent_model *model, const char *user)
{
  return user == NULL || model->viewers == NULL || has_name(model->viewers, user) || has_name(model->users, user);
}

static bool may_use(const struct agent_model *model, const char *user)
{
  return user == NULL || (model->users != NULL ? has_name(model->users, user) : may_view(model, user));
}

void agent_models_list(struct models *models, const char *user, struct arena *arena, struct agent_model **ret_models,
                       size_t *ret_count)
{
  struct names names = {0};
  struct buf state = {0};
  SCOPED_LOCK(&models->lock);
  list_files(models, arena, &names);
  put_state(models, &names, &state);
  if (models->list == NULL || state.length != models->state.length ||
      (state.length > 0 && memcmp(state.data, models->state.data, state.length) != 0))
    read_all(models, &names);
  buf_done(&models->state);
  models->state = state;
  *ret_count = 0;
  *ret_models = arena_alloc_array(arena, models->count + 1, sizeof **ret_models);
  for (const struct agent_model *one = models->list; one < models->list + models->count; one++)
    if (may_view(one, user))
      (*ret_models)[(*ret_count)++] =
          (struct agent_model){copy(arena, one->file), copy(arena, one->name),      copy(arena, one->version),
                               copy(arena, one->task), copy(arena, one->framework), copy(arena, one->framework_version),
                               copy(arena, one->path), copy(arena, one->viewers),   copy(arena, one->users)};
  vector_done(&names.list);
}

const char *agent_models_find(struct models *models, const char *requirement, const char *framework, const char *user,
                              struct arena *arena, bool *ret_is_forbidden)
{
  struct agent_record visible = {0}, usable = {0};
  struct constraints constraints = {0};
  agent_models_list(models, user, arena, &visible.models, &visible.model_count);
  usable.models = arena_alloc_array(arena, visible.model_count + 1, sizeof *usable.models);
  for (size_t i = 0; i < visible.model_count; i++)
    if (may_use(&visible.models[i], user))
      usable.models[usable.model_count++] = visible.models[i];
  if (framework != NULL)
    constraints = (struct constraints){.count = 1, .items = {{.kind = CONSTRAINT_FRAMEWORK, .value = framework}}};
  const struct agent_model *model = constraints_model(&constraints, &usable, requirement);
  *ret_is_forbidden = model == NULL && constraints_model(&constraints, &visible, requirement) != NULL;
  return model != NULL ? model->path : NULL;
}

// ---- changes ---------------------------------------------------------------------------------------------------------
static enum status cannot_write(const char *path, struct error *err)
{
  return error_set_errno(err, STATUS_SYSTEM, "cannot write the manifest", path, NULL);
}

static enum status write_file(const char *temporary, const char *path, struct slice text, struct error *err)
{
  int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0)
    return cannot_write(path, err);
  bool is_written = transfer_write(file, text.data, text.length);
  is_written = close(file) == 0 && is_written && rename(temporary, path) == 0;
  if (is_written)
    return STATUS_OK;
  enum status status = cannot_write(path, err);
  unlink(temporary);
  return status;
}

enum status agent_models_publish(struct models *models, const char *file, struct slice text, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct manifest manifest;
  if (models->folder == NULL)
    return error_set(err, STATUS_INPUT, "cannot publish the model", file, "--models FOLDER",
                     "the agent has no folder for models");
  const char *path = arena_format(&arena, "%s/%s.yml", models->folder, file);
  enum status status = manifest_parse(text.data, text.length, path, &arena, &manifest, err);
  if (status == STATUS_OK)
    status = check_framework(models, &manifest, err);
  if (status == STATUS_OK && constraints_check_manifest(&manifest, models->record, &arena, err) != STATUS_OK)
    status = STATUS_INPUT; // whatever it is: it will be refused again
  if (status == STATUS_OK) {
    SCOPED_LOCK(&models->lock); // one at a time has the temporary name
    const char *temporary = arena_format(&arena, "%s/.%s.publishing", models->folder, file);
    unlink(temporary); // of an agent that was killed
    status = write_file(temporary, path, text, err);
    if (status == STATUS_OK)
      unlink(arena_format(&arena, "%s/%s.yaml", models->folder, file)); // the same name
  }
  return status;
}

bool agent_models_delete(struct models *models, const char *file)
{
  struct arena arena SCOPED(arena_done) = {0};
  bool is_deleted = false;
  if (models->folder != NULL) {
    is_deleted = unlink(arena_format(&arena, "%s/%s.yml", models->folder, file)) == 0;
    is_deleted |= unlink(arena_format(&arena, "%s/%s.yaml", models->folder, file)) == 0;
  }
  return is_deleted;
}
