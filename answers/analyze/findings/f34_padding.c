// SPDX-License-Identifier: Apache-2.0
// F34, padding: much of what a model computes is of positions that only make the rows of a batch equally long.
#include "analyze/findings/busiest_line.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/source_line.h"

#include <string.h>

enum { POSITIONS, PADDED, SPARE, COUNTS }; // as the traced program counts them (guest/frameworks/common/padding.h)

static enum status add_run(struct findings *findings, int64_t run_id, const uint32_t *keys, double *counts,
                           struct error *err)
{
  struct store_tag *tags;
  size_t count;
  XSP_TRY(store_load_tags_of(findings->question->view->store, run_id, keys, COUNTS, findings->question->scratch, &tags,
                             &count, err));
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < COUNTS && tags[i].type == STORE_INT; k++)
      counts[k] += tags[i].key == keys[k] ? (double)tags[i].value.integer : 0;
  return STATUS_OK;
}

// `has_much`: all padding is above its threshold; else what is in all rows.
static enum status add(struct findings *findings, const double *counts, bool has_much, struct error *err)
{
  struct finding *finding = findings_add(findings);
  XSP_TRY(finding_at_call(findings, finding, err));
  finding->context = "padding";
  finding->time_ms = findings_per_observation_ms(findings, findings->places->total.operators.ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = finding->time_ms * counts[has_much ? PADDED : SPARE] / counts[POSITIONS];
  finding->saving_basis = "time of the operators, of which padding takes its share of the positions; attention more";
  finding->title = arena_format(
      findings->question->arena, "%.3g %% of the positions in the model's batches are padding, %.3g %% in all rows",
      analyze_share_pct(counts[PADDED], counts[POSITIONS]), analyze_share_pct(counts[SPARE], counts[POSITIONS]));
  finding_at_setting(findings, finding, "padding");
  finding->advice =
      "pad each batch to its own longest row (padding=\"longest\", pad_sequence), not to max_length; batch rows "
      "of similar lengths together";
  finding->threshold = findings_threshold_of(findings, has_much ? "padding-share" : "padding-spare");
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "padded_pct", analyze_share_pct(counts[PADDED], counts[POSITIONS]));
  finding_number(finding, "spare_pct", analyze_share_pct(counts[SPARE], counts[POSITIONS]));
  return STATUS_OK;
}

static enum status find(struct findings *findings, struct error *err)
{
  static const char *const names[COUNTS] = {"positions", "padded", "spare"};
  const struct places *places;
  uint32_t keys[COUNTS];
  double counts[COUNTS] = {0};
  XSP_TRY(findings_places(findings, &places, err));
  for (size_t i = 0; i < COUNTS; i++)
    if (!store_find_string(findings->question->view->store, names[i], strlen(names[i]), &keys[i]))
      return STATUS_OK; // no batch has padding, or the program's tensors are not seen
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(add_run(findings, findings->set->runs[i]->run->run_id, keys, counts, err));
  bool has_much = analyze_share_pct(counts[PADDED], counts[POSITIONS]) >= findings_threshold(findings, "padding-share");
  bool has_spare = analyze_share_pct(counts[SPARE], counts[POSITIONS]) >= findings_threshold(findings, "padding-spare");
  if (places->total.operators.ns > 0 && (has_much || has_spare))
    return add(findings, counts, has_much, err);
  return STATUS_OK;
}

const struct finding_rule finding_f34 = {
    .id = "F34",
    .key = "padding",
    .title = "padding",
    .thresholds = {{"padding-share", "%", 50, "positions that are padding, of all, at least; or"},
                   {"padding-spare", "%", 10, "positions that are padding in all rows of a batch, at least"}},
    .find = find,
};
