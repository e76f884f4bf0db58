// SPDX-License-Identifier: Apache-2.0
// Asks a table's questions of every experiment and gathers what they answer into one table. Called by analyze.c.
#include "analyze/models/survey.h"

#include "analyze/cache.h"
#include "analyze/experiment_names.h"
#include "analyze/models/survey_systems.h"
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

#define CACHE_BYTES_MOST ((size_t)512 << 20) // of one experiment's rows, while it is asked
#define NAMES_MOST 8                         // that a note lists

struct survey_note { // a note and whom it concerns
  const char *text;
  const struct survey_item *items[NAMES_MOST];
  size_t count;
  const struct survey_item *last;
};

// ---- asking ----------------------------------------------------------------------------------------------------------
enum status survey_ask(struct survey *survey, const struct survey_item *item, const struct analysis *analysis,
                       int64_t batch, bool computing_only, struct table *ret_table, bool *ret_has, struct error *err)
{
  struct error why = {0};
  struct analyze_request request = *survey->request;
  if (survey->cache == NULL && (survey->cache = analyze_cache_new(CACHE_BYTES_MOST)) == NULL)
    return question_no_memory(err);
  request.batch = batch;
  request.computing_only = computing_only;
  request.by = NULL;
  request.cache = survey->cache;
  *ret_table = (struct table){0};
  enum status status = question_one(analysis, &item->of, &request, &survey->asked, ret_table, &why);
  *ret_has = status == STATUS_OK;
  if (status == STATUS_OK || status == STATUS_NO)
    return STATUS_OK;
  survey->broken = status == STATUS_INPUT ? item->of.store : NULL;
  if (err != NULL)
    *err = why;
  return status;
}

void survey_next(struct survey *survey)
{
  analyze_cache_free(survey->cache);
  survey->cache = NULL;
  arena_done(&survey->asked);
}

static struct table_cell keep(struct survey *survey, struct table_cell cell)
{
  if (cell.type == CELL_TEXT) {
    cell.value.text = arena_copy(survey->arena, cell.value.text, strlen(cell.value.text));
    survey->table.failed |= cell.value.text == NULL;
    cell.type = cell.value.text == NULL ? CELL_NULL : CELL_TEXT;
  }
  return cell;
}

struct table_cell survey_cell(struct survey *survey, const struct table *table, size_t row, const char *key)
{
  for (size_t i = 0; row < table->row_count && i < table->column_count; i++)
    if (strcmp(table->columns[i].key, key) == 0)
      return keep(survey, table->rows[row * table->column_count + i]);
  return (struct table_cell){0};
}

struct table_cell survey_summary(struct survey *survey, const struct table *table, const char *key)
{
  for (size_t i = 0; i < table->summary_count; i++)
    if (strcmp(table->summary[i].key, key) == 0)
      return keep(survey, table->summary[i].value);
  return (struct table_cell){0};
}

// ---- notes -----------------------------------------------------------------------------------------------------------
void survey_note(struct survey *survey, const struct survey_item *item, const char *text)
{
  size_t at = 0;
  while (at < survey->note_count && strcmp(survey->notes[at].text, text) != 0)
    at++;
  if (at == survey->note_count) {
    struct survey_note *notes = arena_alloc_array(survey->arena, survey->note_count + 1, sizeof *notes);
    if (notes == NULL || (text = arena_copy(survey->arena, text, strlen(text))) == NULL) {
      survey->table.failed = true;
      return;
    }
    if (survey->note_count > 0)
      memcpy(notes, survey->notes, survey->note_count * sizeof *notes);
    notes[survey->note_count++] = (struct survey_note){.text = text};
    survey->notes = notes;
  }
  struct survey_note *note = &survey->notes[at];
  if (note->last == item)
    return;
  if (note->count < NAMES_MOST)
    note->items[note->count] = item;
  note->count++;
  note->last = item;
}

static void write_notes(struct survey *survey)
{
  for (size_t i = 0; i < survey->note_count; i++) {
    const struct survey_note *note = &survey->notes[i];
    struct buf names;
    buf_init(&names, BUF_MAXIMUM_DEFAULT);
    for (size_t k = 0; k < note->count && k < NAMES_MOST; k++) {
      const struct store_experiment *experiment = note->items[k]->of.experiment;
      buf_format(&names, "%s%s", k > 0 ? ", " : "", note->items[k]->model_name);
      if (experiment->framework != NULL)
        buf_format(&names, " (%s)", experiment->framework);
    }
    if (note->count > NAMES_MOST)
      buf_format(&names, " and %zu more", note->count - NAMES_MOST);
    survey->table.failed |= names.failed;
    if (note->count == survey->count && survey->count > 1)
      table_note(&survey->table, "%s: all of them", note->text);
    else
      table_note(&survey->table, "%s: %s", note->text, names.data != NULL ? names.data : "");
    buf_done(&names);
  }
}

// ---- experiments -----------------------------------------------------------------------------------------------------
const struct store_system_value *survey_workload(const struct survey_item *item, const char *key)
{
  for (size_t i = 0; i < item->workload_count; i++)
    if (strcmp(item->workload[i].key, key) == 0)
      return &item->workload[i];
  return NULL;
}

struct table_cell survey_workload_cell(struct survey *survey, const struct survey_item *item, const char *key)
{
  const struct store_system_value *value = survey_workload(item, key);
  if (value == NULL)
    return (struct table_cell){0};
  return value->is_number ? cell_number(value->number) : keep(survey, cell_text(value->text));
}

// What a path to a model calls it: without folders, and without the ending that says what kind of file it is. A command
// line (of `xsp run`) calls nothing.
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

static enum status load_item(struct survey *survey, const struct experiment_runs *of, const char *experiment_name,
                             struct error *err)
{
  struct survey_item *item = &survey->items[survey->count++];
  const struct store_experiment *experiment = of->experiment;
  struct store_system_value *values;
  *item = (struct survey_item){.of = *of};
  XSP_TRY(store_system(of->store, experiment->system_id, survey->arena, &values, &item->system_count, err));
  item->system = values;
  XSP_TRY(store_workload(of->store, experiment->experiment_id, survey->arena, &values, &item->workload_count, err));
  item->workload = values;
  const struct store_system_value *name = survey_workload(item, "model_name");
  if (name != NULL && !name->is_number && name->text != NULL && name->text[0] != 0) {
    item->model_name = name->text; // spaces and all
    return STATUS_OK;
  }
  if (experiment->workload != NULL && experiment->workload[0] != 0)
    item->model_name = name_of_path(experiment->workload, survey->arena);
  if (item->model_name == NULL || strchr(item->model_name, ' ') != NULL)
    item->model_name = experiment->name != NULL && experiment->name[0] != 0 ? experiment->name : experiment_name;
  return item->model_name == NULL ? question_no_memory(err) : STATUS_OK;
}

static enum status load_items(struct survey *survey, struct store *const *stores, size_t store_count, struct error *err)
{
  for (size_t i = 0; i < store_count; i++) {
    struct store_experiment *experiments;
    struct store_run *runs;
    size_t experiment_count, run_count;
    survey->broken = stores[i]; // if anything fails here
    XSP_TRY(store_experiments(stores[i], survey->arena, &experiments, &experiment_count, err));
    XSP_TRY(store_runs(stores[i], survey->arena, &runs, &run_count, err));
    struct survey_item *items = arena_alloc_array(survey->arena, survey->count + experiment_count + 1, sizeof *items);
    const char **names = experiment_names(experiments, experiment_count, survey->arena);
    if (items == NULL || names == NULL)
      return question_no_memory(err);
    if (survey->count > 0)
      memcpy(items, survey->items, survey->count * sizeof *items);
    survey->items = items;
    for (size_t k = 0; k < experiment_count; k++) {
      const struct experiment_runs of = {stores[i], &experiments[k], runs, run_count};
      XSP_TRY(load_item(survey, &of, names[k], err));
    }
  }
  survey->broken = NULL;
  if (survey->count == 0)
    return error_set(err, STATUS_NO, "cannot analyze", store_count > 0 ? store_path(stores[0]) : NULL, NULL,
                     "there is no experiment in it");
  return survey_systems_name(survey) ? STATUS_OK : question_no_memory(err);
}

// ---- the answer ------------------------------------------------------------------------------------------------------
static enum status finish(struct survey *survey, struct table *ret_table, struct error *err)
{
  write_notes(survey);
  const struct table_builder *table = &survey->table;
  if (table->failed)
    return question_no_memory(err);
  *ret_table = (struct table){
      .id = survey->analysis->id,
      .title = survey->analysis->title,
      .observations = survey->observations,
      .statistic = question_statistic_name(survey->request),
  };
  table_answer(table, ret_table);
  return STATUS_OK;
}

// On STATUS_INPUT survey->broken is the store that it lies at.
static enum status answer_once(struct survey *survey, struct table *ret_table, struct error *err)
{
  table_start(&survey->table, survey->arena);
  XSP_TRY(load_items(survey, survey->stores, survey->store_count, err));
  enum status status = survey->analysis->answer_all(survey, err);
  survey_next(survey);
  return status != STATUS_OK ? status : finish(survey, ret_table, err);
}

enum status survey_table(struct survey *survey, const struct analysis *analysis, struct table *ret_table,
                         struct error *err)
{
  struct survey other = {.analysis = analysis,
                         .request = survey->request,
                         .arena = survey->arena,
                         .stores = survey->stores,
                         .store_count = survey->store_count};
  enum status status = answer_once(&other, ret_table, err);
  survey->broken = other.broken;
  return status;
}

struct left_out { // files that broke while they were read
  const char **texts;
  size_t count;
  struct error first;
};

static enum status leave_out(struct left_out *left_out, struct store **stores, size_t *store_count,
                             const struct store *broken, const struct error *why, struct arena *arena,
                             struct error *err)
{
  size_t kept = 0;
  for (size_t i = 0; i < *store_count; i++)
    if (stores[i] != broken)
      stores[kept++] = stores[i];
  *store_count = kept;
  if (left_out->count == 0)
    left_out->first = *why;
  char *text = arena_format(arena, "%s: %s", store_path(broken), why->why);
  if (text == NULL)
    return question_no_memory(err);
  left_out->texts[left_out->count++] = text;
  return STATUS_OK;
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
  if (left_out.texts == NULL || kept == NULL || table == NULL)
    return question_no_memory(err);
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
      XSP_TRY(leave_out(&left_out, kept, &store_count, survey.broken, &why, arena, err));
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

enum status survey_lacks(const struct survey *survey, struct error *err, const char *why)
{
  char what[64];
  snprintf(what, sizeof what, "cannot answer %s", survey->analysis->id);
  return error_set(err, STATUS_NO, what, survey->count == 1 ? store_path(survey->items[0].of.store) : NULL,
                   "xsp info FILE shows which runs it has", "%s", why);
}
