// SPDX-License-Identifier: Apache-2.0
// The life of the model: what is known of runs and experiments only when the whole file has been read.
#include "importers/otlp/join.h"

#include <string.h>

static enum status take_scope(void *context, struct slice name, struct error *err)
{
  struct otlp_model *model = context;
  model->scope_tracer = name.length > 0 ? import_slice(model->import, name) : model->tracer;
  return STATUS_OK;
}

void import_otlp_model_start(struct otlp_model *model, struct import *import)
{
  *model = (struct otlp_model){.import = import};
  model->visitor = (struct otlp_visitor){model, import_otlp_take_resource, take_scope, import_otlp_take_span};
  buf_init(&model->text, BUF_MAXIMUM_DEFAULT);
  model->category_api = import_word(import, "api");
  model->tracer = model->scope_tracer = import_word(import, "otlp"); // whichever way it came
  model->category_kernel = import_word(import, "kernel");
}

enum status import_otlp_head_is_late(const struct import *import, const char *what, struct error *err)
{
  return import_broken(import, err, input_offset(import->input, import->input->at),
                       "the %s comes after more than %d MiB of its spans", what, OTLP_LOOK_AHEAD_BYTES >> 20);
}

// ---- the file's end --------------------------------------------------------------------------------------------------
// Resources that say nothing of an experiment belong to that of the call, like the files of any other format.
static bool is_plain(const struct otlp_experiment *experiment)
{
  const struct store_experiment *row = &experiment->row;
  return !experiment->has_name && experiment->system_count == 0 && experiment->workload_count == 0 &&
         row->workload == NULL && row->command == NULL && row->xsp_version == NULL && row->created_ns == 0;
}

static void finish_experiments(struct otlp_model *model)
{
  for (size_t i = 0; i < model->all_experiments.count; i++) {
    struct otlp_experiment *experiment = model->all_experiments.items[i];
    if (!experiment->is_used)
      continue;
    if (is_plain(experiment)) {
      import_framework(model->import, experiment->row.framework, experiment->row.framework_version);
      continue;
    }
    if (!experiment->has_name)
      experiment->row.name = basename(model->import->input->path);
    experiment->experiment_id =
        import_experiment(model->import, &experiment->row, experiment->system, experiment->system_count);
    import_experiment_model(model->import, experiment->experiment_id, experiment->workload, experiment->workload_count);
  }
}

static struct map_key rank_key(const struct otlp_experiment *experiment, int64_t rank)
{
  return (struct map_key){(uintptr_t)experiment, (uint64_t)rank};
}

void import_otlp_add_rank(struct otlp_model *model, struct otlp_experiment *experiment, const struct store_rank *rank)
{
  bool is_new;
  if (rank->world_size < 2)
    return;
  experiment->world_size =
      experiment->world_size == 0 || experiment->world_size == rank->world_size ? rank->world_size : -1;
  (void)map_at(&model->ranks, rank_key(experiment, rank->rank), &is_new);
  if (is_new)
    *vector_add(&experiment->ranks) = rank->rank;
}

static bool may_be_equal(const char *one, const char *other) // NULL: unknown
{
  return one == NULL || other == NULL || strcmp(one, other) == 0;
}

// Names and commands of one job's hosts may differ: of its rank, of the file.
static bool may_be_one_job(const struct otlp_model *model, const struct otlp_experiment *job,
                           const struct otlp_experiment *more)
{
  bool is_one = job->is_used && job->world_size > 1 && job->world_size == more->world_size &&
                may_be_equal(job->row.framework, more->row.framework);
  for (size_t i = 0; is_one && i < more->ranks.count; i++)
    is_one = map_find(&model->ranks, rank_key(job, more->ranks.items[i])) == NULL;
  return is_one;
}

static void note_job(struct import *import, const struct otlp_experiment *job, const struct otlp_experiment *more)
{
  import_note(import,
              "\"%.200s\" and \"%.200s\" are taken as hosts of one job of %lld ranks, which has the facts of the first",
              job->has_name ? job->row.name : "an experiment", more->has_name ? more->row.name : "an experiment",
              (long long)job->world_size);
}

// A job on several hosts has a file of each. Experiments become one, the first, where their jobs have the same size and framework, and
// none of the ranks is in two of them.
static void join_ranks(struct otlp_model *model)
{
  struct otlp_experiment **all = model->all_experiments.items;
  for (size_t i = 1; i < model->all_experiments.count; i++) {
    size_t k = 0;
    while (k < i && !may_be_one_job(model, all[k], all[i]))
      k++;
    if (k == i)
      continue;
    for (size_t n = 0; n < all[i]->ranks.count; n++)
      (void)map_at(&model->ranks, rank_key(all[k], all[i]->ranks.items[n]), NULL);
    for (size_t n = 0; n < model->all_runs.count; n++)
      if (model->all_runs.items[n]->experiment == all[i])
        model->all_runs.items[n]->experiment = all[k];
    all[i]->is_used = false;
    note_job(model->import, all[k], all[i]);
  }
}

void import_otlp_model_finish(struct otlp_model *model)
{
  size_t absent = 0;
  join_ranks(model);
  finish_experiments(model);
  for (size_t i = 0; i < model->all_runs.count; i++) {
    struct otlp_run *run = model->all_runs.items[i];
    if (run->run_id == 0) // it joined another
      continue;
    run->row.experiment_id = run->experiment->experiment_id; // 0: that of the call
    if (run->row.levels.mask == 0)
      run->row.levels =
          (struct level_set){.mask = run->level_mask, .metrics = run->has_metric || run->row.levels.metrics};
    if (run->has_joined)
      run->row.levels.mask |= run->level_mask;
    import_use_run(model->import, run->run_id);
    import_run_set(model->import, &run->row);
    import_run_own_pct(model->import, run->own_pct);
    absent += run->ids.absent_count;
  }
  if (absent > 0)
    import_note(model->import, "%zu parent%s that spans name %s not in the file", absent, absent == 1 ? "" : "s",
                absent == 1 ? "is" : "are");
}

void import_otlp_model_done(struct otlp_model *model)
{
  import_otlp_join_free(model->join);
  for (size_t i = 0; i < model->all_runs.count; i++)
    otlp_ids_done(&model->all_runs.items[i]->ids);
  for (size_t i = 0; i < model->all_experiments.count; i++)
    vector_done(&model->all_experiments.items[i]->ranks);
  map_done(&model->ranks);
  interner_done(&model->resource_texts);
  interner_done(&model->experiment_texts);
  interner_done(&model->run_texts);
  interner_done(&model->track_texts);
  interner_done(&model->key_texts);
  interner_done(&model->note_texts);
  vector_done(&model->resources);
  vector_done(&model->experiments);
  vector_done(&model->runs);
  vector_done(&model->tracks);
  vector_done(&model->keys);
  vector_done(&model->all_runs);
  vector_done(&model->all_experiments);
  vector_done(&model->tags);
  buf_done(&model->text);
}
