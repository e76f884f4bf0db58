// SPDX-License-Identifier: Apache-2.0
// The life of the model: what is known of runs and experiments only when the whole file has been read.
#include "importers/otlp/join.h"

#include <string.h>

static enum status take_scope(void *context, struct slice name, struct error *err)
{
  struct otlp_model *model = context;
  (void)err;
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

void import_otlp_model_finish(struct otlp_model *model)
{
  size_t absent = 0;
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
