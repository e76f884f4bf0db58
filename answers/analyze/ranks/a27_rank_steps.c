// SPDX-License-Identifier: Apache-2.0
// A27, steps of ranks: what A21 has as means, for each step of each rank. The page draws it as a map of ranks over steps.
#include "analyze/a_list.h"
#include "analyze/ranks/ranks.h"

static void put_ms(struct table_builder *table, const char *key, bool is_known, int64_t ns)
{
  table_put(table, key, is_known ? cell_real((double)ns / 1e6) : cell_int_if(false, 0));
}

static void put_row(const struct ranks *ranks, const struct rank_step *step)
{
  struct table_builder *table = &ranks->question->table;
  bool has_collectives = ranks->collective_count > 0;
  table_row(table);
  table_put_optional(table, "job", cell_int_if(ranks->job_count > 1, step->job));
  table_put(table, "rank", cell_int(ranks->items.items[step->rank].rank));
  table_put(table, "step", cell_int(step->number));
  put_ms(table, "step_ms", true, rank_step_ns(step));
  put_ms(table, "own_ms", true, rank_step_own_ns(step));
  put_ms(table, "compute_ms", ranks->has_compute, step->compute_ns);
  put_ms(table, "exposed_ms", has_collectives, step->exposed_ns);
  put_ms(table, "stalled_ms", has_collectives, step->stalled_ns);
  put_ms(table, "input_ms", ranks->has_input, step->input_ns);
}

static enum status answer(struct question *question, struct error *err)
{
  struct ranks ranks SCOPED(ranks_done);
  XSP_TRY(ranks_load(question, 2, NULL, NULL, &ranks, err));
  question_uses(question, ranks.set);
  for (size_t i = 0; i < ranks.steps.count; i++)
    if (!ranks.by_rank[i]->is_warmup)
      put_row(&ranks, ranks.by_rank[i]);
  return STATUS_OK;
}

const struct analysis analysis_a27 = {.id = "A27",
                                      .name = "rank-steps",
                                      .title = "steps of each rank",
                                      .needs = "M",
                                      .main_figure = "stalled_ms",
                                      .detail = TRACE_EVERYTHING,
                                      .is_of_program = true,
                                      .answer = answer};
