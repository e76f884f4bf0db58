// SPDX-License-Identifier: Apache-2.0
// F25, recompilation: a framework compiles again and again while the loop runs, for new shapes, values or functions.
#include "analyze/findings/own_lines.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/installed.h"
#include "analyze/runs/compilations.h"
#include "base/vector.h"

struct reason { // of compilations that are alike
  struct compilation first;
  double ns;
};
struct compiling {
  double ns, observations; // of all observations, and in how many; without the first of each run
  uint32_t place;
  double most_ns;
  VECTOR(struct reason) reasons;
  // Where no compilation has a place, by samples of main threads within them: the program's line with most.
  struct store_call_paths paths;
  struct own_lines lines;
  double sampled_ns;
  const bool *counts; // of the run's compilations, whose samples are added
};

static void compiling_done(struct compiling *compiling)
{
  vector_done(&compiling->reasons);
  own_lines_done(&compiling->lines);
}

static void add_sample(void *context, size_t compilation, uint32_t context_id, double ns)
{
  struct compiling *compiling = context;
  if (!compiling->counts[compilation])
    return;
  own_lines_add(&compiling->lines, context_id, 0, ns);
  compiling->sampled_ns += ns;
}

static void add_reason(struct compiling *compiling, const struct compilation *one)
{
  size_t at = 0;
  while (at < compiling->reasons.count && !(compilation_is_of_one(&compiling->reasons.items[at].first, one) &&
                                            compilation_is_alike(&compiling->reasons.items[at].first, one)))
    at++;
  if (at == compiling->reasons.count)
    *vector_add(&compiling->reasons) = (struct reason){.first = *one};
  compiling->reasons.items[at].ns += (double)one->duration_ns;
}

// Whether a line is known, of it or of what calls it.
static bool has_line(const struct findings *findings, uint32_t place)
{
  while (place != PLACE_NONE && findings->places->all[place].file == NULL)
    place = findings->places->all[place].parent;
  return place != PLACE_NONE;
}

// In an observation after the first, and no function's first.
static bool is_in_loop(const struct view_run *run, const struct compilation *one)
{
  return !one->is_first && one->kind != COMPILATION_SESSION && one->observation >= 1 &&
         (size_t)one->observation < run->observation_count && !run->observations[one->observation].warmup;
}

static enum status add_run(struct findings *findings, const struct places_run *places, const struct view_run *run,
                           struct compiling *ret, struct error *err)
{
  struct compilations found;
  struct arena *scratch = findings->question->scratch;
  XSP_TRY(compilations_load(findings->question, run, &found, err));
  bool *compiles = arena_alloc_array(scratch, run->observation_count + 1, sizeof *compiles);
  bool *counts = arena_alloc_array(scratch, found.count + 1, sizeof *counts);
  for (size_t i = 0; i < found.count; i++) {
    const struct compilation *one = &found.items[i];
    if (!is_in_loop(run, one))
      continue;
    counts[i] = true;
    ret->observations += !compiles[one->observation];
    compiles[one->observation] = true;
    ret->ns += (double)one->duration_ns;
    add_reason(ret, one);
    uint32_t place = places->place_of[one->row];
    if (place != PLACE_NONE && (double)one->duration_ns > ret->most_ns) {
      ret->most_ns = (double)one->duration_ns;
      ret->place = place;
    }
  }
  ret->counts = counts;
  return compilations_samples(findings->question, run, &found, add_sample, ret, err);
}

// What most of the time goes to.
static const struct compilation *main_reason(const struct compiling *compiling)
{
  const struct reason *most = &compiling->reasons.items[0];
  for (size_t i = 1; i < compiling->reasons.count; i++)
    if (compiling->reasons.items[i].ns > most->ns)
      most = &compiling->reasons.items[i];
  return &most->first;
}

enum status findings_compiled_again(struct findings *findings, const char **ret_text, struct error *err)
{
  struct compiling compiling SCOPED(compiling_done) = {.place = PLACE_NONE};
  *ret_text = NULL;
  for (size_t i = 0; i < findings->set->run_count; i++) {
    struct compilations found;
    const struct view_run *run = findings->set->runs[i];
    XSP_TRY(compilations_load(findings->question, run, &found, err));
    for (size_t k = 0; k < found.count; k++)
      if (is_in_loop(run, &found.items[k]))
        add_reason(&compiling, &found.items[k]);
  }
  const struct compilation *most = compiling.reasons.count > 0 ? main_reason(&compiling) : NULL;
  if (most != NULL && most->reason != NULL)
    *ret_text = arena_format(findings->question->arena, "%s%s%s", most->function != NULL ? most->function : "",
                             most->function != NULL ? ", " : "", most->reason);
  return STATUS_OK;
}

static const char *advice_for_tf_function(enum compilation_kind kind)
{
  return kind == COMPILATION_SHAPE
             ? "keep shapes equal, or give @tf.function an input_signature with None for sizes that vary, or "
               "reduce_retracing=True; xsp analyze compilation has all reasons"
             : "pass tensors instead of Python numbers, or give @tf.function an input_signature; make a tf.function "
               "once, outside of the loop; xsp analyze compilation has all reasons";
}

static const char *advice_for(enum compilation_kind kind, bool is_xlas)
{
  if (is_xlas && kind != COMPILATION_SHAPE)
    return "jit a function once, outside of the loop (a new lambda is a new function); xsp analyze compilation has all "
           "reasons";
  if (kind == COMPILATION_SHAPE)
    return is_xlas ? "keep shapes equal: pad to a few sizes; xsp analyze compilation has all reasons"
                   : "keep shapes equal: pad to a few sizes, or mark_dynamic() or dynamic=True; xsp analyze "
                     "compilation has all reasons";
  return "keep values that are compiled in equal, or pass numbers as tensors; compile a function once, outside of the "
         "loop; xsp analyze compilation has all reasons";
}

// JAX also compiles operations outside of jax.jit, once for each shape, so a program that sets up its arrays compiles a few times.
static const char *least_of(const struct findings *findings)
{
  return findings_is_xlas(findings) ? "recompilation-jax" : "recompilation-observations";
}

static void add(struct findings *findings, const struct compiling *compiling)
{
  double count = (double)findings->set->observation_count;
  struct finding *finding = findings_add(findings);
  const struct own_line *line = own_lines_main(&compiling->lines, 0, compiling->sampled_ns);
  if (line != NULL && !has_line(findings, compiling->place))
    finding_at_own_line(findings, finding, &compiling->lines, line);
  else if (compiling->place != PLACE_NONE)
    finding_at_place(findings, finding, compiling->place);
  finding->time_ms = compiling->ns / 1e6 / count;
  finding->share_pct = analyze_share_pct(finding->time_ms, findings_mean_loop_ms(findings));
  finding->saving_ms = finding->share_pct / 100 * findings->loop_ms;
  finding->saving_basis = "the share of the loop that compilations after the first observation take";
  const struct compilation *reason = main_reason(compiling);
  finding->context = reason->is_tf_function ? "tf.function" : findings_is_xlas(findings) ? "jax.jit" : "torch.compile";
  // A module of PyTorch's is compiled by a function of PyTorch's.
  bool is_named = reason->function != NULL && !(reason->file != NULL && analyze_is_installed(reason->file));
  finding->title = arena_format(findings->question->arena,
                                "%s is compiled again in %.0f of %.0f observations, %s each on average%s%s",
                                is_named ? reason->function : "the model", compiling->observations, count,
                                findings_time(findings, compiling->ns / 1e6 / compiling->observations),
                                reason->reason != NULL ? ": " : "", reason->reason != NULL ? reason->reason : "");
  finding->advice = reason->is_tf_function ? advice_for_tf_function(reason->kind)
                                           : advice_for(reason->kind, findings_is_xlas(findings));
  finding->threshold = findings_threshold_of(findings, least_of(findings));
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "observations", compiling->observations);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct compiling compiling SCOPED(compiling_done) = {.place = PLACE_NONE};
  uint32_t compile;
  if (!store_find_string(findings->question->view->store, "compile", 7, &compile))
    return findings_lack(findings, err, "it has no compilations");
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(store_call_paths(findings->question->view->store, findings->question->scratch, &compiling.paths, err));
  compiling.lines.paths = &compiling.paths;
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(add_run(findings, &places->runs[i], findings->set->runs[i], &compiling, err));
  if (compiling.reasons.count > 0 && compiling.observations >= findings_threshold(findings, least_of(findings)))
    add(findings, &compiling);
  return STATUS_OK;
}

const struct finding_rule finding_f25 = {
    .id = "F25",
    .key = "recompilation",
    .title = "compilations while the loop runs",
    .thresholds = {{"recompilation-observations", "", 3, "observations after the first that compile again, at least"},
                   {"recompilation-jax", "", 10, "the same, of programs of JAX"}},
    .find = find,
};
