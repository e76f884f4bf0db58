// SPDX-License-Identifier: Apache-2.0
// Questions of tables over many models about one experiment, and notes that name experiments.
#include "analyze/models/survey.h"

#include <stdio.h>
#include <string.h>

// ---- asking ---------------------------------------------------------------------------------------------------------
enum status survey_check(struct survey *survey, const struct survey_item *item, enum status status)
{
  if (status == STATUS_INPUT)
    survey->broken = item->of.store;
  return status;
}

enum status survey_question(struct survey *survey, const struct survey_item *item, int64_t batch, bool computing_only,
                            struct question **ret_question, struct error *err)
{
  struct analyze_request *request = arena_alloc(&survey->asked, sizeof *request);
  *request = *survey->request;
  request->batch = batch;
  request->computing_only = computing_only;
  request->by = NULL;
  request->cache = NULL;
  if (survey->view == NULL) {
    struct view_choice choice = view_choice_of(survey->request);
    choice.batch = 0; // a table has several
    survey->view = arena_alloc(&survey->asked, sizeof *survey->view);
    XSP_TRY(survey_check(survey, item, view_load(&item->of, &choice, &survey->asked, survey->view, err)));
  }
  *ret_question = arena_alloc(&survey->asked, sizeof **ret_question);
  return question_start(*ret_question, survey->analysis, request, survey->view, &survey->asked, &survey->asked, err);
}

void survey_next(struct survey *survey)
{
  arena_done(&survey->asked);
  survey->view = NULL;
}

const char *survey_text(struct survey *survey, const char *text)
{
  return text == NULL ? NULL : arena_copy(survey->arena, text, strlen(text));
}

// ---- notes ----------------------------------------------------------------------------------------------------------
void survey_note(struct survey *survey, const struct survey_item *item, const char *text)
{
  size_t at = 0;
  while (at < survey->note_count && strcmp(survey->notes[at].text, text) != 0)
    at++;
  if (at == survey->note_count) {
    struct survey_note *notes = arena_alloc_array(survey->arena, survey->note_count + 1, sizeof *notes);
    if (survey->note_count > 0)
      memcpy(notes, survey->notes, survey->note_count * sizeof *notes);
    notes[survey->note_count++] = (struct survey_note){.text = text};
    survey->notes = notes;
  }
  struct survey_note *note = &survey->notes[at];
  if (note->last == item)
    return;
  if (note->count < SURVEY_NAMES_MOST)
    note->items[note->count] = item;
  note->count++;
  note->last = item;
}

// ---- experiments ----------------------------------------------------------------------------------------------------
static const struct store_system_value *find_value(const struct store_system_value *values, size_t count,
                                                   const char *key)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp(values[i].key, key) == 0)
      return &values[i];
  return NULL;
}

const struct store_system_value *survey_workload(const struct survey_item *item, const char *key)
{
  return find_value(item->workload, item->workload_count, key);
}

const struct store_system_value *survey_evaluation(const struct survey_item *item, const char *key)
{
  return find_value(item->evaluation, item->evaluation_count, key);
}

struct table_cell survey_workload_cell(const struct survey_item *item, const char *key)
{
  const struct store_system_value *value = survey_workload(item, key);
  if (value == NULL)
    return (struct table_cell){0};
  return value->is_number ? cell_number(value->number) : cell_text(value->text);
}

enum status survey_lacks(const struct survey *survey, struct error *err, const char *why)
{
  char what[64];
  snprintf(what, sizeof what, "cannot answer %s", survey->analysis->id);
  return error_set(err, STATUS_NO, what, survey->count == 1 ? store_path(survey->items[0].of.store) : NULL,
                   "xsp info FILE shows which runs it has", "%s", why);
}
