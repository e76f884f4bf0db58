// SPDX-License-Identifier: Apache-2.0
// Loads the experiments of all files, has a table answered about them, and leaves out files that turn out to be broken.
// Called by analyses.c.
#include "analyze/experiments.h"
#include "analyze/models/survey_systems.h"
#include "base/buf.h"

#include <string.h>

// ---- experiments ----------------------------------------------------------------------------------------------------
// The model's name in a path: without folders and without the ending of its format. Command lines (of `xsp run`) have none.
static const char *name_of_path(const char *path, struct arena *arena)
{
  static const char *const endings[] = {"-symbol.json", ".onnx", ".ort", ".pb", ".xml", ".tflite", ".py"};
  size_t end = strlen(path);
  while (end > 1 && path[end - 1] == '/')
    end--;
  size_t start = end;
  while (start > 0 && path[start - 1] != '/')
    start--;
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    size_t length = strlen(endings[i]);
    if (end - start > length && strncmp(path + end - length, endings[i], length) == 0)
      return arena_copy(arena, path + start, end - start - length);
  }
  return arena_copy(arena, path + start, end - start);
}

static enum status load_item(struct survey *survey, const struct experiment_runs *of, struct error *err)
{
  struct survey_item *item = &survey->items[survey->count++];
  const struct store_experiment *experiment = of->experiment;
  struct store_system_value *values;
  *item = (struct survey_item){.of = *of};
  XSP_TRY(store_system(of->store, experiment->system_id, survey->arena, &values, &item->system_count, err));
  item->system = values;
  XSP_TRY(store_workload(of->store, experiment->experiment_id, survey->arena, &values, &item->workload_count, err));
  item->workload = values;
  XSP_TRY(store_evaluation(of->store, experiment->experiment_id, survey->arena, &values, &item->evaluation_count, err));
  item->evaluation = values;
  const struct store_system_value *name = survey_workload(item, "model_name");
  if (name != NULL && !name->is_number && name->text != NULL && name->text[0] != 0) {
    item->model_name = name->text; // spaces and all
    return STATUS_OK;
  }
  if (experiment->workload != NULL && experiment->workload[0] != 0)
    item->model_name = name_of_path(experiment->workload, survey->arena);
  if (item->model_name == NULL || strchr(item->model_name, ' ') != NULL)
    item->model_name = experiment->name != NULL && experiment->name[0] != 0 ? experiment->name : of->name;
  return STATUS_OK;
}

static enum status load_items(struct survey *survey, struct error *err)
{
  struct experiment_runs *experiments;
  size_t count;
  XSP_TRY(
      experiments_list(survey->stores, survey->store_count, survey->arena, &experiments, &count, &survey->broken, err));
  survey->items = arena_alloc_array(survey->arena, count, sizeof *survey->items);
  for (size_t i = 0; i < count; i++) {
    survey->broken = experiments[i].store; // if loading fails
    XSP_TRY(load_item(survey, &experiments[i], err));
  }
  survey->broken = NULL;
  survey_systems_name(survey);
  return STATUS_OK;
}

static void write_notes(struct survey *survey)
{
  for (size_t i = 0; i < survey->note_count; i++) {
    const struct survey_note *note = &survey->notes[i];
    struct buf names SCOPED(buf_done) = {0};
    for (size_t k = 0; k < note->count && k < SURVEY_NAMES_MOST; k++) {
      const struct store_experiment *experiment = note->items[k]->of.experiment;
      buf_format(&names, "%s%s", k > 0 ? ", " : "", note->items[k]->model_name);
      if (experiment->framework != NULL)
        buf_format(&names, " (%s)", experiment->framework);
    }
    if (note->count > SURVEY_NAMES_MOST)
      buf_format(&names, " and %zu more", note->count - SURVEY_NAMES_MOST);
    if (note->count == survey->count && survey->count > 1)
      table_note(&survey->table, "%s: all of them", note->text);
    else
      table_note(&survey->table, "%s: %s", note->text, names.data != NULL ? names.data : "");
  }
}

// ---- the answer -----------------------------------------------------------------------------------------------------
static void finish(struct survey *survey, struct table *ret_table)
{
  write_notes(survey);
  analyze_note_above_100(&survey->table);
  *ret_table = (struct table){
      .id = survey->analysis->id,
      .title = survey->analysis->title,
      .observations = survey->observations,
      .statistic = question_statistic_name(survey->request),
  };
  table_answer(&survey->table, ret_table);
}

// On STATUS_INPUT survey->broken is the broken store.
static enum status answer_once(struct survey *survey, struct table *ret_table, struct error *err)
{
  table_start(&survey->table, survey->arena);
  XSP_TRY(load_items(survey, err));
  enum status status = survey->analysis->answer_all(survey, err);
  survey_next(survey);
  if (status == STATUS_OK)
    finish(survey, ret_table);
  return status;
}

struct left_out { // files that broke while they were read
  const char **texts;
  size_t count;
  struct error first;
};

static void leave_out(struct left_out *left_out, struct store **stores, size_t *store_count, const struct store *broken,
                      const struct error *why, struct arena *arena)
{
  size_t kept = 0;
  for (size_t i = 0; i < *store_count; i++)
    if (stores[i] != broken)
      stores[kept++] = stores[i];
  *store_count = kept;
  if (left_out->count == 0)
    left_out->first = *why;
  char *text = arena_format(arena, "%s: %s", store_path(broken), why->why);
  left_out->texts[left_out->count++] = text;
}

enum status survey_run(const struct analysis *analysis, struct store *const *stores, size_t store_count,
                       const struct analyze_request *request, struct arena *arena, struct table **ret_tables,
                       size_t *ret_count, struct error *err)
{
  struct statistic unused;
  XSP_TRY(question_statistic_check(request, &unused, err));
  struct left_out left_out = {.texts = arena_alloc_array(arena, store_count + 1, sizeof *left_out.texts)};
  struct store **kept = arena_alloc_array(arena, store_count + 1, sizeof *kept);
  struct table *table = arena_alloc(arena, sizeof *table);
  for (size_t i = 0; i < store_count; i++)
    kept[i] = stores[i];
  for (;;) { // once more without each file that turns out to be broken: rows are in no table that it is not all of
    struct error why = {0};
    struct survey survey = {
        .analysis = analysis, .request = request, .arena = arena, .stores = kept, .store_count = store_count};
    enum status status = answer_once(&survey, table, &why);
    if (status == STATUS_OK)
      break;
    if (status == STATUS_INPUT && survey.broken != NULL)
      leave_out(&left_out, kept, &store_count, survey.broken, &why, arena);
    if (status == STATUS_INPUT && survey.broken != NULL && store_count > 0)
      continue;
    if (err != NULL)
      *err = status == STATUS_INPUT && left_out.count > 0 ? left_out.first : why;
    return status;
  }
  table->left_out = left_out.texts;
  table->left_out_count = left_out.count;
  *ret_tables = table;
  *ret_count = 1;
  return STATUS_OK;
}
