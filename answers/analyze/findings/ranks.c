// SPDX-License-Identifier: Apache-2.0
// The ranks of a job for rules: loaded once; where a slow one is slower, and where the others wait, by samples of threads.
#include "analyze/findings/ranks.h"
#include "analyze/lines/paths.h"

#include "base/hash.h"
#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum status findings_ranks(struct findings *findings, const struct ranks **ret_ranks, struct error *err)
{
  *ret_ranks = NULL;
  if (!findings->ranks_are_loaded) {
    struct question *question = findings->question;
    struct error why = {0};
    findings->ranks_are_loaded = true;
    findings->ranks = arena_alloc(question->scratch, sizeof *findings->ranks);
    enum status status = rank_facts_load(question, findings->ranks, &why);
    if (status != STATUS_OK) {
      rank_facts_done(findings->ranks);
      findings->ranks = NULL;
    }
    if (status != STATUS_OK && status != STATUS_NO) {
      if (err != NULL)
        *err = why;
      return status;
    }
  }
  *ret_ranks = findings->ranks != NULL ? &findings->ranks->ranks : NULL;
  return STATUS_OK;
}

// ---- lines -----------------------------------------------------------------------------------------------------------
struct line_times {
  const struct ranks *ranks;
  struct store_call_paths paths;
  size_t rank_count, context_count;
  double *cpu_ns, *wait_ns;  // by rank and context of a line of the program: on a CPU, and in waits
  double *exchange_ns;       // the same: in collectives that the line started, without compute
  int64_t *from_ns, *to_ns;  // by rank: of its steps in the run
  uint32_t *line_by_context; // UINT32_MAX: not looked up yet
  struct map line_of_place;  // by file and line: the first context that has it
};

static double *at(const struct line_times *of, double *values, uint32_t rank, uint32_t line)
{
  return &values[(size_t)rank * of->context_count + line];
}

// The program's line around a call path, which stands for all paths with that line; 0: none.
static uint32_t line_of(struct line_times *of, uint32_t context_id)
{
  if (context_id == 0 || context_id >= of->context_count)
    return 0;
  uint32_t *line = &of->line_by_context[context_id];
  if (*line != UINT32_MAX)
    return *line;
  *line = path_own_line(&of->paths, context_id);
  const struct store_frame *frame = *line != 0 ? path_frame(&of->paths, *line) : NULL;
  if (frame == NULL || frame->file == NULL)
    return *line = 0;
  bool is_new;
  uint64_t *first =
      map_at(&of->line_of_place,
             (struct map_key){hash_text(frame->file, strlen(frame->file), 0), (uint64_t)frame->line}, &is_new);
  *first = is_new ? *line : *first;
  return *line = (uint32_t)*first;
}

static void find_loops(struct line_times *of, uint32_t run)
{
  for (size_t i = 0; i < of->rank_count; i++) {
    of->from_ns[i] = INT64_MAX;
    of->to_ns[i] = INT64_MIN;
  }
  for (size_t i = 0; i < of->ranks->steps.count; i++) {
    const struct rank_step *step = &of->ranks->steps.items[i];
    if (step->run != run)
      continue;
    of->from_ns[step->rank] = step->start_ns < of->from_ns[step->rank] ? step->start_ns : of->from_ns[step->rank];
    of->to_ns[step->rank] = step->end_ns > of->to_ns[step->rank] ? step->end_ns : of->to_ns[step->rank];
  }
}

static enum status add_samples(struct line_times *of, uint32_t run, struct error *err)
{
  struct store *store = of->ranks->question->view->store;
  struct arena arena SCOPED(arena_done) = {0};
  struct map rank_of SCOPED(map_done) = {0};
  struct store_samples samples;
  find_loops(of, run);
  XSP_TRY(ranks_of_tracks(of->ranks, of->ranks->runs[run], &arena, &rank_of, err));
  XSP_TRY(store_load_samples(store, of->ranks->runs[run]->run->run_id, &arena, &samples, err));
  for (size_t i = 0; i < samples.count; i++) {
    const uint64_t *rank = map_find(&rank_of, map_number(samples.track_id[i]));
    if (rank == NULL || *rank == RANK_NONE || samples.time_ns[i] < of->from_ns[*rank] ||
        samples.time_ns[i] > of->to_ns[*rank])
      continue;
    double *values = samples.kind[i] == SAMPLE_CPU ? of->cpu_ns : of->wait_ns;
    *at(of, values, (uint32_t)*rank, line_of(of, samples.context_id[i])) += (double)samples.duration_ns[i];
  }
  return STATUS_OK;
}

// The collectives of a rank share its time in communication without compute.
static void add_exchanges(struct line_times *of, const struct map *collective_ns)
{
  const struct ranks *ranks = of->ranks;
  double *all_ns = arena_alloc_array(ranks->question->scratch, of->rank_count + 1, sizeof *all_ns);
  double *exposed_ns = arena_alloc_array(ranks->question->scratch, of->rank_count + 1, sizeof *exposed_ns);
  for (size_t i = 0; i < collective_ns->slot_count; i++)
    all_ns[collective_ns->slots[i].key.a] += (double)collective_ns->slots[i].value;
  for (size_t i = 0; i < ranks->steps.count; i++)
    exposed_ns[ranks->steps.items[i].rank] += (double)ranks->steps.items[i].exposed_ns;
  for (size_t i = 0; i < collective_ns->slot_count; i++) {
    const struct map_slot *slot = &collective_ns->slots[i];
    uint32_t rank = (uint32_t)slot->key.a;
    if (slot->value > 0)
      *at(of, of->exchange_ns, rank, line_of(of, (uint32_t)slot->key.b)) +=
          (double)slot->value / all_ns[rank] * exposed_ns[rank];
  }
}

// ---- places ----------------------------------------------------------------------------------------------------------
static double steps_of(const struct line_times *of, uint32_t rank)
{
  size_t steps = of->ranks->items.items[rank].steps;
  return steps > 0 ? (double)steps : NAN;
}

// What the rank does at the line in a step, by samples: waits in collectives are not its own.
static double own_ns(const struct line_times *of, uint32_t rank, uint32_t line)
{
  // Of no line: threads of pools, and of the backend, that wait for work.
  double waits_ns = line == 0 ? 0 : *at(of, of->wait_ns, rank, line) - *at(of, of->exchange_ns, rank, line);
  return (*at(of, of->cpu_ns, rank, line) + fmax(waits_ns, 0)) / steps_of(of, rank);
}

// What the rank takes longer at the line, in a step, than the others on average.
static double excess_ns(const struct line_times *of, uint32_t slow, uint32_t line)
{
  double slow_ns = 0, others_ns = 0, others = 0;
  for (uint32_t rank = 0; rank < of->rank_count; rank++) {
    double ns = own_ns(of, rank, line);
    if (isnan(ns))
      continue;
    *(rank == slow ? &slow_ns : &others_ns) += ns;
    others += rank != slow;
  }
  return others > 0 ? slow_ns - others_ns / others : NAN;
}

static void choose(struct line_times *of, uint32_t slow, struct straggler_places *ret_places)
{
  double most_ns = 0, most_waited_ns = 0, all_ns = excess_ns(of, slow, 0), slow_ns = own_ns(of, slow, 0);
  for (uint32_t line = 1; line < of->context_count; line++) {
    double ns = excess_ns(of, slow, line), waited_ns = 0;
    for (uint32_t rank = 0; rank < of->rank_count; rank++)
      waited_ns += rank != slow ? *at(of, of->exchange_ns, rank, line) : 0;
    const struct store_frame *frame = path_frame(&of->paths, line);
    all_ns += ns;
    slow_ns += own_ns(of, slow, line);
    if (ns > most_ns) {
      most_ns = ns;
      ret_places->slow_file = frame->file;
      ret_places->slow_line = frame->line;
      ret_places->slow_ms = ns / 1e6;
    }
    if (waited_ns > most_waited_ns) {
      most_waited_ns = waited_ns;
      ret_places->wait_file = frame->file;
      ret_places->wait_line = frame->line;
    }
  }
  ret_places->sampled_pct = analyze_share_pct(all_ns, slow_ns);
}

static const char *most_waited(const struct rank_facts *facts, uint32_t slow)
{
  struct map ns_of SCOPED(map_done) = {0}; // by kind or name, and is_scattered
  const struct map_slot *most = NULL;
  for (size_t i = 0; i < facts->waiting_ns.slot_count; i++) {
    const struct map_slot *slot = &facts->waiting_ns.slots[i];
    if (slot->value > 0 && slot->key.a != slow)
      *map_at(&ns_of, map_number(slot->key.b), NULL) += slot->value;
  }
  for (size_t i = 0; i < ns_of.slot_count; i++) { // in an order of hashes, which must not decide between equals
    const struct map_slot *slot = &ns_of.slots[i];
    bool is_first =
        most == NULL || slot->value > most->value || (slot->value == most->value && slot->key.a < most->key.a);
    most = slot->value > 0 && is_first ? slot : most;
  }
  if (most == NULL)
    return "collectives";
  const struct collective found = {.name = (uint32_t)(most->key.a >> 1), .is_scattered = most->key.a & 1};
  return ranks_collective_kind(&facts->ranks, &found);
}

enum status findings_straggler_places(struct findings *findings, const struct ranks *ranks, uint32_t rank,
                                      struct straggler_places *ret_places, struct error *err)
{
  struct arena *arena = findings->question->scratch;
  struct line_times of = {.ranks = ranks, .rank_count = ranks->items.count};
  *ret_places =
      (struct straggler_places){.wait_name = most_waited(findings->ranks, rank), .slow_ms = NAN, .sampled_pct = NAN};
  of.paths = findings->ranks->paths;
  of.context_count = of.paths.context_count + 1;
  size_t values = of.rank_count * of.context_count;
  of.cpu_ns = arena_alloc_array(arena, values, sizeof *of.cpu_ns);
  of.wait_ns = arena_alloc_array(arena, values, sizeof *of.wait_ns);
  of.exchange_ns = arena_alloc_array(arena, values, sizeof *of.exchange_ns);
  of.from_ns = arena_alloc_array(arena, of.rank_count, sizeof *of.from_ns);
  of.to_ns = arena_alloc_array(arena, of.rank_count, sizeof *of.to_ns);
  of.line_by_context = arena_alloc_array(arena, of.context_count, sizeof *of.line_by_context);
  memset(of.line_by_context, 0xff, of.context_count * sizeof *of.line_by_context);
  enum status status = STATUS_OK;
  for (uint32_t i = 0; i < ranks->run_count && status == STATUS_OK; i++)
    status = add_samples(&of, i, err);
  if (status == STATUS_OK) {
    add_exchanges(&of, &findings->ranks->collective_ns);
    choose(&of, rank, ret_places);
  }
  map_done(&of.line_of_place);
  return status;
}
