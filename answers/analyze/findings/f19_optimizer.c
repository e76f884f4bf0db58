// SPDX-License-Identifier: Apache-2.0
// F19, optimizer: a step of an optimizer of PyTorch updates one parameter after the other, by small operators.
#include "analyze/findings/busiest_line.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <string.h>
#include <xsp/call_path.h>

// The outermost function of torch.optim, below the program's line.
static bool is_step(const struct places *places, const struct place *function)
{
  static const char folder[] = "/torch/optim/";
  const struct place *caller = function->parent != PLACE_NONE ? &places->functions[function->parent] : NULL;
  bool is_optimizers = function->file != NULL && strstr(function->file, folder) != NULL;
  return function->frame_kind == XSP_FRAME_PYTHON && is_optimizers &&
         !(caller != NULL && caller->file != NULL && strstr(caller->file, folder) != NULL) &&
         strstr(function->name, "zero_grad") == NULL;
}

// For all parameters at once.
static bool takes_lists(const struct place *function)
{
  return strncmp(function->name, "aten::_fused_", 13) == 0 || strncmp(function->name, "aten::_foreach_", 15) == 0;
}

// By function, with those that it calls. What the program computes in a closure that it hands to the step, as Lightning does, is not
// the optimizer's. In a folded file, where the number of steps is unknown, those that take lists are as many as steps: none counts.
static struct place_units *gather_steps(struct findings *findings)
{
  const struct places *places = findings->places;
  struct place_units *gathered =
      arena_alloc_array(findings->question->scratch, places->function_count + 1, sizeof *gathered);
  for (size_t i = places->function_count; i > 0; i--) { // functions come after their callers
    const struct place *function = &places->functions[i - 1];
    struct place_units *units = &gathered[i - 1];
    if (!(places->is_folded && takes_lists(function)))
      place_units_add(units, &function->own.operators);
    if (function->parent != PLACE_NONE && !place_is_own(function)) // below a step the program's own code is a closure
      place_units_add(&gathered[function->parent], units);
  }
  return gathered;
}

static enum status judge(struct findings *findings, uint32_t function, const struct place_units *units,
                         struct error *err)
{
  const struct places *places = findings->places;
  double count = units->count / places->observations, mean_us = units->usual_ns / units->count / 1e3;
  if (!is_step(places, &places->functions[function]) || !(count >= findings_threshold(findings, "optimizer-count")) ||
      !(mean_us < findings_threshold(findings, "optimizer-mean")))
    return STATUS_OK;
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, places->functions[function].function);
  finding->context = places->functions[function].name;
  finding_spans_in_function(finding, function);
  finding->time_ms = findings_per_observation_ms(findings, units->ns + units->lead_ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = findings_per_observation_ms(findings, units->usual_ns + units->lead_ns) * (1 - 1 / count);
  finding->saving_basis = "usual time of its operators, and that between them, as if one took the place of all";
  finding->title = arena_format(findings->question->arena,
                                "the optimizer is not fused: its step runs %.0f operators %s, of %s typically", count,
                                findings_per_observation(findings), findings_time(findings, mean_us / 1e3));
  finding->advice = "create the optimizer with fused=True, or where it has no such option with foreach=True";
  finding->threshold = findings_threshold_of(findings, "optimizer-mean");
  finding->confidence = places->is_folded ? CONFIDENCE_LOW : CONFIDENCE_HIGH; // of the whole run
  finding_number(finding, "count", count);
  finding_number(finding, "mean_us", mean_us);
  return finding_saves_line(findings, finding, 1 - 1 / count, err);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  XSP_TRY(findings_host_places(findings, &places, err)); // F2 has small kernels
  const struct place_units *gathered = gather_steps(findings);
  for (uint32_t i = 0; i < places->function_count; i++)
    XSP_TRY(judge(findings, i, &gathered[i], err));
  return STATUS_OK;
}

const struct finding_rule finding_f19 = {
    .id = "F19",
    .key = "optimizer",
    .title = "optimizer that is not fused",
    .thresholds = {{"optimizer-count", "", 100, "operators of its step per observation, at least"},
                   {"optimizer-mean", "us", 30, "mean time of these, less than"}},
    .takes_folded = true,
    .find = find,
};
