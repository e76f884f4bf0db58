// SPDX-License-Identifier: Apache-2.0
// A21, ranks: what each process of a job does in a step, how long it waits for the others, and which one is the slowest.
#include "analyze/a_list.h"
#include "analyze/ranks/ranks.h"

#include "base/saturate.h"

#include <math.h>

#define THRESHOLD_PCT 5 // of a step: smaller differences do not count
#define LATER_LEAST_S 1 // a rank's first step begins as much later than that of half of the ranks

static int64_t compute_ns(const struct rank_step *step)
{
  return step->compute_ns;
}
static int64_t communication_ns(const struct rank_step *step)
{
  return step->communication_ns;
}
static int64_t exposed_ns(const struct rank_step *step)
{
  return step->exposed_ns;
}
static int64_t waiting_ns(const struct rank_step *step)
{
  return step->waiting_ns;
}
static int64_t bubble_ns(const struct rank_step *step)
{
  return step->bubble_ns;
}
static int64_t input_ns(const struct rank_step *step)
{
  return step->input_ns;
}

static int64_t samples(const struct rank_step *step)
{
  return step->samples;
}
static int64_t tokens(const struct rank_step *step)
{
  return step->tokens;
}
static int64_t given_bytes(const struct rank_step *step)
{
  return step->given_bytes;
}

static const struct {
  const char *key;
  int64_t (*of)(const struct rank_step *step);
} figures[] = {{"step_ms", rank_step_ns},  {"own_ms", rank_step_own_ns},
               {"compute_ms", compute_ns}, {"communication_ms", communication_ns},
               {"exposed_ms", exposed_ns}, {"waiting_ms", waiting_ns},
               {"bubble_ms", bubble_ns},   {"input_ms", input_ns}};
#define FIGURES (sizeof figures / sizeof figures[0])
// Means of all steps: the statistic would take more of the long ones, or fewer.
static const struct {
  const char *key;
  int64_t (*of)(const struct rank_step *step);
  bool is_unknown_as_zero;
} sizes[] = {{"samples", samples, true}, {"tokens", tokens, true}, {"given_bytes", given_bytes, false}};
#define SIZES (sizeof sizes / sizeof sizes[0])

struct row {
  const char *rank, *host, *state;
  int64_t steps, peak_bytes;
  double values[FIGURES], sizes[SIZES];
};

static void put_row(struct table_builder *table, const struct row *row)
{
  table_row(table);
  table_put(table, "rank", cell_text(row->rank));
  table_put(table, "host", cell_text(row->host));
  table_put(table, "steps", cell_int(row->steps));
  for (size_t i = 0; i < FIGURES; i++)
    table_put(table, figures[i].key, cell_real(row->values[i]));
  table_put(table, "peak_bytes", cell_int_if(row->peak_bytes >= 0, row->peak_bytes));
  for (size_t i = 0; i < SIZES; i++)
    table_put_optional(table, sizes[i].key, cell_real(row->sizes[i] > 0 ? row->sizes[i] : NAN));
  table_put_optional(table, "state", cell_text(row->state));
}

static bool is_measured(const struct ranks *ranks, size_t figure)
{
  return (figures[figure].of != compute_ns || ranks->has_compute) &&
         (figures[figure].of != input_ns || ranks->has_input) &&
         (figures[figure].of != bubble_ns || ranks->has_receives) &&
         ((figures[figure].of != communication_ns && figures[figure].of != exposed_ns &&
           figures[figure].of != waiting_ns) ||
          ranks->collective_count > 0);
}

// A rank that is not in all that the others do: it died, hangs, or came later. NULL: it is.
static const char *state_of(const struct ranks *ranks, const struct rank *rank)
{
  struct arena *arena = ranks->question->arena;
  size_t most = 0;
  int64_t last_ns = INT64_MIN;
  for (size_t i = 0; i < ranks->items.count; i++) {
    most = ranks->items.items[i].steps > most ? ranks->items.items[i].steps : most;
    last_ns = ranks->items.items[i].last_ns > last_ns ? ranks->items.items[i].last_ns : last_ns;
  }
  double later_s = (double)rank->later_ns / 1e9;
  double early_s = rank->last_ns != INT64_MIN ? (double)saturate_subtract(last_ns, rank->last_ns) / 1e9 : 0;
  double step_s = rank_figure_ms(ranks, (uint32_t)(rank - ranks->items.items), rank_step_ns) / 1e3;
  if (rank->steps == 0)
    return "no steps";
  if (rank->steps < most && later_s > early_s && later_s > step_s)
    return arena_format(arena, "%zu steps fewer, started %.3g s later", most - rank->steps, later_s);
  if (rank->steps < most && early_s > 0)
    return arena_format(arena, "%zu steps fewer, ended %.3g s earlier", most - rank->steps, early_s);
  if (rank->steps < most)
    return arena_format(arena, "%zu steps fewer", most - rank->steps);
  if (rank->missed > 0)
    return arena_format(arena, "is not in %zu collectives of the others", rank->missed);
  if (rank->late > 0)
    return arena_format(arena, "came to %zu collectives after others had left", rank->late);
  if (later_s >= LATER_LEAST_S && later_s > step_s)
    return arena_format(arena, "started %.3g s later", later_s);
  return NULL;
}

// NaN: it has no steps, or the size of one is unknown.
static double mean_size(const struct ranks *ranks, const struct rank *rank, size_t size)
{
  double sum = 0;
  for (size_t i = rank->first_step; i < rank->end_step; i++) {
    if (ranks->by_rank[i]->is_warmup)
      continue;
    int64_t value = sizes[size].of(ranks->by_rank[i]);
    if (value <= 0 && sizes[size].is_unknown_as_zero)
      return NAN;
    sum += (double)value;
  }
  return sum / (double)rank->steps;
}

static void put_rows(const struct ranks *ranks)
{
  struct arena *arena = ranks->question->arena;
  struct row all = {.rank = "all", .peak_bytes = -1};
  size_t active = 0, known[SIZES] = {0};
  for (uint32_t i = 0; i < ranks->items.count; i++) {
    const struct rank *rank = &ranks->items.items[i];
    struct row row = {.rank = arena_format(arena, "%lld", (long long)rank->rank),
                      .host = rank->host != NULL ? arena_format(arena, "%s", rank->host) : NULL,
                      .state = state_of(ranks, rank),
                      .steps = (int64_t)rank->steps,
                      .peak_bytes = rank->peak_bytes};
    for (size_t k = 0; k < FIGURES; k++) {
      row.values[k] = is_measured(ranks, k) ? rank_figure_ms(ranks, i, figures[k].of) : NAN;
      all.values[k] += rank->steps > 0 ? row.values[k] : 0;
    }
    for (size_t k = 0; k < SIZES; k++) {
      row.sizes[k] = mean_size(ranks, rank, k);
      all.sizes[k] += row.sizes[k] > 0 ? row.sizes[k] : 0;
      known[k] += row.sizes[k] > 0;
    }
    active += rank->steps > 0;
    all.steps += row.steps;
    all.peak_bytes = row.peak_bytes > all.peak_bytes ? row.peak_bytes : all.peak_bytes;
    put_row(&ranks->question->table, &row);
  }
  for (size_t k = 0; k < FIGURES; k++)
    all.values[k] /= (double)active;
  for (size_t k = 0; k < SIZES; k++)
    all.sizes[k] /= (double)known[k]; // 0 / 0 where all are unknown
  put_row(&ranks->question->table, &all);
}

static void summarize(const struct ranks *ranks)
{
  struct table_builder *table = &ranks->question->table;
  struct slowest slowest;
  ranks_slowest(ranks, THRESHOLD_PCT, &slowest);
  bool has = slowest.rank != RANK_NONE;
  table_summary(table, "slowest_rank", cell_int_if(has, has ? ranks->items.items[slowest.rank].rank : 0));
  table_summary(table, "slowest_pct_of_steps", cell_real(slowest.steps_pct));
  table_summary(table, "difference_ms", cell_real(slowest.difference_ms));
  table_summary(table, "difference_low_ms", cell_real(slowest.low_ms));
  table_summary(table, "difference_high_ms", cell_real(slowest.high_ms));
  table_summary(table, "balance_pct", cell_real(slowest.balance_pct));
  table_summary(table, "verdict", cell_text(slowest.verdict));
  const size_t collectives = ranks->collective_count - ranks->sends;
  if (ranks->matched < collectives)
    table_note(table, "collectives whose part on other ranks was not found: %zu of %zu", collectives - ranks->matched,
               collectives);
  if (ranks->clocks.aligned > 0)
    table_note(table, "clocks of %zu ranks are compared by the common end of %zu collectives, within ± %.3g ms",
               ranks->clocks.aligned, ranks->clocks.collectives, (double)ranks->clocks.error_ns / 1e6);
  if (ranks->collective_count == 0)
    table_note(table, "no collectives are recorded: communication and waiting are not known");
}

static enum status answer(struct question *question, struct error *err)
{
  struct ranks ranks SCOPED(ranks_done);
  XSP_TRY(ranks_load(question, 2, NULL, NULL, &ranks, err));
  question_uses(question, ranks.set);
  put_rows(&ranks);
  summarize(&ranks);
  return STATUS_OK;
}

const struct analysis analysis_a21 = {.id = "A21",
                                      .name = "ranks",
                                      .title = "ranks of a job",
                                      .needs = "M",
                                      .main_figure = "waiting_ms",
                                      .detail = TRACE_EVERYTHING,
                                      .is_of_program = true,
                                      .answer = answer};
