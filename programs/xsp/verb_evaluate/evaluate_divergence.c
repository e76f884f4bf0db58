// SPDX-License-Identifier: Apache-2.0
// The table of how far models' outputs are apart; see evaluate.h. Called by evaluate_print.c.
#include "programs/xsp/verb_evaluate/evaluate.h"

#include "table/builder.h"

#include <math.h>

static const char *distributions(const struct divergence *divergence)
{
  return divergence->items == 0           ? NULL
         : divergence->is_first_softmaxed ? divergence->is_other_softmaxed ? "softmax of both" : "softmax of the first"
         : divergence->is_other_softmaxed ? "softmax of this"
                                          : "as they are";
}

static void put_divergence(struct table_builder *table, const struct evaluation_options *options,
                           const struct evaluation *evaluation, size_t number)
{
  const struct divergence *divergence = &evaluation->results[number].divergence;
  bool has_items = divergence->items > 0;
  table_row(table);
  table_put(table, "model", cell_text(options->models[number].profile.name));
  table_put(table, "framework", cell_text(evaluation->results[number].found.framework));
  table_put(table, "inputs", cell_int((int64_t)divergence->items));
  table_put(table, "largest_difference", cell_real(divergence->largest));
  table_put(table, "largest_item",
            cell_text(has_items ? data_item_name(&options->set->items[divergence->largest_item]) : NULL));
  table_put(table, "mean_difference", cell_real(divergence->mean));
  table_put(table, "cosine_similarity", cell_real(divergence->cosine));
  table_put(table, "kl_nats", cell_real(divergence->kl));
  table_put(table, "kl_largest_nats", cell_real(divergence->kl_largest));
  table_put_optional(table, "kl_infinite", cell_int_if(divergence->kl_infinite > 0, (int64_t)divergence->kl_infinite));
  table_put(table, "js_nats", cell_real(divergence->js));
  table_put(table, "js_largest_nats", cell_real(divergence->js_largest));
  table_put(table, "distributions", cell_text(distributions(divergence)));
}

static void put_notes(struct table_builder *table, const char *name, const struct divergence *divergence)
{
  if (divergence->unlike > 0)
    table_note(table, "%s: %zu outputs have another number of values than the first model's, and are not compared",
               name, divergence->unlike);
  if (divergence->left_out > 0)
    table_note(table, "%s: %zu outputs have values that are not finite, or only zeros, and are not compared", name,
               divergence->left_out);
  if (divergence->kl_infinite > 0)
    table_note(table, "%s: KL is infinite for %zu inputs, where it gives a class the probability 0; it is in no figure",
               name, divergence->kl_infinite);
}

void evaluate_divergence(const struct evaluation_options *options, const struct evaluation *evaluation,
                         struct arena *arena, struct table *ret_table)
{
  struct table_builder table;
  const char *first = options->models[0].profile.name;
  table_start(&table, arena);
  for (size_t i = 1; i < options->model_count; i++)
    put_divergence(&table, options, evaluation, i);
  for (size_t i = 1; i < options->model_count; i++)
    put_notes(&table, options->models[i].profile.name, &evaluation->results[i].divergence);
  *ret_table = (struct table){.id = "divergence", .title = arena_format(arena, "outputs against those of %s", first)};
  table_answer(&table, ret_table);
}
