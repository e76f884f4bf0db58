// SPDX-License-Identifier: Apache-2.0
// Runs one analysis for every experiment of the stores and turns the answers into tables. Helpers that all analyses share.
#include "analyze/cache.h"
#include "analyze/experiments.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/sorted.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status question_lacks(const struct question *question, struct error *err, const char *format, ...)
{
  char why[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  char what[64];
  snprintf(what, sizeof what, "cannot answer %s", question->analysis->id);
  return error_set(err, STATUS_NO, what, store_path(question->view->store), "xsp info FILE shows which runs it has",
                   "%s%s", question->request->cold ? "of first inferences (xsp profile --cold): " : "", why);
}

void question_uses(struct question *question, const struct view_set *set)
{
  for (size_t i = 0; i < question->used_count; i++)
    if (question->used[i] == set)
      return;
  question->used[question->used_count++] = set; // has room for every set of the view
  if (set->whole != NULL)
    table_note(
        &question->table,
        "figures are of %zu of %zu ranks, at even steps, so that they fit into memory: A21, A24 and A27 have all of "
        "them",
        set->run_count, set->whole->run_count);
}

static void write_note_from(struct question *question, const struct note_from *noted)
{
  const char *const *levels = noted->levels;
  const char *text = arena_format(question->arena,
                                  "%s%s%s%s%s latencies come from runs at %s: the overhead of the deeper levels is "
                                  "included",
                                  levels[0], noted->level_count > 2 ? ", " : "",
                                  noted->level_count > 2 ? levels[1] : "", noted->level_count > 1 ? " and " : "",
                                  noted->level_count > 1 ? levels[noted->level_count - 1] : "", noted->from);
  question->table.notes[noted->note] = text;
  question->table.noted |= TABLE_NOTED_SETS;
}

void question_note_from(struct question *question, const char *level, const char *from)
{
  struct table_builder *table = &question->table;
  size_t at = 0;
  if (from == NULL)
    return;
  while (at < question->noted_count && strcmp(question->noted[at].from, from) != 0)
    at++;
  if (at == sizeof question->noted / sizeof question->noted[0])
    return; // there are at most as many sets as deepest levels
  struct note_from *noted = &question->noted[at];
  if (at == question->noted_count) {
    size_t before = table->note_count;
    table_note(table, "%s", from); // its text follows
    if (table->note_count == before)
      return;
    *noted = (struct note_from){.from = from, .note = before};
    question->noted_count++;
  }
  for (size_t i = 0; i < noted->level_count; i++)
    if (strcmp(noted->levels[i], level) == 0)
      return;
  if (noted->level_count == sizeof noted->levels / sizeof noted->levels[0])
    return;
  noted->levels[noted->level_count++] = level;
  write_note_from(question, noted);
}

double question_statistic(const struct question *question, const double *values, size_t count)
{
  double few[64];
  double *known = count <= 64 ? few : memory_new(count, sizeof *known);
  size_t known_count = 0;
  for (size_t i = 0; i < count; i++)
    if (!isnan(values[i]))
      known[known_count++] = values[i];
  double result = statistic_apply(&question->statistic, known, known_count);
  if (known != few)
    free(known);
  return result;
}

bool question_is_by_value(const struct question *question)
{
  return !statistic_trims_observations(&question->statistic);
}

struct figure question_figure(struct question *question, const struct view_set *set, const double *values)
{
  struct figure figure = {.value = NAN, .occurring = question->room, .occurrence = NAN};
  double sum = 0;
  for (size_t i = 0; values != NULL && i < set->observation_count; i++) {
    if (isnan(values[i]))
      continue;
    question->room[figure.count++] = values[i];
    figure.present += set->is_kept[i];
    sum += set->is_kept[i] ? values[i] : 0;
  }
  if (figure.count == 0)
    return figure;
  figure.occurrence = figure.present > 0 ? sum / (double)figure.present : NAN;
  figure.value = question_is_by_value(question) ? question_statistic(question, question->room, figure.count)
                                                : sum / (double)set->kept_count;
  return figure;
}

double question_value(struct question *question, const struct view_set *set, const double *values)
{
  return question_figure(question, set, values).value;
}

struct figure question_model_figure(struct question *question, const struct view_set *set)
{
  struct figure figure = {.value = NAN, .occurrence = NAN};
  if (set != NULL)
    figure = question_figure(question, set, set->latencies_ms);
  figure.occurring = set == NULL ? NULL : set->latencies_ms; // outlives the next figure
  return figure;
}

double question_model_latency(struct question *question, const struct view_set *set)
{
  return question_model_figure(question, set).value;
}

double *analyze_unknowns(struct arena *arena, size_t count)
{
  double *values = arena_alloc_array(arena, count + 1, sizeof *values);
  for (size_t i = 0; i < count; i++)
    values[i] = NAN;
  return values;
}

double analyze_share_pct(double part, double whole)
{
  return whole > 0 ? part / whole * 100 : NAN;
}

double analyze_difference_of_runs_ms(double a_ms, double b_ms)
{
  double difference = a_ms - b_ms;
  return fabs(difference) < 0.5e-6 ? 0 : difference < 0 ? NAN : difference;
}

double question_difference_ms(struct question *question, double a_ms, double b_ms, const char *what)
{
  double difference = analyze_difference_of_runs_ms(a_ms, b_ms);
  if (isnan(difference) && a_ms < b_ms)
    table_note(&question->table, "%s: the difference is negative (%.6g ms), within noise or not comparable; not given",
               what, a_ms - b_ms);
  return difference;
}

// ---- from a question to a table -------------------------------------------------------------------------------------
static bool pools_batches(const struct question *question)
{
  for (size_t i = 0; i < question->used_count; i++)
    for (size_t k = 0; k < question->used[i]->run_count; k++)
      if (question->used[i]->runs[k]->has_several_batches)
        return true;
  return false;
}

// How many ranks of a job the runs of the answer are of; 0: of none.
static size_t count_ranks(const struct question *question)
{
  struct map ranks SCOPED(map_done) = {0};
  for (size_t i = 0; i < question->used_count; i++)
    for (size_t k = 0; k < question->used[i]->run_count; k++) {
      struct store_track *tracks;
      size_t count;
      if (store_tracks(question->view->store, question->used[i]->runs[k]->run->run_id, question->scratch, &tracks,
                       &count,
                       NULL) != STATUS_OK) // who reads them next reports what is broken
        continue;
      for (size_t track = 0; track < count; track++)
        if (tracks[track].rank.world_size > 0)
          (void)map_at(&ranks, map_number((uint64_t)tracks[track].rank.rank), NULL);
    }
  return ranks.count;
}

static void note_batches(struct question *question)
{
  size_t ranks = count_ranks(question);
  if (ranks > 1)
    table_note(&question->table,
               "steps of all %zu ranks are together, and their batch sizes differ: A21 has each rank by itself", ranks);
  else
    table_note(&question->table,
               "observations of different batch sizes are pooled: the batch size, and throughput, are not known");
}

const char *question_statistic_name(const struct analyze_request *request)
{
  const char *statistic = request->statistic;
  return statistic == NULL || strcmp(statistic, "trimmed") == 0 ? "trimmed:0.2" : statistic;
}

static void finish(struct question *question, struct table *ret_table)
{
  struct table_builder *table = &question->table;
  struct arena *arena = question->arena;
  size_t runs = 0;
  int64_t observations = 0;
  bool is_one_level_set = question->used_count > 0;
  for (size_t i = 0; i < question->used_count; i++) {
    runs += question->used[i]->run_count;
    observations += (int64_t)question->used[i]->observation_count;
    is_one_level_set = is_one_level_set && level_set_equal(question->used[i]->levels, question->used[0]->levels);
  }
  if (pools_batches(question))
    note_batches(question);
  analyze_note_above_100(table);
  int64_t *run_ids = arena_alloc_array(arena, runs + 1, sizeof *run_ids);
  size_t at = 0;
  for (size_t i = 0; i < question->used_count; i++)
    for (size_t k = 0; k < question->used[i]->run_count; k++)
      run_ids[at++] = question->used[i]->runs[k]->run->run_id;
  *ret_table = (struct table){
      .id = question->analysis->id,
      .title = question->analysis->title,
      .batch_size = question->has_several_batches ? 0 : question->batch_size,
      .levels = is_one_level_set ? question->used[0]->levels_text : NULL,
      .run_ids = run_ids,
      .run_count = runs,
      .observations = observations,
      .statistic = question_statistic_name(question->request),
  };
  table_answer(table, ret_table);
}

struct answers {
  struct table *tables;
  size_t count;
  struct error first_lack; // of the first experiment that could not be answered
  const char *lacking;     // its name
};

enum status question_statistic_check(const struct analyze_request *request, struct statistic *ret_statistic,
                                     struct error *err)
{
  if (statistic_parse(request->statistic, ret_statistic))
    return STATUS_OK;
  return error_set(err, STATUS_USE, "cannot read the statistic", request->statistic, "--stat median",
                   "known are mean, median, min, max, pNN (0 to 100), trimmed:F and trimmed-each:F (F below 0.5)");
}

struct ranked {
  double latency_ms;
  size_t observation;
};

SORTED_BY(compare_ranked, struct ranked, RISING(latency_ms) ?: RISING(observation))

void question_choose_observations(struct question *question, struct view_set *set)
{
  size_t count = set->observation_count;
  size_t cut = question_is_by_value(question) ? 0 : statistic_cut(&question->statistic, count);
  struct ranked *ranked = arena_alloc_array(question->scratch, count + 1, sizeof *ranked);
  for (size_t i = 0; i < count; i++)
    ranked[i] = (struct ranked){set->latencies_ms[i], i};
  qsort(ranked, count, sizeof *ranked, compare_ranked);
  set->is_kept = arena_alloc_array(question->scratch, count + 1, sizeof *set->is_kept);
  set->kept_count = count - 2 * cut;
  for (size_t i = cut; i < count - cut; i++)
    set->is_kept[ranked[i].observation] = true;
}

enum status question_start(struct question *question, const struct analysis *analysis,
                           const struct analyze_request *request, struct view *view, struct arena *arena,
                           struct arena *scratch, struct error *err)
{
  *question =
      (struct question){.analysis = analysis, .request = request, .view = view, .arena = arena, .scratch = scratch};
  question->shared = analyze_cache_shared(request, scratch);
  question->used = arena_alloc_array(arena, view->set_count + 1, sizeof *question->used);
  table_start(&question->table, arena);
  XSP_TRY(question_statistic_check(request, &question->statistic, err));
  size_t most = 0;
  for (size_t i = 0; i < view->set_count; i++) {
    question_choose_observations(question, &view->sets[i]);
    most = view->sets[i].observation_count > most ? view->sets[i].observation_count : most;
  }
  question->room = arena_alloc_array(scratch, most + 1, sizeof *question->room);
  for (size_t i = 0; i < view->run_count; i++)
    if (view->runs[i].calls_are_kernels) {
      table_note(
          &question->table,
          "kernels are the calls of the library level (--kernel-level library), without those that could be in two");
      break;
    }
  return STATUS_OK;
}

static enum status answer_one(const struct analysis *analysis, const struct experiment_runs *of,
                              const struct analyze_request *request, struct arena *arena, struct table *ret_table,
                              struct error *err)
{
  struct arena scratch SCOPED(arena_done) = {0};
  struct question question;
  struct view *view;
  analyze_cache_next_question(request->cache);
  struct view_choice choice = view_choice_of(request);
  if (analysis->is_of_program && choice.signature == NULL)
    choice.signature = VIEW_ALL_KINDS;
  XSP_TRY(analyze_cache_view(request->cache, of, &choice, arena, &view, err));
  XSP_TRY(question_start(&question, analysis, request, view, arena, &scratch, err));
  enum status status =
      store_is_folded(view->store) && !analysis->takes_folded
          ? question_lacks(&question, err,
                           "it has the calling context tree (A17) instead of spans: xsp run --aggregate")
          : analysis->answer(&question, err);
  if (status == STATUS_OK)
    finish(&question, ret_table);
  return status;
}

static enum status ask(const struct analysis *analysis, const struct experiment_runs *of,
                       const struct analyze_request *request, struct arena *arena, struct answers *answers,
                       struct error *err)
{
  struct error why = {0};
  struct table *table = &answers->tables[answers->count];
  enum status status = answer_one(analysis, of, request, arena, table, &why);
  if (status == STATUS_NO) {
    if (answers->lacking == NULL) {
      answers->first_lack = why;
      answers->lacking = of->name;
    }
    return STATUS_OK;
  }
  if (status != STATUS_OK) {
    if (err != NULL)
      *err = why;
    return status;
  }
  table->experiment = of->name;
  answers->count++;
  return STATUS_OK;
}

enum status question_each(const struct analysis *analysis, struct store *const *stores, size_t store_count,
                          const struct analyze_request *request, struct arena *arena, struct table **ret_tables,
                          size_t *ret_count, struct error *err)
{
  struct answers answers = {0};
  struct statistic unused;
  XSP_TRY(question_statistic_check(request, &unused, err));
  struct experiment_runs *experiments;
  size_t count;
  XSP_TRY(analyze_cache_experiments(request->cache, stores, store_count, arena, &experiments, &count, err));
  answers.tables = arena_alloc_array(arena, count, sizeof *answers.tables);
  for (size_t i = 0; i < count; i++)
    XSP_TRY(ask(analysis, &experiments[i], request, arena, &answers, err));
  if (answers.count == 0) {
    if (err != NULL)
      *err = answers.first_lack;
    return STATUS_NO;
  }
  if (answers.lacking != NULL) {
    answers.tables[0].lacking = arena_format(arena, "%s is left out: %s", answers.lacking, answers.first_lack.why);
    table_append_note(&answers.tables[0], answers.tables[0].lacking, arena);
  }
  if (count == 1)
    answers.tables[0].experiment = NULL;
  *ret_tables = answers.tables;
  *ret_count = answers.count;
  return STATUS_OK;
}
