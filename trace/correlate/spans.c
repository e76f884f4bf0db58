// SPDX-License-Identifier: Apache-2.0
// correlate_spans: the pure core, from a run's base columns to its derived ones as whole arrays. No store, no I/O.
#include "base/sorted.h"
#include "correlate/relation.h"

#include <stdlib.h>
#include <string.h>

// The columns that are wanted, filled from the relation.
static void fill_derived(struct relation *relation, uint32_t column_mask, struct arena *arena,
                         struct store_derived *derived)
{
  static const size_t widths[] = {sizeof(int64_t), sizeof(int64_t),  sizeof(int64_t), sizeof(int64_t),
                                  sizeof(int32_t), sizeof(uint32_t), sizeof(uint8_t), sizeof(uint8_t)};
  size_t count = relation->spans->count;
  *derived = (struct store_derived){.count = count};
  void *const to[] = {&derived->parent_id,   &derived->model_id, &derived->layer_id, &derived->self_ns,
                      &derived->observation, &derived->depth,    &derived->basis,    &derived->kind};
  if (relation->parents.launches.carried == NULL) // as stored
    column_mask &= ~STORE_BIT(STORE_DERIVED_KIND);
  for (unsigned column = STORE_BASE_COLUMNS; column < STORE_FORWARD_ID; column++) { // that one is found from tags
    if ((column_mask & STORE_BIT(column)) == 0)
      continue;
    void *array = arena_alloc_array(arena, count + 1, widths[column - STORE_BASE_COLUMNS]);
    memcpy(to[column - STORE_BASE_COLUMNS], &array, sizeof array);
    if (column != STORE_OBSERVATION)
      relation_fill(relation, (enum store_column)column, 0, count, array);
    else if (count > 0)
      memcpy(array, relation->observation, count * sizeof *derived->observation);
  }
}

void relation_answer(struct relation *relation, const struct correlate_question *question, struct arena *arena,
                     struct correlate_answer *answer)
{
  size_t count = question->warmup_count;
  int64_t *warmups = arena_alloc_array(arena, count + 1, sizeof *warmups);
  if (count > 0)
    memcpy(warmups, question->warmup_span_ids, count * sizeof *warmups);
  qsort(warmups, count, sizeof *warmups, sorted_compare_i64);
  relation_climb(relation);
  relation_observe(relation, warmups, count, arena, &answer->observations, &answer->observation_count,
                   &answer->outside_observations);
  if ((question->column_mask & STORE_BIT(STORE_SELF_NS)) != 0)
    relation_self(relation);
  fill_derived(relation, question->column_mask, arena, &answer->derived);
  for (size_t i = 0; i < question->spans->count; i++)
    answer->basis[relation->parents.basis[i]]++;
}

enum status correlate_spans(const struct correlate_question *question, struct arena *arena,
                            struct correlate_answer *ret_answer, struct error *err)
{
  struct relation relation SCOPED(relation_done) = {.spans = question->spans};
  *ret_answer = (struct correlate_answer){0};
  XSP_TRY(parents_find(question, false, &relation.parents, err));
  XSP_TRY(parents_learn(question->spans, question->load_facts, question->context, &relation.parents, err));
  if (question->has_caller)
    parents_name_caller(question->spans, &relation.parents);
  relation_answer(&relation, question, arena, ret_answer);
  return STATUS_OK;
}
