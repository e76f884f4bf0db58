// SPDX-License-Identifier: Apache-2.0
// F25, recompilation: a framework compiles again and again while the loop runs, for new shapes, values or functions.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <math.h>
#include <string.h>

struct compiling {
  double ns, observations; // of all observations, and in how many; without the first of each run
  uint32_t place;
  double most_ns;
};

static enum status add_run(struct findings *findings, const struct places_run *places, const struct view_run *run,
                           uint32_t compile, struct compiling *ret, struct error *err)
{
  enum { COLUMNS = STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_DURATION_NS) };
  struct run_columns columns;
  struct arena arena = {0};
  enum status status = run_columns_load(findings->question->view->store, run, COLUMNS, &arena, &columns, err);
  if (status == STATUS_OK) {
    bool *compiles = arena_alloc_array(&arena, run->observation_count + 1, sizeof *compiles);
    for (size_t row = 0; row < columns.spans.count; row++) {
      uint32_t observation;
      if (columns.spans.category[row] != compile || !run_columns_observation(&columns, row, &observation) ||
          observation == 0 || run->observations[observation].warmup)
        continue;
      double ns = (double)columns.spans.duration_ns[row];
      ret->observations += !compiles[observation];
      compiles[observation] = true;
      ret->ns += ns;
      if (places->place_of[row] != PLACE_NONE && ns > ret->most_ns) {
        ret->most_ns = ns;
        ret->place = places->place_of[row];
      }
    }
  }
  arena_done(&arena);
  return status;
}

static void add(struct findings *findings, const struct compiling *compiling)
{
  double count = (double)findings->set->observation_count;
  struct finding *finding = findings_add(findings);
  if (compiling->place != PLACE_NONE)
    finding_at_place(findings, finding, compiling->place);
  finding->context = "torch.compile";
  finding->time_ms = compiling->ns / 1e6 / count;
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = finding->time_ms;
  finding->saving_basis = "time of compilations after the first observation, as if there were none";
  finding->title = arena_format(
      findings->question->arena, "the model is compiled again in %.0f of %.0f observations, %s each on average",
      compiling->observations, count, findings_time(findings, compiling->ns / 1e6 / compiling->observations));
  finding->advice = "keep shapes and values that are compiled in equal: pad to a few sizes, mark_dynamic() or "
                    "dynamic=True, numbers as "
                    "tensors; TORCH_LOGS=recompiles has the reasons";
  finding->threshold = findings_threshold_of(findings, "recompilation-observations");
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "observations", compiling->observations);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct compiling compiling = {.place = PLACE_NONE};
  uint32_t compile;
  if (!store_find_string(findings->question->view->store, "compile", 7, &compile))
    return findings_lack(findings, err, "it has no compilations");
  XSP_TRY(findings_places(findings, &places, err));
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(add_run(findings, &places->runs[i], findings->set->runs[i], compile, &compiling, err));
  if (compiling.observations >= findings_threshold(findings, "recompilation-observations"))
    add(findings, &compiling);
  return STATUS_OK;
}

const struct finding_rule finding_f25 = {
    .id = "F25",
    .key = "recompilation",
    .title = "compilations while the loop runs",
    .thresholds = {{"recompilation-observations", "", 3, "observations after the first that compile, at least"}},
    .find = find,
};
