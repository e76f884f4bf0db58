// SPDX-License-Identifier: Apache-2.0
// The ranks of a job: their steps, the collectives in which they meet, and who waited for whom. A21, A24 and findings about ranks
// use it. docs/ranks.md has the definitions.
#ifndef XSP_ANALYZE_RANKS_RANKS_H
#define XSP_ANALYZE_RANKS_RANKS_H

#include "analyze/run_columns.h"
#include "analyze/view.h"
#include "base/saturate.h"
#include "base/vector.h"

#define RANK_NONE UINT32_MAX

struct rank_step {     // an observation of a rank, or steps.c made it
  uint32_t rank, job;  // places in `items`; of an execution of the job, from 0
  uint32_t number;     // of the rank's steps of the job, from 0, in order of start
  uint32_t run, index; // place in `runs`; of the observation in its run, RANK_NONE: it is none
  int64_t start_ns, end_ns;
  bool is_warmup, is_kept; // kept: counts in figures
  int64_t samples;         // of all its micro-batches; 0: unknown
  int64_t tokens;          // likewise, with padding; 0: unknown, or the inputs are no token ids
  int64_t given_bytes;     // by the rank to collectives and sends that it starts in the step; 0: unknown, or none
  int64_t compute_ns, communication_ns, exposed_ns, waiting_ns;
  int64_t bubble_ns;  // of exposed_ns, waiting for what another rank sends
  int64_t stalled_ns; // of waiting_ns and exposed_ns, and bubble_ns
  int64_t input_ns;
};
struct collective { // of one rank
  uint32_t rank, job, run;
  uint32_t name, group, module;         // string ids; 0: unknown. The module whose parameters or results it is for
  uint32_t kind;                        // string id of XLA's kind, "all_reduce"; 0: the name has it
  uint32_t context_id;                  // call path of the line that started it; 0: unknown
  uint32_t match;                       // place in `matches`; RANK_NONE: the others' part was not found, or it has none
  int64_t sequence;                     // in its group; less than 0: not recorded
  int64_t bytes;                        // of the rank's input; less than 0: not recorded
  int64_t parameters;                   // whose gradients it reduces; less than 0: unknown
  int64_t arrival_ns, start_ns, end_ns; // the rank started it; it runs
  int64_t waiting_ns;                   // from its arrival, for the last rank that it can have waited for
  int64_t overlapped_ns;                // with compute of the rank
  int64_t ahead_ns;                     // its rank's clock
  bool is_scattered;                    // an all-reduce as which the backend runs a reduce-scatter
  bool is_of_gradient;                  // started as a gradient became ready: the program has no wait of its own for it
};
typedef VECTOR(struct collective) collective_list;
struct rank_end { // of a collective of a rank that recorded no steps, for steps.c
  uint32_t job, group, name, module, rank, run;
  int64_t end_ns;
};
struct collective_match { // one collective, on all its ranks
  uint32_t count;         // ranks
  bool has_root;          // as a broadcast
  // The rest is for match.c and clocks.c.
  bool is_twice, is_unmatched;   // a rank has it twice; its parts do not fit
  uint32_t last_rank, base_run;  // the last to arrive; that of the job's first rank, RANK_NONE: which is not in it
  int64_t last_ns, first_end_ns; // by the clock of the job's first rank: the last arrival, the first end
  int64_t base_end_ns;
  size_t first_arrival; // in `arrivals`
};
struct rank {
  int64_t rank, local_rank, world_size;
  const char *host;
  int64_t peak_bytes;          // less than 0: not recorded
  size_t steps;                // warm-ups do not count
  size_t missed;               // collectives of others, in which it is at other times
  size_t late;                 // collectives to which it came after another rank had left them
  size_t first_step, end_step; // places in `by_rank`, warm-ups included
  int64_t last_ns;             // end of its last span; INT64_MIN: not by the clock of the others
  int64_t later_ns;            // start of its first step, in the first job, after that of half of the ranks
};
struct rank_clocks {  // of ranks whose clock is another than that of the first rank of their job
  size_t aligned;     // ranks
  size_t collectives; // by whose common end
  int64_t error_ns;   // half of the 95 % of their differences, of the worst rank
};
struct collective_place { // those of one kind in a group of a job
  const struct collective_kind *kind;
  bool is_of_parts; // ranks meet in several groups, and it is not known in which one each
  size_t instances;
};
struct collective_arrival { // of a rank, by the clock of the job's first one
  uint32_t match;
  int64_t ns;
};
struct rank_matching { // match.c and clocks.c: what is known of collectives whose runs are no longer in memory
  struct map places,
      matches; // by job, group and name: place in `kinds`; by this and the number in the group: in `matches`
  VECTOR(struct collective_place) kinds;
  VECTOR(struct collective_arrival) arrivals; // at those with a root
  struct map times;                           // by place in `kinds`, from 1, and rank: in how many it is
  struct map ahead_ns;                        // by job and rank: of its clock
};
struct ranks { // ranks_done frees it, also after an error; texts live in the question's scratch
  struct question *question;
  const struct view_run **runs;
  size_t run_count;
  const uint32_t *jobs;           // by place in `runs`
  const struct view_set *set;     // whose levels the runs have
  VECTOR(struct rank) items;      // by number
  VECTOR(struct rank_step) steps; // by job, rank and number
  struct rank_step **by_rank;     // the steps of a rank are together
  uint32_t *by_run;               // places of steps: those of a run together, by rank and start
  size_t *first_of_run;           // in `by_run`; those of run i end at i + 1
  collective_list collectives;    // of the run that is looked at
  VECTOR(struct rank_end) ends;   // of all runs, until they became steps
  VECTOR(struct collective_match) matches;
  uint32_t job_count;
  size_t collective_count; // of all runs
  size_t sends, matched;   // and receives, which are matched with none; whose part on other ranks was found
  struct rank_clocks clocks;
  bool has_compute, has_input, has_receives;
  struct rank_matching matching;
};

struct rank_run { // rank_run_done frees it, also after an error
  uint32_t run;   // place in `runs`
  struct arena arena;
  struct run_columns columns;
  struct map rank_of; // by track: place in `items`, or RANK_NONE
};
// Called for each run, with its columns, its `collectives` and the figures of its steps; the first two are gone when ranks_load returns.
typedef void ranks_visit(const struct ranks *ranks, const struct rank_run *run, void *context);
// All runs that have the most levels, without metrics. STATUS_NO: fewer ranks than `least` made observations.
// `visit` may be NULL.
enum status ranks_load(struct question *question, size_t least, ranks_visit *visit, void *context,
                       struct ranks *ret_ranks, struct error *err) MUST_CHECK;
void ranks_done(struct ranks *ranks);

static inline int64_t collective_transfer_ns(const struct collective *of) // once it no longer waited
{
  return saturate_subtract(saturate_subtract(of->end_ns, of->arrival_ns), of->waiting_ns);
}

// ---- the parts of ranks_load ---------------------------------------------------------------------------------------------
// Each run is read twice, and only its own spans and collectives are in memory: first to match the collectives of all, then for figures.
// find.c: the runs that have the most levels; their ranks, by number; of each run its job, and whether the first rank is in it.
void ranks_choose_runs(struct ranks *ranks);
enum status ranks_find(struct ranks *ranks, bool *ret_has_first_rank, struct error *err) MUST_CHECK;
// load.c: a run's columns and `collectives`.
enum status ranks_read_run(struct ranks *ranks, uint32_t run, bool adds_steps, struct rank_run *ret_run,
                           struct error *err) MUST_CHECK;
void rank_run_done(struct rank_run *run);
// steps.c: keeps the ends of the `collectives` of a run without steps; once all runs are read, these become steps.
void ranks_keep_ends(struct ranks *ranks);
void ranks_steps_of_collectives(struct ranks *ranks);
// match.c: adds the run's collectives to their matches, runs with the first rank before others; once all are there, finds out which fit;
// then gives those of a run their match and waiting. The first and the last sort the run's collectives.
void ranks_add_to_matches(struct ranks *ranks);
void ranks_match(struct ranks *ranks);
void ranks_put_matches(struct ranks *ranks);
int ranks_compare_instances(const void *left,
                            const void *right); // collectives: those of one match are together, by rank
// clocks.c: how far the clock of each collective's rank is ahead of that of its job's first rank.
void ranks_align(struct ranks *ranks); // by the run's collectives, which have their match
void ranks_put_ahead(struct ranks *ranks);
void ranks_compare_times(struct ranks *ranks); // by these clocks: `later_ns`, `last_ns`
// The kind of a collective, by its kind, its name, its operator's or its kernel's: "gloo:all_reduce", "ncclDevKernel_AllReduce_…".
struct collective_kind {
  const char *name;             // in small letters, without '_'; "": a send and its receive, or unknown
  bool waits_for_all, has_root; // a rank: for each other; for one, or one for all
  double once,
      others; // bytes of a rank's link for a byte of its input: once + others · (count - 1) / count, of `count` ranks
  bool is_gathered; // of all ranks' inputs together
};
const struct collective_kind *ranks_kind_of(const char *name);
// figures.c: fills the steps' times, run by run.
enum status ranks_figures(struct ranks *ranks, ranks_visit *visit, void *context, struct error *err) MUST_CHECK;
// Of the run's tracks the place of their rank; RANK_NONE: of none. The caller frees it (map_done).
enum status ranks_of_tracks(const struct ranks *ranks, const struct view_run *run, struct arena *arena,
                            struct map *ret_ranks, struct error *err) MUST_CHECK;
// Of one run as run_columns_load; of many, which may be files of a thousand ranks, nothing stays in memory.
enum status ranks_load_columns(const struct ranks *ranks, uint32_t run, uint32_t columns, struct arena *arena,
                               struct run_columns *ret_columns, struct error *err) MUST_CHECK;
// "gloo:all_reduce" is an "all_reduce", or what the program started: a "reduce_scatter".
const char *ranks_collective_kind(const struct ranks *ranks, const struct collective *of);
bool ranks_is_collective_kernel(const char *name); // NCCL's, RCCL's
// Whether the name is that of a collective's start or of a wait for one, among operators.
bool ranks_starts_collective(const char *name);

// ---- who is slow (slowest.c) -----------------------------------------------------------------------------------------------
struct slowest {
  uint32_t rank;    // that has most often the longest time alone
  double steps_pct; // in how many steps
  double alone_ms;  // its time alone
  double difference_ms, low_ms,
      high_ms;         // its time alone less the mean of the others', with the 95 % interval; NaN: unknown
  double balance_pct;  // mean time alone of all ranks, of the longest
  double waiting_ms;   // of the others, in a step, without compute
  const char *verdict; // "slower", "none found", "not decided"
};
// `threshold_pct`: of a step; smaller differences do not count.
void ranks_slowest(const struct ranks *ranks, double threshold_pct, struct slowest *ret_slowest);
// Steps of all ranks of a job that have the same number meet.
struct rank_meetings {
  const struct rank_step **steps; // one meeting after the other
  size_t count;
};
void ranks_meet(const struct ranks *ranks, struct rank_meetings *ret_meetings); // in the question's scratch
// From `first` to the end of the meeting, which is returned. `*ret_slowest`: that with the longest time alone; SIZE_MAX where the
// meeting does not count: of one rank, or with a warm-up.
size_t ranks_next_meeting(const struct rank_meetings *of, size_t first, size_t *ret_slowest);
// By the question's statistic over the rank's steps. NaN without any. `of`: the value of a step, which is divided by `unit`.
double rank_figure(const struct ranks *ranks, uint32_t rank, int64_t (*of)(const struct rank_step *step), double unit);
static inline double rank_figure_ms(const struct ranks *ranks, uint32_t rank,
                                    int64_t (*of_ns)(const struct rank_step *step))
{
  return rank_figure(ranks, rank, of_ns, 1e6);
}
static inline int64_t rank_step_ns(const struct rank_step *step)
{
  return step->end_ns - step->start_ns;
}
static inline int64_t rank_step_own_ns(const struct rank_step *step) // without waiting for others
{
  return step->end_ns - step->start_ns - step->stalled_ns;
}
// Without communication: what follows the last arrival lasts until the system lets each rank go on, and is no rank's own.
static inline int64_t rank_step_alone_ns(const struct rank_step *step)
{
  return step->end_ns - step->start_ns - step->exposed_ns;
}
#endif
