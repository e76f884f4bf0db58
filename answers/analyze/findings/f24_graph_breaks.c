// SPDX-License-Identifier: Apache-2.0
// F24, graph breaks: one prediction of a compiled model runs many compiled regions, since torch.compile ends a graph where Python
// decides by a tensor's value, or calls what it cannot follow.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/runs/compilations.h"

#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

// How many functions of the program are around a place: where the model goes on after a break, it is in one of its own.
static unsigned depth_of(const struct places *places, uint32_t place)
{
  unsigned depth = 0;
  for (; place != PLACE_NONE; place = places->all[place].parent)
    depth += place_is_own(&places->all[place]);
  return depth;
}

// Time of operators that regions are made of, and of others, with what they call; not of the wrappers around them.
static double operators_ns(struct findings *findings)
{
  const struct places *places = findings->places;
  bool *is_within = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *is_within);
  double ns = 0;
  for (uint32_t i = 0; i < places->count; i++) { // callers come before what they call
    const struct place *place = &places->all[i];
    bool is_operator = place->level == XSP_LEVEL_LAYER && !place->is_module && !findings_is_compiled(place) &&
                       strcmp(place->name, "torch.compile") != 0;
    is_within[i] = is_operator || (place->parent != PLACE_NONE && is_within[place->parent]);
    ns += is_within[i] ? place->own.host_ns : 0;
  }
  return ns;
}

// What the first graph break that is known was: "; the first: Unsupported Tensor.item() call".
static enum status find_break(struct findings *findings, const char **ret_text, struct error *err)
{
  *ret_text = "";
  for (size_t i = 0; i < findings->set->run_count; i++) {
    struct compilations found;
    XSP_TRY(compilations_load(findings->question, findings->set->runs[i], &found, err));
    for (size_t k = 0; k < found.count; k++)
      if (found.items[k].graph_break != NULL) {
        *ret_text = arena_format(findings->question->arena, "; the first: %s", found.items[k].graph_break);
        return STATUS_OK;
      }
  }
  return STATUS_OK;
}

static void add(struct findings *findings, double regions, uint32_t most, const char *first_break)
{
  struct finding *finding = findings_add(findings);
  double operators_ms = findings_per_observation_ms(findings, operators_ns(findings));
  if (most != PLACE_NONE)
    finding_at_place(findings, finding, most);
  finding->context = "the compiled model";
  finding->time_ms = fmax(findings->latency_ms - operators_ms, 0);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = finding->time_ms * (1 - 1 / regions);
  finding->saving_basis = "time outside of operators: guards, and entering and leaving a region, as if there were one";
  finding->title =
      arena_format(findings->question->arena,
                   "graph breaks: the compiled model runs as %.0f separate graphs per observation instead of one%s",
                   regions, first_break);
  finding->advice =
      "take .item(), print() and branches on values of tensors out of the model (torch.where, torch.cond); "
      "xsp analyze compilation names them, fullgraph=True refuses them";
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "regions", regions);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  uint32_t most = PLACE_NONE;
  double regions = 0, most_here = 0;
  unsigned deepest = 0;
  XSP_TRY(findings_places(findings, &places, err));
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    if (strncmp(place->name, "Torch-Compiled Region", 21) != 0)
      continue;
    double here = place->own.operators.count / places->observations;
    regions += here;
    unsigned depth = depth_of(places, i);
    if (here > 0 && (depth > deepest || (depth == deepest && here > most_here))) {
      deepest = depth;
      most_here = here;
      most = i;
    }
  }
  if (regions == 0)
    return findings_lack(findings, err, "it has no compiled regions of PyTorch");
  const char *first_break;
  if (!(regions >= findings_threshold(findings, "graph_breaks-regions")))
    return STATUS_OK;
  XSP_TRY(find_break(findings, &first_break, err));
  add(findings, regions, most, first_break);
  return STATUS_OK;
}

const struct finding_rule finding_f24 = {
    .id = "F24",
    .key = "graph_breaks",
    .title = "graph breaks of compiled models",
    .thresholds = {{"graph_breaks-regions", "", 4, "compiled regions that an observation runs, at least"}},
    .find = find,
};
