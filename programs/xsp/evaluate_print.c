// SPDX-License-Identifier: Apache-2.0
// The tables of an evaluation; see evaluate.h.
#include "programs/xsp/evaluate.h"

#include "analyze/analyze.h"
#include "programs/xsp/output.h"
#include "table/builder.h"

#include <math.h>

static void put_model(struct table_builder *table, const struct evaluation_options *options,
                      const struct evaluation *evaluation, size_t number)
{
  const struct evaluation_result *result = &evaluation->results[number];
  table_row(table);
  table_put(table, "model", "", "model", cell_text(options->models[number].profile.name));
  table_put(table, "framework", "", "framework", cell_text(result->found.framework));
  table_put(table, "framework_version", "", "version", cell_text(result->found.framework_version));
  evaluation_put_figures(table, options, evaluation, number);
}

static void put_notes(struct table_builder *table, const struct evaluation_options *options,
                      const struct evaluation *evaluation)
{
  const struct data_set *set = options->set;
  if (set->left_out > 0)
    table_note(table, "%zu files of %s are not pictures by their names and were left out", set->left_out, set->path);
  for (size_t i = 0; i < options->model_count; i++) {
    const struct evaluation_result *result = &evaluation->results[i];
    const char *name = options->models[i].profile.name;
    if (result->item_count == 0)
      table_note(table, "%s was not evaluated", name);
    else if (result->resolution == DATA_BY_ORDER)
      table_note(table, "%s: labels have no places of their own: they are taken for the classes in their order by name",
                 name);
    else if (result->labelled < result->item_count)
      table_note(table, "%s: %zu of %zu inputs have no label, or one that is not a class of the model", name,
                 result->item_count - result->labelled, result->item_count);
  }
  if (evaluation->was_interrupted)
    table_note(table, "interrupted: not all inputs were evaluated");
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
      table_put(&table, "model", "", "model", cell_text(options->models[i].profile.name));
      table_put(&table, "scenario", "", "scenario", cell_text(scenario_name(options->scenarios[k].kind)));
      evaluation_put_scenario(&table, &options->scenarios[k], result);
    }
  *ret_table = (struct table){.id = "scenarios", .title = "latency and throughput as queries arrive"};
  table_answer(&table, ret_table);
}

// ---- items -----------------------------------------------------------------------------------------------------------
static struct table_cell class_cell(const struct evaluation_model *model, size_t place, struct arena *arena)
{
  if (place == DATA_NO_CLASS)
    return cell_text(NULL);
  return cell_text(place < model->label_count ? model->labels[place] : arena_format(arena, "%zu", place));
}

static void items_table(const struct evaluation_options *options, const struct evaluation *evaluation, size_t number,
                        struct arena *arena, struct table *ret_table)
{
  const struct evaluation_model *model = &options->models[number];
  const struct evaluation_result *result = &evaluation->results[number];
  struct table_builder table;
  table_start(&table, arena);
  for (size_t i = 0; i < result->item_count; i++) {
    const struct evaluation_item *item = &result->items[i];
    table_row(&table);
    table_put(&table, "file", "", "file", cell_text(options->set->items[i].path));
    table_put(&table, "label", "", "label", cell_text(options->set->items[i].label));
    table_put(&table, "class", "", "best",
              item->count > 0 ? class_cell(model, item->best[0].place, arena) : cell_text(NULL));
    table_put(&table, "score", "", "score", cell_real(item->count > 0 ? (double)item->best[0].score : NAN));
    table_put(&table, "place", "", "place", cell_int_if(item->count > 0, (int64_t)item->best[0].place));
    table_put(&table, "wanted_place", "", "wanted", cell_int_if(item->wanted != DATA_NO_CLASS, (int64_t)item->wanted));
    table_put(&table, "second", "", "second",
              item->count > 1 ? class_cell(model, item->best[1].place, arena) : cell_text(NULL));
  }
  *ret_table = (struct table){.id = "items",
                              .title = arena_format(arena, "what %s made of each input", model->profile.name),
                              .experiment = model->profile.name};
  table_answer(&table, ret_table);
}

enum status evaluate_print(const struct evaluation_options *options, const struct evaluation *evaluation,
                           bool with_items, enum report_format format, struct error *err)
{
  struct arena arena = {0};
  struct table *tables = arena_alloc_array(&arena, 3 + options->model_count, sizeof *tables);
  size_t count = 0;
  models_table(options, evaluation, &arena, &tables[count++]);
  if (options->model_count > 1)
    evaluate_divergence(options, evaluation, &arena, &tables[count++]);
  if (options->scenario_count > 0)
    scenarios_table(options, evaluation, &arena, &tables[count++]);
  for (size_t i = 0; with_items && i < options->model_count; i++)
    if (evaluation->results[i].item_count > 0)
      items_table(options, evaluation, i, &arena, &tables[count++]);
  enum status status = output_tables(tables, count, format, with_items || count > 1, err);
  arena_done(&arena);
  return status;
}
