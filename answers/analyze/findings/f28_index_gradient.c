// SPDX-License-Identifier: Apache-2.0
// F28, gradients of indexing: tensor[rows, columns] with tensors as indices. Its backward pass (index_put with accumulate) sorts the
// indices and adds gradients up one after the other.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <string.h>
#include <xsp/call_path.h>

struct indexing { // by line of the program: its first place
  double forward_ns, backward_ns;
  uint32_t place;
};

static void sum(struct findings *findings, const struct places *places, struct indexing *ret)
{
  enum { NOTHING, FORWARD, BACKWARD };
  uint8_t *kind = arena_alloc_array(findings->question->scratch, places->count + 1, 1);
  const uint32_t *lines = places_lines(places, findings->question->scratch);
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    kind[i] = place->parent != PLACE_NONE ? kind[place->parent] : NOTHING;
    if (strcmp(place->name, "aten::index") == 0)
      kind[i] = FORWARD;
    else if (strstr(place->name, "IndexBackward") != NULL)
      kind[i] = BACKWARD;
    uint32_t source = kind[i] != NOTHING ? place_in_source(places->all, i) : PLACE_NONE;
    if (source == PLACE_NONE)
      continue;
    struct indexing *line = &ret[lines[source]];
    *(kind[i] == FORWARD ? &line->forward_ns : &line->backward_ns) += place->own.host_ns + place->own.device_ns;
    line->place = source;
  }
}

static void add(struct findings *findings, const struct indexing *indexing)
{
  struct finding *finding = findings_add(findings);
  double forward_ms = findings_per_observation_ms(findings, indexing->forward_ns),
         backward_ms = findings_per_observation_ms(findings, indexing->backward_ns);
  finding_at_place(findings, finding, indexing->place);
  finding->context = "aten::index";
  finding->time_ms = forward_ms + backward_ms;
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = finding->time_ms;
  finding->saving_basis = "time of indexing, forward and backward, as if another operator took none";
  finding->title = arena_format(
      findings->question->arena,
      "the gradient of indexing by tensors takes %s %s, one element after the other, and the indexing %s",
      findings_time(findings, backward_ms), findings_per_observation(findings), findings_time(findings, forward_ms));
  finding->advice =
      "index_select (or gather) on a flat tensor, or an embedding: their gradients are added up in parallel";
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "forward_ms", forward_ms);
  finding_number(finding, "backward_ms", backward_ms);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  XSP_TRY(findings_places(findings, &places, err));
  if (!places->has_contexts)
    return findings_lack(findings, err, "it has no call paths");
  struct indexing *lines = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *lines);
  sum(findings, places, lines);
  for (uint32_t i = 0; i < places->count; i++)
    if (analyze_share_pct(findings_per_observation_ms(findings, lines[i].backward_ns), findings->loop_ms) >=
        findings_threshold(findings, "index_gradient-share"))
      add(findings, &lines[i]);
  return STATUS_OK;
}

const struct finding_rule finding_f28 = {
    .id = "F28",
    .key = "index_gradient",
    .title = "gradients of indexing by tensors",
    .thresholds = {{"index_gradient-share", "%", 5,
                    "backward time of indexing at a line, of the program's loop, at least"}},
    .counts_backward = true,
    .find = find,
};
