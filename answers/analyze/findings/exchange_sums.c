// SPDX-License-Identifier: Apache-2.0
// Adds up what ranks exchange in their steps. Called for each run by rank_facts.c.
#include "analyze/findings/exchange_sums.h"
#include "analyze/lines/paths.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>

#define GRADIENTS_LEAST_BYTES 4096 // that a program's own code exchanges after a pass; numbers such as losses are less

struct pass { // a backward pass
  uint32_t rank;
  int64_t start_ns, end_ns;
  int64_t bytes[2]; // that collectives exchange which begin in it; after it, before the step's next one
};
struct step_sums {
  uint32_t collectives, after_passes, passes;
  int64_t bytes, last_pass_end_ns;
  int64_t pass_bytes[2]; // of its last pass
  bool is_uneven[2];     // its passes exchange different numbers of bytes, or none
};
struct adding { // a run
  const struct ranks *ranks;
  const uint32_t *steps; // places, by rank and start
  size_t step_count;
  struct step_sums *sums; // of these
  VECTOR(struct pass) passes;
};

// ---- passes and steps ------------------------------------------------------------------------------------------------
static int compare_places(uint32_t rank, int64_t ns, uint32_t other_rank, int64_t other_ns)
{
  return ORDER(rank, other_rank) ?: ORDER(ns, other_ns);
}

SORTED_BY(compare_passes, struct pass, RISING(rank) ?: RISING(start_ns))

static void add_passes(struct adding *of, const struct rank_run *run)
{
  const struct store_spans *spans = &run->columns.spans;
  const uint32_t backward = run_columns_category(run->columns.store, "backward");
  for (size_t row = 0; row < spans->count; row++) {
    const uint64_t *rank = spans->category[row] == backward && spans->level[row] == XSP_LEVEL_APPLICATION
                               ? map_find(&run->rank_of, map_number(spans->track_id[row]))
                               : NULL;
    if (rank != NULL && *rank != RANK_NONE)
      *vector_add(&of->passes) = (struct pass){.rank = (uint32_t)*rank,
                                               .start_ns = spans->start_ns[row],
                                               .end_ns = saturate_add(spans->start_ns[row], spans->duration_ns[row])};
  }
  vector_sort(&of->passes, compare_passes);
}

static const struct rank_step *step_of(const struct adding *of, size_t place)
{
  return &of->ranks->steps.items[of->steps[place]];
}

// The last one of the rank that starts by the instant, and has not ended; SIZE_MAX: none.
static size_t step_at(const struct adding *of, uint32_t rank, int64_t ns)
{
  size_t end = PARTITION_POINT(i, 0, of->step_count,
                               compare_places(step_of(of, i)->rank, step_of(of, i)->start_ns, rank, ns) <= 0);
  const struct rank_step *step = end > 0 ? step_of(of, end - 1) : NULL;
  return step != NULL && step->rank == rank && ns < step->end_ns ? end - 1 : SIZE_MAX;
}

// The last one of the rank that starts by the instant; NULL: there is none.
static struct pass *pass_before(const struct adding *of, uint32_t rank, int64_t ns)
{
  struct pass *passes = of->passes.items;
  size_t end =
      PARTITION_POINT(i, 0, of->passes.count, compare_places(passes[i].rank, passes[i].start_ns, rank, ns) <= 0);
  struct pass *pass = end > 0 ? &passes[end - 1] : NULL;
  return pass != NULL && pass->rank == rank ? pass : NULL;
}

// ---- sums ------------------------------------------------------------------------------------------------------------
static bool is_exchange(const struct ranks *ranks, const struct collective *one)
{
  return one->bytes > 0 && one->match != RANK_NONE && !ranks->matches.items[one->match].has_root;
}

static void add_collective(struct adding *of, const struct collective *one)
{
  size_t step = step_at(of, one->rank, one->arrival_ns);
  if (step == SIZE_MAX)
    return;
  struct pass *pass = pass_before(of, one->rank, one->arrival_ns);
  struct step_sums *sums = &of->sums[step];
  bool is_in_pass = pass != NULL && one->arrival_ns < pass->end_ns;
  sums->collectives++;
  sums->bytes += one->bytes;
  sums->after_passes += !is_in_pass && sums->last_pass_end_ns != 0 && one->arrival_ns >= sums->last_pass_end_ns;
  if (is_in_pass || (pass != NULL && pass->start_ns >= step_of(of, step)->start_ns))
    pass->bytes[!is_in_pass] += one->bytes;
}

static void close_passes(struct adding *of)
{
  for (size_t i = 0; i < of->passes.count; i++) {
    const struct pass *pass = &of->passes.items[i];
    size_t step = step_at(of, pass->rank, pass->start_ns);
    if (step == SIZE_MAX)
      continue;
    struct step_sums *sums = &of->sums[step];
    for (unsigned later = 0; later < 2; later++) {
      bool has_gradients = pass->bytes[later] >= (later ? GRADIENTS_LEAST_BYTES : 1);
      bool is_other = sums->passes > 0 && pass->bytes[later] != sums->pass_bytes[later];
      sums->is_uneven[later] |= !has_gradients || is_other;
      sums->pass_bytes[later] = pass->bytes[later];
    }
    sums->passes++;
  }
}

static void add_steps(const struct adding *of, struct exchange_sums *ret)
{
  for (size_t i = 0; i < of->step_count; i++) {
    const struct rank_step *step = step_of(of, i);
    const struct step_sums *sums = &of->sums[i];
    if (step->is_warmup)
      continue;
    ret->all.steps++;
    ret->all.step_ms += (double)rank_step_ns(step) / 1e6;
    ret->all.compute_ms += (double)step->compute_ns / 1e6;
    ret->all.exposed_ms += (double)step->exposed_ns / 1e6;
    ret->all.transfer_ms += fmax((double)(step->exposed_ns - step->stalled_ns), 0) / 1e6;
    ret->all.collectives += sums->collectives;
    ret->all.bytes += (double)sums->bytes;
    ret->all.passes += sums->passes;
    ret->all.after_passes += sums->after_passes;
    ret->repeated += sums->passes > 1 && !(sums->is_uneven[0] && sums->is_uneven[1]);
  }
}

static void add_line(struct exchange_sums *sums, const struct collective *one, const struct store_call_paths *paths)
{
  uint32_t line = path_own_line(paths, one->context_id);
  if (line == 0)
    return;
  uint64_t *bytes = map_at(&sums->bytes_of, map_number(line), NULL);
  *bytes += (uint64_t)one->bytes;
  if (*bytes > sums->most_bytes) {
    sums->most_bytes = *bytes;
    sums->all.file = path_frame(paths, line)->file;
    sums->all.line = path_frame(paths, line)->line;
  }
}

void findings_add_exchanges(struct exchange_sums *sums, const struct ranks *ranks, const struct rank_run *run,
                            const struct store_call_paths *paths)
{
  size_t first = ranks->first_of_run[run->run], count = ranks->first_of_run[run->run + 1] - first;
  struct adding of = {.ranks = ranks,
                      .steps = &ranks->by_run[first],
                      .step_count = count,
                      .sums = memory_new(count + 1, sizeof *of.sums)};
  add_passes(&of, run);
  for (size_t i = 0; i < of.passes.count; i++) {
    size_t step = step_at(&of, of.passes.items[i].rank, of.passes.items[i].start_ns);
    if (step != SIZE_MAX)
      of.sums[step].last_pass_end_ns = of.passes.items[i].end_ns;
  }
  for (size_t i = 0; i < ranks->collectives.count; i++) {
    const struct collective *one = &ranks->collectives.items[i];
    if (!is_exchange(ranks, one))
      continue;
    add_collective(&of, one);
    add_line(sums, one, paths);
  }
  close_passes(&of);
  add_steps(&of, sums);
  vector_done(&of.passes);
  free(of.sums);
}
