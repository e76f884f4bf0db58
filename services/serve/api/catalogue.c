// SPDX-License-Identifier: Apache-2.0
// Keeps what the folder's files hold, so that a list does not open each of them. Called by handlers. A file is read again when its
// inode, size or time has changed.
#include "serve/api/catalogue.h"

#include "base/scoped.h"
#include "base/slice.h"
#include "base/sorted.h"
#include "store/store.h"

#include <stdlib.h>

#define QUERY_S 10

// ---- reading a file --------------------------------------------------------------------------------------------------
static const char *text_of(struct arena *arena, const struct store_cell *cell)
{
  return cell->type == STORE_TEXT ? arena_copy(arena, cell->text, cell->length) : NULL;
}

static int64_t integer_of(const struct store_cell *cell)
{
  return cell->type == STORE_INT ? cell->integer : 0;
}

struct reading {
  struct catalogue_file *into;
  VECTOR(struct catalogue_experiment) experiments;
  VECTOR(struct catalogue_run) runs;
};

// experiment_id, created_ns, name, workload, framework, framework_version, xsp_version
static enum status take_experiment(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct reading *reading = context;
  struct arena *arena = &reading->into->arena;
  *vector_add(&reading->experiments) = (struct catalogue_experiment){.experiment_id = integer_of(&cells[0]),
                                                                     .created_ns = integer_of(&cells[1]),
                                                                     .name = text_of(arena, &cells[2]),
                                                                     .workload = text_of(arena, &cells[3]),
                                                                     .framework = text_of(arena, &cells[4]),
                                                                     .framework_version = text_of(arena, &cells[5]),
                                                                     .xsp_version = text_of(arena, &cells[6])};
  return STATUS_OK;
}

// run_id, experiment_id, levels, batch_size, dropped_count, epoch, spans, first start, last start
static enum status take_run(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  static const struct catalogue_experiment unknown;
  struct reading *reading = context;
  struct catalogue_file *into = reading->into;
  const char *levels = text_of(&into->arena, &cells[2]);
  struct catalogue_run run = {.run_id = integer_of(&cells[0]),
                              .levels = levels != NULL ? levels : "",
                              .batch_size = integer_of(&cells[3]),
                              .dropped = integer_of(&cells[4]),
                              .is_unix = cells[5].type == STORE_TEXT && strcmp(cells[5].text, "unix") == 0,
                              .spans = integer_of(&cells[6]),
                              .first_start_ns = integer_of(&cells[7]),
                              .last_start_ns = integer_of(&cells[8]),
                              .experiment = &unknown};
  for (size_t i = 0; i < into->experiment_count; i++)
    if (into->experiments[i].experiment_id == integer_of(&cells[1]))
      run.experiment = &into->experiments[i];
  *vector_add(&reading->runs) = run;
  return STATUS_OK;
}

// Bounded, whatever the file: numbers of rows, lengths of texts.
static enum status query(struct store *store, struct reading *reading, struct error *err)
{
  static const char experiments[] = "SELECT experiment_id, created_ns, substr(name, 1, 500), substr(workload, 1, 500), "
                                    "substr(framework, 1, 500), substr(framework_version, 1, 500), "
                                    "substr(xsp_version, 1, 500) FROM experiment ORDER BY 1 LIMIT 1000";
  static const char runs[] =
      "SELECT run.run_id, experiment_id, substr(levels, 1, 100), batch_size, dropped_count, substr(epoch, 1, 10), "
      "spans, first, last FROM run LEFT JOIN (SELECT run_id AS id, sum(row_count) AS spans, min(minimum) AS first, "
      "max(maximum) AS last FROM chunk WHERE series = 'span' AND \"column\" = 'start_ns' GROUP BY run_id) "
      "ON id = run.run_id ORDER BY 1 LIMIT 10000";
  const struct store_query_sink of_experiments = {.context = reading, .row = take_experiment, .timeout_s = QUERY_S};
  const struct store_query_sink of_runs = {.context = reading, .row = take_run, .timeout_s = QUERY_S};
  XSP_TRY(store_query(store, experiments, &of_experiments, err));
  reading->into->experiments = reading->experiments.items;
  reading->into->experiment_count = reading->experiments.count;
  return store_query(store, runs, &of_runs, err);
}

enum status catalogue_read(const char *path, struct catalogue_file *into, struct error *err)
{
  struct store *store = NULL;
  struct reading reading = {.into = into};
  enum status status = store_open(path, &store, err);
  if (status == STATUS_OK)
    status = query(store, &reading, err);
  store_close(store);
  into->experiments = reading.experiments.items;
  into->runs = reading.runs.items;
  into->experiment_count = status == STATUS_OK ? reading.experiments.count : 0;
  into->run_count = status == STATUS_OK ? reading.runs.count : 0;
  return status;
}

void catalogue_file_done(struct catalogue_file *file)
{
  free(file->experiments);
  free(file->runs);
  arena_done(&file->arena);
}

// A file that cannot be read is in the list, with the reason.
static struct catalogue_file *read_file(const struct kept_file *file, const char *folder)
{
  struct catalogue_file *into = memory_new(1, sizeof *into);
  struct error error = {0};
  *into = (struct catalogue_file){.file = *file, .owners = 1};
  if (catalogue_read(arena_format(&into->arena, "%s/%s", folder, file->name), into, &error) != STATUS_OK)
    into->problem = arena_copy(&into->arena, error.why, strlen(error.why));
  return into;
}

// ---- lists -----------------------------------------------------------------------------------------------------------
void catalogue_init(struct catalogue *catalogue)
{
  *catalogue = (struct catalogue){0};
  pthread_mutex_init(&catalogue->lock, NULL);
}

void catalogue_done(struct catalogue *catalogue)
{
  catalogue_release(&catalogue->known);
  pthread_mutex_destroy(&catalogue->lock);
}

void catalogue_release(struct catalogue_list *list)
{
  for (size_t i = 0; i < list->files.count; i++) {
    struct catalogue_file *file = list->files.items[i];
    if (__atomic_sub_fetch(&file->owners, 1, __ATOMIC_ACQ_REL) > 0)
      continue;
    catalogue_file_done(file);
    free(file);
  }
  vector_done(&list->files);
}

SORTED_BY(by_identity, struct kept_file,
          strcmp(a->name, b->name) ?: RISING(number) ?: RISING(bytes) ?: RISING(changed_ns) ?: RISING(is_growing))

SORTED_BY(by_identity_of_items, struct catalogue_file *const, by_identity(&(*a)->file, &(*b)->file))

// The known file in this state, or NULL. `known` is in the order of by_identity.
static struct catalogue_file *find(const struct catalogue_list *known, const struct kept_file *file)
{
  struct catalogue_file wanted = {.file = *file}, *key = &wanted;
  struct catalogue_file **found = known->files.count == 0 ? NULL
                                                          : bsearch(&key, known->files.items, known->files.count,
                                                                    sizeof *known->files.items, by_identity_of_items);
  return found != NULL ? *found : NULL;
}

// Replaces what is known. Locked.
static void refresh(struct catalogue *catalogue, const struct kept_files *files, const char *path,
                    struct catalogue_list *ret_list)
{
  struct catalogue_list next = {0};
  for (size_t i = 0; i < files->list.count; i++) {
    struct catalogue_file *file = find(&catalogue->known, &files->list.items[i]);
    if (file != NULL)
      __atomic_add_fetch(&file->owners, 1, __ATOMIC_RELAXED);
    else
      file = read_file(&files->list.items[i], path);
    *vector_add(&next.files) = file;
    *vector_add(&ret_list->files) = file;
    __atomic_add_fetch(&file->owners, 1, __ATOMIC_RELAXED);
  }
  vector_sort(&next.files, by_identity_of_items);
  catalogue_release(&catalogue->known);
  catalogue->known = next;
}

enum status catalogue_take(struct catalogue *catalogue, int folder, const char *path, struct catalogue_list *ret_list,
                           struct error *err)
{
  struct kept_files files;
  *ret_list = (struct catalogue_list){0};
  XSP_TRY(kept_list(folder, &files, err));
  SCOPED_LOCK(&catalogue->lock);
  refresh(catalogue, &files, path, ret_list);
  vector_done(&files.list);
  return STATUS_OK;
}
