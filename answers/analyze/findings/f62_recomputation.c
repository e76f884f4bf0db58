// SPDX-License-Identifier: Apache-2.0
// F62, recomputation: activation checkpointing keeps no activations, and computes parts of the forward pass again within the backward
// pass. That is for models whose activations do not fit; others only take longer. Times are those of A16.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/source_line.h"

#include <string.h>
#include <xsp/call_path.h>

// Mean time per observation of recomputed operators.
static double again_ms(const struct layers *layers)
{
  double ms = 0;
  for (size_t i = 0; i < layers->run_count; i++) {
    const struct layers_run *run = &layers->runs[i];
    for (size_t k = 0; k < run->rows->count; k++) {
      const struct layer_row *row = &run->rows->items[k];
      uint32_t observation = run->observation_of[row->observation];
      if (observation == ROW_NONE || !layers->set->is_kept[observation] || row->recomputed == LAYER_COMPUTED_ONCE)
        continue;
      const struct layer_device_time *time = run->part->on_device ? &run->rows->device_times[k] : NULL;
      ms += time != NULL ? (double)(time->executed_ns + time->alone_ns) / 1e6 : row->latency_ms;
    }
  }
  return ms / (double)layers->set->kept_count;
}

// The line that calls torch.utils.checkpoint, of several the one with most time below; PLACE_NONE: unknown.
static uint32_t checkpoint_place(struct findings *findings, const struct places *places)
{
  double *ns = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *ns);
  uint32_t *outer = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *outer);
  uint32_t found = PLACE_NONE;
  for (uint32_t i = 0; i < places->count; i++) { // callers come before what they call
    const struct place *place = &places->all[i];
    outer[i] = place->parent != PLACE_NONE ? outer[place->parent] : PLACE_NONE;
    if (outer[i] == PLACE_NONE && place->file != NULL && strstr(place->file, "/torch/utils/checkpoint.py") != NULL)
      outer[i] = place->parent;
    uint32_t source = outer[i] != PLACE_NONE ? place_in_source(places->all, outer[i]) : PLACE_NONE;
    if (source == PLACE_NONE)
      continue;
    ns[source] += places->all[i].own.host_ns + places->all[i].own.device_ns;
    found = found == PLACE_NONE || ns[source] > ns[found] ? source : found;
  }
  return found;
}

static void add(struct findings *findings, uint32_t place, double ms)
{
  struct finding *finding = findings_add(findings);
  if (place != PLACE_NONE)
    finding_at_place(findings, finding, place);
  finding->context = "activation checkpointing";
  finding->time_ms = finding->saving_ms = ms;
  finding->share_pct = analyze_share_pct(ms, findings->loop_ms);
  finding->saving_basis = "time of what is computed again, as if activations were kept";
  finding->title = arena_format(findings->question->arena,
                                "activation checkpointing computes parts of the forward pass again in the backward "
                                "pass, %s %s",
                                findings_time(findings, ms), findings_per_observation(findings));
  finding_at_setting(findings, finding, "recomputation");
  finding->advice = "where memory suffices: no torch.utils.checkpoint, gradient_checkpointing_disable(); else only for "
                    "layers with large activations and little work";
  finding->threshold = findings_threshold_of(findings, "recomputation-share");
  finding->confidence = CONFIDENCE_MEDIUM;
}

static enum status find(struct findings *findings, struct error *err)
{
  struct question question;
  struct layers layers;
  const struct places *places;
  uint32_t sequence;
  if (!store_find_string(findings->question->view->store, "sequence", 8, &sequence))
    return findings_lack(findings, err, "it has no operators of PyTorch with gradients");
  XSP_TRY(findings_ask(findings, LAYER_AUTOGRAD_NAME, &question, err));
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(layers_answer(&question, LAYERS_FOR_LATENCY, &layers, err));
  double ms = layers.count > 0 ? again_ms(&layers) : 0;
  uint32_t place = checkpoint_place(findings, places);
  if (place == PLACE_NONE && places->has_python) // a function of the program's own that computes again
    return STATUS_OK;
  if (analyze_share_pct(ms, findings->loop_ms) >= findings_threshold(findings, "recomputation-share"))
    add(findings, place, ms);
  return STATUS_OK;
}

const struct finding_rule finding_f62 = {
    .id = "F62",
    .key = "recomputation",
    .title = "activation checkpointing",
    .thresholds = {{"recomputation-share", "%", 5, "time of what is computed again, of the program's loop, at least"}},
    .find = find,
};
