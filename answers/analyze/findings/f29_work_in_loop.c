// SPDX-License-Identifier: Apache-2.0
// F29, work in the loop: what the main thread does again and again, by samples, that belongs elsewhere: it saves checkpoints, creates
// sessions, compiles, runs TensorFlow eagerly, decodes, logs, sleeps, blocks an event loop, or computes in Python. work_kinds.c has
// what each looks like.
#include "analyze/findings/own_lines.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/server.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/work_paths.h"
#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/call_path.h>

#define BINS 20 // of the main thread's other time: what happens once, however long, is at one place of it

struct work_total { // of a kind
  double ns;
  uint32_t bins;                  // a bit for each in which it happens
  size_t times;                   // that it begins after other work, or in another observation
  double once_ns, observation_ns; // most from the start of an observation to that of the next; of the one at hand
  size_t observation;             // the one at hand
};
struct works {
  struct findings *findings;
  struct store_call_paths paths;
  struct work_paths work_paths;
  double *own_ns; // of WORK_OWN, by context
  struct own_lines lines;
  struct work_total totals[WORK_KINDS];
  double window_ns;          // from the first sample of the program's own functions to the last
  double all_ns, outside_ns; // of the main thread's samples there; of those outside of models
};

// Code without a name or file was made at run time: a library's kernel.
static bool is_unknown(const struct store_frame *frame)
{
  return frame->kind != XSP_FRAME_PYTHON && frame->module == NULL;
}

// Which kind of work a sample shows.
static unsigned kind_of_sample(const struct works *works, const struct work_path *path, uint32_t context_id,
                               uint8_t sample)
{
  if (path->kind != WORK_NONE)
    return work_kinds[path->kind].title != NULL ? path->kind : WORK_NONE;
  if (path->is_in_loop &&
      (sample == SAMPLE_SLEEP || sample == SAMPLE_IO || sample == SAMPLE_LOCK || sample == SAMPLE_CHILD))
    return WORK_BLOCKED;
  if (sample == SAMPLE_SLEEP)
    return WORK_SLEEP;
  bool is_own = !path->is_models && !is_unknown(own_lines_frame(&works->lines, context_id));
  return is_own && (sample == SAMPLE_CPU || sample == SAMPLE_IO) ? WORK_OWN : WORK_NONE;
}

struct main_sample { // of the main thread, within a function of the program
  int64_t time_ns;
  double ns;
  uint32_t context_id;
  unsigned kind;
};
struct main_samples {
  VECTOR(struct main_sample) items; // by time
  double ns[WORK_KINDS], all_ns;    // by kind
};

static int compare_samples(const void *left, const void *right)
{
  const struct main_sample *a = left, *b = right;
  return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static enum status load_main(struct works *works, const struct view_run *run, struct arena *arena,
                             struct main_samples *ret, struct error *err)
{
  struct store *store = works->findings->question->view->store;
  struct store_samples samples;
  struct map is_main;
  size_t threads;
  XSP_TRY(store_load_samples(store, run->run->run_id, arena, &samples, err));
  XSP_TRY(server_tracks(works->findings, run, &is_main, &threads, err));
  double part = threads > 0 ? 1 / (double)threads : 1;
  for (size_t i = 0; i < samples.count; i++) {
    uint32_t context_id = samples.context_id[i];
    const struct work_path *path = context_id != 0 ? work_path_of(&works->work_paths, context_id) : NULL;
    if (path == NULL || path->own == 0 || path->kind == WORK_IMPORT || !findings_is_in_loop(run, samples.time_ns[i]) ||
        map_find(&is_main, map_number(samples.track_id[i])) == NULL)
      continue;
    struct main_sample *sample = vector_add(&ret->items);
    unsigned kind = kind_of_sample(works, path, context_id, samples.kind[i]);
    *sample = (struct main_sample){samples.time_ns[i], (double)samples.duration_ns[i] * part, context_id,
                                   threads > 0 && kind == WORK_SLEEP ? WORK_NONE : kind}; // F41 is about these waits
    ret->ns[sample->kind] += sample->ns;
    ret->all_ns += sample->ns;
    works->outside_ns += path->is_models ? 0 : sample->ns;
  }
  works->all_ns += ret->all_ns;
  if (ret->items.count > 0)
    qsort(ret->items.items, ret->items.count, sizeof *ret->items.items, compare_samples);
  map_done(&is_main);
  return STATUS_OK;
}

// `part`: which of the bins it is in; `begins`: after other work.
static void add_sample(struct works *works, const struct main_sample *sample, unsigned part, bool begins,
                       size_t observation)
{
  struct work_total *total = &works->totals[sample->kind];
  total->times += begins || total->observation != observation;
  if (total->observation != observation)
    total->observation_ns = 0;
  total->observation = observation;
  total->observation_ns += sample->ns;
  total->once_ns = fmax(total->once_ns, total->observation_ns);
  total->ns += sample->ns;
  total->bins |= 1u << part;
  own_lines_add(&works->lines, work_path_of(&works->work_paths, sample->context_id)->own, sample->kind, sample->ns);
  if (sample->kind == WORK_OWN)
    works->own_ns[sample->context_id] += sample->ns;
}

static enum status add_run(struct works *works, const struct view_run *run, struct error *err)
{
  struct arena arena = {0};
  struct main_samples samples = {.all_ns = 0};
  double passed_ns[WORK_KINDS] = {0}, all_passed_ns = 0;
  size_t observation = 0;
  enum status status = load_main(works, run, &arena, &samples, err);
  for (size_t i = 0; status == STATUS_OK && i < samples.items.count; i++) {
    const struct main_sample *sample = &samples.items.items[i];
    double other_ns = fmax(samples.all_ns - samples.ns[sample->kind], 1);
    double other_passed_ns = all_passed_ns - passed_ns[sample->kind];
    while (observation + 1 < run->observation_count && run->observations[observation + 1].start_ns <= sample->time_ns)
      observation++;
    if (sample->kind != WORK_NONE)
      add_sample(works, sample, (unsigned)fmin(other_passed_ns / other_ns * BINS, BINS - 1),
                 i == 0 || sample[-1].kind != sample->kind, observation);
    all_passed_ns += sample->ns;
    passed_ns[sample->kind] += sample->ns;
  }
  if (samples.items.count > 0)
    works->window_ns +=
        (double)saturate_subtract(samples.items.items[samples.items.count - 1].time_ns, samples.items.items[0].time_ns);
  vector_done(&samples.items);
  arena_done(&arena);
  return status;
}

// ---- what it says ----------------------------------------------------------------------------------------------------
// Waits for a processor, and short ones, are in no sample: they belong to what is sampled, in models and outside of them.
static double per_sampled(const struct works *works)
{
  struct findings *findings = works->findings;
  double loop_ns = findings->loop_ms * 1e6 * (double)findings->set->observation_count;
  double outside_ns = loop_ns;
  if (findings->places != NULL)
    outside_ns -= findings_per_observation_ms(findings, findings->places->total.operators.ns) * 1e6 *
                  (double)findings->set->observation_count;
  double ratio = fmin(loop_ns / works->all_ns, fmax(outside_ns / works->outside_ns, 1));
  return isnan(ratio) ? 1 : ratio;
}

// Of what programs without a fault do, too.
static const char *least_of(unsigned kind)
{
  if (kind == WORK_TREE_CALLS)
    return "work_in_loop-calls";
  return kind == WORK_OWN || kind == WORK_CHECKS ? "work_in_loop-own" : "work_in_loop-share";
}

static void add(struct works *works, unsigned kind, const struct own_line *line)
{
  struct findings *findings = works->findings;
  struct finding *finding = findings_add(findings);
  finding_at_own_line(findings, finding, &works->lines, line);
  finding->time_ms = finding->saving_ms =
      line->ns * per_sampled(works) / 1e6 / (double)findings->set->observation_count;
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_basis = "time of the main thread there, by samples, as if it took none";
  finding->title =
      arena_format(findings->question->arena, work_kinds[kind].title, findings_name(findings, finding->context));
  const char *callee =
      kind == WORK_OWN ? own_lines_callee(findings, &works->paths, works->own_ns, line->context, line->ns / 2) : NULL;
  if (callee != NULL)
    finding->title = arena_format(findings->question->arena, "%s, most in %s", finding->title, callee);
  finding->advice = work_kinds[kind].advice;
  finding->threshold = findings_threshold_of(findings, least_of(kind));
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "parts_of_time", __builtin_popcount(works->totals[kind].bins));
}

// A program without layers computes in its own code; that is no fault.
static bool is_judged(const struct works *works, unsigned kind)
{
  const struct places *places = works->findings->places;
  return kind != WORK_OWN || (places != NULL && places->total.operators.ns > 0);
}

// In many parts of the other time. Of that there is too little beside what has most of the time: then it begins often.
static bool happens_again(const struct works *works, const struct work_total *total)
{
  double least = findings_threshold(works->findings, "work_in_loop-parts");
  return __builtin_popcount(total->bins) >= least || (total->ns > works->all_ns / 2 && (double)total->times >= least);
}

// What one step has most of may be there only, such as the compilation of a first call.
static void judge(struct works *works, unsigned kind)
{
  struct findings *findings = works->findings;
  const struct work_total *total = &works->totals[kind];
  double again_ns = findings->set->observation_count > 1 ? total->ns - total->once_ns : total->ns;
  double ms = again_ns * per_sampled(works) / 1e6 / (double)findings->set->observation_count;
  double least_pct = findings_threshold(findings, least_of(kind));
  const struct own_line *found = own_lines_main(&works->lines, kind, total->ns);
  if (found != NULL && is_judged(works, kind) && analyze_share_pct(ms, findings->loop_ms) >= least_pct &&
      happens_again(works, total))
    add(works, kind, found);
}

static enum status find_works(struct works *works, struct error *err)
{
  struct findings *findings = works->findings;
  struct store *store = findings->question->view->store;
  struct arena *scratch = findings->question->scratch;
  size_t samples = 0;
  for (size_t i = 0; i < findings->set->run_count && samples == 0; i++)
    XSP_TRY(store_count_samples(store, findings->set->runs[i]->run->run_id, &samples, err));
  if (samples == 0)
    return findings_lack(findings, err, "it has no samples (xsp run -t cpu)");
  const struct places *places;
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(store_call_paths(store, scratch, &works->paths, err));
  works->lines.paths = &works->paths;
  work_paths_start(&works->work_paths, &works->paths, scratch);
  works->own_ns = arena_alloc_array(scratch, works->paths.context_count + 1, sizeof *works->own_ns);
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(add_run(works, findings->set->runs[i], err));
  // The loop of a program without steps or predictions is what its own functions take: imports are not in it.
  if (findings->set->observation_count == 1 && works->window_ns > 0)
    findings->loop_ms = fmin(findings->loop_ms, works->window_ns / 1e6);
  for (unsigned kind = WORK_NONE + 1; kind < WORK_KINDS; kind++)
    judge(works, kind);
  return STATUS_OK;
}

static enum status find(struct findings *findings, struct error *err)
{
  struct works works = {.findings = findings};
  enum status status = find_works(&works, err);
  own_lines_done(&works.lines);
  return status;
}

const struct finding_rule finding_f29 = {
    .id = "F29",
    .key = "work_in_loop",
    .title = "work in the loop that belongs elsewhere",
    .thresholds = {{"work_in_loop-share", "%", 5, "time of the main thread there, of the program's loop, at least"},
                   {"work_in_loop-own", "%", 20,
                    "the same, of its own code, libraries without a kind, checks of inputs"},
                   {"work_in_loop-calls", "%", 30,
                    "the same, of calls of LightGBM and XGBoost, beside computing trees"},
                   {"work_in_loop-parts", "", 10,
                    "of 20 parts of the main thread's other time in which it happens, at least: what happens once does "
                    "not count"}},
    .find = find,
};
