// SPDX-License-Identifier: Apache-2.0
// F64, frequent evaluation: most training steps also evaluate the model, which takes much of the loop. Functions are recognised by
// their names: what they compute looks like any other prediction.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/source_line.h"

#include <string.h>
#include <xsp/call_path.h>

struct evaluations {
  const struct places *places;
  uint32_t *within;      // by place: the line of the outermost such function around, as a place; PLACE_NONE
  double *line_ns, *ns;  // by such a line; by function
  bool *has_backward;    // by function: it trains
  bool trains;           // there are backward operators
  uint32_t busiest;      // the line with most time of such functions without backward operators; PLACE_NONE
  size_t steps, with_it; // observations that are no warm-up; those in which its function runs
};

// Those of libraries that train: transformers, Lightning.
static bool is_of_trainer(const struct place *place)
{
  static const char *const files[] = {"*/transformers/trainer*.py", "*/loops/evaluation_loop.py"};
  static const char *const names[] = {"*Trainer.evaluate", "*EvaluationLoop.run"};
  return place->file != NULL && findings_name_matches(place->file, files, sizeof files / sizeof files[0]) &&
         findings_name_matches(place->name, names, sizeof names / sizeof names[0]);
}

static bool is_evaluation(const struct place *place)
{
  static const char *const names[] = {"eval*", "*_eval*", "validat*", "*_validat*", "test", "test_*"};
  const char *dot = strrchr(place->name, '.');
  if (place->frame_kind != XSP_FRAME_PYTHON || place_is_installed(place))
    return place->frame_kind == XSP_FRAME_PYTHON && is_of_trainer(place);
  return findings_name_matches(dot != NULL ? dot + 1 : place->name, names, sizeof names / sizeof names[0]);
}

static void find_functions(struct findings *findings, struct evaluations *evaluations)
{
  const struct places *places = evaluations->places;
  struct arena *scratch = findings->question->scratch;
  bool *backward = arena_alloc_array(scratch, places->count + 1, sizeof *backward);
  evaluations->within = arena_alloc_array(scratch, places->count + 1, sizeof *evaluations->within);
  evaluations->line_ns = arena_alloc_array(scratch, places->count + 1, sizeof *evaluations->line_ns);
  evaluations->ns = arena_alloc_array(scratch, places->count + 1, sizeof *evaluations->ns);
  evaluations->has_backward = arena_alloc_array(scratch, places->count + 1, sizeof *evaluations->has_backward);
  evaluations->busiest = PLACE_NONE;
  for (uint32_t i = 0; i < places->count; i++) { // callers come before what they call
    const struct place *place = &places->all[i];
    uint32_t around = place->parent != PLACE_NONE ? evaluations->within[place->parent] : PLACE_NONE;
    uint32_t at = around != PLACE_NONE || !is_evaluation(place) ? around : i;
    backward[i] = findings_is_backward(place->name) || (place->parent != PLACE_NONE && backward[place->parent]);
    evaluations->within[i] = at;
    evaluations->trains |= backward[i];
    if (at == PLACE_NONE)
      continue;
    evaluations->has_backward[places->all[at].function] |= backward[i];
    evaluations->ns[places->all[at].function] += place->own.host_ns + place->own.device_ns;
    evaluations->line_ns[at] += place->own.host_ns + place->own.device_ns;
  }
  for (uint32_t i = 0; i < places->count; i++)
    if (evaluations->within[i] == i && !evaluations->has_backward[places->all[i].function] &&
        (evaluations->busiest == PLACE_NONE || evaluations->line_ns[i] > evaluations->line_ns[evaluations->busiest]))
      evaluations->busiest = i;
}

static bool is_busiest(const struct evaluations *evaluations, uint32_t place)
{
  uint32_t within = place != PLACE_NONE ? evaluations->within[place] : PLACE_NONE;
  const struct place *all = evaluations->places->all;
  return within != PLACE_NONE && all[within].function == all[evaluations->busiest].function;
}

static enum status count_steps(struct findings *findings, struct evaluations *evaluations, struct error *err)
{
  for (size_t i = 0; i < evaluations->places->run_count; i++) {
    struct arena arena SCOPED(arena_done) = {0};
    const struct view_run *run = findings->set->runs[i];
    const struct places_run *places = &evaluations->places->runs[i];
    struct run_columns columns;
    XSP_TRY(run_columns_load(findings->question, run, 0, &arena, &columns, err));
    bool *has_it = arena_alloc_array(&arena, run->observation_count + 1, sizeof *has_it);
    uint32_t observation;
    for (uint32_t row = 0; row < columns.spans.count; row++)
      if (is_busiest(evaluations, places->place_of[row]) && run_columns_observation(&columns, row, &observation))
        has_it[observation] = true;
    for (size_t k = 0; k < run->observation_count; k++) {
      evaluations->steps += !run->observations[k].warmup;
      evaluations->with_it += !run->observations[k].warmup && has_it[k];
    }
  }
  return STATUS_OK;
}

// A trainer's evaluation is one by all means; its share is of the operators, since it also reads batches and counts between them. A
// function of the program may be about anything: its operators have to take much of the loop.
static double share_of(const struct findings *findings, const struct evaluations *evaluations, double ms)
{
  const struct place_figures *total = &evaluations->places->total;
  double layers_ms = findings_per_observation_ms(findings, total->host_ns + total->device_ns);
  bool is_trainers = is_of_trainer(&evaluations->places->all[evaluations->busiest]);
  return analyze_share_pct(ms, is_trainers ? layers_ms : findings->loop_ms);
}

static void add(struct findings *findings, const struct evaluations *evaluations, double ms)
{
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, evaluations->busiest);
  finding->time_ms = finding->saving_ms = ms;
  finding->share_pct = share_of(findings, evaluations, ms);
  finding->saving_basis = "time of its operators, as if it took none";
  finding->title =
      arena_format(findings->question->arena, "%s runs in %zu of %zu training steps to evaluate the model, %s %s",
                   findings_name(findings, finding->context), evaluations->with_it, evaluations->steps,
                   findings_time(findings, ms), findings_per_observation(findings));
  finding_at_setting(findings, finding, "frequent_evaluation");
  finding->advice = "evaluate once an epoch, or every so many steps, or on a part of the data";
  finding->threshold = findings_threshold_of(findings, "frequent_evaluation-share");
  finding->confidence = CONFIDENCE_MEDIUM;
}

static enum status find(struct findings *findings, struct error *err)
{
  struct evaluations evaluations = {.places = NULL};
  XSP_TRY(findings_places(findings, &evaluations.places, err));
  if (!evaluations.places->has_contexts || evaluations.places->is_folded)
    return findings_lack(findings, err, "it has no call paths");
  find_functions(findings, &evaluations);
  if (evaluations.busiest == PLACE_NONE || !evaluations.trains)
    return STATUS_OK;
  XSP_TRY(count_steps(findings, &evaluations, err));
  double ms =
      findings_per_observation_ms(findings, evaluations.ns[evaluations.places->all[evaluations.busiest].function]);
  if (analyze_share_pct((double)evaluations.with_it, (double)evaluations.steps) >=
          findings_threshold(findings, "frequent_evaluation-steps") &&
      share_of(findings, &evaluations, ms) >= findings_threshold(findings, "frequent_evaluation-share"))
    add(findings, &evaluations, ms);
  return STATUS_OK;
}

const struct finding_rule finding_f64 = {
    .id = "F64",
    .key = "frequent_evaluation",
    .title = "evaluation in each step",
    .thresholds = {{"frequent_evaluation-share", "%", 40,
                    "time of the evaluation's operators, of the loop, of a trainer's of all operators, at least"},
                   {"frequent_evaluation-steps", "%", 70, "training steps that evaluate, of all, at least"}},
    .find = find,
};
