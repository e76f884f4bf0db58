// SPDX-License-Identifier: Apache-2.0
// Adds up what ranks exchange in their steps. Called by rules about collectives.
#include "analyze/findings/exchanges.h"
#include "analyze/lines/paths.h"
#include "analyze/run_columns.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRADIENTS_LEAST_BYTES 4096 // that a program's own code exchanges after a pass; numbers such as losses are less

struct pass { // a backward pass
  uint32_t run, rank;
  int64_t start_ns, end_ns;
  int64_t bytes[2]; // that collectives exchange which begin in it; after it, before the step's next one
};
struct step_sums {
  uint32_t collectives, in_passes, after_passes, passes;
  int64_t bytes, last_pass_end_ns;
  int64_t pass_bytes[2]; // of its last pass
  bool is_uneven[2];     // its passes exchange different numbers of bytes, or none
};
struct adding {
  struct findings *findings;
  const struct ranks *ranks;
  VECTOR(struct pass) passes;
  const struct rank_step **by_place; // steps by run, rank and start
  struct step_sums *sums;            // of these
};

// ---- passes and steps ------------------------------------------------------------------------------------------------
static enum status add_passes(struct adding *of, uint32_t run, uint32_t backward, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct map rank_of SCOPED(map_done) = {0};
  struct run_columns columns;
  const uint32_t wanted =
      STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_CATEGORY);
  XSP_TRY(ranks_of_tracks(of->ranks, of->ranks->runs[run], &arena, &rank_of, err));
  XSP_TRY(ranks_load_columns(of->ranks, run, wanted, &arena, &columns, err));
  for (size_t row = 0; row < columns.spans.count; row++) {
    const uint64_t *rank = columns.spans.category[row] == backward && columns.spans.level[row] == XSP_LEVEL_APPLICATION
                               ? map_find(&rank_of, map_number(columns.spans.track_id[row]))
                               : NULL;
    if (rank != NULL && *rank != RANK_NONE)
      *vector_add(&of->passes) =
          (struct pass){run,
                        (uint32_t)*rank,
                        columns.spans.start_ns[row],
                        saturate_add(columns.spans.start_ns[row], columns.spans.duration_ns[row]),
                        {0, 0}};
  }
  return STATUS_OK;
}

static int compare_places(uint32_t run, uint32_t rank, int64_t ns, uint32_t other_run, uint32_t other_rank,
                          int64_t other_ns)
{
  return ORDER(run, other_run) ?: ORDER(rank, other_rank) ?: ORDER(ns, other_ns);
}

SORTED_BY(compare_passes, struct pass, compare_places(a->run, a->rank, a->start_ns, b->run, b->rank, b->start_ns))

SORTED_BY(compare_steps, struct rank_step *const,
          compare_places((*a)->run, (*a)->rank, (*a)->start_ns, (*b)->run, (*b)->rank, (*b)->start_ns))

// The last one of the place that starts by the instant, and has not ended; SIZE_MAX: none.
static size_t step_at(const struct adding *of, uint32_t run, uint32_t rank, int64_t ns)
{
  size_t low = 0, high = of->ranks->steps.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct rank_step *step = of->by_place[middle];
    if (compare_places(step->run, step->rank, step->start_ns, run, rank, ns) <= 0)
      low = middle + 1;
    else
      high = middle;
  }
  const struct rank_step *step = low > 0 ? of->by_place[low - 1] : NULL;
  return step != NULL && step->run == run && step->rank == rank && ns < step->end_ns ? low - 1 : SIZE_MAX;
}

// The last one of the place that starts by the instant; NULL: there is none.
static struct pass *pass_before(const struct adding *of, uint32_t run, uint32_t rank, int64_t ns)
{
  size_t low = 0, high = of->passes.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct pass *pass = &of->passes.items[middle];
    if (compare_places(pass->run, pass->rank, pass->start_ns, run, rank, ns) <= 0)
      low = middle + 1;
    else
      high = middle;
  }
  struct pass *pass = low > 0 ? &of->passes.items[low - 1] : NULL;
  return pass != NULL && pass->run == run && pass->rank == rank ? pass : NULL;
}

// ---- sums ------------------------------------------------------------------------------------------------------------
static bool is_exchange(const struct ranks *ranks, const struct collective *one)
{
  return one->bytes > 0 && one->match != RANK_NONE && !ranks->matches.items[one->match].has_root;
}

static void add_collectives(struct adding *of)
{
  const struct ranks *ranks = of->ranks;
  for (size_t i = 0; i < of->passes.count; i++) {
    size_t step = step_at(of, of->passes.items[i].run, of->passes.items[i].rank, of->passes.items[i].start_ns);
    if (step != SIZE_MAX)
      of->sums[step].last_pass_end_ns = of->passes.items[i].end_ns;
  }
  for (size_t i = 0; i < ranks->collectives.count; i++) {
    const struct collective *one = &ranks->collectives.items[i];
    size_t step = is_exchange(ranks, one) ? step_at(of, one->run, one->rank, one->arrival_ns) : SIZE_MAX;
    if (step == SIZE_MAX)
      continue;
    struct pass *pass = pass_before(of, one->run, one->rank, one->arrival_ns);
    struct step_sums *sums = &of->sums[step];
    bool is_in_pass = pass != NULL && one->arrival_ns < pass->end_ns;
    sums->collectives++;
    sums->bytes += one->bytes;
    sums->in_passes += is_in_pass;
    sums->after_passes += !is_in_pass && sums->last_pass_end_ns != 0 && one->arrival_ns >= sums->last_pass_end_ns;
    if (is_in_pass || (pass != NULL && pass->start_ns >= of->by_place[step]->start_ns))
      pass->bytes[!is_in_pass] += one->bytes;
  }
  for (size_t i = 0; i < of->passes.count; i++) {
    const struct pass *pass = &of->passes.items[i];
    size_t step = step_at(of, pass->run, pass->rank, pass->start_ns);
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

static void add_steps(struct adding *of, struct exchanges *ret)
{
  double repeated = 0;
  for (size_t i = 0; i < of->ranks->steps.count; i++) {
    const struct rank_step *step = of->by_place[i];
    const struct step_sums *sums = &of->sums[i];
    if (step->is_warmup)
      continue;
    ret->steps++;
    ret->step_ms += (double)rank_step_ns(step) / 1e6;
    ret->compute_ms += (double)step->compute_ns / 1e6;
    ret->exposed_ms += (double)step->exposed_ns / 1e6;
    ret->transfer_ms += fmax((double)(step->exposed_ns - step->stalled_ns), 0) / 1e6;
    ret->collectives += sums->collectives;
    ret->bytes += (double)sums->bytes;
    ret->passes += sums->passes;
    ret->in_passes += sums->in_passes;
    ret->after_passes += sums->after_passes;
    repeated += sums->passes > 1 && !(sums->is_uneven[0] && sums->is_uneven[1]);
  }
  double *means[] = {&ret->step_ms, &ret->compute_ms, &ret->exposed_ms, &ret->transfer_ms, &ret->collectives,
                     &ret->bytes,   &ret->passes,     &ret->in_passes,  &ret->after_passes};
  for (size_t i = 0; i < sizeof means / sizeof means[0]; i++)
    *means[i] /= (double)ret->steps;
  ret->repeated_pct = analyze_share_pct(repeated, (double)ret->steps);
}

static enum status find_line(struct adding *of, struct exchanges *ret, struct error *err)
{
  struct store_call_paths paths;
  struct map bytes_of SCOPED(map_done) = {0};
  uint64_t most = 0;
  XSP_TRY(store_call_paths(of->findings->question->view->store, of->findings->question->scratch, &paths, err));
  for (size_t i = 0; i < of->ranks->collectives.count; i++) {
    const struct collective *one = &of->ranks->collectives.items[i];
    uint32_t line = is_exchange(of->ranks, one) ? path_own_line(&paths, one->context_id) : 0;
    if (line == 0)
      continue;
    uint64_t *bytes = map_at(&bytes_of, map_number(line), NULL);
    *bytes += (uint64_t)one->bytes;
    if (*bytes > most) {
      most = *bytes;
      ret->file = path_frame(&paths, line)->file;
      ret->line = path_frame(&paths, line)->line;
    }
  }
  return STATUS_OK;
}

enum status findings_exchanges(struct findings *findings, struct exchanges *ret, bool *ret_has, struct error *err)
{
  struct arena *arena = findings->question->scratch;
  struct adding of = {.findings = findings};
  uint32_t backward;
  *ret = (struct exchanges){.steps = 0};
  *ret_has = false;
  XSP_TRY(findings_ranks(findings, &of.ranks, err));
  if (of.ranks == NULL || of.ranks->matched == 0)
    return STATUS_OK;
  of.by_place = arena_alloc_array(arena, of.ranks->steps.count + 1, sizeof *of.by_place);
  of.sums = arena_alloc_array(arena, of.ranks->steps.count + 1, sizeof *of.sums);
  for (size_t i = 0; i < of.ranks->steps.count; i++)
    of.by_place[i] = &of.ranks->steps.items[i];
  qsort(of.by_place, of.ranks->steps.count, sizeof *of.by_place, compare_steps);
  enum status status = STATUS_OK;
  if (store_find_string(findings->question->view->store, "backward", 8, &backward))
    for (uint32_t i = 0; i < of.ranks->run_count && status == STATUS_OK; i++)
      status = add_passes(&of, i, backward, err);
  if (status == STATUS_OK && of.passes.count > 1)
    qsort(of.passes.items, of.passes.count, sizeof *of.passes.items, compare_passes);
  if (status == STATUS_OK) {
    add_collectives(&of);
    add_steps(&of, ret);
    status = find_line(&of, ret, err);
  }
  *ret_has = status == STATUS_OK && ret->steps > 0 && ret->collectives > 0;
  vector_done(&of.passes);
  return status;
}

void finding_at_exchange(struct findings *findings, struct finding *finding, const struct exchanges *of)
{
  finding->context = "collectives";
  finding->file = findings_keep(findings, of->file);
  finding->line = of->line;
  finding->time_ms = of->exposed_ms;
  finding->share_pct = analyze_share_pct(of->exposed_ms, of->step_ms);
  finding_number(finding, "collectives", of->collectives);
  finding_number(finding, "bytes", of->bytes);
  finding_number(finding, "exposed_ms", of->exposed_ms);
  finding_number(finding, "transfer_ms", of->transfer_ms);
}
