// SPDX-License-Identifier: Apache-2.0
// F29, work in the loop: what the main thread does again and again, by samples, that belongs elsewhere: it saves checkpoints, creates
// sessions, compiles, runs TensorFlow eagerly, decodes, logs, sleeps, blocks an event loop, or computes in Python. work_kinds.c has
// what each looks like.
#include "analyze/findings/own_lines.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/server.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/source_line.h"
#include "analyze/findings/work_paths.h"
#include "analyze/lines/lines.h"
#include "analyze/runs/compilations.h"
#include "base/sorted.h"

#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

#define BINS 20 // of the main thread's other time: what happens once, however long, is at one place of it

struct work_total {               // of a kind
  double ns, squares;             // squares: of the single samples' times
  uint32_t bins, observed_bins;   // a bit for each in which it happens: of the other time, of the observations
  size_t times, observations;     // that it begins: after other work or in another observation; in another observation
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
  double all_ns, all_squares, outside_ns; // of the main thread's samples; of their single times; outside of models
  double idle_ms;                         // of an observation: XLA executes no module
  const char *compiled_again;             // what, and why; NULL: unknown
  bool trains;                            // some layer has a backward pass
};

// Which kind of work a sample shows.
static unsigned kind_of_sample(const struct works *works, const struct work_path *path, uint32_t context_id,
                               uint8_t sample)
{
  if ((path->kind == WORK_JAX_CALLS || path->kind == WORK_JAX_EAGER) && sample != SAMPLE_CPU)
    return WORK_NONE; // JAX computes what was called before
  if (path->kind != WORK_NONE)
    return work_kinds[path->kind].title != NULL ? path->kind : WORK_NONE;
  if (path->is_in_loop &&
      (sample == SAMPLE_SLEEP || sample == SAMPLE_IO || sample == SAMPLE_LOCK || sample == SAMPLE_CHILD))
    return WORK_BLOCKED;
  if (sample == SAMPLE_SLEEP)
    return WORK_SLEEP;
  if (path->is_arrays && !works->trains) // the input of each request; training could prepare its own elsewhere
    return WORK_NONE;
  const struct store_frame *frame =
      own_lines_frame(&works->lines, context_id); // without a module: code made at run time
  bool is_own = !path->is_models && (frame->kind == XSP_FRAME_PYTHON || frame->module != NULL);
  return is_own && (sample == SAMPLE_CPU || sample == SAMPLE_IO || sample == SAMPLE_CHILD) ? WORK_OWN : WORK_NONE;
}

struct main_sample { // of the main thread, within a function of the program
  int64_t time_ns;
  double ns;
  uint32_t context_id;
  unsigned kind;
  bool is_after; // the last observation
};
struct main_samples {
  VECTOR(struct main_sample) items; // by time
  double ns[WORK_KINDS], all_ns;    // by kind
};

SORTED_BY(compare_samples, struct main_sample, RISING(time_ns))

// Those in the loop, by time. XLA's profile has pauses, and in them no observations: while lines of a loop that is known run, it
// goes on.
static void keep_loop(struct works *works, const struct view_run *run, bool *is_loops, struct main_samples *samples)
{
  size_t kept = 0;
  bool has_pauses = run->observation_count >= BINS / 2 && findings_is_xlas(works->findings);
  vector_sort(&samples->items, compare_samples);
  for (size_t i = 0; i < samples->items.count; i++) {
    struct main_sample *sample = &samples->items.items[i];
    const struct work_path *path = work_path_of(&works->work_paths, sample->context_id);
    bool *is_loop = &is_loops[works->paths.contexts[path->own - 1].frame_id];
    bool is_observed = findings_is_in_loop(run, sample->time_ns);
    *is_loop |= is_observed;
    if (!is_observed && !(has_pauses && *is_loop))
      continue;
    sample->is_after = !is_observed;
    samples->ns[sample->kind] += sample->ns;
    samples->all_ns += sample->ns;
    works->all_squares += sample->ns * sample->ns;
    works->outside_ns += path->is_models ? 0 : sample->ns;
    samples->items.items[kept++] = *sample;
  }
  samples->items.count = kept;
  works->all_ns += samples->all_ns;
}

// The first compilation of a function happens once, though a program with many functions has many of them.
static bool is_first_compilation(const struct compilations *compilations, int64_t time_ns)
{
  size_t at = compilations_at(compilations, time_ns);
  return at != SIZE_MAX && compilations->items[at].is_first;
}

static enum status load_main(struct works *works, const struct view_run *run, struct arena *arena,
                             struct main_samples *ret, struct error *err)
{
  struct store *store = works->findings->question->view->store;
  struct store_samples samples;
  struct compilations compilations;
  struct map is_main;
  size_t threads;
  XSP_TRY(store_load_samples(store, run->run->run_id, arena, &samples, err));
  XSP_TRY(compilations_load(works->findings->question, run, &compilations, err));
  XSP_TRY(server_tracks(works->findings, run, &is_main, &threads, err));
  double part = threads > 0 ? 1 / (double)threads : 1;
  for (size_t i = 0; i < samples.count; i++) {
    uint32_t context_id = samples.context_id[i];
    const struct work_path *path = context_id != 0 ? work_path_of(&works->work_paths, context_id) : NULL;
    if (path == NULL || path->own == 0 || path->kind == WORK_IMPORT ||
        map_find(&is_main, map_number(samples.track_id[i])) == NULL)
      continue;
    bool is_first = is_first_compilation(&compilations, samples.time_ns[i]);
    unsigned kind = is_first ? WORK_NONE : kind_of_sample(works, path, context_id, samples.kind[i]);
    kind = threads > 0 && kind == WORK_SLEEP ? WORK_NONE : kind; // F41 is about these waits
    *vector_add(&ret->items) = (struct main_sample){.time_ns = samples.time_ns[i],
                                                    .ns = (double)samples.duration_ns[i] * part,
                                                    .context_id = context_id,
                                                    .kind = kind};
  }
  map_done(&is_main);
  keep_loop(works, run, arena_alloc_array(arena, works->paths.frame_count + 1, sizeof(bool)), ret);
  return STATUS_OK;
}

static uint32_t bin_of(double part)
{
  return 1u << (unsigned)fmin(part * BINS, BINS - 1);
}

// `part`: of the other time that passed before it; `begins`: after other work.
static void add_sample(struct works *works, const struct main_sample *sample, double part, bool begins,
                       size_t observation, double observed_part)
{
  struct work_total *total = &works->totals[sample->kind];
  total->times += begins || total->observation != observation;
  total->observations += total->observation != observation;
  if (total->observation != observation)
    total->observation_ns = 0;
  total->observation = observation;
  total->observation_ns += sample->ns;
  total->once_ns = fmax(total->once_ns, total->observation_ns);
  total->ns += sample->ns;
  total->squares += sample->ns * sample->ns;
  total->bins |= bin_of(part);
  total->observed_bins |= bin_of(observed_part);
  own_lines_add(&works->lines, work_path_of(&works->work_paths, sample->context_id)->own, sample->kind, sample->ns);
  if (sample->kind == WORK_OWN)
    works->own_ns[sample->context_id] += sample->ns;
}

static bool is_eager(unsigned kind)
{
  return kind == WORK_EAGER_KERAS || kind == WORK_EAGER || kind == WORK_JAX_EAGER;
}

// The innermost call of Python's; 0: none.
static uint32_t python_of(const struct works *works, uint32_t context_id)
{
  while (context_id != 0 && own_lines_frame(&works->lines, context_id)->kind != XSP_FRAME_PYTHON)
    context_id = (uint32_t)works->paths.contexts[context_id - 1].parent_id;
  return context_id;
}

// After other work; of operators that Python runs one by one, after another one: there may be no other work.
static bool begins_at(const struct works *works, const struct main_sample *sample, const struct main_sample *before)
{
  return before == NULL || before->kind != sample->kind ||
         (is_eager(sample->kind) && python_of(works, before->context_id) != python_of(works, sample->context_id));
}

static enum status add_run(struct works *works, const struct view_run *run, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
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
    if (sample->kind != WORK_NONE) // what is after the last observation would be in many
      add_sample(works, sample, other_passed_ns / other_ns, begins_at(works, sample, i > 0 ? sample - 1 : NULL),
                 sample->is_after ? run->observation_count + i : observation,
                 (double)observation / (double)run->observation_count);
    all_passed_ns += sample->ns;
    passed_ns[sample->kind] += sample->ns;
  }
  vector_done(&samples.items);
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
  switch (kind) {
  case WORK_READS:
    return "work_in_loop-idle";
  case WORK_JAX_CALLS:
    return "work_in_loop-jit";
  case WORK_TREE_CALLS:
    return "work_in_loop-calls";
  case WORK_OWN:
  case WORK_CHECKS:
  case WORK_TRANSFERS:
  case WORK_DETOKENIZER:
  case WORK_TOKENIZER: // each request has a text or picture of its own
  case WORK_DECODING:
  case WORK_STATES:
  case WORK_TEXT:
  case WORK_EAGER: // of a step under tf.function the input may be made so
  case WORK_JAX_EAGER:
    return "work_in_loop-own";
  default:
    return "work_in_loop-share";
  }
}

// What could be gained of a kind's time: waits cost nothing while XLA computes, nor do calls for what it runs later.
static double gain_ms(const struct works *works, unsigned kind, double ms)
{
  return kind == WORK_READS || kind == WORK_JAX_CALLS ? fmin(ms, works->idle_ms) : ms;
}

static void add(struct works *works, unsigned kind, const struct own_line *line)
{
  struct findings *findings = works->findings;
  struct finding *finding = findings_add(findings);
  finding_at_own_line(findings, finding, &works->lines, line);
  finding->time_ms = line->ns * per_sampled(works) / 1e6 / (double)findings->set->observation_count;
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = gain_ms(works, kind, finding->time_ms);
  finding->saving_basis =
      finding->saving_ms < finding->time_ms
          ? "time of the main thread there, by samples, at most the time in which XLA runs no module"
          : "time of the main thread there, by samples, as if it took none";
  finding->title =
      arena_format(findings->question->arena, work_kinds[kind].title, findings_name(findings, finding->context));
  const char *callee =
      kind == WORK_OWN ? own_lines_callee(findings, &works->paths, works->own_ns, line->context, line->ns / 2) : NULL;
  const char *source =
      kind == WORK_OWN && callee == NULL ? findings_source_line(findings, finding->file, finding->line) : NULL;
  if (callee != NULL)
    finding->title = arena_format(findings->question->arena, "%s, most in %s", finding->title, callee);
  if (source != NULL)
    finding->title = arena_format(findings->question->arena, "%s: %s", finding->title, source);
  if (work_kinds[kind].title == work_kinds[WORK_COMPILATION].title && works->compiled_again != NULL)
    finding->title = arena_format(findings->question->arena, "%s: %s", finding->title, works->compiled_again);
  finding_at_setting(findings, finding, work_kinds[kind].key);
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

// Numbers that are read every so many steps cost little: what is queued before is computed meanwhile. A search has a model for each
// trial, of several steps. JAX compiles each operation that is not under jax.jit for each shape, also to set up a few layers.
static bool is_often(const struct works *works, unsigned kind)
{
  const struct work_total *total = &works->totals[kind];
  struct findings *findings = works->findings;
  if (kind == WORK_COMPILATION && findings_is_xlas(findings))
    return (double)total->observations >= findings_threshold(findings, "work_in_loop-parts");
  if (kind == WORK_MODEL)
    return total->observations * 2 > findings->set->observation_count;
  return kind != WORK_READS || total->times * 2 > findings->set->observation_count;
}

// In many parts of the other time, or, where that is mostly in one step, such as the first compilation, of the observations. Of other
// time there is too little beside what has most of the time: then it begins often.
static bool happens_again(const struct works *works, const struct work_total *total)
{
  double least = findings_threshold(works->findings, "work_in_loop-parts");
  return __builtin_popcount(total->bins) >= least || __builtin_popcount(total->observed_bins) >= least ||
         (total->ns > works->all_ns / 2 && (double)total->times >= least);
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
  if (kind == WORK_EAGER) // programs without a fault have nearly as much, and short ones few samples
    ms *= 1 - lines_error_ns(total->ns, total->squares, works->all_ns, works->all_squares) / total->ns;
  if (found != NULL && is_judged(works, kind) && is_often(works, kind) &&
      analyze_share_pct(gain_ms(works, kind, ms), findings->loop_ms) >= least_pct && happens_again(works, total))
    add(works, kind, found);
}

static bool have_backward(const struct places *places)
{
  for (size_t i = 0; i < places->function_count; i++)
    if (findings_is_backward(places->functions[i].name) ||
        strstr(places->functions[i].name, "gradient_tape/") != NULL) // TensorFlow's
      return true;
  return false;
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
  works->trains = have_backward(places);
  XSP_TRY(store_call_paths(store, scratch, &works->paths, err));
  works->lines.paths = &works->paths;
  work_paths_start(&works->work_paths, &works->paths, scratch);
  works->own_ns = arena_alloc_array(scratch, works->paths.context_count + 1, sizeof *works->own_ns);
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(add_run(works, findings->set->runs[i], err));
  XSP_TRY(findings_modules_idle(findings, &works->idle_ms, err));
  XSP_TRY(findings_compiled_again(findings, &works->compiled_again, err));
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
    .thresholds =
        {{"work_in_loop-share", "%", 5, "time of the main thread there, of the program's loop, at least"},
         {"work_in_loop-own", "%", 20,
          "the same, of the program's own code, of libraries that no kind is about, of checks of inputs, of "
          "tokenizers, "
          "of pictures, of states, of tensors as text, of eager operators (not of Keras' steps) and of copies to JAX"},
         {"work_in_loop-idle", "%", 15, "the same while XLA runs no module, of waits for JAX's results"},
         {"work_in_loop-jit", "%", 50, "the same while XLA runs no module, of calls of functions under jax.jit"},
         {"work_in_loop-calls", "%", 30, "the same, of predict() of LightGBM and XGBoost, beside computing trees"},
         {"work_in_loop-parts", "", 10,
          "of 20 parts of the main thread's other time, or of the observations, in which it happens, at least: "
          "what happens once does not count"}},
    .find = find,
};
