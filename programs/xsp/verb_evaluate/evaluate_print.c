// SPDX-License-Identifier: Apache-2.0
// The tables of an evaluation; see evaluate.h.
#include "programs/xsp/verb_evaluate/evaluate.h"

#include "analyze/analyze.h"
#include "programs/xsp/output.h"
#include "table/builder.h"

#define SHIFT_LEAST 10 // labelled inputs: fewer may be next to each other by chance

static void put_model(struct table_builder *table, const struct evaluation_options *options,
                      const struct evaluation *evaluation, size_t number)
{
  const struct evaluation_result *result = &evaluation->results[number];
  table_row(table);
  table_put(table, "model", cell_text(options->models[number].profile.name));
  table_put(table, "framework", cell_text(result->found.framework));
  table_put(table, "framework_version", cell_text(result->found.framework_version));
  evaluation_put_figures(table, options, evaluation, number);
}

// A class that the model does not have counts as never found.
static void put_lacking_categories(struct table_builder *table, const struct data_set *set,
                                   const struct evaluation_model *model, const struct evaluation_result *result)
{
  size_t lacking = 0;
  for (size_t i = 0; output_form_has_boxes(model->kind) && i < result->accuracy.class_count; i++)
    lacking += result->accuracy.classes[i].place == DATA_NO_CLASS;
  if (lacking > 0)
    table_note(table, "%s: %zu of %zu categories of %s are not classes of the model", model->profile.name, lacking,
               result->accuracy.class_count, set->path);
}

// A folder's pictures are in the order of their labels: the first ones may have the same.
static void put_limit(struct table_builder *table, const struct evaluation_options *options,
                      const struct evaluation *evaluation)
{
  size_t count = evaluation->results[0].item_count, found = data_set_labels_among(options->set, count);
  if (options->models[0].kind == OUTPUT_SCORES && options->limit > 0 && count > 0 && found < options->set->label_count)
    table_note(table, "the first %zu inputs (--limit) have %zu of the %zu labels of %s: the accuracy is of these",
               count, found, options->set->label_count, options->set->path);
}

// As where a model has a class for the background, and the labels have none, or begin at 1.
static void put_shift(struct table_builder *table, const char *name, const struct evaluation_result *result)
{
  bool is_after = result->one_after > result->one_before;
  size_t shifted = is_after ? result->one_after : result->one_before;
  if (result->labelled >= SHIFT_LEAST && 2 * shifted > result->labelled)
    table_note(table,
               "%s: the best class is the one %s the label's in %zu of %zu inputs: are the labels shifted by one?",
               name, is_after ? "after" : "before", shifted, result->labelled);
}

static void put_notes(struct table_builder *table, const struct evaluation_options *options,
                      const struct evaluation *evaluation)
{
  const struct data_set *set = options->set;
  if (set->left_out > 0)
    table_note(table, "%zu files of %s are not pictures by their names and were left out", set->left_out, set->path);
  if (set->unreadable > 0)
    table_note(table, EVALUATION_UNREADABLE, set->unreadable);
  put_limit(table, options, evaluation);
  for (size_t i = 0; i < options->model_count; i++) {
    const struct evaluation_result *result = &evaluation->results[i];
    const char *name = options->models[i].profile.name;
    if (result->item_count == 0)
      table_note(table, "%s was not evaluated", name);
    else if (result->resolution == DATA_BY_ORDER && options->models[i].kind == OUTPUT_SCORES)
      table_note(table, "%s: %s: they are taken for the classes in their order by name", name,
                 options->models[i].labels != NULL ? "none of the labels is one of the model's"
                                                   : "labels have no places of their own");
    else if (result->labelled < result->item_count)
      table_note(table, "%s: %zu of %zu inputs have no label%s", name, result->item_count - result->labelled,
                 result->item_count,
                 options->models[i].kind == OUTPUT_SCORES ? ", or one that is not a class of the model" : "");
    put_shift(table, name, result);
    put_lacking_categories(table, set, &options->models[i], result);
    if (result->accuracy.unknown_tokens > 0)
      table_note(table, "%s: %zu tokens are beyond the %zu lines of its vocabulary, and in no text", name,
                 result->accuracy.unknown_tokens, options->models[i].label_count);
    if (options->models[i].kind == OUTPUT_INSTANCES && set->has_boxes && !set->has_masks)
      table_note(table, "%s: not all annotations of %s have a segmentation: masks are not rated", name, set->path);
    if (options->precision_pct > 0 && result->item_count > 0)
      table_note(table, "%s: %u inferences%s", name, result->inferences,
                 result->reach_pct <= options->precision_pct ? ""
                 : result->inferences >= options->runs_most  ? ": --max-runs ended before the precision"
                                                             : ": ended before the precision");
  }
  if (evaluation->was_interrupted)
    table_note(table, "interrupted: the evaluation ended early");
}

static void models_table(const struct evaluation_options *options, const struct evaluation *evaluation,
                         struct arena *arena, struct table *ret_table)
{
  struct table_builder table;
  table_start(&table, arena);
  for (size_t i = 0; i < options->model_count; i++)
    put_model(&table, options, evaluation, i);
  put_notes(&table, options, evaluation);
  *ret_table = (struct table){.id = "evaluation", .title = "accuracy and times", .batch_size = options->batch};
  table_answer(&table, ret_table);
}

// ---- scenarios -------------------------------------------------------------------------------------------------------
static void scenarios_table(const struct evaluation_options *options, const struct evaluation *evaluation,
                            struct arena *arena, struct table *ret_table)
{
  struct table_builder table;
  table_start(&table, arena);
  for (size_t i = 0; i < options->model_count; i++)
    for (size_t k = 0; k < options->scenario_count; k++) {
      const struct scenario_result *result = &evaluation->results[i].scenarios[k];
      if (result->run_id == 0)
        continue;
      table_row(&table);
      table_put(&table, "model", cell_text(options->models[i].profile.name));
      table_put(&table, "framework", cell_text(evaluation->results[i].found.framework));
      table_put(&table, "scenario", cell_text(scenario_name(options->scenarios[k].kind)));
      evaluation_put_scenario(&table, &options->scenarios[k], result);
    }
  *ret_table = (struct table){.id = "scenarios", .title = "latency and throughput as queries arrive"};
  table_answer(&table, ret_table);
}

enum status evaluate_print(const struct evaluation_options *options, const struct evaluation *evaluation,
                           bool with_items, enum report_format format, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct table *tables = arena_alloc_array(&arena, 3 + 2 * options->model_count, sizeof *tables);
  size_t count = 0;
  models_table(options, evaluation, &arena, &tables[count++]);
  if (evaluation_compares(options))
    evaluate_divergence(options, evaluation, &arena, &tables[count++]);
  if (options->scenario_count > 0)
    scenarios_table(options, evaluation, &arena, &tables[count++]);
  for (size_t i = 0; with_items && i < options->model_count; i++)
    if (evaluation->results[i].item_count > 0)
      count += evaluate_items(options, evaluation, i, &arena, &tables[count]);
  return output_tables(tables, count, format, with_items || count > 1, err);
}
